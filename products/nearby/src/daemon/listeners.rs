//! Who listens to what is told, and what each of them missed.

use api::Feed;

use super::wire::Said;

/// All who listen.
#[derive(Default)]
pub struct Listeners(Vec<Listener>);

struct Listener {
    feed: Feed,
    /// What was told while it did not take it, so many.
    missed: u64,
}

impl Listener {
    /// Whoever takes too little for a while is told so when it takes more.
    fn tell(&mut self, line: &[u8]) -> bool {
        if self.missed > 0 {
            let missed = Said::Missed { count: self.missed };
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
    /// One more listens.
    pub fn add(&mut self, feed: Feed) {
        self.0.push(Listener { feed, missed: 0 });
    }

    /// All are told a line.
    pub fn tell(&mut self, line: &[u8]) {
        for one in &mut self.0 {
            if !one.tell(line) {
                one.missed += 1;
            }
        }
    }

    /// All are told that there is nothing to be told.
    pub fn beat(&mut self) {
        for one in &mut self.0 {
            one.tell(b"\n");
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().filter(|it| !it.feed.is_gone()).count()
    }

    /// Those who went away are forgotten.
    pub fn sweep(&mut self) {
        self.0.retain(|it| !it.feed.is_gone());
    }
}
