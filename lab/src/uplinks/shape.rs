//! Rate limits of a line.

use std::time::Duration;

/// Shortest burst, bytes: several frames, so that each frame does not wait for a timer.
const LEAST_BURST: u64 = 6 * 1514;

/// A rate with a queue: a token bucket (`tbf`), which counts bytes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bit/s, Ethernet headers included; TCP's payload is 1,448 of 1,514 bytes.
    pub rate: u64,
    /// Burst after a pause, as time at this rate; at least some frames. Must exceed the timer
    /// delays of a busy machine, or bandwidth is lost.
    pub burst: Duration,
    /// Maximum length of the queue, as time at this rate.
    pub queue: Duration,
}

impl Shape {
    /// Returns a shape of this many Mbit/s, with a burst of 5 ms and a queue of 60 ms.
    pub fn mbit(rate: u64) -> Self {
        Self {
            rate: rate * 1_000_000,
            burst: Duration::from_millis(5),
            queue: Duration::from_millis(60),
        }
    }

    /// Returns the bytes that pass in a time.
    fn octets(self, time: Duration) -> u64 {
        (self.rate as f64 / 8.0 * time.as_secs_f64()) as u64
    }
}

/// Returns the command that sets a device's shape, regardless of its present one. An existing queue
/// is kept.
pub(super) fn command(device: &str, shape: Option<Shape>) -> String {
    let begin = format!("tc qdisc replace dev {device} root");
    let Some(shape) = shape else {
        return format!("{begin} noqueue");
    };
    let burst = shape.octets(shape.burst).max(LEAST_BURST);
    let limit = shape.octets(shape.queue).max(LEAST_BURST) + burst;
    format!(
        "{begin} tbf rate {}bit burst {burst} limit {limit}",
        shape.rate
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_and_queues_are_times_at_the_rate() {
        assert_eq!(
            command("home", Some(Shape::mbit(40))),
            "tc qdisc replace dev home root tbf rate 40000000bit burst 25000 limit 325000"
        );
        let mut slow = Shape::mbit(1);
        slow.queue = Duration::from_millis(1);
        assert_eq!(
            command("core", Some(slow)),
            "tc qdisc replace dev core root tbf rate 1000000bit burst 9084 limit 18168"
        );
        assert_eq!(
            command("core", None),
            "tc qdisc replace dev core root noqueue"
        );
    }
}
