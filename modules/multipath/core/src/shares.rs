//! Traffic of each path, from readings of the kernel's sockets: pure.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use answers::Path;
use kernel::subflows::{Subflow, SubflowKind, TcpState};

/// Traffic by one of this machine's addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathTraffic {
    /// Present subflows.
    pub subflows: usize,
    /// Subflows whose connection requested MPTCP and fell back to TCP.
    pub fell_back: usize,
    /// All subflows wait until other paths fail.
    pub backup: bool,
    /// Shortest smoothed round trip of the recently active subflows, µs.
    pub rtt: Option<u32>,
    /// Bytes of clients' data that the other side has acknowledged. All counts lack bytes after the
    /// last reading of a subflow.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Bytes retransmitted.
    pub retransmitted: u64,
}

impl PathTraffic {
    /// Copies the traffic into a path's state.
    pub fn show(self, path: &mut Path) {
        path.subflows = self.subflows;
        path.fell_back = self.fell_back;
        path.backup = self.backup;
        path.rtt = self.rtt;
        path.sent = self.sent;
        path.received = self.received;
        path.retransmitted = self.retransmitted;
    }
}

/// Bytes of a subflow at the last reading.
#[derive(Clone, Copy, Default)]
struct Octets {
    sent: u64,
    received: u64,
    retransmitted: u64,
    look: u64,
}

/// Age at which a round trip is no longer significant, ms.
const LATELY: u32 = 10_000;

/// The paths' traffic, by the source addresses of their subflows.
#[derive(Default)]
pub struct Shares {
    known: HashMap<u64, Octets>,
    of: BTreeMap<IpAddr, PathTraffic>,
    looks: u64,
}

impl Shares {
    /// Takes all present subflows.
    pub fn look(&mut self, subflows: &[Subflow]) {
        self.looks += 1;
        for carried in self.of.values_mut() {
            *carried = PathTraffic {
                subflows: 0,
                fell_back: 0,
                backup: false,
                rtt: None,
                ..*carried
            };
        }
        let established = subflows.iter().filter(|s| s.state == TcpState::Established);
        for subflow in established {
            let carried = self
                .of
                .entry(subflow.local.ip().to_canonical())
                .or_default();
            carried.backup = subflow.backup && (carried.subflows == 0 || carried.backup);
            carried.subflows += 1;
            carried.fell_back += usize::from(subflow.kind == SubflowKind::FellBack);
            let tcp = &subflow.tcp;
            if tcp.rtt > 0 && tcp.since_acked < LATELY {
                carried.rtt = Some(carried.rtt.map_or(tcp.rtt, |rtt| rtt.min(tcp.rtt)));
            }
            let before = self.known.entry(subflow.cookie).or_default();
            carried.sent += tcp.bytes_acked.saturating_sub(before.sent);
            carried.received += tcp.bytes_received.saturating_sub(before.received);
            carried.retransmitted += tcp.bytes_retrans.saturating_sub(before.retransmitted);
            *before = Octets {
                sent: tcp.bytes_acked,
                received: tcp.bytes_received,
                retransmitted: tcp.bytes_retrans,
                look: self.looks,
            };
        }
        self.known.retain(|_, octets| octets.look == self.looks);
    }

    /// Returns the traffic of an address.
    pub fn of(&self, address: IpAddr) -> PathTraffic {
        self.of.get(&address).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use kernel::subflows::TcpInfo;

    use super::*;

    fn subflow(cookie: u64, local: &str, acked: u64, received: u64) -> Subflow {
        Subflow {
            kind: SubflowKind::First,
            token: 1,
            local_id: 0,
            remote_id: 0,
            backup: false,
            local: local.parse().expect("an address"),
            remote: "203.0.113.1:9349".parse().expect("an address"),
            link: None,
            state: TcpState::Established,
            cookie,
            congestion: "cubic".into(),
            tcp: TcpInfo {
                rtt: 20_000 + u32::try_from(cookie).expect("small"),
                bytes_acked: acked,
                bytes_received: received,
                ..TcpInfo::default()
            },
        }
    }

    #[test]
    fn each_octet_is_counted_once() {
        let mut shares = Shares::default();
        let (one, other) = ("10.1.0.2:4000", "10.2.0.2:4001");
        let address = |text: &str| text.parse::<std::net::SocketAddr>().expect("one").ip();
        shares.look(&[subflow(1, one, 100, 10), subflow(2, other, 5, 0)]);
        shares.look(&[subflow(1, one, 150, 10), subflow(3, one, 7, 1)]);
        let carried = shares.of(address(one));
        assert_eq!(
            (carried.sent, carried.received, carried.subflows),
            (157, 11, 2)
        );
        assert_eq!(carried.rtt, Some(20_001), "the shortest");
        // The subflow has ended, and its bytes still count.
        let carried = shares.of(address(other));
        assert_eq!((carried.sent, carried.subflows, carried.rtt), (5, 0, None));
        shares.look(&[]);
        assert_eq!(shares.of(address(one)).sent, 157);
        assert!(
            shares.known.is_empty(),
            "nothing is kept of subflows that are gone"
        );
    }

    #[test]
    fn a_path_is_backup_when_all_its_subflows_are() {
        let mut shares = Shares::default();
        let backup = |cookie| Subflow {
            backup: true,
            ..subflow(cookie, "10.1.0.2:4000", 0, 0)
        };
        let used = subflow(9, "10.1.0.2:4000", 0, 0);
        let address = used.local.ip();
        for (all, expected) in [
            (vec![backup(1), backup(2)], true),
            (vec![backup(1), used.clone()], false),
            (vec![used, backup(1)], false),
        ] {
            shares.look(&all);
            assert_eq!(shares.of(address).backup, expected);
        }
    }
}
