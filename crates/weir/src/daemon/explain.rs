//! `weir explain`: why a flow is forwarded, or is not, witness by witness.

use api::{Explanation, FlowQuery, FlowState, WitnessName};
use kernel::{Protocol, Tuple};

use super::provider::{flow, witness};
use super::router::Router;

/// Tells all that is known of one flow.
pub fn explain(router: &mut Router, asked: &FlowQuery) -> Explanation {
    let ids = find(router, asked);
    let shown = ids.first().and_then(|id| flow(router, *id));
    let Some(shown) = shown else {
        return unknown(router, asked);
    };
    let details = router.path.inspect(ids[0].0);

    let mut witnesses = Vec::new();
    let mut change = Vec::new();
    let known = shown.state != FlowState::Declined;
    let why = shown.reason.as_ref();
    witnesses.push(match (known, why) {
        (false, Some(reason)) => witness(
            WitnessName::Known,
            false,
            format!("conntrack has it, but {}", reason.text),
        ),
        _ => witness(
            WitnessName::Known,
            true,
            "conntrack has it, in a state that can be forwarded",
        ),
    });
    if let Some(mend) = why.and_then(|r| r.mend.clone()) {
        change.push(mend);
    }
    if known && let Some(details) = details {
        let ways = ["from client to server", "from server to client"];
        for (detail, way) in details.iter().zip(ways) {
            let never =
                !detail.proven && detail.reason == datapath::Reason::None && detail.length == 0;
            if never {
                witnesses.push(witness(
                    WitnessName::Seen,
                    false,
                    format!("{way}: no packet came in at a port yet"),
                ));
                continue;
            }
            witnesses.push(witness(
                WitnessName::Seen,
                true,
                format!("{way}: packets come in at a port"),
            ));
            witnesses.push(if detail.proven {
                witness(
                    WitnessName::Proven,
                    true,
                    format!(
                        "{way}: the kernel sent it over hop {} with TTL one less, up to {} octets",
                        detail.hop, detail.length
                    ),
                )
            } else {
                witness(
                    WitnessName::Proven,
                    false,
                    format!("{way}: {}", detail.reason.text()),
                )
            });
        }
        if details.iter().any(|d| !d.proven) && change.is_empty() {
            change.push(
                "the next packet that the kernel forwards out of a port proves that direction"
                    .into(),
            );
        }
    }
    let name = format!("{} {}", shown.protocol, shown.original);
    let verdict = match shown.state {
        FlowState::Forwarded => format!("{name} is forwarded by weir."),
        FlowState::Known => {
            format!("{name} may be forwarded, but is not at the moment: the kernel does it.")
        }
        FlowState::Declined => format!("{name} is left to the kernel."),
    };
    Explanation {
        asked: text(asked),
        verdict,
        witnesses,
        change,
        flow: Some(shown),
    }
}

fn unknown(router: &Router, asked: &FlowQuery) -> Explanation {
    let ports = router
        .core
        .ports()
        .filter(|p| p.hook != offload::Hook::Off)
        .count();
    let mut change = vec![
        "a packet of it through this router, accepted by the firewall and tracked by conntrack"
            .to_owned(),
    ];
    if ports < 2 {
        change.push(format!(
            "there are {ports} ports: `weir ports` says why devices are left out"
        ));
    }
    Explanation {
        asked: text(asked),
        verdict: format!("{} is not known here.", text(asked)),
        witnesses: vec![witness(
            WitnessName::Known,
            false,
            "conntrack has no such connection, or ended it, or has told of it before weir listened",
        )],
        change,
        flow: None,
    }
}

fn find(router: &Router, asked: &FlowQuery) -> Vec<offload::FlowId> {
    match asked {
        FlowQuery::Id(id) => {
            let found = offload::FlowId(id.0 as u32);
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
                Some(api::Protocol::Tcp) => &[Protocol::Tcp],
                Some(api::Protocol::Udp) => &[Protocol::Udp],
                None => &[Protocol::Tcp, Protocol::Udp],
            };
            let tuple = |protocol| Tuple {
                protocol,
                source: endpoints.source,
                source_port: endpoints.source_port,
                destination: endpoints.destination,
                destination_port: endpoints.destination_port,
            };
            // As its packets look coming in, or going out, in either direction.
            protocols
                .iter()
                .flat_map(|p| [tuple(*p), tuple(*p).reversed()])
                .flat_map(|t| router.core.find(&t))
                .collect()
        }
    }
}

fn text(asked: &FlowQuery) -> String {
    asked.to_string()
}
