//! State of a node that may become a peer.

use kernel::Mac;
use kernel::nl80211::Abilities;

use super::element::{Element, Instance};
use super::handshake::{Initiator, Party, Session, TAG};

/// Interval between repeated hellos, first and longest, milliseconds: half as long again each time.
pub const AGAIN: [u64; 2] = [200, 5_000];
/// Interval between repeated confirmations of a handshake, and their end, milliseconds.
/// A slow processor, with other work before it, took two seconds to answer.
pub const CONFIRM: [u64; 2] = [100, 3_000];
/// Minimum time between two answers to hellos, milliseconds: a recorded and repeated hello does not
/// disturb a handshake in progress.
pub const PAUSE: u64 = 150;
/// Limit of invalid answers to one hello: each costs two multiplications, and anyone can send some.
pub const WRONG: u32 = 8;
/// Divisor of the weight of new values, in the mean of signals.
const WEIGHT: i32 = 8;

/// A node whose beacon proves the secret, or that is accepted without.
#[derive(Debug)]
pub struct Peer {
    /// Element of the last beacon. `None`: the node is in clear.
    pub element: Option<Element>,
    /// Abilities of the node.
    pub abilities: Abilities,
    /// AID at the access point.
    pub aid: u16,
    /// Mean signal, in 256ths of a dBm.
    signal: Option<i32>,
    /// Time of the last beacon, or of a frame with the shared key.
    pub seen: u64,
    /// The name of its device.
    pub name: String,
    /// The handshake that is under way.
    pub call: CallState,
    /// Time of the next permitted hello, and the interval after it.
    pub again: (u64, u64),
    /// Last hello that was answered.
    pub answered: Option<AnsweredHello>,
    /// Link to the node in the kernel.
    pub link: Option<Link>,
    /// Time since which a peering exists, with any key.
    pub since: Option<u64>,
}

/// A handshake that is under way.
#[derive(Debug, Default)]
pub enum CallState {
    /// None is.
    #[default]
    None,
    /// Hello was said.
    Called(Box<SentHello>),
    /// A hello was answered.
    Answered(Session, Instance),
    /// The kernel is installing the node. `caller`: this side said hello.
    Installing {
        /// Result of the handshake; `None`: the node is in clear.
        session: Option<Session>,
        /// Which start of the other.
        instance: Option<Instance>,
        /// True if this side said hello.
        caller: bool,
    },
}

/// A sent hello, which is repeated unchanged: an answer to the first is an answer to all.
#[derive(Debug)]
pub struct SentHello {
    /// This side of the handshake.
    pub caller: Initiator,
    /// To which start of the other.
    pub instance: Instance,
    /// Number of verified answers.
    pub wrong: u32,
    /// The hello that was sent.
    pub hello: Vec<u8>,
}

/// An answered hello.
#[derive(Debug)]
pub struct AnsweredHello {
    /// Time of the answer.
    pub at: u64,
    /// Tag of the hello: no other hello has it.
    pub tag: [u8; TAG],
    /// The answer that was sent.
    pub answer: Vec<u8>,
}

/// A peer that is in the kernel.
#[derive(Debug)]
pub struct Link {
    /// Result of the handshake; `None`: the node is in clear.
    pub session: Option<Session>,
    /// Which start of the other.
    pub instance: Option<Instance>,
    /// True if this side said hello.
    pub caller: bool,
    /// Since when.
    pub since: u64,
    /// `None` once the other side uses its key, too; until then, the time of the last request. In
    /// clear: `None` while the node is active.
    pub confirmed: Option<u64>,
    /// Time at which this side last sent its confirmation.
    pub told: u64,
    /// Frames that the node did not acknowledge, at the last reading.
    pub failed: Option<u32>,
}

impl Link {
    /// Returns true if a confirmation is pending: a node without a key confirms nothing.
    pub fn is_asking(&self) -> bool {
        self.session.is_some() && self.confirmed.is_some()
    }
}

impl Peer {
    /// Creates a node at its first beacon.
    pub fn new(
        element: Option<Element>,
        abilities: Abilities,
        name: String,
        aid: u16,
        now: u64,
    ) -> Self {
        Self {
            element,
            abilities,
            aid,
            signal: None,
            seen: now,
            name,
            call: CallState::None,
            again: (now, AGAIN[0]),
            answered: None,
            link: None,
            since: None,
        }
    }

    /// Returns the mean signal, dBm, if known.
    pub fn signal(&self) -> Option<i32> {
        self.signal.map(|signal| signal.div_euclid(256))
    }

    /// Adds a beacon with its signal.
    pub fn heard(&mut self, signal: Option<i32>, now: u64) {
        self.seen = now;
        // Some drivers without a measurement report nonsense.
        let Some(new) = signal.filter(|signal| (-128..=0).contains(signal)) else {
            return;
        };
        let new = new * 256;
        let old = self.signal.unwrap_or(new);
        self.signal = Some(old + (new - old) / WEIGHT);
    }

    /// Returns true if the kernel has the node's current instance: the node has not restarted
    /// since.
    pub fn is_current(&self) -> bool {
        let now = self.element.map(|element| element.instance);
        self.link.as_ref().is_some_and(|link| link.instance == now)
    }

    /// Returns true if the node is in the kernel, or is being installed.
    pub fn is_in_kernel(&self) -> bool {
        self.link.is_some() || matches!(self.call, CallState::Installing { .. })
    }

    /// Returns the node as a party of a handshake. `None`: the node is in clear.
    pub fn party(&self, mac: Mac) -> Option<Party> {
        self.element.map(|element| Party {
            mac,
            instance: element.instance,
            public: element.public,
        })
    }

    /// Postpones the next hello, longer each time.
    pub fn postpone(&mut self, now: u64) {
        let [_, most] = AGAIN;
        let (_, pause) = self.again;
        self.again = (now + pause, (pause * 3 / 2).min(most));
    }

    /// Permits a hello at once, because something changed.
    pub fn hasten(&mut self, now: u64) {
        self.again = (now, AGAIN[0]);
    }
}
