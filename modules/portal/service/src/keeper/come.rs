//! Who comes with a code, and who goes.

use std::net::IpAddr;

use kernel::Mac;
use net::mac::text as mac_text;
use portal_core::Millis;
use portal_core::attempts::{self, Pool};
use portal_core::guests::Refusal;
use portal_core::page::Trouble;
use portal_core::pass::Pass;
use portal_core::schedule::Mode;
use portal_core::signed::{Signed, Ticket};
use portal_core::voucher::State;
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
        let (now, wall) = self.when();
        let is_signed = |voucher: &Signed| self.is_signed(voucher);
        let pool = attempts::pool(&ticket, pass.as_ref(), is_signed);
        if let Err(wait) = self.tries.take(pool, &mac, self.began.elapsed()) {
            return Err(Trouble::Wait(seconds(wait)));
        }
        let token = pass.map_or_else(number, |pass| Some(pass.token));
        self.compare(mac, pass, true);
        let come = (mac, address, token);
        let came = match ticket {
            Ticket::Code(code) => {
                let id = self.guests.coded(&code).map(str::to_owned);
                let id = id.ok_or(Refusal::Unknown);
                id.and_then(|id| self.come(come, &id, (now, wall)))
            }
            Ticket::Former(_) if !self.guests.has_formers() => return Err(Trouble::NoCode),
            Ticket::Former(former) => {
                let id = self.guests.former(&former).map(str::to_owned);
                let id = id.ok_or(Refusal::Unknown);
                id.and_then(|id| self.come(come, &id, (now, wall)))
            }
            Ticket::Signed(signed) => {
                if pool != Pool::Proven {
                    return Err(Trouble::Foreign);
                }
                let own = self.guests.voucher(&signed.id(), now).is_some();
                let signed_here = signed.hint() == self.node.key.public().hint();
                // What was sold here and is not known here any more is nobody's.
                let known = match own || !signed_here {
                    true => self.guests.present(&signed, wall),
                    false => Err(Refusal::Unknown),
                };
                known.and_then(|id| self.come(come, &id, (now, wall)))
            }
        };
        match came {
            Ok(()) => {
                self.tries.give_back(pool, &mac);
                self.days.logged_in(&mac);
            }
            Err(refusal) => return Err(refusal.into()),
        }
        self.find(mac, router);
        let pass = token.and_then(|token| self.pass(&mac, token));
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
        let known = self.guests.voucher(&signed.id(), self.now());
        let is_good = known.map(|(voucher, used)| {
            let state = voucher.state(used, unix_seconds());
            matches!(state, State::Available | State::Active)
        });
        let signed_here = signed.hint() == self.node.key.public().hint();
        is_good.unwrap_or(!signed_here) && self.is_signed(signed)
    }

    /// What the browser of a device that is let in is to keep.
    fn pass(&self, mac: &Mac, token: u64) -> Option<Pass> {
        let guest = self.guests.guest(mac)?;
        let (voucher, _) = self.guests.voucher(guest.voucher.as_ref()?, self.now())?;
        let signed = voucher.signed;
        let voucher = signed.or_else(|| Signed::of(voucher, &self.node.key))?;
        Some(Pass { token, voucher })
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

    fn come(
        &mut self,
        (mac, address, token): (Mac, IpAddr, Option<u64>),
        id: &str,
        when: (Millis, u64),
    ) -> Result<(), Refusal> {
        if let Some(token) = token {
            self.guests.moves(id, (mac, token), when, &mut self.changes);
        }
        self.guests.admit(mac, id, when, &mut self.changes)?;
        self.guests.seen(mac, address, when.0, &mut self.changes);
        if let Some(token) = token {
            self.guests.mark(mac, token, when.0, &mut self.changes);
        }
        Ok(())
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
        let admitted = self.guests.admit(mac, id, when, &mut self.changes);
        let answered = match admitted {
            Ok(()) => {
                self.days.logged_in(&mac);
                self.find(mac, router);
                Ok(())
            }
            Err(refusal) => Err(refusal.into()),
        };
        self.settle(router);
        Some(answered)
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
