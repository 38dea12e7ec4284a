//! A conversation.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Ends, Mac, TalkKey};

use crate::apps::Application;
use crate::count::{Both, Count};
use crate::flood::{FEW, FULL, IN_A_FLOOD};
use crate::rate::Rate;
use crate::reading::{Millis, Times};

const FIN_OR_RST: u8 = 0x05;

/// Packets of both ways, beyond which one goes for no other one.
const MANY: u64 = 64;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A conversation, seen from the station behind a port.
#[derive(Clone, Debug)]
pub struct Talk {
    /// Number of it, never used again.
    pub id: u64,
    /// Ends of the conversation.
    pub key: TalkKey,
    /// Hardware address of the station; all zero: none.
    pub mac: Mac,
    /// All traffic.
    pub total: Both,
    /// Last place where weir forwarded the conversation: `true` at XDP. `None`: never.
    pub xdp: Option<bool>,
    /// Part of the total that is not yet in the station's sums by destination.
    pub unjudged: Both,
    /// Result of judging: an uplink is crossed, or not; `None`: to be judged, perhaps again.
    pub crosses: Option<bool>,
    /// True if the latest verdict was that the conversation crossed an uplink.
    pub crossed: bool,
    /// Packets for the station came in where an uplink may be, or the station is beyond one.
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
    pub times: Times,
    /// TCP's waiting that the meter saw, as last read.
    pub metered: Times,
    /// Time of the last measured wait for the far end.
    pub timed: Millis,
    /// TCP segments that were sent again: by the station, and to it.
    pub again: [u64; 2],
    /// TOS or traffic class of the first packet.
    pub tos: u8,
    /// ICMP type and code of the first packet.
    pub icmp: (u8, u8),
    /// Bytes of link-layer headers before each packet.
    pub link: u8,
    /// Name of the far end, as the station resolved or sent it.
    pub far_name: Option<Arc<str>>,
    /// Application of the conversation.
    pub application: Application,
    /// Part of the total already reported, see [`Monitor::tell`](crate::Monitor::tell).
    pub told: Both,
    /// Retransmitted segments already reported.
    pub told_again: [u64; 2],
    /// Time of the last report.
    pub told_at: Millis,
    /// Ends of the station's packets where they leave; `None`: unknown. Of several leaders, those
    /// of the first.
    pub leaves: Option<Ends>,
    /// The other half of the conversation, beyond the router, for a leader: both are reported as
    /// the leader.
    pub twin: Option<TalkKey>,
    /// Number of leaders. More than one only without ports.
    pub led: u32,
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
pub struct Told {
    /// The conversation, as it is now.
    pub talk: Talk,
    /// New traffic.
    pub grown: Both,
    /// TCP segments that were sent again since: by the station, and to it.
    pub again: [u64; 2],
    /// Index of the port on the other side of the router; `None`: it was not seen at another one.
    pub out: Option<u32>,
    /// Start of the new traffic.
    pub since: Millis,
    /// True if the conversation is over.
    pub over: bool,
}

impl Talk {
    /// Returns true for Internet traffic. `None`: to be judged. Packets for a station that came in
    /// inside do not count, from any address.
    pub fn is_internet(&self) -> Option<bool> {
        let can = self.outside || self.total.sent != Count::default();
        self.crosses.map(|crosses| crosses && can)
    }

    /// Returns the traffic not yet reported.
    pub fn untold(&self) -> Both {
        self.total.since(&self.told)
    }

    /// Returns the start of the new traffic.
    pub fn new_since(&self) -> Millis {
        if self.told == Both::default() {
            self.first
        } else {
            self.told_at
        }
    }

    /// Marks a part of the new traffic as reported. `out`: see [`Told::out`].
    pub fn tell(
        &mut self,
        grown: Both,
        out: Option<u32>,
        since: Millis,
        now: Millis,
        over: bool,
    ) -> Told {
        self.told += grown;
        self.told_at = now;
        let before = std::mem::replace(&mut self.told_again, self.again);
        let again = [0, 1].map(|way| self.again[way].saturating_sub(before[way]));
        Told {
            talk: self.clone(),
            grown,
            again,
            out,
            since,
            over,
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
        silent >= self.patience(pressure).as_millis() + 2_000
    }

    /// Packets of both ways.
    pub fn packets(&self) -> u64 {
        self.total.sum().packets
    }

    /// Returns true if the conversation has few packets, as those of a flood have.
    pub fn is_short(&self) -> bool {
        self.packets() <= FEW
    }

    /// Returns true if the conversation is short enough to be removed for another, once silent.
    pub fn may_go(&self) -> bool {
        self.packets() <= MANY
    }

    /// Returns true if one end closed the connection.
    pub fn ended(&self) -> bool {
        self.key.protocol == TCP && self.tcp_flags & FIN_OR_RST != 0
    }

    /// Returns the silence after which the record is given back. `pressure`: fill level of the
    /// records of its family, in 256ths.
    pub fn patience(&self, pressure: u32) -> Duration {
        let both = self.total.sent.packets > 0 && self.total.received.packets > 0;
        let seconds = match self.key.protocol {
            TCP if self.ended() => return Duration::from_secs(2),
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
            FULL.. if few => return IN_A_FLOOD,
            64.. if few => 2,
            64..128 => seconds / 4,
            128..192 => seconds / 8,
            _ => (seconds / 16).max(4),
        };
        Duration::from_secs(seconds)
    }
}
