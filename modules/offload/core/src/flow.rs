//! Tracked connections.

use kernel::{Connection, ConnectionId, Protocol, Tuple, status};

use crate::decline::DeclineReason;
use crate::lifetime::Lifetime;
use crate::time::Millis;

/// TCP_CONNTRACK_ESTABLISHED (include/uapi/linux/netfilter/nf_conntrack_tcp.h).
pub(crate) const TCP_ESTABLISHED: u8 = 3;
/// TCP_CONNTRACK_FIN_WAIT to TCP_CONNTRACK_CLOSE: an end has said that it is over.
pub(crate) const ENDING: std::ops::RangeInclusive<u8> = 4..=8;
/// TCP_CONNTRACK_NONE: before the first packet.
pub(crate) const TCP_NONE: u8 = 0;

/// IPS_FIXED_TIMEOUT (include/uapi/linux/netfilter/nf_conntrack_common.h): no packet renews the
/// entry.
pub(crate) const FIXED_TIMEOUT: u32 = 1 << 10;

/// A UDP connection this old is a stream (net/netfilter/nf_conntrack_proto_udp.c).
pub(crate) const UDP_STREAM_AGE: Millis = 2_000;

/// A connection as the kernel last reported it, and its state in weir.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Identity and the original direction's tuple.
    pub id: ConnectionId,
    /// Tuple of packets that come back.
    pub reply: Tuple,
    /// IPS_* bits, as last reported.
    pub status: Option<u32>,
    /// Connection mark.
    pub mark: u32,
    /// TCP_CONNTRACK_*, as last reported.
    pub tcp_state: Option<u8>,
    /// Scales of TCP's windows, once reported: see [`Connection::window_scales`].
    pub window_scales: Option<[u8; 2]>,
    /// A helper follows it, or did.
    pub helper: bool,
    /// Sequence numbers are adjusted, or were.
    pub sequence_adjusted: bool,
    /// Reason why the flow is not installed; `None`: installed.
    pub declined: Option<DeclineReason>,
    /// Time of the first report.
    pub since: Millis,
    /// Lifetime of its entry.
    pub(crate) life: Lifetime,
    /// Bytes forwarded since the kernel was last shown where the connection is.
    pub(crate) unseen: u64,
    /// Generation of the dump by which it was last seen.
    pub(crate) seen: u32,
    /// True if no event reported it yet: its entry may never send one
    /// ([`crate::silent_connections`]).
    pub(crate) silent: bool,
    /// A connection that is not remembered has one of its tuples.
    pub(crate) contested: bool,
    /// Reason for which the packet path refused the flow, for good.
    pub(crate) refusal: Option<DeclineReason>,
    /// Position in the queue for room.
    pub(crate) turn: Option<(Millis, u64)>,
}

impl Flow {
    /// Makes a flow from its first message.
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
            declined: Some(DeclineReason::StatusUnknown),
            since: now,
            life: Lifetime::default(),
            unseen: 0,
            seen,
            silent: false,
            contested: false,
            refusal: None,
            turn: None,
        };
        flow.merge(connection, seen, now);
        flow
    }

    /// Merges a message into the flow. Fields that the message leaves out stay unchanged; the
    /// caller handles `reply`.
    ///
    /// Helper and sequence adjustment are never cleared: an event about something else leaves out
    /// the adjustment, and a connection that once needed the kernel should stay with the kernel.
    pub(crate) fn merge(&mut self, connection: &Connection, seen: u32, now: Millis) {
        self.seen = seen;
        self.mark = connection.mark;
        if connection.status.is_some() {
            self.status = connection.status;
        }
        if let Some(state) = connection.tcp_state {
            self.tcp_state = Some(state);
        }
        // Both ends may have started a new connection in the same entry.
        self.window_scales = connection.window_scales.or(self.window_scales);
        self.helper |= connection.helper;
        self.sequence_adjusted |= connection.sequence_adjusted;
        if let Some(seconds) = connection.timeout {
            self.life.told(seconds, now);
        }
    }

    /// Records that an event reported this connection, so later events will, too.
    pub(crate) fn reported(&mut self) {
        if !std::mem::take(&mut self.silent) {
            return;
        }
        self.life.unheard = false;
        if self.refusal == Some(DeclineReason::Unreported) {
            self.refusal = None;
        }
    }

    /// Returns true if the packet path knows the flow.
    pub fn installed(&self) -> bool {
        self.declined.is_none()
    }

    /// Returns the tuple of packets of the original direction at ingress.
    pub fn original(&self) -> Tuple {
        self.id.original
    }

    /// Returns true if any of these status bits is set.
    pub(crate) fn has(&self, bits: u32) -> bool {
        self.status.is_some_and(|status| status & bits != 0)
    }

    /// Returns true if a packet caused the difference between the old and the present state: the
    /// timeout is then the one that a packet sets.
    pub(crate) fn stepped(&self, (state, status): (Option<u8>, Option<u32>)) -> bool {
        match self.id.original.protocol {
            Protocol::Tcp => {
                self.tcp_state == Some(TCP_ESTABLISHED)
                    && state.is_some_and(|state| state != TCP_ESTABLISHED)
            }
            Protocol::Udp => self.status != status,
        }
    }

    /// Returns true for a UDP connection that is old enough to be a stream, and not yet one: the
    /// next packet that conntrack sees makes the connection a stream.
    pub(crate) fn ripe(&self, now: Millis) -> bool {
        self.id.original.protocol == Protocol::Udp
            && !self.has(status::ASSURED)
            && now.saturating_sub(self.since) >= UDP_STREAM_AGE
    }
}
