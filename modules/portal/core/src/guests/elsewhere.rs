//! Vouchers of other nodes, and what those tell of them.

use super::{Change, Guests, Refusal};
use crate::Millis;
use crate::keys::PublicKey;
use crate::notes::{self, Heard, Note};
use crate::signed::Signed;

impl Guests {
    /// Somebody came with a voucher that was signed elsewhere, and checked.
    pub fn present(&mut self, signed: &Signed, wall: u64) -> Result<String, Refusal> {
        let voucher = signed.voucher(wall);
        let (id, code) = (voucher.id.clone(), voucher.code);
        self.add(voucher);
        match self.vouchers.get(&id).map(|kept| kept.voucher.code) {
            Some(known) if known == code => Ok(id),
            _ => Err(Refusal::Unknown),
        }
    }

    /// Another node noted something of a voucher. Whether that was new.
    pub fn hear(
        &mut self,
        (note, line): (&Note, &str),
        (own, now, wall): (PublicKey, Millis, u64),
        out: &mut Vec<Change>,
    ) -> bool {
        if note.node == own {
            return false;
        }
        let Ok(id) = self.present(&note.voucher, note.noted) else {
            return false;
        };
        let Some(kept) = self.vouchers.get_mut(&id) else {
            return false;
        };
        let before = kept.voucher.elsewhere.get(&note.node);
        let before = before.and_then(|heard| Note::read(&heard.line));
        if before.is_some_and(|before| !note.is_newer(&before)) {
            return false;
        }
        kept.fold(now);
        let voucher = &mut kept.voucher;
        let heard = Heard {
            line: line.to_owned(),
            moved: note.moved,
            late: wall as i64 - note.noted as i64,
        };
        voucher.elsewhere.insert(note.node, heard);
        if voucher.signed.is_some() && voucher.name.is_empty() {
            voucher.name.clone_from(&note.name);
        }
        voucher.used = voucher.used.max(note.used);
        if let Some(activated) = note.activated {
            voucher.activated.get_or_insert(activated.min(wall));
        }
        let called_back = voucher.invalidated.is_none() && note.invalidated.is_some();
        if called_back {
            voucher.invalidated = note.invalidated;
            kept.since = None;
        } else if voucher.activated.is_some() && voucher.invalidated.is_none() && !voucher.online {
            kept.since.get_or_insert(now);
        }
        let voucher = &mut kept.voucher;
        let used = voucher.used;
        let own = Note::of(voucher, (note.voucher, used), (own, wall));
        voucher.double = voucher.double.or_else(|| {
            let others = voucher.elsewhere.values();
            let mut others = others.filter_map(|one| Some((Note::read(&one.line)?, one.late)));
            let found = |other: &(Note, i64)| {
                let (late, other) = (wall as i64 - note.noted as i64, (&other.0, other.1));
                notes::double(voucher, (note, late), other)
                    .filter(|_| other.0.node != note.node)
                    .or_else(|| notes::double(voucher, (&own, 0), other))
            };
            others.find_map(|other| found(&other))
        });
        let users = match called_back {
            true => std::mem::take(&mut voucher.users),
            false => voucher.users.clone(),
        };
        out.push(Change::Keep(Box::new(voucher.clone())));
        for user in users {
            match called_back {
                true => self.without(user.mac, &id, (now, wall), out),
                // They have less time than the kernel was told.
                false => self.tell(user.mac, now, out),
            }
        }
        true
    }
}
