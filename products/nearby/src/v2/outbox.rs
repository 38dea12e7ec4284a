//! Splits messages, resends requested chunks, and tracks the outcomes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use super::frame::{Chunk, Control, FIRST, First, Frame, MOST, OTHER, Part};
use super::inbox::SMALL;
use super::{FRAME, LONGEST, PART, PARTS, QUEUES, after, channel};
use crate::{Id, SharedBytes};

/// Silence about a message until its outcome is requested, ms.
pub const PATIENCE: u64 = 3_000;
/// Number of tries of a message. Each third try sends all chunks again.
pub const TRIES: u32 = 8;
/// Largest amount without an acknowledgement, in bytes; one message may be more.
const WINDOW: usize = 32_768;
/// Largest number of such messages: peers overwrite the message of a queue after 29.
const MESSAGES: usize = 10;
/// Largest amount that waits to be sent, in bytes.
pub const WAITING: usize = 1 << 20;

/// Priority of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A message that a user waits for.
    Urgent,
    /// Any other message.
    Usual,
}

/// Reason to refuse a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The message is too long.
    #[error("a message has at most {LONGEST} octets")]
    Long,
    /// Too many messages wait.
    #[error("too many messages wait for this peer")]
    Full,
}

/// Outcome of a message by its number: true if delivered.
pub type Outcome = (u64, bool);

/// Messages that go to one peer, by one connection. Of one priority they arrive in order.
#[derive(Debug)]
pub struct Outbox {
    own: Id,
    /// Size of a frame, in bytes.
    frame: usize,
    /// Queue used last.
    last: u8,
    /// Number of the larger message sent last.
    larger: u8,
    begun: u64,
    waiting: BTreeMap<Priority, VecDeque<Rc<Message>>>,
    slots: BTreeMap<u8, Slot>,
    control: VecDeque<Control>,
    /// Failures not yet reported.
    lost: Vec<Outcome>,
}

#[derive(Debug)]
struct Message {
    number: u64,
    priority: Priority,
    octets: SharedBytes,
}

impl Message {
    fn is_large(&self) -> bool {
        self.octets.len() > SMALL
    }
}

/// A message, or a part of one, that is not acknowledged yet.
#[derive(Debug)]
struct Slot {
    message: Rc<Message>,
    begun: u64,
    begin: usize,
    first: First,
    /// Bytes of its frames: they stay as they were when it began.
    frame: usize,
    /// The next chunk that was never sent.
    next: u16,
    again: BTreeSet<u16>,
    /// Time of the last send or answer.
    heard: u64,
    tries: u32,
}

impl Slot {
    fn chunk(&self, queue: u8, index: u16, again: bool) -> Frame<'_> {
        let head = self.frame - FIRST;
        let each = self.frame - OTHER;
        let size = usize::from(self.first.size);
        let (from, to) = match usize::from(index) {
            0 => (0, head),
            index => (head + (index - 1) * each, head + index * each),
        };
        Frame::Chunk(Chunk {
            queue,
            again,
            index,
            first: (index == 0).then_some(self.first),
            octets: &self.message.octets[self.begin..][from.min(size)..to.min(size)],
        })
    }
}

impl Outbox {
    /// Creates an empty outbox.
    pub fn new(own: Id) -> Self {
        Self {
            own,
            frame: FRAME,
            last: 0,
            larger: 0,
            begun: 0,
            waiting: BTreeMap::new(),
            slots: BTreeMap::new(),
            control: VecDeque::new(),
            lost: Vec::new(),
        }
    }

    /// Sets the maximum bytes of frames. Messages in progress are unchanged.
    pub fn frames_of(&mut self, octets: usize) {
        self.frame = octets.clamp(FRAME, channel::FRAME);
    }

    /// Adapts to a smaller frame: messages in flight are split again and resent completely. Each
    /// stays in its queue, so that a receiver that has the message acknowledges it.
    pub fn cut_anew(&mut self) {
        let most = self.most();
        // If smaller chunks would be too many, the message starts over.
        let over = |slot: &&Slot| slot.frame > self.frame && usize::from(slot.first.size) > most;
        let over = self.slots.values().filter(over);
        let mut over: Vec<_> = over.map(|it| (it.begun, Rc::clone(&it.message))).collect();
        over.sort_unstable_by_key(|(begun, _)| *begun);
        over.dedup_by_key(|(_, message)| message.number);
        for (_, message) in over.into_iter().rev() {
            let number = message.number;
            self.slots.retain(|_, slot| slot.message.number != number);
            let waiting = self.waiting.entry(message.priority).or_default();
            waiting.push_front(message);
        }
        for slot in self.slots.values_mut() {
            if slot.frame > self.frame {
                slot.frame = self.frame;
                slot.first.count = count(self.frame, usize::from(slot.first.size));
                slot.next = 0;
                slot.again.clear();
            }
        }
    }

    /// Returns the maximum bytes of a message, or part: the maximum number of chunks.
    fn most(&self) -> usize {
        let all = self.frame - FIRST + usize::from(MOST - 1) * (self.frame - OTHER);
        all.min(PART)
    }

    /// Sends a message. `number` names the message in its outcome.
    ///
    /// # Errors
    /// The message is refused.
    pub fn send(
        &mut self,
        number: u64,
        priority: Priority,
        octets: impl Into<SharedBytes>,
    ) -> Result<(), SendError> {
        let octets = octets.into();
        let all = self.waiting.values().flatten().map(|it| it.octets.len());
        match octets.len() {
            size if size > LONGEST => Err(SendError::Long),
            size if all.sum::<usize>() + size > WAITING => Err(SendError::Full),
            _ => {
                let message = Message {
                    number,
                    priority,
                    octets,
                };
                let waiting = self.waiting.entry(priority).or_default();
                waiting.push_back(Rc::new(message));
                Ok(())
            }
        }
    }

    /// Queues flow control, ahead of all chunks.
    pub fn say(&mut self, control: Control) {
        if !self.control.contains(&control) {
            self.control.push_back(control);
        }
    }

    /// Returns the next frame, if any: called when the connection has room.
    pub fn next(&mut self, now: u64) -> Option<Vec<u8>> {
        if let Some(control) = self.control.pop_front() {
            return Some(Frame::Control(control).octets());
        }
        let under_way = |it: &&u8| {
            let slot = &self.slots[*it];
            !slot.again.is_empty() || slot.next < slot.first.count
        };
        let oldest = |it: &&u8| {
            let slot = &self.slots[*it];
            (slot.again.is_empty(), slot.message.priority, slot.begun)
        };
        let queue = self
            .slots
            .keys()
            .filter(under_way)
            .min_by_key(oldest)
            .copied();
        let hurries = queue.is_some_and(|queue| {
            let slot = &self.slots[&queue];
            slot.again.is_empty() && slot.message.priority > Priority::Urgent
        });
        let urgent = self.waiting.get(&Priority::Urgent);
        let overtakes = hurries && urgent.is_some_and(|it| !it.is_empty());
        let queue = match queue {
            Some(queue) if !overtakes => queue,
            queue => self.begin().or(queue)?,
        };
        let slot = self.slots.get_mut(&queue)?;
        slot.heard = now;
        let (index, again) = match slot.again.pop_first() {
            Some(index) => (index, true),
            None => {
                slot.next += 1;
                (slot.next - 1, false)
            }
        };
        Some(slot.chunk(queue, index, again).octets())
    }

    /// Begins the next message, in the next queue.
    fn begin(&mut self) -> Option<u8> {
        let message = self.waiting.values().find_map(VecDeque::front)?;
        let under_way: usize = self
            .slots
            .values()
            .map(|it| usize::from(it.first.size))
            .sum();
        let is_full = under_way >= WINDOW && message.priority > Priority::Urgent;
        // Peers deliver small messages before large ones.
        let overtakes = |slot: &Slot| {
            let sent = &slot.message;
            sent.priority == message.priority && sent.is_large() != message.is_large()
        };
        if is_full || self.slots.len() >= MESSAGES || self.slots.values().any(overtakes) {
            return None;
        }
        let message = Rc::clone(message);
        let parts: Vec<&[u8]> = match message.octets.len() {
            0 => vec![&[]],
            _ => message.octets.chunks(self.most()).collect(),
        };
        let queues: Vec<u8> = std::iter::successors(Some(after(self.last)), |it| Some(after(*it)))
            .take(parts.len())
            .collect();
        if parts.len() <= PARTS && queues.iter().any(|it| self.slots.contains_key(it)) {
            return None;
        }
        if let Some(waiting) = self.waiting.get_mut(&message.priority) {
            waiting.pop_front();
        }
        if parts.len() > PARTS {
            self.lost.push((message.number, false));
            return self.begin();
        }
        let of = (parts.len() > 1).then(|| {
            // With four parts only an odd number is read correctly.
            self.larger = ((self.larger + 2) % 16) | 1;
            self.larger
        });
        let mut begin = 0;
        for ((index, octets), queue) in (0..).zip(&parts).zip(&queues) {
            let part = of.map(|of| Part {
                of,
                count: parts.len() as u8,
                index,
            });
            self.begun += 1;
            let slot = Slot {
                message: Rc::clone(&message),
                begun: self.begun,
                begin,
                first: self.first(part, octets),
                frame: self.frame,
                next: 0,
                again: BTreeSet::new(),
                heard: 0,
                tries: 0,
            };
            begin += octets.len();
            self.slots.insert(*queue, slot);
            self.last = *queue;
        }
        queues.first().copied()
    }

    fn first(&self, part: Option<Part>, octets: &[u8]) -> First {
        First {
            part,
            size: octets.len() as u16,
            count: count(self.frame, octets.len()),
            sum: crc32fast::hash(octets),
            from: self.own,
        }
    }

    /// Handles flow control about messages; ignores any other.
    pub fn heard(&mut self, now: u64, control: &Control) -> Option<Outcome> {
        match control {
            Control::Missing(all) => {
                for (queue, index) in all {
                    let Some(slot) = self.slots.get_mut(queue) else {
                        continue;
                    };
                    slot.heard = now;
                    if *index < slot.next {
                        slot.again.insert(*index);
                    }
                }
                None
            }
            Control::Done(queue) => {
                let slot = self.slots.get(queue)?;
                // An acknowledgement before the last chunk is for an earlier message.
                let all = slot.next == slot.first.count;
                let slot = all.then(|| self.slots.remove(queue)).flatten()?;
                let is_last = Rc::strong_count(&slot.message) == 1;
                is_last.then_some((slot.message.number, true))
            }
            Control::Failed(queue, _) => {
                let slot = self.slots.get_mut(queue)?;
                (slot.next, slot.heard) = (0, now);
                slot.again.clear();
                slot.tries += 3;
                let over = slot.tries > TRIES;
                over.then(|| self.lose(*queue)).flatten()
            }
            _ => None,
        }
    }

    /// Asks for the outcome of messages without an answer. Returns the failed ones.
    pub fn tick(&mut self, now: u64) -> Vec<Outcome> {
        let mut lost = Vec::new();
        for (queue, slot) in &mut self.slots {
            let all = slot.next == slot.first.count && slot.again.is_empty();
            if !all || now < slot.heard + PATIENCE {
                continue;
            }
            slot.heard = now;
            slot.tries += 1;
            if slot.tries > TRIES {
                lost.push(*queue);
            } else if slot.tries.is_multiple_of(3) {
                slot.next = 0;
            } else {
                // Some peers answer the last chunk, but not the question.
                slot.again.insert(slot.first.count - 1);
                let asks = Control::AskDone(*queue);
                if !self.control.contains(&asks) {
                    self.control.push_back(asks);
                }
            }
        }
        let mut told = std::mem::take(&mut self.lost);
        told.extend(lost.into_iter().filter_map(|it| self.lose(it)));
        told
    }

    /// Drops a message with all of its parts.
    fn lose(&mut self, queue: u8) -> Option<Outcome> {
        let number = self.slots.get(&queue)?.message.number;
        self.slots.retain(|_, slot| slot.message.number != number);
        Some((number, false))
    }

    /// Handles the end of the connection: returns the numbers of messages with unknown outcome.
    pub fn end(self) -> Vec<u64> {
        let sent = self.slots.values().map(|slot| slot.message.number);
        let waiting = self.waiting.values().flatten().map(|it| it.number);
        let all: BTreeSet<u64> = sent.chain(waiting).collect();
        all.into_iter().collect()
    }

    /// Returns true if all messages are acknowledged.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.waiting.values().all(VecDeque::is_empty)
    }
}

/// Returns the number of chunks for so many bytes, in frames of `frame` bytes.
fn count(frame: usize, octets: usize) -> u16 {
    let rest = octets.saturating_sub(frame - FIRST);
    1 + rest.div_ceil(frame - OTHER) as u16
}

/// The receiver distinguishes future queues from past ones.
const _: () = assert!(MESSAGES + PARTS <= QUEUES as usize / 2);
