//! Matches the two halves of routed conversations: weir sees each conversation at the ingress port
//! and at the egress port.

use std::net::IpAddr;

use kernel::{ConversationKey, Endpoints};

use crate::conversation_table::{ConversationTable, PairingCandidate};
use crate::reading::Millis;

/// Time limit for finding the other half of a new conversation: the kernel may report the
/// connection later than the meter counts the packets.
const LOOKED_FOR: Millis = 3_000;

/// Conversations without a known other half.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    fresh: Vec<PairingCandidate>,
}

impl Pairs {
    /// Handles a new conversation.
    pub(crate) fn opened(&mut self, key: &ConversationKey, most: usize, now: Millis) {
        // If more are pending than the table holds, most have ended by now.
        if self.fresh.len() < most {
            self.fresh.push((*key, now));
        }
    }

    /// Forgets which two are one.
    pub(crate) fn reset(&mut self, conversations: &mut ConversationTable, now: Millis) {
        self.fresh = conversations
            .values()
            .map(|conversation| (conversation.key, now))
            .collect();
        for conversation in conversations.values_mut() {
            (
                conversation.other_half,
                conversation.leaders,
                conversation.crosses_uplink,
            ) = (None, 0, None);
        }
    }

    /// Finds the other halves of new conversations. `leaves` returns the egress endpoints of
    /// packets with the given endpoints, if known; `outside` returns whether a port and VLAN lead
    /// out; `own` are the router's addresses.
    pub(crate) fn find(
        &mut self,
        conversations: &mut ConversationTable,
        mut leaves: impl FnMut(&Endpoints) -> Option<Endpoints>,
        outside: impl Fn(u32, u16) -> bool,
        own: &[IpAddr],
        now: Millis,
    ) {
        self.fresh.retain(|(key, since)| {
            let Some(conversation) = conversations.get_mut(key) else {
                return false;
            };
            if conversation.other_half.is_some() || conversation.leaders > 0 {
                return false;
            }
            if conversation.egress_endpoints.is_none() {
                conversation.egress_endpoints = leaves(&key.ends());
                conversation.crosses_uplink = conversation
                    .crosses_uplink
                    .filter(|_| conversation.egress_endpoints.is_none());
            }
            let leaves = conversation.egress_endpoints;
            let found = candidates(key, leaves, outside(key.port, key.vlan), own)
                .map(Endpoints::reversed)
                .find_map(|ends| Some(conversations.with_ends(&ends)?.key));
            match found.filter(|other| other != key) {
                Some(other) => {
                    pair(conversations, *key, other, &outside);
                    false
                }
                None => now.saturating_sub(*since) < LOOKED_FOR,
            }
        });
    }
}

/// Returns the possible ends of a conversation's packets where they leave.
fn candidates(
    key: &ConversationKey,
    leaves: Option<Endpoints>,
    outside: bool,
    own: &[IpAddr],
) -> impl Iterator<Item = Endpoints> {
    let ends = key.ends();
    // Without ports, all conversations with one remote end count together: as traffic of the
    // router, if the router translates the source.
    let no_ports = leaves.is_none() && !outside && (key.station_port, key.remote_port) == (0, 0);
    let own = own
        .iter()
        .filter(move |address| no_ports && address.is_ipv4() == key.remote.is_ipv4());
    let translated = own.map(move |address| Endpoints {
        station: *address,
        ..ends
    });
    std::iter::once(leaves.unwrap_or(ends))
        .chain(translated)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Links two halves. The inner one leads, otherwise the older one; reports name the leader.
fn pair(
    conversations: &mut ConversationTable,
    one: ConversationKey,
    other: ConversationKey,
    outside: impl Fn(u32, u16) -> bool,
) {
    let rank = |key: &ConversationKey| {
        let conversation = conversations.get(key)?;
        Some((
            outside(key.port, key.vlan),
            conversation.first,
            *key,
            conversation.other_half,
        ))
    };
    let (Some(first), Some(second)) = (rank(&one), rank(&other)) else {
        return;
    };
    // The other half may have a leader already: several without ports lead one.
    let (lead, twin) = match first < second {
        true => (one, other),
        false => (other, one),
    };
    let free = |key: &ConversationKey| {
        conversations
            .get(key)
            .is_some_and(|conversation| conversation.other_half.is_none())
    };
    if !free(&lead)
        || !free(&twin)
        || conversations
            .get(&lead)
            .is_some_and(|conversation| conversation.leaders > 0)
    {
        return;
    }
    if let Some(conversation) = conversations.get_mut(&lead) {
        (conversation.other_half, conversation.crosses_uplink) = (Some(twin), None);
        conversation.egress_endpoints = Some(twin.ends().reversed());
    }
    if let Some(conversation) = conversations.get_mut(&twin) {
        conversation.leaders += 1;
        conversation.crosses_uplink = None;
        conversation.egress_endpoints = conversation
            .egress_endpoints
            .or(Some(lead.ends().reversed()));
    }
}
