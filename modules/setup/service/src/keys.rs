//! Keys and hashes for choices, generated if missing.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use curve25519_dalek::montgomery::MontgomeryPoint;

/// A pair of keys of `WireGuard` (RFC 7748), in Base64.
pub struct Pair {
    pub private: String,
    pub public: String,
}

/// Returns random bytes.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut octets = [0; N];
    getrandom::fill(&mut octets).map_err(io::Error::other)?;
    Ok(octets)
}

/// Makes a pair.
pub fn pair() -> io::Result<Pair> {
    let mut private = random::<32>()?;
    // As `wg genkey` writes it.
    private[0] &= 248;
    private[31] = private[31] & 127 | 64;
    Ok(Pair {
        public: public_of(private),
        private: STANDARD.encode(private),
    })
}

fn public_of(private: [u8; 32]) -> String {
    STANDARD.encode(MontgomeryPoint::mul_base_clamped(private).to_bytes())
}

/// Returns the public key of a private one.
pub fn public(private: &str) -> Option<String> {
    let octets: [u8; 32] = STANDARD.decode(private).ok()?.try_into().ok()?;
    Some(public_of(octets))
}

/// Returns the hash of a password, in the form of crypt(3): SHA-512, 5000 rounds.
pub fn hash(password: &str) -> io::Result<String> {
    const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let salt = random::<16>()?.map(|octet| DIGITS[usize::from(octet & 63)]);
    let hash = hash_with(password, &salt)?;
    Ok(format!("$6${}${hash}", String::from_utf8_lossy(&salt)))
}

fn hash_with(password: &str, salt: &[u8]) -> io::Result<String> {
    let rounds = sha_crypt::Sha512Params::new(sha_crypt::ROUNDS_DEFAULT)
        .map_err(|error| io::Error::other(format!("{error:?}")))?;
    sha_crypt::sha512_crypt_b64(password.as_bytes(), salt, &rounds)
        .map_err(|error| io::Error::other(format!("{error:?}")))
}

#[cfg(test)]
mod tests {
    use super::{hash, hash_with, pair, public};

    #[test]
    fn hashes_are_those_of_crypt() {
        // Of SHA-crypt's specification (U. Drepper, 0.6).
        assert_eq!(
            hash_with("Hello world!", b"saltstring").unwrap(),
            "svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
        );
        assert!(hash("a").unwrap().starts_with("$6$"));
        assert_ne!(hash("a").unwrap(), hash("a").unwrap());
    }

    #[test]
    fn public_keys_are_those_of_wg() {
        // RFC 7748, section 6.1: Alice's.
        let private = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
        let alice = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
        assert_eq!(public(private).as_deref(), Some(alice));
        let made = pair().unwrap();
        assert_eq!(public(&made.private), Some(made.public));
        assert_eq!(public("x"), None);
    }
}
