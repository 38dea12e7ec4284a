//! Frames that a radio receives, by a device of kind monitor: frames that hostapd has subscribed to
//! arrive only there. A kernel has one owner of each kind of frame at an access point
//! (`cfg80211_mlme_register_mgmt`), and for public action frames that is hostapd.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrLike, bind, recv, socket,
};
use socket2::{SockFilter, SockRef};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::event::Mac;

/// Longer ones are cut: no action frame is.
const LONGEST: usize = 2048;
/// Frames read at once: more than the kernel keeps of the shortest (`net.core.rmem_default`).
const MOST: usize = 512;
/// A removed device causes an error, and nothing to read (`packet_notifier`).
const WAKES: Interest = Interest::READABLE.add(Interest::ERROR);

/// Receives vendors' public action frames (IEEE 802.11, 9.6.7.18) for one address, and no others:
/// the kernel drops those. Needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct MonitorSocket {
    socket: AsyncFd<OwnedFd>,
}

/// An instruction of a program: code, jumps if true and if false, operand.
type Step = (u16, u8, u8, u32);

/// Returns a program in classic BPF. X holds the length of the frame's radiotap header, which is in
/// octets 2 and 3 (little endian).
fn program(to: Mac, vendor: [u8; 3]) -> Vec<Step> {
    const LD_ABS_BYTE: u16 = 0x30;
    const LD_IND_WORD: u16 = 0x40;
    const LD_IND_HALF: u16 = 0x48;
    const LSH: u16 = 0x64;
    const OR_X: u16 = 0x4c;
    const TAX: u16 = 0x07;
    const JUMP_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let [a, b, c, d, e, f] = to;
    let word = |octets: [u8; 4]| u32::from_be_bytes(octets);
    let half = |octets: [u8; 2]| u32::from(u16::from_be_bytes(octets));
    // Offset in the frame, how it is read, and what has to be there.
    let checks = [
        // Type and subtype of an action frame; no flag but that of a repetition.
        (0, LD_IND_HALF, half([0xd0, 0]), half([0xd0, 8])),
        (4, LD_IND_WORD, word([a, b, c, d]), word([a, b, c, d])),
        (8, LD_IND_HALF, half([e, f]), half([e, f])),
        // Public, of a vendor, and of which one.
        (24, LD_IND_HALF, half([4, 9]), half([4, 9])),
        (
            25,
            LD_IND_WORD,
            word([9, vendor[0], vendor[1], vendor[2]]),
            word([9, vendor[0], vendor[1], vendor[2]]),
        ),
    ];
    let mut program = vec![
        (LD_ABS_BYTE, 0, 0, 3),
        (LSH, 0, 0, 8),
        (TAX, 0, 0, 0),
        (LD_ABS_BYTE, 0, 0, 2),
        (OR_X, 0, 0, 0),
        (TAX, 0, 0, 0),
    ];
    for (left, (at, read, one, other)) in (0..checks.len()).rev().zip(checks) {
        // Each check is three instructions; behind the last check come the accepting, then the
        // dropping instruction.
        let drop = 3 * left as u8 + 1;
        program.push((read, 0, 0, at));
        program.push((JUMP_EQUAL, 1, 0, one));
        program.push((JUMP_EQUAL, 0, drop, other));
    }
    program.push((RETURN, 0, 0, u32::MAX));
    program.push((RETURN, 0, 0, 0));
    program
}

impl MonitorSocket {
    /// Listens at a device of kind monitor, which is up, for frames of a vendor to an address.
    ///
    /// # Errors
    /// This process lacks the rights, or the device is gone.
    pub fn open(device: &str, to: Mac, vendor: [u8; 3]) -> io::Result<Self> {
        let address = getifaddrs()?
            .filter(|entry| entry.interface_name == device)
            .filter_map(|entry| entry.address)
            .filter(|address| address.family() == Some(AddressFamily::Packet))
            .find_map(|address| address.as_link_addr().copied())
            .ok_or(Errno::ENODEV)?;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let all = SockProtocol::EthAll;
        let opened = socket(AddressFamily::Packet, SockType::Raw, flags, all)?;
        let steps = program(to, vendor).into_iter();
        let steps: Vec<SockFilter> = steps
            .map(|(code, jt, jf, k)| SockFilter::new(code, jt, jf, k))
            .collect();
        SockRef::from(&opened).attach_filter(&steps)?;
        bind(opened.as_raw_fd(), &address)?;
        // Until both were set, the socket received all frames of all devices.
        let mut octets = [0; 1];
        while recv(opened.as_raw_fd(), &mut octets, MsgFlags::MSG_DONTWAIT).is_ok() {}
        // See `Socket::open`.
        #[allow(deprecated)]
        let socket = AsyncFd::with_interest(opened, WAKES)?;
        Ok(Self { socket })
    }

    /// Waits for frames and appends them, from their frame control on. The frames are untrusted.
    /// Cancelling loses nothing.
    ///
    /// # Errors
    /// The device is gone.
    pub async fn recv(&mut self, out: &mut Vec<Vec<u8>>) -> io::Result<()> {
        let mut ready = self.socket.ready(WAKES).await?;
        if read(&self.socket, out)? {
            ready.clear_ready();
        }
        Ok(())
    }

    /// Appends frames that were received already, like [`MonitorSocket::recv`].
    ///
    /// # Errors
    /// The device is gone.
    pub fn take(&mut self, out: &mut Vec<Vec<u8>>) -> io::Result<()> {
        read(&self.socket, out).map(drop)
    }
}

/// Reads the waiting frames. Returns true if it read them all.
fn read(socket: &impl AsRawFd, out: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    let mut buffer = [0; LONGEST];
    for _ in 0..MOST {
        match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(length) => out.extend(frame(&buffer[..length]).map(<[u8]>::to_vec)),
            Err(Errno::EAGAIN) => return Ok(true),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Returns the part behind the radiotap header.
fn frame(heard: &[u8]) -> Option<&[u8]> {
    let length = u16::from_le_bytes([*heard.get(2)?, *heard.get(3)?]);
    heard.get(usize::from(length)..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_radiotap_header_is_a_frame() {
        assert_eq!(frame(&[0, 0, 6, 0, 1, 1, 0xd0]), Some(&[0xd0][..]));
        assert_eq!(frame(&[0, 0, 200, 0, 1, 1]), None);
        assert_eq!(frame(&[0, 0, 6]), None);
    }

    /// The program, as the kernel would run it.
    fn taken(program: &[Step], packet: &[u8]) -> bool {
        let (mut a, mut x, mut at) = (0u32, 0u32, 0);
        let read = |from: usize, count: usize| {
            let octets = packet.get(from..from + count)?;
            Some(
                octets
                    .iter()
                    .fold(0, |all, octet| all << 8 | u32::from(*octet)),
            )
        };
        loop {
            let (code, if_so, if_not, k) = program[at];
            at += 1;
            let index = (x as usize).saturating_add(k as usize);
            let loaded = match code {
                0x30 => read(k as usize, 1),
                0x40 => read(index, 4),
                0x48 => read(index, 2),
                0x64 => Some(a << k),
                0x4c => Some(a | x),
                0x07 => {
                    x = a;
                    Some(a)
                }
                0x15 => {
                    at += usize::from(if a == k { if_so } else { if_not });
                    Some(a)
                }
                0x06 => return k != 0,
                other => panic!("{other}"),
            };
            match loaded {
                Some(loaded) => a = loaded,
                None => return false,
            }
        }
    }

    #[test]
    fn only_frames_to_us_of_this_vendor_are_taken() {
        let own = [2, 0, 0, 0, 0, 1];
        let program = program(own, [1, 2, 3]);
        let mut packet = vec![0, 0, 8, 0, 0, 0, 0, 0];
        packet.extend([0xd0, 0, 0, 0]);
        packet.extend(own);
        packet.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 2, 0, 0]);
        packet.extend([4, 9, 1, 2, 3, 77]);
        assert!(taken(&program, &packet));
        // The retry bit may be set.
        packet[9] = 8;
        assert!(taken(&program, &packet));
        for at in [2, 8, 9, 12, 17, 32, 33, 34, 36] {
            let mut other = packet.clone();
            other[at] ^= 1;
            assert!(!taken(&program, &other), "{at}");
        }
        for length in 0..packet.len() - 1 {
            assert!(!taken(&program, &packet[..length]), "{length}");
        }
    }
}
