//! Sums of a port: total of the device = conversations + packets without a record + non-IP traffic.

use std::collections::BTreeSet;

use crate::count::{Count, Counts};
use crate::rate::Rate;
use crate::reading::UnrecordedPortTraffic;

/// Traffic in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Traffic of conversations, present and ended.
    pub conversations: Count,
    /// IP packets without a free record.
    pub unplaced: Count,
    /// Frames that are not IP, with the bytes behind their headers.
    pub other: Count,
    /// Bytes of headers before IP and of padding behind it.
    pub link: i64,
}

impl PortCounters {
    /// Returns the packets of all kinds.
    pub fn packets(&self) -> u64 {
        self.conversations.packets + self.unplaced.packets + self.other.packets
    }
}

/// A port at which is counted.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// Name of the device.
    pub name: String,
    /// A default route leaves here.
    pub uplink: bool,
    /// VLANs by which a default route leaves, if others of the port stay inside; 0 for no tag.
    pub vlans: BTreeSet<u16>,
    /// Traffic from records and stations: received, sent.
    told: [PortCounters; 2],
    /// Traffic of the port itself.
    unrecorded: [UnrecordedPortTraffic; 2],
    /// Now, seen from the stations.
    pub rate: Rate,
    /// Part of the rate in VLANs that lead out.
    beyond: Rate,
}

impl Port {
    /// Returns true if stations behind this VLAN are beyond an uplink.
    pub fn leads_out(&self, vlan: u16) -> bool {
        self.uplink || self.vlans.contains(&vlan)
    }

    /// Returns true if a default route leaves here, be it by some VLANs only.
    pub fn is_uplink(&self) -> bool {
        self.uplink || !self.vlans.is_empty()
    }

    /// Bits a second, seen from the stations. For an uplink in some VLANs of the port, only traffic
    /// in these VLANs.
    pub fn own_rate(&self) -> &Rate {
        match self.vlans.is_empty() {
            true => &self.rate,
            false => &self.beyond,
        }
    }

    /// Advances the clock.
    pub(crate) fn turn(&mut self, millis: u64) {
        self.rate.turn(millis);
        self.beyond.turn(millis);
    }

    fn grow(&mut self, vlan: Option<u16>, grown: Counts) {
        self.rate.add(grown);
        if vlan.is_some_and(|vlan| self.vlans.contains(&vlan)) {
            self.beyond.add(grown);
        }
    }

    /// Adds new traffic of a conversation. Each packet has `link` bytes before the IP header, in
    /// each direction. `vlan`: its VLAN, 0 for no tag; `None`: the traffic passed within a bridge.
    pub fn add_conversation(&mut self, vlan: Option<u16>, grown: Counts, link: [u64; 2]) {
        self.told[0].conversations += grown.sent;
        self.told[1].conversations += grown.received;
        for (way, octets) in link.into_iter().enumerate() {
            self.told[way].link += octets as i64;
        }
        self.grow(vlan, grown);
    }

    /// Adds traffic of a station without a record. The bytes of headers are part of the unrecorded
    /// traffic.
    pub fn add_unrecorded(&mut self, vlan: u16, unplaced: Counts, other: Counts) {
        self.told[0].unplaced += unplaced.sent;
        self.told[1].unplaced += unplaced.received;
        self.told[0].other += other.sent;
        self.told[1].other += other.received;
        self.grow(Some(vlan), unplaced);
    }

    /// Sets the traffic of the port itself.
    pub fn set_unrecorded(&mut self, rest: [UnrecordedPortTraffic; 2]) {
        self.unrecorded = rest;
    }

    /// Returns the received and the sent counters.
    pub fn counters(&self) -> [PortCounters; 2] {
        [0, 1].map(|way| {
            let (mut sum, rest) = (self.told[way], self.unrecorded[way]);
            sum.unplaced += rest.unplaced;
            sum.other += rest.other;
            sum.link += rest.link;
            sum
        })
    }
}
