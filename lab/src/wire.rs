//! Raw frames at a device of a namespace.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType,
    SockaddrLike, bind, recvmsg, send, setsockopt, socket, sockopt,
};

use crate::frame::Frame;
use crate::{Error, Namespace};

/// Socket option that delivers a `tpacket_auxdata` with every frame; nix lacks this option.
#[derive(Clone, Copy, Debug)]
struct PacketAuxdata;

nix::setsockopt_impl!(
    PacketAuxdata,
    libc::SOL_PACKET,
    libc::PACKET_AUXDATA,
    bool,
    sockopt::SetBool
);

/// Socket option that sends frames without TC egress and without a queue.
#[derive(Clone, Copy, Debug)]
struct PacketQdiscBypass;

nix::setsockopt_impl!(
    PacketQdiscBypass,
    libc::SOL_PACKET,
    libc::PACKET_QDISC_BYPASS,
    bool,
    sockopt::SetBool
);

/// PACKET_OUTGOING (include/uapi/linux/if_packet.h): the host itself sent this frame.
const OUTGOING: u8 = 4;
/// Receive buffer for bursts, bytes; the reader may wait long for the processor.
const BUFFER: usize = 16 << 20;
/// Longest frame that can arrive: a super-packet of 64 KiB and its headers.
const LONGEST: usize = 65_536 + 128;
/// Bytes of `struct tpacket_auxdata` (include/uapi/linux/if_packet.h).
const AUXDATA: usize = 20;
/// TP_STATUS_VLAN_VALID: the kernel removed a VLAN tag from the frame.
const TAGGED: u32 = 1 << 4;

/// A packet socket on one device. Frames are sent exactly as given, checksums too, and received
/// regardless of their MAC addresses.
#[derive(Debug)]
pub struct Tap {
    socket: OwnedFd,
    name: String,
    buffer: Vec<u8>,
}

impl Tap {
    /// Opens a tap on `device` of `namespace`. Promiscuous mode covers devices with a MAC filter.
    pub fn open(namespace: &Namespace, device: &str) -> Result<Self, Error> {
        let name = format!("{}:{device}", namespace.role());
        namespace.run(&format!("ip link set {device} promisc on"))?;
        let socket = namespace
            .enter(|| open(device))?
            .map_err(Error::system(format!("open a packet socket on {name}")))?;
        let mut tap = Self {
            socket,
            name,
            buffer: vec![0; LONGEST],
        };
        // Before `bind` the socket received from all devices.
        while tap.receive(Duration::ZERO)?.is_some() {}
        Ok(tap)
    }

    /// Returns `role:device`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes later frames bypass TC egress and the queue (PACKET_QDISC_BYPASS).
    pub fn past_queues(&self) -> Result<(), Error> {
        let name = &self.name;
        setsockopt(&self.socket, PacketQdiscBypass, &true)
            .map_err(Error::system(format!("send past the queue at {name}")))
    }

    /// Sends a frame once; returns false if the kernel dropped the frame for lack of buffers.
    pub fn offer(&self, frame: &[u8]) -> Result<bool, Error> {
        match send(self.socket.as_raw_fd(), frame, MsgFlags::empty()) {
            Ok(_) => Ok(true),
            Err(Errno::ENOBUFS) => Ok(false),
            Err(error) => {
                let doing = format!("send {} bytes at {}", frame.len(), self.name);
                Err(Error::system::<Errno>(doing)(error))
            }
        }
    }

    /// Sends a frame on the wire; retries while buffers are full.
    pub fn send(&self, frame: &[u8]) -> Result<(), Error> {
        loop {
            match send(self.socket.as_raw_fd(), frame, MsgFlags::empty()) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR | Errno::ENOBUFS | Errno::EAGAIN) => std::thread::yield_now(),
                Err(error) => {
                    let doing = format!("send {} bytes at {}", frame.len(), self.name);
                    return Err(Error::system::<Errno>(doing)(error));
                }
            }
        }
    }

    /// Returns the next frame that arrives within `timeout`. Frames that the host sends are
    /// skipped.
    pub fn receive(&mut self, timeout: Duration) -> Result<Option<Frame>, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.next() {
                Ok(Some(frame)) => return Ok(Some(frame)),
                Ok(None) | Err(Errno::EINTR | Errno::ENETDOWN) => continue,
                Err(Errno::EAGAIN) => {}
                Err(error) => {
                    return Err(Error::system::<Errno>(format!("receive at {}", self.name))(
                        error,
                    ));
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.poll(left)?;
        }
    }

    /// Returns all frames that arrive until none arrives for `quiet`.
    pub fn drain(&mut self, quiet: Duration) -> Result<Vec<Frame>, Error> {
        let mut frames = Vec::new();
        while let Some(frame) = self.receive(quiet)? {
            frames.push(frame);
        }
        Ok(frames)
    }

    /// Returns the next frame; `None` for a frame that the host itself sent.
    fn next(&mut self) -> Result<Option<Frame>, Errno> {
        let mut control = nix::cmsg_space!([u8; AUXDATA]);
        let mut parts = [IoSliceMut::new(&mut self.buffer)];
        let message = recvmsg::<LinkAddr>(
            self.socket.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::empty(),
        )?;
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
        let length = message.bytes;
        let mut frame = self.buffer[..length].to_vec();
        if let Some(tag) = tag.filter(|_| length >= 12) {
            frame.splice(12..12, tag);
        }
        Ok(Some(frame))
    }

    fn poll(&self, left: Duration) -> Result<(), Error> {
        // Rounds up: poll counts milliseconds, and 0 would busy-loop.
        let timeout = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX);
        let mut sources = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        match poll(&mut sources, timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(Error::system::<Errno>(format!("wait at {}", self.name))(
                error,
            )),
        }
    }
}

/// Lets callers wait at several taps.
impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns the VLAN tag that the kernel removed from the frame, as on the wire: TPID and TCI.
fn removed_tag(auxdata: &[u8]) -> Option<[u8; 4]> {
    // tp_status, tp_len, tp_snaplen (32 bits each), tp_mac, tp_net, tp_vlan_tci, tp_vlan_tpid (16
    // bits each), in host order.
    let status = u32::from_ne_bytes(auxdata.get(..4)?.try_into().ok()?);
    let half = |at: usize| -> Option<[u8; 2]> {
        let bytes = auxdata.get(at..at + 2)?.try_into().ok()?;
        Some(u16::from_ne_bytes(bytes).to_be_bytes())
    };
    let (tci, tpid) = (half(16)?, half(18)?);
    (status & TAGGED != 0).then_some([tpid[0], tpid[1], tci[0], tci[1]])
}

fn open(device: &str) -> io::Result<OwnedFd> {
    let address = link_address(device)?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(
        AddressFamily::Packet,
        SockType::Raw,
        flags,
        SockProtocol::EthAll,
    )?;
    setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)?;
    setsockopt(&socket, PacketAuxdata, &true)?;
    bind(socket.as_raw_fd(), &address)?;
    Ok(socket)
}

/// Returns the packet socket address of a device. `getifaddrs` avoids unsafe code; its protocol 0
/// keeps the protocol of the open socket.
fn link_address(device: &str) -> io::Result<LinkAddr> {
    getifaddrs()?
        .filter(|entry| entry.interface_name == device)
        .filter_map(|entry| entry.address)
        .filter(|address| address.family() == Some(AddressFamily::Packet))
        .find_map(|address| address.as_link_addr().copied())
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no device {device}")))
}
