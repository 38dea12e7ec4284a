//! Names of devices, and their sources.

use std::collections::HashMap;
use std::net::IpAddr;

use kernel::Mac;

use super::bounded::Bounded;
use super::name_file::NameEntry;

/// Maximum number of devices whose own statements are stored.
const MOST_SPEAKERS: usize = 1024;

/// Source of a device's name. The first source in this order wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// weir's configuration.
    Configuration,
    /// A user, on weir's page or by its command line.
    User,
    /// `/etc/ethers`, in which only who runs the router writes.
    Ethers,
    /// A DHCP server's file of leases.
    Lease,
    /// A DHCP message that was seen.
    Dhcp,
    /// `/etc/hosts`.
    Hosts,
    /// The device itself, by multicast DNS.
    Mdns,
}

impl Source {
    /// All sources, in order of trust.
    pub const ALL: [Self; 7] = [
        Self::Configuration,
        Self::User,
        Self::Ethers,
        Self::Lease,
        Self::Dhcp,
        Self::Hosts,
        Self::Mdns,
    ];

    /// Returns the source's name in the API. All leases have one name, wherever weir read them.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::User => "given",
            Self::Ethers => "ethers",
            Self::Lease | Self::Dhcp => "lease",
            Self::Hosts => "hosts",
            Self::Mdns => "mdns",
        }
    }
}

/// Names by source.
#[derive(Debug)]
pub(super) struct Devices {
    files: HashMap<Source, SourceNames>,
    dhcp: Bounded<Mac, String>,
    mdns: Bounded<Mac, String>,
    /// Addresses of devices from `/etc/ethers`, in addition to those that the kernel knows.
    fixed: HashMap<Mac, IpAddr>,
}

/// All names that a source listed last.
#[derive(Debug, Default)]
struct SourceNames {
    macs: HashMap<Mac, String>,
    addresses: HashMap<IpAddr, String>,
}

impl Devices {
    pub(super) fn new() -> Self {
        Self {
            files: HashMap::new(),
            dhcp: Bounded::new(MOST_SPEAKERS),
            mdns: Bounded::new(MOST_SPEAKERS),
            fixed: HashMap::new(),
        }
    }

    /// Replaces all names of a source.
    pub(super) fn replace(&mut self, source: Source, known: impl IntoIterator<Item = NameEntry>) {
        // Names from packets are never a complete list.
        if matches!(source, Source::Dhcp | Source::Mdns) {
            return;
        }
        let mut told = SourceNames::default();
        let mut fixed = HashMap::new();
        for NameEntry { mac, address, name } in known {
            match (mac, address, name) {
                (Some(mac), Some(address), None) => {
                    fixed.insert(mac, address);
                }
                // The device with the hardware address is meant, with any IP address.
                (Some(mac), _, Some(name)) => {
                    told.macs.entry(mac).or_insert(name);
                }
                (None, Some(address), Some(name)) => {
                    told.addresses.entry(address).or_insert(name);
                }
                _ => {}
            }
        }
        self.files.insert(source, told);
        if source == Source::Ethers {
            self.fixed = fixed;
        }
    }

    /// Stores a name from a device itself, or from its server. Returns false if the name is known.
    pub(super) fn heard(&mut self, mac: Mac, name: &str, source: Source) -> bool {
        let table = match source {
            Source::Dhcp => &mut self.dhcp,
            Source::Mdns => &mut self.mdns,
            // A new list from these sources replaces the whole old list.
            Source::Configuration
            | Source::User
            | Source::Ethers
            | Source::Lease
            | Source::Hosts => return false,
        };
        let new = table.get(&mac).is_none_or(|known| known != name);
        table.put(mac, name.to_owned());
        new
    }

    pub(super) fn name(&self, mac: &Mac, addresses: &[IpAddr]) -> Option<(&str, Source)> {
        Source::ALL.into_iter().find_map(|source| {
            let name = match source {
                Source::Dhcp => self.dhcp.get(mac),
                Source::Mdns => self.mdns.get(mac),
                source => self.files.get(&source).and_then(|told| {
                    let by_address = || {
                        addresses
                            .iter()
                            .chain(self.fixed.get(mac))
                            .find_map(|address| told.addresses.get(address))
                    };
                    told.macs.get(mac).or_else(by_address)
                }),
            };
            name.map(|name| (name.as_str(), source))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0x5e, 0x10, 0, 1];

    fn known(mac: Option<Mac>, address: Option<[u8; 4]>, name: Option<&str>) -> NameEntry {
        NameEntry {
            mac,
            address: address.map(IpAddr::from),
            name: name.map(str::to_owned),
        }
    }

    #[test]
    fn in_order_of_trust() {
        let mut devices = Devices::new();
        let addresses = [[192, 0, 2, 7].into()];
        assert_eq!(devices.name(&MAC, &addresses), None);
        assert!(devices.heard(MAC, "from-mdns", Source::Mdns));
        assert!(!devices.heard(MAC, "from-mdns", Source::Mdns));
        assert_eq!(
            devices.name(&MAC, &addresses),
            Some(("from-mdns", Source::Mdns))
        );
        devices.replace(
            Source::Hosts,
            [known(None, Some([192, 0, 2, 7]), Some("from-hosts"))],
        );
        assert_eq!(
            devices.name(&MAC, &addresses),
            Some(("from-hosts", Source::Hosts))
        );
        assert_eq!(devices.name(&MAC, &[]), Some(("from-mdns", Source::Mdns)));
        devices.heard(MAC, "from-dhcp", Source::Dhcp);
        assert_eq!(
            devices.name(&MAC, &addresses),
            Some(("from-dhcp", Source::Dhcp))
        );
        devices.replace(
            Source::Lease,
            [known(Some(MAC), Some([192, 0, 2, 9]), Some("from-lease"))],
        );
        assert_eq!(
            devices.name(&MAC, &addresses),
            Some(("from-lease", Source::Lease))
        );
        // Names given only by people, each above all before.
        for source in [Source::Ethers, Source::User, Source::Configuration] {
            devices.replace(source, [known(Some(MAC), None, Some(source.as_str()))]);
            assert_eq!(
                devices.name(&MAC, &addresses),
                Some((source.as_str(), source))
            );
        }
        for source in &Source::ALL[..4] {
            let source = *source;
            devices.replace(source, []);
        }
        assert_eq!(
            devices.name(&MAC, &addresses),
            Some(("from-dhcp", Source::Dhcp))
        );
    }

    #[test]
    fn ethers_with_addresses() {
        let mut devices = Devices::new();
        devices.replace(
            Source::Ethers,
            [known(Some(MAC), Some([192, 0, 2, 7]), None)],
        );
        devices.replace(
            Source::Hosts,
            [known(None, Some([192, 0, 2, 7]), Some("tv"))],
        );
        assert_eq!(devices.name(&MAC, &[]), Some(("tv", Source::Hosts)));
        assert_eq!(devices.name(&[0; 6], &[]), None);
    }

    #[test]
    fn is_bounded() {
        let mut devices = Devices::new();
        for number in 0..10_000_u32 {
            let [a, b, c, d] = number.to_be_bytes();
            devices.heard([2, 0, a, b, c, d], "x", Source::Mdns);
        }
        assert_eq!(devices.mdns.len(), MOST_SPEAKERS);
    }
}
