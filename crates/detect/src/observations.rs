//! What was heard at a port so far.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use crate::frame::Mac;
use crate::network::Network;
use crate::place::Place;

/// Whose port it is, and what the router has besides.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The port's hardware address.
    pub mac: Mac,
    /// Those of the router's other ports.
    pub others: Vec<Mac>,
    /// The port's own address of its link, where it has one: the kernel answers for that.
    pub link_local: Option<Ipv6Addr>,
    /// The router's own networks.
    pub lans: Vec<Network>,
    /// Any number: what is asked carries numbers made of it, by which answers are known.
    pub seed: u64,
    /// Nothing is asked in a VLAN that nobody was heard in.
    pub untagged: bool,
}

/// Everything from which a suggestion follows.
#[derive(Debug)]
pub struct Observations {
    pub options: Options,
    pub places: BTreeMap<Option<u16>, Place>,
    /// Whether there is a link; `None`: nobody said so yet.
    pub link: Option<bool>,
    /// The default route leaves by the port already.
    pub leads_out: bool,
    /// Whether the router heard itself by another port.
    pub itself: bool,
}

impl Observations {
    /// Nothing was heard yet.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            places: BTreeMap::from([(None, Place::default())]),
            link: None,
            leads_out: false,
            itself: false,
        }
    }
}
