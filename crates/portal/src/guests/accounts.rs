//! Devices of who has an account.

use kernel::Mac;

use super::Guests;
use crate::voucher::Origin;

impl Guests {
    /// What somebody's account is called who has this device.
    pub fn account(&self, mac: &Mac) -> Option<&str> {
        let id = self.guests.get(mac)?.voucher.as_ref()?;
        let voucher = &self.vouchers.get(id)?.voucher;
        (voucher.origin == Origin::Account).then_some(&*voucher.name)
    }

    /// Devices that are in by an account, the one that came first first. Small and capital letters are
    /// the same.
    pub fn devices_of(&self, account: &str) -> Vec<Mac> {
        let account = account.to_lowercase();
        let all = self.vouchers.values();
        let theirs = all.filter(|kept| {
            let voucher = &kept.voucher;
            voucher.origin == Origin::Account && voucher.name.to_lowercase() == account
        });
        let theirs = theirs.flat_map(|kept| {
            let users = kept.voucher.users.iter();
            users.map(|user| (user.since, user.mac))
        });
        let mut theirs: Vec<_> = theirs.collect();
        theirs.sort_unstable();
        theirs.into_iter().map(|(_, mac)| mac).collect()
    }
}
