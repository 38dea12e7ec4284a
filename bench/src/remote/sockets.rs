//! UDP sockets of both ends.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::stat::fstat;
use socket2::{Domain, Socket, Type};

use super::Problem;

/// Receive buffer: some 10,000 small packets, if the kernel allows it.
const RECEIVE: usize = 16 << 20;
/// Send buffer.
const SEND: usize = 1 << 20;
/// Longest blocking call: so often the threads check whether the trial is over.
const PIECE: Duration = Duration::from_millis(50);
/// Open files besides the sockets.
const OTHERS: u64 = 64;

/// Sets the buffer to `size`, or to the most that this user may have.
fn room(socket: &Socket, size: usize, receive: bool) {
    let _ = match receive {
        true => setsockopt(socket, sockopt::RcvBufForce, &size)
            .or_else(|_| setsockopt(socket, sockopt::RcvBuf, &size)),
        false => setsockopt(socket, sockopt::SndBufForce, &size)
            .or_else(|_| setsockopt(socket, sockopt::SndBuf, &size)),
    };
}

/// Opens sockets on the same address and port, between which the kernel divides the flows.
///
/// # Errors
/// The port is taken.
pub fn receiving(address: SocketAddr, count: usize) -> io::Result<Vec<UdpSocket>> {
    let open = || {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        socket.set_reuse_port(true)?;
        room(&socket, RECEIVE, true);
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        socket.set_read_timeout(Some(PIECE))?;
        Ok(socket)
    };
    (0..count).map(|_| open()).collect()
}

/// Opens a socket with its own port per flow, all connected to `target`.
///
/// # Errors
/// Names the limit that was reached.
pub fn sending(
    target: SocketAddr,
    flows: u32,
    device: Option<&str>,
) -> Result<Vec<UdpSocket>, Problem> {
    allow_files(u64::from(flows) + OTHERS);
    let open = || {
        let any: SocketAddr = match target {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = Socket::new(Domain::for_address(target), Type::DGRAM, None)?;
        socket.bind_device(device.map(str::as_bytes))?;
        room(&socket, SEND, false);
        socket.bind(&any.into())?;
        socket.connect(&target.into())?;
        let socket = UdpSocket::from(socket);
        socket.set_write_timeout(Some(PIECE))?;
        Ok(socket)
    };
    (0..flows)
        .map(|_| open())
        .collect::<io::Result<_>>()
        .map_err(|error| {
            let hint = match error.raw_os_error() {
                Some(nix::libc::EMFILE | nix::libc::ENFILE) => {
                    "use fewer --flows, or raise `ulimit -n`"
                }
                _ => "check the route: `ip route get`",
            };
            Problem::system(format!("cannot open {flows} sockets to {target}"), hint)(error)
        })
}

/// Raises the limit of open files, as far as the hard limit allows.
fn allow_files(wanted: u64) {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < wanted
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard);
    }
}

/// Returns the packets that these sockets dropped so far, from `/proc/net/udp`.
pub fn dropped(sockets: &[UdpSocket]) -> u64 {
    let inodes: Vec<_> = sockets
        .iter()
        .filter_map(|socket| fstat(socket.as_fd()).ok())
        .map(|status| status.st_ino)
        .collect();
    ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"]
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .map(|text| drops(&text, &inodes))
        .sum()
}

/// Sums the last column of the table's rows with these inodes.
fn drops(table: &str, inodes: &[u64]) -> u64 {
    let rows = table.lines().skip(1).filter_map(|row| {
        let mut columns = row.split_whitespace();
        let inode: u64 = columns.nth(9)?.parse().ok()?;
        let drops: u64 = columns.last()?.parse().ok()?;
        inodes.contains(&inode).then_some(drops)
    });
    rows.sum()
}

/// Converts an IPv4-mapped IPv6 address to IPv4, because the kernel routes it as IPv4.
pub fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => (ip, address.port()).into(),
        // Keeps the scope.
        IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when \
            retrnsmt   uid  timeout inode ref pointer drops\n\
            1149: 00000000:24FB 00000000:0000 07 00000000:00000000 00:00000000 00000000     \
            0        0 123456 2 0000000000000000 17\n\
            1150: 00000000:24FB 00000000:0000 07 00000000:00000000 00:00000000 00000000     \
            0        0 123457 2 0000000000000000 4\n\
            1151: 00000000:24FC 00000000:0000 07 00000000:00000000 00:00000000 00000000     \
            0        0 9 2 0000000000000000 1000\n\
            nonsense\n";
        assert_eq!(drops(table, &[123_456, 123_457]), 21);
        assert_eq!(drops(table, &[1]), 0);
        assert_eq!(drops("", &[1]), 0);
    }

    #[test]
    fn what_a_full_socket_drops_is_seen() {
        let sockets = receiving("127.0.0.1:0".parse().expect("an address"), 1).expect("a port");
        setsockopt(&sockets[0], sockopt::RcvBuf, &2048).expect("small");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let target = sockets[0].local_addr().expect("bound");
        for _ in 0..100 {
            sender.send_to(&[0; 18], target).expect("sent");
        }
        assert!(
            (50..100).contains(&dropped(&sockets)),
            "{}",
            dropped(&sockets)
        );
    }

    #[test]
    fn addresses_are_what_they_are() {
        let of = |text: &str| canonical(text.parse().expect("an address")).to_string();
        assert_eq!(of("[::ffff:192.0.2.1]:7"), "192.0.2.1:7");
        assert_eq!(of("[fe80::1%3]:7"), "[fe80::1%3]:7");
    }
}
