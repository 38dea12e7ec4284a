//! VLANs that filtering bridges give to untagged frames, and send untagged: `bridge vlan show`
//! (`net/bridge/br_netlink.c`, `br_fill_ifvlaninfo_compressed`).

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{DecodeError, Message, Problem, u32_at};
use crate::rtnetlink::{AF_BRIDGE, IFLA_AF_SPEC, IFLA_EXT_MASK, RTM_GETLINK, RTM_NEWLINK, index};

/// `RTEXT_FILTER_BRVLAN_COMPRESSED`: VLANs next to each other that are alike come as a range.
const WITH_VLANS: u32 = 1 << 2;
const IFLA_BRIDGE_VLAN_INFO: u16 = 2;

const BRIDGE_VLAN_INFO_PVID: u16 = 1 << 1;
const BRIDGE_VLAN_INFO_UNTAGGED: u16 = 1 << 2;
const BRIDGE_VLAN_INFO_RANGE_BEGIN: u16 = 1 << 3;
const BRIDGE_VLAN_INFO_RANGE_END: u16 = 1 << 4;

/// Tags and no tags at a bridge, or at a port of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VlanTagging {
    /// The bridge, or its port.
    pub link: u32,
    /// VLAN of incoming frames without a tag.
    pub pvid: Option<u16>,
    /// VLANs whose frames leave without a tag, as ranges, both ends included.
    pub untagged: Vec<(u16, u16)>,
}

impl VlanTagging {
    /// Returns true if frames of a VLAN leave without a tag.
    pub fn leaves_untagged(&self, vlan: u16) -> bool {
        let within = |(first, last): &(u16, u16)| (*first..=*last).contains(&vlan);
        self.untagged.iter().any(within)
    }

    /// Returns the only VLAN whose frames leave without a tag; `None` if there are several, or
    /// none.
    pub fn only_untagged(&self) -> Option<u16> {
        match self.untagged[..] {
            [(first, last)] if first == last => Some(first),
            _ => None,
        }
    }
}

/// Requests the VLANs of all bridges and their ports.
pub fn dump(sequence: u32) -> Vec<u8> {
    Encoder::single(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, sequence, |e| {
        let mut fixed = [0; 16];
        fixed[0] = AF_BRIDGE;
        e.fixed(&fixed);
        e.attribute(IFLA_EXT_MASK, &WITH_VLANS.to_ne_bytes());
    })
}

/// Decodes one message of the answer. `None`: neither a bridge nor a port, or another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode(message: &Message<'_>) -> Result<Option<VlanTagging>, DecodeError> {
    if message.kind != RTM_NEWLINK {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<16>("ifinfomsg")?;
    if fixed[0] != AF_BRIDGE {
        return Ok(None);
    }
    let mut found = VlanTagging {
        link: index(u32_at(fixed, 4))?,
        ..VlanTagging::default()
    };
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind != IFLA_AF_SPEC {
            continue;
        }
        let mut begun = None;
        for entry in attribute.nested("IFLA_AF_SPEC") {
            let entry = entry?;
            if entry.kind == IFLA_BRIDGE_VLAN_INFO {
                let [a, b, c, d] = entry.array("IFLA_BRIDGE_VLAN_INFO")?;
                let (flags, vlan) = (u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]));
                found.entry(flags, vlan, &mut begun)?;
            }
        }
    }
    Ok(Some(found))
}

impl VlanTagging {
    /// Takes a VLAN, or one end of a range: both ends have the same flags.
    fn entry(&mut self, flags: u16, vlan: u16, begun: &mut Option<u16>) -> Result<(), DecodeError> {
        let contradiction = || DecodeError::new("IFLA_BRIDGE_VLAN_INFO", Problem::Contradiction);
        if vlan > 4095 {
            return Err(contradiction());
        }
        if flags & BRIDGE_VLAN_INFO_RANGE_BEGIN != 0 {
            *begun = Some(vlan);
            return Ok(());
        }
        let first = if flags & BRIDGE_VLAN_INFO_RANGE_END != 0 {
            begun.take().ok_or_else(contradiction)?
        } else {
            vlan
        };
        if flags & BRIDGE_VLAN_INFO_PVID != 0 {
            self.pvid = Some(vlan);
        }
        if flags & BRIDGE_VLAN_INFO_UNTAGGED != 0 {
            self.untagged.push((first, vlan));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::first;

    fn message(family: u8, entries: &[(u16, u16)]) -> Vec<u8> {
        let mut fixed = [0; 16];
        fixed[0] = family;
        fixed[4..8].copy_from_slice(&3u32.to_ne_bytes());
        Encoder::single(RTM_NEWLINK, 0, 0, |e| {
            e.fixed(&fixed);
            e.attribute(3, b"br0\0");
            e.nested(IFLA_AF_SPEC, |e| {
                e.attribute(0, &1u16.to_ne_bytes());
                for (flags, vlan) in entries {
                    let value = [flags.to_ne_bytes(), vlan.to_ne_bytes()].concat();
                    e.attribute(IFLA_BRIDGE_VLAN_INFO, &value);
                }
            });
        })
    }

    fn decoded(datagram: &[u8]) -> Result<Option<VlanTagging>, DecodeError> {
        decode(&first(datagram))
    }

    #[test]
    fn ranges_and_single_vlans_are_read() {
        let found = decoded(&message(7, &[(6, 10), (0, 20), (8 | 4, 30), (16 | 4, 40)]));
        let found = found.expect("understood").expect("a port");
        assert_eq!((found.link, found.pvid), (3, Some(10)));
        assert_eq!(found.untagged, [(10, 10), (30, 40)]);
        assert_eq!(found.only_untagged(), None);
        for (vlan, untagged) in [(10, true), (20, false), (30, true), (35, true), (41, false)] {
            assert_eq!(found.leaves_untagged(vlan), untagged, "{vlan}");
        }
        let one = decoded(&message(7, &[(6, 10)]));
        let one = one.expect("understood").expect("a port");
        assert_eq!(one.only_untagged(), Some(10));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for entries in [&[(16 | 4, 40)][..], &[(4, 4096)]] {
            assert!(decoded(&message(7, entries)).is_err(), "{entries:?}");
        }
        assert_eq!(decoded(&message(0, &[(6, 10)])), Ok(None), "of no bridge");
    }
}
