//! Rates at which guests may try to log in: each pool has an allowance of its own.

use std::net::IpAddr;
use std::time::Duration;

use kernel::Mac;
use portal_core::attempts::Pool;
use web::throttle::{self, Allowance, Throttle};

/// Wrong attempts of one device, or with the voucher of one browser: 40 bits cannot be guessed with
/// them.
const EACH: Allowance = Allowance {
    burst: 5,
    every: Duration::from_secs(20),
};

/// Wrong attempts of all devices together: as many as a school class mistypes.
const ALL: Allowance = Allowance {
    burst: 300,
    every: Duration::from_millis(200),
};

/// Attempts, by pool.
pub struct Tries {
    codes: Throttle,
    accounts: Throttle,
    passwords: Throttle,
    known: throttle::Tries<u64>,
}

impl Default for Tries {
    fn default() -> Self {
        let [codes, accounts, passwords] = [(); 3].map(|()| Throttle::new(EACH, ALL));
        Self {
            codes,
            accounts,
            passwords,
            known: throttle::Tries::new(EACH),
        }
    }
}

impl Tries {
    /// Uses an attempt of a device, or returns how long to wait for one.
    pub fn take(&mut self, pool: Pool, mac: &Mac, now: Duration) -> Result<(), Duration> {
        match pool {
            Pool::Proven => Ok(()),
            Pool::Known(voucher) => self.known.take(voucher, now),
            Pool::Codes => self.codes.take(whose(mac), now),
            Pool::Accounts => self.accounts.take(whose(mac), now),
            Pool::Passwords => self.passwords.take(whose(mac), now),
        }
    }

    /// Gives back an attempt after a success.
    pub fn give_back(&mut self, pool: Pool, mac: &Mac) {
        match pool {
            Pool::Proven => {}
            Pool::Known(voucher) => self.known.give_back(voucher),
            Pool::Codes => self.codes.give_back(whose(mac)),
            Pool::Accounts => self.accounts.give_back(whose(mac)),
            Pool::Passwords => self.passwords.give_back(whose(mac)),
        }
    }
}

/// Maps a device to an IPv6 address of its own: the rate limits distinguish clients by network. All
/// addresses of a device map to one, and no two devices share one.
pub fn whose(mac: &Mac) -> IpAddr {
    let mut octets = [0; 16];
    octets[0] = 0xfd;
    octets[2..8].copy_from_slice(mac);
    IpAddr::from(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(number: u32) -> Mac {
        let [a, b, c, d] = number.to_be_bytes();
        [2, 0, a, b, c, d]
    }

    #[test]
    fn wrong_codes_of_made_up_devices_keep_no_proven_guest_out() {
        let (mut tries, mut let_in) = (Tries::default(), 0);
        // A minute: 50 wrong codes a second, each of a new device, and a guest every two seconds.
        for step in 0..3000_u32 {
            let now = Duration::from_millis(20) * step;
            let _ = tries.take(Pool::Codes, &device(step), now);
            if step % 100 != 99 {
                continue;
            }
            let guest = device(1 << 20 | step);
            for pool in [
                Pool::Proven,
                Pool::Known(u64::from(step)),
                Pool::Accounts,
                Pool::Passwords,
            ] {
                tries.take(pool, &guest, now).expect("an attempt");
                tries.give_back(pool, &guest);
                let_in += 1;
            }
        }
        assert_eq!(let_in, 4 * 30);
        // A limit remains: a code on paper waits with the guesses.
        let now = Duration::from_millis(59_990);
        let wait = tries.take(Pool::Codes, &device(u32::MAX), now);
        assert!(wait.is_err_and(|wait| wait <= ALL.every));
    }

    #[test]
    fn a_known_browser_guesses_no_more_than_a_device() {
        let (mut tries, now) = (Tries::default(), Duration::ZERO);
        let mut taken = 0..100;
        let taken = taken.by_ref();
        let taken =
            taken.take_while(|step| tries.take(Pool::Known(7), &device(*step), now).is_ok());
        assert_eq!(taken.count(), 5);
    }
}
