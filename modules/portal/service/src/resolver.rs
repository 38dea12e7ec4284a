//! Client of the router's own name server, for names in the walled garden. The process without
//! privileges parses the answers (`names.rs`).

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use portal_core::upstream::{LONGEST, answers, encode};
use portal_core::walled_garden::Question;
use tokio::time::timeout;

use super::sockets::asking;

const PORT: u16 = 53;
/// File with the system's name servers.
const SYSTEM: &str = "/etc/resolv.conf";
/// Wait for each attempt: guests themselves wait 5 seconds.
const PATIENCE: [Duration; 2] = [Duration::from_millis(1500), Duration::from_millis(2500)];

/// Returns the file with the system's name servers, after resolving links.
pub fn system_file() -> Option<PathBuf> {
    Path::new(SYSTEM).canonicalize().ok()
}

/// Returns the system's name server; by default this machine itself.
pub fn of_the_system() -> IpAddr {
    let text = fs::read_to_string(SYSTEM).unwrap_or_default();
    first(&text).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

fn first(text: &str) -> Option<IpAddr> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "nameserver")
            .then(|| words.next()?.parse().ok())
            .flatten()
    })
}

/// Asks, twice at most, each time with another number from another port.
///
/// # Errors
/// The server does not answer, or is unreachable.
pub async fn ask(server: IpAddr, question: &Question) -> io::Result<Vec<u8>> {
    let mut failed = io::ErrorKind::TimedOut.into();
    for patience in PATIENCE {
        match timeout(patience, ask_once(server, question)).await {
            Ok(Ok(said)) => return Ok(said),
            Ok(Err(error)) => failed = error,
            Err(_) => {}
        }
    }
    Err(failed)
}

async fn ask_once(server: IpAddr, question: &Question) -> io::Result<Vec<u8>> {
    let mut id = [0; 2];
    getrandom::fill(&mut id).map_err(io::Error::other)?;
    let sent = encode(question, u16::from_be_bytes(id));
    let socket = asking(SocketAddr::new(server, PORT)).await?;
    socket.send(&sent).await?;
    let mut octets = vec![0; LONGEST + 1];
    loop {
        let length = socket.recv(&mut octets).await?;
        if answers(&octets[..length], &sent, question) {
            octets.truncate(length);
            return Ok(octets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_server_is_asked() {
        let text = "# nameserver 192.0.2.9\nsearch lan\nnameserver fe80::1%eth0\n\
            nameserver 127.0.0.53\nnameserver 192.0.2.1\n";
        assert_eq!(first(text), Some(IpAddr::from([127, 0, 0, 53])));
        assert_eq!(first("options edns0\nnameserver\n"), None);
    }
}
