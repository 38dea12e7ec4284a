//! A device on top of another, and a member of a third: for batman-adv and bridges.

use crate::encode::{Encoder, NLM_F_ACK, NLM_F_REQUEST};
use crate::encode::{NLM_F_CREATE, NLM_F_EXCL};
use crate::event::Mac;
use crate::message::{DecodeError, Message, u32_at};
use crate::rtnetlink::{
    IFLA_ADDRESS, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINK, IFLA_LINKINFO,
    IFLA_MASTER, IFLA_VLAN_ID, IFLA_VLAN_PROTOCOL, RTM_DELLINK, RTM_GETLINK, RTM_NEWLINK,
};

const IFLA_BR_STP_STATE: u16 = 5;
/// A provider's tag (IEEE 802.1ad).
const PROVIDER: u16 = 0x88a8;

/// A device with a provider's tag, on top of another and a member of a third. The device goes with
/// the lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged<'a> {
    /// Index of the device below.
    pub below: u32,
    /// Name, 15 octets at most.
    pub name: &'a str,
    /// Hardware address.
    pub mac: Mac,
    /// The tag's id.
    pub id: u16,
    /// Index of the new master device.
    pub master: u32,
}

/// Relation of a device to bridges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bridging {
    /// Index of the master device.
    pub master: Option<u32>,
    /// True for a bridge that has a spanning tree.
    pub tree: bool,
}

fn header(link: u32) -> [u8; 16] {
    let mut fixed = [0; 16];
    fixed[4..8].copy_from_slice(&link.to_ne_bytes());
    fixed
}

/// `RTM_NEWLINK`: creates a device and adds it to its master, atomically.
pub(crate) fn make_tagged(tagged: Tagged<'_>, sequence: u32) -> Vec<u8> {
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    Encoder::single(RTM_NEWLINK, flags, sequence, |e| {
        e.fixed(&header(0));
        e.attribute(IFLA_ADDRESS, &tagged.mac);
        e.attribute(IFLA_IFNAME, &[tagged.name.as_bytes(), &[0]].concat());
        e.attribute(IFLA_LINK, &tagged.below.to_ne_bytes());
        e.attribute(IFLA_MASTER, &tagged.master.to_ne_bytes());
        e.nested(IFLA_LINKINFO, |e| {
            e.attribute(IFLA_INFO_KIND, b"vlan");
            e.nested(IFLA_INFO_DATA, |e| {
                e.attribute(IFLA_VLAN_ID, &tagged.id.to_ne_bytes());
                e.attribute(IFLA_VLAN_PROTOCOL, &PROVIDER.to_be_bytes());
            });
        });
    })
}

/// `RTM_NEWLINK`: adds an existing device to another.
pub(crate) fn set_master(link: u32, master: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, sequence, |e| {
        e.fixed(&header(link));
        e.attribute(IFLA_MASTER, &master.to_ne_bytes());
    })
}

/// `RTM_DELLINK`, of one.
pub(crate) fn remove(link: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(RTM_DELLINK, NLM_F_REQUEST | NLM_F_ACK, sequence, |e| {
        e.fixed(&header(link));
    })
}

/// `RTM_GETLINK`, of the one of this name.
pub(crate) fn get_index(name: &str, sequence: u32) -> Vec<u8> {
    Encoder::single(RTM_GETLINK, NLM_F_REQUEST | NLM_F_ACK, sequence, |e| {
        e.fixed(&header(0));
        e.attribute(IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
    })
}

/// Decodes the index in its answer. `None`: another message.
///
/// # Errors
/// The answer is cut short.
pub fn decode_index(message: &Message<'_>) -> Result<Option<u32>, DecodeError> {
    if message.kind != RTM_NEWLINK {
        return Ok(None);
    }
    let (fixed, _) = message.split::<16>("ifinfomsg")?;
    Ok(Some(u32_at(fixed, 4)))
}

/// `RTM_GETLINK`, of one.
pub(crate) fn get_bridging(link: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(RTM_GETLINK, NLM_F_REQUEST | NLM_F_ACK, sequence, |e| {
        e.fixed(&header(link));
    })
}

/// Decodes its answer. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_bridging(message: &Message<'_>) -> Result<Option<Bridging>, DecodeError> {
    if message.kind != RTM_NEWLINK {
        return Ok(None);
    }
    let (_, attributes) = message.split::<16>("ifinfomsg")?;
    let mut found = Bridging::default();
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            IFLA_MASTER => {
                let master = attribute.u32_native("IFLA_MASTER")?;
                found.master = Some(master).filter(|index| *index != 0);
            }
            IFLA_LINKINFO => {
                let (mut kind, mut data) = (String::new(), None);
                for part in attribute.nested("IFLA_LINKINFO") {
                    let part = part?;
                    match part.kind {
                        IFLA_INFO_KIND => kind = part.text(),
                        IFLA_INFO_DATA => data = Some(part),
                        _ => {}
                    }
                }
                for part in data
                    .filter(|_| kind == "bridge")
                    .iter()
                    .flat_map(|data| data.nested("IFLA_INFO_DATA"))
                {
                    let part = part?;
                    if part.kind == IFLA_BR_STP_STATE {
                        found.tree = part.u32_native("IFLA_BR_STP_STATE")? != 0;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::first;

    #[test]
    fn a_device_with_a_providers_tag_octet_by_octet() {
        let tagged = Tagged {
            below: 7,
            name: "mesh-1",
            mac: [2, 0, 0, 0, 0, 9],
            id: 29,
            master: 5,
        };
        let made = make_tagged(tagged, 3);
        let expected: Vec<u8> = [
            &104u32.to_ne_bytes()[..],
            &16u16.to_ne_bytes(),
            &0x605u16.to_ne_bytes(),
            &3u32.to_ne_bytes(),
            &[0; 4 + 16],
            &[10, 0, 1, 0, 2, 0, 0, 0, 0, 9, 0, 0],
            &[11, 0, 3, 0],
            b"mesh-1\0\0",
            &[8, 0, 5, 0, 7, 0, 0, 0],
            &[8, 0, 10, 0, 5, 0, 0, 0],
            &[32, 0, 18, 0x80],
            &[8, 0, 1, 0],
            b"vlan",
            &[20, 0, 2, 0x80],
            &[6, 0, 1, 0, 29, 0, 0, 0],
            &[6, 0, 5, 0, 0x88, 0xa8, 0, 0],
        ]
        .concat();
        assert_eq!(made, expected);
    }

    #[test]
    fn what_it_is_in_and_no_more_changes() {
        let put = set_master(7, 5, 3);
        assert_eq!(put[20..24], 7u32.to_ne_bytes());
        assert_eq!(put[32..], [8, 0, 10, 0, 5, 0, 0, 0]);
        // Neither flags nor the mask of the changed ones.
        assert_eq!(put[24..32], [0; 8]);
    }

    fn told(kind: &[u8], tree: u32) -> Bridging {
        let bytes = Encoder::single(RTM_NEWLINK, 0, 1, |e| {
            e.fixed(&header(4));
            e.attribute(IFLA_MASTER, &9u32.to_ne_bytes());
            e.nested(IFLA_LINKINFO, |e| {
                e.attribute(IFLA_INFO_KIND, kind);
                e.nested(IFLA_INFO_DATA, |e| {
                    e.attribute(IFLA_BR_STP_STATE, &tree.to_ne_bytes());
                });
            });
        });
        let found = decode_bridging(&first(&bytes)).expect("understood");
        found.expect("a device")
    }

    #[test]
    fn a_bridge_has_a_spanning_tree_or_none() {
        let master = Some(9);
        assert_eq!(told(b"bridge", 1), Bridging { master, tree: true });
        assert!(!told(b"bridge", 0).tree);
        // Of other kinds this number is something else.
        assert!(!told(b"vlan", 1).tree);
    }
}
