//! Tests how far the router reaches the Internet, for the user who has to confirm a change.
//! Contacts only the router's own gateway and name servers.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use setup_core::messages::{SetupReachResult, SetupReachability};

use super::config_store::ConfigStore;

/// Timeout of an answer.
const PATIENCE: Duration = Duration::from_millis(1000);
/// Most servers to ask: as many as resolv.conf(5) may name.
const SERVERS: usize = 3;
/// Port without a service (RFC 863): a datagram to it makes the kernel resolve the neighbour.
const DISCARD: u16 = 9;
const DNS: u16 = 53;
/// Most bytes of resolv.conf(5) that are read.
const LONGEST: u64 = 64 * 1024;
/// Flag of a route that leads nowhere (`RTF_REJECT`, `include/uapi/linux/route.h`).
const REJECT: u32 = 0x200;

/// Tests the Internet; `None` if the router is to have no Internet of its own. Takes a second if a
/// server does not answer.
pub fn test_internet(place: &ConfigStore) -> Option<SetupReachability> {
    let proto = place.config().ok()?.get("network", "wan", "proto");
    let alone = proto.is_some_and(|proto| proto == "none");
    (!alone).then(|| far(place.etc()))
}

/// Tests the Internet. `etc` is the folder of `resolv.conf`.
fn far(etc: &Path) -> SetupReachability {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let gateways = gateways4(&read("/proc/thread-self/net/route"));
    if gateways.is_empty() && !has_route6(&read("/proc/thread-self/net/ipv6_route")) {
        return reach(SetupReachResult::NoRoute, None);
    }
    let servers = servers(&plain(&etc.join("resolv.conf")).unwrap_or_default());
    for gateway in &gateways {
        knock(*gateway);
    }
    if one_answers(&servers) {
        return reach(SetupReachResult::Reached, None);
    }
    let neighbours = read("/proc/thread-self/net/arp");
    let silent = gateways
        .iter()
        .find(|gateway| !is_there(&neighbours, **gateway));
    match silent {
        Some(gateway) => reach(SetupReachResult::NoGateway, Some(gateway.to_string())),
        None => {
            let whom: Vec<String> = servers.iter().map(ToString::to_string).collect();
            reach(
                SetupReachResult::NoNames,
                (!whom.is_empty()).then(|| whom.join(", ")),
            )
        }
    }
}

/// Reads a file of any kind: does not wait for a pipe, and reads only the head of a long one.
fn plain(path: &Path) -> io::Result<String> {
    let mut options = fs::OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(path)?;
    let mut text = Vec::new();
    if file.metadata()?.is_file() {
        file.take(LONGEST).read_to_end(&mut text)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn reach(way: SetupReachResult, whom: Option<String>) -> SetupReachability {
    let says = match (way, &whom) {
        (SetupReachResult::Reached, _) => "the router reaches the Internet".to_owned(),
        (SetupReachResult::NoRoute, _) => {
            "no route to the Internet: the router has no default route".to_owned()
        }
        (SetupReachResult::NoGateway, whom) => {
            let whom = whom.as_deref().unwrap_or_default();
            format!("no connection to the Internet: the gateway {whom} does not answer")
        }
        (SetupReachResult::NoNames, Some(whom)) => {
            format!("no connection to the Internet: no answer from the name server {whom}")
        }
        (SetupReachResult::NoNames, None) => "no name server configured".to_owned(),
    };
    SetupReachability { way, whom, says }
}

/// Returns the gateways of default routes, from `/proc/net/route`. A route to a peer has no
/// gateway: its address is unspecified.
fn gateways4(table: &str) -> Vec<Ipv4Addr> {
    const UP: u32 = 1;
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |n: usize| u32::from_str_radix(words.get(n)?, 16).ok();
        let whole = number(1)? == 0 && number(7)? == 0 && number(3)? & (UP | REJECT) == UP;
        // In the byte order of memory.
        whole.then_some(Ipv4Addr::from(number(2)?.to_ne_bytes()))
    };
    table.lines().skip(1).filter_map(route).collect()
}

/// Returns true if there is a default route in `/proc/net/ipv6_route`.
fn has_route6(table: &str) -> bool {
    table.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [to, length, .., flags, _device] = words[..] else {
            return false;
        };
        let flags = u32::from_str_radix(flags, 16).unwrap_or(REJECT);
        length == "00" && to.bytes().all(|digit| digit == b'0') && flags & REJECT == 0
    })
}

/// Returns the name servers of resolv.conf(5).
fn servers(text: &str) -> Vec<IpAddr> {
    let server = |line: &str| {
        let mut words = line.split_whitespace();
        let named = words.next()? == "nameserver";
        // A zone behind % is for link-local addresses.
        named.then(|| words.next()?.parse().ok()).flatten()
    };
    text.lines().filter_map(server).take(SERVERS).collect()
}

/// Makes the kernel resolve a neighbour.
fn knock(gateway: Ipv4Addr) {
    if gateway.is_unspecified() {
        return;
    }
    if let Ok(socket) = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)) {
        let _ = socket.send_to(&[0], (gateway, DISCARD));
    }
}

/// Returns true if a neighbour answered, from `/proc/net/arp`. A peer exists with its link.
fn is_there(table: &str, gateway: Ipv4Addr) -> bool {
    const COMPLETE: u32 = 2;
    let known = |line: &str| {
        let mut words = line.split_whitespace();
        let address: Ipv4Addr = words.next()?.parse().ok()?;
        let flags = words.nth(1)?.strip_prefix("0x")?;
        let flags = u32::from_str_radix(flags, 16).ok()?;
        Some(address == gateway && flags & COMPLETE != 0)
    };
    gateway.is_unspecified() || table.lines().any(|line| known(line) == Some(true))
}

/// Returns true if one of these servers knows the root's name servers, as with Internet access.
fn one_answers(servers: &[IpAddr]) -> bool {
    thread::scope(|scope| {
        let asked: Vec<_> = servers
            .iter()
            .map(|server| scope.spawn(|| answers(*server).unwrap_or(false)))
            .collect();
        asked.into_iter().any(|asked| asked.join().unwrap_or(false))
    })
}

fn answers(server: IpAddr) -> io::Result<bool> {
    let any: IpAddr = match server {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(SocketAddr::new(server, DNS))?;
    let mut number = [0; 2];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    socket.send(&question(number))?;
    let end = Instant::now() + PATIENCE;
    let mut answer = [0; 512];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        socket.set_read_timeout(Some(left))?;
        let length = socket.recv(&mut answer)?;
        if let Some(good) = is_answer(&answer[..length], number) {
            return Ok(good);
        }
    }
}

/// Builds a query for the name servers of the root (RFC 1035, section 4.1).
fn question(number: [u8; 2]) -> [u8; 17] {
    const RECURSION: u8 = 1;
    let [high, low] = number;
    // A single question; the root, NS, IN.
    [
        high, low, RECURSION, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1,
    ]
}

/// Returns true if an answer names a server of the root; `None`: not an answer to the query.
/// Filters and portals answer, too, but without a name.
fn is_answer(octets: &[u8], number: [u8; 2]) -> Option<bool> {
    let (head, rest) = octets.split_at_checked(12)?;
    if head[..2] != number || head[2] & 0x80 == 0 {
        return None;
    }
    // Behind the repeated question: the root, or a pointer to it; NS, IN.
    let record = match rest.get(5..) {
        Some([0, record @ ..] | [0xc0, 12, record @ ..]) => record,
        _ => return Some(false),
    };
    Some(head[3] & 15 == 0 && record.starts_with(&[0, 2, 0, 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_routes_are_read() {
        let gateway = u32::from_ne_bytes([192, 0, 2, 1]);
        let table = format!(
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
             wan0\t00000000\t{gateway:08X}\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
             ppp0\t00000000\t00000000\t0001\t0\t0\t5\t00000000\t0\t0\t0\n\
             down\t00000000\t00000001\t0002\t0\t0\t0\t00000000\t0\t0\t0\n\
             *\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n\
             lan0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
             half\t00000000\t00000001\t0003\t0\t0\t0\t00000080\t0\t0\t0\nbroken\n"
        );
        let gateways = gateways4(&table);
        assert_eq!(
            gateways,
            [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::UNSPECIFIED]
        );
        assert!(gateways4("").is_empty());

        let route = |length: &str, flags: &str| {
            let zero = "0".repeat(32);
            format!("{zero} {length} {zero} 00 {zero} 00000400 1 0 {flags} wan0\n")
        };
        assert!(has_route6(&route("00", "00000003")));
        // The kernel's own entry for a missing route.
        assert!(!has_route6(&route("00", "00200200")));
        assert!(!has_route6(&route("40", "00000001")) && !has_route6("broken"));
    }

    #[test]
    fn neighbours_and_servers_are_read() {
        let table = "IP address       HW type     Flags       HW address            Mask     Device\n\
                     192.0.2.1        0x1         0x2         02:00:00:00:00:01     *        wan0\n\
                     192.0.2.2        0x1         0x0         00:00:00:00:00:00     *        wan0\n";
        assert!(is_there(table, Ipv4Addr::new(192, 0, 2, 1)));
        assert!(!is_there(table, Ipv4Addr::new(192, 0, 2, 2)));
        assert!(!is_there(table, Ipv4Addr::new(192, 0, 2, 3)));
        assert!(is_there("", Ipv4Addr::UNSPECIFIED));
        let text = "# nameserver 1.1.1.1\nsearch lan\nnameserver 127.0.0.1\nnameserver\n\
                    nameserver fe80::1%wan0\n nameserver 2001:db8::53\nnameservers 9.9.9.9\n";
        let known: Vec<IpAddr> = vec![
            "127.0.0.1".parse().unwrap(),
            "2001:db8::53".parse().unwrap(),
        ];
        assert_eq!(servers(text), known);
        assert_eq!(servers(&"nameserver 192.0.2.1\n".repeat(9)).len(), SERVERS);
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("weir-reach-{}", std::process::id()));
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRUSR).unwrap();
        let read = plain(&path);
        fs::remove_file(&path).unwrap();
        assert_eq!(read.unwrap(), "");
    }

    #[test]
    fn answers_are_told_from_others() {
        // As dnsmasq gives it.
        let mut answer = question([7, 9]).to_vec();
        answer[2..4].copy_from_slice(&[0x81, 0x80]);
        answer[7] = 1;
        assert_eq!(is_answer(&answer, [7, 9]), Some(false), "nobody is named");
        let empty = answer.clone();
        answer.extend([0xc0, 12, 0, 2, 0, 1, 0, 0, 0, 60, 0, 1, 0]);
        assert_eq!(is_answer(&answer, [7, 9]), Some(true));
        assert_eq!(is_answer(&answer, [7, 8]), None);
        assert_eq!(is_answer(&answer[..11], [7, 9]), None);
        assert_eq!(is_answer(&question([7, 9]), [7, 9]), None, "a question");
        let address = [&empty[..], &[0, 0, 1, 0, 1]].concat();
        assert_eq!(is_answer(&address, [7, 9]), Some(false), "an address");
        let whole = [&empty[..], &[0, 0, 2, 0, 1]].concat();
        assert_eq!(is_answer(&whole, [7, 9]), Some(true));
        answer[3] = 0x85;
        assert_eq!(is_answer(&answer, [7, 9]), Some(false), "refused");
    }
}
