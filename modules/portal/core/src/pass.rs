//! Pass that a browser stores when its device logs in. With a pass, a device that has a new
//! hardware address, or is at another node, need not type a code again. The device keeps its own
//! slot among the voucher's devices.

use std::fmt;
use std::str::FromStr;

use net::digits::hexadecimal;

use crate::signed_voucher::{InvalidSignedVoucher, SignedVoucher};

/// A pass. As text: 16 hexadecimal digits, a full stop, the signed voucher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Number of the browser: random and unique.
    pub token: u64,
    /// The voucher, which any node can check.
    pub voucher: SignedVoucher,
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}.{}", self.token, self.voucher)
    }
}

impl FromStr for Pass {
    type Err = InvalidSignedVoucher;

    fn from_str(text: &str) -> Result<Self, InvalidSignedVoucher> {
        let (token, voucher) = text.split_once('.').ok_or(InvalidSignedVoucher)?;
        let token = hexadecimal(token).filter(|_| token.len() == 16);
        Ok(Self {
            token: token.ok_or(InvalidSignedVoucher)?,
            voucher: voucher.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;
    use crate::keys::SecretKey;
    use crate::voucher::Voucher;

    #[test]
    fn what_is_kept_is_known_again() {
        let key = SecretKey::new(&[1; 32]).expect("a key");
        let voucher = Voucher::new("00112233445566ff".to_owned(), Code::new([7; 5]), 5);
        let pass = Pass {
            token: 7,
            voucher: voucher.sign(&key).expect("signed"),
        };
        let text = pass.to_string();
        assert!(text.starts_with("0000000000000007."));
        assert_eq!(text.parse(), Ok(pass));
        for wrong in [
            "",
            ".",
            "7.",
            "+000000000000007.AAAA",
            &text[1..],
            &text[..180],
        ] {
            assert_eq!(wrong.parse::<Pass>(), Err(InvalidSignedVoucher), "{wrong}");
        }
    }
}
