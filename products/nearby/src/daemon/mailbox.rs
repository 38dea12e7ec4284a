//! The room, and the queue on the disk behind it, on one clock.

use std::time::Instant;

use super::settings::Settings;
use super::wire::AwayPeerInfo;
use crate::Id;
use crate::envelope::Node;
use crate::machine::{
    self, Action, Address, Endpoint, Event, Machine, PIECE, PeerReport, Recipients, StoreAction,
};
use crate::power::Needs;
use crate::queue::{DroppedMessage, Files, Queue};

/// Peers nearby and away, with the messages that wait for them.
pub struct Mailbox {
    room: Machine,
    queue: Queue,
    begun: Instant,
    /// The queue's clock when this began.
    before: u64,
}

impl Mailbox {
    /// Loads the messages from the disk, for a node with this address.
    pub fn open(node: Node, address: Address, settings: &Settings) -> Self {
        let mut room = Machine::new(machine::Settings {
            own: node.id(),
            node: Some(node),
            address,
            formats: settings.formats.clone(),
            links: settings.links,
        });
        let queue = Queue::open(settings.state.join("queue"), settings.queue, Files);
        room.rests(settings.power.rests());
        room.delivery_mut().keeps(queue.known(), queue.last());
        room.delivery_mut()
            .remember(queue.clock(), &queue.remembered());
        Self {
            room,
            begun: Instant::now(),
            before: queue.clock(),
            queue,
        }
    }

    /// Returns the peers nearby and their connections.
    pub fn room(&self) -> &Machine {
        &self.room
    }

    /// Returns the room, for changes of its connections and its adapter.
    pub fn room_mut(&mut self) -> &mut Machine {
        &mut self.room
    }

    fn now(&self) -> u64 {
        self.before + self.begun.elapsed().as_millis() as u64
    }

    /// Handles an event.
    pub fn handle(&mut self, event: Event<'_>) -> Vec<Action> {
        self.room.handle(self.now(), event)
    }

    /// Returns the next frame of a connection.
    pub fn next(&mut self, link: u32, out: &mut Vec<Action>) -> Option<Vec<u8>> {
        self.room.next(self.now(), link, out)
    }

    /// Sends a message. Returns its number, and the number of recipients nearby.
    pub fn send(&mut self, to: Recipients, octets: &[u8], out: &mut Vec<Action>) -> (u64, usize) {
        let now = self.now();
        let number = self.queue.next_number(now);
        (number, self.room.send(now, to, number, octets, out))
    }

    /// Returns the peers nearby, each with the time since the last contact, in ms.
    pub fn heard(&self) -> Vec<(PeerReport, u64)> {
        let now = self.now();
        let ago = |shown: PeerReport| {
            let ago = now.saturating_sub(shown.seen);
            (shown, ago)
        };
        self.room.shown().map(ago).collect()
    }

    /// Returns the known peers that are away.
    pub fn away(&self) -> Vec<AwayPeerInfo> {
        let away = self.room.delivery().away().map(|(id, _)| AwayPeerInfo {
            id: id.to_string(),
            last_seen: Some(self.queue.last_seen(id)).filter(|it| *it > 0),
            waiting: self.queue.waiting(id),
        });
        away.collect()
    }

    /// Returns those recipients that are known and away.
    pub fn away_of(&self, to: Recipients) -> impl Iterator<Item = Id> {
        let is_meant = move |id: &Id| to == Recipients::All || to == Recipients::One(*id);
        self.room
            .delivery()
            .away()
            .map(|(id, _)| id)
            .filter(is_meant)
    }

    /// Returns the number of peers away for whom a new message would wait.
    ///
    /// # Errors
    /// The peer for whom the message cannot be stored.
    pub fn waits(&self, to: Recipients) -> Result<usize, Id> {
        let mut away = self.away_of(to);
        match self.queue.works(self.now()) {
            true => Ok(away.count()),
            false => away.next().map_or(Ok(0), Err),
        }
    }

    /// Returns the needs for discovery, of peers nearby and of waiting messages.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for peer in self.room.shown() {
            needs.near += usize::from(matches!(peer.place, Endpoint::Bluetooth(_)));
            needs.waiting += if peer.linked.is_empty() {
                peer.waiting
            } else {
                0
            };
        }
        let away = self
            .room
            .delivery()
            .away()
            .map(|(id, _)| self.queue.waiting(id));
        needs.waiting += away.sum::<usize>();
        needs
    }

    /// Performs an action on the stored messages.
    pub fn store(&mut self, store: StoreAction) -> Vec<Action> {
        let now = self.now();
        match store {
            StoreAction::Keep(mut keep) => {
                let (is, lost) = self.queue.keep(now, &keep);
                // The new message itself may be among the lost ones.
                let (itself, lost): (Vec<DroppedMessage>, _) = lost
                    .into_iter()
                    .partition(|it| it.sequence == keep.sequence);
                let mut actions = self.lost(lost);
                let itself: Vec<Id> = itself.into_iter().map(|it| it.id).collect();
                keep.peers.retain(|id| !itself.contains(id));
                actions.extend(self.room.delivery_mut().kept(&keep, is));
                keep.peers = itself;
                actions.extend(self.room.delivery_mut().kept(&keep, false));
                actions
            }
            StoreAction::Load(id, after) => {
                let (messages, all, lost) = self.queue.load(id, after, PIECE);
                let mut actions = self.lost(lost);
                actions.extend(self.room.delivery_mut().given(now, id, messages, all));
                actions
            }
            StoreAction::Drop(id, place) => {
                self.queue.done(id, place);
                Vec::new()
            }
            StoreAction::Forget(id) => {
                let lost = self.queue.forget(id);
                self.lost(lost)
            }
        }
    }

    fn lost(&mut self, lost: Vec<DroppedMessage>) -> Vec<Action> {
        let lost = lost.into_iter();
        lost.flat_map(|it| self.room.delivery_mut().lost(it.id, it.sequence, it.number))
            .collect()
    }

    /// Handles a tick: at this time, in milliseconds since 1970.
    pub fn tick(&mut self, unix: u64) -> Vec<Action> {
        let now = self.now();
        if !self.queue.is_due(now) {
            return Vec::new();
        }
        self.saw_all(unix);
        self.queue.remember(now, self.room.delivery().remembered());
        let old = self.queue.tick(now);
        self.lost(old)
    }

    fn saw_all(&mut self, unix: u64) {
        for id in self.room.shown().map(|it| it.id).collect::<Vec<_>>() {
            self.saw(id, unix);
        }
    }

    /// Notes that a peer is near, or was until now.
    pub fn saw(&mut self, id: Id, unix: u64) {
        self.queue.saw(self.now(), unix, id);
    }

    /// Stores the messages in memory on the disk until the next start.
    pub fn keep_all(&mut self, unix: u64) -> Vec<Action> {
        self.saw_all(unix);
        self.room.delivery_mut().keep_all()
    }

    /// Ends, after all messages are stored.
    pub fn end(&mut self) {
        let now = self.now();
        self.queue.remember(now, self.room.delivery().remembered());
        self.queue.end(now);
    }

    /// Advances the clock at once.
    #[cfg(test)]
    pub fn skip(&mut self, millis: u64) {
        self.before += millis;
    }

    /// Returns the number of the next message.
    #[cfg(test)]
    pub fn next_number(&mut self) -> u64 {
        self.queue.next_number(0)
    }
}
