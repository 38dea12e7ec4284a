//! Who comes with a code, and who goes.

use std::net::IpAddr;

use kernel::Mac;
use net::mac::text as mac_text;
use portal_core::attempts::{self, Pool};
use portal_core::guests::{Attempt, Refusal};
use portal_core::page::Trouble;
use portal_core::pass::Pass;
use portal_core::schedule::Mode;
use portal_core::signed::{Signed, Ticket};
use portal_core::voucher::Voucher;
use tracing::{info, warn};

use super::{Keeper, seconds};
use runtime::daemon::{Router, unix_seconds};

/// Devices of which is remembered that another browser was seen.
const MOST_OTHERS: usize = 1024;

impl Keeper {
    /// Somebody came with a code, or with a signed voucher.
    /// `pass`: what its browser had from before. What it is to keep from now on, if it fits.
    pub fn log_in(
        &mut self,
        address: IpAddr,
        (ticket, pass): (Ticket, Option<Pass>),
        router: &mut Router,
    ) -> Result<Option<Pass>, Trouble> {
        let Some(mac) = self.device(address, router) else {
            return Err(Trouble::Stranger);
        };
        self.are_open()?;
        let when = self.when();
        let is_signed = |voucher: &Signed| self.is_signed(voucher);
        let pool = attempts::pool(&ticket, pass.as_ref(), is_signed);
        if let Err(wait) = self.tries.take(pool, &mac, self.began.elapsed()) {
            return Err(Trouble::Wait(seconds(wait)));
        }
        let token = pass.map_or_else(number, |pass| Some(pass.token));
        self.compare(mac, pass, true);
        if matches!(ticket, Ticket::Signed(_)) && pool != Pool::Proven {
            return Err(Trouble::Foreign);
        }
        let addresses = [vec![address], self.addresses(mac, router)].concat();
        let attempt = Attempt {
            ticket,
            mac,
            addresses: &addresses,
            token,
        };
        let (key, changes) = (&self.node.key, &mut self.changes);
        let pass = self.guests.redeem(&attempt, key, when, changes)?;
        self.tries.give_back(pool, &mac);
        self.days.logged_in(&mac);
        let mac = mac_text(&mac);
        info!(mac, %address, "let in by a voucher");
        self.settle(router);
        Ok(pass)
    }

    /// Checks that a node of which vouchers hold here signed this one.
    fn is_signed(&self, voucher: &Signed) -> bool {
        let keys = self.node.trusted.iter().map(|node| &node.key);
        voucher.signer(keys).is_some()
    }

    /// Whether a signed voucher lets anybody in now.
    pub fn holds(&self, signed: &Signed) -> bool {
        let key = self.node.key.public();
        self.guests.holds(signed, &key, self.when()) && self.is_signed(signed)
    }

    /// A browser came from a device's address. Whether it is the one by which that was let in: if not,
    /// another device may have copied the hardware address.
    pub fn compare(&mut self, mac: Mac, pass: Option<Pass>, logs_in: bool) {
        let Some(known) = self.guests.token(&mac) else {
            return;
        };
        // One that brings nothing may be another program of the same device.
        let other = pass.map_or(logs_in, |pass| pass.token != known);
        if !other || self.others.len() >= MOST_OTHERS {
            return;
        }
        if self.others.insert(mac, unix_seconds()).is_none() {
            let mac = mac_text(&mac);
            warn!(
                mac,
                "another browser than the one that was let in came with this hardware address: two \
                    devices may have it"
            );
        }
    }

    /// Whether anybody gets in now.
    pub(super) fn are_open(&self) -> Result<(), Trouble> {
        match self.hours.mode {
            Mode::Closed => Err(Trouble::Closed(self.hours.lasts().map(seconds))),
            Mode::Vouchers | Mode::Open => Ok(()),
        }
    }

    /// Who has an address goes, by his own wish.
    pub fn leave(&mut self, address: IpAddr, router: &mut Router) {
        if let Some(mac) = self.device(address, router) {
            self.end(mac, router);
        }
    }

    /// A device goes. Whether it was let in.
    pub fn end(&mut self, mac: Mac, router: &mut Router) -> bool {
        let when = self.when();
        let ended = self.guests.end(mac, when, &mut self.changes);
        self.settle(router);
        ended
    }

    /// A voucher lets a device in, wherever that is. `None`: there is no such voucher.
    pub fn activate(
        &mut self,
        id: &str,
        mac: Mac,
        router: &mut Router,
    ) -> Option<Result<(), Trouble>> {
        let when = self.when();
        self.guests.voucher(id, when.0)?;
        let addresses = self.addresses(mac, router);
        let device = (mac, &*addresses);
        let admitted = self.guests.admit(device, id, when, &mut self.changes);
        Some(self.admitted(admitted, mac, router))
    }

    /// A voucher that nobody sold lets a device in. `devices`: so many may be in by its account.
    pub(super) fn grant(
        &mut self,
        voucher: Voucher,
        devices: Option<usize>,
        mac: Mac,
        router: &mut Router,
    ) -> Result<(), Trouble> {
        let (when, addresses) = (self.when(), self.addresses(mac, router));
        let (device, changes) = ((mac, &*addresses), &mut self.changes);
        let admitted = self.guests.grant(voucher, devices, device, when, changes);
        self.admitted(admitted, mac, router)
    }

    fn admitted(
        &mut self,
        admitted: Result<(), Refusal>,
        mac: Mac,
        router: &mut Router,
    ) -> Result<(), Trouble> {
        if admitted.is_ok() {
            self.days.logged_in(&mac);
        }
        self.settle(router);
        Ok(admitted?)
    }
}

/// A number that nobody else has; `None`: there are no random ones.
fn number() -> Option<u64> {
    let mut octets = [0; 8];
    getrandom::fill(&mut octets).ok()?;
    Some(u64::from_be_bytes(octets))
}

/// A device, as those who try are told apart: by network, of IPv6 addresses. All its addresses are
/// one, and no two devices are.
pub(super) fn whose(mac: &Mac) -> IpAddr {
    let mut octets = [0; 16];
    octets[0] = 0xfd;
    octets[2..8].copy_from_slice(mac);
    IpAddr::from(octets)
}
