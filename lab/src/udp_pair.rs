//! A UDP conversation with both ends at hand, and reads that signals do not interrupt.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::{Error, Namespace};

/// Repeats `act` after an interruption by a signal. The kernel repeats calls by itself except on
/// sockets with a time limit. Debuggers, frozen groups and machine migration cause such signals.
pub fn uninterrupted<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// A client, and a server that returns received datagrams.
#[derive(Debug)]
pub struct UdpPair {
    near: UdpSocket,
    far: UdpSocket,
}

impl UdpPair {
    /// Opens both ends: the client's at `from`, on any port, and the server's at `to`.
    pub fn open(
        client: &Namespace,
        from: Option<IpAddr>,
        server: &Namespace,
        to: SocketAddr,
    ) -> Result<Self, Error> {
        let failed = || Error::system(format!("open a conversation with {to}"));
        let any = if to.is_ipv6() { "::" } else { "0.0.0.0" };
        let from = from.unwrap_or_else(|| any.parse().expect("an address"));
        let open = || -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind((from, 0))?;
            socket.connect(to)?;
            Ok(socket)
        };
        Ok(Self {
            near: client.enter(open)?.map_err(failed())?,
            far: server.enter(|| UdpSocket::bind(to))?.map_err(failed())?,
        })
    }

    /// Returns the client's address as the server sees it, if `text` reaches the server within
    /// `limit` and the answer reaches the client within another `limit`.
    ///
    /// # Errors
    /// Fails too if a datagram differs from `text`.
    pub fn ask(&self, text: &[u8], limit: Duration) -> Result<Option<IpAddr>, Error> {
        let mut buffer = vec![0; 65_536];
        let same = |heard: &[u8]| match heard == text {
            true => Ok(()),
            false => Err(Error::Unexpected(
                "received other data than was sent".into(),
            )),
        };
        // An unsent datagram (no route, no buffer) counts as not arrived.
        if self.near.send(text).is_err() {
            return Ok(None);
        }
        let Some((length, source)) = receive(&self.far, &mut buffer, limit)? else {
            return Ok(None);
        };
        same(&buffer[..length])?;
        if self.far.send_to(&buffer[..length], source).is_err() {
            return Ok(None);
        }
        let Some((length, _)) = receive(&self.near, &mut buffer, limit)? else {
            return Ok(None);
        };
        same(&buffer[..length])?;
        Ok(Some(source.ip()))
    }
}

/// Returns the next datagram within a limit; `None` also for an ICMP error of a router.
fn receive(
    socket: &UdpSocket,
    buffer: &mut [u8],
    limit: Duration,
) -> Result<Option<(usize, SocketAddr)>, Error> {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        socket
            .set_read_timeout(Some(left))
            .map_err(Error::system("wait for a datagram"))?;
        match socket.recv_from(buffer) {
            Ok(came) => return Ok(Some(came)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Ok(None),
        }
    }
}
