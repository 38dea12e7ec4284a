//! Devices, neighbours, generations; and where to attach.

use crate::common::{Rig, apart_from_stacks, bumps, facts, link, plan};
use kernel::{Address, Event, Link, Mac, Neighbour, Qdisc, Source};
use weir_offload_core::ports::xdp;
use weir_offload_core::{Action, Cause, Hook, PortFacts, PortPlan, PortReason, Settings};

fn rig() -> Rig {
    Rig::new(Settings::default())
}

fn tell(rig: &mut Rig, link: &Link) -> Vec<Action> {
    apart_from_stacks(rig.tell(Event::Link(link.clone())))
}

fn hops(link: u32, mac: Mac) -> Vec<Action> {
    vec![Action::InvalidateHops { link, mac }]
}

#[test]
fn another_choice_among_next_hops_ends_all_proofs() {
    let mut rig = Rig::new(Settings::default());
    let lo = Link {
        hardware: 772,
        ..link(1, "lo")
    };
    rig.tell(Event::Link(lo));
    let settings = kernel::facts::multipath().expect("readable");
    // Only the difference between two values counts.
    assert_ne!(settings, kernel::facts::Multipath::default());
    let with = |multipath| PortFacts {
        multipath,
        ..facts()
    };
    let routing = |actions: &[Action]| {
        let cause = Action::InvalidateAll(Cause::Routing);
        actions.iter().filter(|action| **action == cause).count()
    };
    for (next, ends) in [
        (None, 0),
        (Some(settings.clone()), 0),
        (Some(settings.clone()), 0),
        (Some(kernel::facts::Multipath::default()), 1),
        (Some(kernel::facts::Multipath::default()), 0),
        (Some(settings), 1),
    ] {
        assert_eq!(routing(&rig.facts(1, with(next.clone()))), ends, "{next:?}");
    }
}

#[test]
fn each_generation_bumps_once() {
    let mut rig = rig();
    assert_eq!(
        rig.tell(Event::Firewall(3)),
        [Action::InvalidateAll(Cause::Firewall(3))]
    );
    assert_eq!(rig.tell(Event::Firewall(3)), []);
    assert_eq!(rig.tell(Event::Firewall(4)).len(), 1);
    assert_eq!(
        rig.tell(Event::Routing),
        [Action::InvalidateAll(Cause::Routing)]
    );
    assert_eq!(rig.core.statistics().bumps.get("firewall"), Some(&2));
}

#[test]
fn a_device_bumps_only_for_what_matters() {
    let mut rig = rig();
    let first = link(2, "lan0");
    assert_eq!(tell(&mut rig, &first), [], "new");
    assert_eq!(tell(&mut rig, &first), [], "told again");
    let unimportant: [fn(&mut Link); 3] = [
        |l| l.tx_queues = 9,
        |l| l.lower = Some(7),
        |l| l.xdp_program = Some(4),
    ];
    for change in unimportant {
        let mut changed = first.clone();
        change(&mut changed);
        assert_eq!(bumps(&tell(&mut rig, &changed)), 0);
    }
    let important: [fn(&mut Link); 10] = [
        |l| {
            l.vlan = Some(kernel::Vlan {
                id: 5,
                protocol: 0x8100,
            })
        },
        |l| l.settings = 5,
        |l| l.port = Some(5),
        |l| l.up = false,
        |l| l.mac = Some([9; 6]),
        |l| l.mtu = 1400,
        |l| l.master = Some(9),
        |l| l.group = 66,
        |l| l.name = "wan9".into(),
        |l| l.qdisc = "cake".into(),
    ];
    for change in important {
        let mut changed = first.clone();
        change(&mut changed);
        assert_eq!(bumps(&tell(&mut rig, &changed)), 1, "{changed:?}");
        assert_eq!(bumps(&tell(&mut rig, &first)), 1, "and back");
    }
    assert_eq!(
        apart_from_stacks(rig.tell(Event::LinkGone(2))),
        [Action::InvalidateAll(Cause::Link("lan0".into()))]
    );
    assert_eq!(rig.tell(Event::LinkGone(2)), []);
}

#[test]
fn neighbours_beyond_the_limit_bump_everything() {
    let mut rig = rig();
    let at = |n: u32| Neighbour {
        link: 1,
        address: std::net::Ipv4Addr::from(0x0a00_0000 + n).into(),
        mac: Some([2; 6]),
        stale: false,
    };
    for n in 0..16_384 {
        assert_eq!(rig.tell(Event::Neighbour(at(n))), []);
    }
    assert_eq!(
        rig.tell(Event::Neighbour(at(16_384))),
        [Action::InvalidateAll(Cause::Neighbours)]
    );
    assert_eq!(
        rig.tell(Event::Neighbour(at(5))),
        [],
        "known ones are told apart as before"
    );
    assert_eq!(rig.core.neighbours().count(), 16_384);
}

#[test]
fn lost_route_events_ask_for_a_dump_that_sweeps() {
    let mut rig = rig();
    let address = Address {
        link: 2,
        address: "198.51.100.1".parse().unwrap(),
    };
    let neighbour = Neighbour {
        link: 3,
        address: "192.0.2.1".parse().unwrap(),
        mac: Some([7; 6]),
        stale: false,
    };
    tell(&mut rig, &link(2, "lan0"));
    tell(&mut rig, &link(3, "wan0"));
    rig.tell(Event::Address(address, true));
    rig.tell(Event::Neighbour(neighbour));
    let lost = rig.tell(Event::Overrun(Source::Route));
    assert_eq!(
        lost,
        [
            Action::InvalidateAll(Cause::Overrun(Source::Route)),
            Action::Dump(Source::Route)
        ]
    );
    assert_eq!(tell(&mut rig, &link(3, "wan0")), []);
    let end = apart_from_stacks(rig.tell(Event::DumpEnd(Source::Route)));
    assert_eq!(end[0], Action::InvalidateAll(Cause::Address));
    assert_eq!(end[1], Action::InvalidateAll(Cause::Link("lan0".into())));
    assert_eq!(end[2..], hops(3, [7; 6]));
    assert_eq!(
        (
            rig.core.links().count(),
            rig.core.addresses().count(),
            rig.core.neighbours().count()
        ),
        (1, 0, 0)
    );
}

#[test]
fn a_start_asks_for_addresses_before_connections() {
    let mut core = weir_offload_core::Core::new(Settings::default());
    let mut out = Vec::new();
    core.start(5, &mut out);
    assert_eq!(
        out,
        [Action::Dump(Source::Route), Action::Dump(Source::Conntrack)]
    );
}

fn only_plan(actions: &[Action]) -> &PortPlan {
    let plans: Vec<&PortPlan> = actions
        .iter()
        .filter_map(|a| {
            if let Action::Port(plan) = a {
                Some(plan)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(plans.len(), 1, "{actions:?}");
    plans[0]
}

#[test]
fn a_port_is_planned_when_link_and_facts_are_known_and_again_when_they_change() {
    let mut rig = rig();
    let mut lan = link(2, "lan0");
    assert_eq!(tell(&mut rig, &lan), []);
    assert_eq!(
        rig.core.ports().next().unwrap().reason,
        PortReason::NotLookedAt
    );
    let actions = rig.facts(2, facts());
    assert_eq!(only_plan(&actions).hook, Hook::Xdp);
    assert_eq!(bumps(&actions), 0, "nothing was proven over it yet");
    assert_eq!(rig.facts(2, facts()), []);

    // Weir's own program appears, and does not count as a foreign one, then or on its way out.
    lan.xdp_program = Some(44);
    assert_eq!(tell(&mut rig, &lan), []);
    let mut by_name = Settings::default();
    by_name.ports.insert("lan0".into(), Hook::Tc);
    assert_eq!(only_plan(&rig.reload(by_name)).hook, Hook::Tc);
    assert_eq!(only_plan(&rig.reload(Settings::default())).hook, Hook::Xdp);

    let cake = rig.tell(Event::Qdisc(Qdisc {
        link: 2,
        kind: "cake".into(),
    }));
    assert_eq!(
        (only_plan(&cake).xdp_transmit, only_plan(&cake).direct),
        (false, false)
    );
    assert!(bumps(&cake) > 0);
    assert_eq!(
        rig.tell(Event::Qdisc(Qdisc {
            link: 2,
            kind: "cake".into()
        })),
        []
    );
    assert_eq!(
        rig.tell(Event::Qdisc(Qdisc {
            link: 99,
            kind: "cake".into()
        })),
        []
    );

    let off = rig.facts(
        2,
        PortFacts {
            forwarding_v4: false,
            ..facts()
        },
    );
    assert_eq!(
        (only_plan(&off).hook, &only_plan(&off).reason),
        (Hook::Off, &PortReason::NotForwarding)
    );
    assert!(off.contains(&Action::InvalidateAll(Cause::Forwarding)));
    rig.facts(2, facts());
    assert_eq!(
        only_plan(&rig.tell(Event::LinkGone(2))).reason,
        PortReason::Gone
    );
    assert_eq!(rig.core.ports().count(), 0);
}

#[test]
fn an_index_that_was_reused_inherits_nothing() {
    let mut rig = rig();
    tell(&mut rig, &link(2, "lan0"));
    rig.facts(2, facts());
    rig.tell(Event::Neighbour(Neighbour {
        link: 2,
        address: "10.0.0.9".parse().unwrap(),
        mac: Some([7; 6]),
        stale: false,
    }));
    let mut other = link(2, "usb0");
    other.mac = Some([8; 6]);
    let actions = tell(&mut rig, &other);
    assert_eq!(only_plan(&actions).reason, PortReason::Gone);
    assert!(bumps(&actions) > 0);
    assert_eq!(rig.core.neighbours().count(), 0);
    assert_eq!(
        rig.core.ports().next().unwrap().reason,
        PortReason::NotLookedAt
    );
    assert_eq!(only_plan(&rig.facts(2, facts())).name, "usb0");
}

#[test]
fn obstacles_are_named() {
    let with = |change: &dyn Fn(&mut Link, &mut PortFacts)| {
        let (mut link, mut facts) = (link(2, "lan0"), facts());
        change(&mut link, &mut facts);
        let plan = plan(&link, &facts, &Settings::default());
        assert!(!plan.reason.explain().is_empty() && !plan.reason.hint().is_empty());
        assert_eq!(plan.mac == [0; 6], plan.hook == Hook::Off);
        (plan.hook, plan.reason)
    };
    let off = |reason| (Hook::Off, reason);
    assert_eq!(with(&|_, _| {}), (Hook::Xdp, PortReason::Native));
    assert_eq!(with(&|l, _| l.hardware = 772), off(PortReason::Loopback));
    assert_eq!(with(&|l, _| l.hardware = 768), off(PortReason::NotEthernet));
    for kind in [
        "bond",
        "macvlan",
        "ipvlan",
        "wireguard",
        "dummy",
        "vxlan",
        "ifb",
    ] {
        assert_eq!(
            with(&|l, _| l.kind = kind.into()),
            off(PortReason::NotYet(kind.into()))
        );
    }
    assert_eq!(
        with(&|l, _| l.master = Some(9)).1,
        PortReason::Enslaved("device of an unknown kind".into())
    );
    assert_eq!(with(&|l, _| l.up = false), off(PortReason::Down));
    assert_eq!(with(&|l, _| l.mac = None), off(PortReason::NoAddress));
    assert_eq!(
        with(&|_, f| f.forwarding_v4 = false),
        off(PortReason::NotForwarding)
    );
    assert_eq!(
        with(&|_, f| (f.forwarding_v4, f.forwarding_v6) = (false, true)).0,
        Hook::Xdp
    );
    assert_eq!(
        with(&|l, _| l.xdp_program = Some(1)),
        off(PortReason::ForeignXdp)
    );
    assert_eq!(
        with(&|_, f| f.foreign_xdp = true),
        off(PortReason::ForeignXdp)
    );
    assert_eq!(
        with(&|l, f| (l.xdp_program, f.own_program) = (Some(1), Some(1))).0,
        Hook::Xdp
    );
    assert_eq!(
        with(&|l, _| l.hardware = 512),
        off(PortReason::Ppp),
        "and by its hardware type alone"
    );
}

#[test]
fn the_hook_follows_device_and_kernel() {
    let with = |change: &dyn Fn(&mut Link, &mut PortFacts)| {
        let (mut link, mut facts) = (link(2, "lan0"), facts());
        change(&mut link, &mut facts);
        let plan = plan(&link, &facts, &Settings::default());
        (plan.hook, plan.reason, plan.xdp_transmit, plan.direct)
    };
    let checksums = PortReason::UnfinishedChecksums;
    assert_eq!(
        with(&|l, _| l.kind = "veth".into()),
        (Hook::Tc, checksums.clone(), true, true)
    );
    assert_eq!(
        with(&|l, _| l.kind = "tun".into()),
        (Hook::Tc, checksums, true, true)
    );
    assert_eq!(with(&|_, f| f.driver = "virtio_net".into()).0, Hook::Xdp);
    assert_eq!(
        with(&|_, f| f.xdp_features = Some(0)),
        (Hook::Tc, PortReason::NoNativeXdp, false, true)
    );
    assert_eq!(with(&|_, f| f.xdp_features = Some(xdp::BASIC)).0, Hook::Tc);
    assert_eq!(
        with(&|_, f| f.xdp_features = Some(xdp::BASIC | xdp::REDIRECT)),
        (Hook::Xdp, PortReason::Native, false, true)
    );
    assert_eq!(
        with(&|_, f| f.xdp_features = None),
        (Hook::Xdp, PortReason::KnownDriver, true, true)
    );
    assert_eq!(
        with(&|l, f| (f.xdp_features, l.kind) = (None, "veth".into())),
        (Hook::Tc, PortReason::UnfinishedChecksums, false, true),
        "without a program of its own it may have no rings to transmit frames by"
    );
    let unknown = |f: &mut PortFacts| (f.xdp_features, f.driver) = (None, "r8169".into());
    assert_eq!(
        with(&|_, f| unknown(f)),
        (Hook::Tc, PortReason::NoNativeXdp, false, true)
    );
    for qdisc in [
        "noqueue",
        "pfifo_fast",
        "mq",
        "fq_codel",
        "fq",
        "pfifo",
        "noop",
    ] {
        assert_eq!(
            with(&|l, _| l.qdisc = qdisc.into()),
            (Hook::Xdp, PortReason::Native, true, true)
        );
    }
    for qdisc in ["cake", "htb", "tbf", ""] {
        assert_eq!(
            with(&|l, _| l.qdisc = qdisc.into()),
            (Hook::Xdp, PortReason::Native, false, false)
        );
    }
    assert_eq!(with(&|_, f| f.xdp_refused = true).1, PortReason::XdpRefused);
    assert_eq!(
        with(&|_, f| (f.xdp_refused, f.tc_refused) = (true, true)).1,
        PortReason::TcRefused
    );
}

#[test]
fn the_settings_have_the_last_word() {
    let with = |hook, name: &str, wish, change: &dyn Fn(&mut Link, &mut PortFacts)| {
        let (mut link, mut facts) = (link(2, "lan0"), facts());
        change(&mut link, &mut facts);
        let mut settings = Settings {
            hook,
            ..Settings::default()
        };
        settings.ports.insert(name.into(), wish);
        let plan = plan(&link, &facts, &settings);
        (plan.hook, plan.reason)
    };
    let plain = &|_: &mut Link, _: &mut PortFacts| {};
    assert_eq!(
        with(Hook::Auto, "lan0", Hook::Off, plain),
        (Hook::Off, PortReason::SwitchedOff)
    );
    assert_eq!(
        with(Hook::Auto, "wan0", Hook::Off, plain),
        (Hook::Xdp, PortReason::Native)
    );
    assert_eq!(
        with(Hook::Auto, "lan0", Hook::Tc, plain),
        (Hook::Tc, PortReason::Asked)
    );
    assert_eq!(
        with(Hook::Tc, "lan0", Hook::Auto, plain),
        (Hook::Xdp, PortReason::Native)
    );
    assert_eq!(
        with(Hook::Tc, "wan0", Hook::Auto, plain),
        (Hook::Tc, PortReason::Asked)
    );
    let veth = &|l: &mut Link, _: &mut PortFacts| l.kind = "veth".into();
    assert_eq!(
        with(Hook::Auto, "lan0", Hook::Xdp, veth),
        (Hook::Xdp, PortReason::Asked)
    );
    let refused = &|_: &mut Link, f: &mut PortFacts| f.xdp_refused = true;
    assert_eq!(
        with(Hook::Auto, "lan0", Hook::Xdp, refused),
        (Hook::Tc, PortReason::XdpRefused)
    );
    let foreign = &|_: &mut Link, f: &mut PortFacts| f.foreign_xdp = true;
    assert_eq!(
        with(Hook::Auto, "lan0", Hook::Tc, foreign),
        (Hook::Tc, PortReason::Asked)
    );
    assert_eq!(
        with(Hook::Auto, "lan0", Hook::Xdp, foreign),
        (Hook::Off, PortReason::ForeignXdp)
    );
}

#[test]
fn what_a_bridge_gives_to_netfilter_ends_all_proofs() {
    let mut rig = Rig::new(Settings::default());
    let mut bridge = link(7, "br0");
    bridge.kind = "bridge".to_owned();
    rig.tell(Event::Link(bridge));
    let with = |filters: &[&str]| PortFacts {
        bridge_filters: filters.iter().map(|filter| (*filter).to_owned()).collect(),
        ..facts()
    };
    assert_eq!(bumps(&rig.facts(7, with(&[]))), 0);
    assert_eq!(
        bumps(&rig.facts(7, with(&["the module ebtable_filter"]))),
        1
    );
    assert_eq!(
        bumps(&rig.facts(7, with(&["the module ebtable_filter"]))),
        0
    );
    assert_eq!(bumps(&rig.facts(7, with(&[]))), 1);
}
