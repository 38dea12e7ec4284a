//! Devices.

use super::bridge;
use crate::encode::Encoder;
use crate::event::{Event, Link, Mac, Vlan};
use crate::message::{Attribute, Attributes, DecodeError, Message, Problem, u16_at, u32_at};
use crate::rtnetlink::{
    AF_BRIDGE, IFF_UP, IFLA_ADDRESS, IFLA_EXT_MASK, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND,
    IFLA_LINK, IFLA_LINKINFO, IFLA_MASTER, IFLA_MTU, IFLA_VLAN_ID, IFLA_VLAN_PROTOCOL, index,
};

const IFLA_QDISC: u16 = 6;
const IFLA_WIRELESS: u16 = 11;
const IFLA_GROUP: u16 = 27;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_XDP: u16 = 43;

const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;

const ETH_P_8021Q: u16 = 0x8100;

const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_PROG_ID: u16 = 4;
const IFLA_XDP_HW_PROG_ID: u16 = 7;

const ARPHRD_ETHER: u16 = 1;
const IFF_RUNNING: u32 = 0x40;
/// `RTEXT_FILTER_SKIP_STATS`.
const SKIP_STATISTICS: u32 = 1 << 3;

/// The fixed part: family, type, index, flags.
const IFINFOMSG: usize = 16;

/// A device that appeared or changed.
pub(super) fn link(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    let (fixed, attributes) = message.split::<IFINFOMSG>("ifinfomsg")?;
    match fixed[0] {
        super::AF_UNSPEC => {}
        AF_BRIDGE => return bridge::port(index(u32_at(fixed, 4))?, attributes),
        // About its IPv6 settings.
        _ => return Ok(None),
    }
    let mut link = Link {
        index: index(u32_at(fixed, 4))?,
        hardware: u16_at(fixed, 2),
        up: u32_at(fixed, 8) & (IFF_UP | IFF_RUNNING) == IFF_UP | IFF_RUNNING,
        tx_queues: 1,
        ..Link::default()
    };
    let mut elsewhere = false;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            IFLA_ADDRESS if link.hardware == ARPHRD_ETHER => {
                link.mac = Mac::try_from(attribute.value).ok()
            }
            IFLA_IFNAME => link.name = attribute.text(),
            IFLA_MTU => link.mtu = attribute.u32_native("IFLA_MTU")?,
            IFLA_LINK => {
                link.lower = Some(attribute.u32_native("IFLA_LINK")?).filter(|index| *index != 0)
            }
            IFLA_QDISC => link.qdisc = attribute.text(),
            IFLA_MASTER => {
                link.master = Some(attribute.u32_native("IFLA_MASTER")?).filter(|index| *index != 0)
            }
            IFLA_GROUP => link.group = attribute.u32_native("IFLA_GROUP")?,
            // A message of the wireless extensions: only a name, the rest would read as zero.
            IFLA_WIRELESS => return Ok(None),
            IFLA_LINKINFO => information(&attribute, &mut link)?,
            IFLA_NUM_TX_QUEUES => link.tx_queues = attribute.u32_native("IFLA_NUM_TX_QUEUES")?,
            IFLA_LINK_NETNSID => elsewhere = true,
            IFLA_XDP => link.xdp_program = xdp_program(&attribute)?,
            _ => {}
        }
    }
    if elsewhere {
        link.lower = None;
    }
    if link.name.is_empty() {
        return Err(DecodeError::missing("IFLA_IFNAME"));
    }
    Ok(Some(Event::Link(link)))
}

/// Decodes a removed device.
pub(super) fn gone(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    let (fixed, _) = message.split::<IFINFOMSG>("ifinfomsg")?;
    // Of AF_BRIDGE, "deleted" only means that it left the bridge.
    if fixed[0] != super::AF_UNSPEC {
        return Ok(None);
    }
    Ok(Some(Event::LinkGone(index(u32_at(fixed, 4))?)))
}

/// Decodes the attributes of a device's kind, and those of its master about it.
fn information(attribute: &Attribute<'_>, link: &mut Link) -> Result<(), DecodeError> {
    let mut data = None;
    let (mut master, mut membership) = (String::new(), None);
    for attribute in attribute.nested("IFLA_LINKINFO") {
        let attribute = attribute?;
        match attribute.kind {
            IFLA_INFO_KIND => link.kind = attribute.text(),
            IFLA_INFO_DATA => data = Some(attribute),
            IFLA_INFO_SLAVE_KIND => master = attribute.text(),
            IFLA_INFO_SLAVE_DATA => membership = Some(attribute),
            _ => {}
        }
    }
    if let Some(data) = data {
        match link.kind.as_str() {
            "vlan" => {
                link.vlan = Some(vlan(data.nested("IFLA_INFO_DATA"))?);
                // Flags and the maps between priorities and PCP, too; nothing counts in there.
                link.settings = bridge::digest(data.nested("IFLA_INFO_DATA"), |_| true)?;
            }
            "bridge" => {
                link.settings = bridge::settings(data.nested("IFLA_INFO_DATA"))?;
                link.filters_vlans = bridge::filters_vlans(data.nested("IFLA_INFO_DATA"))?;
                link.bridge = Some(bridge::told(data.nested("IFLA_INFO_DATA"))?);
            }
            _ => {}
        }
    }
    if let Some(membership) = membership.filter(|_| master == "bridge") {
        link.port = Some(bridge::membership(
            membership.nested("IFLA_INFO_SLAVE_DATA"),
        )?);
        link.proxies = bridge::proxies(membership.nested("IFLA_INFO_SLAVE_DATA"))?;
        link.locked = bridge::locked(membership.nested("IFLA_INFO_SLAVE_DATA"))?;
    }
    Ok(())
}

fn vlan(attributes: Attributes<'_>) -> Result<Vlan, DecodeError> {
    let mut id = None;
    let mut protocol = ETH_P_8021Q;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            IFLA_VLAN_ID => id = Some(u16::from_ne_bytes(attribute.array("IFLA_VLAN_ID")?)),
            IFLA_VLAN_PROTOCOL => protocol = attribute.u16_network("IFLA_VLAN_PROTOCOL")?,
            _ => {}
        }
    }
    let id = id.ok_or(DecodeError::missing("IFLA_VLAN_ID"))?;
    if id > 4095 {
        return Err(DecodeError::new("IFLA_VLAN_ID", Problem::Contradiction));
    }
    Ok(Vlan { id, protocol })
}

/// Returns the id of the attached program, the first of several (driver and generic); 0 if the
/// kernel reports a program without an id.
fn xdp_program(attribute: &Attribute<'_>) -> Result<Option<u32>, DecodeError> {
    let mut attached = false;
    let mut program = None;
    for attribute in attribute.nested("IFLA_XDP") {
        let attribute = attribute?;
        match attribute.kind {
            IFLA_XDP_ATTACHED => attached = attribute.array::<1>("IFLA_XDP_ATTACHED")? != [0],
            IFLA_XDP_PROG_ID..=IFLA_XDP_HW_PROG_ID => {
                let id = attribute.u32_native("IFLA_XDP_PROG_ID")?;
                program = program.or(Some(id));
            }
            _ => {}
        }
    }
    Ok(attached.then_some(program.unwrap_or(0)))
}

/// Statistics would be a third of each answer.
pub(super) fn leave_out_statistics(encoder: &mut Encoder) {
    encoder.attribute(IFLA_EXT_MASK, &SKIP_STATISTICS.to_ne_bytes());
}
