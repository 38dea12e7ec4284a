//! Resolution of neighbours' addresses.

use std::io;
use std::net::IpAddr;

use super::socket::{Netlink, Socket};
use crate::encode::NLM_F_CREATE;
use crate::encode::{Encoder, NLM_F_REQUEST};
use crate::rtnetlink::{NDA_DST, RTM_NEWNEIGH};

const NTF_USE: u8 = 1;

/// Makes the kernel resolve these addresses on a device, as if it had a packet for each. An event
/// reports the result ([`crate::Event::Neighbour`]).
///
/// # Errors
/// The socket cannot be used: no CAP_NET_ADMIN.
pub fn resolve_neighbours(link: u32, addresses: &[IpAddr]) -> io::Result<()> {
    let mut encoder = Encoder::default();
    for address in addresses {
        let (family, octets) = match address {
            IpAddr::V4(address) => (2, address.octets().to_vec()),
            IpAddr::V6(address) => (10, address.octets().to_vec()),
        };
        encoder.message(RTM_NEWNEIGH, NLM_F_REQUEST | NLM_F_CREATE, 1, |e| {
            // ndmsg: family, index, state (none), flags, type.
            let mut fixed = [0; 12];
            fixed[0] = family;
            fixed[4..8].copy_from_slice(&link.to_ne_bytes());
            fixed[10] = NTF_USE;
            e.fixed(&fixed);
            e.attribute(NDA_DST, &octets);
        });
    }
    Socket::open(Netlink::Route, 0, 0)?.send(&encoder.finish())
}
