//! Ports to which XDP at other ports may send: such frames bypass the outgoing qdisc.

use crate::common::{facts, link};
use kernel::Link;
use weir_offload_core::ports::{plans, xdp};
use weir_offload_core::{Device, Hook, PortFacts, PortPlan, PortReason, Settings, Use};

const LAN: u32 = 2;
const WAN: u32 = 3;
const DMZ: u32 = 4;

/// A port of the router: its device, and how fast it is.
fn port(index: u32, name: &str, speed: Option<u32>) -> (Link, PortFacts) {
    let facts = PortFacts { speed, ..facts() };
    (link(index, name), facts)
}

fn planned(ports: &[(Link, PortFacts)], settings: &Settings) -> Vec<PortPlan> {
    let devices: Vec<Device<'_>> = ports
        .iter()
        .map(|(link, facts)| Device {
            link,
            facts: Some(facts),
            own_xdp: false,
        })
        .collect();
    plans(&devices, settings).ports
}

/// Returns whether XDP may send to a port, and the reason if not.
fn transmits(plan: &PortPlan) -> (bool, Option<PortReason>) {
    let mut limits = plan.limits.iter().filter(|limit| limit.of == Use::Xdp);
    let reason = limits.next().map(|limit| {
        let text = limit.explain();
        assert!(
            text.starts_with("outgoing traffic goes by TC, not straight from XDP: "),
            "{text}"
        );
        assert!(!limit.reason.hint().is_empty());
        limit.reason.clone()
    });
    assert!(plan.egress && limits.next().is_none());
    (plan.xdp_transmit, reason)
}

fn slower(speed: Option<u32>, than: &str, its: Option<u32>) -> (bool, Option<PortReason>) {
    let than = than.to_owned();
    (false, Some(PortReason::Slower { speed, than, its }))
}

#[test]
fn a_way_out_that_is_slower_than_a_way_in_keeps_its_queue() {
    let of = |lan, wan| {
        let ports = [port(LAN, "lan0", lan), port(WAN, "wan0", wan)];
        let plans = planned(&ports, &Settings::default());
        assert!(plans.iter().all(|plan| plan.hook == Hook::Xdp));
        (transmits(&plans[0]), transmits(&plans[1]))
    };
    let (fast, slow) = (Some(1000), Some(100));
    let may = (true, None);
    assert_eq!(of(fast, fast), (may.clone(), may.clone()));
    assert_eq!(of(fast, slow), (may.clone(), slower(slow, "lan0", fast)));
    assert_eq!(of(slow, fast), (slower(slow, "wan0", fast), may.clone()));
    // Cards without a reported speed count as equal.
    assert_eq!(of(None, None), (may.clone(), may));
    assert_eq!(
        of(None, fast),
        (slower(None, "wan0", fast), slower(fast, "lan0", None))
    );
}

#[test]
fn only_ways_in_at_xdp_count() {
    let three = |settings: &Settings, change: &dyn Fn(&mut PortFacts)| {
        let mut ports = [
            port(LAN, "lan0", Some(2500)),
            port(WAN, "wan0", Some(1000)),
            port(DMZ, "dmz0", Some(1000)),
        ];
        change(&mut ports[0].1);
        let plans = planned(&ports, settings);
        [&plans[0], &plans[1], &plans[2]].map(transmits)
    };
    let auto = Settings::default();
    let behind = || slower(Some(1000), "lan0", Some(2500));
    let may = || (true, None);
    assert_eq!(three(&auto, &|_| {}), [may(), behind(), behind()]);
    // Packets that enter at TC or that the kernel forwards pass the qdisc anyway.
    let mut tc = Settings::default();
    tc.ports.insert("lan0".into(), Hook::Tc);
    assert_eq!(three(&tc, &|_| {})[1..], [may(), may()]);
    let chain = |facts: &mut PortFacts| facts.ingress_chains = vec!["netdev t c".into()];
    assert_eq!(three(&auto, &chain)[1..], [may(), may()]);
    // No limit is reported if no frames would arrive.
    let all = Settings {
        hook: Hook::Tc,
        ..Settings::default()
    };
    let plans = three(&all, &|facts| facts.shaper = Some("a shaper".into()));
    assert!(plans.iter().all(|(_, reason)| reason.is_none()));
}

#[test]
fn a_queue_that_somebody_tuned_and_a_driver_without_rings_are_named() {
    let wan = |change: &dyn Fn(&mut Link, &mut PortFacts)| {
        let mut ports = [port(LAN, "lan0", None), port(WAN, "wan0", None)];
        let (link, facts) = &mut ports[1];
        change(link, facts);
        transmits(&planned(&ports, &Settings::default())[1])
    };
    let no = |reason| (false, Some(reason));
    let words = "fq_codel with options of its own";
    assert_eq!(
        wan(&|_, f| f.shaper = Some(words.into())),
        no(PortReason::Queue(words.into()))
    );
    assert_eq!(
        wan(&|l, _| l.qdisc = "cake".into()),
        no(PortReason::Queue("cake".into()))
    );
    let native = xdp::BASIC | xdp::REDIRECT;
    let asleep = |l: &mut Link, f: &mut PortFacts| {
        l.kind = "veth".into();
        f.xdp_features = Some(native);
    };
    assert_eq!(wan(&asleep), no(PortReason::PeerSleeps));
    assert_eq!(
        wan(&|_, f| f.xdp_features = Some(native)),
        no(PortReason::NoRings)
    );
    assert_eq!(
        wan(&|l, f| (l.kind, f.xdp_features) = ("veth".into(), None)),
        no(PortReason::NoRings)
    );
}

#[test]
fn what_asks_for_a_connection_keeps_what_leaves() {
    let mut ports = [port(LAN, "lan0", None), port(WAN, "wan0", None)];
    ports[1].1.asking = vec!["the qdisc cake with nat".into()];
    let plans = planned(&ports, &Settings::default());
    let (lan, wan) = (&plans[0], &plans[1]);
    assert_eq!(
        (wan.ingress, wan.egress, wan.hook),
        (true, false, Hook::Xdp)
    );
    assert!(lan.egress && lan.ingress && lan.limits.is_empty());
    assert_eq!(wan.limits.len(), 1);
    assert_eq!(wan.limits[0].of, Use::Out);
    let text = wan.limits[0].explain();
    assert!(text.contains("the qdisc cake with nat needs"), "{text}");
}
