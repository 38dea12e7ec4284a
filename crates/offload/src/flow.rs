//! One tracked connection.

use kernel::{Connection, ConnectionId, Protocol, Tuple, status};

use crate::action::Millis;
use crate::decline::Decline;
use crate::settings::Timeouts;

/// TCP_CONNTRACK_ESTABLISHED (include/uapi/linux/netfilter/nf_conntrack_tcp.h).
pub(crate) const TCP_ESTABLISHED: u8 = 3;

/// A UDP connection this old is a stream (net/netfilter/nf_conntrack_proto_udp.c).
const UDP_STREAM_AGE: Millis = 2_000;

/// A connection as the kernel last told it, and what became of it here.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Identity and the original direction's tuple.
    pub id: ConnectionId,
    /// Tuple of packets that come back.
    pub reply: Tuple,
    /// IPS_* bits, as last told.
    pub status: Option<u32>,
    /// Connection mark.
    pub mark: u32,
    /// TCP_CONNTRACK_*, as last told.
    pub tcp_state: Option<u8>,
    /// Scales of TCP's windows, once told: see [`Connection::window_scales`].
    pub window_scales: Option<[u8; 2]>,
    /// A helper follows it, or did.
    pub helper: bool,
    /// Sequence numbers are adjusted, or were.
    pub sequence_adjusted: bool,
    /// Why it is not installed; `None` where it is.
    pub declined: Option<Decline>,
    /// When it was first told.
    pub since: Millis,
    /// When the conntrack entry times out if nothing happens, as far as was told.
    pub(crate) expires: Option<Millis>,
    /// Time-out with which the connection became established.
    pub(crate) established_timeout: Option<u32>,
    /// Packets of both directions at the last refresh.
    pub(crate) moved: [u64; 2],
    /// Octets forwarded since the kernel was last shown where the connection is.
    pub(crate) unseen: u64,
    /// Generation of the dump by which it was last seen.
    pub(crate) seen: u32,
    /// A connection that is not remembered has one of its tuples.
    pub(crate) contested: bool,
    /// What the packet path had against it, for good.
    pub(crate) refusal: Option<Decline>,
    /// Its place in the queue for room.
    pub(crate) turn: Option<(Millis, u64)>,
}

impl Flow {
    /// From its first message.
    pub(crate) fn new(connection: &Connection, seen: u32, now: Millis) -> Self {
        let mut flow = Self {
            id: connection.id,
            reply: connection.reply,
            status: None,
            mark: 0,
            tcp_state: None,
            window_scales: None,
            helper: false,
            sequence_adjusted: false,
            declined: Some(Decline::StatusUnknown),
            since: now,
            expires: None,
            established_timeout: None,
            moved: [0; 2],
            unseen: 0,
            seen,
            contested: false,
            refusal: None,
            turn: None,
        };
        flow.merge(connection, seen, now);
        flow
    }

    /// Takes over what a message says. What it leaves out stays as it was; `reply` is the caller's business.
    ///
    /// Helper and sequence adjustment only ever add up: an event about something else leaves the latter out, and a connection
    /// that once needed the kernel's eyes is better left to it.
    pub(crate) fn merge(&mut self, connection: &Connection, seen: u32, now: Millis) {
        self.seen = seen;
        self.mark = connection.mark;
        if connection.status.is_some() {
            self.status = connection.status;
        }
        if let Some(state) = connection.tcp_state {
            if state == TCP_ESTABLISHED && self.tcp_state != Some(TCP_ESTABLISHED) {
                self.established_timeout = connection.timeout;
            }
            self.tcp_state = Some(state);
        }
        self.window_scales = self.window_scales.or(connection.window_scales);
        self.helper |= connection.helper;
        self.sequence_adjusted |= connection.sequence_adjusted;
        if let Some(seconds) = connection.timeout {
            self.expires = Some(now.saturating_add(Millis::from(seconds) * 1_000));
        }
    }

    /// Whether the packet path knows it.
    pub fn installed(&self) -> bool {
        self.declined.is_none()
    }

    /// The tuple of packets of the original direction at ingress.
    pub fn original(&self) -> Tuple {
        self.id.original
    }

    /// Whether any of these status bits is set.
    pub(crate) fn has(&self, bits: u32) -> bool {
        self.status.is_some_and(|status| status & bits != 0)
    }

    /// Seconds the kernel would give this connection after another packet, and the status bits it would then have where they
    /// change. `moved`: packets of both directions so far.
    ///
    /// TCP: never less than `tcp_established`. The time-out told on becoming established may be the short one for
    /// unacknowledged data, and a live connection must not be cut short by it.
    pub(crate) fn policy(
        &self,
        timeouts: &Timeouts,
        moved: [u64; 2],
        now: Millis,
    ) -> (u32, Option<u32>) {
        if self.id.original.protocol == Protocol::Tcp {
            return (
                self.established_timeout
                    .unwrap_or(0)
                    .max(timeouts.tcp_established),
                None,
            );
        }
        let assured = self.has(status::ASSURED);
        if !assured && now.saturating_sub(self.since) < UDP_STREAM_AGE {
            return (timeouts.udp, None);
        }
        let assure =
            !assured && moved.iter().all(|packets| *packets > 0) && !self.has(status::NAT_CLASH);
        let bits = self
            .status
            .filter(|_| assure)
            .map(|bits| bits | status::ASSURED);
        (timeouts.udp_stream, bits)
    }
}
