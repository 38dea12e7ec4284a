//! Netfilter features that weir uses: conntrack, its events and updates, and the generations of the
//! ruleset.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use kernel::facts::{self, ConntrackSettings};
use kernel::io::{Events, Requests};
use kernel::{ConnectionId, Event, Protocol, Source, Tuple};

use super::features::privileged;
use super::report::Feature;

/// Longest wait for an answer of the kernel.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lists the features of conntrack and nftables.
pub async fn features(requests: Option<&mut Requests>) -> Vec<Feature> {
    let updated = match requests.filter(|_| privileged()) {
        Some(requests) => {
            // Comes first: the request loads the module if necessary.
            let updated = updates(requests);
            let rules = rules(requests).await;
            vec![updated, rules]
        }
        None => Vec::new(),
    };
    let settings = facts::conntrack_settings();
    let mut features = vec![connections(&settings), told(&settings)];
    features.extend(updated);
    features
}

fn connections(settings: &io::Result<Option<ConntrackSettings>>) -> Feature {
    let present = matches!(settings, Ok(Some(_)));
    Feature {
        name: "conntrack".into(),
        min_version: Some("2.6".into()),
        present,
        required: true,
        why_needed: "Shows which connections the firewall accepted, and their translation.".into(),
        detail: settings.as_ref().err().map(ToString::to_string),
        hint: (!present).then(|| {
            "load nf_conntrack and nf_conntrack_netlink, or use a kernel with CONFIG_NF_CT_NETLINK".into()
        }),
    }
}

fn told(settings: &io::Result<Option<ConntrackSettings>>) -> Feature {
    let value = match settings {
        Ok(Some(settings)) => settings.events,
        _ => 0,
    };
    let listens = match privileged() {
        true => Events::open(Source::Conntrack).map(drop),
        false => Ok(()),
    };
    let present = value != 0 && listens.is_ok();
    Feature {
        name: "conntrack events".into(),
        min_version: Some("2.6.37".into()),
        present,
        required: true,
        why_needed: "Report each connection, and its end, at once.".into(),
        detail: match (value, listens) {
            (_, Err(error)) => Some(error.to_string()),
            (2, _) => Some(
                "nf_conntrack_events is 2: weir learns of connections older than itself only by \
                    polling, not at once"
                    .into(),
            ),
            (0, _) => Some("nf_conntrack_events is 0".into()),
            _ => None,
        },
        hint: (!present).then(|| {
            "sysctl net.netfilter.nf_conntrack_events=1, in a kernel with \
                CONFIG_NF_CONNTRACK_EVENTS"
                .into()
        }),
    }
}

/// Requests to relax an impossible connection: a kernel with this request reports that the
/// connection is missing.
fn updates(requests: &mut Requests) -> Feature {
    let nobody = ConnectionId {
        id: 0,
        zone: 0,
        original: Tuple {
            protocol: Protocol::Tcp,
            source: Ipv4Addr::UNSPECIFIED.into(),
            source_port: 0,
            destination: Ipv4Addr::UNSPECIFIED.into(),
            destination_port: 0,
        },
    };
    let outcome = requests.relax(&[nobody]);
    let present = outcome.failed == 0;
    Feature {
        name: "conntrack updates".into(),
        min_version: Some("2.6.23".into()),
        present,
        required: true,
        why_needed: "Keep each forwarded connection alive, and its TCP window unchecked.".into(),
        detail: outcome.error.map(|error| error.to_string()),
        hint: (!present).then(|| "use a kernel with CONFIG_NF_CT_NETLINK".into()),
    }
}

/// Requests the generation of the ruleset.
async fn rules(requests: &mut Requests) -> Feature {
    requests.dump(Source::Firewall);
    let mut found = Vec::new();
    let refused = loop {
        match answer(requests, &mut found).await {
            Err(error) => break Some(error),
            Ok(()) => {
                let end = |event: &Event| {
                    matches!(
                        event,
                        Event::DumpEnd(Source::Firewall) | Event::Overrun(Source::Firewall)
                    )
                };
                if found.iter().any(end) {
                    break None;
                }
            }
        }
    };
    Feature {
        name: "nf_tables generations".into(),
        min_version: Some("3.18".into()),
        present: refused.is_none(),
        required: false,
        why_needed: "Report each change of the rules, which ends all proofs at once.".into(),
        hint: refused.is_some().then(|| {
            "use a kernel with CONFIG_NF_TABLES; with the old iptables alone, proofs end each \
                second instead"
                .into()
        }),
        detail: refused,
    }
}

/// Receives more of an answer.
pub(super) async fn answer(requests: &mut Requests, found: &mut Vec<Event>) -> Result<(), String> {
    match tokio::time::timeout(PATIENCE, requests.recv(found)).await {
        Ok(answered) => answered.map_err(|error| error.to_string()),
        Err(_) => Err(format!(
            "the kernel did not answer within {} seconds",
            PATIENCE.as_secs()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conntrack_that_tells_nothing_is_missing() {
        let settings = |events| {
            Ok(Some(ConntrackSettings {
                tcp_established: std::time::Duration::ZERO,
                tcp_unacknowledged: std::time::Duration::ZERO,
                tcp_max_retrans: std::time::Duration::ZERO,
                udp: std::time::Duration::ZERO,
                udp_stream: std::time::Duration::ZERO,
                events,
                max: 1,
            }))
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let _inside = runtime.enter();
        assert!(!told(&settings(0)).present && told(&settings(0)).hint.is_some());
        assert!(told(&settings(1)).present && told(&settings(1)).detail.is_none());
        let only_while_listening = told(&settings(2));
        assert!(only_while_listening.present && only_while_listening.detail.is_some());
        assert!(!told(&Ok(None)).present && !connections(&Ok(None)).present);
    }
}
