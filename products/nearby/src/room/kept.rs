//! What is kept for those who are away, and for those who are near when it takes long. Where it is
//! kept is not known here: what is to be done comes out, and what came of it is told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::peer::{ALL, Peer, Waiting};
use super::{Action, PASSED, Room};
use crate::v2::outbox::Priority;
use crate::village::HOPS;
use crate::{Id, Octets};

/// Who was not seen for so long is forgotten, ms.
pub const FORGOTTEN: u64 = 7 * 86_400_000;
/// Those who are away and are known, at most.
pub const AWAY: usize = 64;
/// Where all their places are taken, who was near for less than this is not one of them, ms: anybody can
/// say many ids.
pub const STAYS: u64 = 60_000;
/// A message that is passed on is kept when it has waited for so long, ms: most are there before.
pub const SOON: u64 = 2_000;
/// What may wait for that, octets: more is kept at once.
const LATE: usize = 1 << 19;
/// So many are kept at a tick, so that a disk that is slow holds up nothing.
pub(super) const AT_ONCE: usize = 8;

/// What is to be done to what is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Store {
    /// A message is to be kept; then [`Room::kept`].
    Keep(Keep),
    /// Messages for somebody, beyond this place, are to be given; then [`Room::given`].
    Load(Id, u64),
    /// Somebody has the message of this place, or it is of no use any more.
    Drop(Id, u64),
    /// Somebody is known no longer, and nothing is kept for it; then [`Room::lost`].
    Forget(Id),
}

/// A message that is to be kept until all of these have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Its place: for each peer messages go in this order.
    pub sequence: u64,
    /// For whom.
    pub peers: Vec<Id>,
    /// The message.
    pub message: Message,
}

/// A message as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number, where it was said here.
    pub number: Option<u64>,
    /// When it was taken in.
    pub since: u64,
    /// What goes first.
    pub priority: Priority,
    /// The message.
    pub octets: Vec<u8>,
}

/// Who is away, and what is to be kept soon.
#[derive(Debug)]
pub(super) struct Kept {
    /// When each was seen last.
    away: BTreeMap<Id, u64>,
    /// The last message's place.
    sequence: u64,
    late: VecDeque<Late>,
}

/// A message that is passed on, and is to be kept if it waits for longer.
#[derive(Debug)]
struct Late {
    sequence: u64,
    since: u64,
    octets: Octets,
    /// For whom it is not in memory.
    peers: BTreeSet<Id>,
}

impl Kept {
    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn late(&mut self, sequence: u64) -> Option<&mut Late> {
        self.late.iter_mut().find(|it| it.sequence == sequence)
    }
}

fn message(waiting: Waiting) -> Message {
    Message {
        number: (waiting.number < PASSED).then_some(waiting.number),
        since: waiting.since,
        priority: waiting.priority,
        octets: waiting.octets.to_vec(),
    }
}

impl Room {
    /// Messages are kept from now on. `known`: who was near before, and when last; `sequence`: the last
    /// place of a message that is kept.
    pub fn keeps(&mut self, known: impl IntoIterator<Item = (Id, u64)>, sequence: u64) {
        let mut known: Vec<(Id, u64)> = known.into_iter().collect();
        known.sort_unstable_by_key(|(_, seen)| std::cmp::Reverse(*seen));
        self.kept = Some(Kept {
            away: known.into_iter().take(AWAY).collect(),
            sequence,
            late: VecDeque::new(),
        });
    }

    /// Who is known and away, and when each was near last.
    pub fn away(&self) -> impl Iterator<Item = (Id, u64)> {
        let away = self.kept.iter().flat_map(|kept| &kept.away);
        away.map(|(id, seen)| (*id, *seen))
    }

    /// Sums of the messages that were here lately, so that none goes round in a circle.
    pub fn remembered(&self) -> impl Iterator<Item = [u8; 16]> {
        self.recent.all()
    }

    /// These were here before this began.
    pub fn remember(&mut self, now: u64, sums: &[[u8; 16]]) {
        for sum in sums {
            self.recent.remember(now, *sum);
        }
    }

    /// It was tried to keep a message.
    pub fn kept(&mut self, keep: &Keep, is: bool) -> Vec<Action> {
        let mut out = Vec::new();
        for id in &keep.peers {
            match self.peers.get_mut(id) {
                Some(peer) if peer.has(keep.sequence) => {
                    if is {
                        peer.keeps(keep.sequence, true);
                        // It may have made room for what is to come before it.
                        self.flow(*id, &mut out);
                    }
                }
                Some(peer) if is => {
                    peer.rest(keep.sequence);
                    self.flow(*id, &mut out);
                }
                None if is => {}
                peer => {
                    let Some(number) = keep.message.number else {
                        continue;
                    };
                    // What is passed on gives way in memory, too.
                    let waits = peer.is_some_and(|peer| {
                        peer.insist(&Waiting {
                            number,
                            priority: keep.message.priority,
                            octets: self.pool.take(keep.message.octets.clone()),
                            hops: HOPS,
                            since: keep.message.since,
                            sequence: Some(keep.sequence),
                            kept: false,
                        })
                    });
                    match waits {
                        true => self.flow(*id, &mut out),
                        false => self.outcome(number, *id, false, &mut out),
                    }
                }
            }
        }
        out
    }

    /// Messages for somebody that were kept, in order; `all`: there are no more.
    pub fn given(
        &mut self,
        now: u64,
        id: Id,
        messages: Vec<(u64, Message)>,
        all: bool,
    ) -> Vec<Action> {
        let mut out = Vec::new();
        let Some(peer) = self.peers.get_mut(&id) else {
            return out;
        };
        let mut upto = messages.last().map(|(sequence, _)| *sequence);
        if all {
            upto = None;
        }
        for (sequence, message) in messages {
            if peer.has(sequence) {
                continue;
            }
            // Whoever sends it back has it from here.
            self.recent.is_new(now, &message.octets);
            self.passed += 1;
            let waiting = Waiting {
                number: message.number.unwrap_or(self.passed),
                priority: message.priority,
                octets: self.pool.take(message.octets),
                hops: HOPS,
                since: message.since,
                sequence: Some(sequence),
                kept: true,
            };
            if !peer.wait(waiting, self.pool.used() > ALL) {
                upto = Some(sequence.saturating_sub(1));
                break;
            }
        }
        peer.was_given(upto);
        self.flow(id, &mut out);
        out
    }

    /// A message is kept no longer for somebody: there was no room, or it was too old.
    pub fn lost(&mut self, id: Id, sequence: u64, number: Option<u64>) -> Vec<Action> {
        let mut out = Vec::new();
        match self.peers.get_mut(&id) {
            Some(peer) if peer.has(sequence) => peer.keeps(sequence, false),
            _ => {
                if let Some(number) = number {
                    self.outcome(number, id, false, &mut out);
                }
            }
        }
        out
    }

    /// What is kept need not be in memory, too, where all takes too much.
    pub(super) fn spill(&mut self) {
        if self.pool.used() > ALL && self.kept.is_some() {
            self.peers.values_mut().for_each(Peer::spill);
        }
    }

    /// All is to be kept that is not yet: the program ends.
    pub fn keep_all(&mut self) -> Vec<Action> {
        let mut out = Vec::new();
        while self.keep_latest(&mut out) {}
        for (id, peer) in &self.peers {
            for waiting in peer.unkept() {
                let sequence = waiting.sequence.unwrap_or_default();
                let there = out.iter_mut().find_map(|it| match it {
                    Action::Store(Store::Keep(it)) => (it.sequence == sequence).then_some(it),
                    _ => None,
                });
                match there {
                    Some(keep) if keep.peers.contains(id) => {}
                    Some(keep) => keep.peers.push(*id),
                    None => out.push(keep(sequence, vec![*id], message(waiting.clone()))),
                }
            }
        }
        out
    }

    /// A message that is said here is kept at once. Gives its place.
    pub(super) fn keep_own(
        &mut self,
        now: u64,
        number: u64,
        octets: &[u8],
        is_meant: impl Fn(&Id) -> bool,
        out: &mut Vec<Action>,
    ) -> Option<u64> {
        let kept = self.kept.as_mut()?;
        let peers = self.peers.keys().chain(kept.away.keys()).copied();
        let peers: Vec<Id> = peers.filter(is_meant).collect();
        if peers.is_empty() {
            return None;
        }
        let sequence = kept.next();
        let message = Message {
            number: Some(number),
            since: now,
            priority: Priority::Usual,
            octets: octets.to_vec(),
        };
        out.push(keep(sequence, peers, message));
        Some(sequence)
    }

    /// A message that is passed on is kept if it waits, for whom is near or away. Gives its place.
    pub(super) fn keep_later(
        &mut self,
        now: u64,
        from: Id,
        octets: &Octets,
        any_near: bool,
        out: &mut Vec<Action>,
    ) -> Option<u64> {
        let kept = self.kept.as_mut()?;
        let peers: BTreeSet<Id> = kept.away.keys().copied().filter(|id| *id != from).collect();
        if peers.is_empty() && !any_near {
            return None;
        }
        let sequence = kept.next();
        kept.late.push_back(Late {
            sequence,
            since: now,
            octets: octets.clone(),
            peers,
        });
        while self.late() > LATE && self.keep_latest(out) {}
        Some(sequence)
    }

    fn late(&self) -> usize {
        let late = self.kept.iter().flat_map(|kept| &kept.late);
        late.map(|it| it.octets.weight()).sum()
    }

    /// A message has no room in memory.
    pub(super) fn has_no_room(&mut self, id: Id, sequence: u64) {
        let kept = self.kept.as_mut();
        if let Some(late) = kept.and_then(|kept| kept.late(sequence)) {
            late.peers.insert(id);
        }
    }

    /// Somebody is near now.
    pub(super) fn comes(&mut self, id: Id, out: &mut Vec<Action>) {
        let (Some(kept), Some(peer)) = (&mut self.kept, self.peers.get_mut(&id)) else {
            return;
        };
        if kept.away.remove(&id).is_some() {
            peer.returns();
        }
        peer.rest(0);
        for late in &mut kept.late {
            if !late.peers.contains(&id) {
                continue;
            }
            self.passed += 1;
            let waiting = Waiting {
                number: self.passed,
                priority: Priority::Usual,
                octets: late.octets.clone(),
                hops: HOPS,
                since: late.since,
                sequence: Some(late.sequence),
                kept: false,
            };
            let waits = peer.wait(waiting, self.pool.used() > ALL);
            if waits {
                late.peers.remove(&id);
            }
        }
        self.flow(id, out);
    }

    /// Somebody is out of range. Gives the numbers of what is lost.
    pub(super) fn leaves(&mut self, now: u64, id: Id, out: &mut Vec<Action>) -> Vec<u64> {
        let Some(peer) = self.peers.remove(&id) else {
            return Vec::new();
        };
        let Some(kept) = &mut self.kept else {
            return peer.all().map(|it| it.number).collect();
        };
        if kept.away.len() >= AWAY && !peer.stayed(STAYS) {
            out.push(kept.forget(id));
            return peer.all().map(|it| it.number).collect();
        }
        let mut lost = Vec::new();
        kept.away.insert(id, peer.seen().min(now));
        for waiting in peer.all().filter(|it| !it.kept) {
            match waiting.sequence {
                None => lost.push(waiting.number),
                Some(sequence) => match kept.late(sequence) {
                    Some(late) => _ = late.peers.insert(id),
                    None => out.push(keep(sequence, vec![id], message(waiting))),
                },
            }
        }
        if kept.away.len() > AWAY {
            let longest = kept.away.iter().min_by_key(|(_, seen)| **seen);
            let longest = longest.map(|(id, _)| *id);
            out.extend(longest.map(|id| kept.forget(id)));
        }
        lost
    }

    /// What has waited for long enough is kept, and who is away for too long forgotten.
    pub(super) fn keep_late(&mut self, now: u64, out: &mut Vec<Action>) {
        let Some(kept) = &mut self.kept else { return };
        let gone = |(_, seen): &(&Id, &u64)| now >= **seen + FORGOTTEN;
        let gone: Vec<Id> = kept.away.iter().filter(gone).map(|(id, _)| *id).collect();
        out.extend(gone.into_iter().map(|id| kept.forget(id)));
        for _ in 0..AT_ONCE {
            let first = self.kept.as_ref().and_then(|kept| kept.late.front());
            if first.is_none_or(|it| now < it.since + SOON) || !self.keep_latest(out) {
                return;
            }
        }
    }

    /// The first of what is to be kept soon is kept for whoever does not have it. Gives whether there
    /// was one.
    fn keep_latest(&mut self, out: &mut Vec<Action>) -> bool {
        let late = self.kept.as_mut().and_then(|kept| kept.late.pop_front());
        let Some(late) = late else { return false };
        let waits = self.peers.iter().filter(|(_, it)| it.has(late.sequence));
        let mut peers: BTreeSet<Id> = waits.map(|(id, _)| *id).collect();
        peers.extend(late.peers);
        if !peers.is_empty() {
            let message = Message {
                number: None,
                since: late.since,
                priority: Priority::Usual,
                octets: late.octets.to_vec(),
            };
            out.push(keep(late.sequence, peers.into_iter().collect(), message));
        }
        true
    }
}

impl Kept {
    fn forget(&mut self, id: Id) -> Action {
        self.away.remove(&id);
        for late in &mut self.late {
            late.peers.remove(&id);
        }
        Action::Store(Store::Forget(id))
    }
}

fn keep(sequence: u64, peers: Vec<Id>, message: Message) -> Action {
    Action::Store(Store::Keep(Keep {
        sequence,
        peers,
        message,
    }))
}
