//! The highest rate at which nothing is lost (RFC 2544 section 26.1): up by doubling, then by
//! halving the gap.

use serde::{Deserialize, Serialize};

use super::judge::{Judgement, Seen};

/// The gap between a rate that passed and one that did not, at which it is good enough.
pub const RESOLUTION: f64 = 0.02;
/// Trials, at most, those that have to be made again included.
pub const MOST_TRIALS: u32 = 40;
/// The rate of the first trial.
pub const FIRST: f64 = 10_000.0;
/// Nobody needs to know of less.
const LEAST: f64 = 100.0;
/// A trial that says nothing is made so often.
const AGAIN: u32 = 3;

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Between what passed and what lost is no more than the resolution.
    Found,
    /// What was asked for, or what the link carries, passed: there is no more to try.
    Top,
    /// The sender sends no faster: the router forwards at least that.
    SenderLimit,
    /// The receiver takes no more: the router forwards at least that.
    ReceiverLimit,
    /// Even the least was lost.
    Nothing,
    /// A link is not there all the time.
    LinkFlapped,
    /// So many trials, and no end.
    Trials,
}

/// The search.
#[derive(Clone, Debug)]
pub struct Search {
    /// The highest rate at which all is well, as it was sent.
    low: Option<f64>,
    /// The lowest at which it is not.
    high: Option<f64>,
    top: f64,
    next: f64,
    trials: u32,
    again: u32,
    end: Option<End>,
}

impl Search {
    /// Up to a rate.
    pub fn new(top: f64) -> Self {
        Self {
            low: None,
            high: None,
            top,
            next: FIRST.min(top),
            trials: 0,
            again: 0,
            end: None,
        }
    }

    /// The rate to try. `None`: it ended.
    pub fn next(&self) -> Option<f64> {
        self.end.is_none().then_some(self.next)
    }

    /// What came of it, and the rate that was really sent at.
    pub fn told(&mut self, seen: &Seen, sent: f64) {
        self.trials += 1;
        match seen.judge() {
            Judgement::Passed => {
                self.again = 0;
                self.low = Some(self.low.unwrap_or(0.0).max(sent));
                match self.high {
                    None if self.next >= self.top => self.end = Some(End::Top),
                    None => self.next = (self.next * 2.0).min(self.top),
                    Some(_) => self.halve(),
                }
            }
            Judgement::Lost => self.lost(self.next),
            judgement => {
                // Something else may have wanted the machine, once.
                self.again += 1;
                if self.again >= AGAIN {
                    self.give_up(judgement, seen, sent);
                }
            }
        }
        if self.end.is_none() && self.trials >= MOST_TRIALS {
            self.end = Some(End::Trials);
        }
    }

    fn give_up(&mut self, judgement: Judgement, seen: &Seen, sent: f64) {
        let below = self.low.is_none_or(|low| sent > low);
        match judgement {
            // What it did send was lost: there is something to be found below.
            Judgement::SenderLimit if seen.lost_too_many() && below => self.lost(sent),
            Judgement::SenderLimit => {
                if !seen.lost_too_many() && seen.receiver_dropped == 0 && seen.sent > 0 && below {
                    self.low = Some(sent);
                }
                self.end = Some(End::SenderLimit);
            }
            Judgement::ReceiverLimit => self.end = Some(End::ReceiverLimit),
            _ => self.end = Some(End::LinkFlapped),
        }
    }

    fn lost(&mut self, rate: f64) {
        self.again = 0;
        self.high = Some(self.high.map_or(rate, |high| high.min(rate)));
        self.halve();
    }

    fn halve(&mut self) {
        let high = self.high.unwrap_or(self.top);
        let low = self.low.unwrap_or(0.0);
        if self.low.is_some() && high - low <= high * RESOLUTION {
            self.end = Some(End::Found);
        } else if high <= LEAST {
            self.end = Some(End::Nothing);
        } else {
            self.next = match self.low {
                Some(low) => (low + high) / 2.0,
                // Nothing passed so far: quicker.
                None => (high / 4.0).max(LEAST / 2.0),
            };
        }
    }

    /// The highest rate that passed so far.
    pub fn found(&self) -> Option<f64> {
        self.low
    }

    /// Why it ended.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Trials so far.
    pub fn trials(&self) -> u32 {
        self.trials
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A router and the machines at its ends, as packets per second that each can do.
    struct World {
        router: f64,
        sender: f64,
        receiver: f64,
        random: u64,
        /// Once in so many trials something else wants the sender's processor.
        hiccup: u64,
        flaps: bool,
    }

    const WORLD: World = World {
        router: 1e9,
        sender: 1e9,
        receiver: 1e9,
        random: 1,
        hiccup: u64::MAX,
        flaps: false,
    };

    impl World {
        fn trial(&mut self, rate: f64) -> (Seen, f64) {
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let noise = 1.0 + ((self.random >> 33) % 1000) as f64 / 1e5 - 0.005;
            let mut sent = rate.min(self.sender) * 0.999;
            if (self.random >> 33).is_multiple_of(self.hiccup) {
                sent *= 0.5;
            }
            let forwarded = sent.min(self.router * noise);
            let received = forwarded.min(self.receiver);
            let seen = Seen {
                asked: rate * 2.0,
                sent: (sent * 2.0) as u64,
                received: (received * 2.0) as u64,
                receiver_dropped: ((forwarded - received) * 2.0).ceil() as u64,
                flapped: self.flaps,
                allowed: 0.0,
            };
            (seen, sent)
        }

        fn search(mut self, top: f64) -> Search {
            let mut search = Search::new(top);
            while let Some(rate) = search.next() {
                assert!(rate <= top && rate > 0.0);
                let (seen, sent) = self.trial(rate);
                search.told(&seen, sent);
            }
            assert!(search.trials() <= MOST_TRIALS);
            search
        }
    }

    #[test]
    fn finds_the_router_whatever_it_does() {
        for router in [
            150.0,
            1234.0,
            9_999.0,
            20_000.0,
            148_809.0,
            812_000.0,
            5_000_000.0,
        ] {
            for random in 1..20 {
                let world = World {
                    router,
                    random,
                    hiccup: 50,
                    ..WORLD
                };
                let search = world.search(20e6);
                assert_eq!(search.end(), Some(End::Found), "{router}");
                let found = search.found().expect("a rate");
                assert!(
                    (0.965..1.01).contains(&(found / router)),
                    "{found} of {router}"
                );
            }
        }
    }

    #[test]
    fn a_slow_sender_is_never_taken_for_a_slow_router() {
        let world = World {
            sender: 300_000.0,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!(search.end(), Some(End::SenderLimit));
        let found = search.found().expect("a rate");
        assert!((295_000.0..300_000.0).contains(&found), "at least {found}");
        // It loses at what the sender reaches: there is a figure below.
        let world = World {
            sender: 300_000.0,
            router: 250_000.0,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!(search.end(), Some(End::Found));
        let found = search.found().expect("a rate");
        assert!((240_000.0..252_000.0).contains(&found), "{found}");
    }

    #[test]
    fn a_slow_receiver_is_never_taken_for_a_slow_router() {
        let world = World {
            receiver: 300_000.0,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!(search.end(), Some(End::ReceiverLimit));
        assert!(search.found().is_some_and(|found| found < 300_000.0));
    }

    #[test]
    fn ends_at_what_the_link_carries() {
        let search = WORLD.search(148_809.0);
        assert_eq!(search.end(), Some(End::Top));
        assert!(search.found().is_some_and(|found| found > 148_000.0));
        assert!(search.trials() <= 6);
    }

    #[test]
    fn nothing_gets_through() {
        let world = World {
            router: 0.0,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!((search.end(), search.found()), (Some(End::Nothing), None));
        let world = World {
            flaps: true,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!(
            (search.end(), search.found()),
            (Some(End::LinkFlapped), None)
        );
    }
}
