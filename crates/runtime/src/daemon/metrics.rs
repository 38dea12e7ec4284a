//! Metrics that Prometheus scrapes from [`Status`].

use answers::Status;
use api::metrics::Exposition;

api::metrics! {
    UP "weir_up" Gauge &[], "1: weir is running.";
    FLOWS "weir_flows" Gauge &[], "Connections in the table.";
    FLOWS_CAPACITY "weir_flows_capacity" Gauge &[], "Capacity of the connection table.";
    FORWARDED "weir_forwarded_packets_total" Counter &["hook"], "Packets that weir forwarded.";
    KERNEL "weir_kernel_packets_total" Counter &["reason"], "Packets left to the kernel, by reason.";
}

/// Writes the status of weir.
pub fn write(text: &mut Exposition, status: &Status) {
    text.family(UP);
    text.sample(UP, &[], 1);
    let flows = status.flows;
    text.family(FLOWS);
    let known = flows.ipv4.known.saturating_add(flows.ipv6.known);
    text.sample(FLOWS, &[], known);
    text.family(FLOWS_CAPACITY);
    text.sample(FLOWS_CAPACITY, &[], flows.capacity);
    let packets = &status.packets;
    text.family(FORWARDED);
    text.sample(FORWARDED, &["xdp"], packets.forwarded_xdp);
    text.sample(FORWARDED, &["tc"], packets.forwarded_tc);
    text.family(KERNEL);
    for (reason, count) in &packets.passed {
        text.sample(KERNEL, &[reason], *count);
    }
}
