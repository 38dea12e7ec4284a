//! Bridges: their stations (`net/bridge/br_fdb.c`), their ports (`br_netlink.c`) and VLANs
//! (`br_vlan.c`).
//!
//! A bridge reports its settings together with timers and counters, so only settings that affect
//! unicast frames are read. As only a change matters, they are hashed into one number.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::event::{BridgeSettings, Bridging, Event, Fdb, Mac};
use crate::message::{Attributes, DecodeError, Message, u32_at};
use crate::rtnetlink::{IFLA_AF_SPEC, NDA_LLADDR, index};

const NDA_VLAN: u16 = 5;
const NDA_MASTER: u16 = 9;
/// `NTF_SELF`: an address filter or table of the device itself, not of its bridge.
const NTF_SELF: u8 = 0x02;
/// `NUD_PERMANENT`: an address of this machine (`fdb_to_nud`).
const NUD_PERMANENT: u16 = 0x80;

const IFLA_PROTINFO: u16 = 12;
const IFLA_BR_VLAN_FILTERING: u16 = 7;

/// IFLA_BRPORT_STATE, MODE (hairpin), LEARNING, UNICAST_FLOOD, VLAN_TUNNEL, ISOLATED, BACKUP_PORT,
/// LOCKED, MAB, BACKUP_NHID.
const OF_PORTS: [u16; 10] = [1, 4, 8, 9, 29, 33, 34, 39, 40, 44];
/// IFLA_BR_STP_STATE, VLAN_FILTERING, VLAN_PROTOCOL, NF_CALL_IPTABLES, NF_CALL_IP6TABLES,
/// VLAN_DEFAULT_PVID, MULTI_BOOLOPT (MST among them).
const OF_BRIDGES: [u16; 7] = [5, 7, 8, 36, 37, 39, 46];
/// IFLA_BRPORT_PROXYARP, PROXYARP_WIFI, NEIGH_SUPPRESS, NEIGH_VLAN_SUPPRESS.
const PROXIES: [u16; 4] = [10, 11, 32, 45];
const IFLA_BRPORT_LOCKED: u16 = 39;
const IFLA_BR_AGEING_TIME: u16 = 4;
/// IFLA_BR_NF_CALL_IPTABLES, IP6TABLES, ARPTABLES.
const NF_CALLS: [u16; 3] = [36, 37, 38];
/// IFLA_BRIDGE_FLAGS, MODE, VLAN_INFO, VLAN_TUNNEL_INFO, MST.
const OF_VLANS: [u16; 5] = [0, 1, 2, 3, 6];

/// Hashes the attributes of these kinds. Equal attributes give equal numbers within one run of the
/// program.
pub(super) fn digest(
    attributes: Attributes<'_>,
    looked_at: impl Fn(u16) -> bool,
) -> Result<u64, DecodeError> {
    let mut hasher = DefaultHasher::new();
    for attribute in attributes {
        let attribute = attribute?;
        if looked_at(attribute.kind) {
            (attribute.kind, attribute.value).hash(&mut hasher);
        }
    }
    Ok(hasher.finish())
}

/// Settings of a bridge (IFLA_INFO_DATA).
pub(super) fn settings(attributes: Attributes<'_>) -> Result<u64, DecodeError> {
    digest(attributes, |kind| OF_BRIDGES.contains(&kind))
}

/// Returns true if a bridge (IFLA_INFO_DATA) filters VLANs.
pub(super) fn filters_vlans(attributes: Attributes<'_>) -> Result<bool, DecodeError> {
    let on = attributes.first(IFLA_BR_VLAN_FILTERING)?;
    on.map_or(Ok(false), |on| {
        Ok(on.array("IFLA_BR_VLAN_FILTERING")? != [0])
    })
}

/// Settings of a bridge (IFLA_INFO_DATA) that are read one by one.
pub(super) fn told(attributes: Attributes<'_>) -> Result<BridgeSettings, DecodeError> {
    let mut settings = BridgeSettings::default();
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            IFLA_BR_AGEING_TIME => settings.ageing = attribute.u32_native("IFLA_BR_AGEING_TIME")?,
            kind if NF_CALLS.contains(&kind) => {
                settings.netfilter |= attribute.value.first().is_some_and(|on| *on != 0);
            }
            _ => {}
        }
    }
    Ok(settings)
}

/// Returns true if a port (as for [`membership`]) answers for others.
pub(super) fn proxies(attributes: Attributes<'_>) -> Result<bool, DecodeError> {
    any_on(attributes, &PROXIES)
}

/// Returns true if a port (as for [`membership`]) accepts frames from known stations only.
pub(super) fn locked(attributes: Attributes<'_>) -> Result<bool, DecodeError> {
    any_on(attributes, &[IFLA_BRPORT_LOCKED])
}

fn any_on(mut attributes: Attributes<'_>, kinds: &[u16]) -> Result<bool, DecodeError> {
    attributes.try_fold(false, |any, attribute| {
        let attribute = attribute?;
        let on = attribute.value.first().is_some_and(|on| *on != 0);
        Ok(any || kinds.contains(&attribute.kind) && on)
    })
}

/// Decodes settings and state of a port (IFLA_INFO_SLAVE_DATA, or IFLA_PROTINFO of AF_BRIDGE, which
/// have the same content).
pub(super) fn membership(attributes: Attributes<'_>) -> Result<u64, DecodeError> {
    digest(attributes, |kind| OF_PORTS.contains(&kind))
}

/// A device as the port of a bridge, or a bridge (RTM_NEWLINK of AF_BRIDGE).
pub(super) fn port(link: u32, attributes: Attributes<'_>) -> Result<Option<Event>, DecodeError> {
    let (mut port, mut vlans, mut answers, mut locks) = (None, None, None, None);
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            IFLA_PROTINFO => {
                port = Some(membership(attribute.nested("IFLA_PROTINFO"))?);
                answers = Some(proxies(attribute.nested("IFLA_PROTINFO"))?);
                locks = Some(locked(attribute.nested("IFLA_PROTINFO"))?);
            }
            IFLA_AF_SPEC => {
                let of_vlans = |kind| OF_VLANS.contains(&kind);
                vlans = Some(digest(attribute.nested("IFLA_AF_SPEC"), of_vlans)?);
            }
            _ => {}
        }
    }
    let told = port.is_some() || vlans.is_some();
    Ok(told.then_some(Event::Bridging(Bridging {
        link,
        port,
        vlans,
        proxies: answers,
        locked: locks,
    })))
}

/// A VLAN of a bridge or port came, went or changed (RTM_NEWVLAN, RTM_DELVLAN).
pub(super) fn vlan(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    let (fixed, _) = message.split::<8>("br_vlan_msg")?;
    Ok(Some(Event::BridgeVlan(index(u32_at(fixed, 4))?)))
}

/// Decodes an entry of a forwarding database (RTM_NEWNEIGH, RTM_DELNEIGH of AF_BRIDGE). `None`: the
/// device's own entry, or not an Ethernet address.
pub(super) fn station(
    fixed: &[u8; 12],
    attributes: Attributes<'_>,
    present: bool,
) -> Result<Option<Event>, DecodeError> {
    let (mut mac, mut vlan, mut bridge) = (None, 0, None);
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            NDA_LLADDR => mac = Some(attribute.value),
            NDA_VLAN => vlan = u16::from_ne_bytes(attribute.array("NDA_VLAN")?),
            NDA_MASTER => bridge = Some(attribute.u32_native("NDA_MASTER")?),
            _ => {}
        }
    }
    let mac = mac.ok_or(DecodeError::missing("NDA_LLADDR"))?;
    let (Ok(mac), Some(bridge)) = (Mac::try_from(mac), bridge) else {
        return Ok(None);
    };
    if fixed[10] & NTF_SELF != 0 {
        return Ok(None);
    }
    let state = u16::from_ne_bytes([fixed[8], fixed[9]]);
    Ok(Some(Event::Fdb(Fdb {
        link: index(u32_at(fixed, 4))?,
        bridge,
        mac,
        vlan,
        local: state & NUD_PERMANENT != 0,
        present,
    })))
}

#[cfg(test)]
mod tests;
