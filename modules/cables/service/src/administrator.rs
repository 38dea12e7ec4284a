//! Finds the port of the administrator's own connection, which weir never moves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kernel::{Fdb, Mac, Neighbour};

/// Ports for the administration of a router, in addition to those of the page: SSH, and other web
/// pages.
const PORTS: [u16; 3] = [22, 80, 443];
/// Bytes of a list of connections that are read: some ten thousand connections.
const MOST: u64 = 2 << 20;
/// Stations of bridges that are remembered.
const STATIONS: usize = 4096;
/// Time for which a port stays the administrator's after the last connection, in milliseconds: a
/// user loads a page, and then reads it.
const LASTS: u64 = 60_000;
/// TCP_ESTABLISHED (include/net/tcp_states.h).
const ESTABLISHED: &str = "01";

/// Connections of administrators, and their ports.
#[derive(Debug, Default)]
pub struct Administrator {
    ports: BTreeSet<u16>,
    /// Which member of a bridge a station is behind.
    stations: BTreeMap<Mac, u32>,
    /// Until when a device is the administrator's.
    until: BTreeMap<u32, u64>,
}

impl Administrator {
    /// Creates the state; the ports of the web page count, too.
    pub fn new(page: impl Iterator<Item = u16>) -> Self {
        Self {
            ports: page.chain(PORTS).collect(),
            ..Self::default()
        }
    }

    /// Handles a bridge's report that it learned or forgot a station.
    pub fn station(&mut self, told: &Fdb) {
        if !told.present || told.local {
            if self.stations.get(&told.mac) == Some(&told.link) {
                self.stations.remove(&told.mac);
            }
        } else if self.stations.len() < STATIONS || self.stations.contains_key(&told.mac) {
            self.stations.insert(told.mac, told.link);
        }
    }

    /// Reads the current connections.
    pub fn look(&mut self, neighbours: impl Iterator<Item = Neighbour>, now: u64) {
        let mut from = BTreeSet::new();
        for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
            from.extend(connected(&read(path), &self.ports));
        }
        self.note(&from, neighbours, now);
    }

    fn note(
        &mut self,
        from: &BTreeSet<IpAddr>,
        neighbours: impl Iterator<Item = Neighbour>,
        now: u64,
    ) {
        self.until.retain(|_, until| *until > now);
        if from.is_empty() {
            return;
        }
        for neighbour in neighbours.filter(|it| from.contains(&it.address)) {
            // Behind a bridge it is one of its members; elsewhere the device itself.
            let member = neighbour.mac.and_then(|mac| self.stations.get(&mac));
            let link = member.copied().unwrap_or(neighbour.link);
            self.until.insert(link, now + LASTS);
        }
    }

    /// Returns true if the administrator's connection uses this device.
    pub fn comes_by(&self, link: u32) -> bool {
        self.until.contains_key(&link)
    }
}

fn read(path: &str) -> String {
    let mut octets = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut octets));
    match read {
        Ok(_) => String::from_utf8_lossy(&octets).into_owned(),
        // A kernel without IPv6 has no list of it.
        Err(_) => String::new(),
    }
}

/// Lists the clients of these ports, from the text of `/proc/net/tcp` or `tcp6`
/// (net/ipv4/tcp_ipv4.c, net/ipv6/tcp_ipv6.c).
fn connected(text: &str, ports: &BTreeSet<u16>) -> Vec<IpAddr> {
    let of = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (own, other, state) = (fields.next()?, fields.next()?, fields.next()?);
        let port = u16::from_str_radix(own.rsplit_once(':')?.1, 16).ok()?;
        let from = address(other.rsplit_once(':')?.0)?;
        let counts = state == ESTABLISHED && ports.contains(&port) && !from.is_loopback();
        counts.then_some(from)
    };
    text.lines().filter_map(of).collect()
}

/// Parses an address as the kernel writes it: words in this machine's byte order.
fn address(hex: &str) -> Option<IpAddr> {
    let words: Option<Vec<[u8; 4]>> = (0..hex.len() / 8)
        .map(|at| {
            let word = u32::from_str_radix(hex.get(at * 8..at * 8 + 8)?, 16).ok()?;
            Some(word.to_ne_bytes())
        })
        .collect();
    match words?[..] {
        [four] if hex.len() == 8 => Some(Ipv4Addr::from(four).into()),
        [a, b, c, d] if hex.len() == 32 => {
            let octets: [u8; 16] = [a, b, c, d].concat().try_into().ok()?;
            // An IPv4 client of a socket for both (RFC 4291, section 2.5.5.2).
            Some(Ipv6Addr::from(octets).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(octets: [u8; 4]) -> String {
        format!("{:08X}", u32::from_ne_bytes(octets))
    }

    #[test]
    fn connections_are_read_as_the_kernel_writes_them() {
        let own = word([192, 168, 1, 1]);
        let peer = word([192, 168, 1, 7]);
        let loopback = word([127, 0, 0, 1]);
        let text = format!(
            "  sl  local_address rem_address   st tx_queue\n\
               0: {own}:0016 {peer}:C001 01 00000000:00000000\n\
               1: {own}:0017 {peer}:C002 01 00000000:00000000\n\
               2: {own}:0050 {peer}:C003 06 00000000:00000000\n\
               3: {loopback}:0016 {loopback}:C004 01 00000000:00000000\n\
               4: nonsense\n   5: 00:16 zz:00 01\n"
        );
        let ports = BTreeSet::from([22, 80]);
        let expected = IpAddr::from([192, 168, 1, 7]);
        assert_eq!(connected(&text, &ports), [expected]);
        let mapped = [word([0; 4]), word([0; 4]), word([0, 0, 0xff, 0xff]), peer].concat();
        let six = [
            word([0xfe, 0x80, 0, 0]),
            word([0; 4]),
            word([0; 4]),
            word([0, 0, 0, 9]),
        ];
        let six = six.concat();
        let zero = "0".repeat(32);
        let text =
            format!("   0: {zero}:0016 {mapped}:C001 01 x\n   1: {zero}:0050 {six}:C001 01 x\n");
        let local: IpAddr = "fe80::9".parse().expect("an address");
        assert_eq!(connected(&text, &ports), [expected, local]);
    }

    #[test]
    fn a_station_is_behind_the_member_that_the_bridge_names() {
        let mut administrator = Administrator::default();
        let mac = [2, 0, 0, 0, 0, 7];
        let fdb = |link, present| Fdb {
            link,
            bridge: 9,
            mac,
            vlan: 0,
            local: false,
            present,
        };
        administrator.station(&fdb(3, true));
        administrator.station(&fdb(4, true));
        // The report of the old member arrives late.
        administrator.station(&fdb(3, false));
        let address = IpAddr::from([192, 168, 1, 7]);
        let neighbour = Neighbour {
            link: 9,
            address,
            mac: Some(mac),
            stale: false,
        };
        administrator.note(&BTreeSet::from([address]), [neighbour].into_iter(), 0);
        assert!(administrator.comes_by(4) && !administrator.comes_by(9));
        administrator.station(&fdb(4, false));
        assert!(administrator.stations.is_empty());
    }
}
