//! What the room wants kept, and the queue on the disk.

use super::{Inner, State, unix_millis};
use crate::Id;
use crate::daemon::answer::AwayShown;
use crate::power::Needs;
use crate::queue::Lost;
use crate::room::{PIECE, Place, Store, To};

impl State {
    /// Who is known and away.
    pub fn away(&self) -> Vec<AwayShown> {
        let inner = self.0.borrow();
        let away = inner.room.away().map(|(id, _)| AwayShown {
            id: id.to_string(),
            last_seen: Some(inner.queue.last_seen(id)).filter(|it| *it > 0),
            waiting: inner.queue.waiting(id),
        });
        away.collect()
    }

    /// How many of those who are meant are known and away.
    pub fn away_of(&self, to: To) -> usize {
        let inner = self.0.borrow();
        let is_meant = |id: &Id| to == To::All || to == To::One(*id);
        inner.room.away().filter(|(id, _)| is_meant(id)).count()
    }

    /// For how many who are away a message waits that was said now.
    ///
    /// # Errors
    /// It cannot be kept for this one.
    pub fn waits(&self, to: To) -> Result<usize, Id> {
        let inner = self.0.borrow();
        let is_meant = |id: &Id| to == To::All || to == To::One(*id);
        let mut away = inner.room.away().map(|(id, _)| id).filter(is_meant);
        match (inner.queue.works(inner.now()), to) {
            (true, _) => Ok(away.count()),
            (false, _) => away.next().map_or(Ok(0), Err),
        }
    }
}

impl Inner {
    /// What others are to be looked for.
    pub(super) fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for peer in self.room.shown() {
            needs.near += usize::from(matches!(peer.place, Place::Bluetooth(_)));
            needs.waiting += if peer.linked.is_empty() {
                peer.waiting
            } else {
                0
            };
        }
        let away = self.room.away().map(|(id, _)| self.queue.waiting(id));
        needs.waiting += away.sum::<usize>();
        needs
    }

    /// Something is to be done to what is kept.
    pub(super) fn store(&mut self, store: Store) {
        let now = self.now();
        match store {
            Store::Keep(mut keep) => {
                let (is, lost) = self.queue.keep(now, &keep);
                // It may itself be among them.
                let (itself, lost): (Vec<Lost>, _) = lost
                    .into_iter()
                    .partition(|it| it.sequence == keep.sequence);
                self.lost(lost);
                let itself: Vec<Id> = itself.into_iter().map(|it| it.id).collect();
                keep.peers.retain(|id| !itself.contains(id));
                let mut actions = self.room.kept(&keep, is);
                keep.peers = itself;
                actions.extend(self.room.kept(&keep, false));
                self.act(actions);
            }
            Store::Load(id, after) => {
                let (messages, all, lost) = self.queue.load(id, after, PIECE);
                self.lost(lost);
                let actions = self.room.given(now, id, messages, all);
                self.act(actions);
            }
            Store::Drop(id, place) => self.queue.done(id, place),
            Store::Forget(id) => {
                let lost = self.queue.forget(id);
                self.lost(lost);
            }
        }
    }

    fn lost(&mut self, lost: Vec<Lost>) {
        for one in lost {
            let actions = self.room.lost(one.id, one.sequence, one.number);
            self.act(actions);
        }
    }

    /// Time goes by.
    pub(super) fn keep_on(&mut self) {
        let now = self.now();
        if !self.queue.is_due(now) {
            return;
        }
        self.saw_all();
        self.queue.remember(now, self.room.remembered());
        let old = self.queue.tick(now);
        self.lost(old);
    }

    fn saw_all(&mut self) {
        for id in self.room.shown().map(|it| it.id).collect::<Vec<_>>() {
            self.saw(id);
        }
    }

    /// Somebody is near, or was until now.
    pub(super) fn saw(&mut self, id: Id) {
        let now = self.now();
        self.queue.saw(now, unix_millis(), id);
    }
}

impl Drop for Inner {
    /// What waits in memory waits on the disk until the next start.
    fn drop(&mut self) {
        self.saw_all();
        let actions = self.room.keep_all();
        self.act(actions);
        let now = self.now();
        self.queue.remember(now, self.room.remembered());
        self.queue.end(now);
    }
}

#[cfg(test)]
mod tests;
