//! Notes that nodes exchange about vouchers, in a file that may take any route and pass other
//! nodes: the seller, the node that admitted a device, the used time, revocations. A line for each
//! voucher and node, signed by that node.
//!
//! ```text
//! weir notes 1
//! b3Bl… {"node":"11qY…","voucher":"2224…","name":"room 7","noted":1790000000,…}
//! ```
//!
//! Lines come late, twice, in any order, and from nodes whose clocks are wrong: all nodes that know
//! the same lines reach the same state.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use kernel::Mac;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::keys::{PublicKey, Purpose, SecretKey, TrustedNode};
use crate::signed_voucher::SignedVoucher;
use crate::voucher::{DoubleUseKind, State, Voucher, VoucherDoubleUse};

/// First line of the file.
pub const HEAD: &str = "weir notes 1";
/// Bytes of the longest line that is read.
pub const LONGEST: usize = 8192;
/// Maximum number of devices in a note: the latest ones.
const USERS: usize = 64;
/// Bytes of the longest name.
const NAME: usize = 200;
/// Tolerated difference between clocks, in seconds.
const SLACK: i64 = 5;

/// Note of a node about a voucher. Times of day are seconds since 1970, by the clock of that node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The node.
    pub node: PublicKey,
    /// The voucher, as it was sold.
    pub voucher: SignedVoucher,
    /// Name of the voucher.
    #[serde(default)]
    pub name: String,
    /// Time of the note.
    pub noted: u64,
    /// Time of the first use, anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activated: Option<u64>,
    /// Time of the first admission by the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here: Option<u64>,
    /// Used time of the voucher, in milliseconds.
    #[serde(default)]
    pub used: Millis,
    /// Time when the voucher ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<u64>,
    /// Bytes that the node forwarded for it.
    #[serde(default)]
    pub moved: u64,
    /// Time of the revocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<u64>,
    /// Devices that the node lets in by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<Device>,
}

/// A device, as other nodes may know it: by a name without meaning for nodes that lack the voucher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Digest of the voucher and the device's hardware address.
    pub device: String,
    /// Start of the access.
    pub since: u64,
}

/// Reason to reject a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Not a line of this kind.
    #[error("not a voucher's note")]
    NotANote,
    /// The node of the note is not trusted.
    #[error("node {0} is not under `trust`")]
    Stranger(PublicKey),
    /// The node that sold the voucher is not trusted.
    #[error("voucher {0} was issued by a node that is not under `trust`")]
    Seller(String),
    /// The node did not sign this.
    #[error("invalid signature of node {0}")]
    Forged(PublicKey),
}

impl Note {
    /// Builds this node's note about a voucher with the used time `used`.
    pub fn of(
        voucher: &Voucher,
        (signed, used): (SignedVoucher, Millis),
        (node, wall): (PublicKey, u64),
    ) -> Self {
        let users = voucher.users.iter().rev().take(USERS);
        Self {
            node,
            voucher: signed,
            name: voucher.name.clone(),
            noted: wall,
            activated: voucher.activated,
            here: voucher.here,
            used,
            over: match voucher.state(used, wall) {
                State::Expired => voucher.over.or(Some(wall)),
                _ => None,
            },
            moved: voucher.moved,
            revoked: voucher.revoked,
            users: users
                .map(|user| Device {
                    device: device(&voucher.id, &user.mac),
                    since: user.since,
                })
                .collect(),
        }
    }

    /// Returns the line, signed, without its end.
    pub fn line(&self, key: &SecretKey) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        let signature = key.sign(Purpose::Note, text.as_bytes());
        format!("{} {text}", BASE64.encode(signature))
    }

    /// Parses a line without checking its signature.
    pub fn read(line: &str) -> Option<Self> {
        if line.len() > LONGEST {
            return None;
        }
        let (_, text) = line.split_once(' ')?;
        let note: Self = serde_json::from_str(text).ok()?;
        let fits = note.users.len() <= USERS
            && note.name.len() <= NAME
            && !note.name.chars().any(char::is_control)
            && note.noted < 1 << 40;
        fits.then_some(note)
    }

    /// Parses a line that one of these nodes signed, about a voucher that one of them sold.
    ///
    /// # Errors
    /// The line is malformed, its signature is wrong, or a node is not trusted.
    pub fn checked(line: &str, trusted: &[TrustedNode]) -> Result<Self, NoteError> {
        let note = Self::read(line).ok_or(NoteError::NotANote)?;
        if !trusted.iter().any(|node| node.key == note.node) {
            return Err(NoteError::Stranger(note.node));
        }
        let (signature, text) = line.split_once(' ').ok_or(NoteError::NotANote)?;
        let signature = BASE64.decode(signature).map_err(|_| NoteError::NotANote)?;
        if !note.node.signed(Purpose::Note, text.as_bytes(), &signature) {
            return Err(NoteError::Forged(note.node));
        }
        let keys = trusted.iter().map(|node| &node.key);
        match note.voucher.signer(keys) {
            Some(_) => Ok(note),
            None => Err(NoteError::Seller(note.voucher.id())),
        }
    }

    /// Returns true if this note supersedes another of the same node and voucher. Fields that only
    /// grow are compared first: the node's clock may have been wrong.
    pub fn is_newer(&self, other: &Self) -> bool {
        let order = |note: &Self| (note.revoked.is_some(), note.used, note.moved, note.noted);
        let same = Self {
            noted: other.noted,
            ..self.clone()
        } == *other;
        !same && order(self) > order(other)
    }
}

/// Returns a device's name in notes.
fn device(id: &str, mac: &Mac) -> String {
    let digest = digest(&SHA256, &[b"weir device 1\n", id.as_bytes(), mac].concat());
    net::hex::text(&digest.as_ref()[..8])
}

/// Reports whether two nodes admitted devices beyond the terms of a voucher. The number with each
/// note is its delay: the note took long, or the node's clock is wrong. The function reports only
/// double use that is certain in both cases.
pub fn double(voucher: &Voucher, one: (&Note, i64), two: (&Note, i64)) -> Option<VoucherDoubleUse> {
    let always = |holds: &dyn Fn(i64, i64) -> bool| {
        let shifts = [(0, 0), (one.1, 0), (0, two.1), (one.1, two.1)];
        shifts.iter().all(|(first, second)| holds(*first, *second))
    };
    let found = |how| VoucherDoubleUse {
        how,
        nodes: [one.0.node, two.0.node],
    };
    let began_after = |begun: (&Note, i64), over: (&Note, i64)| {
        let (Some(here), Some(end)) = (begun.0.here, over.0.over) else {
            return false;
        };
        here as i64 + begun.1 > end as i64 + over.1 + SLACK
    };
    let again = |first, second| {
        let (one, two) = ((one.0, first), (two.0, second));
        // A node that never admitted a device learned of the use from the other nodes.
        (one.0.here.is_some() && began_after(two, one))
            || (two.0.here.is_some() && began_after(one, two))
    };
    if always(&again) {
        return Some(found(DoubleUseKind::Again));
    }
    let others = two.0.users.iter();
    let others =
        others.filter(|theirs| !one.0.users.iter().any(|ours| ours.device == theirs.device));
    let all = one.0.users.len() + others.clone().count();
    if all <= voucher.devices as usize {
        return None;
    }
    let end = |note: &Note| note.over.map_or(note.noted, |over| over.min(note.noted)) as i64;
    let beside = |ours: &Device, theirs: &Device| {
        always(&|first, second| {
            let from = (ours.since as i64 + first).max(theirs.since as i64 + second);
            let to = (end(one.0) + first).min(end(two.0) + second);
            to - from > SLACK
        })
    };
    let mut others = others;
    others
        .any(|theirs| {
            one.0
                .users
                .iter()
                .any(|ours| ours.device != theirs.device && beside(ours, theirs))
        })
        .then(|| found(DoubleUseKind::Together))
}

#[cfg(test)]
mod tests;
