//! Matches the two halves of routed conversations: each is seen at the port where packets come in
//! and at the port where they leave.

use std::net::IpAddr;

use kernel::{Ends, TalkKey};

use crate::reading::Millis;
use crate::talks::{Fresh, Talks};

/// Time for which the other half of a new conversation is looked for: the kernel may report the
/// connection later than the packets are counted.
const LOOKED_FOR: Millis = 3_000;

/// Conversations without a known other half.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    fresh: Vec<Fresh>,
}

impl Pairs {
    /// A conversation is new.
    pub(crate) fn opened(&mut self, key: &TalkKey, most: usize, now: Millis) {
        // Of more than are remembered at all, most are gone by now.
        if self.fresh.len() < most {
            self.fresh.push((*key, now));
        }
    }

    /// Forgets which two are one.
    pub(crate) fn begin_anew(&mut self, talks: &mut Talks, now: Millis) {
        self.fresh = talks.values().map(|talk| (talk.key, now)).collect();
        for talk in talks.values_mut() {
            (talk.twin, talk.led, talk.crosses) = (None, 0, None);
        }
    }

    /// Looks for the other halves of new conversations. `leaves` returns the ends that the kernel
    /// gives packets with these ends, if known; `outside`, whether a port and VLAN lead out; `own`
    /// are the router's addresses.
    pub(crate) fn find(
        &mut self,
        talks: &mut Talks,
        mut leaves: impl FnMut(&Ends) -> Option<Ends>,
        outside: impl Fn(u32, u16) -> bool,
        own: &[IpAddr],
        now: Millis,
    ) {
        self.fresh.retain(|(key, since)| {
            let Some(talk) = talks.get_mut(key) else {
                return false;
            };
            if talk.twin.is_some() || talk.led > 0 {
                return false;
            }
            if talk.leaves.is_none() {
                talk.leaves = leaves(&key.ends());
                talk.crosses = talk.crosses.filter(|_| talk.leaves.is_none());
            }
            let leaves = talk.leaves;
            let found = candidates(key, leaves, outside(key.port, key.vlan), own)
                .map(Ends::reversed)
                .find_map(|ends| Some(talks.with_ends(&ends)?.key));
            match found.filter(|other| other != key) {
                Some(other) => {
                    pair(talks, *key, other, &outside);
                    false
                }
                None => now.saturating_sub(*since) < LOOKED_FOR,
            }
        });
    }
}

/// Returns the possible ends of a conversation's packets where they leave.
fn candidates(
    key: &TalkKey,
    leaves: Option<Ends>,
    outside: bool,
    own: &[IpAddr],
) -> impl Iterator<Item = Ends> {
    let ends = key.ends();
    // Without ports, conversations with one far end are counted together: as traffic of the router,
    // where the router translates the source.
    let no_ports = leaves.is_none() && !outside && (key.station_port, key.far_port) == (0, 0);
    let own = own
        .iter()
        .filter(move |address| no_ports && address.is_ipv4() == key.far.is_ipv4());
    let translated = own.map(move |address| Ends {
        station: *address,
        ..ends
    });
    std::iter::once(leaves.unwrap_or(ends))
        .chain(translated)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Links two halves. The inner one leads, else the older one; reports name the leader.
fn pair(talks: &mut Talks, one: TalkKey, other: TalkKey, outside: impl Fn(u32, u16) -> bool) {
    let rank = |key: &TalkKey| {
        let talk = talks.get(key)?;
        Some((outside(key.port, key.vlan), talk.first, *key, talk.twin))
    };
    let (Some(first), Some(second)) = (rank(&one), rank(&other)) else {
        return;
    };
    // The other half may have a leader already: several without ports lead one.
    let (lead, twin) = match first < second {
        true => (one, other),
        false => (other, one),
    };
    let free = |key: &TalkKey| talks.get(key).is_some_and(|talk| talk.twin.is_none());
    if !free(&lead) || !free(&twin) || talks.get(&lead).is_some_and(|talk| talk.led > 0) {
        return;
    }
    if let Some(talk) = talks.get_mut(&lead) {
        (talk.twin, talk.crosses) = (Some(twin), None);
        talk.leaves = Some(twin.ends().reversed());
    }
    if let Some(talk) = talks.get_mut(&twin) {
        talk.led += 1;
        talk.crosses = None;
        talk.leaves = talk.leaves.or(Some(lead.ends().reversed()));
    }
}
