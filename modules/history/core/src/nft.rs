//! The rules that keep devices from the network, as text for `nft -f -`: pure.
//!
//! The rules are in a table of weir's own, so that foreign rules stay untouched. The table drops
//! *forwarded* packets: those from the device by its hardware address, those to the device by its
//! addresses. The router itself stays reachable, with the page that explains the block. A changed
//! set is a new generation of the ruleset: it ends the proofs of flows that weir forwards itself,
//! and dropped flows never prove again.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Mac;

/// Name of the table, of family `inet`.
pub const TABLE: &str = "weir_quota";

/// Devices blocked from the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Hardware addresses.
    pub macs: BTreeSet<Mac>,
    /// IPv4 addresses of the devices.
    pub ipv4: BTreeSet<Ipv4Addr>,
    /// IPv6 addresses of the devices.
    pub ipv6: BTreeSet<Ipv6Addr>,
}

impl Cut {
    /// Creates the cut of these devices, with their present addresses. Leaves out addresses that no
    /// single device can have.
    pub fn new(
        macs: impl IntoIterator<Item = Mac>,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Self {
        let mut cut = Self {
            macs: macs.into_iter().collect(),
            ..Self::default()
        };
        for address in addresses {
            match address {
                _ if address.is_unspecified()
                    || address.is_loopback()
                    || address.is_multicast() => {}
                IpAddr::V4(address) if address.is_broadcast() => {}
                IpAddr::V4(address) => {
                    cut.ipv4.insert(address);
                }
                IpAddr::V6(address) => {
                    cut.ipv6.insert(address);
                }
            }
        }
        cut
    }

    /// Returns true if no device is blocked.
    pub fn is_empty(&self) -> bool {
        self.macs.is_empty() && self.ipv4.is_empty() && self.ipv6.is_empty()
    }
}

/// Creates the table, replacing a table of an earlier weir.
pub fn create(cut: &Cut) -> String {
    let mut text = remove();
    text += "table inet weir_quota {\n";
    for (name, kind, elements) in sets(cut) {
        let _ = write!(text, "\tset {name} {{\n\t\ttype {kind}\n");
        if !elements.is_empty() {
            let _ = writeln!(text, "\t\telements = {{ {elements} }}");
        }
        text += "\t}\n";
    }
    text += concat!(
        "\tchain forward {\n",
        "\t\ttype filter hook forward priority filter - 5; policy accept;\n",
        "\t\tether saddr @cut drop\n",
        "\t\tip daddr @cut4 drop\n",
        "\t\tip6 daddr @cut6 drop\n",
        "\t}\n}\n"
    );
    text
}

/// Replaces the blocked devices, at once for all three sets. Fails if the table was removed (`flush
/// ruleset`): then [`create`] the table.
pub fn update(cut: &Cut) -> String {
    let mut text = String::new();
    for (name, _, elements) in sets(cut) {
        let _ = writeln!(text, "flush set inet weir_quota {name}");
        if !elements.is_empty() {
            let _ = writeln!(text, "add element inet weir_quota {name} {{ {elements} }}");
        }
    }
    text
}

/// Removes the table, whether it is there or not.
pub fn remove() -> String {
    // `delete` fails without a table, and `destroy` is unknown before nftables 1.0.7.
    "table inet weir_quota\ndelete table inet weir_quota\n".to_owned()
}

fn sets(cut: &Cut) -> [(&'static str, &'static str, String); 3] {
    fn list(elements: impl Iterator<Item = String>) -> String {
        elements.collect::<Vec<_>>().join(", ")
    }
    let macs = cut.macs.iter().map(net::mac::text);
    [
        ("cut", "ether_addr", list(macs)),
        (
            "cut4",
            "ipv4_addr",
            list(cut.ipv4.iter().map(Ipv4Addr::to_string)),
        ),
        (
            "cut6",
            "ipv6_addr",
            list(cut.ipv6.iter().map(Ipv6Addr::to_string)),
        ),
    ]
}
