//! Sorts traffic of stations: Internet traffic crosses an uplink, LAN traffic does not.

use std::net::IpAddr;

use kernel::{Mac, TalkKey};

use super::Monitor;
use crate::count::Both;
use crate::networks::{Networks, is_global};
use crate::talk::Talk;
use crate::talks::Slot;

impl Monitor {
    /// The routes of the router are these.
    pub fn networks(&mut self, networks: Networks) {
        if self.networks == networks {
            return;
        }
        // Up to now the former ones counted.
        self.judge();
        self.networks = networks;
        for talk in self.talks.values_mut() {
            talk.crosses = None;
        }
    }

    /// Tells whether a default route leads out.
    pub fn has_uplink(&self) -> bool {
        self.networks.has_uplink()
    }

    /// Tells whether stations behind this VLAN of a port are beyond an uplink.
    pub fn is_outside(&self, port: u32, vlan: u16) -> bool {
        let port = self.ports.get(&port);
        port.is_some_and(|port| port.leads_out(vlan))
    }

    /// Tells whether a station is beyond an uplink, or the way there.
    pub fn is_beyond(&self, port: u32, vlan: u16, mac: &Mac) -> bool {
        self.is_outside(port, vlan) || self.gateways.contains(mac)
    }

    /// Adds what is new to the sums by where it went; due before those are asked for, once
    /// [`Monitor::pair`] has found the other sides.
    pub fn judge(&mut self) {
        for slot in 0..self.talks.slots() {
            self.judge_at(slot);
        }
    }

    pub(super) fn judge_at(&mut self, slot: Slot) {
        let Some(talk) = self.talks.at(slot) else {
            return;
        };
        // Exports need a verdict, even if no packet came since it was forgotten.
        if talk.unjudged == Both::default() && talk.crosses.is_some() {
            return;
        }
        // While there is no uplink, what crossed one before still does.
        let still = talk.crossed && !self.networks.has_uplink();
        let crosses = talk.crosses.unwrap_or_else(|| still || self.crosses(talk));
        let Some(talk) = self.talks.at_mut(slot) else {
            return;
        };
        (talk.crosses, talk.crossed) = (Some(crosses), crosses);
        let new = std::mem::take(&mut talk.unjudged);
        if let Some(device) = self.devices.get_mut(&talk.mac) {
            device.used(self.gathers, talk.application, new, crosses);
        }
    }

    /// Tells whether a conversation crosses an uplink: by its other side if that is known, else
    /// by the routes.
    fn crosses(&self, talk: &Talk) -> bool {
        if let Some(other) = self.other_side(talk) {
            let key = &other.key;
            if self.is_beyond(key.port, key.vlan, &other.mac) {
                return true;
            }
            let bridged =
                talk.key.port != key.port && self.networks.bridged(talk.key.port, key.port);
            // A station can forge a packet with these ends. For a global address the routes decide.
            if bridged && !is_global(&talk.key.far) && key.ends() == talk.key.ends().reversed() {
                // Stations of one network, of which the router need not know the addresses.
                return false;
            }
        }
        // A proxy on the router fetches most of the traffic that is redirected there.
        let leaves = talk.leaves.map(|leaves| leaves.far);
        let far = leaves.filter(|far| !self.networks.is_own(*far));
        self.leads_out(&talk.key, &talk.mac, far.unwrap_or(talk.key.far))
    }

    /// Tells whether packets between a station and this address cross an uplink, by the routes.
    pub(super) fn leads_out(&self, key: &TalkKey, mac: &Mac, far: IpAddr) -> bool {
        self.is_beyond(key.port, key.vlan, mac) || self.networks.crosses(key.port, far)
    }

    /// Finds the conversation on the other side of the router.
    fn other_side(&self, talk: &Talk) -> Option<&Talk> {
        let leads = talk.twin.and_then(|twin| self.talks.get(&twin));
        let is_led = || {
            let leaves = talk.leaves.filter(|_| talk.led > 0)?;
            self.talks.with_ends(&leaves.reversed())
        };
        let other = leads.or_else(is_led)?;
        (other.key != talk.key).then_some(other)
    }
}
