//! nf_tables sets of addresses: their contents, and notifications of changed sets or rules
//! (`include/uapi/linux/netfilter/nf_tables.h`; `net/netfilter/nf_tables_api.c`). Sockets are in
//! [`crate::io`].

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::encode::{Encoder, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{Attribute, DecodeError, Message, Problem};

pub(crate) const SUBSYSTEM: u16 = 10;
pub(crate) const NFT_MSG_NEWSET: u16 = 9;
pub(crate) const NFT_MSG_GETSET: u16 = 10;
const NFT_MSG_DELSET: u16 = 11;
pub(crate) const NFT_MSG_NEWSETELEM: u16 = 12;
const NFT_MSG_GETSETELEM: u16 = 13;
pub(crate) const NFT_MSG_DELSETELEM: u16 = 14;
const NFT_MSG_NEWGEN: u16 = 15;
const NFT_MSG_TRACE: u16 = 17;
const NFT_MSG_DESTROYSET: u16 = 29;
const NFT_MSG_DESTROYSETELEM: u16 = 30;
/// Named objects (counters, limits) and flowtables: appearing or going, they change no rule.
const OBJECTS: [u16; 6] = [18, 20, 22, 24, 31, 32];

/// Table and set, with equal numbers in every message about a set.
const NFTA_SET_TABLE: u16 = 1;
const NFTA_SET_NAME: u16 = 2;
pub(crate) const NFTA_SET_FLAGS: u16 = 3;
const NFTA_SET_KEY_TYPE: u16 = 4;
const NFTA_SET_KEY_LEN: u16 = 5;

pub(crate) const NFTA_SET_ELEM_LIST_ELEMENTS: u16 = 3;
pub(crate) const NFTA_LIST_ELEM: u16 = 1;
pub(crate) const NFTA_SET_ELEM_KEY: u16 = 1;
pub(crate) const NFTA_SET_ELEM_FLAGS: u16 = 3;
pub(crate) const NFTA_SET_ELEM_EXPIRATION: u16 = 5;
pub(crate) const NFTA_DATA_VALUE: u16 = 1;

const NFT_SET_ELEM_INTERVAL_END: u32 = 1;
const NFT_SET_ELEM_CATCHALL: u32 = 2;

/// The kernel's bound on names (`NFT_NAME_MAXLEN`), bytes.
const NAME_MAX: usize = 255;

/// A family of nf_tables (`NFPROTO_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// IPv4 and IPv6.
    Inet = 1,
    /// IPv4.
    Ip = 2,
    /// Devices.
    Netdev = 5,
    /// Bridges.
    Bridge = 7,
    /// IPv6.
    Ip6 = 10,
}

impl Family {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Inet, "inet"),
        (Self::Ip, "ip"),
        (Self::Netdev, "netdev"),
        (Self::Bridge, "bridge"),
        (Self::Ip6, "ip6"),
    ];

    /// Finds a family by its number.
    pub(crate) fn numbered(number: u8) -> Option<Self> {
        let mut all = Self::ALL.iter().map(|(family, _)| *family);
        all.find(|family| *family as u8 == number)
    }

    /// Returns the word that `nft` uses.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(family, _)| *family == self)
            .map_or("", |(_, word)| word)
    }
}

/// Name of a set, with family and table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetName {
    /// Family of the table.
    pub family: Family,
    /// Table of the set.
    pub table: String,
    /// Name of the set.
    pub name: String,
}

impl fmt::Display for SetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.family.name(), self.table, self.name)
    }
}

/// The text is not a valid set name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not FAMILY TABLE NAME, such as \"inet fw4 banned4\", the family being ip, ip6, inet, netdev \
        or bridge"
)]
pub struct NotASetName;

impl FromStr for SetName {
    type Err = NotASetName;

    /// Three words, as after `nft list set`.
    fn from_str(text: &str) -> Result<Self, NotASetName> {
        let mut words = text.split_ascii_whitespace();
        let (Some(family), Some(table), Some(name), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(NotASetName);
        };
        let family = Family::ALL
            .iter()
            .find(|(_, word)| *word == family)
            .map(|(family, _)| *family)
            .ok_or(NotASetName)?;
        let fine = |word: &str| word.len() <= NAME_MAX && !word.chars().any(char::is_control);
        if !fine(table) || !fine(name) {
            return Err(NotASetName);
        }
        Ok(Self {
            family,
            table: table.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// Type of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetHeader {
    /// `NFT_SET_*`.
    pub flags: u32,
    /// The type of its key, by a number of `nft`'s own: 7 is `ipv4_addr`, 8 is `ipv6_addr`.
    pub key_type: u32,
    /// Length of its key, bytes.
    pub key_length: u32,
}

/// Flags of [`SetHeader::flags`].
pub mod set_flags {
    /// Elements are ranges.
    pub const INTERVAL: u32 = 0x4;
    /// Elements have a value.
    pub const MAP: u32 = 0x8;
    /// Elements expire by themselves.
    pub const TIMEOUT: u32 = 0x10;
    /// Packets add elements.
    pub const DYNAMIC: u32 = 0x20;
}

/// Element of a set. A range is two of them: its first address, and the first one after it (`end`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// `None`: the element that represents all addresses outside the set.
    pub address: Option<IpAddr>,
    /// True if a range ends here.
    pub end: bool,
    /// Milliseconds until the element expires.
    pub expires: Option<u64>,
}

/// A set as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetContent {
    /// Type of the set.
    pub header: SetHeader,
    /// Elements in the kernel's order.
    pub elements: Vec<Element>,
}

/// A change of sets or rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SetEvent {
    /// The set, or its elements.
    Set(SetName),
    /// Tables, chains or rules, or an unknown object.
    Rules,
    /// Events were lost.
    Lost,
}

/// Requests the definition of a set.
pub(crate) fn get_set(name: &SetName, sequence: u32) -> Vec<u8> {
    request(NFT_MSG_GETSET, NLM_F_REQUEST | NLM_F_ACK, name, sequence)
}

/// Requests the elements of a set.
pub(crate) fn dump_elements(name: &SetName, sequence: u32) -> Vec<u8> {
    request(
        NFT_MSG_GETSETELEM,
        NLM_F_REQUEST | NLM_F_DUMP,
        name,
        sequence,
    )
}

fn request(kind: u16, flags: u16, name: &SetName, sequence: u32) -> Vec<u8> {
    let text = |text: &str| [text.as_bytes(), &[0]].concat();
    Encoder::single(SUBSYSTEM << 8 | kind, flags, sequence, |e| {
        e.fixed(&[name.family as u8, 0, 0, 0]);
        e.attribute(NFTA_SET_TABLE, &text(&name.table));
        e.attribute(NFTA_SET_NAME, &text(&name.name));
    })
}

/// Decodes the answer to [`get_set`].
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_set(message: &Message<'_>) -> Result<Option<SetHeader>, DecodeError> {
    if message.kind != SUBSYSTEM << 8 | NFT_MSG_NEWSET {
        return Ok(None);
    }
    let (_, attributes) = message.split::<4>("nfgenmsg")?;
    let mut header = SetHeader::default();
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            NFTA_SET_FLAGS => header.flags = attribute.u32_network("NFTA_SET_FLAGS")?,
            NFTA_SET_KEY_TYPE => header.key_type = attribute.u32_network("NFTA_SET_KEY_TYPE")?,
            NFTA_SET_KEY_LEN => header.key_length = attribute.u32_network("NFTA_SET_KEY_LEN")?,
            _ => {}
        }
    }
    Ok(Some(header))
}

/// Decodes a part of the answer to [`dump_elements`], appending to `out`.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length; keys that are not addresses
/// have one.
pub fn decode_elements(message: &Message<'_>, out: &mut Vec<Element>) -> Result<(), DecodeError> {
    each_element(message, |item| {
        out.push(element(item)?);
        Ok(())
    })
}

/// Passes each element in a part of the answer to a dump of a set to `each`.
pub(crate) fn each_element<'a>(
    message: &Message<'a>,
    mut take: impl FnMut(&Attribute<'a>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    if message.kind != SUBSYSTEM << 8 | NFT_MSG_NEWSETELEM {
        return Ok(());
    }
    let (_, attributes) = message.split::<4>("nfgenmsg")?;
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind != NFTA_SET_ELEM_LIST_ELEMENTS {
            continue;
        }
        for item in attribute.nested("NFTA_SET_ELEM_LIST_ELEMENTS") {
            let item = item?;
            if item.kind == NFTA_LIST_ELEM {
                take(&item)?;
            }
        }
    }
    Ok(())
}

fn element(item: &Attribute<'_>) -> Result<Element, DecodeError> {
    let mut flags = 0;
    let mut found = Element {
        address: None,
        end: false,
        expires: None,
    };
    for attribute in item.nested("NFTA_LIST_ELEM") {
        let attribute = attribute?;
        match attribute.kind {
            NFTA_SET_ELEM_KEY => found.address = address(&attribute)?,
            NFTA_SET_ELEM_FLAGS => flags = attribute.u32_network("NFTA_SET_ELEM_FLAGS")?,
            NFTA_SET_ELEM_EXPIRATION => {
                let octets = attribute.array::<8>("NFTA_SET_ELEM_EXPIRATION")?;
                found.expires = Some(u64::from_be_bytes(octets));
            }
            _ => {}
        }
    }
    found.end = flags & NFT_SET_ELEM_INTERVAL_END != 0;
    if found.address.is_none() && flags & NFT_SET_ELEM_CATCHALL == 0 {
        return Err(DecodeError::missing("NFTA_SET_ELEM_KEY"));
    }
    Ok(found)
}

fn address(key: &Attribute<'_>) -> Result<Option<IpAddr>, DecodeError> {
    const PART: &str = "NFTA_SET_ELEM_KEY";
    for attribute in key.nested(PART) {
        let attribute = attribute?;
        if attribute.kind != NFTA_DATA_VALUE {
            continue;
        }
        return match attribute.value.len() {
            4 => Ok(Some(Ipv4Addr::from(attribute.array::<4>(PART)?).into())),
            16 => Ok(Some(Ipv6Addr::from(attribute.array::<16>(PART)?).into())),
            _ => Err(DecodeError::new(PART, Problem::Length)),
        };
    }
    Ok(None)
}

/// Decodes an event. `None`: irrelevant.
///
/// # Errors
/// Names the attribute that is cut short or missing.
pub fn decode_event(message: &Message<'_>) -> Result<Option<SetEvent>, DecodeError> {
    if message.kind >> 8 != SUBSYSTEM {
        return Ok(None);
    }
    match message.kind & 0xff {
        NFT_MSG_NEWSET
        | NFT_MSG_DELSET
        | NFT_MSG_DESTROYSET
        | NFT_MSG_NEWSETELEM
        | NFT_MSG_DELSETELEM
        | NFT_MSG_DESTROYSETELEM => set_name(message).map(Some),
        NFT_MSG_NEWGEN | NFT_MSG_TRACE => Ok(None),
        kind if OBJECTS.contains(&kind) => Ok(None),
        _ => Ok(Some(SetEvent::Rules)),
    }
}

/// The set that a message is about, if its family has a name.
pub(crate) fn set_name(message: &Message<'_>) -> Result<SetEvent, DecodeError> {
    let (fixed, attributes) = message.split::<4>("nfgenmsg")?;
    let (mut table, mut name) = (None, None);
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            NFTA_SET_TABLE => table = Some(attribute.text()),
            NFTA_SET_NAME => name = Some(attribute.text()),
            _ => {}
        }
    }
    let family = Family::ALL
        .iter()
        .find(|(family, _)| *family as u8 == fixed[0])
        .map(|(family, _)| *family);
    match (family, table, name) {
        (Some(family), Some(table), Some(name)) => Ok(SetEvent::Set(SetName {
            family,
            table,
            name,
        })),
        // Of a family that cannot be named in the configuration.
        (None, ..) => Ok(SetEvent::Rules),
        _ => Err(DecodeError::missing("NFTA_SET_NAME")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::first;

    fn name() -> SetName {
        "inet fw4 banned4".parse().expect("a name")
    }

    /// Elements as the kernel writes them.
    fn answer(elements: &[(&[u8], u32, Option<u64>)]) -> Vec<u8> {
        Encoder::single(SUBSYSTEM << 8 | NFT_MSG_NEWSETELEM, 0, 1, |e| {
            e.fixed(&[1, 0, 0, 0]);
            e.attribute(NFTA_SET_TABLE, b"fw4\0");
            e.attribute(NFTA_SET_NAME, b"banned4\0");
            e.nested(NFTA_SET_ELEM_LIST_ELEMENTS, |e| {
                for (key, flags, expires) in elements {
                    e.nested(NFTA_LIST_ELEM, |e| {
                        if !key.is_empty() {
                            e.nested(NFTA_SET_ELEM_KEY, |e| e.attribute(NFTA_DATA_VALUE, key));
                        }
                        e.attribute(NFTA_SET_ELEM_FLAGS, &flags.to_be_bytes());
                        if let Some(expires) = expires {
                            e.attribute(NFTA_SET_ELEM_EXPIRATION, &expires.to_be_bytes());
                        }
                    });
                }
            });
        })
    }

    #[test]
    fn names_are_three_words() {
        assert_eq!(name().to_string(), "inet fw4 banned4");
        assert_eq!(
            " ip6  a  b ".parse::<SetName>().map(|n| n.to_string()),
            Ok("ip6 a b".into())
        );
        for text in [
            "",
            "inet fw4",
            "inet fw4 a b",
            "ipv4 fw4 a",
            "inet fw4 a\u{7}",
        ] {
            assert_eq!(text.parse::<SetName>(), Err(NotASetName), "{text:?}");
        }
        let long = format!("ip t {}", "x".repeat(256));
        assert_eq!(long.parse::<SetName>(), Err(NotASetName));
    }

    #[test]
    fn elements_are_read() {
        let datagram = answer(&[
            (&[192, 0, 2, 0], 0, Some(5000)),
            (&[192, 0, 3, 0], 1, None),
            (&[], 2, None),
        ]);
        let mut found = Vec::new();
        decode_elements(&first(&datagram), &mut found).expect("right");
        let v4 = |octets: [u8; 4]| Some(IpAddr::from(octets));
        let element = |address, end, expires| Element {
            address,
            end,
            expires,
        };
        assert_eq!(
            found,
            [
                element(v4([192, 0, 2, 0]), false, Some(5000)),
                element(v4([192, 0, 3, 0]), true, None),
                element(None, false, None),
            ]
        );
    }

    #[test]
    fn keys_that_are_no_addresses_are_errors() {
        let datagram = answer(&[(&[1, 2], 0, None)]);
        let wrong = decode_elements(&first(&datagram), &mut Vec::new());
        assert_eq!(
            wrong,
            Err(DecodeError::new("NFTA_SET_ELEM_KEY", Problem::Length))
        );
        let datagram = answer(&[(&[], 0, None)]);
        let wrong = decode_elements(&first(&datagram), &mut Vec::new());
        assert_eq!(wrong, Err(DecodeError::missing("NFTA_SET_ELEM_KEY")));
    }

    #[test]
    fn anything_cut_anywhere_is_an_error_or_less() {
        let datagram = answer(&[(&[192, 0, 2, 0], 0, Some(5000))]);
        for length in 16..datagram.len() {
            let mut cut = datagram[..length].to_vec();
            cut[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            let mut found = Vec::new();
            let _ = decode_elements(&first(&cut), &mut found);
            let _ = decode_event(&first(&cut));
            assert!(found.len() <= 1);
        }
    }

    #[test]
    fn events_name_the_set_or_the_rules() {
        let datagram = answer(&[]);
        assert_eq!(
            decode_event(&first(&datagram)),
            Ok(Some(SetEvent::Set(name())))
        );
        let other = |kind: u16| {
            let datagram = Encoder::single(kind, 0, 1, |e| e.fixed(&[1, 0, 0, 0]));
            decode_event(&first(&datagram))
        };
        assert_eq!(other(SUBSYSTEM << 8 | 6), Ok(Some(SetEvent::Rules)));
        assert_eq!(
            other(SUBSYSTEM << 8 | 200),
            Ok(Some(SetEvent::Rules)),
            "unknown"
        );
        assert_eq!(other(SUBSYSTEM << 8 | NFT_MSG_NEWGEN), Ok(None));
        assert_eq!(other(1 << 8), Ok(None), "conntrack");
        assert!(other(SUBSYSTEM << 8 | NFT_MSG_DELSET).is_err());
    }
}
