//! Channel access and its outcome between radios. Pure: `(frame, now) → actions`. Times are ns
//! since the start; random choices come from a seed.
//!
//! Channel access follows IEEE 802.11-2020, 10.3 and 10.23.2 (EDCA), by events. A radio sends when
//! the channel was idle for its interframe space and its backoff slots; radios that send in the
//! same slot collide.

use std::collections::HashMap;

use kernel::Mac;
use kernel::hwsim::{RATES, Rate as Told, TransmittedFrame};

use super::counts::Counts;
use super::queue::{CATEGORIES, QueuedFrame, address, release, subframe, together};
use super::radio::{Radio, spaces};
use super::rate::Rate;
use super::reception::milliwatts;
use super::scene::Scene;
use super::spectrum::{Signal, Source, Spectrum};

/// Time to detect a signal, ns (17.4.4).
const NOTICE: u64 = 4000;
/// Upper bound of a signal's length, ns: 2,304 bytes with 1 Mbit/s take 19 ms.
const LONGEST: u64 = 25_000_000;
/// Most addresses of radios to store.
const MOST_ADDRESSES: usize = 1024;

/// Bytes with check sums: RTS, CTS and acknowledgement (9.3.1.2 to 4), compressed block
/// acknowledgement (9.3.1.8.2).
const RTS: usize = 20;
const CTS: usize = 14;
const ACKNOWLEDGEMENT: usize = 14;
const BLOCK_ACKNOWLEDGEMENT: usize = 32;

/// An answer of the medium to radios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Status of a sent frame.
    Told {
        /// The sender's number.
        radio: usize,
        /// The frame's cookie.
        cookie: u64,
        /// The frame's flags, with `ACKNOWLEDGED` if the receiver answered.
        flags: u32,
        /// Tries with each rate.
        rates: [Told; RATES],
        /// Signal of the acknowledgement, dBm.
        signal: i32,
    },
    /// A decoded frame.
    Heard {
        /// Radios that decoded the frame, each with the signal in dBm.
        hearers: Vec<(usize, i32)>,
        /// The frame.
        frame: Vec<u8>,
        /// Index of the rate among those of the band.
        rate: u32,
        /// Centre frequency of the channel, MHz.
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

/// A frame exchange in progress.
#[derive(Debug)]
struct Exchange {
    sender: usize,
    /// Radio with the destination address, if known.
    receiver: Option<usize>,
    category: usize,
    /// Indices of the frames in the queue.
    frames: Vec<usize>,
    /// Frames that the receiver decoded.
    understood: Vec<bool>,
    rate: Rate,
    answers: Rate,
    frequency: u32,
    part: Part,
    /// True before the part begins.
    waits: bool,
    /// True while the receiver takes part in this exchange alone.
    holds: bool,
    /// Start or end of the part, ns.
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

/// The model: all radios, signals and exchanges.
#[derive(Debug)]
pub struct MediumModel {
    spectrum: Spectrum,
    radios: Vec<Radio>,
    addresses: HashMap<Mac, usize>,
    exchanges: Vec<Exchange>,
    /// Next start of each interferer.
    noises: Vec<u64>,
    now: u64,
}

impl MediumModel {
    /// Returns an air without radios.
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

    /// Adds a radio with this address at the position of this name, or at 0, 0 if the position is
    /// missing. Further addresses are learned from sent frames. Returns the radio's number.
    pub fn join(&mut self, name: &str, mac: Mac) -> usize {
        let radio = self.radios.len();
        self.addresses.insert(mac, radio);
        self.radios.push(Radio::new());
        self.spectrum.join(name);
        radio
    }

    /// Returns the scene.
    pub fn scene(&self) -> &Scene {
        self.spectrum.scene()
    }

    /// Changes the scene.
    pub fn change(&mut self, change: impl FnOnce(&mut Scene)) {
        change(self.spectrum.scene_mut());
        let interferers = self.scene().interferers.len();
        self.noises.resize(interferers, self.now);
        self.sense(self.now);
    }

    /// Sets a radio's transmit power, dBm.
    pub fn set_power(&mut self, radio: usize, power: f64) {
        self.radios[radio].power = power;
    }

    /// Returns the name and counters of each radio, in order of number.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        let counts = self.radios.iter().map(|radio| radio.counts);
        self.spectrum.radios().zip(counts)
    }

    /// Returns the time of the next event if no radio sends before, ns.
    pub fn next(&self) -> Option<u64> {
        let ends = self.exchanges.iter().map(|exchange| exchange.until);
        let fires = self.radios.iter().filter_map(Radio::fires);
        let passing = |signal: &&Signal| matches!(signal.by, Source::Interferer(_));
        let signals = self.spectrum.signals().iter().filter(passing);
        let quiet = signals.map(|signal| signal.to).filter(|to| *to > self.now);
        let loud = self.noises.iter().copied();
        ends.chain(fires).chain(quiet).chain(loud).min()
    }

    /// Queues a frame that a radio sends.
    pub fn send(&mut self, radio: usize, sent: TransmittedFrame, now: u64, out: &mut Vec<Action>) {
        self.advance(now, out);
        // Acknowledgements lack a second address.
        let from = address(&sent.frame, 10);
        if from != Mac::default() && self.addresses.len() < MOST_ADDRESSES {
            self.addresses.insert(from, radio);
        }
        let at = &mut self.radios[radio];
        at.frequency = Some(sent.frequency);
        at.counts.frames += 1;
        at.give_up();
        let frame = QueuedFrame::new(sent, now);
        at.queues[frame.category()].push_back(frame);
        if at.slots == 0 && !at.engaged && (at.busy || at.reserved > now) {
            self.draw(radio, self.radios[radio].turn().unwrap_or_default());
        }
        self.advance(now, out);
    }

    /// Processes all events until `now`.
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
        // Radios that send in the same slot do not detect the first sender in time.
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

    /// Starts an interferer.
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

    /// Updates the busy state of each radio.
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
                    // After a busy channel the radio must back off.
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

    /// Returns the radio with this address.
    fn whose(&self, mac: &Mac) -> Option<usize> {
        self.addresses.get(mac).copied()
    }

    /// Draws new backoff slots from the window of a category.
    fn draw(&mut self, radio: usize, category: usize) {
        let window = self.radios[radio].windows[category] as usize;
        self.radios[radio].slots = self.spectrum.draw(0, window) as u64;
    }

    /// Puts a radio's signal on the air and returns the end time.
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

    /// Delivers reported frames, in order.
    fn release(&mut self, radio: usize, category: usize, out: &mut Vec<Action>) {
        release(&mut self.radios[radio].queues[category], out);
    }

    /// Starts an exchange.
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
        // A radio on another channel receives nothing.
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

    /// Begins the exchange's next part, or handles the end of the present part.
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

    /// Time on the air of the exchange's frames, ns.
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

    /// Handles the end of the data: decides for each radio the frames that it decoded.
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
            // A receiver that sent a CTS is engaged, but listens.
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
        // A radio in another exchange does not answer.
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

    /// Records a decoded frame, once for all tries.
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

    /// Handles a missing answer: the sender waits for the time of the answer before the next try.
    fn unanswered(&mut self, exchange: Exchange, at: u64, out: &mut Vec<Action>) {
        let (sifs, wait) = spaces(exchange.frequency);
        let sender = &mut self.radios[exchange.sender];
        sender.reserved = sender.reserved.max(at + sifs + wait);
        self.over(exchange, None, at, out);
    }

    /// Ends the exchange; `acknowledgement` is the answer's signal in dBm.
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
                    // The kernel ignores the signal of unacknowledged frames.
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

    /// Makes radios that decode an RTS or CTS stay quiet until `until`.
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

/// Rounds a level to the kernel's integer dBm.
fn whole(level: f64) -> i32 {
    level.round().clamp(-127.0, 0.0) as i32
}
