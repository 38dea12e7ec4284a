//! A conversation.

use std::sync::Arc;
use std::time::Duration;

use kernel::{ConversationKey, Endpoints, Mac};

use crate::apps::Application;
use crate::count::{Count, Counts};
use crate::flood::{FEW, FLOOD_LEVEL, FLOOD_TIMEOUT};
use crate::rate::Rate;
use crate::reading::{Millis, RttStats};

const FIN_OR_RST: u8 = 0x05;

/// A conversation with more packets than this, in both directions, is never removed for another.
const MANY: u64 = 64;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A conversation, seen from the station behind a port.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Number of the conversation, never reused.
    pub id: u64,
    /// Ends of the conversation.
    pub key: ConversationKey,
    /// Hardware address of the station; all zero: none.
    pub mac: Mac,
    /// All traffic.
    pub total: Counts,
    /// Last place where weir forwarded the conversation: `true` at XDP. `None`: never.
    pub xdp: Option<bool>,
    /// Part of the total that is not yet in the station's sums by destination.
    pub unclassified: Counts,
    /// True if the conversation crosses an uplink. `None`: not yet classified.
    pub crosses_uplink: Option<bool>,
    /// True if the latest verdict was that the conversation crossed an uplink.
    pub crossed_uplink: bool,
    /// Packets for the station entered where an uplink may be, or the station is beyond an uplink.
    pub outside: bool,
    /// Now.
    pub rate: Rate,
    /// Start of the conversation.
    pub first: Millis,
    /// Time of the last packet.
    pub last: Millis,
    /// All TCP flags that the kernel's packets had.
    pub tcp_flags: u8,
    /// Waiting times of TCP. Retransmits are in `again`.
    pub rtt: RttStats,
    /// TCP round-trip times from the meter, as last read.
    pub metered_rtt: RttStats,
    /// Time of the last measured round trip to the remote end.
    pub rtt_measured_at: Millis,
    /// Retransmitted TCP segments: by the station, and to the station.
    pub retransmits: [u64; 2],
    /// TOS or traffic class of the first packet.
    pub tos: u8,
    /// ICMP type and code of the first packet.
    pub icmp: (u8, u8),
    /// Bytes of link-layer headers before each packet.
    pub link_header: u8,
    /// Name of the remote end, as the station resolved or sent the name.
    pub remote_name: Option<Arc<str>>,
    /// Application of the conversation.
    pub application: Application,
    /// Part of the total already reported, see
    /// [`Monitor::set_report_interval`](crate::Monitor::set_report_interval).
    pub reported: Counts,
    /// Retransmitted segments already reported.
    pub reported_retransmits: [u64; 2],
    /// Time of the last report.
    pub reported_at: Millis,
    /// Addresses and ports of the station's packets at egress; `None`: unknown. If the conversation
    /// has several leaders, those of the first.
    pub egress_endpoints: Option<Endpoints>,
    /// Key of the other half, beyond the router, for a leader: weir reports both halves as the
    /// leader.
    pub other_half: Option<ConversationKey>,
    /// Number of leaders. More than one only without ports.
    pub leaders: u32,
}

/// Fill level of the table of conversations, in 256ths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// All.
    pub all: u32,
    /// Conversations that are not short.
    pub lasting: u32,
}

/// Growth of a conversation since its last report.
#[derive(Clone, Debug)]
pub struct ConversationReport {
    /// The conversation, as it is now.
    pub conversation: Conversation,
    /// New traffic.
    pub delta: Counts,
    /// Newly retransmitted TCP segments: by the station, and to the station.
    pub retransmits: [u64; 2],
    /// Index of the port on the other side of the router; `None`: no other port saw the
    /// conversation.
    pub egress_port: Option<u32>,
    /// Start of the new traffic.
    pub since: Millis,
    /// True if the conversation has ended.
    pub ended: bool,
}

impl Conversation {
    /// Returns true for Internet traffic. `None`: not yet classified. If packets for a station
    /// entered from inside, the conversation does not count, whatever the address.
    pub fn is_internet(&self) -> Option<bool> {
        let can = self.outside || self.total.sent != Count::default();
        self.crosses_uplink.map(|crosses| crosses && can)
    }

    /// Returns the traffic not yet reported.
    pub fn unreported(&self) -> Counts {
        self.total.since(&self.reported)
    }

    /// Returns the start of the new traffic.
    pub fn unreported_since(&self) -> Millis {
        if self.reported == Counts::default() {
            self.first
        } else {
            self.reported_at
        }
    }

    /// Marks a part of the new traffic as reported. `out`: see
    /// [`ConversationReport::egress_port`].
    pub fn report(
        &mut self,
        grown: Counts,
        out: Option<u32>,
        since: Millis,
        now: Millis,
        over: bool,
    ) -> ConversationReport {
        self.reported += grown;
        self.reported_at = now;
        let before = std::mem::replace(&mut self.reported_retransmits, self.retransmits);
        let again = [0, 1].map(|way| self.retransmits[way].saturating_sub(before[way]));
        ConversationReport {
            conversation: self.clone(),
            delta: grown,
            retransmits: again,
            egress_port: out,
            since,
            ended: over,
        }
    }

    /// Returns true if the conversation was silent for so long that it can be removed: longer than
    /// its record exists, so that late packets still find it.
    pub fn is_quiet(&self, pressure: Pressure, now: Millis) -> bool {
        let silent = u128::from(now.saturating_sub(self.last));
        // A flood of short ones does not hurry the others.
        let pressure = match self.is_short() {
            true => pressure.all,
            false => pressure.lasting,
        };
        silent >= self.idle_timeout(pressure).as_millis() + 2_000
    }

    /// Returns the packets of both directions.
    pub fn packets(&self) -> u64 {
        self.total.sum().packets
    }

    /// Returns true if the conversation has few packets, as those of a flood have.
    pub fn is_short(&self) -> bool {
        self.packets() <= FEW
    }

    /// Returns true if the conversation is short enough to be removed for another, once silent.
    pub fn is_evictable(&self) -> bool {
        self.packets() <= MANY
    }

    /// Returns true if one end closed the connection.
    pub fn is_closed(&self) -> bool {
        self.key.protocol == TCP && self.tcp_flags & FIN_OR_RST != 0
    }

    /// Returns the silence after which the record is given back. `pressure`: fill level of the
    /// records of its family, in 256ths.
    pub fn idle_timeout(&self, pressure: u32) -> Duration {
        let both = self.total.sent.packets > 0 && self.total.received.packets > 0;
        let seconds = match self.key.protocol {
            TCP if self.is_closed() => return Duration::from_secs(2),
            TCP if both => 300,
            UDP if both => 60,
            TCP | UDP => 30,
            _ => 15,
        };
        // Two buckets of four: from a quarter full on, some keys find no place. Giving a record
        // back early costs little, as the conversation is remembered; and a flood of one-packet
        // conversations must not keep those that live from being counted one by one.
        let few = self.is_short();
        let seconds = match pressure {
            0..64 => seconds,
            FLOOD_LEVEL.. if few => return FLOOD_TIMEOUT,
            64.. if few => 2,
            64..128 => seconds / 4,
            128..192 => seconds / 8,
            _ => (seconds / 16).max(4),
        };
        Duration::from_secs(seconds)
    }
}
