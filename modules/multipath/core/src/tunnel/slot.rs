//! A path with its queue and its pending messages.

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::body::{Answer, Body, Hello, Micros};
use super::datagram::LONGEST;
use super::path::{Path, State};
use super::proof::Proof;
use super::queue::Queue;
use super::schedule::View;
use super::{OVERHEAD, PathSettings};

/// Most answers that wait to be sent.
const MOST_ANSWERS: usize = 8;
/// Ranks by cost are below those by health.
const METERED: u8 = 1;
const BACKUP: u8 = 2;
const FARES_BADLY: u8 = 3;

/// A probe to answer.
#[derive(Debug)]
struct Asked {
    /// Source address, which receives the answer.
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
    /// Number of the last hello that was sent or received.
    pub hello: u8,
    /// At the router: hello that the partner knows.
    known: Option<u8>,
    tells: bool,
    asks: bool,
    probe: bool,
    answers: VecDeque<Asked>,
    /// At the partner: proof of the router's address.
    pub proof: Proof,
    /// At the router: challenge to answer.
    shows: Option<u64>,
    /// Pending bye, `true` for the whole session.
    pub bye: Option<bool>,
}

impl Slot {
    /// Creates a slot. `asks`: at the router, which announces the path.
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
            // The router has the partner's address from its settings.
            proof: Proof::new(asks),
            shows: None,
            bye: None,
        }
    }

    /// Returns the size of the largest packet that fits, bytes.
    pub fn mtu(&self) -> usize {
        usize::from(self.settings.longest)
            .min(LONGEST)
            .saturating_sub(OVERHEAD)
    }

    /// Returns the scheduler's view, if the path can be used.
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

    /// Changes settings of the path.
    pub fn settle(&mut self, settings: PathSettings, hello: u8) {
        self.settings = settings;
        self.hello = hello;
        self.path.settle(settings.metered, settings.rate_out);
    }

    /// Schedules a probe; with the hello, until the partner knows it.
    pub fn ask(&mut self) {
        self.probe = true;
        self.tells = self.asks && self.known != Some(self.hello);
    }

    /// Notes that the partner knows a hello.
    pub fn knows(&mut self, hello: u8) {
        self.known = Some(hello);
    }

    /// Schedules the answer to a challenge.
    pub fn shows(&mut self, value: u64) {
        self.shows = Some(value);
    }

    /// Schedules the answer to a probe.
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

    /// Returns true if a message is to be sent at once.
    pub fn speaks(&self) -> bool {
        let shows = self.shows.is_some() || self.proof.asks();
        shows || self.tells || self.probe || self.bye.is_some() || !self.answers.is_empty()
    }

    /// Takes the next message, and its destination. `shared`: total time that packets waited for
    /// all paths so far, microseconds.
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

    /// Takes a message to the proved address of the other end.
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

    /// Returns the time at which the path may send again, if not yet.
    pub fn ready(&self, now: Micros) -> Option<Micros> {
        let pace = self.path.capacity.pace(now);
        Some(self.queue.ready(pace)).filter(|ready| *ready > now)
    }

    /// Returns the time of the next work.
    pub fn next(&self, now: Micros) -> Option<Micros> {
        if self.speaks() {
            return Some(now);
        }
        let queue = self.queue.next(self.path.capacity.pace(now));
        [self.path.next(now), queue].into_iter().flatten().min()
    }

    /// Returns a path's settings at the partner, from a hello.
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
