//! Identity of this node: its key, trusted nodes, and the notes that nodes exchange.

use std::io;
use std::path::Path;
use std::sync::Arc;

use portal_core::Millis;
use portal_core::guests::Guests;
use portal_core::keys::{PublicKey, SecretKey, TrustedNode};
use portal_core::notes::Note;
use portal_core::signed_voucher::SignedVoucher;
use portal_core::voucher::Voucher;

use runtime::secret::seed;

/// Node and its trusted nodes.
pub struct Node {
    pub key: Arc<SecretKey>,
    /// Itself first.
    pub trusted: Vec<TrustedNode>,
}

impl Node {
    pub fn new(key: SecretKey, trust: &[TrustedNode]) -> Self {
        let mut node = Self {
            key: Arc::new(key),
            trusted: Vec::new(),
        };
        node.trust(trust);
        node
    }

    /// Trusts these from now on, and itself.
    pub fn trust(&mut self, trust: &[TrustedNode]) {
        let own = TrustedNode {
            key: self.key.public(),
            name: "this node".to_owned(),
        };
        self.trusted = std::iter::once(own).chain(trust.iter().cloned()).collect();
    }

    /// Returns the name of a node.
    pub fn name(&self, key: &PublicKey) -> String {
        let known = self.trusted.iter().find(|node| node.key == *key);
        let name = known.map(|node| node.name.clone());
        name.filter(|name| !name.is_empty())
            .unwrap_or_else(|| key.to_string())
    }

    /// Returns the name of a voucher's seller, if that node is still trusted.
    pub fn seller(&self, signed: &SignedVoucher) -> String {
        let known = self.trusted.iter().find(|n| n.key.hint() == signed.hint());
        known.map_or_else(|| "a former node".to_owned(), |node| self.name(&node.key))
    }

    /// Checks that a node of which vouchers hold here signed this one.
    pub fn is_signed(&self, voucher: &SignedVoucher) -> bool {
        let keys = self.trusted.iter().map(|node| &node.key);
        voucher.signer(keys).is_some()
    }

    /// Returns notes for other nodes about these vouchers and their used time, as work that may
    /// take a while: signed lines.
    pub fn export_notes(
        &self,
        all: Vec<(Voucher, Millis)>,
        wall: u64,
    ) -> impl FnOnce() -> Vec<String> + Send + use<> {
        let key = Arc::clone(&self.key);
        move || {
            let mut lines = Vec::new();
            for (voucher, used) in all {
                let signed = voucher.signed;
                // Other nodes report the facts that this node only learned from them.
                let own = voucher.here.is_some() || voucher.revoked.is_some();
                if (own || signed.is_none())
                    && let Some(signed) = signed.or_else(|| voucher.sign(&key))
                {
                    let note = Note::of(&voucher, (signed, used), (key.public(), wall));
                    lines.push(note.line(&key));
                }
                lines.extend(voucher.elsewhere.into_values().map(|heard| heard.line));
            }
            lines
        }
    }

    /// Verifies lines of other nodes, as work that may take a while.
    pub fn verify_notes(
        &self,
        lines: Vec<String>,
        guests: &Guests,
    ) -> impl FnOnce() -> VerifiedNotes + Send + use<> {
        let trusted = self.trusted.clone();
        let before = lines.len();
        let is_known = |line: &String| {
            let note = Note::read(line);
            let known = note.and_then(|note| {
                let (voucher, _) = guests.voucher(&note.voucher.id(), 0)?;
                let heard = voucher.elsewhere.get(&note.node)?;
                Some(heard.line == *line)
            });
            known == Some(true)
        };
        let lines: Vec<_> = lines.into_iter().filter(|line| !is_known(line)).collect();
        let known = (before - lines.len()) as u64;
        move || {
            let mut looked = VerifiedNotes {
                notes: Vec::new(),
                known,
                refused: Vec::new(),
            };
            for line in lines {
                match Note::checked(&line, &trusted) {
                    Ok(note) => looked.notes.push((note, line)),
                    Err(bad) => looked.refused.push(bad.to_string()),
                }
            }
            looked.refused.sort();
            looked.refused.dedup();
            looked
        }
    }
}

/// Reads the key from a file, and creates a missing file. To be called with all rights.
///
/// # Errors
/// The file cannot be read or written, or holds no key.
pub fn key(path: &Path) -> io::Result<SecretKey> {
    let none = |_| io::Error::new(io::ErrorKind::InvalidData, "no key in this file");
    SecretKey::new(&seed(path)?).map_err(none)
}

/// Verified notes of other nodes.
pub struct VerifiedNotes {
    pub notes: Vec<(Note, String)>,
    pub known: u64,
    pub refused: Vec<String>,
}
