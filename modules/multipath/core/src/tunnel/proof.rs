//! Proof of the router's address. A router can forge its source address, to have the partner flood
//! a victim; so only a few small datagrams go there until the router has answered an unpredictable
//! challenge from there (as in RFC 9000, 8.2 and 9.3).

use std::net::SocketAddr;

use super::body::Micros;
use crate::derive;

/// Limit of datagrams to unproved addresses: an initial number, and then one each so often,
/// microseconds, for all paths of a session. Sixteen paths that begin at once use up to four each.
const AT_ONCE: Micros = 64;
const EACH: Micros = 10_000;
/// Interval of challenges to an address, microseconds.
const AGAIN: Micros = 40_000;

/// Budget of datagrams to unproved addresses.
#[derive(Debug, Default)]
pub(super) struct Allowance {
    /// Time at which all of them would have been permitted, one at a time.
    paid: Micros,
}

impl Allowance {
    /// Takes a datagram from the budget, and returns true if there was one.
    pub fn take(&mut self, now: Micros) -> bool {
        let paid = self.paid.max(now) + EACH;
        let may = paid <= now + AT_ONCE * EACH;
        if may {
            self.paid = paid;
        }
        may
    }
}

/// Draws values that are unpredictable without the secret.
#[derive(Debug)]
pub(super) struct Values {
    secret: [u8; 32],
    drawn: u64,
}

impl Values {
    /// The secret must be random, and unique for each tunnel.
    pub fn new(secret: [u8; 32]) -> Self {
        Self { secret, drawn: 0 }
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        let drawn = self.drawn.to_be_bytes();
        let key = derive::expand(&derive::of_key(&self.secret), &[b"weir challenge", &drawn]);
        key.iter()
            .take(8)
            .fold(0, |value, octet| value << 8 | u64::from(*octet))
    }
}

/// An address that the router sent from, and has not proved.
#[derive(Clone, Copy, Debug)]
struct Claim {
    at: SocketAddr,
    value: u64,
    /// Time of the last challenge.
    since: Micros,
    /// A challenge is to be sent.
    asks: bool,
}

/// State of the proof of the router's address on a path.
#[derive(Debug)]
pub(super) struct Proof {
    there: bool,
    claim: Option<Claim>,
}

impl Proof {
    /// Creates the state. `there`: the address is proved already.
    pub fn new(there: bool) -> Self {
        Self { there, claim: None }
    }

    /// Returns true if the router has proved the address of the path.
    pub fn is_there(&self) -> bool {
        self.there
    }

    /// Returns true if the router is to be challenged now at this address.
    pub fn wants(&self, from: SocketAddr, now: Micros) -> bool {
        let asked = |claim: Claim| claim.at == from && now.saturating_sub(claim.since) < AGAIN;
        !self.claim.is_some_and(asked)
    }

    /// Schedules a challenge. An address keeps its value: an answer may be on its way.
    pub fn challenge(&mut self, from: SocketAddr, values: &mut Values, now: Micros) {
        let former = self.claim.filter(|claim| claim.at == from);
        self.claim = Some(Claim {
            at: from,
            value: former.map_or_else(|| values.draw(), |claim| claim.value),
            since: now,
            asks: true,
        });
    }

    /// Drops the claim: the router still sends from its proved address.
    pub fn settle(&mut self) {
        self.claim = None;
    }

    /// Returns true if a challenge is to be sent.
    pub fn asks(&self) -> bool {
        self.claim.is_some_and(|claim| claim.asks)
    }

    /// Takes the challenge to send, and its address.
    pub fn ask(&mut self) -> Option<(u64, SocketAddr)> {
        let claim = self.claim.as_mut()?;
        std::mem::take(&mut claim.asks).then_some((claim.value, claim.at))
    }

    /// Takes a response, and returns true if it proves the address.
    pub fn shown(&mut self, value: u64, from: SocketAddr) -> bool {
        let shown = self
            .claim
            .is_some_and(|claim| claim.at == from && claim.value == value);
        if shown {
            (self.there, self.claim) = (true, None);
        }
        shown
    }
}
