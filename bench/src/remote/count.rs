//! Pure counting of the numbered packets of a trial.

/// Sequence numbers per flow, up to the newest, in which a duplicate is distinguished from a late
/// packet.
const WINDOW: u32 = 256;
const WORDS: usize = (WINDOW / 64) as usize;

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Highest number seen, plus one: `NextExp` of RFC 4737.
    next: u32,
    seen: [u64; WORDS],
}

/// Position of a packet in its flow's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The expected number, or a later one.
    Ahead,
    /// Behind a packet that was sent later (RFC 4737 section 3.3).
    Late,
    /// A number seen before.
    Again,
}

impl Flow {
    fn take(&mut self, sequence: u32) -> Arrival {
        let Some(behind) = self.next.checked_sub(sequence).filter(|gap| *gap > 0) else {
            // Numbers between are not seen yet.
            let from = self.next.max(sequence.saturating_sub(WINDOW - 1));
            for number in from..=sequence {
                self.mark(number, false);
            }
            self.mark(sequence, true);
            self.next = sequence.saturating_add(1);
            return Arrival::Ahead;
        };
        if behind > WINDOW {
            return Arrival::Late;
        }
        match self.mark(sequence, true) {
            true => Arrival::Again,
            false => Arrival::Late,
        }
    }

    /// Sets the bit of a number, and returns its previous value.
    fn mark(&mut self, sequence: u32, seen: bool) -> bool {
        let place = sequence % WINDOW;
        let (word, bit) = ((place / 64) as usize, 1 << (place % 64));
        let before = self.seen[word] & bit != 0;
        match seen {
            true => self.seen[word] |= bit,
            false => self.seen[word] &= !bit,
        }
        before
    }
}

/// Packets that one socket received of one trial.
#[derive(Clone, Debug, Default)]
pub struct Count {
    flows: Vec<Flow>,
    /// Packets, without duplicates.
    pub packets: u64,
    /// Bytes of their frames, without checksum.
    pub octets: u64,
    /// Packets that arrived behind one sent later.
    pub reordered: u64,
    /// Packets that arrived again. Duplicates more than `WINDOW` behind are missing here: they look
    /// like late packets.
    pub duplicates: u64,
    /// Packets of another run, or malformed ones.
    pub foreign: u64,
    /// Packets in each second since the first one.
    pub seconds: Vec<u64>,
}

/// Seconds that get a count each; the last one also takes all later packets.
const MOST_SECONDS: usize = 128;

impl Count {
    /// Returns an empty count for this many flows.
    pub fn new(flows: u32) -> Self {
        Self {
            flows: vec![Flow::default(); flows as usize],
            ..Self::default()
        }
    }

    /// Counts a packet whose frame has `octets` bytes, `second` seconds after the first one.
    pub fn take(&mut self, flow: u16, sequence: u32, octets: u64, second: u64) {
        let Some(flow) = self.flows.get_mut(usize::from(flow)) else {
            self.foreign += 1;
            return;
        };
        match flow.take(sequence) {
            Arrival::Ahead => {}
            Arrival::Late => self.reordered += 1,
            Arrival::Again => {
                self.duplicates += 1;
                return;
            }
        }
        self.packets += 1;
        self.octets += octets;
        let second = (second as usize).min(MOST_SECONDS - 1);
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, 0);
        }
        self.seconds[second] += 1;
    }

    /// Adds another socket's count: the kernel gives each flow to a single socket.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.octets += other.octets;
        self.reordered += other.reordered;
        self.duplicates += other.duplicates;
        self.foreign += other.foreign;
        let length = self.seconds.len().max(other.seconds.len());
        self.seconds.resize(length, 0);
        let both = self.seconds.iter_mut().zip(&other.seconds);
        both.for_each(|(own, other)| *own += other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(numbers: impl IntoIterator<Item = u32>) -> Count {
        let mut count = Count::new(1);
        for number in numbers {
            count.take(0, number, 60, 0);
        }
        count
    }

    fn told(count: &Count) -> (u64, u64, u64) {
        (count.packets, count.reordered, count.duplicates)
    }

    #[test]
    fn in_order() {
        assert_eq!(told(&count(0..10_000)), (10_000, 0, 0));
        assert_eq!(
            told(&count((0..10_000).filter(|n| n % 7 != 0))),
            (8571, 0, 0)
        );
        assert_eq!(count(0..10).octets, 600);
    }

    #[test]
    fn late_ones_are_reordered_as_rfc_4737_says() {
        // Example of section 3.4: 1 to 10, number 5 delayed to after 8.
        assert_eq!(told(&count([1, 2, 3, 4, 6, 7, 8, 5, 9, 10])), (10, 1, 0));
        assert_eq!(told(&count([1, 2, 3, 7, 4, 5, 6, 8])), (8, 3, 0));
        assert_eq!(told(&count([1000, 0, 1001])), (3, 1, 0), "far behind");
    }

    #[test]
    fn what_comes_again_is_counted_once() {
        assert_eq!(told(&count([0, 0, 1, 1, 1, 2])), (3, 0, 3));
        assert_eq!(told(&count([0, 2, 1, 1, 0])), (3, 1, 2));
        assert_eq!(told(&count((0..5000).chain(4990..5000))), (5000, 0, 10));
        let with_holes = (0..5000u32).filter(|n| n % 2 == 0);
        assert_eq!(
            told(&count(with_holes.chain(4901..4902))),
            (2501, 1, 0),
            "its place was used before"
        );
        assert_eq!(told(&count([0, 1_000_000, 999_999, 999_999])), (3, 1, 1));
    }

    #[test]
    fn any_number_is_taken() {
        assert_eq!(told(&count([u32::MAX, 0, u32::MAX - 1])).0, 3);
        let mut one = Count::new(2);
        one.take(2, 0, 60, 0);
        one.take(4095, 0, 60, 0);
        assert_eq!((one.packets, one.foreign), (0, 2));
        one.take(1, 0, 60, u64::MAX);
        assert_eq!(one.seconds.len(), MOST_SECONDS);
    }

    #[test]
    fn sockets_are_added_up() {
        let (mut one, mut two) = (Count::new(2), Count::new(2));
        one.take(0, 0, 60, 0);
        two.take(1, 0, 60, 1);
        two.take(1, 1, 60, 1);
        one.add(&two);
        assert_eq!((one.packets, one.octets), (3, 180));
        assert_eq!(one.seconds, [1, 2]);
    }
}
