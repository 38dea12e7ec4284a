//! Log-ins with an account.

use std::net::IpAddr;
use std::time::Duration;

use kernel::Mac;
use net::mac::text as mac_text;
use portal_core::account::{Terms, Verdict, is_name};
use portal_core::page::GuestProblem;
use portal_core::voucher::{Origin, Voucher};
use tracing::info;

use super::voucher_issue::make;

/// Settings for all accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounts {
    /// Devices that are in at once by one of them.
    pub devices: usize,
    /// Default duration of a log-in.
    pub time: Duration,
}

/// Guest whose account is being checked.
#[derive(Clone, Debug)]
pub struct PendingLogin {
    /// The device.
    pub mac: Mac,
    /// Current address of the device.
    pub address: IpAddr,
    /// Name that the guest typed.
    pub name: String,
}

impl PendingLogin {
    /// Returns the terms of an accepted log-in. The log omits the name: visits stay private, and
    /// some guests type the password there.
    pub fn terms(&self, verdict: Verdict) -> Result<Terms, GuestProblem> {
        let said = match verdict {
            Verdict::Accept(terms) => return Ok(terms),
            Verdict::Reject(said) => said,
            Verdict::Challenge => "the server asks for more than a password".to_owned(),
        };
        let mac = mac_text(&self.mac);
        info!(mac, said, "account refused");
        Err(GuestProblem::NotTheAccount)
    }

    /// Creates the voucher that admits the device on these terms.
    pub fn voucher(self, terms: Terms, accounts: Accounts) -> Result<Voucher, GuestProblem> {
        let time = terms.seconds.map_or(accounts.time.as_secs(), u64::from);
        if time == 0 || terms.bytes == Some(0) {
            let mac = mac_text(&self.mac);
            info!(mac, "account accepted without time or bytes: access denied");
            return Err(GuestProblem::Spent);
        }
        let known = terms.name.filter(|name| is_name(name) && !name.is_empty());
        let voucher = make().map_err(|_| GuestProblem::Broken)?;
        Ok(Voucher {
            name: known.unwrap_or(self.name),
            duration: Some(time),
            bytes: terms.bytes,
            rate: terms.rate,
            origin: Origin::Account,
            ..voucher
        })
    }
}
