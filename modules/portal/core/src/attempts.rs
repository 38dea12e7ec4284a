//! Log-in attempts, and the allowances that they share: guesses of unauthenticated clients do not
//! use up the allowance of other guests.

use crate::pass::Pass;
use crate::signed_voucher::{SignedVoucher, Ticket};

/// Allowance that an attempt draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptClass {
    /// A signature proves the attempt. A guess cannot succeed, so the attempt needs no allowance.
    Proven,
    /// The browser proves that this voucher let it in before: the voucher's own allowance.
    Known(u64),
    /// A code typed on an unknown device: all such devices share an allowance.
    Codes,
    /// A name and a password.
    Accounts,
    /// The password that all guests have.
    Passwords,
}

/// Returns the pool of an attempt with a ticket, by the browser's stored pass. `is_signed`: a
/// trusted node signed the voucher.
pub fn pool(
    ticket: &Ticket,
    pass: Option<&Pass>,
    is_signed: impl Fn(&SignedVoucher) -> bool,
) -> AttemptClass {
    if let Ticket::Signed(signed) = ticket
        && is_signed(signed)
    {
        return AttemptClass::Proven;
    }
    // Not by the browser's number: the browser chooses that.
    match pass.filter(|pass| is_signed(&pass.voucher)) {
        Some(pass) => AttemptClass::Known(pass.voucher.number()),
        None => AttemptClass::Codes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;
    use crate::keys::SecretKey;
    use crate::voucher::Voucher;

    fn signed(id: &str, key: &SecretKey) -> SignedVoucher {
        let voucher = Voucher::new(id.to_owned(), Code::new([7; 5]), 5);
        voucher.sign(key).expect("signed")
    }

    #[test]
    fn only_what_is_proven_leaves_the_common_allowance() {
        let [own, foreign] = [1, 2].map(|seed| SecretKey::new(&[seed; 32]).expect("a key"));
        let public = own.public();
        let trusted = |voucher: &SignedVoucher| voucher.signer([&public]).is_some();
        let (good, forged) = (
            signed("00112233445566ff", &own),
            signed("00112233445566ff", &foreign),
        );
        let code = Ticket::Code(Code::new([9; 5]));
        let pass = |token, voucher| Pass { token, voucher };

        assert_eq!(
            pool(&Ticket::Signed(good), None, trusted),
            AttemptClass::Proven
        );
        assert_eq!(
            pool(&Ticket::Signed(forged), None, trusted),
            AttemptClass::Codes
        );
        assert_eq!(pool(&code, None, trusted), AttemptClass::Codes);
        assert_eq!(
            pool(&code, Some(&pass(1, forged)), trusted),
            AttemptClass::Codes
        );
        // Many browsers that claim one voucher share its allowance.
        let known = AttemptClass::Known(0x0011_2233_4455_66ff);
        assert_eq!(pool(&code, Some(&pass(1, good)), trusted), known);
        assert_eq!(pool(&code, Some(&pass(2, good)), trusted), known);
        let other = signed("00112233445566fe", &own);
        assert_ne!(pool(&code, Some(&pass(1, other)), trusted), known);
    }
}
