//! Names that devices send when they ask for an address (DHCP, RFC 2131; options: RFC 2132).

use std::net::Ipv4Addr;

use kernel::Mac;
use net::Cursor;

use super::text;

const COOKIE: [u8; 4] = [99, 130, 83, 99];
const ETHERNET: u8 = 1;
const PAD: u8 = 0;
const HOST_NAME: u8 = 12;
const REQUESTED_ADDRESS: u8 = 50;
const MESSAGE_TYPE: u8 = 53;
const FQDN: u8 = 81;
const END: u8 = 255;
/// Option 81 (RFC 4702, 2.1): the name is in the form of DNS, not text.
const FQDN_ENCODED: u8 = 4;

/// Kinds of message (RFC 2132, 9.6) that contain a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageType {
    /// The client searches for servers.
    Discover,
    /// The client requests or renews an address.
    Request,
    /// The server assigns the address.
    Ack,
    /// The client has an address and asks for other options.
    Inform,
}

/// Contents of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Kind of message.
    pub kind: MessageType,
    /// Hardware address of the client.
    pub mac: Mac,
    /// Name of the device (option 12; otherwise the first label of option 81); in an
    /// [`MessageType::Ack`], the server's name for the device.
    pub name: Option<String>,
    /// The address that the device gets, requests (option 50), or has.
    pub address: Option<Ipv4Addr>,
}

/// Parses the payload of a datagram to or from port 67. `None`: another kind of message, or not an
/// Ethernet client.
pub fn read(payload: &[u8]) -> Option<Message> {
    let mut cursor = Cursor(payload);
    let [op, hardware, length, _] = cursor.array()?;
    // Transaction, seconds, flags.
    cursor.take(8)?;
    let own = Ipv4Addr::from(cursor.u32()?);
    let yours = Ipv4Addr::from(cursor.u32()?);
    // Server, relay.
    cursor.take(8)?;
    let mac: Mac = cursor.array()?;
    // Padding of the hardware address, names of server and file.
    cursor.take(10 + 64 + 128)?;
    if cursor.array()? != COOKIE || hardware != ETHERNET || usize::from(length) != mac.len() {
        return None;
    }
    let options = Options::read(cursor);
    let kind = match (op, options.kind?) {
        (1, 1) => MessageType::Discover,
        (1, 3) => MessageType::Request,
        (1, 8) => MessageType::Inform,
        (2, 5) => MessageType::Ack,
        _ => return None,
    };
    let given = match kind {
        MessageType::Ack => Some(yours),
        _ => options.requested.or(Some(own)),
    };
    Some(Message {
        kind,
        mac,
        name: text::device(&options.host_name).or_else(|| first_label(&options.fqdn)),
        address: given.filter(|address| !address.is_unspecified()),
    })
}

#[derive(Default)]
struct Options {
    kind: Option<u8>,
    requested: Option<Ipv4Addr>,
    /// These options may be split (RFC 3396).
    host_name: Vec<u8>,
    fqdn: Vec<u8>,
}

impl Options {
    /// Parses the options, up to the first invalid one.
    fn read(mut cursor: Cursor<'_>) -> Self {
        let mut options = Self::default();
        while let Some(code) = cursor.u8() {
            if code == PAD {
                continue;
            }
            if code == END {
                break;
            }
            let Some(data) = cursor.behind_u8() else {
                break;
            };
            match code {
                HOST_NAME => options.host_name.extend_from_slice(data),
                REQUESTED_ADDRESS => {
                    options.requested = <[u8; 4]>::try_from(data).ok().map(Ipv4Addr::from);
                }
                MESSAGE_TYPE => options.kind = data.first().copied(),
                FQDN => options.fqdn.extend_from_slice(data),
                _ => {}
            }
        }
        options
    }
}

/// Returns the host's part of option 81: flags, two unused bytes, name.
fn first_label(fqdn: &[u8]) -> Option<String> {
    let mut cursor = Cursor(fqdn);
    let [flags, _, _] = cursor.array()?;
    let label = if flags & FQDN_ENCODED != 0 {
        // No compression here (RFC 4702, 2.3.1).
        cursor.behind_u8()?
    } else {
        cursor.0.split(|&octet| octet == b'.').next()?
    };
    text::device(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0x5e, 0x10, 0, 1];

    fn payload(op: u8, options: &[(u8, &[u8])]) -> Vec<u8> {
        let mut octets = vec![op, 1, 6, 0];
        octets.extend([0; 8]);
        octets.extend([0, 0, 0, 0, 192, 0, 2, 9]);
        octets.extend([0; 8]);
        octets.extend(MAC);
        octets.extend([0; 10 + 64 + 128]);
        octets.extend(COOKIE);
        for (code, data) in options {
            octets.extend([PAD, *code, data.len() as u8]);
            octets.extend(*data);
        }
        octets.push(END);
        octets
    }

    fn name(options: &[(u8, &[u8])]) -> Option<String> {
        let all = [&[(MESSAGE_TYPE, &[3_u8][..])], options].concat();
        read(&payload(1, &all)).expect("a request").name
    }

    #[test]
    fn request_and_ack() {
        let options: [(u8, &[u8]); 3] = [
            (MESSAGE_TYPE, &[3]),
            (HOST_NAME, b"laptop\0"),
            (REQUESTED_ADDRESS, &[192, 0, 2, 7]),
        ];
        let request = Message {
            kind: MessageType::Request,
            mac: MAC,
            name: Some("laptop".to_owned()),
            address: Some([192, 0, 2, 7].into()),
        };
        assert_eq!(read(&payload(1, &options)), Some(request.clone()));
        let options: [(u8, &[u8]); 2] = [(MESSAGE_TYPE, &[5]), (HOST_NAME, b"laptop")];
        let ack = Message {
            kind: MessageType::Ack,
            address: Some([192, 0, 2, 9].into()),
            ..request
        };
        assert_eq!(read(&payload(2, &options)), Some(ack));
    }

    #[test]
    fn full_names_and_pieces() {
        assert_eq!(
            name(&[(FQDN, b"\x00\0\0pc.example.org")]).as_deref(),
            Some("pc")
        );
        assert_eq!(
            name(&[(FQDN, b"\x05\0\0\x02pc\x07example\0")]).as_deref(),
            Some("pc")
        );
        assert_eq!(name(&[(FQDN, b"\x05\0\0\x09pc")]), None);
        assert_eq!(name(&[(FQDN, b"\x05")]), None);
        assert_eq!(
            name(&[(HOST_NAME, b"a"), (FQDN, b"\x00\0\0b"), (HOST_NAME, b"c")]).as_deref(),
            Some("ac")
        );
        assert_eq!(
            name(&[(HOST_NAME, b"\x1b[2J<b>\n")]).as_deref(),
            Some("[2J<b>")
        );
        assert_eq!(name(&[]), None);
    }

    #[test]
    fn not_for_us_or_cut() {
        let options: [(u8, &[u8]); 2] = [(HOST_NAME, b"laptop"), (MESSAGE_TYPE, &[3])];
        let whole = payload(1, &options);
        for length in 0..whole.len() - 1 {
            assert_eq!(read(&whole[..length]), None, "{length}");
        }
        for (at, octet) in [(0, 2), (1, 6), (2, 16), (236, 0)] {
            let mut other = whole.clone();
            other[at] = octet;
            assert_eq!(read(&other), None, "{at}");
        }
        // A release.
        assert_eq!(read(&payload(1, &[(MESSAGE_TYPE, &[7])])), None);
    }
}
