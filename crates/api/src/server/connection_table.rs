//! Scheduling of connections: their slots, and which connection gives way to another. Pure.
//!
//! A connection is cheap while it is *silent*: a client may be about to send a request, or never
//! send one. A response costs more, so there are few *slots*. A client with a request never waits
//! for silent connections.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

/// If no slot is free, a response gives way to others when its client has read nothing for this
/// long.
pub const STILL: Duration = Duration::from_secs(1);

/// Other end of a connection: a process, or all processes without access, as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process with access.
    Process(i32),
    /// Processes without access.
    Unauthorized,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No request has arrived, or no new one.
    Silent,
    /// A request has arrived, and has no slot.
    Asking,
    /// The response is under way.
    Answered,
}

#[derive(Debug)]
struct Member {
    peer: Peer,
    phase: Phase,
    /// Start of the phase.
    since: Instant,
    /// Time when bytes last moved.
    moved: Rc<Cell<Instant>>,
}

/// All connections by number, in the order of arrival.
#[derive(Debug)]
pub struct ConnectionTable {
    seats: usize,
    most: usize,
    next: u64,
    members: BTreeMap<u64, Member>,
}

impl ConnectionTable {
    /// Creates a table with this many slots, and room for this many more connections.
    pub fn new(seats: usize, waiting: usize) -> Self {
        let seats = seats.max(1);
        Self {
            seats,
            most: seats + waiting.max(1),
            next: 0,
            members: BTreeMap::new(),
        }
    }

    /// Returns true if no further connection fits.
    pub fn is_full(&self) -> bool {
        self.members.len() >= self.most
    }

    /// Admits a connection, and returns its number. `moved`: time when bytes last moved on it.
    pub fn enter(&mut self, peer: Peer, moved: Rc<Cell<Instant>>, now: Instant) -> u64 {
        let number = self.next;
        self.next += 1;
        let member = Member {
            peer,
            phase: Phase::Silent,
            since: now,
            moved,
        };
        self.members.insert(number, member);
        number
    }

    /// Marks a connection as asking: a request has arrived.
    pub fn ask(&mut self, number: u64, now: Instant) {
        self.set(number, Phase::Asking, now);
    }

    /// Marks a connection as silent: its answer is sent, or no longer wanted.
    pub fn set_idle(&mut self, number: u64, now: Instant) {
        self.set(number, Phase::Silent, now);
    }

    /// Removes a connection.
    pub fn leave(&mut self, number: u64) {
        self.members.remove(&number);
    }

    fn set(&mut self, number: u64, phase: Phase, now: Instant) {
        if let Some(member) = self.members.get_mut(&number) {
            (member.phase, member.since) = (phase, now);
        }
    }

    /// Assigns a free slot: to the peer with the fewest slots, and there to the connection that has
    /// waited longest.
    pub fn seat(&mut self, now: Instant) -> Option<u64> {
        if self.count(Phase::Answered, None) >= self.seats {
            return None;
        }
        let asking = self.in_phase(Phase::Asking);
        let (number, _) = asking.min_by_key(|(number, member)| {
            let seats = self.count(Phase::Answered, Some(member.peer));
            (seats, member.since, *number)
        })?;
        self.set(number, Phase::Answered, now);
        Some(number)
    }

    /// Returns the silent connection that gives way to a new one: of the peer with most silent
    /// connections, the one that has been silent longest.
    pub fn silent(&self) -> Option<u64> {
        let silent = self.in_phase(Phase::Silent);
        let (number, _) = silent.min_by_key(|(number, member)| {
            let of_peer = self.count(Phase::Silent, Some(member.peer));
            (usize::MAX - of_peer, member.since, *number)
        })?;
        Some(number)
    }

    /// Returns the answered connection that gives way to a waiting one, if no slot is free: of the
    /// peer with most slots, the one that has read nothing for longest.
    pub fn still(&self, now: Instant) -> Option<u64> {
        if self.count(Phase::Answered, None) < self.seats || self.count(Phase::Asking, None) == 0 {
            return None;
        }
        let still = self
            .in_phase(Phase::Answered)
            .filter(|(_, member)| now.duration_since(member.moved.get()) >= STILL);
        let (number, _) = still.min_by_key(|(number, member)| {
            let of_peer = self.count(Phase::Answered, Some(member.peer));
            (usize::MAX - of_peer, member.moved.get(), *number)
        })?;
        Some(number)
    }

    fn in_phase(&self, phase: Phase) -> impl Iterator<Item = (u64, &Member)> {
        let members = self.members.iter();
        members.filter_map(move |(number, member)| {
            (member.phase == phase).then_some((*number, member))
        })
    }

    fn count(&self, phase: Phase, peer: Option<Peer>) -> usize {
        self.in_phase(phase)
            .filter(|(_, member)| peer.is_none_or(|peer| member.peer == peer))
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Peer = Peer::Process(1);
    const TWO: Peer = Peer::Process(2);

    fn enter(crowd: &mut ConnectionTable, peer: Peer, now: Instant) -> u64 {
        crowd.enter(peer, Rc::new(Cell::new(now)), now)
    }

    #[test]
    fn who_has_most_silent_ones_makes_room() {
        let now = Instant::now();
        let mut crowd = ConnectionTable::new(1, 3);
        let alone = enter(&mut crowd, TWO, now);
        let first = enter(&mut crowd, ONE, now + Duration::from_millis(1));
        let second = enter(&mut crowd, ONE, now + Duration::from_millis(2));
        assert!(!crowd.is_full());
        let third = enter(&mut crowd, ONE, now + Duration::from_millis(3));
        assert!(crowd.is_full());
        assert_eq!(crowd.silent(), Some(first));
        crowd.ask(first, now);
        assert_eq!(crowd.silent(), Some(second), "one that asked is not silent");
        crowd.leave(second);
        crowd.leave(third);
        assert_eq!(crowd.silent(), Some(alone));
        crowd.ask(alone, now);
        assert_eq!(crowd.silent(), None);
    }

    #[test]
    fn seats_go_round() {
        let now = Instant::now();
        let mut crowd = ConnectionTable::new(2, 8);
        let many: Vec<u64> = (0..4).map(|_| enter(&mut crowd, ONE, now)).collect();
        many.iter().for_each(|number| crowd.ask(*number, now));
        assert_eq!(crowd.seat(now), Some(many[0]));
        let other = enter(&mut crowd, TWO, now);
        crowd.ask(other, now + Duration::from_millis(1));
        assert_eq!(crowd.seat(now), Some(other), "who has none comes first");
        assert_eq!(crowd.seat(now), None, "all are taken");
        crowd.set_idle(other, now);
        assert_eq!(crowd.seat(now), Some(many[1]));
        crowd.leave(many[0]);
        assert_eq!(crowd.seat(now), Some(many[2]));
    }

    #[test]
    fn who_takes_nothing_makes_room_for_one_that_asks() {
        let now = Instant::now();
        let mut crowd = ConnectionTable::new(2, 8);
        let moved = Rc::new(Cell::new(now));
        let reads = crowd.enter(ONE, Rc::clone(&moved), now);
        let stands = enter(&mut crowd, ONE, now);
        for number in [reads, stands] {
            crowd.ask(number, now);
            assert_eq!(crowd.seat(now), Some(number));
        }
        let later = now + STILL;
        moved.set(later);
        assert_eq!(crowd.still(later), None, "nobody needs its seat");
        let asks = enter(&mut crowd, TWO, later);
        crowd.ask(asks, later);
        assert_eq!(crowd.still(now), None, "not for long");
        assert_eq!(crowd.still(later), Some(stands));
        crowd.leave(stands);
        assert_eq!(crowd.still(later + STILL), None, "a seat is free");
        assert_eq!(crowd.seat(later), Some(asks));
    }
}
