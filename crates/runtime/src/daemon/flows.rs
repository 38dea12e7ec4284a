//! Flows, and pairs of stations, as the API shows them.

use answers::{Endpoints, FlowId, FlowState, Reason, Translation, TtlRange};
use datapath::{Encapsulation, FlowDirection};
use kernel::{Tuple, status};

use super::router::Router;

/// Describes VLAN tags and PPPoE; empty without any.
pub fn behind(encapsulation: &Encapsulation) -> Option<String> {
    (!encapsulation.is_plain()).then(|| encapsulation.to_string())
}

fn endpoints(tuple: &Tuple) -> Endpoints {
    Endpoints {
        source: tuple.source,
        source_port: tuple.source_port,
        destination: tuple.destination,
        destination_port: tuple.destination_port,
    }
}

/// Converts a flow to the API's form.
pub fn flow(router: &mut Router, id: offload_core::FlowId) -> Option<answers::Flow> {
    let now = router.now();
    let flow = router.core.flow(id)?.clone();
    let (readings, details) = if flow.installed() {
        (
            router.path.read(id.0).unwrap_or_default(),
            router.path.inspect(id.0),
        )
    } else {
        Default::default()
    };
    let proven = readings.iter().any(|r| r.proven);
    let state = match (flow.installed(), proven) {
        (false, _) => FlowState::Declined,
        (true, false) => FlowState::Known,
        (true, true) => FlowState::Forwarded,
    };
    let bits = flow.status.unwrap_or_default();
    let directions = directions(router, readings, details);
    let reason = match flow.declined {
        Some(decline) => Some(Reason {
            code: decline.name().to_owned(),
            text: match router.core.per_packet_rule(&flow) {
                Some(concern) if decline == offload_core::DeclineReason::EachPacket => {
                    format!(
                        "{} ({}: {})",
                        decline.explain(),
                        concern.rule,
                        concern.kind.explain()
                    )
                }
                _ => decline.explain().to_owned(),
            },
            hint: Some(decline.hint().to_owned()).filter(|m| !m.is_empty()),
        }),
        None => details.and_then(|details| held_up(&details)),
    };
    Some(answers::Flow {
        // The conntrack id distinguishes two uses of one number.
        id: FlowId(u64::from(flow.id.id) << 32 | u64::from(id.0)),
        protocol: match flow.original().protocol {
            kernel::Protocol::Tcp => answers::Protocol::Tcp,
            kernel::Protocol::Udp => answers::Protocol::Udp,
        },
        original: endpoints(&flow.original()),
        reply: endpoints(&flow.reply),
        translated: Translation {
            snat: bits & status::SRC_NAT != 0,
            dnat: bits & status::DST_NAT != 0,
        },
        state,
        reason,
        directions,
        mark: flow.mark,
        zone: flow.id.zone,
        age_seconds: now.saturating_sub(flow.since) / 1000,
    })
}

/// Converts both directions to the API's form.
fn directions(
    router: &Router,
    readings: [datapath::Reading; 2],
    details: Option<[FlowDirection; 2]>,
) -> answers::Directions {
    let direction = |i: usize| {
        let reading = readings[i];
        let mut shown = answers::Direction {
            packets: reading.packets,
            bytes: reading.bytes,
            proven: reading.proven,
            ..Default::default()
        };
        if let Some(detail) = details.map(|d| d[i]).filter(|d| d.proven) {
            let link = |index: u32| {
                router
                    .core
                    .links()
                    .find(|l| l.index == index)
                    .map(|l| l.name.clone())
            };
            let plan_in = router
                .core
                .ports()
                .find(|p| router.path.slot(p.link) == detail.ingress.port);
            shown.port_in = plan_in.map(|p| p.name.clone());
            shown.encapsulation_in = behind(&detail.ingress.behind);
            shown.port_out = link(detail.hop_link);
            shown.hop = Some(detail.hop as u16);
            shown.hook = Some(if detail.xdp {
                answers::Hook::Xdp
            } else {
                answers::Hook::Tc
            });
            // A bridge ignores this field.
            shown.ttl = Some(TtlRange {
                lowest: detail.ttl.0,
                highest: detail.ttl.1,
            })
            .filter(|range| range.highest > 0);
            shown.longest = Some(detail.length);
        }
        shown
    };
    answers::Directions {
        original: direction(0),
        reply: direction(1),
    }
}

/// Returns why a flow is not forwarded, or in one direction only: the last obstacle of an unproven
/// direction; without any, the flow waits for a packet.
fn held_up(directions: &[FlowDirection; 2]) -> Option<Reason> {
    let mut held = directions.iter().filter(|d| !d.proven).map(|d| d.reason);
    let first = held.next()?;
    let reason = std::iter::once(first)
        .chain(held)
        .find(|reason| *reason != datapath::Reason::None)
        .unwrap_or(datapath::Reason::Unproven);
    Some(Reason {
        code: reason.code().to_owned(),
        text: reason.text().to_owned(),
        hint: None,
    })
}

/// Converts a pair of stations to the API's form.
pub fn bridged(
    router: &mut Router,
    id: offload_core::FlowId,
    pair: &offload_core::Pair,
) -> answers::StationPair {
    let readings = router.path.read(id.0).unwrap_or_default();
    let details = router.path.inspect(id.0);
    let proven = readings.iter().any(|reading| reading.proven);
    let [destination, source] = pair.stations.map(|mac| net::mac::text(&mac));
    answers::StationPair {
        source,
        destination,
        state: if proven {
            FlowState::Forwarded
        } else {
            FlowState::Known
        },
        reason: details.and_then(|details| held_up(&details)),
        directions: directions(router, readings, details),
        age_seconds: router.now().saturating_sub(pair.since) / 1000,
    }
}
