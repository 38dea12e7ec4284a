//! Everything that has a name.

use std::net::IpAddr;
use std::sync::Arc;

use kernel::Mac;

use super::devices::{Devices, Source};
use super::name_file::NameEntry;
use super::remote::RemoteNames;
use super::{Client, Millis, NameObservation};

/// Maximum number of names of remote ends, over all stations.
pub const FAR_ENDS: usize = 4096;

/// All known names. In memory only, and of bounded size: measured, 0.7 MB for 1000 remote ends, and
/// 3.4 MB when full, with ordinary names.
#[derive(Debug)]
pub struct Names {
    remote: RemoteNames,
    devices: Devices,
}

impl Default for Names {
    fn default() -> Self {
        Self::new(FAR_ENDS)
    }
}

impl Names {
    /// Creates a table for the names of at most this many remote ends.
    pub fn new(far_ends: usize) -> Self {
        Self {
            remote: RemoteNames::new(far_ends),
            devices: Devices::new(),
        }
    }

    /// Stores a name from a packet. Returns true if it changes a device's name from that source.
    pub fn learn(&mut self, learned: &NameObservation, now: Millis) -> bool {
        match learned {
            NameObservation::DeviceName { mac, name, source } => {
                return self.devices.heard(*mac, name, *source);
            }
            NameObservation::RemoteName {
                client,
                address,
                name,
                ttl,
            } => self.remote.answer(*client, *address, name, *ttl, now),
            NameObservation::FlowName { key, mac, name, .. } => {
                let client = Client::new(*mac, key.station);
                self.remote.said(client, key.remote, name, now);
            }
        }
        false
    }

    /// Replaces all entries of a source: the configuration, the files of leases, or `/etc/hosts`
    /// and `/etc/ethers` together. Of several entries for one device the first counts. Names from
    /// packets ([`Source::Dhcp`], [`Source::Mdns`]) are only learned.
    pub fn replace(&mut self, source: Source, known: impl IntoIterator<Item = NameEntry>) {
        self.devices.replace(source, known);
    }

    /// Returns the name by which `client` resolved a remote end's address. `at` is the start of the
    /// flow, so that a flow keeps its name when the address later gets another name. A name from
    /// the flow itself ([`NameObservation::FlowName`]) has precedence.
    pub fn remote_name(&self, client: Client, address: IpAddr, at: Millis) -> Option<&Arc<str>> {
        self.remote.name(client, address, at)
    }

    /// Returns the name of a device, and its source. `addresses` are the present ones, from the
    /// kernel's neighbour table.
    pub fn device(&self, mac: &Mac, addresses: &[IpAddr]) -> Option<(&str, Source)> {
        self.devices.name(mac, addresses)
    }

    /// Returns the number of remote ends with a stored name.
    pub fn far_ends(&self) -> usize {
        self.remote.len()
    }
}
