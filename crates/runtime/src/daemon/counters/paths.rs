//! Computes the devices that a packet would have gone through in the kernel, and the bytes that
//! each would have counted. Pure.
//!
//! The bytes that a device counts depend on the layer at which it takes its packets; measured
//! against the kernel by `tests/netns/counters.rs`, and read in `net/8021q/vlan_core.c` and
//! `vlan_dev.c`, `net/bridge/br_input.c` and `br_device.c`, `drivers/net/ppp/ppp_generic.c` and
//! `drivers/net/vrf.c`:
//!
//! | device | coming in | leaving |
//! |---|---|---|
//! | VLAN | what follows its tag: tags further in, PPPoE, IP | the same, and an Ethernet header |
//! | bridge | the same without the outermost tag left, which is in the skb's metadata | the same, and an Ethernet header |
//! | PPP | IP | IP |
//! | VRF | IP | nothing: only what this machine itself sends goes through it |

use std::collections::HashMap;

use datapath::{Encapsulation, Tag};
use kernel::Link;
use kernel::route::vlans::VlanTagging;
use offload_core::stack::is_ppp;

/// Bytes of an Ethernet header.
const ETHERNET: u64 = 14;
/// Bytes of a VLAN tag.
const TAG: u64 = 4;
/// Bytes of PPPoE and the number of PPP's protocol.
const PPPOE: u64 = 8;
/// Devices on one another are no more than this; a circle would be an error of the kernel's.
const DEEPEST: usize = 16;

/// Direction, as a device sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Incoming.
    In,
    /// Leaves.
    Out,
}

/// A device that would have counted a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the device.
    pub link: u32,
    /// Bytes counted per packet beyond those from the IP header on.
    pub octets: u64,
}

/// Unknown part of a packet's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Which PPP device a session belongs to: it may be learned later.
    Session,
    /// Device of a tag. Unknown if no device has the tag, several VLANs leave untagged here, or the
    /// tag is a switch's.
    Tag,
}

/// Path of a packet, from the port upwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The port, and the devices above that would have counted the packet.
    pub steps: Vec<Step>,
    /// Why it ends before the device that has the address.
    pub missing: Option<Missing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bridge { filters: bool },
    Vrf,
    Ppp,
    Other,
}

/// Devices stacked on ports, for packets of each kind. Must be rebuilt when devices change.
#[derive(Debug, Default)]
pub struct Paths {
    /// Kind and master of each device.
    links: HashMap<u32, (Kind, Option<u32>)>,
    /// VLAN devices by the device below, VLAN id and kind of tag.
    vlans: HashMap<(u32, u16, bool), u32>,
    taggings: HashMap<u32, VlanTagging>,
    /// Which PPP device a session belongs to, by port and headers.
    sessions: HashMap<(u32, Encapsulation), u32>,
}

impl Paths {
    /// Of all devices of the network namespace, and of how its bridges tag where they filter.
    pub fn new<'a>(
        links: impl IntoIterator<Item = &'a Link>,
        taggings: impl IntoIterator<Item = VlanTagging>,
    ) -> Self {
        let mut paths = Self {
            taggings: taggings.into_iter().map(|t| (t.link, t)).collect(),
            ..Self::default()
        };
        for link in links {
            let kind = match link.kind.as_str() {
                "bridge" => Kind::Bridge {
                    filters: link.filters_vlans,
                },
                "vrf" => Kind::Vrf,
                _ if is_ppp(link) => Kind::Ppp,
                _ => Kind::Other,
            };
            paths.links.insert(link.index, (kind, link.master));
            if let (Some(lower), Some(vlan)) = (link.lower, &link.vlan) {
                let key = (lower, vlan.id, vlan.protocol == 0x88a8);
                paths.vlans.insert(key, link.index);
            }
        }
        paths
    }

    /// Takes in which device the kernel took a session's packets for, by port and headers: the PPP
    /// device, or the VRF that it is in.
    pub fn learn(&mut self, told: impl IntoIterator<Item = ((u32, Encapsulation), u32)>) {
        for (session, device) in told {
            let ppp = match self.links.get(&device) {
                Some((Kind::Ppp, _)) => Some(device),
                Some((Kind::Vrf, _)) => self.only_ppp(Some(device)),
                _ => None,
            };
            if let Some(ppp) = ppp {
                self.sessions.insert(session, ppp);
            }
        }
    }

    /// Returns true if the link is a PPP device.
    pub fn is_ppp(&self, link: u32) -> bool {
        matches!(self.links.get(&link), Some((Kind::Ppp, _)))
    }

    /// Returns true if the device exists.
    pub fn has(&self, link: u32) -> bool {
        self.links.contains_key(&link)
    }

    /// Returns the path of packets with these headers, without priorities, between a port and the
    /// device with the address.
    pub fn of(&self, port: u32, behind: &Encapsulation, side: Side) -> Path {
        // The outermost last.
        let mut tags: Vec<Tag> = behind.tags.iter().rev().flatten().copied().collect();
        let mut session = behind.session.is_some();
        let outer = if side == Side::Out { ETHERNET } else { 0 };
        let inner = |tags: usize, session: bool| {
            outer + TAG * tags as u64 + if session { PPPOE } else { 0 }
        };
        let whole = ETHERNET + TAG * tags.len() as u64 + if session { PPPOE } else { 0 };
        let mut path = Path {
            steps: vec![Step {
                link: port,
                octets: whole,
            }],
            missing: behind.switch_port.map(|_| Missing::Tag),
        };
        let mut at = port;
        while path.missing.is_none() && path.steps.len() < DEEPEST {
            // In the kernel's order: a VLAN device takes its tag before a bridge sees the frame
            // (__netif_receive_skb_core).
            let vlan = tags.last().and_then(|tag| self.vlan(at, tag));
            let (link, octets) = match (vlan, self.master(at)) {
                (Some(vlan), _) => {
                    tags.pop();
                    (vlan, inner(tags.len(), session))
                }
                (None, Some((bridge, Kind::Bridge { filters: true }))) => {
                    let Some(number) = self.vlan_in_bridge(at, &mut tags, side) else {
                        path.missing = Some(Missing::Tag);
                        break;
                    };
                    let octets = inner(tags.len(), session);
                    if self.is_tagged(bridge, number, side) {
                        tags.push(Tag {
                            service: false,
                            tci: number,
                        });
                    }
                    (bridge, octets)
                }
                (None, Some((bridge, Kind::Bridge { filters: false }))) => {
                    (bridge, inner(tags.len().saturating_sub(1), session))
                }
                (None, Some((vrf, Kind::Vrf))) if tags.is_empty() && !session => {
                    if side == Side::In {
                        path.steps.push(Step {
                            link: vrf,
                            octets: 0,
                        });
                    }
                    break;
                }
                // A priority tag, without a VLAN.
                _ if tags.last().is_some_and(|tag| tag.tci & 0xfff == 0) => {
                    tags.pop();
                    continue;
                }
                _ if session && tags.is_empty() => {
                    session = false;
                    let known = self.sessions.get(&(port, *behind)).copied();
                    let Some(ppp) = known.or_else(|| self.only_ppp(None)) else {
                        path.missing = Some(Missing::Session);
                        break;
                    };
                    (ppp, 0)
                }
                _ => break,
            };
            path.steps.push(Step { link, octets });
            at = link;
        }
        if !tags.is_empty() {
            path.missing = Some(Missing::Tag);
        }
        path
    }

    fn vlan(&self, lower: u32, tag: &Tag) -> Option<u32> {
        let key = (lower, tag.tci & 0xfff, tag.service);
        self.vlans.get(&key).copied()
    }

    fn master(&self, link: u32) -> Option<(u32, Kind)> {
        let master = self.links.get(&link)?.1?;
        Some((master, self.links.get(&master)?.0))
    }

    /// The VLAN of a frame at a port of a bridge that filters; its tag is taken off.
    fn vlan_in_bridge(&self, port: u32, tags: &mut Vec<Tag>, side: Side) -> Option<u16> {
        if let Some(tag) = tags.last().filter(|tag| !tag.service) {
            let number = tag.tci & 0xfff;
            tags.pop();
            if number != 0 {
                return Some(number);
            }
        }
        let tagging = self.taggings.get(&port)?;
        match side {
            Side::In => tagging.pvid,
            Side::Out => tagging.only_untagged(),
        }
    }

    /// Returns true if packets of a VLAN are tagged when the bridge itself receives or sends them.
    fn is_tagged(&self, bridge: u32, vlan: u16, side: Side) -> bool {
        let Some(own) = self.taggings.get(&bridge) else {
            return true;
        };
        match side {
            Side::In => !own.leaves_untagged(vlan),
            Side::Out => own.pvid != Some(vlan),
        }
    }

    /// Returns the PPP device, if there is only one (in a VRF).
    fn only_ppp(&self, vrf: Option<u32>) -> Option<u32> {
        let mut all = self
            .links
            .iter()
            .filter(|(_, (kind, master))| *kind == Kind::Ppp && (vrf.is_none() || *master == vrf));
        match (all.next(), all.next()) {
            (Some((only, _)), None) => Some(*only),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
