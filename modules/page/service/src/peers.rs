//! Connections of browsers, from the kernel's lists: a compromised page process could invent
//! clients.

use std::fs;
use std::net::{IpAddr, SocketAddr};

/// The kernel's lists of TCP connections (proc_pid_net(5)).
const LISTS: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// States of a connection whose client waits for an answer: established, and closed by the client
/// (include/net/tcp_states.h).
const WAITS: [&str; 2] = ["01", "08"];

/// Returns true if a client has a connection to one of these ports, or if the kernel's lists are
/// unavailable.
pub fn is_connected(client: IpAddr, ports: &[u16]) -> bool {
    let lists = LISTS.map(|list| fs::read_to_string(list).ok());
    match lists.iter().all(Option::is_none) {
        true => true,
        false => lists.iter().flatten().any(|list| has(list, client, ports)),
    }
}

/// Searches one list for such a connection: `NUMBER: LOCAL REMOTE STATE …`.
fn has(list: &str, client: IpAddr, ports: &[u16]) -> bool {
    list.lines().any(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let ends = (words.next().and_then(end), words.next().and_then(end));
        let (Some(local), Some(remote)) = ends else {
            return false;
        };
        let waits = words.next().is_some_and(|state| WAITS.contains(&state));
        waits && ports.contains(&local.port()) && remote.ip().to_canonical() == client
    })
}

/// Parses `ADDRESS:PORT`, in hexadecimal digits: the address by words in memory order.
fn end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| {
        let digits = address.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let address = match address.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let mut bytes = [0; 16];
            for (at, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(at)?);
            }
            IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some(SocketAddr::new(
        address,
        u16::from_str_radix(port, 16).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn only_clients_with_a_connection_are_there() {
        for (at, other) in [("127.0.0.1:0", "127.0.0.2"), ("[::1]:0", "::2")] {
            let Ok(listener) = TcpListener::bind(at) else {
                continue;
            };
            let to = listener.local_addr().expect("an address");
            assert!(!is_connected(to.ip(), &[to.port()]), "nobody is there yet");
            let client = TcpStream::connect(to).expect("it listens");
            let (_served, _) = listener.accept().expect("accepted");
            assert!(is_connected(to.ip(), &[1, to.port()]));
            assert!(!is_connected(to.ip(), &[1]));
            assert!(!is_connected(
                other.parse().expect("an address"),
                &[to.port()]
            ));
            // The client has sent everything, and waits.
            client.shutdown(std::net::Shutdown::Write).expect("closed");
            assert!(is_connected(to.ip(), &[to.port()]));
        }
    }

    #[test]
    fn other_lines_are_skipped() {
        let any = IpAddr::from([127, 0, 0, 1]);
        for line in [
            "",
            "sl local rem st",
            "0: 0100007F:1 zz:1 01",
            "0: 7F:1 7F:1 01",
            "0: é:1",
        ] {
            assert!(!has(line, any, &[1]), "{line}");
        }
    }
}
