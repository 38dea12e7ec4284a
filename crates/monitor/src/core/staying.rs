//! Finds the part of a conversation that stays in the LAN though its far end has an address beyond an
//! uplink: a station can send with such an address, and stations of one bridge may have any.

use kernel::TalkKey;

use super::Monitor;
use crate::count::{Both, Count};
use crate::talk::Talk;
use crate::talks::ALIKE;

/// Packets between the same ends, as their other ports count them.
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    /// Came in at ports that do not lead out, all together.
    came_in: Count,
    /// Went out by one of these. A bridge may send the same frame out by several.
    went_out: Count,
    /// At ports that may lead out: came in as `received`, went out as `sent`.
    beyond: Both,
}

impl Others {
    /// Counts a record of the far end.
    fn add(&mut self, seen: &Both, inside: bool) {
        if inside {
            self.came_in += seen.sent;
            self.went_out = self.went_out.most(seen.received);
        } else {
            self.beyond += Both {
                sent: seen.received,
                received: seen.sent,
            };
        }
    }

    /// Of all that a station had of a conversation, the part that stayed in the LAN: seen at another
    /// port inside, and not among what crossed an uplink.
    fn stayed(&self, all: &Both) -> Both {
        let inside = Both {
            sent: self.went_out,
            received: self.came_in,
        };
        all.since(&self.beyond).least(inside)
    }
}

impl Monitor {
    /// Tells whether packets that come in here did not cross an uplink. A station can forge hardware
    /// addresses, so the port decides alone.
    fn is_inside(&self, key: &TalkKey) -> bool {
        self.networks.serves(key.port) && !self.is_outside(key.port, key.vlan)
    }

    /// Of all that a conversation had, the part that did not cross an uplink. Nothing, where packets
    /// can cross one unseen.
    pub(super) fn stays(&self, talk: &Talk) -> Both {
        let ends = talk.key.ends();
        if !self.is_inside(&talk.key) || !self.networks.shows(talk.key.far) {
            return Both::default();
        }
        let mut others = Others::default();
        for (number, other) in self.talks.all_with_ends(&ends.reversed()).enumerate() {
            if number == ALIKE {
                return Both::default();
            }
            others.add(&other.total, self.is_inside(&other.key));
        }
        if others.came_in.is_zero() && others.went_out.is_zero() {
            return Both::default();
        }
        // What crosses an uplink has other addresses there.
        if talk.leaves.is_some_and(|leaves| leaves != ends) {
            match self.other_side(talk) {
                Some(other) if other.key.ends() == ends.reversed() => {}
                Some(other) => others.add(&other.total, self.is_inside(&other.key)),
                None => return Both::default(),
            }
        }
        others.stayed(&talk.total)
    }

    /// Takes out a conversation. The verdicts on those whose other end it is stand.
    pub(super) fn remove(&mut self, key: &TalkKey) -> Option<Box<Talk>> {
        let ends = key.ends().reversed();
        let others = self.talks.all_with_ends(&ends).map(|talk| talk.key);
        let others = others.collect();
        self.keep_verdicts(others, |core| core.talks.remove(key))
    }

    /// Changes what is known of these conversations: it counts for what comes from now on.
    pub(super) fn keep_verdicts<T>(
        &mut self,
        keys: Vec<TalkKey>,
        change: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let stays = |core: &Self, key: &TalkKey| core.talks.get(key).map(|talk| core.stays(talk));
        let before: Vec<Both> = keys
            .iter()
            .map(|key| stays(self, key).unwrap_or_default())
            .collect();
        let changed = change(self);
        for (key, before) in keys.iter().zip(before) {
            let after = stays(self, key);
            if let Some((talk, after)) = self.talks.get_mut(key).zip(after) {
                talk.stayed += after;
                talk.stayed = talk.stayed.since(&before);
            }
        }
        changed
    }

    /// All conversations, for [`Monitor::keep_verdicts`].
    pub(super) fn keys(&self) -> Vec<TalkKey> {
        self.talks.values().map(|talk| talk.key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(octets: u64) -> Count {
        Count {
            packets: octets / 100,
            octets,
        }
    }

    fn both(sent: u64, received: u64) -> Both {
        Both {
            sent: count(sent),
            received: count(received),
        }
    }

    /// Inside and beyond: what records of the far end sent, and received.
    fn others(inside: &[(u64, u64)], beyond: &[(u64, u64)]) -> Others {
        let mut others = Others::default();
        for (of, is_inside) in [(inside, true), (beyond, false)] {
            for (sent, received) in of {
                others.add(&both(*sent, *received), is_inside);
            }
        }
        others
    }

    #[test]
    fn what_other_ports_inside_count_stays() {
        for (name, inside, beyond, all, stayed) in [
            (
                "nothing else is seen",
                &[][..],
                &[][..],
                (500, 7_000),
                (0, 0),
            ),
            (
                "an uplink alone",
                &[],
                &[(7_000, 500)],
                (500, 7_000),
                (0, 0),
            ),
            (
                "forged to the station",
                &[(7_000, 0)],
                &[],
                (0, 7_000),
                (0, 7_000),
            ),
            (
                "copied both ways",
                &[(7_000, 500)],
                &[],
                (500, 7_000),
                (500, 7_000),
            ),
            (
                "from two ports",
                &[(3_000, 0), (4_000, 0)],
                &[],
                (0, 7_000),
                (0, 7_000),
            ),
            // A record is read a moment later than the other.
            ("read sooner", &[(6_900, 0)], &[], (0, 7_000), (0, 6_900)),
            ("read later", &[(7_100, 0)], &[], (0, 7_000), (0, 7_000)),
            // Forged packets that are dropped hide nothing of the Internet's.
            (
                "dropped",
                &[(7_000, 0)],
                &[(7_000, 500)],
                (500, 7_000),
                (0, 0),
            ),
            (
                "in between",
                &[(2_000, 0)],
                &[(7_000, 500)],
                (500, 9_000),
                (0, 2_000),
            ),
            // A frame to no known station goes out by all ports of a bridge.
            (
                "flooded",
                &[(0, 100), (0, 100), (0, 100)],
                &[],
                (400, 0),
                (100, 0),
            ),
            ("sent out twice", &[(0, 400)], &[(0, 400)], (400, 0), (0, 0)),
        ] {
            let found = others(inside, beyond).stayed(&both(all.0, all.1));
            assert_eq!(found, both(stayed.0, stayed.1), "{name}");
        }
    }
}
