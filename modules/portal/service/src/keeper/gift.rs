//! Ways in without a voucher, for a while.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use portal_core::attempts::Pool;
use portal_core::form::Password;
use portal_core::page::Trouble;
use portal_core::voucher::{Origin, Voucher};

use super::{Keeper, seconds};
use runtime::daemon::Router;

/// For so long a page is read.
const READING: Duration = Duration::from_secs(15);

/// Devices of which is remembered when they came; there are seldom as many at once.
const MOST_SEEN: usize = 8192;

/// What is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gift {
    /// For how long.
    pub time: Duration,
    /// How long after its end again.
    pub pause: Duration,
    /// Bits a second that each device may send, and get.
    pub rate: Option<u64>,
    /// The page is to be read first.
    pub read: bool,
    /// It takes this password.
    pub password: Option<Password>,
}

impl Keeper {
    /// Somebody sees the page. For how many seconds anybody is let in without a voucher, and whether
    /// that takes a password.
    pub fn visited(&mut self, address: IpAddr, router: &Router) -> Option<(u64, bool)> {
        let gift = self.gift?;
        let mac = self.device(address, router)?;
        if self.visits.len() >= MOST_SEEN {
            let now = Instant::now();
            let rests = |end: &Option<Instant>| end.is_some_and(|end| end + gift.pause > now);
            self.visits.retain(|_, (_, end)| rests(end));
        }
        if self.visits.len() < MOST_SEEN {
            self.visits.entry(mac).or_insert((Instant::now(), None));
        }
        Some((gift.time.as_secs(), gift.password.is_some()))
    }

    /// Somebody wants what is free.
    pub fn give(
        &mut self,
        address: IpAddr,
        password: &str,
        router: &mut Router,
    ) -> Result<(), Trouble> {
        let Some(gift) = self.gift else {
            return Err(Trouble::Broken);
        };
        self.are_open()?;
        let Some(mac) = self.device(address, router) else {
            return Err(Trouble::Stranger);
        };
        // Who is in has no need of it.
        if self.guests.guest(&mac).is_some() {
            return Ok(());
        }
        if let Some(wanted) = gift.password {
            let now = self.began.elapsed();
            let waits = self.tries.take(Pool::Passwords, &mac, now);
            waits.map_err(|wait| Trouble::Wait(seconds(wait)))?;
            if Password::new(password) != wanted {
                return Err(Trouble::NotThePassword);
            }
            self.tries.give_back(Pool::Passwords, &mac);
        }
        let Some((first, end)) = self.visits.get(&mac).copied() else {
            return Err(Trouble::Read(seconds(READING)));
        };
        let now = Instant::now();
        if let Some(end) = end.map(|end| end + gift.pause).filter(|end| *end > now) {
            return Err(Trouble::Rest(seconds(end - now)));
        }
        let read = first.elapsed();
        if gift.read && read < READING {
            return Err(Trouble::Read(seconds(READING - read)));
        }
        let asked = answers::NewVouchers {
            name: String::new(),
            duration: Some(gift.time.as_secs()),
            bytes: None,
            rate: gift.rate,
            online: false,
            count: 1,
            devices: 1,
            until: None,
        };
        let Ok(voucher) = self.make(&asked) else {
            return Err(Trouble::Broken);
        };
        let free = Voucher {
            origin: Origin::Free,
            ..voucher
        };
        self.grant(free, None, mac, router)?;
        self.visits.insert(mac, (now, Some(now + gift.time)));
        Ok(())
    }
}
