//! The tunnel's sockets: for all packets but TCP's, and to test the paths.

mod datagrams;
pub mod partner;
pub mod router;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub use datagrams::Datagrams;

use crate::derive::{self, NoRandom};
use crate::tunnel::{Micros, Settings, datagram};

/// Packets that are taken from one source before the others have their turn.
const BURST: usize = 64;
/// Bytes that a packet or a datagram may have.
const LONGEST: usize = datagram::LONGEST;

/// Returns settings of a new tunnel: flow buckets and challenges are unpredictable.
///
/// # Errors
/// The system has no random numbers.
fn settings() -> Result<Settings, NoRandom> {
    Ok(Settings {
        // Of random keys.
        seed: RandomState::new().hash_one(0),
        secret: derive::random()?,
        ..Settings::default()
    })
}

/// The device of the tunnel.
#[derive(Debug)]
pub struct Tun(AsyncFd<OwnedFd>);

impl Tun {
    /// Converts the device of [`RouterSettings`](super::RouterSettings); within an event loop.
    // Deprecated in favour of an unsafe function, because a type could change its descriptor under
    // tokio. `OwnedFd` cannot.
    #[allow(deprecated)]
    pub fn new(device: OwnedFd) -> io::Result<Self> {
        AsyncFd::new(device).map(Self)
    }

    /// Waits for a packet.
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await?.retain_ready();
        Ok(())
    }

    /// Reads the next packet, if there is one.
    pub fn read<'a>(&self, into: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        let read = self.0.try_io(Interest::READABLE, |device| {
            nix::unistd::read(device, into).map_err(io::Error::from)
        });
        match read {
            Ok(length) => Ok(Some(&into[..length])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives a packet to the kernel. A packet that it refuses is lost, as on any wire.
    pub fn write(&self, packet: &[u8]) {
        let _ = nix::unistd::write(self.0.get_ref().as_fd(), packet);
    }
}

/// The clock of a tunnel: microseconds since it began.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Begins now, later than at 0, so that a time shortly before is valid too.
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Returns the time.
    pub fn now(self) -> Micros {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX) + 1_000_000
    }

    /// Sleeps until then; for ever without a time.
    pub async fn until(self, then: Option<Micros>) {
        match then {
            Some(then) => {
                let wait = then.saturating_sub(self.now());
                tokio::time::sleep(std::time::Duration::from_micros(wait)).await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Returns the longest datagram for a device's MTU.
fn longest(mtu: u32, ipv6: bool) -> u16 {
    let headers = if ipv6 { 48 } else { 28 };
    let room = mtu.saturating_sub(headers).min(LONGEST as u32);
    u16::try_from(room).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tunnels_have_the_same_seed() {
        let [one, other] = [(); 2].map(|()| settings().expect("random"));
        assert_ne!(one.seed, other.seed);
        assert_ne!(one.secret, other.secret);
    }
}
