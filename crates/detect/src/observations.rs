//! Observations at a port so far.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use crate::frame::Mac;
use crate::network::Network;
use crate::vlan_observations::VlanObservations;

/// Description of the port, and of the router's other ports and networks.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The port's hardware address.
    pub mac: Mac,
    /// Hardware addresses of the router's other ports.
    pub others: Vec<Mac>,
    /// Link-local address of the port, if it has one: the kernel answers for it.
    pub link_local: Option<Ipv6Addr>,
    /// The router's own networks.
    pub lans: Vec<Network>,
    /// Seed of the numbers in probes, by which answers are recognised.
    pub seed: u64,
    /// True to probe no VLAN without observed traffic.
    pub untagged: bool,
}

/// Everything that determines a suggestion.
#[derive(Debug)]
pub struct Observations {
    pub options: Options,
    pub places: BTreeMap<Option<u16>, VlanObservations>,
    /// True if there is a link; `None`: not known yet.
    pub link: Option<bool>,
    /// True if the default route leaves by the port already.
    pub leads_out: bool,
    /// True if the router received its own frames by another port.
    pub itself: bool,
}

impl Observations {
    /// Returns empty observations.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            places: BTreeMap::from([(None, VlanObservations::default())]),
            link: None,
            leads_out: false,
            itself: false,
        }
    }
}
