//! Sets of the table, and their elements.

use std::fmt::Write;
use std::net::IpAddr;

use kernel::Mac;
use net::mac::text as mac_text;

/// The table, of family `inet`.
pub const TABLE: &str = "weir_portal";
/// Sets of a hardware address with an address: IPv4, IPv6.
pub const PAIRS: [&str; 2] = ["pairs4", "pairs6"];
/// Sets of addresses of admitted devices: IPv4, IPv6.
pub const ADDRESSES: [&str; 2] = ["guests4", "guests6"];
/// Set of hardware addresses of admitted devices.
pub const DEVICES: &str = "macs";

/// An element of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Name of the set.
    pub set: &'static str,
    /// Key in the form of the kernel: in network byte order; of several parts each is filled with
    /// zeros to a multiple of 4 bytes.
    pub key: Vec<u8>,
    /// The element in the syntax of `nft`.
    pub text: String,
}

impl Element {
    /// Returns the element of a device.
    pub fn device(mac: &Mac) -> Self {
        Self {
            set: DEVICES,
            key: mac.to_vec(),
            text: mac_text(mac),
        }
    }

    /// Returns the elements of a device with an address: the pair, and the address alone.
    pub fn address(mac: &Mac, address: IpAddr) -> [Self; 2] {
        let (family, octets) = match address {
            IpAddr::V4(address) => (0, address.octets().to_vec()),
            IpAddr::V6(address) => (1, address.octets().to_vec()),
        };
        [
            Self {
                set: PAIRS[family],
                key: [filled(mac), octets.clone()].concat(),
                text: format!("{} . {address}", mac_text(mac)),
            },
            Self {
                set: ADDRESSES[family],
                key: octets,
                text: address.to_string(),
            },
        ]
    }
}

fn filled(mac: &Mac) -> Vec<u8> {
    let mut octets = mac.to_vec();
    octets.resize(8, 0);
    octets
}

/// Writes the commands that add elements to a set or map.
pub(crate) fn elements(text: &mut String, set: &str, all: &[String]) {
    for some in all.chunks(256) {
        let _ = writeln!(
            text,
            "add element inet {TABLE} {set} {{ {} }}",
            some.join(", ")
        );
    }
}
