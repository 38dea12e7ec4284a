//! Rules that hold for any evidence.

use detect::Internet;
use proptest::prelude::*;

use super::{frame, hello, lldp, look, mac};
use crate::{Cable, FrameClass, Hello, Port, PortSummary, Proof, Role, Use};

#[derive(Clone, Debug)]
enum Event {
    Frame(usize, u8, Option<u16>),
    Lldp(&'static str, u16),
    Look(Internet, bool),
    Hello(bool),
    Own,
    Link(bool),
    Wants,
    Nothing,
}

fn event() -> impl Strategy<Value = (Event, u64)> {
    let internet = prop_oneof![
        Just(Internet::Dhcp),
        Just(Internet::Pppoe),
        Just(Internet::Ipv6Only),
        Just(Internet::Static),
        Just(Internet::None),
    ];
    let vlan = prop_oneof![3 => Just(None), 1 => (1..4095u16).prop_map(Some)];
    let names = prop_oneof![Just("LiteBeam 5AC"), Just("x")];
    let event = prop_oneof![
        8 => (0..FrameClass::ALL.len(), 0..6u8, vlan).prop_map(|(a, b, c)| Event::Frame(a, b, c)),
        1 => (names, any::<u16>()).prop_map(|(a, b)| Event::Lldp(a, b)),
        1 => (internet, any::<bool>()).prop_map(|(a, b)| Event::Look(a, b)),
        1 => any::<bool>().prop_map(Event::Hello),
        1 => Just(Event::Own),
        1 => any::<bool>().prop_map(Event::Link),
        3 => Just(Event::Wants),
        3 => Just(Event::Nothing),
    ];
    (event, prop_oneof![0..100u64, 0..5000u64, 0..40_000u64])
}

fn a_port() -> impl Strategy<Value = Port> {
    let former = prop_oneof![
        Just(Use::Lan),
        Just(Use::Uplink),
        Just(Use::Mesh),
        Just(Use::None),
    ];
    let role = proptest::sample::select(&Role::ALL[..]);
    let held = prop_oneof![4 => Just(None), 1 => role.prop_map(Some)];
    let yes = any::<bool>;
    (former, yes(), yes(), yes(), yes(), yes(), held).prop_map(
        |(former, works, administrator, own, secret, probes, held)| Port {
            device: "lan1".into(),
            former,
            works,
            administrator,
            own_dhcp: own,
            secret,
            probes,
            held,
            other_uplinks: Vec::new(),
        },
    )
}

proptest! {
    #[test]
    fn rules_hold(port in a_port(), events in proptest::collection::vec(event(), 0..60)) {
        let mut cable = Cable::new(port.clone());
        let mut noted = PortSummary::default();
        let (mut now, mut up, mut looks, mut proven) = (0, false, 0, false);
        let mut own: Option<u64> = None;
        let mut came_back = false;
        for (event, time) in events {
            now += time;
            match event {
                Event::Frame(sort, from, vlan) => {
                    frame(&mut noted, FrameClass::ALL[sort], mac(from), now, vlan);
                    let many = noted.of(FrameClass::Own).frames >= 3 || came_back;
                    if up && FrameClass::ALL[sort] == FrameClass::Own && many {
                        own = Some(now);
                    }
                    cable.noted(&noted, now);
                }
                Event::Lldp(name, enabled) => noted.lldp = lldp(name, enabled),
                Event::Look(internet, gateway) => cable.looked(&look(internet, gateway), now),
                Event::Hello(proof) => {
                    proven |= proof && up;
                    cable.hello(&hello(proof), now);
                }
                Event::Own => {
                    came_back |= up;
                    own = own.max(up.then_some(now));
                    let own = Hello { proof: Proof::Own, ..hello(false) };
                    cable.hello(&own, now);
                }
                Event::Link(comes) => {
                    if comes != up {
                        came_back = false;
                        (noted, looks, proven, own) = (PortSummary::default(), 0, false, None);
                    }
                    up = comes;
                    cable.link(up, now);
                }
                Event::Wants => {
                    let wants = cable.wants_look(now);
                    prop_assert!(!wants || (up && port.held.is_none() && !port.administrator));
                    looks += u8::from(wants);
                    prop_assert!(looks <= 1);
                }
                Event::Nothing => {}
            }
            let said = cable.decision(now);
            prop_assert!(said.confidence <= 100);
            prop_assert_eq!(&said, &cable.decision(now));
            if let Some(role) = port.held {
                prop_assert_eq!((said.role, said.held_by), (role, Some("administrator")));
                continue;
            }
            if port.administrator {
                prop_assert_eq!((said.role, said.held_by), (Role::Client, Some("connection")));
                continue;
            }
            prop_assert!(said.role != Role::Mesh || proven);
            let taken = matches!(said.role, Role::Uplink | Role::Border);
            prop_assert!(!taken || port.former != Use::Lan, "{}", said.why);
            let lasts = if port.probes { 30_000 } else { u64::MAX };
            let loops = own.is_some_and(|at| now - at < lasts);
            prop_assert!(said.role != Role::Loop || loops);
            let flaps = said.why.starts_with("The cable comes");
            prop_assert!(!loops || flaps || said.role == Role::Loop, "{}", said.why);
            prop_assert!(said.decided.is_some() || matches!(said.role, Role::Unknown));
            prop_assert!(up || said.decided.is_none());
            let pppoe = said.why.contains("PPPoE");
            let doubted = port.own_dhcp && port.former != Use::Uplink && !pppoe;
            prop_assert!(said.role != Role::Uplink || !doubted, "{}", said.why);
        }
    }
}
