//! Detects an uplink that is full, so that packets wait in a queue: from its rates and the round
//! trips of the connections that use it. Pure.

/// The two directions of an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the Internet.
    Download,
    /// To the Internet.
    Upload,
}

/// A full direction of an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaturatedDirection {
    /// The direction.
    pub direction: Direction,
    /// Rate, in bits a second.
    pub rate: u64,
    /// Time that packets wait longer than they have to, milliseconds.
    pub delay: u32,
}

/// Growth of the round trip above which packets wait too long, in microseconds: as for the verdict
/// on bufferbloat.
const LONG: u32 = 100_000;
/// Minimum bits per second of a direction that fills an uplink.
const BUSY: u64 = 64_000;
/// Acknowledgements of the other direction are less than this part of its rate.
const ACKNOWLEDGES: u64 = 8;
/// The highest rate decays by this part of itself per second, half of it in twelve hours: lines
/// change, but a line that had an idle hour is not saturated by little traffic.
const FORGETS: u64 = 65_536;
/// Seconds with a queue until the direction is full, and the maximum that is counted: as many
/// without a queue end the state.
const RAISES: u8 = 4;
const HOLDS: u8 = 8;

/// State of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    highest: u64,
    rate: u64,
    seconds: u8,
    full: bool,
}

/// State of an uplink.
#[derive(Clone, Copy, Debug, Default)]
pub struct Saturation {
    directions: [Known; 2],
    delay: u32,
}

impl Saturation {
    /// Handles the end of a second. `rates`: bits per second, from the Internet and to it.
    /// `growth`: microseconds of the round trips above their minimum; `None`: no measurement.
    pub fn turn(&mut self, rates: [u64; 2], growth: Option<u32>) {
        let waits = growth.is_some_and(|growth| growth >= LONG);
        if let Some(growth) = growth.filter(|_| waits) {
            self.delay = growth / 1000;
        }
        let most = rates[0].max(rates[1]);
        for (known, rate) in self.directions.iter_mut().zip(rates) {
            known.rate = rate;
            known.highest = rate.max(known.highest - known.highest / FORGETS);
            let fills = rate >= BUSY && rate >= known.highest / 2 && rate >= most / ACKNOWLEDGES;
            known.seconds = match waits && fills {
                true => (known.seconds + 1).min(HOLDS),
                false => known.seconds.saturating_sub(1),
            };
            known.full = match known.seconds {
                0 => false,
                RAISES.. => true,
                _ => known.full,
            };
        }
    }

    /// Returns the saturated directions.
    pub fn full(&self) -> impl Iterator<Item = SaturatedDirection> + '_ {
        let all = self.directions.iter();
        let all = all.zip([Direction::Download, Direction::Upload]);
        all.filter(|(known, _)| known.full)
            .map(|(known, direction)| SaturatedDirection {
                direction,
                rate: known.rate,
                delay: self.delay,
            })
    }
}

/// Returns the median growth of the connections, in microseconds.
pub fn median(mut growths: Vec<u32>) -> Option<u32> {
    growths.sort_unstable();
    growths.get(growths.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACKS: u64 = 200_000;

    #[test]
    fn an_upload_that_makes_packets_wait_is_full_and_the_download_is_not() {
        let mut line = Saturation::default();
        for second in 0..60 {
            let told: Vec<SaturatedDirection> = line.full().collect();
            assert_eq!(told.is_empty(), second < 4, "{second}: {told:?}");
            line.turn([ACKS, 10_000_000], Some(370_000));
        }
        let full = SaturatedDirection {
            direction: Direction::Upload,
            rate: 10_000_000,
            delay: 370,
        };
        assert_eq!(line.full().collect::<Vec<_>>(), [full]);
        // A second in between without a measurement does not end it.
        line.turn([ACKS, 10_000_000], None);
        assert_eq!(line.full().count(), 1);
        for _ in 0..8 {
            line.turn([ACKS, 10_000_000], Some(4_000));
        }
        assert_eq!(line.full().count(), 0);
    }

    #[test]
    fn neither_a_rate_alone_nor_a_wait_alone_is_a_full_line() {
        for (rates, growth) in [
            ([50_000_000, 1_000_000], Some(20_000)),
            ([50_000_000, 1_000_000], None),
            ([5_000, 9_000], Some(900_000)),
            ([0, 0], Some(u32::MAX)),
        ] {
            let mut line = Saturation::default();
            for _ in 0..60 {
                line.turn(rates, growth);
            }
            assert_eq!(line.full().count(), 0, "{rates:?} {growth:?}");
        }
    }

    #[test]
    fn a_trickle_on_a_line_that_did_more_does_not_fill_it() {
        let mut line = Saturation::default();
        line.turn([50_000_000, 0], None);
        for _ in 0..3600 {
            line.turn([1_000_000, 0], Some(300_000));
        }
        assert_eq!(line.full().count(), 0);
    }
}
