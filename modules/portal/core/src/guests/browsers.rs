//! Devices by their browsers: those are known again when the hardware address is another.

use kernel::Mac;

use super::{Change, Guests};
use crate::Millis;

impl Guests {
    /// Number of the browser by which a device came in.
    pub fn token(&self, mac: &Mac) -> Option<u64> {
        let id = self.guests.get(mac)?.voucher.as_ref()?;
        let users = &self.vouchers.get(id)?.voucher.users;
        users.iter().find(|user| user.mac == *mac)?.token
    }

    /// A browser comes with another hardware address to a voucher: its former one makes room, and no
    /// other device does.
    pub fn moves(
        &mut self,
        id: &str,
        (mac, token): (Mac, u64),
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) {
        let Some(kept) = self.vouchers.get_mut(id) else {
            return;
        };
        let former = |user: &&crate::voucher::User| user.token == Some(token) && user.mac != mac;
        let former: Vec<Mac> = kept
            .voucher
            .users
            .iter()
            .filter(former)
            .map(|u| u.mac)
            .collect();
        kept.voucher
            .users
            .retain(|user| !former.contains(&user.mac));
        for mac in former {
            self.without(mac, id, when, out);
        }
    }

    /// A device came in by this browser.
    pub fn mark(&mut self, mac: Mac, token: u64, now: Millis, out: &mut Vec<Change>) {
        let Some(guest) = self.guests.get(&mac) else {
            return;
        };
        for id in guest.ids() {
            let Some(kept) = self.vouchers.get_mut(id) else {
                continue;
            };
            let mut users = kept.voucher.users.iter_mut();
            let user = users.find(|user| user.mac == mac && user.token != Some(token));
            if let Some(user) = user {
                user.token = Some(token);
                out.push(kept.noted(now));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::code::Code;
    use crate::voucher::Voucher;

    const WHEN: (Millis, u64) = (0, 1_700_000_000);
    const ID: &str = "00112233445566ff";

    fn come(guests: &mut Guests, last: u8, token: u64) -> Vec<Change> {
        let (mac, mut out) = ([2, 0, 0, 0, 0, last], Vec::new());
        guests.moves(ID, (mac, token), WHEN, &mut out);
        let at = IpAddr::from([10, 0, 0, last]);
        let came = guests.log_in((mac, at), Code::new([7; 5]), WHEN, &mut out);
        came.expect("let in");
        guests.mark(mac, token, 0, &mut out);
        out
    }

    /// The place of one that changed its address is its own: nobody else goes for it.
    #[test]
    fn a_browser_takes_its_own_place() {
        let sold = Voucher {
            duration: Some(3600),
            devices: 2,
            ..Voucher::new(ID.to_owned(), Code::new([7; 5]), WHEN.1)
        };
        let mut guests = Guests::new([sold], 0, &mut Vec::new());
        come(&mut guests, 1, 70);
        come(&mut guests, 2, 71);
        let out = come(&mut guests, 3, 71);
        assert!(out.contains(&Change::Refuse([2, 0, 0, 0, 0, 2])), "{out:?}");
        let inside: Vec<u8> = guests.guests().map(|(mac, _)| mac[5]).collect();
        assert_eq!(inside, [1, 3]);
        assert_eq!(guests.token(&[2, 0, 0, 0, 0, 3]), Some(71));
        assert_eq!(guests.token(&[2, 0, 0, 0, 0, 2]), None);
        // Of one that nobody knows, the one that came first makes room.
        come(&mut guests, 4, 72);
        let inside: Vec<u8> = guests.guests().map(|(mac, _)| mac[5]).collect();
        assert_eq!(inside, [3, 4]);
    }
}
