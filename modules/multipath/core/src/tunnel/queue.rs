//! Queues of the tunnel for a path: packets leave no faster than the path carries them; those that
//! wait too long are dropped at the head.
//!
//! Dropping follows CoDel (RFC 8289), whose marking is left to the inner packets' own routers: ECN
//! bits are not touched.

use std::collections::VecDeque;

use super::body::{Micros, Order};

/// Time that packets may wait, and the tolerated duration of longer waits, microseconds.
const TARGET: Micros = 8_000;
const INTERVAL: Micros = 100_000;
/// Age at which a packet is useless, microseconds.
const STALE: Micros = 1_000_000;
/// Most bytes of a queue: a quarter of a second, within these bounds.
const LEAST_ROOM: u64 = 65_536;
const MOST_ROOM: u64 = 2_097_152;
/// Time in which unused sending adds up, microseconds.
const BURST: Micros = 4_000;
/// Bytes that UDP and IP add to a datagram: of IPv6, the larger.
pub const OUTER: usize = 48;
/// Bytes times this are tokens: so a rate is tokens per microsecond.
const TOKEN: i64 = 1_000_000;

/// A packet in a queue.
#[derive(Debug)]
pub struct Waiting {
    /// Order to send with the packet.
    pub order: Order,
    /// Time of its arrival.
    pub since: Micros,
    /// The IP packet.
    pub packet: Vec<u8>,
}

/// Reusable buffers for packets.
#[derive(Debug, Default)]
pub struct Pool(Vec<Vec<u8>>);

impl Pool {
    /// Copies bytes into a buffer.
    pub fn copy(&mut self, octets: &[u8]) -> Vec<u8> {
        let mut buffer = self.0.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(octets);
        buffer
    }

    /// Returns a buffer to the pool.
    pub fn free(&mut self, buffer: Vec<u8>) {
        if self.0.len() < 256 {
            self.0.push(buffer);
        }
    }
}

/// The state of CoDel.
#[derive(Debug, Default)]
struct Codel {
    /// Time at which the target will have been exceeded for long enough.
    late: Option<Micros>,
    /// Time of the next drop, and number of drops.
    dropping: Option<(Micros, u64)>,
}

impl Codel {
    /// Returns true if the packet at the head is to be dropped, having stood for so long.
    fn drops(&mut self, stood: Micros, last: bool, now: Micros) -> bool {
        if stood < TARGET || last {
            self.late = None;
            self.dropping = None;
            return false;
        }
        let late = *self.late.get_or_insert(now + INTERVAL);
        match &mut self.dropping {
            Some((at, dropped)) if *at <= now => {
                *dropped += 1;
                *at += INTERVAL / dropped.isqrt().max(1);
                true
            }
            Some(_) => false,
            None if late <= now => {
                self.dropping = Some((now + INTERVAL, 1));
                true
            }
            None => false,
        }
    }
}

/// Packets in order of arrival.
#[derive(Debug, Default)]
pub struct Line {
    waiting: VecDeque<Waiting>,
    octets: u64,
    codel: Codel,
    /// Total time with packets up to the last empty moment, and start of the present busy time.
    full: Micros,
    full_since: Option<Micros>,
    /// Packets dropped.
    pub dropped: u64,
}

impl Line {
    /// Returns the waiting bytes.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Returns true if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the total time with queued packets so far, microseconds.
    pub fn full(&self, now: Micros) -> Micros {
        self.full + self.full_since.map_or(0, |since| now.saturating_sub(since))
    }

    /// Returns the arrival of the first packet.
    fn since(&self) -> Option<Micros> {
        Some(self.waiting.front()?.since)
    }

    fn take(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.octets -= weight(&waiting);
        Some(waiting)
    }

    fn empties(&mut self, now: Micros) {
        if self.waiting.is_empty()
            && let Some(since) = self.full_since.take()
        {
            self.full += now.saturating_sub(since);
        }
    }

    /// Adds a packet; drops the first ones if there are too many for the rate.
    pub fn push(&mut self, waiting: Waiting, rate: u64, pool: &mut Pool) {
        self.full_since.get_or_insert(waiting.since);
        self.octets += weight(&waiting);
        self.waiting.push_back(waiting);
        while self.octets > (rate / 4).clamp(LEAST_ROOM, MOST_ROOM)
            && let Some(old) = self.take()
        {
            self.dropped += 1;
            pool.free(old.packet);
        }
    }

    /// Takes the next packet that has not waited too long: `longer` than usual is permitted.
    pub fn pop(&mut self, longer: Micros, now: Micros, pool: &mut Pool) -> Option<Waiting> {
        let mut next = None;
        while let Some(waiting) = self.take() {
            let stood = now.saturating_sub(waiting.since);
            let last = self.waiting.is_empty();
            if stood < STALE && !self.codel.drops(stood.saturating_sub(longer), last, now) {
                next = Some(waiting);
                break;
            }
            self.dropped += 1;
            pool.free(waiting.packet);
        }
        self.empties(now);
        next
    }

    /// Takes out all packets, in order.
    pub fn drain(&mut self, now: Micros) -> VecDeque<Waiting> {
        self.octets = 0;
        let all = std::mem::take(&mut self.waiting);
        self.empties(now);
        all
    }
}

/// The queue of a path: urgent packets, and the others.
#[derive(Debug, Default)]
pub struct Queue {
    urgent: Line,
    /// Packets that are not urgent.
    pub line: Line,
    tokens: i64,
    filled: Micros,
}

impl Queue {
    /// Returns the waiting bytes.
    pub fn octets(&self) -> u64 {
        self.urgent.octets + self.line.octets
    }

    /// Returns the number of dropped packets.
    pub fn dropped(&self) -> u64 {
        self.urgent.dropped + self.line.dropped
    }

    /// Adds a packet. Urgent ones go before the others.
    pub fn push(&mut self, waiting: Waiting, urgent: bool, rate: u64, pool: &mut Pool) {
        let line = if urgent {
            &mut self.urgent
        } else {
            &mut self.line
        };
        line.push(waiting, rate, pool);
    }

    fn fill(&mut self, rate: u64, now: Micros) {
        // No packet takes longer than this to send.
        let time = now.saturating_sub(self.filled).min(10_000_000);
        let most = (rate * BURST).cast_signed();
        self.tokens = (self.tokens + (rate * time).cast_signed()).min(most);
        self.filled = now;
    }

    /// Pays for a sent datagram.
    pub fn spends(&mut self, octets: usize) {
        self.tokens -= (octets + OUTER) as i64 * TOKEN;
    }

    /// Takes the next packet, if its time has come: of this path, or of a shared line that permits
    /// a longer stay; the flag is true if it is of the shared one.
    pub fn pop(
        &mut self,
        rate: u64,
        shared: Option<(&mut Line, Micros)>,
        now: Micros,
        pool: &mut Pool,
    ) -> Option<(Waiting, bool)> {
        self.fill(rate, now);
        if self.tokens <= 0 {
            return None;
        }
        if let Some(waiting) = self.urgent.pop(0, now, pool) {
            return Some((waiting, false));
        }
        // First the packet that waits longest.
        if let Some((line, longer)) = shared
            && let Some(since) = line.since()
            && self.line.since().is_none_or(|own| since < own)
            && let Some(waiting) = line.pop(longer, now, pool)
        {
            return Some((waiting, true));
        }
        Some((self.line.pop(0, now, pool)?, false))
    }

    /// Returns the time at which a packet could leave, even if none waits.
    pub fn ready(&self, rate: u64) -> Micros {
        let missing = (1 - self.tokens).max(0).unsigned_abs();
        self.filled + missing.div_ceil(rate.max(1))
    }

    /// Returns the time at which the next packet can leave.
    pub fn next(&self, rate: u64) -> Option<Micros> {
        (!self.urgent.is_empty() || !self.line.is_empty()).then(|| self.ready(rate))
    }

    /// Takes out all packets, in order.
    pub fn drain(&mut self, now: Micros) -> impl Iterator<Item = Waiting> {
        let urgent = self.urgent.drain(now);
        urgent.into_iter().chain(self.line.drain(now))
    }
}

fn weight(waiting: &Waiting) -> u64 {
    (waiting.packet.len() + super::OVERHEAD + OUTER) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(length: usize, since: Micros) -> Waiting {
        Waiting {
            order: Order::Free,
            since,
            packet: vec![0; length],
        }
    }

    /// Offers so many packets of 912 bytes (1000 with headers) each millisecond; returns the number
    /// of sent ones, and the longest wait of the second half.
    fn run(rate: u64, offered: u64, milliseconds: u64) -> (u64, Micros) {
        let (mut queue, mut pool) = (Queue::default(), Pool::default());
        let (mut left, mut longest) = (0, 0);
        for now in (0..milliseconds).map(|millisecond| millisecond * 1000) {
            for _ in 0..offered {
                queue.push(waiting(912, now), false, rate, &mut pool);
            }
            while let Some((packet, _)) = queue.pop(rate, None, now, &mut pool) {
                queue.spends(packet.packet.len() + super::super::OVERHEAD);
                left += 1;
                if now > milliseconds * 500 {
                    longest = longest.max(now - packet.since);
                }
            }
        }
        (left, longest)
    }

    #[test]
    fn no_more_than_the_rate_leaves_and_no_less() {
        let (left, longest) = run(5_000_000, 20, 2000);
        assert!((9_900..10_050).contains(&left), "{left}");
        assert!(longest <= 250_000, "{longest}");
        let (left, longest) = run(5_000_000, 4, 2000);
        assert_eq!((left, longest), (8_000, 0));
    }

    #[test]
    fn what_stands_is_dropped_at_the_head() {
        // A burst that fits, and then exactly the path's rate: without drops, all packets would
        // wait for ever.
        let (mut queue, mut pool) = (Queue::default(), Pool::default());
        let rate = 1_000_000;
        for _ in 0..60 {
            queue.push(waiting(912, 0), false, rate, &mut pool);
        }
        let mut stood = 0;
        for now in (0..4000).map(|millisecond| millisecond * 1000) {
            queue.push(waiting(912, now), false, rate, &mut pool);
            if let Some((packet, _)) = queue.pop(rate, None, now, &mut pool) {
                queue.spends(packet.packet.len() + super::super::OVERHEAD);
                stood = now - packet.since;
            }
        }
        assert!(queue.dropped() > 10, "{}", queue.dropped());
        assert!(stood < 2 * TARGET, "{stood}");
    }

    #[test]
    fn urgent_packets_do_not_wait_behind_others() {
        let (mut queue, mut pool) = (Queue::default(), Pool::default());
        queue.push(waiting(900, 0), false, 1_000_000, &mut pool);
        queue.push(waiting(60, 0), true, 1_000_000, &mut pool);
        assert_eq!(
            queue
                .pop(1_000_000, None, 10, &mut pool)
                .unwrap()
                .0
                .packet
                .len(),
            60
        );
    }

    #[test]
    fn a_queue_has_an_end() {
        let (mut queue, mut pool) = (Queue::default(), Pool::default());
        for _ in 0..1000 {
            queue.push(waiting(912, 0), false, 1_000, &mut pool);
        }
        assert!(queue.octets() <= LEAST_ROOM && queue.dropped() > 900);
    }
}
