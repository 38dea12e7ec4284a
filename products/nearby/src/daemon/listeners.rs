//! Listeners of the event stream, with the number of events that each missed.

use api::StreamSender;

use super::wire::Notification;

/// All listeners.
#[derive(Default)]
pub struct Listeners(Vec<Listener>);

struct Listener {
    feed: StreamSender,
    /// Number of events missed while the listener was too slow.
    missed: u64,
}

impl Listener {
    /// Offers a line, after a notice of missed events if there are any.
    fn tell(&mut self, line: &[u8]) -> bool {
        if self.missed > 0 {
            let missed = Notification::Missed { count: self.missed };
            let mut line = serde_json::to_vec(&missed).unwrap_or_default();
            line.push(b'\n');
            if !self.feed.offer(&line) {
                return false;
            }
            self.missed = 0;
        }
        self.feed.offer(line)
    }
}

impl Listeners {
    /// Adds a listener.
    pub fn add(&mut self, feed: StreamSender) {
        self.0.push(Listener { feed, missed: 0 });
    }

    /// Sends a line to all listeners.
    pub fn tell(&mut self, line: &[u8]) {
        for one in &mut self.0 {
            if !one.tell(line) {
                one.missed += 1;
            }
        }
    }

    /// Sends an empty line to all listeners.
    pub fn beat(&mut self) {
        for one in &mut self.0 {
            one.tell(b"\n");
        }
    }

    /// Returns the number of listeners.
    pub fn count(&self) -> usize {
        self.0.iter().filter(|it| !it.feed.is_gone()).count()
    }

    /// Removes listeners that have left.
    pub fn sweep(&mut self) {
        self.0.retain(|it| !it.feed.is_gone());
    }
}
