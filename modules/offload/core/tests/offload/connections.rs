//! Rules for connections, one by one.

mod older;
mod room;

use crate::common::{Rig, UP, connection, tcp, tuple, udp};
use kernel::{Address, Connection, Event, Protocol, Source, status};
use weir_offload_core::{Action, Cause, DeclineReason, FlowId, Mark, Settings};

fn rig() -> Rig {
    Rig::new(Settings::default())
}

fn one() -> Connection {
    tcp(1, "10.0.0.2:4000", "192.0.2.1:80")
}

/// Reports a connection alone, and returns the reason why it was declined.
fn verdict(settings: Settings, connection: &Connection) -> Option<DeclineReason> {
    let mut rig = Rig::new(settings);
    rig.connection(connection);
    rig.reason(&connection.id)
}

fn ours(rig: &mut Rig, address: &str, there: bool) -> Vec<Action> {
    rig.tell(Event::Address(
        Address {
            link: 1,
            address: address.parse().unwrap(),
        },
        there,
    ))
}

#[test]
fn an_established_connection_is_relaxed_then_installed() {
    let c = one();
    let expected = [
        Action::Relax(c.id),
        Action::Install {
            flow: FlowId(0),
            original: c.id.original,
            reply: c.reply,
            window_scales: None,
        },
    ];
    assert_eq!(rig().connection(&c), expected);
    let c = udp(1, "[2001:db8::2]:4000", "[2001:db8:1::1]:53");
    assert_eq!(
        rig().connection(&c),
        [Action::Install {
            flow: FlowId(0),
            original: c.id.original,
            reply: c.reply,
            window_scales: None,
        }]
    );
}

#[test]
fn every_condition_declines_with_its_reason() {
    let settings = Settings {
        opt_out: Some(Mark {
            value: 0x100,
            mask: 0xf00,
        }),
        ..Settings::default()
    };
    let with = |change: &dyn Fn(&mut Connection)| {
        let mut c = one();
        change(&mut c);
        verdict(settings.clone(), &c)
    };
    let bits = |bits: u32| with(&|c| c.status = Some(UP | bits));
    assert_eq!(with(&|_| {}), None);
    assert_eq!(
        with(&|c| c.status = None),
        Some(DeclineReason::StatusUnknown)
    );
    assert_eq!(
        with(&|c| c.status = Some(status::SEEN_REPLY)),
        Some(DeclineReason::NotConfirmed)
    );
    assert_eq!(bits(status::TEMPLATE), Some(DeclineReason::NotConfirmed));
    assert_eq!(bits(status::NAT_CLASH), Some(DeclineReason::Clash));
    assert_eq!(bits(status::HELPER), Some(DeclineReason::Helper));
    assert_eq!(with(&|c| c.helper = true), Some(DeclineReason::Helper));
    assert_eq!(
        bits(status::SEQ_ADJUST),
        Some(DeclineReason::SequenceAdjusted)
    );
    assert_eq!(
        with(&|c| c.sequence_adjusted = true),
        Some(DeclineReason::SequenceAdjusted)
    );
    assert_eq!(bits(status::OFFLOAD), Some(DeclineReason::Flowtable));
    assert_eq!(bits(status::HW_OFFLOAD), Some(DeclineReason::Flowtable));
    assert_eq!(with(&|c| c.mark = 0x1ff), Some(DeclineReason::OptedOut));
    assert_eq!(with(&|c| c.mark = 0x3ff), None);
    assert_eq!(
        with(&|c| c.tcp_state = Some(2)),
        Some(DeclineReason::NotEstablished)
    );
    assert_eq!(
        with(&|c| c.tcp_state = None),
        Some(DeclineReason::NotEstablished)
    );
    // FIN_WAIT to CLOSE; then SYN_SENT2.
    for (state, why) in (4..=9).map(|state| (state, DeclineReason::Ended)) {
        let why = if state == 9 {
            DeclineReason::NotEstablished
        } else {
            why
        };
        assert_eq!(with(&|c| c.tcp_state = Some(state)), Some(why), "{state}");
    }
    assert_eq!(
        with(&|c| c.reply = tuple(Protocol::Udp, "192.0.2.1:80", "10.0.0.2:4000")),
        Some(DeclineReason::Malformed)
    );
    assert_eq!(
        with(&|c| c.reply = tuple(Protocol::Tcp, "[2001:db8::1]:80", "[2001:db8::2]:1")),
        Some(DeclineReason::Malformed)
    );

    let off = Settings {
        tcp: false,
        ..Settings::default()
    };
    assert_eq!(
        verdict(off.clone(), &one()),
        Some(DeclineReason::ProtocolOff)
    );
    assert_eq!(verdict(off, &udp(1, "10.0.0.2:4000", "192.0.2.1:53")), None);
    let off = Settings {
        udp: false,
        ..Settings::default()
    };
    assert_eq!(
        verdict(off, &udp(1, "10.0.0.2:4000", "192.0.2.1:53")),
        Some(DeclineReason::ProtocolOff)
    );
    let mut alone = udp(1, "10.0.0.2:4000", "192.0.2.1:53");
    alone.status = Some(status::CONFIRMED);
    assert_eq!(
        verdict(Settings::default(), &alone),
        Some(DeclineReason::NoReply)
    );
}

#[test]
fn a_dying_connection_is_removed_and_never_begun() {
    let mut c = one();
    c.status = Some(UP | status::DYING);
    let mut rig = rig();
    assert_eq!(rig.connection(&c), []);
    assert_eq!(rig.core.flows().count(), 0);
    rig.connection(&one());
    assert_eq!(rig.connection(&c), [Action::Remove { flow: FlowId(0) }]);
    assert_eq!(rig.reason(&c.id), Some(DeclineReason::Dying));
}

#[test]
fn addresses_that_are_not_forwarded_are_declined() {
    let pairs = [
        ("127.0.0.1:1", "192.0.2.1:80"),
        ("10.0.0.2:1", "127.0.0.1:80"),
        ("10.0.0.2:1", "224.0.0.251:5353"),
        ("10.0.0.2:1", "255.255.255.255:67"),
        ("0.0.0.0:68", "192.0.2.1:67"),
        ("169.254.1.1:1", "192.0.2.1:80"),
        ("[fe80::1]:1", "[2001:db8::1]:80"),
        ("[2001:db8::1]:1", "[ff02::fb]:5353"),
        ("[::1]:1", "[2001:db8::1]:80"),
        ("[::]:1", "[2001:db8::1]:80"),
        ("[::ffff:10.0.0.1]:1", "[2001:db8::1]:80"),
    ];
    for (source, destination) in pairs {
        let c = udp(1, source, destination);
        assert_eq!(
            verdict(Settings::default(), &c),
            Some(DeclineReason::SpecialAddress),
            "{source} {destination}"
        );
    }
    let c = tcp(1, "10.0.0.2:1", "10.0.0.2:80");
    assert_eq!(
        verdict(Settings::default(), &c),
        Some(DeclineReason::SameEndpoints)
    );
}

#[test]
fn what_ends_or_begins_here_is_local_and_what_is_translated_here_is_not() {
    let mut rig = rig();
    ours(&mut rig, "198.51.100.1", true);
    let into = tcp(1, "10.0.0.2:1", "198.51.100.1:22");
    let out_of = tcp(2, "198.51.100.1:2", "192.0.2.1:80");
    let mut forwarded_port = tcp(3, "192.0.2.9:3", "198.51.100.1:80");
    forwarded_port.reply = tuple(Protocol::Tcp, "10.0.0.80:80", "192.0.2.9:3");
    let mut masqueraded = tcp(4, "10.0.0.2:4", "192.0.2.1:80");
    masqueraded.reply = tuple(Protocol::Tcp, "192.0.2.1:80", "198.51.100.1:4");
    let mut redirected = tcp(5, "10.0.0.2:5", "192.0.2.1:80");
    redirected.reply = tuple(Protocol::Tcp, "198.51.100.1:3128", "10.0.0.2:5");
    for c in [&into, &out_of, &forwarded_port, &masqueraded, &redirected] {
        rig.connection(c);
    }
    let reasons =
        [&into, &out_of, &forwarded_port, &masqueraded, &redirected].map(|c| rig.reason(&c.id));
    let (local_in, local_out) = (Some(DeclineReason::LocalIn), Some(DeclineReason::LocalOut));
    assert_eq!(reasons, [local_in, local_out, None, None, local_in]);
}

#[test]
fn events_that_leave_something_out_change_nothing_of_it() {
    let mut rig = rig();
    let mut c = one();
    rig.connection(&c);
    c.tcp_state = None;
    c.status = None;
    // A field missing in the event may have changed: weir queries the kernel again.
    assert_eq!(rig.connection(&c), [Action::Invalidate { flow: FlowId(0) }]);
    c.sequence_adjusted = true;
    assert_eq!(rig.connection(&c), [Action::Remove { flow: FlowId(0) }]);
    c.sequence_adjusted = false;
    assert_eq!(
        rig.connection(&c),
        [],
        "an event about something else does not take it back"
    );
    assert_eq!(rig.reason(&c.id), Some(DeclineReason::SequenceAdjusted));
}

#[test]
fn leaving_established_removes_at_once_and_coming_back_takes_another_number() {
    let mut rig = rig();
    let mut c = one();
    rig.connection(&c);
    c.tcp_state = Some(4);
    assert_eq!(rig.connection(&c), [Action::Remove { flow: FlowId(0) }]);
    c.tcp_state = Some(3);
    assert_eq!(
        rig.connection(&c).last(),
        Some(&Action::Install {
            flow: FlowId(1),
            original: c.id.original,
            reply: c.reply,
            window_scales: None,
        })
    );
    assert_eq!(rig.core.find(&c.id.original), [FlowId(1)]);
    c.tcp_state = Some(4);
    rig.connection(&c);
    rig.pass(100);
    rig.pass(100);
    c.tcp_state = Some(3);
    assert!(rig.connection(&c).contains(&Action::Install {
        flow: FlowId(1),
        original: c.id.original,
        reply: c.reply,
        window_scales: None,
    }));
}

/// Both ends forgot the connection, and opened a new one with the same tuple: the kernel keeps the
/// entry.
#[test]
fn window_scales_are_those_of_the_last_handshake() {
    let mut rig = rig();
    let mut c = one();
    let installed = |actions: &[Action]| {
        actions.iter().find_map(|action| match action {
            Action::Install { window_scales, .. } => Some(*window_scales),
            _ => None,
        })
    };
    c.window_scales = Some([0, 0]);
    assert_eq!(installed(&rig.connection(&c)), Some(Some([0, 0])));
    for (state, scales) in [(2, Some([7, 7])), (3, None)] {
        (c.tcp_state, c.window_scales) = (Some(state), scales);
        let actions = rig.connection(&c);
        let expected = (state == 3).then_some(Some([7, 7]));
        assert_eq!(installed(&actions), expected, "{state}");
    }
}

#[test]
fn an_old_end_does_not_touch_the_successor() {
    let mut rig = rig();
    let (old, new) = (one(), tcp(2, "10.0.0.2:4000", "192.0.2.1:80"));
    rig.connection(&old);
    let actions = rig.connection(&new);
    assert_eq!(actions[0], Action::Remove { flow: FlowId(0) });
    assert_eq!(actions.len(), 3);
    assert_eq!(rig.tell(Event::ConnectionGone(old.id)), []);
    assert_eq!(rig.known(), [new.id.original]);
    assert_eq!(rig.tell(Event::ConnectionGone(new.id)).len(), 1);
    assert_eq!(rig.tell(Event::ConnectionGone(new.id)), []);
    assert_eq!(rig.core.flows().count(), 0);
}

#[test]
fn a_changed_translation_is_a_remove_and_an_install() {
    let mut rig = rig();
    let mut c = udp(1, "10.0.0.2:1", "192.0.2.1:53");
    rig.connection(&c);
    c.reply = tuple(Protocol::Udp, "192.0.2.1:53", "198.51.100.1:999");
    let actions = rig.connection(&c);
    assert_eq!(
        actions,
        [
            Action::Remove { flow: FlowId(0) },
            Action::Install {
                flow: FlowId(1),
                original: c.id.original,
                reply: c.reply,
                window_scales: None,
            }
        ]
    );
    assert_eq!(rig.core.find(&c.reply), [FlowId(1)]);
    assert_eq!(rig.core.find(&c.id.original.reversed()), []);
}

#[test]
fn a_lost_event_asks_for_a_dump_and_the_dump_sweeps() {
    let mut rig = rig();
    let (a, b, c) = (
        one(),
        udp(2, "10.0.0.3:1", "192.0.2.1:53"),
        udp(3, "10.0.0.4:1", "192.0.2.1:53"),
    );
    rig.connection(&a);
    rig.connection(&b);
    assert_eq!(
        rig.tell(Event::DumpEnd(Source::Conntrack)),
        [],
        "nobody asked"
    );
    assert_eq!(
        rig.tell(Event::Overrun(Source::Conntrack)),
        [
            Action::InvalidateAll(Cause::Overrun(Source::Conntrack)),
            Action::Dump(Source::Conntrack)
        ]
    );
    rig.connection(&b);
    rig.connection(&c);
    assert_eq!(
        rig.tell(Event::DumpEnd(Source::Conntrack)),
        [Action::Remove { flow: FlowId(0) }]
    );
    assert_eq!(rig.known(), [b.id.original, c.id.original]);
    assert_eq!(
        rig.tell(Event::Overrun(Source::Firewall)),
        [Action::InvalidateAll(Cause::Overrun(Source::Firewall))]
    );
}

#[test]
fn events_lost_during_a_dump_ask_for_another_before_sweeping() {
    let mut rig = rig();
    rig.connection(&one());
    rig.tell(Event::Overrun(Source::Conntrack));
    assert_eq!(
        rig.tell(Event::Overrun(Source::Conntrack)),
        [Action::InvalidateAll(Cause::Overrun(Source::Conntrack))]
    );
    assert_eq!(
        rig.tell(Event::DumpEnd(Source::Conntrack)),
        [Action::Dump(Source::Conntrack)]
    );
    assert_eq!(rig.known().len(), 1);
    assert_eq!(rig.pass(59_000), []);
    assert_eq!(
        rig.pass(1_000),
        [Action::Dump(Source::Conntrack)],
        "unanswered for a minute"
    );
    assert_eq!(
        rig.tell(Event::DumpEnd(Source::Conntrack)),
        [Action::Remove { flow: FlowId(0) }]
    );
}

#[test]
fn a_sweep_that_ends_a_doubt_installs_what_remains_and_nothing_stale() {
    let mut rig = rig();
    let a = one();
    let mut others = [7, 8].map(|zone| {
        let mut c = tcp(zone.into(), "10.0.0.2:4000", "192.0.2.1:80");
        c.id.zone = zone;
        c
    });
    rig.connection(&a);
    others.iter().for_each(|c| drop(rig.connection(c)));
    rig.tell(Event::Overrun(Source::Conntrack));
    others[1].mark = 5;
    rig.connection(&others[1]);
    let actions = rig.tell(Event::DumpEnd(Source::Conntrack));
    assert_eq!(actions.len(), 2, "{actions:?}");
    assert_eq!(rig.reason(&others[1].id), None);
}

#[test]
fn a_hundred_thousand_flows_are_bumped_in_one_action() {
    let mut core = weir_offload_core::Core::new(Settings {
        max_flows: 200_000,
        ..Settings::default()
    });
    let mut out = Vec::new();
    for n in 0..100_000u32 {
        let [a, b, c, d] = n.to_be_bytes();
        let original = tuple(
            Protocol::Udp,
            &format!("10.{b}.{c}.{d}:{}", 1 + u16::from(a)),
            "192.0.2.1:53",
        );
        core.on_event(Event::Connection(connection(n, original)), 0, &mut out);
    }
    assert_eq!(core.statistics().installed, 100_000);
    out.clear();
    core.on_event(Event::Firewall(2), 1, &mut out);
    assert_eq!(out, [Action::InvalidateAll(Cause::Firewall(2))]);
    out.clear();
    core.on_event(Event::Routing, 2, &mut out);
    assert_eq!(out, [Action::InvalidateAll(Cause::Routing)]);
}

#[test]
fn a_program_on_a_route_to_either_end_leaves_a_connection_to_the_kernel() {
    let mut rig = rig();
    let mut c = one();
    // Translated: packets leave for the source of the reply.
    c.reply.source = "203.0.113.7".parse().unwrap();
    rig.connection(&c);
    let mut verdict = |routes: &[&str]| {
        let routes: Vec<_> = routes.iter().map(|to| to.parse().unwrap()).collect();
        let mut out = Vec::new();
        rig.core.route_programs(&routes, rig.now, &mut out);
        (rig.reason(&c.id), out.len())
    };
    let (left, same) = (Some(DeclineReason::RouteProgram), (None, 0));
    assert_eq!(
        verdict(&["192.0.2.0/24", "2001:db8::/32", "10.0.0.0/31"]),
        same
    );
    let (reason, actions) = verdict(&["198.51.100.0/24", "203.0.113.0/24"]);
    assert!(reason == left && actions > 0);
    assert_eq!(verdict(&["0.0.0.0/0"]), (left, 0));
    assert_eq!(verdict(&["10.0.0.2/32"]), (left, 0));
    assert_eq!(verdict(&["::/0"]).0, None);
}
