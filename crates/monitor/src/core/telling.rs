//! Which conversations are told of, when, and which are forgotten.

use kernel::TalkKey;

use super::Monitor;
use crate::count::Both;
use crate::pairs;
use crate::reading::Millis;
use crate::talk::{Talk, Told};

impl Monitor {
    /// Conversations are to be told of by [`Monitor::take_told`]: all when they end, and each
    /// `active` milliseconds those that go on.
    pub fn tell(&mut self, active: Option<Millis>) {
        self.telling = active;
    }

    /// Tells of those that are due, and forgets those that are over.
    pub(super) fn tell_due(&mut self, now: Millis) {
        let (mut over, mut due) = (Vec::new(), Vec::new());
        for (key, talk) in &self.talks {
            if talk.is_quiet(now) && self.goes(talk, now) {
                over.push(*key);
            } else if let Some(every) = self.telling
                && talk.led == 0
                && talk.untold() != Both::default()
                && now.saturating_sub(talk.told_at) >= every
            {
                due.push(*key);
            }
        }
        for key in &due {
            pairs::tell(&mut self.talks, key, now, false, false, &mut self.told);
        }
        while let Some(key) = over.pop() {
            over.extend(self.forget(&key, now));
        }
    }

    /// Whether one that is silent may be forgotten: the other side of the router is silent as well,
    /// or there is none.
    fn goes(&self, talk: &Talk, now: Millis) -> bool {
        let twin = talk.twin.and_then(|twin| self.talks.get(&twin));
        talk.led == 0 && twin.is_none_or(|twin| twin.led > 1 || twin.is_quiet(now))
    }

    /// Forgets a conversation, and tells of the rest of it. What it led may be next.
    fn forget(&mut self, key: &TalkKey, now: Millis) -> Option<TalkKey> {
        if self.telling.is_some() {
            pairs::tell(&mut self.talks, key, now, true, true, &mut self.told);
        }
        let talk = self.talks.remove(key)?;
        self.pairs.forget(key);
        if let Some(device) = self.devices.get_mut(&talk.mac) {
            device.talks = device.talks.saturating_sub(1);
        }
        let twin = self.talks.get_mut(&talk.twin?)?;
        twin.led = twin.led.saturating_sub(1);
        (twin.led == 0 && twin.is_quiet(now)).then_some(twin.key)
    }

    /// All that go on are due to be told of, as nobody will be there to tell of their end.
    pub fn tell_rest(&mut self, now: Millis) {
        if self.telling.is_none() {
            return;
        }
        // Those that lead another one first, so that of this only the rest is told.
        let mut keys: Vec<(bool, TalkKey)> =
            self.talks.values().map(|t| (t.led > 0, t.key)).collect();
        keys.sort_unstable();
        for (_, key) in keys {
            pairs::tell(&mut self.talks, &key, now, false, true, &mut self.told);
        }
    }

    /// Conversations that are due to be told of, see [`Monitor::tell`].
    pub fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }
}
