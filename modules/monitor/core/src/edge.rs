//! The router's edge: its ports, gateways and networks. Internet traffic crosses an uplink, LAN
//! traffic does not.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;

use kernel::{ConversationKey, Mac};

use crate::conversation::Conversation;
use crate::device::Device;
use crate::networks::{Networks, is_global};
use crate::port::Port;

/// Facts that decide whether traffic is beyond an uplink, or on this side of it.
#[derive(Debug, Default)]
pub(crate) struct Edge {
    ports: BTreeMap<u32, Port>,
    gateways: HashSet<Mac>,
    networks: Networks,
}

impl Edge {
    pub(crate) fn ports(&self) -> impl Iterator<Item = (u32, &Port)> {
        self.ports.iter().map(|(link, port)| (*link, port))
    }

    pub(crate) fn port_mut(&mut self, link: u32) -> Option<&mut Port> {
        self.ports.get_mut(&link)
    }

    /// Adds a port of which only some VLANs may lead out. Returns true if other VLANs lead out now.
    pub(crate) fn set_port(
        &mut self,
        link: u32,
        name: &str,
        uplink: bool,
        vlans: BTreeSet<u16>,
    ) -> bool {
        let port = self.ports.entry(link).or_default();
        if port.name != name {
            port.name = name.to_owned();
        }
        let other = std::mem::replace(&mut port.vlans, vlans) != port.vlans;
        std::mem::replace(&mut port.uplink, uplink) != uplink || other
    }

    pub(crate) fn remove_port(&mut self, link: u32) {
        self.ports.remove(&link);
    }

    /// Advances the clock of all ports.
    pub(crate) fn turn(&mut self, millis: u64) {
        for port in self.ports.values_mut() {
            port.turn(millis);
        }
    }

    pub(crate) fn gateways(&self) -> &HashSet<Mac> {
        &self.gateways
    }

    pub(crate) fn set_gateways(&mut self, gateways: HashSet<Mac>) {
        self.gateways = gateways;
    }

    pub(crate) fn networks(&self) -> &Networks {
        &self.networks
    }

    pub(crate) fn set_networks(&mut self, networks: Networks) {
        self.networks = networks;
    }

    /// Returns true if stations behind this VLAN of a port are beyond an uplink.
    pub(crate) fn is_outside(&self, port: u32, vlan: u16) -> bool {
        let port = self.ports.get(&port);
        port.is_some_and(|port| port.leads_out(vlan))
    }

    /// Returns true if a station is beyond an uplink, or the way there.
    pub(crate) fn is_beyond(&self, port: u32, vlan: u16, mac: &Mac) -> bool {
        self.is_outside(port, vlan) || self.gateways.contains(mac)
    }

    pub(crate) fn is_uplink(&self, device: &Device) -> bool {
        self.is_beyond(device.port, device.vlan, &device.mac)
    }

    /// Returns true if packets between a station and this address cross an uplink, by the routes.
    pub(crate) fn leads_out(&self, key: &ConversationKey, mac: &Mac, far: IpAddr) -> bool {
        self.is_beyond(key.port, key.vlan, mac) || self.networks.crosses(key.port, far)
    }

    /// Returns true if a conversation crosses an uplink: by its other half if known, otherwise by
    /// the routes.
    pub(crate) fn crosses(
        &self,
        conversation: &Conversation,
        other: Option<&Conversation>,
    ) -> bool {
        if let Some(other) = other {
            let key = &other.key;
            if self.is_beyond(key.port, key.vlan, &other.mac) {
                return true;
            }
            let bridged = conversation.key.port != key.port
                && self.networks.bridged(conversation.key.port, key.port);
            // A station can forge a packet with these ends. For a global address the routes decide.
            if bridged
                && !is_global(&conversation.key.remote)
                && key.ends() == conversation.key.ends().reversed()
            {
                // Stations of one network, of which the router need not know the addresses.
                return false;
            }
        }
        // A proxy on the router fetches most of the traffic that is redirected there.
        let leaves = conversation.egress_endpoints.map(|leaves| leaves.remote);
        let far = leaves.filter(|far| !self.networks.is_own(*far));
        self.leads_out(
            &conversation.key,
            &conversation.mac,
            far.unwrap_or(conversation.key.remote),
        )
    }
}
