//! Numbers of rtnetlink that several files use (`include/uapi/linux/rtnetlink.h`, `if_link.h`,
//! `if_addr.h`, `neighbour.h`).

use crate::message::{DecodeError, Problem};

pub(crate) const RTM_NEWLINK: u16 = 16;
pub(crate) const RTM_DELLINK: u16 = 17;
pub(crate) const RTM_GETLINK: u16 = 18;
pub(crate) const RTM_NEWADDR: u16 = 20;
pub(crate) const RTM_DELADDR: u16 = 21;
pub(crate) const RTM_GETADDR: u16 = 22;
pub(crate) const RTM_NEWROUTE: u16 = 24;
pub(crate) const RTM_DELROUTE: u16 = 25;
pub(crate) const RTM_GETROUTE: u16 = 26;
pub(crate) const RTM_NEWNEIGH: u16 = 28;
pub(crate) const RTM_DELNEIGH: u16 = 29;
pub(crate) const RTM_GETNEIGH: u16 = 30;
pub(crate) const RTM_NEWRULE: u16 = 32;
pub(crate) const RTM_DELRULE: u16 = 33;
pub(crate) const RTM_GETRULE: u16 = 34;
pub(crate) const RTM_NEWQDISC: u16 = 36;
pub(crate) const RTM_DELQDISC: u16 = 37;
pub(crate) const RTM_GETQDISC: u16 = 38;
pub(crate) const RTM_NEWTCLASS: u16 = 40;
pub(crate) const RTM_GETTCLASS: u16 = 42;
pub(crate) const RTM_NEWTFILTER: u16 = 44;
pub(crate) const RTM_DELTFILTER: u16 = 45;
pub(crate) const RTM_GETTFILTER: u16 = 46;
pub(crate) const RTM_NEWNETCONF: u16 = 80;
pub(crate) const RTM_DELNETCONF: u16 = 81;
pub(crate) const RTM_NEWNEXTHOP: u16 = 104;
pub(crate) const RTM_DELNEXTHOP: u16 = 105;
pub(crate) const RTM_GETNEXTHOP: u16 = 106;
pub(crate) const RTM_NEWVLAN: u16 = 112;
pub(crate) const RTM_DELVLAN: u16 = 113;
/// A bucket of a resilient group has another next hop.
pub(crate) const RTM_NEWNEXTHOPBUCKET: u16 = 116;
/// `RTM_F_CLONED`: an entry of the cache (a path MTU, a redirect), not of the table.
pub(crate) const RTM_F_CLONED: u32 = 0x200;

pub(crate) const AF_UNSPEC: u8 = 0;
pub(crate) const AF_INET: u8 = 2;
pub(crate) const AF_BRIDGE: u8 = 7;
pub(crate) const AF_INET6: u8 = 10;

pub(crate) const IFF_UP: u32 = 1;

pub(crate) const IFLA_ADDRESS: u16 = 1;
pub(crate) const IFLA_IFNAME: u16 = 3;
pub(crate) const IFLA_MTU: u16 = 4;
pub(crate) const IFLA_LINK: u16 = 5;
pub(crate) const IFLA_MASTER: u16 = 10;
pub(crate) const IFLA_LINKINFO: u16 = 18;
/// Nested attributes, whose numbers differ between AF_BRIDGE and other families.
pub(crate) const IFLA_AF_SPEC: u16 = 26;
pub(crate) const IFLA_EXT_MASK: u16 = 29;

pub(crate) const IFLA_INFO_KIND: u16 = 1;
pub(crate) const IFLA_INFO_DATA: u16 = 2;
pub(crate) const IFLA_VLAN_ID: u16 = 1;
pub(crate) const IFLA_VLAN_PROTOCOL: u16 = 5;

pub(crate) const IFA_ADDRESS: u16 = 1;
pub(crate) const IFA_LOCAL: u16 = 2;
pub(crate) const IFA_FLAGS: u16 = 8;

pub(crate) const NDA_DST: u16 = 1;
pub(crate) const NDA_LLADDR: u16 = 2;

pub(crate) const RTA_MULTIPATH: u16 = 9;

/// `TC_H_CLSACT`, also `TC_H_INGRESS`: parent of the qdiscs that hold filters at ingress and
/// egress.
pub(crate) const TC_H_CLSACT: u32 = 0xffff_fff1;
pub(crate) const TC_H_ROOT: u32 = 0xffff_ffff;

pub(crate) const TCA_KIND: u16 = 1;
pub(crate) const TCA_OPTIONS: u16 = 2;

/// The interface index of a message about a device, which the kernel holds as a positive `int`.
pub(crate) fn index(number: u32) -> Result<u32, DecodeError> {
    if (1..=i32::MAX as u32).contains(&number) {
        Ok(number)
    } else {
        Err(DecodeError::new("ifi_index", Problem::Contradiction))
    }
}
