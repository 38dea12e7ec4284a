//! Packets at a port that found no free record in the last minutes. Pure.

/// Seconds after which a window ends. The window before it counts, too.
const WINDOW: u64 = 300;
/// Packets without a record are reported from this part of a port's packets on.
const PART: u64 = 1000;

/// Packets without a record and with one, of the last five to ten minutes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unplaced {
    /// Start of the window, in seconds, and the sums of that moment.
    began: u64,
    since: [u64; 2],
    /// The sums when the window before began.
    before: [u64; 2],
    sums: [u64; 2],
}

impl Unplaced {
    /// Updates the sums of a port at this second: packets without a record, and those with one.
    pub fn turn(&mut self, sums: [u64; 2], now: u64) {
        self.sums = sums;
        if now.saturating_sub(self.began) >= WINDOW {
            (self.before, self.since, self.began) = (self.since, sums, now);
        }
    }

    /// Returns the number of packets without a record, if those are many.
    pub fn many(&self) -> Option<u64> {
        let grown = |which: usize| self.sums[which].saturating_sub(self.before[which]);
        let (packets, placed) = (grown(0), grown(1));
        (packets.saturating_mul(PART) > packets.saturating_add(placed)).then_some(packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_reported_while_it_lasts_and_a_few_minutes_longer() {
        let mut port = Unplaced::default();
        let mut sums = [0, 0];
        for second in 10_000..20_000 {
            sums[1] += 1_000;
            if (12_000..12_100).contains(&second) {
                sums[0] += 500;
            }
            port.turn(sums, second);
            let reported = port.many().is_some();
            match second {
                ..12_000 | 12_800.. => assert!(!reported, "{second}"),
                12_050..12_350 => assert!(reported, "{second}"),
                _ => {}
            }
        }
    }

    #[test]
    fn packets_from_before_the_first_look_count() {
        let mut port = Unplaced::default();
        port.turn([700, 10_000], 5);
        assert_eq!(port.many(), Some(700));
        port.turn([700, 10_000_000], 6);
        assert_eq!(port.many(), None);
    }
}
