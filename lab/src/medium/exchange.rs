//! An exchange: a frame, or several at once, with what asks for the air before (RTS, CTS) and what
//! acknowledges it. Between its parts is SIFS (IEEE 802.11-2020, 10.3.2.3.3).

use super::Action;
use super::air::{Air, Signal};
use super::queue::{CATEGORIES, subframe, together};
use super::radio::spaces;
use super::rate::Rate;

/// Octets with check sums: RTS, CTS and acknowledgement (9.3.1.2 to 4), compressed block
/// acknowledgement (9.3.1.8.2).
const RTS: usize = 20;
const CTS: usize = 14;
const ACKNOWLEDGEMENT: usize = 14;
const BLOCK_ACKNOWLEDGEMENT: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Rts,
    Cts,
    Data,
    Acknowledgement,
}

/// One that goes on.
#[derive(Debug)]
pub(super) struct Exchange {
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
    pub until: u64,
}

impl Exchange {
    fn acknowledgement(&self) -> u64 {
        self.answers.airtime(match self.frames.len() {
            1 => ACKNOWLEDGEMENT,
            _ => BLOCK_ACKNOWLEDGEMENT,
        })
    }
}

impl Air {
    /// A radio takes the air.
    pub(super) fn begin(&mut self, radio: usize, at: u64) {
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
    pub(super) fn go_on(&mut self, exchange: Exchange, at: u64, out: &mut Vec<Action>) {
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
        let signal = self.signal_of(exchange.sender, at);
        self.reserve(&exchange, signal, RTS, at + rest);
        let free = |to: &usize| !self.radios[*to].engaged && self.radios[*to].reserved <= at;
        let receiver = exchange.receiver.filter(free);
        let rate = exchange.answers;
        match receiver.filter(|to| self.understands(*to, &signal, &rate, RTS).is_some()) {
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
        let signal = self.signal_of(receiver, at);
        self.reserve(&exchange, signal, CTS, at + rest);
        let rate = exchange.answers;
        match self.understands(exchange.sender, &signal, &rate, CTS) {
            Some(_) => self.next_part(exchange, Part::Data, at),
            None => self.unanswered(exchange, at, out),
        }
    }

    /// The frames are over: who understood which of them?
    fn arrived(&mut self, mut exchange: Exchange, at: u64, out: &mut Vec<Action>) {
        let signal = self.signal_of(exchange.sender, at);
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
            let fade = self.fade();
            let Some(level) = self.detects(radio, &signal, &exchange.rate, fade) else {
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
                if !self.survives(radio, &signal, &exchange.rate, level, span, bits) {
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
        let signal = self.signal_of(receiver, at);
        let octets = match exchange.frames.len() {
            1 => ACKNOWLEDGEMENT,
            _ => BLOCK_ACKNOWLEDGEMENT,
        };
        let rate = exchange.answers;
        match self.understands(exchange.sender, &signal, &rate, octets) {
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
            if self.understands(radio, &signal, &rate, octets).is_some() {
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
