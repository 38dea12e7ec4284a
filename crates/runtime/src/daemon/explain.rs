//! `weir explain`: reports why a flow is forwarded or not, witness by witness.

use std::cell::Cell;

use answers::{Explanation, FlowQuery, FlowState, Witness, WitnessName};
use kernel::{Protocol, Tuple};
use offload_core::{PortPlan, PortReason};

use super::event::Event;
use super::flows::flow;
use super::module::Modules;
use super::router::Router;

/// Explains one flow.
pub fn explain(router: &mut Router, modules: &Modules, asked: &FlowQuery) -> Explanation {
    let ids = find(router, asked);
    let shown = ids.first().and_then(|id| flow(router, *id));
    let Some(shown) = shown else {
        let answer = Cell::new(None);
        for module in modules.iter() {
            module.on_event(Event::Explain(asked, &answer), router);
            if let Some(answer) = answer.take() {
                return answer;
            }
        }
        return unknown(router, asked);
    };
    let details = router.path.inspect(ids[0].0);

    let known = shown.state != FlowState::Declined;
    let why = shown.reason.as_ref().filter(|_| !known);
    let mut witnesses = vec![match why {
        Some(reason) => witness(
            WitnessName::Known,
            false,
            format!("weir does not take it over: {}", reason.text),
        ),
        None => witness(
            WitnessName::Known,
            true,
            "conntrack knows it, in a state that can be forwarded",
        ),
    }];
    let mut change = Vec::new();
    if let Some(hint) = why.and_then(|reason| reason.hint.as_deref()) {
        change.push(hint.trim_start_matches("nothing to do: ").to_owned());
    }
    if known && let Some(details) = details {
        let elsewhere = elsewhere(router.core.ports());
        for (detail, way) in details.iter().zip(WAYS) {
            one_way(detail, way, &elsewhere, &mut witnesses, &mut change);
        }
    }
    let name = format!("{} {}", shown.protocol, shown.original);
    let proven = [&shown.directions.original, &shown.directions.reply].map(|d| d.proven);
    let verdict = match (shown.state, proven) {
        (FlowState::Forwarded, _) if router.path.options().shadow => {
            format!("{name} would be forwarded by weir; in shadow mode the kernel forwards it.")
        }
        (FlowState::Declined, _)
            if shown.reason.as_ref().is_some_and(|why| why.code == "ended") =>
        {
            format!("{name} has ended, or is closing.")
        }
        (FlowState::Declined, _) => format!("{name} is left to the kernel."),
        (FlowState::Known, _) | (_, [false, false]) => {
            format!(
                "{name} may be forwarded by weir, but waits for a proof: the kernel forwards it."
            )
        }
        (_, [true, true]) => format!("{name} is forwarded by weir in both directions."),
        (_, [first, _]) => {
            let (weir, kernel) = match first {
                true => (WAYS[0], WAYS[1]),
                false => (WAYS[1], WAYS[0]),
            };
            format!("{name} is forwarded by weir {weir}; {kernel} the kernel forwards it.")
        }
    };
    Explanation {
        asked: text(asked),
        verdict,
        witnesses,
        change,
        flow: Some(shown),
    }
}

const WAYS: [&str; 2] = ["from client to server", "from server to client"];

/// Most devices that [`elsewhere`] names.
const NAMED: usize = 3;

/// Describes devices by which packets may leave without a port. The kernel's route lookup is not
/// used: rules and marks may choose another route.
fn elsewhere<'a>(plans: impl Iterator<Item = &'a PortPlan>) -> String {
    let no_port = |plan: &&PortPlan| {
        matches!(
            plan.reason,
            PortReason::NotEthernet | PortReason::NotYet(_) | PortReason::SwitchedOff
        )
    };
    let names: Vec<&str> = plans
        .filter(no_port)
        .map(|plan| plan.name.as_str())
        .collect();
    match names.len() {
        0 => "a tunnel, …".into(),
        1..=NAMED => names.join(", "),
        _ => format!("{}, …", names[..NAMED].join(", ")),
    }
}

/// Explains the observations and proofs of one direction, and what would prove it; `elsewhere`:
/// devices that are not ports.
fn one_way(
    detail: &datapath::FlowDirection,
    way: &str,
    elsewhere: &str,
    witnesses: &mut Vec<Witness>,
    change: &mut Vec<String>,
) {
    let nothing = datapath::Reason::None;
    if !detail.proven && detail.reason == nothing && detail.length == 0 {
        let text = format!("{way}: no packet arrived at a port yet");
        witnesses.push(witness(WitnessName::Seen, false, text));
        change.push(format!("{way}: a packet that arrives at a port"));
        return;
    }
    let text = format!("{way}: packets arrive at a port");
    witnesses.push(witness(WitnessName::Seen, true, text));
    let text = if detail.proven {
        let (lowest, highest) = detail.ttl;
        let ttl = match lowest == highest {
            true => format!("TTL {lowest}"),
            false => format!("TTLs {lowest} to {highest}"),
        };
        format!(
            "{way}: the kernel sent it over hop {}, {ttl} lowered by one, up to {} bytes{}",
            detail.hop,
            detail.length,
            match detail.ingress.behind {
                plain if plain.is_plain() => String::new(),
                behind => format!("; it arrived with {behind}"),
            }
        )
    } else if detail.reason == nothing {
        format!(
            "{way}: no packet has proven it since the last change, or it leaves by a device that \
                is not a port ({elsewhere})"
        )
    } else {
        format!("{way}: {}", detail.reason.text())
    };
    witnesses.push(witness(WitnessName::Proven, detail.proven, text));
    if !detail.proven {
        change.push(format!(
            "{way}: the next packet that the kernel sends out of a port"
        ));
    }
}

fn unknown(router: &Router, asked: &FlowQuery) -> Explanation {
    let ports = router.core.ports().filter(|p| p.forwards()).count();
    let mut change = vec![
        "a packet of this connection through this router, \
            accepted by the firewall and tracked by conntrack"
            .to_owned(),
    ];
    if ports < 2 {
        change.push(format!(
            "there are {ports} ports: `weir ports` shows why devices are left out"
        ));
    }
    Explanation {
        asked: text(asked),
        verdict: format!("{} is not known to weir.", text(asked)),
        witnesses: vec![witness(
            WitnessName::Known,
            false,
            "conntrack has no such connection, or the connection has ended",
        )],
        change,
        flow: None,
    }
}

fn find(router: &Router, asked: &FlowQuery) -> Vec<offload_core::FlowId> {
    match asked {
        FlowQuery::Id(id) => {
            let found = offload_core::FlowId(id.0 as u32);
            router
                .core
                .flow(found)
                .filter(|f| u64::from(f.id.id) == id.0 >> 32)
                .map(|_| found)
                .into_iter()
                .collect()
        }
        FlowQuery::Tuple {
            protocol,
            endpoints,
        } => {
            let protocols: &[Protocol] = match protocol {
                Some(answers::Protocol::Tcp) => &[Protocol::Tcp],
                Some(answers::Protocol::Udp) => &[Protocol::Udp],
                None => &[Protocol::Tcp, Protocol::Udp],
            };
            let tuple = |protocol| Tuple {
                protocol,
                source: endpoints.source,
                source_port: endpoints.source_port,
                destination: endpoints.destination,
                destination_port: endpoints.destination_port,
            };
            // Headers of the flow's packets at ingress and at egress, in either direction.
            protocols
                .iter()
                .flat_map(|p| [tuple(*p), tuple(*p).reversed()])
                .flat_map(|t| router.core.find(&t))
                .collect()
        }
    }
}

/// Describes a witness' result.
pub fn witness(name: WitnessName, ok: bool, text: impl Into<String>) -> Witness {
    Witness {
        name,
        ok,
        text: text.into(),
    }
}

fn text(asked: &FlowQuery) -> String {
    asked.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_are_no_ports_are_named() {
        let plan = |name: &str, reason| PortPlan::off(2, name, reason);
        let named = |plans: &[PortPlan]| elsewhere(plans.iter());
        let below = PortReason::Upper(Default::default());
        let others = [plan("lo", PortReason::Loopback), plan("br0", below)];
        assert_eq!(named(&others), "a tunnel, …");
        let tunnels = ["wg0", "gre1", "sit1", "tun0"].map(|n| plan(n, PortReason::NotEthernet));
        assert_eq!(named(&tunnels[..1]), "wg0");
        assert_eq!(named(&tunnels[..3]), "wg0, gre1, sit1");
        assert_eq!(named(&tunnels), "wg0, gre1, sit1, …");
    }
}
