//! Which conversations are told of, when, and which are forgotten.

use kernel::TalkKey;

use super::Monitor;
use crate::count::Both;
use crate::pairs;
use crate::reading::Millis;
use crate::talk::{Pressure, Talk, Told};
use crate::talks::TOLD;

impl Monitor {
    /// So many conversations are told of in a second, at most: each takes memory until it is sent.
    fn most_told(&self) -> usize {
        (self.limits.talks / TOLD).max(64)
    }

    /// Conversations are to be told of by [`Monitor::take_told`]: all when they end, and each
    /// `active` milliseconds those that go on.
    pub fn tell(&mut self, active: Option<Millis>) {
        self.telling = active;
    }

    /// Time goes by for all conversations: their rates turn, those that are due are told of, and
    /// those that are over are forgotten.
    pub(super) fn turn_talks(&mut self, millis: u64, now: Millis) {
        let (mut quiet, mut due) = (Vec::new(), Vec::new());
        let mut most = match self.telling {
            Some(_) => self.most_told().saturating_sub(self.told.len()),
            None => usize::MAX,
        };
        let mut lasting = 0;
        for talk in self.talks.values_mut() {
            talk.rate.turn(millis);
            lasting += usize::from(!talk.is_short());
            // What another one leads goes with that. Where too many are due, the others wait for
            // the next second.
            if most == 0 || talk.led > 0 {
                continue;
            }
            if talk.is_quiet(self.pressure, now) {
                quiet.push(talk.key);
                most -= 1;
            } else if let Some(every) = self.telling
                && now.saturating_sub(talk.told_at) >= every
                && talk.untold() != Both::default()
            {
                due.push(talk.key);
                most -= 1;
            }
        }
        let pressure = std::mem::replace(&mut self.pressure, self.talks.pressure(lasting));
        for key in &due {
            pairs::tell(&mut self.talks, key, now, false, false, &mut self.told);
        }
        let goes = |key: &TalkKey| {
            let talk = self.talks.get(key);
            talk.is_some_and(|talk| self.goes(talk, pressure, now))
        };
        let mut over: Vec<TalkKey> = quiet.into_iter().filter(goes).collect();
        while let Some(key) = over.pop() {
            let twin = self.forget(&key, now);
            over.extend(twin.filter(|twin| self.is_quiet(twin, pressure, now)));
        }
    }

    /// Whether one that is silent, and that no other one leads, may be forgotten: the other side of
    /// the router is silent as well, or there is none.
    fn goes(&self, talk: &Talk, pressure: Pressure, now: Millis) -> bool {
        let twin = talk.twin.and_then(|twin| self.talks.get(&twin));
        twin.is_none_or(|twin| twin.led > 1 || twin.is_quiet(pressure, now))
    }

    fn is_quiet(&self, key: &TalkKey, pressure: Pressure, now: Millis) -> bool {
        let talk = self.talks.get(key);
        talk.is_some_and(|talk| talk.is_quiet(pressure, now))
    }

    /// Forgets a conversation that may go for another one. False: there is none, or too many went
    /// this second.
    pub(super) fn make_room(&mut self, now: Millis) -> bool {
        // Half of what may be told of is for those that are due.
        if self.telling.is_some() && self.told.len() >= self.most_told() / 2 {
            return false;
        }
        let Some(key) = self.talks.dispensable(now) else {
            return false;
        };
        let twin = self.forget(&key, now);
        let had_few = |twin: &TalkKey| self.talks.get(twin).is_some_and(Talk::may_go);
        if let Some(twin) = twin.filter(had_few) {
            self.forget(&twin, now);
        }
        true
    }

    /// Forgets a conversation, and tells of the rest of it. What it led alone may be next.
    fn forget(&mut self, key: &TalkKey, now: Millis) -> Option<TalkKey> {
        if let Some(slot) = self.talks.find(key) {
            self.judge_at(slot);
        }
        if self.telling.is_some() {
            pairs::tell(&mut self.talks, key, now, true, true, &mut self.told);
        }
        let talk = self.talks.remove(key)?;
        if let Some(device) = self.devices.get_mut(&talk.mac) {
            device.talks = device.talks.saturating_sub(1);
        }
        let twin = self.talks.get_mut(&talk.twin?)?;
        twin.led = twin.led.saturating_sub(1);
        (twin.led == 0).then_some(twin.key)
    }

    /// All that go on are due to be told of, as nobody will be there to tell of their end. Some of
    /// them at a time: false once there are no more.
    pub fn tell_rest(&mut self, now: Millis) -> bool {
        if self.telling.is_none() {
            return false;
        }
        let before = self.told.len();
        // Those that lead another one first, so that of this only the rest is told.
        let mut keys: Vec<(bool, TalkKey)> =
            self.talks.values().map(|t| (t.led > 0, t.key)).collect();
        keys.sort_unstable();
        for (_, key) in keys {
            if self.told.len() >= before + self.most_told() {
                break;
            }
            pairs::tell(&mut self.talks, &key, now, false, true, &mut self.told);
        }
        self.told.len() > before
    }

    /// Conversations that are due to be told of, see [`Monitor::tell`].
    pub fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }
}
