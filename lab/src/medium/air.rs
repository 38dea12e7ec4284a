//! The air between radios: who may send when, and what comes of it. Pure: `(frame, now) → actions`;
//! times are ns since it began, chance comes from a seed.
//!
//! Channel access is that of IEEE 802.11-2020, 10.3 and 10.23.2 (EDCA), by events: a radio sends
//! when the channel was idle for its interframe space and the slots that it drew; another in the
//! same slot collides with it.

use std::collections::HashMap;

use kernel::Mac;
use kernel::hwsim::{RATES, Rate as Told, Sent};

use super::counts::Counts;
use super::queue::{CATEGORIES, Waiting, address, release, subframe, together};
use super::radio::{Radio, spaces};
use super::rate::Rate;
use super::reception::milliwatts;
use super::scene::Scene;
use super::spectrum::{Signal, Source, Spectrum};

/// How long it takes to notice that somebody sends, ns (17.4.4).
const NOTICE: u64 = 4000;
/// Nothing lasts longer: 2,304 octets with 1 Mbit/s take 19 ms.
const LONGEST: u64 = 25_000_000;
/// Addresses of radios that are remembered.
const MOST_ADDRESSES: usize = 1024;

/// Octets with check sums: RTS, CTS and acknowledgement (9.3.1.2 to 4), compressed block
/// acknowledgement (9.3.1.8.2).
const RTS: usize = 20;
const CTS: usize = 14;
const ACKNOWLEDGEMENT: usize = 14;
const BLOCK_ACKNOWLEDGEMENT: usize = 32;

/// What the medium says to radios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// What became of a frame of a radio.
    Told {
        /// By its number.
        radio: usize,
        /// That of the frame.
        cookie: u64,
        /// Those of the frame, and whether it was acknowledged.
        flags: u32,
        /// How often it was tried with each rate.
        rates: [Told; RATES],
        /// Of the acknowledgement, dBm.
        signal: i32,
    },
    /// A frame was understood.
    Heard {
        /// By these, each with its signal, dBm.
        hearers: Vec<(usize, i32)>,
        /// The frame.
        frame: Vec<u8>,
        /// Index of its rate among those of the band.
        rate: u32,
        /// Its channel's centre, MHz.
        frequency: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Rts,
    Cts,
    Data,
    Acknowledgement,
}

/// One that goes on.
#[derive(Debug)]
struct Exchange {
    sender: usize,
    /// Who answers, if anybody has this address.
    receiver: Option<usize>,
    category: usize,
    /// Where its frames are in the queue.
    frames: Vec<usize>,
    /// Which of them were understood.
    understood: Vec<bool>,
    rate: Rate,
    answers: Rate,
    frequency: u32,
    part: Part,
    /// Whether the part is yet to begin.
    waits: bool,
    /// Whether the receiver takes part in it, and in no other.
    holds: bool,
    /// When it begins or ends, ns.
    until: u64,
}

impl Exchange {
    fn acknowledgement(&self) -> u64 {
        self.answers.airtime(match self.frames.len() {
            1 => ACKNOWLEDGEMENT,
            _ => BLOCK_ACKNOWLEDGEMENT,
        })
    }
}

/// All of it.
#[derive(Debug)]
pub struct Air {
    spectrum: Spectrum,
    radios: Vec<Radio>,
    addresses: HashMap<Mac, usize>,
    exchanges: Vec<Exchange>,
    /// When each interferer begins next.
    noises: Vec<u64>,
    now: u64,
}

impl Air {
    /// Nothing on the air yet.
    pub fn new(scene: Scene, seed: u64) -> Self {
        Self {
            noises: vec![0; scene.interferers.len()],
            spectrum: Spectrum::new(scene, seed),
            radios: Vec::new(),
            addresses: HashMap::new(),
            exchanges: Vec::new(),
            now: 0,
        }
    }

    /// Adds a radio, which is at the place of this name (at none: at 0, 0), and has this address.
    /// Others are learned from what it sends. Gives its number.
    pub fn join(&mut self, name: &str, mac: Mac) -> usize {
        let radio = self.radios.len();
        self.addresses.insert(mac, radio);
        self.radios.push(Radio::new());
        self.spectrum.join(name);
        radio
    }

    /// The scene.
    pub fn scene(&self) -> &Scene {
        self.spectrum.scene()
    }

    /// Changes the scene, from now on.
    pub fn change(&mut self, change: impl FnOnce(&mut Scene)) {
        change(self.spectrum.scene_mut());
        let interferers = self.scene().interferers.len();
        self.noises.resize(interferers, self.now);
        self.sense(self.now);
    }

    /// A radio sends with this from now on, dBm.
    pub fn set_power(&mut self, radio: usize, power: f64) {
        self.radios[radio].power = power;
    }

    /// What each radio did, by its number.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        let counts = self.radios.iter().map(|radio| radio.counts);
        self.spectrum.radios().zip(counts)
    }

    /// When something happens next, if nobody sends before; ns.
    pub fn next(&self) -> Option<u64> {
        let ends = self.exchanges.iter().map(|exchange| exchange.until);
        let fires = self.radios.iter().filter_map(Radio::fires);
        let passing = |signal: &&Signal| matches!(signal.by, Source::Interferer(_));
        let signals = self.spectrum.signals().iter().filter(passing);
        let quiet = signals.map(|signal| signal.to).filter(|to| *to > self.now);
        let loud = self.noises.iter().copied();
        ends.chain(fires).chain(quiet).chain(loud).min()
    }

    /// A radio has a frame to send.
    pub fn send(&mut self, radio: usize, sent: Sent, now: u64, out: &mut Vec<Action>) {
        self.advance(now, out);
        // Acknowledgements have no second address.
        let from = address(&sent.frame, 10);
        if from != Mac::default() && self.addresses.len() < MOST_ADDRESSES {
            self.addresses.insert(from, radio);
        }
        let at = &mut self.radios[radio];
        at.frequency = Some(sent.frequency);
        at.counts.frames += 1;
        at.give_up();
        let frame = Waiting::new(sent, now);
        at.queues[frame.category()].push_back(frame);
        if at.slots == 0 && !at.engaged && (at.busy || at.reserved > now) {
            self.draw(radio, self.radios[radio].turn().unwrap_or_default());
        }
        self.advance(now, out);
    }

    /// All that happens until now.
    pub fn advance(&mut self, now: u64, out: &mut Vec<Action>) {
        while let Some(at) = self.next().filter(|at| *at <= now) {
            let at = at.max(self.now);
            self.now = at;
            self.step(at, out);
        }
        self.now = self.now.max(now);
    }

    fn step(&mut self, at: u64, out: &mut Vec<Action>) {
        while let Some(index) = self.exchanges.iter().position(|e| e.until <= at) {
            let exchange = self.exchanges.swap_remove(index);
            self.go_on(exchange, at, out);
        }
        for index in 0..self.noises.len() {
            if self.noises[index] <= at {
                self.disturb(index, at);
            }
        }
        self.spectrum.forget(at, LONGEST);
        self.sense(at);
        // All that send in this slot; the first is not heard by the others in time.
        let radios = 0..self.radios.len();
        let first = |radio: &usize| self.radios[*radio].fires().is_some_and(|t| t <= at);
        if radios.clone().any(|radio| first(&radio)) {
            let soon = |radio: &usize| {
                let fires = self.radios[*radio].fires();
                fires.is_some_and(|fires| fires <= at + NOTICE)
            };
            for radio in radios.filter(soon).collect::<Vec<_>>() {
                self.begin(radio, at);
            }
            self.sense(at);
        }
    }

    /// An interferer begins.
    fn disturb(&mut self, index: usize, at: u64) {
        let interferer = self.scene().interferers[index];
        let period = (interferer.period.max(0.1) * 1e6) as u64;
        self.noises[index] = at + period;
        let loud = (period as f64 * interferer.duty.clamp(0.0, 1.0)) as u64;
        self.spectrum.add(Signal {
            by: Source::Interferer(index),
            frequency: None,
            at: interferer.at,
            power: interferer.power,
            from: at,
            to: at + loud,
        });
    }

    /// Who hears now that somebody sends.
    fn sense(&mut self, at: u64) {
        for radio in 0..self.radios.len() {
            let mut signals = self.spectrum.signals().iter();
            let busy = signals.any(|signal| self.notices(radio, signal, at));
            let this = &mut self.radios[radio];
            if this.busy && !busy {
                this.is_alone(at);
            } else if busy && !this.busy {
                this.is_disturbed(at);
                if this.slots == 0 && !this.engaged {
                    // It may not send at once when the channel is idle again.
                    let category = this.turn();
                    category.into_iter().for_each(|of| self.draw(radio, of));
                }
            }
        }
    }

    fn notices(&self, radio: usize, signal: &Signal, at: u64) -> bool {
        if signal.from > at || signal.to <= at {
            return false;
        }
        if signal.by == Source::Radio(radio) {
            return true;
        }
        let this = &self.radios[radio];
        let frequency = this.head().map(|frame| frame.sent.frequency);
        let frequency = frequency.or(this.frequency);
        if signal.frequency.is_some() && signal.frequency != frequency {
            return false;
        }
        let least = match signal.by {
            Source::Radio(_) => self.scene().busy,
            Source::Interferer(_) => self.scene().busy_by_energy,
        };
        self.spectrum
            .level(radio, signal, frequency.unwrap_or(2412))
            >= least
    }

    /// Whose address this is.
    fn whose(&self, mac: &Mac) -> Option<usize> {
        self.addresses.get(mac).copied()
    }

    /// Draws slots anew, from the window of a category.
    fn draw(&mut self, radio: usize, category: usize) {
        let window = self.radios[radio].windows[category] as usize;
        self.radios[radio].slots = self.spectrum.draw(0, window) as u64;
    }

    /// Puts a signal of a radio on the air, and gives when it ends.
    fn radiate(&mut self, radio: usize, frequency: u32, at: u64, time: u64) -> u64 {
        let power = self.radios[radio].power;
        let others = self.spectrum.signals().iter().filter(|other| {
            matches!(other.by, Source::Radio(_)) && other.frequency == Some(frequency)
        });
        let over = others
            .map(|other| other.to.saturating_sub(at))
            .max()
            .unwrap_or_default();
        self.spectrum.add(Signal {
            by: Source::Radio(radio),
            frequency: Some(frequency),
            at: self.spectrum.place(radio),
            power,
            from: at,
            to: at + time,
        });
        let counts = &mut self.radios[radio].counts;
        counts.airtime += time;
        counts.over_others += over.min(time);
        counts.energy += milliwatts(power) * time as f64 / 1e9;
        at + time
    }

    /// Frees what was told, in order.
    fn release(&mut self, radio: usize, category: usize, out: &mut Vec<Action>) {
        release(&mut self.radios[radio].queues[category], out);
    }

    /// A radio takes the air.
    fn begin(&mut self, radio: usize, at: u64) {
        let this = &self.radios[radio];
        let Some(category) = this.turn() else { return };
        let queue = &this.queues[category];
        let Some(first) = queue.iter().find(|frame| !frame.done) else {
            return;
        };
        let frequency = first.sent.frequency;
        let told = *first.rate();
        let slowest = || Rate::legacy(0, frequency);
        let Some(rate) = Rate::of(&told, frequency).or_else(slowest) else {
            return;
        };
        let asks = told.flags & kernel::hwsim::USE_RTS != 0 && first.is_acknowledged();
        let frames = together(queue, category, &rate, self.scene().aggregate);
        let receiver = self.whose(&first.to()).filter(|to| *to != radio);
        // A radio on another channel hears nothing.
        let there = |to: &usize| self.radios[*to].frequency.is_none_or(|is| is == frequency);
        let exchange = Exchange {
            sender: radio,
            receiver: receiver.filter(there),
            category,
            understood: vec![false; frames.len()],
            frames,
            rate,
            answers: rate.of_answers(frequency),
            frequency,
            part: if asks { Part::Rts } else { Part::Data },
            waits: true,
            holds: false,
            until: at,
        };
        let this = &mut self.radios[radio];
        this.engaged = true;
        this.counts.exchanges += 1;
        self.put_on_air(exchange, at);
    }

    /// The time for it came: a part begins, or is over.
    fn go_on(&mut self, exchange: Exchange, at: u64, out: &mut Vec<Action>) {
        if exchange.waits {
            return self.put_on_air(exchange, at);
        }
        match exchange.part {
            Part::Rts => self.asked(exchange, at, out),
            Part::Cts => self.granted(exchange, at, out),
            Part::Data => self.arrived(exchange, at, out),
            Part::Acknowledgement => self.acknowledged(exchange, at, out),
        }
    }

    fn put_on_air(&mut self, mut exchange: Exchange, at: u64) {
        let answerer = exchange.receiver.unwrap_or(exchange.sender);
        let (by, time) = match exchange.part {
            Part::Rts => (exchange.sender, exchange.answers.airtime(RTS)),
            Part::Cts => (answerer, exchange.answers.airtime(CTS)),
            Part::Data => (exchange.sender, self.data(&exchange)),
            Part::Acknowledgement => (answerer, exchange.acknowledgement()),
        };
        exchange.waits = false;
        exchange.until = self.radiate(by, exchange.frequency, at, time);
        self.exchanges.push(exchange);
    }

    /// How long its frames are on the air, ns.
    fn data(&self, exchange: &Exchange) -> u64 {
        let queue = &self.radios[exchange.sender].queues[exchange.category];
        let octets = match exchange.frames.as_slice() {
            [only] => queue[*only].octets(),
            several => several.iter().map(|at| subframe(&queue[*at])).sum(),
        };
        exchange.rate.airtime(octets)
    }

    fn next_part(&mut self, mut exchange: Exchange, part: Part, at: u64) {
        if let Some(receiver) = exchange.receiver {
            exchange.holds = true;
            self.radios[receiver].engaged = true;
        }
        exchange.part = part;
        exchange.waits = true;
        exchange.until = at + spaces(exchange.frequency).0;
        self.exchanges.push(exchange);
    }

    fn asked(&mut self, exchange: Exchange, at: u64, out: &mut Vec<Action>) {
        let sifs = spaces(exchange.frequency).0;
        let answer = exchange.answers.airtime(CTS);
        let rest = 3 * sifs + answer + self.data(&exchange) + exchange.acknowledgement();
        let signal = self.spectrum.signal_of(exchange.sender, at);
        self.reserve(&exchange, signal, RTS, at + rest);
        let free = |to: &usize| !self.radios[*to].engaged && self.radios[*to].reserved <= at;
        let receiver = exchange.receiver.filter(free);
        let rate = exchange.answers;
        match receiver.filter(|to| {
            self.spectrum
                .understands(*to, &signal, &rate, RTS)
                .is_some()
        }) {
            Some(_) => self.next_part(exchange, Part::Cts, at),
            None => self.unanswered(exchange, at, out),
        }
    }

    fn granted(&mut self, exchange: Exchange, at: u64, out: &mut Vec<Action>) {
        let sifs = spaces(exchange.frequency).0;
        let rest = 2 * sifs + self.data(&exchange) + exchange.acknowledgement();
        let Some(receiver) = exchange.receiver else {
            return self.unanswered(exchange, at, out);
        };
        let signal = self.spectrum.signal_of(receiver, at);
        self.reserve(&exchange, signal, CTS, at + rest);
        let rate = exchange.answers;
        match self
            .spectrum
            .understands(exchange.sender, &signal, &rate, CTS)
        {
            Some(_) => self.next_part(exchange, Part::Data, at),
            None => self.unanswered(exchange, at, out),
        }
    }

    /// The frames are over: who understood which of them?
    fn arrived(&mut self, mut exchange: Exchange, at: u64, out: &mut Vec<Action>) {
        let signal = self.spectrum.signal_of(exchange.sender, at);
        let queue = &self.radios[exchange.sender].queues[exchange.category];
        let first = &queue[exchange.frames[0]];
        let (answered, group) = (first.is_acknowledged(), first.sent.frame[4] & 1 == 1);
        let octets: Vec<usize> = exchange
            .frames
            .iter()
            .map(|at| queue[*at].octets())
            .collect();
        let total: u64 = octets.iter().map(|octets| *octets as u64).sum();
        self.radios[exchange.sender].counts.tries += octets.len() as u64;
        let everybody = group || self.scene().overhear;
        let rest = spaces(exchange.frequency).0 + exchange.acknowledgement();
        let begins = (signal.from + exchange.rate.preamble()).min(at);
        for radio in 0..self.radios.len() {
            let is_receiver = exchange.receiver == Some(radio);
            if radio == exchange.sender {
                continue;
            }
            // One whose CTS asked for it is engaged, and listens.
            let fade = self.spectrum.fade();
            let Some(level) = self.spectrum.detects(radio, &signal, &exchange.rate, fade) else {
                continue;
            };
            let mut any = false;
            let mut so_far = 0;
            for (index, octets) in octets.iter().enumerate() {
                let part = |octets: u64| begins + (at - begins) * octets / total.max(1);
                let from = part(so_far);
                so_far += *octets as u64;
                let span = (from, part(so_far));
                let bits = *octets as f64 * 8.0;
                if !self
                    .spectrum
                    .survives(radio, &signal, &exchange.rate, level, span, bits)
                {
                    continue;
                }
                any = true;
                if is_receiver {
                    exchange.understood[index] = true;
                }
                if is_receiver || everybody {
                    self.hears(&exchange, index, radio, level);
                }
            }
            if any && answered && !is_receiver {
                let reserved = &mut self.radios[radio].reserved;
                *reserved = (*reserved).max(at + rest);
            }
        }
        // One that waits for another's answer itself does not answer.
        let free = |to: &usize| exchange.holds || !self.radios[*to].engaged;
        let answers = exchange.receiver.filter(free).is_some();
        if !answered {
            exchange.understood.fill(true);
            self.over(exchange, Some(0), at, out);
        } else if answers && exchange.understood.contains(&true) {
            self.next_part(exchange, Part::Acknowledgement, at);
        } else {
            self.unanswered(exchange, at, out);
        }
    }

    /// A radio understood a frame: it has it once, however often it is sent.
    fn hears(&mut self, exchange: &Exchange, index: usize, radio: usize, level: f64) {
        let shown = exchange.rate.shown(exchange.frequency);
        let queue = &mut self.radios[exchange.sender].queues[exchange.category];
        let frame = &mut queue[exchange.frames[index]];
        if frame.heard.iter().any(|(by, _)| *by == radio) {
            return;
        }
        frame.heard.push((radio, whole(level)));
        frame.shown = shown;
        self.radios[radio].counts.heard += 1;
    }

    fn acknowledged(&mut self, exchange: Exchange, at: u64, out: &mut Vec<Action>) {
        let Some(receiver) = exchange.receiver else {
            return self.unanswered(exchange, at, out);
        };
        let signal = self.spectrum.signal_of(receiver, at);
        let octets = match exchange.frames.len() {
            1 => ACKNOWLEDGEMENT,
            _ => BLOCK_ACKNOWLEDGEMENT,
        };
        let rate = exchange.answers;
        match self
            .spectrum
            .understands(exchange.sender, &signal, &rate, octets)
        {
            Some(level) => self.over(exchange, Some(whole(level)), at, out),
            None => self.unanswered(exchange, at, out),
        }
    }

    /// No answer came: the sender waits for its beginning before it tries again.
    fn unanswered(&mut self, exchange: Exchange, at: u64, out: &mut Vec<Action>) {
        let (sifs, wait) = spaces(exchange.frequency);
        let sender = &mut self.radios[exchange.sender];
        sender.reserved = sender.reserved.max(at + sifs + wait);
        self.over(exchange, None, at, out);
    }

    /// It is over; `acknowledgement`: its signal, dBm.
    fn over(
        &mut self,
        exchange: Exchange,
        acknowledgement: Option<i32>,
        at: u64,
        out: &mut Vec<Action>,
    ) {
        let (sender, category) = (exchange.sender, exchange.category);
        if let Some(receiver) = exchange.receiver.filter(|_| exchange.holds) {
            self.radios[receiver].engaged = false;
        }
        let this = &mut self.radios[sender];
        this.engaged = false;
        let (least, greatest) = CATEGORIES[category].window;
        let mut ends = acknowledgement.is_some();
        for (index, place) in exchange.frames.iter().enumerate() {
            let frame = &mut this.queues[category][*place];
            if frame.done {
                continue;
            }
            let last = frame.tried();
            match acknowledgement.filter(|_| exchange.understood[index]) {
                Some(signal) => {
                    this.counts.done += 1;
                    // Of what nobody acknowledges the kernel does not look at it.
                    let signal = Some(signal).filter(|_| frame.is_acknowledged());
                    frame.tell(sender, signal, out);
                }
                None if last => {
                    this.counts.failed += 1;
                    frame.tell(sender, None, out);
                    ends = true;
                }
                None => {}
            }
        }
        let window = &mut this.windows[category];
        *window = match ends {
            true => least,
            false => (*window * 2 + 1).min(greatest),
        };
        self.draw(sender, category);
        self.release(sender, category, out);
        self.sense(at);
    }

    /// Those who understand that the channel is taken keep quiet.
    fn reserve(&mut self, exchange: &Exchange, signal: Signal, octets: usize, until: u64) {
        let rate = exchange.answers;
        for radio in 0..self.radios.len() {
            if exchange.receiver == Some(radio) || radio == exchange.sender {
                continue;
            }
            if self
                .spectrum
                .understands(radio, &signal, &rate, octets)
                .is_some()
            {
                let reserved = &mut self.radios[radio].reserved;
                *reserved = (*reserved).max(until);
            }
        }
    }
}

/// dBm as the kernel takes it.
fn whole(level: f64) -> i32 {
    level.round().clamp(-127.0, 0.0) as i32
}
