//! Devices of who has an account.

use kernel::Mac;

use super::{Change, Guests, Millis};
use crate::voucher::Origin;

impl Guests {
    /// What somebody's account is called who has this device.
    pub fn account(&self, mac: &Mac) -> Option<&str> {
        let id = self.guests.get(mac)?.voucher.as_ref()?;
        let voucher = &self.vouchers.get(id)?.voucher;
        (voucher.origin == Origin::Account).then_some(&*voucher.name)
    }

    /// Makes room for one more device of an account, of which so many may be in at once: it ends for
    /// those that came first. What they have besides, such as a voucher, stays. Small and capital
    /// letters are the same.
    pub fn make_room(
        &mut self,
        account: &str,
        devices: usize,
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) {
        let account = account.to_lowercase();
        let all = self.vouchers.iter();
        let theirs = all.filter(|(_, kept)| {
            let voucher = &kept.voucher;
            voucher.origin == Origin::Account && voucher.name.to_lowercase() == account
        });
        let theirs = theirs.flat_map(|(id, kept)| {
            let users = kept.voucher.users.iter();
            users.map(|user| (user.since, user.mac, id.clone()))
        });
        let mut theirs: Vec<_> = theirs.collect();
        theirs.sort_unstable();
        let excess = (theirs.len() + 1).saturating_sub(devices);
        for (_, mac, id) in theirs.into_iter().take(excess) {
            let Some(kept) = self.vouchers.get_mut(&id) else {
                continue;
            };
            kept.voucher.users.retain(|user| user.mac != mac);
            kept.voucher.over.get_or_insert(when.1);
            out.push(kept.noted(when.0));
            kept.since = None;
            self.without(mac, &id, when, out);
            self.vouchers.remove(&id);
        }
    }
}
