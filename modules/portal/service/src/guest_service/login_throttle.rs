//! Rates at which guests may try to log in: each pool has an allowance of its own.

use std::net::IpAddr;
use std::time::Duration;

use kernel::Mac;
use portal_core::attempts::AttemptClass;
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
pub struct LoginThrottle {
    codes: Throttle,
    accounts: Throttle,
    passwords: Throttle,
    known: throttle::KeyedThrottle<u64>,
}

impl Default for LoginThrottle {
    fn default() -> Self {
        let [codes, accounts, passwords] = [(); 3].map(|()| Throttle::new(EACH, ALL));
        Self {
            codes,
            accounts,
            passwords,
            known: throttle::KeyedThrottle::new(EACH),
        }
    }
}

impl LoginThrottle {
    /// Uses an attempt of a device, or returns how long to wait for one.
    pub fn take(&mut self, pool: AttemptClass, mac: &Mac, now: Duration) -> Result<(), Duration> {
        match pool {
            AttemptClass::Proven => Ok(()),
            AttemptClass::Known(voucher) => self.known.take(voucher, now),
            AttemptClass::Codes => self.codes.take(client_address(mac), now),
            AttemptClass::Accounts => self.accounts.take(client_address(mac), now),
            AttemptClass::Passwords => self.passwords.take(client_address(mac), now),
        }
    }

    /// Refunds an attempt after a success.
    pub fn refund(&mut self, pool: AttemptClass, mac: &Mac) {
        match pool {
            AttemptClass::Proven => {}
            AttemptClass::Known(voucher) => self.known.refund(voucher),
            AttemptClass::Codes => self.codes.refund(client_address(mac)),
            AttemptClass::Accounts => self.accounts.refund(client_address(mac)),
            AttemptClass::Passwords => self.passwords.refund(client_address(mac)),
        }
    }
}

/// Maps a device to an IPv6 address of its own: the rate limits distinguish clients by network. All
/// addresses of a device map to one, and no two devices share one.
pub fn client_address(mac: &Mac) -> IpAddr {
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
        let (mut tries, mut let_in) = (LoginThrottle::default(), 0);
        // A minute: 50 wrong codes a second, each of a new device, and a guest every two seconds.
        for step in 0..3000_u32 {
            let now = Duration::from_millis(20) * step;
            let _ = tries.take(AttemptClass::Codes, &device(step), now);
            if step % 100 != 99 {
                continue;
            }
            let guest = device(1 << 20 | step);
            for pool in [
                AttemptClass::Proven,
                AttemptClass::Known(u64::from(step)),
                AttemptClass::Accounts,
                AttemptClass::Passwords,
            ] {
                tries.take(pool, &guest, now).expect("an attempt");
                tries.refund(pool, &guest);
                let_in += 1;
            }
        }
        assert_eq!(let_in, 4 * 30);
        // A limit remains: a code on paper waits with the guesses.
        let now = Duration::from_millis(59_990);
        let wait = tries.take(AttemptClass::Codes, &device(u32::MAX), now);
        assert!(wait.is_err_and(|wait| wait <= ALL.every));
    }

    #[test]
    fn a_known_browser_guesses_no_more_than_a_device() {
        let (mut tries, now) = (LoginThrottle::default(), Duration::ZERO);
        let mut taken = 0..100;
        let taken = taken.by_ref();
        let taken = taken.take_while(|step| {
            tries
                .take(AttemptClass::Known(7), &device(*step), now)
                .is_ok()
        });
        assert_eq!(taken.count(), 5);
    }
}
