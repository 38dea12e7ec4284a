//! Checksums twice: in full (RFC 1071), and updated function by function as in the kernel, so that
//! tests can compare even which of the two zeros results.

/// Computes the one's complement sum of bytes as 16-bit words in network order, folded.
pub fn sum(octets: &[u8]) -> u16 {
    let words = octets
        .chunks(2)
        .map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0)));
    fold(words.sum())
}

pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The kernel's arithmetic on checksums (include/net/checksum.h, net/core/utils.c,
/// include/net/ip.h), on words as they lie in memory.
pub mod kernel_way {
    fn csum_add(a: u32, b: u32) -> u32 {
        let (sum, carry) = a.overflowing_add(b);
        sum.wrapping_add(u32::from(carry))
    }

    fn csum_sub(a: u32, b: u32) -> u32 {
        csum_add(a, !b)
    }

    fn csum_fold(mut sum: u32) -> u16 {
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        !(sum as u16)
    }

    /// `csum_replace4`: for addresses of IPv4.
    pub fn csum_replace4(check: &mut u16, from: u32, to: u32) {
        let partial = csum_sub(!u32::from(*check), from);
        *check = csum_fold(csum_add(partial, to));
    }

    /// `inet_proto_csum_replace4` without checksum offload, and `inet_proto_csum_replace2` of a
    /// port.
    pub fn inet_proto_csum_replace4(check: &mut u16, from: u32, to: u32) {
        csum_replace4(check, from, to);
    }

    /// `inet_proto_csum_replace16`: for addresses of IPv6. `csum_partial` over ~from and to.
    pub fn inet_proto_csum_replace16(check: &mut u16, from: [u32; 4], to: [u32; 4]) {
        let mut sum = !u32::from(*check);
        for word in from.map(|w| !w).into_iter().chain(to) {
            sum = csum_add(sum, word);
        }
        *check = csum_fold(sum);
    }

    /// `ip_decrease_ttl`.
    pub fn ip_decrease_ttl(check: &mut u16) {
        let sum = u32::from(*check) + u32::from(0x0100u16.to_be());
        *check = (sum + u32::from(sum >= 0xffff)) as u16;
    }
}
