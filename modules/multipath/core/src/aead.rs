//! The two ciphers, both of ring. A nonce is four bytes of zero and a counter of eight, big
//! endian.

use ring::aead::{AES_256_GCM, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Bytes that sealing adds to a message.
pub(crate) const TAG: usize = 16;

/// Cipher of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-256-GCM: several times faster where the processor has instructions for it.
    Aes256Gcm,
    /// ChaCha20-Poly1305 (RFC 8439): fast on every processor.
    ChaCha20Poly1305,
}

impl Cipher {
    /// Returns true if this processor has instructions for AES-GCM.
    pub fn aes_is_fast() -> bool {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        return std::arch::is_x86_feature_detected!("aes")
            && std::arch::is_x86_feature_detected!("pclmulqdq");
        #[cfg(target_arch = "aarch64")]
        return std::arch::is_aarch64_feature_detected!("aes")
            && std::arch::is_aarch64_feature_detected!("pmull");
        #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
        return false;
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Aes256Gcm => 1,
            Self::ChaCha20Poly1305 => 2,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Aes256Gcm),
            2 => Some(Self::ChaCha20Poly1305),
            _ => None,
        }
    }

    /// Creates a key to seal and open with. The caller must use each nonce for one message only.
    pub(crate) fn key(self, key: &[u8; 32]) -> LessSafeKey {
        let algorithm = match self {
            Self::Aes256Gcm => &AES_256_GCM,
            Self::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        };
        LessSafeKey::new(UnboundKey::new(algorithm, key).expect("both take keys of 32 bytes"))
    }
}

pub(crate) fn nonce(counter: u64) -> Nonce {
    let mut octets = [0; 12];
    octets[4..].copy_from_slice(&counter.to_be_bytes());
    Nonce::assume_unique_for_key(octets)
}
