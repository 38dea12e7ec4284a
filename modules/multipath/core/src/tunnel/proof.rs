//! Whether the router is where it sends from. It can forge that address, to have the partner send to
//! somebody else; so nothing but a few small datagrams goes there until it has answered from there
//! something that nobody foresees (as in RFC 9000, 8.2 and 9.3).

use std::net::SocketAddr;

use super::body::Micros;
use crate::derive;

/// Datagrams to addresses that nobody has answered from yet: at once, and then one each so often,
/// microseconds, for all paths of a session. Sixteen paths that come at once take up to four each.
const AT_ONCE: Micros = 64;
const EACH: Micros = 10_000;
/// Between two challenges to one address, microseconds.
const AGAIN: Micros = 40_000;

/// How much may go to addresses that nobody has answered from yet.
#[derive(Debug, Default)]
pub(super) struct Allowance {
    /// When all that went there would have been allowed, one at a time.
    paid: Micros,
}

impl Allowance {
    /// Whether one more may go there, which then does.
    pub fn take(&mut self, now: Micros) -> bool {
        let paid = self.paid.max(now) + EACH;
        let may = paid <= now + AT_ONCE * EACH;
        if may {
            self.paid = paid;
        }
        may
    }
}

/// Draws values that nobody foresees who does not know the secret.
#[derive(Debug)]
pub(super) struct Values {
    secret: [u8; 32],
    drawn: u64,
}

impl Values {
    /// The secret must be another for each tunnel, and random.
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

/// An address that the router sent from, and has not shown to be its.
#[derive(Clone, Copy, Debug)]
struct Claim {
    at: SocketAddr,
    value: u64,
    /// When it was last to be asked.
    since: Micros,
    /// A challenge is to be sent.
    asks: bool,
}

/// What is known of where the router is by a path.
#[derive(Debug)]
pub(super) struct Proof {
    there: bool,
    claim: Option<Claim>,
}

impl Proof {
    /// `there`: it is known already.
    pub fn new(there: bool) -> Self {
        Self { there, claim: None }
    }

    /// Whether it is at the address that the path has.
    pub fn is_there(&self) -> bool {
        self.there
    }

    /// The router sent from an address: whether it is to be asked now to show that it is there.
    pub fn wants(&self, from: SocketAddr, now: Micros) -> bool {
        let asked = |claim: Claim| claim.at == from && now.saturating_sub(claim.since) < AGAIN;
        !self.claim.is_some_and(asked)
    }

    /// It is asked. One address is asked for the same as before: an answer may be on its way.
    pub fn challenge(&mut self, from: SocketAddr, values: &mut Values, now: Micros) {
        let former = self.claim.filter(|claim| claim.at == from);
        self.claim = Some(Claim {
            at: from,
            value: former.map_or_else(|| values.draw(), |claim| claim.value),
            since: now,
            asks: true,
        });
    }

    /// It is heard where it is.
    pub fn settle(&mut self) {
        self.claim = None;
    }

    /// Whether there is a challenge to be sent.
    pub fn asks(&self) -> bool {
        self.claim.is_some_and(|claim| claim.asks)
    }

    /// The challenge, and where it goes.
    pub fn ask(&mut self) -> Option<(u64, SocketAddr)> {
        let claim = self.claim.as_mut()?;
        std::mem::take(&mut claim.asks).then_some((claim.value, claim.at))
    }

    /// A response came: whether it shows that the router is there.
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
