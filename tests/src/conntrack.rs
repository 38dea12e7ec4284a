//! Connection tracking entries from the kernel, with data that `conntrack -L` does not show: ids
//! and the flags of TCP.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use lab::gateway::CLIENT;
use lab::{Error, Namespace};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

/// IPS_ASSURED (include/uapi/linux/netfilter/nf_conntrack_common.h).
pub const ASSURED: u32 = 1 << 2;
/// TCP_CONNTRACK_ESTABLISHED (include/uapi/linux/netfilter/nf_conntrack_tcp.h).
pub const ESTABLISHED: u8 = 3;
/// TCP_CONNTRACK_CLOSE_WAIT.
pub const CLOSE_WAIT: u8 = 5;
/// TCP_CONNTRACK_TIME_WAIT.
pub const TIME_WAIT: u8 = 7;
/// TCP_CONNTRACK_CLOSE.
pub const CLOSE: u8 = 8;
/// IP_CT_TCP_FLAG_BE_LIBERAL (include/uapi/linux/netfilter/nf_conntrack_tcp.h).
const LIBERAL: u8 = 0x08;

/// An entry, decoded from netlink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// CTA_ID.
    pub id: u32,
    /// Source and destination port of the original direction.
    pub ports: (u16, u16),
    /// IPPROTO_*.
    pub protocol: u8,
    /// IPS_* bits.
    pub status: u32,
    /// Seconds until it times out.
    pub timeout: u32,
    /// TCP_CONNTRACK_*; 0 for other protocols.
    pub state: u8,
    /// True if TCP windows are not checked, in both directions.
    pub liberal: bool,
}

/// Returns all entries of a namespace.
///
/// # Errors
/// The kernel refuses the dump.
pub fn entries(namespace: &Namespace) -> Result<Vec<Entry>, Error> {
    namespace
        .enter(dump)?
        .map_err(Error::system("dump conntrack"))
}

/// Returns the entry whose original direction leads to this port.
///
/// # Errors
/// As for [`entries`].
pub fn entry_to(namespace: &Namespace, port: u16) -> Result<Option<Entry>, Error> {
    Ok(entries(namespace)?.into_iter().find(|e| e.ports.1 == port))
}

fn dump() -> io::Result<Vec<Entry>> {
    let kernel = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkNetFilter,
    )?;
    // nlmsghdr: length, IPCTNL_MSG_CT_GET of ctnetlink, NLM_F_REQUEST | NLM_F_DUMP, sequence, port;
    // nfgenmsg: any family.
    let mut request = Vec::new();
    request.extend(20u32.to_ne_bytes());
    request.extend((1u16 << 8 | 1).to_ne_bytes());
    request.extend(0x301u16.to_ne_bytes());
    request.extend([0; 12]);
    send(kernel.as_raw_fd(), &request, MsgFlags::empty())?;

    let mut found = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = recv(kernel.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let mut rest = &buffer[..length];
        while let Some((message, kind)) = message(&mut rest) {
            match kind {
                // NLMSG_ERROR, NLMSG_DONE
                2 => return Err(io::Error::other("the kernel refuses to dump conntrack")),
                3 => return Ok(found),
                _ => found.extend(message.get(4..).map(entry)),
            }
        }
    }
}

/// Takes the next message; returns its body and type.
fn message<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], u16)> {
    let length = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(rest.get(4..6)?.try_into().ok()?);
    let body = rest.get(16..length)?;
    *rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((body, kind))
}

/// Returns the attributes in a body: type and value.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?) & 0x3fff;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn attribute(body: &[u8], wanted: u16) -> &[u8] {
    attributes(body)
        .find(|(kind, _)| *kind == wanted)
        .map_or(&[], |(_, value)| value)
}

fn word(value: &[u8]) -> u32 {
    value
        .iter()
        .fold(0, |word, octet| word << 8 | u32::from(*octet))
}

/// The numbers are CTA_* of include/uapi/linux/netfilter/nfnetlink_conntrack.h.
fn entry(body: &[u8]) -> Entry {
    let protocol = attribute(attribute(body, 1), 2);
    let tcp = attribute(attribute(body, 4), 1);
    let liberal = |flags| {
        attribute(tcp, flags)
            .first()
            .is_some_and(|f| f & LIBERAL != 0)
    };
    Entry {
        id: word(attribute(body, 12)),
        ports: (
            word(attribute(protocol, 2)) as u16,
            word(attribute(protocol, 3)) as u16,
        ),
        protocol: word(attribute(protocol, 1)) as u8,
        status: word(attribute(body, 3)),
        timeout: word(attribute(body, 7)),
        state: attribute(tcp, 1).first().copied().unwrap_or(0),
        liberal: liberal(4) && liberal(5),
    }
}

/// Creates this many answered UDP entries, from 192.168.1.77 to addresses of 10.128.0.0/9, to
/// simulate connections.
///
/// # Errors
/// `conntrack` refuses.
pub fn crowd(namespace: &Namespace, count: u32) -> Result<(), Error> {
    let lines: String = (0..count)
        .map(|i| {
            let [_, b, c, d] = i.to_be_bytes();
            let to = format!("10.{}.{c}.{d}", 128 | b);
            format!(
                "-A -s 192.168.1.77 -d {to} -p udp --sport 3000 --dport 20 -t 1000 -u \
                SEEN_REPLY,ASSURED\n"
            )
        })
        .collect();
    let load = || -> io::Result<bool> {
        let mut child = Command::new("conntrack")
            .args(["-R", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(lines.as_bytes())?;
        }
        Ok(child.wait()?.success())
    };
    match namespace
        .enter(load)?
        .map_err(Error::system("load conntrack entries"))?
    {
        true => Ok(()),
        false => Err(Error::Unexpected("`conntrack -R` failed".into())),
    }
}

/// Sets another mark on the TCP connection from the client to this address and port.
///
/// # Errors
/// The connection does not exist, or `conntrack` refuses.
pub fn mark(namespace: &Namespace, to: SocketAddr, mark: u32) -> Result<(), Error> {
    let entry = entry_to(namespace, to.port())?
        .ok_or_else(|| Error::Unexpected(format!("no connection to {to}")))?;
    let (near, far) = entry.ports;
    let address = to.ip();
    namespace
        .run(&format!(
            "conntrack -U -p tcp -s {CLIENT} -d {address} --sport {near} --dport {far} --mark \
                {mark}"
        ))
        .map(drop)
}
