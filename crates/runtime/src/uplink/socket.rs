//! A packet socket at a port that receives all frames, with their tags, for any destination.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType,
    SockaddrLike, bind, recvmsg, send, setsockopt, socket, sockopt,
};

use super::port::Port;
use crate::Error;

/// Option for a `tpacket_auxdata` with every frame, which has the tag that the kernel stripped.
#[derive(Clone, Copy, Debug)]
struct Auxdata;

nix::setsockopt_impl!(
    Auxdata,
    libc::SOL_PACKET,
    libc::PACKET_AUXDATA,
    bool,
    sockopt::SetBool
);

/// Makes the device accept all frames while the socket exists: otherwise the device may drop frames
/// of unknown VLANs and of groups.
#[derive(Clone, Copy, Debug)]
struct Membership;

nix::setsockopt_impl!(
    Membership,
    libc::SOL_PACKET,
    libc::PACKET_ADD_MEMBERSHIP,
    libc::packet_mreq,
    sockopt::SetStruct<libc::packet_mreq>
);

/// Option to send past the device's queues and past TC: a port may be shut to other traffic while
/// weir probes there (the gate in bpf/cable.bpf.c). Packet sockets do not receive such frames:
/// tcpdump on this router does not show them.
#[derive(Clone, Copy, Debug)]
struct PastQueues;

nix::setsockopt_impl!(
    PastQueues,
    libc::SOL_PACKET,
    libc::PACKET_QDISC_BYPASS,
    bool,
    sockopt::SetBool
);

/// A frame that this machine sent itself (include/uapi/linux/if_packet.h).
const OUTGOING: u8 = 4;
/// Room for bursts, bytes.
const ROOM: usize = 1 << 20;
/// The longest frame that is read whole: what answers is shorter.
const LONGEST: usize = 2048;
/// Bytes of `struct tpacket_auxdata`.
const AUXDATA: usize = 20;
/// TP_STATUS_VLAN_VALID: the frame had a tag, which the kernel took off.
const TAGGED: u32 = 1 << 4;

/// A packet socket.
pub struct Socket {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Socket {
    /// Opens the socket.
    ///
    /// # Errors
    /// This process lacks the rights, or the port is gone.
    pub fn open(port: &Port) -> Result<Self, Error> {
        let opened = open(port);
        let socket = opened.map_err(|error| port.failed("listen on", error))?;
        let mut socket = Self {
            socket,
            // In front of the frame is room for its tag.
            buffer: vec![0; LONGEST + 4],
        };
        // Before the bind, the socket received frames of all devices.
        while socket.next().is_ok() {}
        Ok(socket)
    }

    /// Sends a frame as it is, past the device's queues and gate.
    pub fn send(&self, frame: &[u8]) -> Result<(), Errno> {
        send(self.socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT).map(drop)
    }

    /// Returns the next frame, as it was on the wire; `None` for a frame that this machine sent.
    pub fn next(&mut self) -> Result<Option<&[u8]>, Errno> {
        let mut control = nix::cmsg_space!([u8; AUXDATA]);
        let mut parts = [IoSliceMut::new(&mut self.buffer[4..])];
        let message = recvmsg::<LinkAddr>(
            self.socket.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::MSG_DONTWAIT,
        )?;
        let length = message.bytes;
        if message
            .address
            .is_some_and(|from| from.pkttype() == OUTGOING)
        {
            return Ok(None);
        }
        let tag = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::Unknown(other) => removed_tag(&other.data_bytes),
            _ => None,
        });
        let Some(tag) = tag.filter(|_| length >= 12) else {
            return Ok(Some(&self.buffer[4..4 + length]));
        };
        self.buffer.copy_within(4..16, 0);
        self.buffer[12..16].copy_from_slice(&tag);
        Ok(Some(&self.buffer[..4 + length]))
    }

    /// Waits until a frame comes, at most for this time.
    pub fn wait(&self, limit: Duration) {
        let limit = PollTimeout::try_from(limit.as_millis()).unwrap_or(PollTimeout::MAX);
        let mut sources = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        // A signal ends the wait early, and the caller checks again.
        let _ = poll(&mut sources, limit);
    }
}

/// The tag that the kernel took off, as it was on the wire: TPID and TCI.
fn removed_tag(auxdata: &[u8]) -> Option<[u8; 4]> {
    // tp_status, tp_len, tp_snaplen (32 bits each), tp_mac, tp_net, tp_vlan_tci, tp_vlan_tpid (16
    // bits each), in host order.
    let status = u32::from_ne_bytes(auxdata.get(..4)?.try_into().ok()?);
    let half = |at: usize| -> Option<[u8; 2]> {
        let bytes = auxdata.get(at..at + 2)?.try_into().ok()?;
        Some(u16::from_ne_bytes(bytes).to_be_bytes())
    };
    let (tci, tpid) = (half(16)?, half(18)?);
    // Kernels before 3.14 do not report the TPID.
    let tpid = if tpid == [0, 0] { [0x81, 0] } else { tpid };
    (status & TAGGED != 0).then_some([tpid[0], tpid[1], tci[0], tci[1]])
}

/// Opens a packet socket that sends by a device, past its queues and gate, and receives nothing.
///
/// # Errors
/// This process lacks the rights, or the device is gone.
pub fn speaker(device: &str, flags: SockFlag) -> Result<OwnedFd, Errno> {
    let address = address(device)?;
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
    setsockopt(&socket, PastQueues, &true)?;
    bind(socket.as_raw_fd(), &address)?;
    Ok(socket)
}

fn open(port: &Port) -> Result<OwnedFd, Errno> {
    let address = address(&port.name)?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(
        AddressFamily::Packet,
        SockType::Raw,
        flags,
        SockProtocol::EthAll,
    )?;
    setsockopt(&socket, sockopt::RcvBuf, &ROOM)?;
    setsockopt(&socket, Auxdata, &true)?;
    setsockopt(&socket, PastQueues, &true)?;
    let all = libc::packet_mreq {
        mr_ifindex: i32::try_from(port.index).map_err(|_| Errno::ENODEV)?,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    setsockopt(&socket, Membership, &all)?;
    bind(socket.as_raw_fd(), &address)?;
    Ok(socket)
}

/// The packet socket address of a device. `getifaddrs` makes it, without unsafe code; its protocol
/// is 0, which leaves the socket with the protocol it was opened with.
fn address(device: &str) -> Result<LinkAddr, Errno> {
    getifaddrs()?
        .filter(|entry| entry.interface_name == device)
        .filter_map(|entry| entry.address)
        .filter(|address| address.family() == Some(AddressFamily::Packet))
        .find_map(|address| address.as_link_addr().copied())
        .ok_or(Errno::ENODEV)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_tag_is_read() {
        let mut auxdata = [0; AUXDATA];
        assert_eq!(removed_tag(&auxdata), None);
        auxdata[..4].copy_from_slice(&TAGGED.to_ne_bytes());
        auxdata[16..18].copy_from_slice(&7u16.to_ne_bytes());
        assert_eq!(removed_tag(&auxdata), Some([0x81, 0, 0, 7]));
        auxdata[18..20].copy_from_slice(&0x88a8u16.to_ne_bytes());
        assert_eq!(removed_tag(&auxdata), Some([0x88, 0xa8, 0, 7]));
        assert_eq!(removed_tag(&auxdata[..19]), None);
    }
}
