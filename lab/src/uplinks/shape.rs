//! The rate of a line.

use std::time::Duration;

/// Shortest burst, bytes: some frames, so that the last does not have to wait for a timer each
/// time.
const LEAST_BURST: u64 = 6 * 1514;

/// A rate, and the queue in front of it: a token bucket (`tbf`), which counts bytes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bit/s, Ethernet headers included; 1,448 of 1,514 bytes are TCP's payload.
    pub rate: u64,
    /// What may pass at once after a pause, as time at this rate; at least some frames. Longer than
    /// a busy machine lets a timer wait, else bytes are lost.
    pub burst: Duration,
    /// How long the queue can get before it drops, as time at this rate.
    pub queue: Duration,
}

impl Shape {
    /// So many Mbit/s, with a burst of 5 ms and a queue of 60 ms.
    pub fn mbit(rate: u64) -> Self {
        Self {
            rate: rate * 1_000_000,
            burst: Duration::from_millis(5),
            queue: Duration::from_millis(60),
        }
    }

    /// Bytes that pass in a time.
    fn octets(self, time: Duration) -> u64 {
        (self.rate as f64 / 8.0 * time.as_secs_f64()) as u64
    }
}

/// The command that gives a device this shape, whatever it had before. A queue that is there is
/// kept.
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
