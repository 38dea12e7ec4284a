//! The generic netlink family `batadv` (`include/uapi/linux/batman_adv.h`): settings of a device in
//! a batman-adv mesh.

use crate::encode::{Encoder, NLM_F_ACK, NLM_F_REQUEST};

const VERSION: u8 = 1;
const CMD_SET_HARDIF: u8 = 16;

const ATTR_MESH_IFINDEX: u16 = 3;
const ATTR_HARD_IFINDEX: u16 = 6;
const ATTR_THROUGHPUT_OVERRIDE: u16 = 59;

/// Bits a second in a unit of throughput.
const UNIT: u64 = 100_000;

/// `BATADV_CMD_SET_HARDIF`: the throughput that B.A.T.M.A.N. V assumes for a device in `mesh`.
/// `None`: B.A.T.M.A.N. V measures it.
pub(crate) fn set_throughput(
    family: u16,
    mesh: u32,
    link: u32,
    bits: Option<u64>,
    sequence: u32,
) -> Vec<u8> {
    // 0 makes B.A.T.M.A.N. V measure.
    let units = |bits| u32::try_from(bits / UNIT).unwrap_or(u32::MAX).max(1);
    let units = bits.map_or(0, units);
    Encoder::single(family, NLM_F_REQUEST | NLM_F_ACK, sequence, |e| {
        e.fixed(&[CMD_SET_HARDIF, VERSION, 0, 0]);
        e.attribute(ATTR_MESH_IFINDEX, &mesh.to_ne_bytes());
        e.attribute(ATTR_HARD_IFINDEX, &link.to_ne_bytes());
        e.attribute(ATTR_THROUGHPUT_OVERRIDE, &units.to_ne_bytes());
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_octet_by_octet() {
        let told = |bits| {
            let request = set_throughput(35, 5, 7, bits, 9);
            assert_eq!(request[..4], 44u32.to_ne_bytes());
            assert_eq!(request[4..6], 35u16.to_ne_bytes());
            assert_eq!(request[6..8], 5u16.to_ne_bytes());
            assert_eq!(request[8..12], 9u32.to_ne_bytes());
            let expected: Vec<u8> = [
                &[16, 1, 0, 0][..],
                &[8, 0, 3, 0],
                &5u32.to_ne_bytes(),
                &[8, 0, 6, 0],
                &7u32.to_ne_bytes(),
                &[8, 0, 59, 0],
            ]
            .concat();
            assert_eq!(request[16..40], expected);
            u32::from_ne_bytes(request[40..].try_into().expect("four octets"))
        };
        assert_eq!(told(Some(26_300_000)), 263);
        assert_eq!(told(Some(99_999)), 1, "0 would be: look yourself");
        assert_eq!(told(Some(u64::MAX)), u32::MAX);
        assert_eq!(told(None), 0);
    }
}
