//! Who comes with an account.

use std::net::IpAddr;
use std::time::Duration;

use kernel::Mac;
use net::mac::text as mac_text;
use portal_core::account::{Terms, Verdict, is_name};
use portal_core::attempts::Pool;
use portal_core::page::Trouble;
use portal_core::voucher::{Origin, Voucher};
use tracing::info;

use super::{Keeper, seconds};
use runtime::daemon::Router;

/// What holds for all accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounts {
    /// Devices that are in at once by one of them.
    pub devices: usize,
    /// For how long one lets in, where nobody says.
    pub time: Duration,
}

/// Somebody who came with an account, while that is asked about.
#[derive(Clone, Debug)]
pub struct Asker {
    /// The device.
    pub mac: Mac,
    /// Where it is.
    pub address: IpAddr,
    /// What he is called, as he says.
    pub name: String,
}

impl Keeper {
    /// Somebody came with an account, which is to be asked about; `None`: he is in already.
    pub fn comes(
        &mut self,
        address: IpAddr,
        name: String,
        router: &Router,
    ) -> Result<Option<Asker>, Trouble> {
        self.are_open()?;
        let mac = self.device(address, router).ok_or(Trouble::Stranger)?;
        if self.guests.is_entitled(&mac) {
            return Ok(None);
        }
        let now = self.began.elapsed();
        let waits = self.tries.take(Pool::Accounts, &mac, now);
        waits.map_err(|wait| Trouble::Wait(seconds(wait)))?;
        Ok(Some(Asker { mac, address, name }))
    }

    /// What is said of an account; `None`: nothing.
    pub fn decide(
        &mut self,
        asker: Asker,
        verdict: Option<Verdict>,
        (accounts, router): (Accounts, &mut Router),
    ) -> Result<(), Trouble> {
        // No name stands in the log: nobody has to know who was here, and some type the password there.
        let mac = mac_text(&asker.mac);
        let terms = match verdict {
            Some(Verdict::Accept(terms)) => terms,
            Some(Verdict::Reject(said)) => {
                info!(mac, said, "an account is refused");
                return Err(Trouble::NotTheAccount);
            }
            Some(Verdict::Challenge) => {
                let said = "more than a password is asked for";
                info!(mac, said, "an account is refused");
                return Err(Trouble::NotTheAccount);
            }
            None => {
                self.tries.give_back(Pool::Accounts, &asker.mac);
                return Err(Trouble::Silent);
            }
        };
        self.tries.give_back(Pool::Accounts, &asker.mac);
        // Meanwhile the hours may be others, and the address another's.
        self.are_open()?;
        if self.device(asker.address, router) != Some(asker.mac) {
            return Err(Trouble::Stranger);
        }
        if self.guests.is_entitled(&asker.mac) {
            return Ok(());
        }
        let voucher = self.by_account(&asker, terms, accounts)?;
        self.grant(voucher, Some(accounts.devices), asker.mac, router)?;
        info!(mac, address = %asker.address, "let in by an account");
        Ok(())
    }

    fn by_account(
        &self,
        asker: &Asker,
        terms: Terms,
        accounts: Accounts,
    ) -> Result<Voucher, Trouble> {
        let time = terms.seconds.map_or(accounts.time.as_secs(), u64::from);
        if time == 0 || terms.bytes == Some(0) {
            let mac = mac_text(&asker.mac);
            info!(
                mac,
                "an account is accepted, for no time or no bytes: it lets nobody in"
            );
            return Err(Trouble::Spent);
        }
        let known = terms.name.filter(|name| is_name(name) && !name.is_empty());
        let asked = answers::NewVouchers {
            name: known.unwrap_or_else(|| asker.name.clone()),
            duration: Some(time),
            bytes: terms.bytes,
            rate: terms.rate,
            online: false,
            count: 1,
            devices: 1,
            until: None,
        };
        let voucher = self.make(&asked).map_err(|_| Trouble::Broken)?;
        Ok(Voucher {
            origin: Origin::Account,
            ..voucher
        })
    }
}
