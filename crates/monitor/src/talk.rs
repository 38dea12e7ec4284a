//! A conversation.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Mac, TalkKey};

use crate::apps::Application;
use crate::count::Both;
use crate::rate::Rate;
use crate::reading::{Millis, Times};

const FIN_OR_RST: u8 = 0x05;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A conversation, seen from the station behind a port.
#[derive(Clone, Debug)]
pub struct Talk {
    /// Number of it, never used again.
    pub id: u64,
    /// Who with whom.
    pub key: TalkKey,
    /// Hardware address of the station; all zero where there is none.
    pub mac: Mac,
    /// All of it.
    pub total: Both,
    /// Of this, what weir forwarded.
    pub forwarded: Both,
    /// Where weir last forwarded it: `true` at XDP. `None`: it never did.
    pub xdp: Option<bool>,
    /// Now.
    pub rate: Rate,
    /// When it began.
    pub first: Millis,
    /// When the last packet came.
    pub last: Millis,
    /// All TCP flags that the kernel's packets had.
    pub tcp_flags: u8,
    /// TCP's waiting. What was sent again is in `again`.
    pub times: Times,
    /// TCP's waiting that the meter saw, as last read.
    pub metered: Times,
    /// TCP segments that were sent again.
    pub again: u64,
    /// TOS or traffic class of the first packet.
    pub tos: u8,
    /// ICMP type and code of the first packet.
    pub icmp: (u8, u8),
    /// Bytes of link-layer headers before each packet.
    pub link: u8,
    /// What the other end is called, as the station was told or said itself.
    pub far_name: Option<Arc<str>>,
    /// What it is used for.
    pub application: Application,
    /// What of the total was told of, see [`Monitor::tell`](crate::Monitor::tell).
    pub told: Both,
    /// When that was.
    pub told_at: Millis,
}

/// What a conversation had since it was last told of.
#[derive(Clone, Debug)]
pub struct Told {
    /// The conversation, as it is now.
    pub talk: Talk,
    /// What is new.
    pub grown: Both,
    /// Since when it is new.
    pub since: Millis,
    /// It is over.
    pub over: bool,
}

impl Talk {
    /// Tells of what is new.
    pub fn tell(&mut self, now: Millis, over: bool) -> Told {
        let grown = self.total.since(&self.told);
        let since = if self.told == Both::default() {
            self.first
        } else {
            self.told_at
        };
        (self.told, self.told_at) = (self.total, now);
        Told {
            talk: self.clone(),
            grown,
            since,
            over,
        }
    }

    /// Whether one end said that it is over.
    pub fn ended(&self) -> bool {
        self.key.protocol == TCP && self.tcp_flags & FIN_OR_RST != 0
    }

    /// How long it may be silent before its record is given back. `pressure`: how full the records
    /// of its family are, in 256ths.
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
        let few = self.total.sent.packets + self.total.received.packets <= 2;
        let seconds = match pressure {
            0..64 => seconds,
            64..128 if few => 4,
            64..128 => seconds / 4,
            128..192 if few => 2,
            128..192 => seconds / 8,
            _ if few => 1,
            _ => (seconds / 16).max(4),
        };
        Duration::from_secs(seconds)
    }
}
