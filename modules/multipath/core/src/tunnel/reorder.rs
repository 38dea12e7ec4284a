//! Puts the packets of striped flows in order again.
//!
//! A packet whose predecessor is missing waits, but not long: until all paths that carry the lane
//! have brought a later one (a path keeps order, so the missing one is lost), or for a bound. Late
//! packets are delivered late, second copies never.

use std::collections::{BTreeMap, VecDeque};

use super::body::Micros;
use super::queue::Pool;
use super::schedule::PATHS;
use crate::Window;

/// Maximum number of known lanes; of held bytes, over all lanes; of numbers that a packet may be
/// ahead.
const LANES: usize = 256;
const OCTETS: usize = 1_048_576;
const AHEAD: u64 = 4096;
/// A path without a packet of a lane for so long does not carry it, microseconds; while the lane is
/// younger than the other, its paths are not known yet.
const CARRIES: Micros = 1_000_000;
const YOUNG: Micros = 500_000;

/// Receives delivered packets.
pub type Deliver<'a> = dyn FnMut(&[u8]) + 'a;

struct Held {
    packet: Vec<u8>,
    came: Micros,
}

struct Lane {
    /// Number of the next packet, extended beyond 32 bits.
    next: u64,
    window: Window,
    /// Highest number by each path, and when.
    heads: [Option<(u64, Micros)>; PATHS],
    /// Waiting packets by number, from the next on.
    held: VecDeque<Option<Held>>,
    /// Arrival of the oldest waiting packet.
    oldest: Option<Micros>,
    began: Micros,
    last: Micros,
}

impl Lane {
    fn new(number: u32, now: Micros) -> Lane {
        Lane {
            // Numbers just before may still come.
            next: 1 << 32 | u64::from(number),
            window: Window::new(AHEAD),
            heads: [None; PATHS],
            held: VecDeque::new(),
            oldest: None,
            began: now,
            last: now,
        }
    }
}

/// Returns the number of 64 bits with these low 32 bits that is nearest to another.
pub fn whole(near: u64, number: u32) -> u64 {
    let step = number.wrapping_sub(near as u32).cast_signed();
    near.saturating_add_signed(i64::from(step))
}

/// The lanes of an end.
#[derive(Default)]
pub struct Reorder {
    lanes: BTreeMap<u16, Lane>,
    waiting: usize,
    octets: usize,
    /// Packets that came after later ones were delivered.
    pub late: u64,
    /// Second copies.
    pub twice: u64,
}

impl Reorder {
    /// Takes a packet from a path.
    #[allow(clippy::too_many_arguments)]
    pub fn add(
        &mut self,
        (lane, number): (u16, u32),
        path: u8,
        packet: &[u8],
        now: Micros,
        pool: &mut Pool,
        deliver: &mut Deliver<'_>,
    ) {
        if !self.lanes.contains_key(&lane) {
            self.room(pool, deliver);
        }
        let entry = self
            .lanes
            .entry(lane)
            .or_insert_with(|| Lane::new(number, now));
        let number = whole(entry.next, number);
        if !entry.window.take(number) {
            self.twice += 1;
            return;
        }
        entry.last = now;
        let head = &mut entry.heads[usize::from(path) % PATHS];
        *head = Some((head.map_or(number, |(head, _)| head.max(number)), now));
        if number < entry.next {
            self.late += 1;
            deliver(packet);
            return;
        }
        if number - entry.next >= AHEAD {
            let end = entry.next + entry.held.len() as u64;
            self.skip(lane, end, pool, deliver);
            if let Some(entry) = self.lanes.get_mut(&lane) {
                entry.next = number;
            }
        }
        let Some(entry) = self.lanes.get_mut(&lane) else {
            return;
        };
        if number == entry.next {
            deliver(packet);
            entry.next += 1;
            entry.held.pop_front();
            self.run(lane, pool, deliver);
        } else {
            let index = (number - entry.next) as usize;
            if entry.held.len() <= index {
                entry.held.resize_with(index + 1, || None);
            }
            entry.held[index] = Some(Held {
                packet: pool.copy(packet),
                came: now,
            });
            entry.oldest.get_or_insert(now);
            self.waiting += 1;
            self.octets += packet.len();
        }
        self.lost(lane, now, pool, deliver);
        while self.octets > OCTETS {
            let oldest = |(_, lane): &(&u16, &Lane)| lane.oldest.unwrap_or(Micros::MAX);
            let Some(lane) = self.lanes.iter().min_by_key(oldest).map(|(lane, _)| *lane) else {
                break;
            };
            self.leap(lane, pool, deliver);
        }
    }

    /// Makes room for one more lane.
    fn room(&mut self, pool: &mut Pool, deliver: &mut Deliver<'_>) {
        if self.lanes.len() < LANES {
            return;
        }
        let least = self.lanes.iter().min_by_key(|(_, lane)| lane.last);
        if let Some(lane) = least.map(|(lane, _)| *lane) {
            let end = self.lanes[&lane].next + self.lanes[&lane].held.len() as u64;
            self.skip(lane, end, pool, deliver);
            self.lanes.remove(&lane);
        }
    }

    /// Delivers all packets below a number, whatever is missing.
    fn skip(&mut self, lane: u16, below: u64, pool: &mut Pool, deliver: &mut Deliver<'_>) {
        let Some(lane) = self.lanes.get_mut(&lane) else {
            return;
        };
        while lane.next < below {
            lane.next += 1;
            if let Some(held) = lane.held.pop_front().flatten() {
                self.waiting -= 1;
                self.octets -= held.packet.len();
                deliver(&held.packet);
                pool.free(held.packet);
            }
        }
        lane.oldest = lane.held.iter().flatten().map(|held| held.came).min();
    }

    /// Delivers the packets that are next.
    fn run(&mut self, lane: u16, pool: &mut Pool, deliver: &mut Deliver<'_>) {
        if let Some(entry) = self.lanes.get(&lane) {
            let run = entry.held.iter().take_while(|held| held.is_some()).count() as u64;
            if run > 0 {
                self.skip(lane, entry.next + run, pool, deliver);
            }
        }
    }

    /// Skips the missing packets before the first one that waits, and delivers from there.
    fn leap(&mut self, lane: u16, pool: &mut Pool, deliver: &mut Deliver<'_>) {
        if let Some(entry) = self.lanes.get(&lane) {
            let missing = entry.held.iter().take_while(|held| held.is_none()).count() as u64;
            self.skip(lane, entry.next + missing, pool, deliver);
            self.run(lane, pool, deliver);
        }
    }

    /// Skips packets that are certainly lost.
    fn lost(&mut self, lane: u16, now: Micros, pool: &mut Pool, deliver: &mut Deliver<'_>) {
        while let Some(entry) = self.lanes.get(&lane)
            && entry.oldest.is_some()
            && now.saturating_sub(entry.began) >= YOUNG
            && entry
                .heads
                .iter()
                .flatten()
                .filter(|(_, at)| now.saturating_sub(*at) < CARRIES)
                .all(|(head, _)| *head > entry.next)
        {
            self.leap(lane, pool, deliver);
        }
    }

    /// Delivers packets that have waited for the bound.
    pub fn tick(&mut self, wait: Micros, now: Micros, pool: &mut Pool, deliver: &mut Deliver<'_>) {
        while let Some((lane, at)) = self.oldest()
            && at + wait <= now
        {
            self.leap(lane, pool, deliver);
        }
    }

    fn oldest(&self) -> Option<(u16, Micros)> {
        if self.waiting == 0 {
            return None;
        }
        self.lanes
            .iter()
            .filter_map(|(lane, entry)| Some((*lane, entry.oldest?)))
            .min_by_key(|(_, at)| *at)
    }

    /// Returns the time at which [`Reorder::tick`] has work.
    pub fn next(&self, wait: Micros) -> Option<Micros> {
        self.oldest().map(|(_, at)| at + wait)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WAIT: Micros = 30_000;

    /// Returns the deliveries, with times, of packets (lane, number, path, time).
    fn run(packets: &[(u16, u32, u8, Micros)]) -> Vec<(u16, u32, Micros)> {
        let (mut reorder, mut pool) = (Reorder::default(), Pool::default());
        let mut out = Vec::new();
        let mut give = |octets: &[u8], now| {
            let lane = u16::from_be_bytes([octets[0], octets[1]]);
            let number = u32::from_be_bytes([octets[2], octets[3], octets[4], octets[5]]);
            out.push((lane, number, now));
        };
        for (lane, number, path, now) in packets {
            while let Some(at) = reorder.next(WAIT).filter(|at| at <= now) {
                reorder.tick(WAIT, at, &mut pool, &mut |octets| give(octets, at));
            }
            let octets = [&lane.to_be_bytes()[..], &number.to_be_bytes()].concat();
            let deliver = &mut |octets: &[u8]| give(octets, *now);
            reorder.add((*lane, *number), *path, &octets, *now, &mut pool, deliver);
        }
        while let Some(at) = reorder.next(WAIT) {
            reorder.tick(WAIT, at, &mut pool, &mut |octets| give(octets, at));
        }
        assert_eq!((reorder.octets, reorder.waiting), (0, 0));
        out
    }

    fn numbers(out: &[(u16, u32, Micros)]) -> Vec<u32> {
        out.iter().map(|(_, number, _)| *number).collect()
    }

    #[test]
    fn a_gap_is_waited_for_and_filled() {
        let out = run(&[
            (1, 5, 0, 0),
            (1, 7, 0, 10),
            (1, 8, 0, 20),
            (1, 6, 1, 9_000),
            (1, 9, 0, 9_100),
        ]);
        assert_eq!(numbers(&out), [5, 6, 7, 8, 9]);
        assert_eq!(out[2].2, 9_000);
    }

    #[test]
    fn a_gap_is_waited_for_no_longer_than_the_bound() {
        let out = run(&[
            (1, 5, 0, 0),
            (1, 7, 0, 1_000),
            (1, 9, 0, 2_000),
            (1, 6, 1, 200_000),
        ]);
        assert_eq!(out[1..3], [(1, 7, 31_000), (1, 9, 32_000)]);
        assert_eq!(out[3], (1, 6, 200_000));
    }

    #[test]
    fn what_no_path_can_bring_any_more_is_not_waited_for() {
        let later = YOUNG + 1;
        let begin = [(1, 0, 0, 0), (1, 1, 1, 0)];
        let end = [(1, 3, 0, later), (1, 4, 1, later + 50)];
        let out = run(&[&begin[..], &end].concat());
        assert_eq!(out[2..], [(1, 3, later + 50), (1, 4, later + 50)]);
    }

    #[test]
    fn numbers_begin_anew_after_the_last() {
        let out = run(&[(1, u32::MAX, 0, 0), (1, 1, 1, 5), (1, 0, 0, 9)]);
        assert_eq!(numbers(&out), [u32::MAX, 0, 1]);
    }

    #[test]
    fn one_lane_does_not_wait_for_another() {
        let out = run(&[(1, 5, 0, 0), (1, 7, 0, 10), (2, 1, 0, 20), (2, 2, 0, 30)]);
        assert_eq!(out[1..3], [(2, 1, 20), (2, 2, 30)]);
    }

    #[test]
    fn what_is_held_is_bounded() {
        let (mut reorder, mut pool) = (Reorder::default(), Pool::default());
        let mut count = 0;
        for number in 1..4000 {
            for lane in 0..400 {
                if number % 500 == 0 {
                    let at = (lane, number);
                    reorder.add(at, 0, &[0; 1400], 0, &mut pool, &mut |_| count += 1);
                }
            }
        }
        assert!(reorder.octets <= OCTETS && reorder.lanes.len() <= LANES);
        reorder.tick(WAIT, WAIT, &mut pool, &mut |_| count += 1);
        assert_eq!((count, reorder.octets), (7 * 400, 0));
    }

    proptest! {
        /// Two paths, each in order, the second slower by less than the bound: all comes out in
        /// order, each once, and none waits longer than the bound.
        #[test]
        fn order_is_restored(
            paths in prop::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 20..300),
            slower in 0u64..25_000,
        ) {
            let mut packets = Vec::new();
            for (index, (second, copied, lost)) in paths.iter().enumerate() {
                let (number, sent) = (index as u32, index as u64 * 700);
                // The first ones go by one path, so that the lane is known.
                let second = *second && index > 5;
                if !lost || index == 0 {
                    packets.push((3u16, number, u8::from(second), sent + u64::from(second) * slower));
                }
                if *copied && index > 5 {
                    packets.push((3u16, number, u8::from(!second), sent + u64::from(!second) * slower));
                }
            }
            packets.sort_by_key(|(_, _, _, at)| *at);
            let out = run(&packets);
            let mut sent: Vec<u32> = packets.iter().map(|(_, number, _, _)| *number).collect();
            sent.sort_unstable();
            sent.dedup();
            prop_assert_eq!(numbers(&out), sent);
            for (_, number, given) in out {
                let came = packets.iter().find(|packet| packet.1 == number).unwrap().3;
                prop_assert!(given <= came + WAIT);
            }
        }
    }
}
