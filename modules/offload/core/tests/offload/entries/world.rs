//! A connection by way of weir, and by way of the kernel alone: a small conntrack that sees every
//! packet, and one that sees only packets that weir does not forward, plus weir's messages.

use kernel::conntrack::ConnectionState;
use kernel::{Connection, status};
use weir_offload_core::{Action, FlowId, Millis, Reading, Settings};

use crate::common::{Rig, tcp, udp};

/// Step of the simulated time.
pub(crate) const STEP: Millis = 50;
/// A connection that is up.
pub(crate) const UP: u32 = status::CONFIRMED | status::SEEN_REPLY | status::ASSURED;

/// Time-outs that a packet gives to an entry.
#[derive(Clone, Copy)]
pub(crate) struct Policy {
    /// TCP: established. UDP: a stream.
    pub(crate) long: u32,
    /// TCP: not acknowledged. UDP: before it is a stream.
    pub(crate) short: u32,
}

/// An entry, as the kernel keeps it (nf_conntrack_proto_tcp.c, nf_conntrack_proto_udp.c).
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) tcp: bool,
    pub(crate) policy: Policy,
    pub(crate) born: Millis,
    pub(crate) expires: Millis,
    pub(crate) assured: bool,
    pub(crate) end: [u32; 2],
    pub(crate) unacknowledged: [bool; 2],
}

/// A packet: direction, the end of its data, the acknowledged position.
pub(crate) type Packet = (usize, u32, u32);

impl Entry {
    pub(crate) fn new(tcp: bool, policy: Policy, now: Millis) -> Self {
        let given = if tcp { policy.long } else { policy.short };
        Self {
            tcp,
            policy,
            born: now,
            expires: now + Millis::from(given) * 1_000,
            assured: tcp,
            end: [1; 2],
            unacknowledged: [false; 2],
        }
    }

    /// Processes a packet. Returns true if the entry became assured.
    pub(crate) fn see(&mut self, (d, end, ack): Packet, now: Millis) -> bool {
        let before = self.assured;
        let given = if self.tcp {
            // Conntrack accepts data that it did not see (tcp_in_window), as windows are not
            // checked.
            if ack <= self.end[1 - d] {
                if end > self.end[d] {
                    self.end[d] = end;
                    self.unacknowledged[d] = true;
                }
                if ack == self.end[1 - d] {
                    self.unacknowledged[1 - d] = false;
                }
            }
            match self.unacknowledged.contains(&true) {
                true => self.policy.short.min(self.policy.long),
                false => self.policy.long,
            }
        } else if now > self.born + 2_000 {
            self.assured = true;
            self.policy.long
        } else {
            self.policy.short
        };
        self.expires = now + Millis::from(given) * 1_000;
        before != self.assured
    }
}

/// A connection by way of weir, and the same by way of the kernel alone.
pub(crate) struct World {
    pub(crate) rig: Rig,
    pub(crate) connection: Connection,
    pub(crate) alone: Entry,
    pub(crate) beside: Entry,
    pub(crate) packets: [u64; 2],
    pub(crate) octets: [u64; 2],
    pub(crate) shown: [u32; 2],
    pub(crate) shown_length: [u16; 2],
    pub(crate) proven: [bool; 2],
    pub(crate) sent: [u32; 2],
    pub(crate) ticked: Millis,
    /// Refreshes that weir sent to conntrack.
    pub(crate) told: Vec<(Millis, u32)>,
    /// Conntrack sees the packets that it is shown, and those of the kernel alone.
    pub(crate) seen: bool,
    /// A packet that the kernel sent on proves; otherwise the kernel drops the packet, or sends it
    /// where nothing is proven.
    pub(crate) proves: bool,
    /// Weir left it to the kernel.
    pub(crate) left: bool,
}

impl World {
    pub(crate) fn new(is_tcp: bool, policy: Policy, settings: Settings) -> Self {
        Self::begin(is_tcp, policy, settings, None)
    }

    /// Builds a TCP connection that conntrack first sees in its middle, by a packet that sets this
    /// timeout in seconds.
    pub(crate) fn picked_up(policy: Policy, gives: u32, settings: Settings) -> Self {
        Self::begin(true, policy, settings, Some(gives))
    }

    fn begin(is_tcp: bool, policy: Policy, settings: Settings, picked_up: Option<u32>) -> Self {
        let mut rig = Rig::new(settings);
        let mut connection = match is_tcp {
            true => tcp(1, "10.0.0.2:1", "192.0.2.1:80"),
            false => udp(1, "10.0.0.2:1", "192.0.2.1:53"),
        };
        let entry = Entry::new(is_tcp, policy, rig.now);
        if let Some(gives) = picked_up {
            connection.tcp_state = Some(3);
            connection.status = Some(status::CONFIRMED);
            connection.timeout = Some(gives);
            rig.connection(&connection);
            connection.status = Some(UP);
            connection.timeout = Some(policy.short.min(policy.long));
        } else if is_tcp {
            connection.tcp_state = Some(2);
            connection.timeout = Some(60);
            rig.connection(&connection);
            connection.tcp_state = Some(3);
            connection.timeout = Some(policy.long);
        } else {
            connection.status = Some(status::CONFIRMED);
            connection.timeout = Some(policy.short);
            rig.connection(&connection);
            connection.status = Some(status::CONFIRMED | status::SEEN_REPLY);
        }
        rig.connection(&connection);
        let ticked = rig.now;
        Self {
            rig,
            connection,
            alone: entry,
            beside: entry,
            packets: [0; 2],
            octets: [0; 2],
            shown: [0; 2],
            shown_length: [0; 2],
            proven: [false; 2],
            sent: [1; 2],
            ticked,
            told: Vec::new(),
            seen: true,
            proves: true,
            left: false,
        }
    }

    /// A packet of this direction. With data it ends where the sender's do; it acknowledges all.
    pub(crate) fn packet(&mut self, d: usize, data: u32, acknowledges: bool) {
        self.sent[d] += data;
        let ack = if acknowledges { self.sent[1 - d] } else { 0 };
        self.send(d, data.max(1), ack);
    }

    pub(crate) fn send(&mut self, d: usize, data: u32, ack: u32) {
        let now = self.rig.now;
        let packet = (d, self.sent[d], ack);
        if self.seen {
            self.alone.see(packet, now);
        }
        if self.proven[d] && !self.left {
            self.packets[d] += 1;
            self.octets[d] += u64::from(52 + data);
            return;
        }
        assert!(
            self.beside.expires > now || !self.seen,
            "ended under live traffic at {now}"
        );
        self.shown[d] += 1;
        self.shown_length[d] = 52 + data as u16;
        self.proven[d] = self.proves;
        if self.seen && self.beside.see(packet, now) {
            self.connection.status = Some(UP);
            self.connection.timeout = Some(self.beside.policy.long);
            let out = self.rig.connection(&self.connection.clone());
            self.apply(&out);
        }
    }

    pub(crate) fn apply(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Refresh {
                    seconds,
                    unacknowledged,
                    ..
                } => {
                    self.told.push((self.rig.now, *seconds));
                    self.beside.expires = self.rig.now + Millis::from(*seconds) * 1_000;
                    if let Some(waits) = unacknowledged {
                        self.beside.unacknowledged = [*waits; 2];
                    }
                }
                Action::Invalidate { .. } | Action::InvalidateAll(_) => self.proven = [false; 2],
                Action::Remove { .. } => self.left = true,
                Action::Relax(_) | Action::Dump(_) | Action::Probe(_) => {}
                Action::Install { .. } => {
                    self.left = false;
                    self.proven = [false; 2];
                    (self.packets, self.octets) = ([0; 2], [0; 2]);
                }
                Action::Query(_) | Action::Poll(_) => {
                    let left = self.beside.expires.saturating_sub(self.rig.now) / 1_000;
                    let mut connection = self.connection.clone();
                    connection.timeout = Some(left as u32);
                    let looked = ConnectionState {
                        connection,
                        unacknowledged: self.beside.unacknowledged.contains(&true),
                        labels: [0; 16],
                    };
                    let now = self.rig.now;
                    let mut more = Vec::new();
                    match action {
                        Action::Poll(_) => self.rig.core.on_poll_reply(&looked, now, &mut more),
                        _ => self.rig.core.on_query_reply(&looked, now, &mut more),
                    }
                    self.apply(&more);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Readings of the packet path.
    pub(crate) fn readings(&self) -> [Reading; 2] {
        std::array::from_fn(|d| Reading {
            packets: self.packets[d],
            bytes: self.octets[d],
            proven: self.proven[d],
            trials: self.shown[d],
            shown_length: self.shown_length[d],
        })
    }

    /// Advances the time and keeps the entry alive.
    pub(crate) fn pass(&mut self, time: Millis) {
        for _ in 0..time / STEP {
            if self.rig.now + STEP < self.ticked + 250 {
                self.rig.now += STEP;
                continue;
            }
            self.ticked = self.rig.now + STEP;
            let readings = self.readings();
            let out = self.rig.pass_reading(STEP, &mut |_: FlowId| readings);
            self.apply(&out);
            let now = self.rig.now;
            assert!(
                self.beside.expires > now || self.alone.expires <= now || !self.seen,
                "ended at {} of {}",
                self.beside.expires,
                self.alone.expires
            );
        }
    }

    /// Weir is stopped.
    pub(crate) fn stop(&mut self) {
        let (now, readings) = (self.rig.now, self.readings());
        let mut out = Vec::new();
        let core = &mut self.rig.core;
        core.before_finish(now, &mut |_: FlowId| readings, &mut out);
        self.apply(&std::mem::take(&mut out));
        let core = &mut self.rig.core;
        core.finish(now, &mut |_: FlowId| readings, &mut out);
        self.apply(&out);
    }

    /// Runs an exchange of this length: a request, data, and acknowledgements.
    pub(crate) fn exchange(&mut self, time: Millis) {
        let tcp = self.alone.tcp;
        let mut left = time;
        while left >= 4 * STEP {
            self.packet(0, 100, tcp);
            self.pass(STEP);
            self.packet(1, 1_400, tcp);
            self.packet(1, 1_400, tcp);
            self.pass(STEP);
            self.packet(0, 0, tcp);
            self.pass(2 * STEP);
            left -= 4 * STEP;
        }
    }

    /// Rests until all refreshes are sent, and compares the ends: never earlier than the kernel
    /// alone, and this much later at most.
    pub(crate) fn rest(&mut self, latest: Millis) {
        let time = 60_000.min(self.alone.expires.saturating_sub(self.rig.now + 1_000));
        self.pass(time);
        let (alone, beside) = (self.alone.expires, self.beside.expires);
        assert!(
            (alone..=alone + latest).contains(&beside),
            "kernel alone {alone}, with weir {beside}; told {:?}",
            self.told
        );
    }
}
