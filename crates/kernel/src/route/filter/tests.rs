//! Decodes datagrams of a kernel (`tests/fixtures`).

use super::super::tests::events;
use super::*;
use crate::fixture::{datagrams, first};
use crate::message::{Messages, NLMSG_MIN_TYPE};
use crate::rtnetlink::{RTM_NEWTFILTER, TCA_KIND, TCA_OPTIONS};

/// All that a fixture lists: of its ingress, of a plain ingress qdisc, and of its egress.
fn lists(name: &str) -> [Vec<Filter>; 3] {
    let mut lists = [vec![], vec![], vec![]];
    let mut list = 0;
    for datagram in datagrams(name) {
        for message in Messages::new(&datagram) {
            let message = message.expect("whole");
            lists[list].extend(decode(&message).expect("valid"));
            list += usize::from(message.kind < NLMSG_MIN_TYPE);
        }
    }
    assert_eq!(list, 3);
    lists
}

fn of(datagram: &[u8]) -> Vec<Event> {
    let mut out = Vec::new();
    assert_eq!(super::super::decode(datagram, &mut out).malformed, 0);
    out
}

fn texts(filters: &[Filter]) -> Vec<String> {
    filters.iter().map(Filter::to_string).collect()
}

#[test]
fn filters_of_a_clsact_are_listed_with_their_actions() {
    let [ingress, plain, egress] = lists("filter-dump");
    assert_eq!(plain, []);
    assert_eq!(
        texts(&ingress),
        [
            "filter bpf with action gact",
            "filter matchall with action mirred"
        ]
    );
    assert!(
        ingress[1].actions[0].to.is_some(),
        "the device it is redirected to"
    );
    assert_eq!(
        texts(&egress),
        [
            "filter flower with action ctinfo",
            "filter u32 with action police"
        ]
    );
}

#[test]
fn an_ingress_qdisc_answers_for_any_side() {
    let [ingress, plain, egress] = lists("filter-dump-ingress");
    assert_eq!(texts(&ingress), ["filter u32 with action mirred"]);
    assert_eq!((&plain, &egress), (&ingress, &ingress));
}

#[test]
fn changes_at_ingress_and_egress_are_told_and_others_as_of_qdiscs() {
    for (name, times) in [("clsact", 1), ("filters", 5), ("filter-block", 2)] {
        let told: Vec<Event> = datagrams(name)
            .iter()
            .flat_map(|datagram| of(datagram))
            .collect();
        assert_eq!(told.len(), times, "{name}: {told:?}");
        assert!(told.iter().all(|event| matches!(event, Event::Filters(_))));
    }
    // Filters of a root qdisc, which may inspect data that only the kernel's packets have.
    let root = events("filter-root");
    assert!(matches!(root[..], [Event::Qdiscs(_)]), "{root:?}");
    // A filter of the device, for its qdisc; one of a block, which any device may share.
    let block = events("filter-block");
    assert_eq!(block.len(), 2);
    assert_ne!(block[0], Event::Filters(0));
    assert_eq!(block[1], Event::Filters(0));
}

#[test]
fn a_program_is_named() {
    let bytes = Encoder::single(RTM_NEWTFILTER, 0, 0, |e| {
        e.fixed(&[
            0, 0, 0, 0, 3, 0, 0, 0, 0x65, 0x77, 0, 0, 0xf2, 0xff, 0xff, 0xff, 0, 0, 0, 0,
        ]);
        e.attribute(TCA_KIND, b"bpf\0");
        e.nested(TCA_OPTIONS, |e| {
            e.attribute(TCA_BPF_NAME, b"weir_tc:[17]\0")
        });
    });
    let message = first(&bytes);
    let filter = decode(&message).expect("valid").expect("a filter");
    assert_eq!(
        (filter.name.as_str(), filter.actions.len()),
        ("weir_tc:[17]", 0)
    );
    assert_eq!(filter.to_string(), "filter bpf weir_tc:[17]");
}

#[test]
fn a_cut_action_is_an_error() {
    let bytes = Encoder::single(RTM_NEWTFILTER, 0, 0, |e| {
        e.fixed(&[
            0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0xf2, 0xff, 0xff, 0xff, 0, 0, 0, 0,
        ]);
        e.attribute(TCA_KIND, b"matchall\0");
        e.nested(TCA_OPTIONS, |e| {
            e.nested(2, |e| {
                e.nested(1, |e| {
                    e.attribute(TCA_ACT_KIND, b"mirred\0");
                    e.nested(TCA_ACT_OPTIONS, |e| e.attribute(TCA_MIRRED_PARMS, &[0; 24]));
                })
            })
        });
    });
    let message = first(&bytes);
    assert_eq!(decode(&message).unwrap_err().part, "TCA_MIRRED_PARMS");
}

/// A filter of this kind, with these options.
fn with(kind: &str, options: impl FnOnce(&mut Encoder)) -> Filter {
    let bytes = Encoder::single(RTM_NEWTFILTER, 0, 0, |e| {
        e.fixed(&[0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
        e.attribute(TCA_KIND, format!("{kind}\0").as_bytes());
        e.nested(TCA_OPTIONS, options);
    });
    let message = first(&bytes);
    decode(&message).expect("valid").expect("a filter")
}

#[test]
fn what_only_the_kernels_packets_have_is_asked_for() {
    let keys = |bit: u32| {
        let keys = (1u32 << bit).to_ne_bytes();
        with("flow", |e| e.attribute(TCA_FLOW_KEYS, &keys)).reads_connection
    };
    let asked: Vec<u32> = (0..18).filter(|bit| keys(*bit)).collect();
    // nfct, its four parts, the route's realm, the owner of the socket.
    assert_eq!(asked, Vec::from_iter(8..=14));
    assert!(with("flower", |e| e.attribute(91, &[0; 2])).reads_connection);
    assert!(!with("flower", |e| e.attribute(8, &[8, 0])).reads_connection);
    assert!(with("route", |_| {}).reads_connection);
    let matched = |kind: u8| {
        let head = [0, 0, kind, 0, 0, 0, 0, 0];
        with("basic", |e| {
            e.nested(2, |e| {
                e.attribute(1, &[1, 0, 0, 0]);
                e.nested(TCA_EMATCH_TREE_LIST, |e| e.attribute(1, &head));
            })
        })
        .reads_connection
    };
    assert!(cfg!(target_endian = "big") || matched(4) && matched(9) && !matched(3));
    let acts = |kind: &str| {
        let name = format!("{kind}\0");
        let act = |e: &mut Encoder| e.attribute(TCA_ACT_KIND, name.as_bytes());
        with("matchall", |e| e.nested(2, |e| e.nested(1, act))).reads_connection
    };
    assert!(acts("connmark") && acts("ctinfo") && acts("ct"));
    assert!(!acts("skbedit") && !acts("police"));
}
