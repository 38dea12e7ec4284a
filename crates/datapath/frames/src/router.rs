//! The packet path under test: a router between a LAN and a WAN port, and the part of the kernel
//! that the test plays.

use std::cell::Cell;
use std::process::Command;
use std::time::{Duration, Instant};

use datapath::{Datapath, Error, Options, Port, Reason, Sizes, SkbFields};
use kernel::{Protocol, Tuple};

use super::Frame;
use super::connection::*;
use super::link::Behind;
use super::model::{self, Hook, Way};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
const XDP_REDIRECT: u32 = 4;
const TC_PASS: u32 = u32::MAX;
const TC_REDIRECT: u32 = 7;
const TC_DROP: u32 = 2;
pub const HOOKS: [Hook; 2] = [Hook::Xdp, Hook::Tc];
/// Number of attempts before a proof counts as refused: a test may lose the processor for longer
/// than a packet may be under way.
const TRIES: u32 = 2000;

/// Moves this thread into a fresh namespace with the devices of a router.
pub fn namespace() {
    // SAFETY: affects this thread only.
    let result = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    let error = std::io::Error::last_os_error();
    assert_eq!(result, 0, "needs root: unshare: {error}");
    for (name, index, mac) in [
        ("lan0", LAN, ROUTER_LAN),
        ("wan0", WAN, ROUTER_WAN),
        ("wan1", WAN_TOO, ROUTER_WAN),
    ] {
        let mac = mac.map(|o| format!("{o:02x}")).join(":");
        ip(&format!(
            "link add {name} index {index} address {mac} type veth peer name {name}-peer"
        ));
        ip(&format!("link set {name} up"));
    }
    ip("link set lo up");
}

fn ip(line: &str) {
    let made = Command::new("ip").args(line.split(' ')).status();
    assert!(made.expect("ip is installed").success(), "ip {line}");
}

/// Fate of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Passed to the kernel, unchanged, for this reason.
    Passed(Reason),
    /// Sent out, as these bytes.
    Forwarded(Vec<u8>),
    /// Gone, for this reason.
    Dropped(Reason),
}

/// The packet path, and its installed connections.
pub struct Router {
    pub path: Datapath,
    pub connections: Vec<Connection>,
    next: Cell<u32>,
}

/// Times short enough not to wait for: for tests in which they play no part.
pub fn brief() -> Options {
    Options {
        quiet: 1,
        hold: 1,
        rehearsal: true,
        ..Default::default()
    }
}

impl Router {
    /// A router without connections.
    pub fn new(options: Options) -> Self {
        Self::sized(options, 64)
    }

    /// Creates a router with room for this many connections of each family.
    pub fn sized(options: Options, connections: u32) -> Self {
        namespace();
        let sizes = Sizes::new(connections, connections, &[LAN, WAN]);
        let mut path = Datapath::load(sizes, options).expect("loads");
        path.declare(&Port::new(LAN, ROUTER_LAN, true))
            .expect("a port");
        path.declare(&Port::new(WAN, ROUTER_WAN, true))
            .expect("a port");
        path.heartbeat.arm().expect("arms");
        Self {
            path,
            connections: Vec::new(),
            next: Cell::new(1),
        }
    }

    /// A router with four connections, TCP and UDP over IPv4 and IPv6, whose client address and
    /// port are translated.
    pub fn standard() -> Self {
        Self::with_four(brief(), true)
    }

    /// Makes a router with the four connections, with or without translation.
    pub fn with_four(options: Options, translated: bool) -> Self {
        let mut router = Self::new(options);
        for protocol in [Protocol::Tcp, Protocol::Udp] {
            for (client, outside, server) in [
                ("192.168.1.2", "10.0.0.1", "10.0.0.2"),
                ("fd00:1::2", "fd00:2::1", "fd00:2::2"),
            ] {
                let original = tuple(protocol, client, 40000, server, 443);
                let reply = if translated {
                    tuple(protocol, server, 443, outside, 50000)
                } else {
                    original.reversed()
                };
                router.connect(original, reply).expect("room");
            }
        }
        router
    }

    /// Installs a connection.
    pub fn connect(&mut self, original: Tuple, reply: Tuple) -> Result<Connection, Error> {
        let id = self.next.replace(self.next.get() + 1);
        self.path.install(id, &original, &reply)?;
        let connection = Connection {
            id,
            original,
            reply,
        };
        self.connections.push(connection);
        Ok(connection)
    }

    /// Forgets a connection.
    pub fn disconnect(&mut self, connection: &Connection) {
        self.path.remove(connection.id);
        self.connections.retain(|c| c.id != connection.id);
    }

    /// Lets rested records be used again, without waiting.
    pub fn rested(&mut self) {
        let later = Instant::now() + Duration::from_secs(1);
        self.path.tidy(later, |_| {}).expect("tidies");
    }

    /// Runs a frame at a hook, as it came in at `link`.
    pub fn run(&mut self, hook: Hook, link: u32, frame: &[u8]) -> Outcome {
        self.path.heartbeat.beat().expect("beats");
        self.run_unbeaten(hook, link, frame)
    }

    /// Runs a frame at a hook without a heartbeat before it.
    pub fn run_unbeaten(&mut self, hook: Hook, link: u32, frame: &[u8]) -> Outcome {
        let before = self.counts();
        let (action, out) = match hook {
            Hook::Xdp => self.path.test_xdp(frame, link),
            Hook::Tc => self
                .path
                .test_skb(false, frame, link, &mut SkbFields::default()),
        }
        .expect("runs");
        match (hook, action) {
            (Hook::Xdp, XDP_DROP) | (Hook::Tc, TC_DROP) => self.dropped(&before),
            _ => self.outcome(action, out, frame, &before),
        }
    }

    /// Runs an skb with more than bytes at TC.
    pub fn run_skb(&mut self, link: u32, frame: &[u8], fields: &mut SkbFields) -> Outcome {
        self.path.heartbeat.beat().expect("beats");
        let before = self.counts();
        let run = self.path.test_skb(false, frame, link, fields);
        let (action, out) = run.expect("runs");
        self.outcome(action, out, frame, &before)
    }

    fn dropped(&self, before: &[u64]) -> Outcome {
        let reasons = self.reasons_since(before);
        assert_eq!(reasons.len(), 1, "a packet dropped has one reason");
        Outcome::Dropped(reasons[0])
    }

    fn outcome(&self, action: u32, out: Vec<u8>, frame: &[u8], before: &[u64]) -> Outcome {
        let reasons = self.reasons_since(before);
        match action {
            XDP_REDIRECT | TC_REDIRECT => {
                assert_eq!(reasons, [], "forwarded, and counted as passed");
                Outcome::Forwarded(out)
            }
            XDP_PASS | TC_PASS => {
                assert_eq!(out, frame, "passed to the kernel, but changed");
                assert_eq!(
                    reasons.len(),
                    1,
                    "every packet passed has one reason: {reasons:?}"
                );
                Outcome::Passed(reasons[0])
            }
            other => panic!("action {other}"),
        }
    }

    /// Lets the witness see a frame leave; returns its objection, if any.
    pub fn leave(&mut self, link: u32, frame: &[u8]) -> Option<Reason> {
        self.leave_skb(link, frame, &mut SkbFields::default())
    }

    /// Lets the witness see an skb with more than bytes leave.
    pub fn leave_skb(&mut self, link: u32, frame: &[u8], fields: &mut SkbFields) -> Option<Reason> {
        self.path.heartbeat.beat().expect("beats");
        let before = self.counts();
        let run = self.path.test_skb(true, frame, link, fields);
        let (action, out) = run.expect("runs");
        assert_eq!(action, TC_PASS, "the witness only looks");
        assert_eq!(out, frame, "the witness only looks");
        let reasons = self.reasons_since(&before);
        assert!(reasons.len() <= 1, "{reasons:?}");
        reasons.first().copied()
    }

    /// Returns the packets passed so far, by reason.
    fn counts(&self) -> Vec<u64> {
        let totals = self.path.totals().expect("counters");
        let n = |counts: &std::collections::BTreeMap<Reason, u64>, reason| {
            counts.get(reason).copied().unwrap_or(0)
        };
        let of = |reason| n(&totals.passed, reason) + n(&totals.passed_by_xdp, reason);
        Reason::ALL.iter().map(of).collect()
    }

    fn reasons_since(&self, before: &[u64]) -> Vec<Reason> {
        let after = self.counts();
        let changed = Reason::ALL.iter().zip(before.iter().zip(&after));
        changed
            .flat_map(|(reason, (b, a))| std::iter::repeat_n(*reason, (a - b) as usize))
            .collect()
    }

    pub fn proven(&mut self, connection: &Connection, side: Side) -> bool {
        self.path.read(connection.id).expect("known")[side as usize].proven
    }

    /// Passes a packet in, and out as the kernel forwards it; returns the witness' verdict. Repeats
    /// if the trial was too old.
    pub fn witnessed(
        &mut self,
        connection: &Connection,
        side: Side,
        frame: &Frame,
        leaves: &[u8],
    ) -> Option<Reason> {
        let (link, out) = links(side);
        for _ in 0..TRIES {
            let outcome = self.run(Hook::Tc, link, &frame.bytes());
            assert!(
                matches!(outcome, Outcome::Passed(_)),
                "{}: forwarded, so the kernel does not see it",
                connection.original
            );
            match self.leave(out, leaves) {
                Some(Reason::NotSeen) => {}
                other => return other,
            }
        }
        panic!("the machine is too busy: no packet was witnessed in time");
    }

    /// Lets this frame prove its flow.
    pub fn prove_with(&mut self, connection: &Connection, side: Side, frame: &Frame) {
        let leaves = connection.sent(side, frame).bytes();
        for _ in 0..TRIES {
            match self.witnessed(connection, side, frame, &leaves) {
                None if self.proven(connection, side) => return,
                // After a bump, a FIN or so: a moment later.
                None | Some(Reason::Quiet | Reason::Held | Reason::Differs) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Some(other) => panic!("{}: {other:?}", connection.original),
            }
        }
        panic!("{}: never proven", connection.original);
    }

    /// Proves both directions, by ordinary packets, where they are not.
    pub fn prove(&mut self, connection: &Connection) {
        for side in SIDES {
            if !self.proven(connection, side) {
                self.prove_with(connection, side, &connection.frame(side));
            }
        }
    }

    pub fn prove_all(&mut self) {
        for connection in self.connections.clone() {
            self.prove(&connection);
        }
    }

    /// Sets or clears the marks of both directions of a connection; UDP is never marked.
    pub fn time(&mut self, connection: &Connection, timed: bool) {
        let taken = timed && self.path.time(connection.id).expect("is timed");
        if !timed {
            // At this time any timer has run out.
            self.path
                .take_round_trips(Instant::now() + Duration::from_secs(60), |_| {});
        }
        assert_eq!(taken, timed && connection.is_tcp());
        assert_eq!(self.marks(connection), [taken; 2]);
    }

    /// Returns the marks of both directions of a connection.
    pub fn marks(&mut self, connection: &Connection) -> [bool; 2] {
        let directions = self.path.inspect(connection.id).expect("known");
        directions.map(|direction| direction.timed)
    }

    /// Input of the model: every direction that is proven now.
    pub fn ways(&mut self) -> Vec<Way> {
        let hops = self.path.hops();
        let mut ways = Vec::new();
        for connection in &self.connections {
            let directions = self.path.inspect(connection.id).expect("known");
            for (side, direction) in SIDES.into_iter().zip(directions) {
                let (link, mac) = match direction.ingress.port {
                    slot if slot == self.path.slot(LAN) => (LAN, ROUTER_LAN),
                    _ => (WAN, ROUTER_WAN),
                };
                let hop = hops.iter().find(|h| h.index == direction.hop);
                let (true, Some(hop)) = (direction.proven, hop) else {
                    continue;
                };
                ways.push(Way {
                    incoming: connection.incoming(side),
                    outgoing: connection.outgoing(side),
                    link,
                    mac,
                    behind: Behind::of(&direction.ingress.behind),
                    header: hop.header.clone(),
                    xdp: hop.xdp,
                    length: usize::from(direction.length),
                    ttl: direction.ttl,
                    tos: direction.tos,
                    label: direction.label,
                });
            }
        }
        ways
    }

    /// Runs a frame and compares with the model: forwarded exactly if the model forwards it, with
    /// the same bytes. Returns the outcome.
    pub fn compare(&mut self, hook: Hook, link: u32, frame: &[u8]) -> Outcome {
        let ways = self.ways();
        let expected = model::forward(hook, link, &ways, frame);
        let outcome = self.run(hook, link, frame);
        match (&outcome, expected) {
            (Outcome::Forwarded(out), Some(expected)) => assert_eq!(*out, expected, "{hook:?}"),
            (Outcome::Forwarded(_), None) => {
                panic!("{hook:?}: forwarded what is the kernel's: {frame:02x?}")
            }
            (Outcome::Passed(reason), Some(_)) => {
                panic!("{hook:?}: passed for {reason:?}: {frame:02x?}")
            }
            (Outcome::Dropped(reason), Some(_)) => {
                panic!("{hook:?}: dropped for {reason:?}: {frame:02x?}")
            }
            (Outcome::Passed(_) | Outcome::Dropped(_), None) => {}
        }
        outcome
    }

    /// Asserts that both hooks pass this frame, for this reason.
    pub fn passes(&mut self, link: u32, frame: &Frame, reason: Reason, why: &str) {
        for hook in HOOKS {
            let outcome = self.compare(hook, link, &frame.bytes());
            let place = format!("{why}: {} at {hook:?}", frame.tuple);
            assert_eq!(outcome, Outcome::Passed(reason), "{place}");
        }
    }

    /// Asserts that both hooks forward the frame.
    pub fn forwards(&mut self, link: u32, frame: &Frame, why: &str) {
        for hook in HOOKS {
            let outcome = self.compare(hook, link, &frame.bytes());
            let place = format!("{why}: {} at {hook:?}", frame.tuple);
            assert!(
                matches!(outcome, Outcome::Forwarded(_)),
                "{place}: {outcome:?}"
            );
        }
    }
}
