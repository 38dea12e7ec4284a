//! A conversation by UDP of which both ends are at hand, and reads that a signal does not cut
//! short.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::{Error, Namespace};

/// Does it again where a signal interrupted it. The kernel does so by itself except on sockets with
/// a time limit, and signals are whatever holds a process still for a moment: a debugger, a frozen
/// group, a machine that is being moved.
pub fn uninterrupted<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// A client and a server that returns what it hears.
#[derive(Debug)]
pub struct Talk {
    near: UdpSocket,
    far: UdpSocket,
}

impl Talk {
    /// Opens both ends: the client's at `from`, any port, and the server's at `to`.
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

    /// Whom the server sees, if it hears `text` within `limit`, and the client its answer within
    /// another.
    ///
    /// # Errors
    /// Also where something else came than was sent.
    pub fn ask(&self, text: &[u8], limit: Duration) -> Result<Option<IpAddr>, Error> {
        let mut buffer = vec![0; 65_536];
        let same = |heard: &[u8]| match heard == text {
            true => Ok(()),
            false => Err(Error::Unexpected(
                "something else came than was sent".into(),
            )),
        };
        // What cannot be sent now (no route, no buffer) did not arrive.
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

/// The next datagram within a limit; an error that a router on the way told of counts as none.
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
