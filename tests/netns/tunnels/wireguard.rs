//! WireGuard devices by generic netlink (include/uapi/linux/wireguard.h), without a tool.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use lab::{Error, Namespace};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

/// A key, private or public.
pub type Key = [u8; 32];

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const WG_CMD_GET_DEVICE: u8 = 0;
const WG_CMD_SET_DEVICE: u8 = 1;
const WGDEVICE_A_IFNAME: u16 = 2;
const WGDEVICE_A_PRIVATE_KEY: u16 = 3;
const WGDEVICE_A_PUBLIC_KEY: u16 = 4;
const WGDEVICE_A_LISTEN_PORT: u16 = 6;
const WGDEVICE_A_PEERS: u16 = 8;
const WGPEER_A_PUBLIC_KEY: u16 = 1;
const WGPEER_A_ENDPOINT: u16 = 4;
const WGPEER_A_ALLOWEDIPS: u16 = 9;
const WGALLOWEDIP_A_FAMILY: u16 = 1;
const WGALLOWEDIP_A_IPADDR: u16 = 2;
const WGALLOWEDIP_A_CIDR_MASK: u16 = 3;
const NLA_F_NESTED: u16 = 1 << 15;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Creates a listening device with this private key, and returns the public key that the kernel
/// computes.
///
/// # Errors
/// The kernel lacks WireGuard, or refuses.
pub fn create(at: &Namespace, name: &str, private: Key, port: u16) -> Result<Key, Error> {
    at.run(&format!("ip link add name {name} type wireguard"))?;
    let mut device = attribute(WGDEVICE_A_IFNAME, &text(name));
    device.extend(attribute(WGDEVICE_A_PRIVATE_KEY, &private));
    device.extend(attribute(WGDEVICE_A_LISTEN_PORT, &port.to_ne_bytes()));
    let work = || -> io::Result<Option<Key>> {
        let kernel = Kernel::open()?;
        kernel.ask(WG_CMD_SET_DEVICE, NLM_F_ACK, &device)?;
        let name = attribute(WGDEVICE_A_IFNAME, &text(name));
        let answer = kernel.ask(WG_CMD_GET_DEVICE, NLM_F_DUMP, &name)?;
        Ok(found(&answer, WGDEVICE_A_PUBLIC_KEY).and_then(|key| key.try_into().ok()))
    };
    let key = at.enter(work)?;
    key.map_err(Error::system(format!("set up {name}")))?
        .ok_or_else(|| Error::Unexpected(format!("{name} has no public key")))
}

/// Adds a peer for all addresses.
///
/// # Errors
/// The kernel refuses.
pub fn peer(at: &Namespace, name: &str, public: Key, endpoint: SocketAddr) -> Result<(), Error> {
    let IpAddr::V4(address) = endpoint.ip() else {
        return Err(Error::Unexpected("an endpoint of IPv4 only".into()));
    };
    // struct sockaddr_in.
    let mut place = (nix::libc::AF_INET as u16).to_ne_bytes().to_vec();
    place.extend(endpoint.port().to_be_bytes());
    place.extend(address.octets());
    place.extend([0; 8]);
    let mut all = Vec::new();
    for (family, zero) in [
        (nix::libc::AF_INET, &[0; 4][..]),
        (nix::libc::AF_INET6, &[0; 16]),
    ] {
        let mut prefix = attribute(WGALLOWEDIP_A_FAMILY, &(family as u16).to_ne_bytes());
        prefix.extend(attribute(WGALLOWEDIP_A_IPADDR, zero));
        prefix.extend(attribute(WGALLOWEDIP_A_CIDR_MASK, &[0]));
        all.extend(attribute(NLA_F_NESTED, &prefix));
    }
    let mut peer = attribute(WGPEER_A_PUBLIC_KEY, &public);
    peer.extend(attribute(WGPEER_A_ENDPOINT, &place));
    peer.extend(attribute(WGPEER_A_ALLOWEDIPS | NLA_F_NESTED, &all));
    let mut device = attribute(WGDEVICE_A_IFNAME, &text(name));
    let peers = attribute(NLA_F_NESTED, &peer);
    device.extend(attribute(WGDEVICE_A_PEERS | NLA_F_NESTED, &peers));
    let work = || Kernel::open()?.ask(WG_CMD_SET_DEVICE, NLM_F_ACK, &device);
    at.enter(work)?
        .map(drop)
        .map_err(Error::system(format!("give {name} a peer")))
}

/// Returns a name in netlink's form.
fn text(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// Returns type, length and value, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = value.len() + 4;
    let mut bytes = (length as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// Returns the value of the first attribute of this type.
fn found(mut rest: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
        let value = rest.get(4..length)?;
        if kind & !NLA_F_NESTED == wanted {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

/// A socket to the family `wireguard`.
struct Kernel {
    socket: OwnedFd,
    family: u16,
}

impl Kernel {
    fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkGeneric,
        )?;
        let mut kernel = Self {
            socket,
            family: GENL_ID_CTRL,
        };
        let name = attribute(CTRL_ATTR_FAMILY_NAME, &text("wireguard"));
        let answer = kernel.ask(CTRL_CMD_GETFAMILY, 0, &name)?;
        let number = found(&answer, CTRL_ATTR_FAMILY_ID).and_then(|id| id.try_into().ok());
        kernel.family = u16::from_ne_bytes(
            number.ok_or_else(|| io::Error::other("the kernel has no WireGuard"))?,
        );
        Ok(kernel)
    }

    /// Sends a command and returns the attributes of the first answer, empty for an
    /// acknowledgement.
    fn ask(&self, command: u8, flags: u16, attributes: &[u8]) -> io::Result<Vec<u8>> {
        // nlmsghdr, then genlmsghdr: command and version 1.
        let mut request = (20 + attributes.len() as u32).to_ne_bytes().to_vec();
        request.extend(self.family.to_ne_bytes());
        request.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        request.extend([0; 8]);
        request.extend([command, 1, 0, 0]);
        request.extend(attributes);
        send(self.socket.as_raw_fd(), &request, MsgFlags::empty())?;
        let mut buffer = vec![0; 32 << 10];
        let length = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let answer = buffer.get(..length).unwrap_or_default();
        let number = |at: usize| answer.get(at..at + 4).and_then(|b| b.try_into().ok());
        let kind = answer.get(4..6).and_then(|b| b.try_into().ok());
        match kind.map(u16::from_ne_bytes) {
            Some(NLMSG_ERROR) => match number(16).map_or(0, i32::from_ne_bytes) {
                0 => Ok(Vec::new()),
                code => Err(io::Error::from_raw_os_error(-code)),
            },
            Some(NLMSG_DONE) | None => Ok(Vec::new()),
            Some(_) => {
                let end = number(0).map_or(0, u32::from_ne_bytes) as usize;
                Ok(answer.get(20..end).unwrap_or_default().to_vec())
            }
        }
    }
}
