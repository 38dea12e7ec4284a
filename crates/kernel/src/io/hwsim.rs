//! Being the medium between radios of mac80211_hwsim.

use std::io;

use nix::errno::Errno;

use super::RequestError;
use super::request_socket::RequestSocket;
use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::hwsim::{Replies, TransmittedFrame, decode_sent, new_radio, register};
use crate::message::{Messages, NLMSG_ERROR, errno};

/// Room for frames that wait to be read, bytes: what does not fit the kernel drops.
const ROOM: usize = 4 << 20;
/// Datagrams of one read: the kernel keeps 100 frames of a radio.
const MOST: usize = 64;

/// Counts of the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HwsimCounts {
    /// Reads before which frames were lost, as they were not read in time.
    pub lost: u64,
    /// Answers that the kernel refused: an abandoned frame, or a radio that is gone or on another
    /// channel.
    pub refused: u64,
    /// Messages that were not understood.
    pub malformed: u64,
}

/// A registration with the family `MAC80211_HWSIM`: as long as this lives, only frames delivered
/// here pass between the radios that were made in this network namespace (wherever they are now).
/// Then the kernel's own medium is back, in which every radio receives every other.
#[derive(Debug)]
pub struct Hwsim {
    family: u16,
    socket: Socket,
    buffer: Vec<u8>,
    counts: HwsimCounts,
}

impl Hwsim {
    /// Registers, in the network namespace of the calling thread. `None`: the module is not loaded.
    /// Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// The kernel refused (`EBUSY`: another medium exists), or the socket failed.
    pub fn register() -> Result<Option<Self>, RequestError> {
        let request = "to be the medium of mac80211_hwsim";
        let failed = |source| RequestError::Socket { request, source };
        let Some((family, _)) = RequestSocket::of_family("MAC80211_HWSIM", request)? else {
            return Ok(None);
        };
        let mut hwsim = Self {
            family: family.id,
            socket: Socket::open(Netlink::Generic, 0, ROOM).map_err(failed)?,
            buffer: vec![0; BUFFER],
            counts: HwsimCounts::default(),
        };
        hwsim.order(request, &register(hwsim.family))?;
        Ok(Some(hwsim))
    }

    /// Makes a radio that a medium can have, in the network namespace of the calling thread, with a
    /// device. It stays until the module is unloaded. Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// The module is not loaded, the kernel refused, or the socket failed.
    pub fn add_radio() -> Result<(), RequestError> {
        let request = "a radio of mac80211_hwsim";
        let failed = |source| RequestError::Socket { request, source };
        let found = RequestSocket::of_family("MAC80211_HWSIM", request)?;
        let (family, _) = found.ok_or(RequestError::NoAnswer { request })?;
        let mut hwsim = Self {
            family: family.id,
            socket: Socket::open(Netlink::Generic, 0, 0).map_err(failed)?,
            buffer: vec![0; BUFFER],
            counts: HwsimCounts::default(),
        };
        hwsim.order(request, &new_radio(family.id))
    }

    /// Sends a request, and reads its result. Frames may come before the answer, which is available
    /// as soon as the request is sent.
    fn order(&mut self, request: &'static str, order: &[u8]) -> Result<(), RequestError> {
        let failed = |source| RequestError::Socket { request, source };
        self.socket.send(order).map_err(failed)?;
        loop {
            let received = self.socket.receive(&mut self.buffer).map_err(failed)?;
            let Received::Datagram(length) = received else {
                return Err(RequestError::NoAnswer { request });
            };
            for message in Messages::new(&self.buffer[..length]).flatten() {
                if message.kind != NLMSG_ERROR {
                    continue;
                }
                let answer = |source| RequestError::Answer { request, source };
                return match errno(&message).map_err(answer)? {
                    // Less than zero is the number of a radio that was made.
                    ..=0 => Ok(()),
                    code => Err(RequestError::Refused {
                        request,
                        errno: Errno::from_raw(code),
                    }),
                };
            }
        }
    }

    /// Waits for frames, and appends some. Cancelling loses nothing.
    ///
    /// # Errors
    /// The socket failed.
    pub async fn receive(&mut self, out: &mut Vec<TransmittedFrame>) -> io::Result<()> {
        let (family, counts) = (self.family, &mut self.counts);
        self.socket
            .drain(&mut self.buffer, MOST, |received, datagram| {
                if received != Received::Datagram(datagram.len()) {
                    counts.lost += 1;
                    return true;
                }
                for message in Messages::new(datagram) {
                    match message.and_then(|message| match message.kind {
                        NLMSG_ERROR => {
                            counts.refused += 1;
                            Ok(None)
                        }
                        _ => decode_sent(&message, family),
                    }) {
                        Ok(sent) => out.extend(sent),
                        Err(_) => counts.malformed += 1,
                    }
                }
                true
            })
            .await
    }

    /// Returns answers without messages.
    pub fn answers(&self) -> Replies {
        Replies::new(self.family)
    }

    /// Sends the answers. The kernel has processed them when this returns.
    ///
    /// # Errors
    /// The socket failed.
    pub fn send(&self, answers: Replies) -> io::Result<()> {
        self.socket.send(&answers.finish())
    }

    /// Returns the socket's counts so far.
    pub fn counts(&self) -> HwsimCounts {
        self.counts
    }
}
