//! A path with what waits for it and what is to be told of it.

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::body::{Answer, Body, Hello, Micros};
use super::datagram::LONGEST;
use super::path::{Path, State};
use super::proof::Proof;
use super::queue::Queue;
use super::schedule::View;
use super::{OVERHEAD, PathSettings};

/// Answers that wait to be sent, at most.
const MOST_ANSWERS: usize = 8;
/// Ranks by what a path costs lie below those by how it fares.
const METERED: u8 = 1;
const BACKUP: u8 = 2;
const FARES_BADLY: u8 = 3;

/// A probe that is to be answered.
#[derive(Debug)]
struct Asked {
    /// Where it came from, and the answer goes.
    from: SocketAddr,
    stamp: Micros,
    came: Micros,
    packets: u64,
    octets: u64,
}

pub(super) struct Slot {
    pub path: Path,
    pub queue: Queue,
    pub settings: PathSettings,
    /// Number of the last hello: that was made, or that was received.
    pub hello: u8,
    /// The router's: the number that the partner knows.
    known: Option<u8>,
    tells: bool,
    asks: bool,
    probe: bool,
    answers: VecDeque<Asked>,
    /// The partner's: whether the router is where it says.
    pub proof: Proof,
    /// The router's: what it was asked to show that it is where it sends from.
    shows: Option<u64>,
    /// What is still to be said, `true` for the whole session.
    pub bye: Option<bool>,
}

impl Slot {
    /// `asks`: at the router, which tells the partner of the path.
    pub fn new(settings: PathSettings, hello: u8, asks: bool, now: Micros) -> Slot {
        Slot {
            path: Path::new(settings.metered, asks, settings.rate_out, now),
            queue: Queue::default(),
            settings,
            hello,
            known: None,
            tells: false,
            asks,
            probe: false,
            answers: VecDeque::new(),
            // The router was told where the partner is.
            proof: Proof::new(asks),
            shows: None,
            bye: None,
        }
    }

    /// Largest packet that fits, bytes.
    pub fn mtu(&self) -> usize {
        usize::from(self.settings.longest)
            .min(LONGEST)
            .saturating_sub(OVERHEAD)
    }

    /// What the scheduler is shown, if the path can be used.
    pub fn view(&self, path: u8, now: Micros) -> Option<View> {
        let suspect = match self.path.state() {
            State::Up => false,
            State::Suspect => true,
            State::New | State::Down => return None,
        };
        if self.bye.is_some() || !self.proof.is_there() {
            return None;
        }
        let cost = match (self.settings.backup, self.settings.metered) {
            (true, _) => BACKUP,
            (false, true) => METERED,
            (false, false) => 0,
        };
        let badly = suspect || self.path.is_poor(now);
        let pace = self.path.capacity.pace(now);
        Some(View {
            path,
            rank: cost + u8::from(badly) * FARES_BADLY,
            suspect,
            rate: self.path.capacity.rate(),
            weight: self.settings.weight,
            backlog: self.queue.octets().saturating_mul(1_000_000) / pace.max(1),
            ready: self.queue.ready(pace),
            lag: self.path.out.last(),
            varies: self.path.out.varies(),
        })
    }

    /// Other settings for the same path.
    pub fn settle(&mut self, settings: PathSettings, hello: u8) {
        self.settings = settings;
        self.hello = hello;
        self.path.settle(settings.metered, settings.rate_out);
    }

    /// A probe is to be sent; with the hello, until the partner knows it.
    pub fn ask(&mut self) {
        self.probe = true;
        self.tells = self.asks && self.known != Some(self.hello);
    }

    /// The partner knows a hello.
    pub fn knows(&mut self, hello: u8) {
        self.known = Some(hello);
    }

    /// The router is to show that it is where it sends from.
    pub fn shows(&mut self, value: u64) {
        self.shows = Some(value);
    }

    /// A probe came.
    pub fn asked(&mut self, stamp: Micros, from: SocketAddr, now: Micros) {
        if self.answers.len() == MOST_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back(Asked {
            from,
            stamp,
            came: now,
            packets: self.path.received.packets,
            octets: self.path.received.octets,
        });
    }

    /// Whether something is to be said at once.
    pub fn speaks(&self) -> bool {
        let shows = self.shows.is_some() || self.proof.asks();
        shows || self.tells || self.probe || self.bye.is_some() || !self.answers.is_empty()
    }

    /// What is to be said next, but for packets, and where. `shared`: how long packets waited for
    /// all paths till now, microseconds in all.
    pub fn control(&mut self, shared: Micros, now: Micros) -> Option<(Body<'static>, SocketAddr)> {
        if let Some((value, to)) = self.proof.ask() {
            return Some((Body::Challenge(value), to));
        }
        if let Some(value) = self.shows.take() {
            return Some((Body::Response(value), self.settings.remote));
        }
        if let Some(asked) = self.answers.pop_front() {
            let answer = Body::Answer(Answer {
                stamp: asked.stamp,
                came: asked.came,
                waited: u32::try_from(now.saturating_sub(asked.came)).unwrap_or(u32::MAX),
                packets: asked.packets,
                octets: asked.octets,
                hello: self.hello,
            });
            return Some((answer, asked.from));
        }
        Some((self.says(shared, now)?, self.settings.remote))
    }

    /// The part of it that goes to where the other end is known to be.
    fn says(&mut self, shared: Micros, now: Micros) -> Option<Body<'static>> {
        if std::mem::take(&mut self.tells) {
            return Some(Body::Hello(Hello {
                number: self.hello,
                backup: self.settings.backup,
                metered: self.settings.metered,
                weight: self.settings.weight,
                longest: self.settings.longest,
                rate: self.settings.rate_in.unwrap_or(0),
            }));
        }
        if std::mem::take(&mut self.probe) {
            let full = self.queue.line.full(now) + shared;
            return Some(Body::Probe(self.path.probe(full, now)));
        }
        self.bye.map(|all| Body::Bye { all })
    }

    /// When it may send again, if not yet.
    pub fn ready(&self, now: Micros) -> Option<Micros> {
        let pace = self.path.capacity.pace(now);
        Some(self.queue.ready(pace)).filter(|ready| *ready > now)
    }

    /// When there is something to do.
    pub fn next(&self, now: Micros) -> Option<Micros> {
        if self.speaks() {
            return Some(now);
        }
        let queue = self.queue.next(self.path.capacity.pace(now));
        [self.path.next(now), queue].into_iter().flatten().min()
    }

    /// What a hello says of the path, as the partner uses it.
    pub fn told(hello: &Hello, from: SocketAddr) -> PathSettings {
        let rate = |rate: u64| (rate != 0).then_some(rate);
        PathSettings {
            remote: from,
            longest: hello.longest,
            weight: hello.weight,
            backup: hello.backup,
            metered: hello.metered,
            rate_out: rate(hello.rate),
            rate_in: None,
        }
    }
}
