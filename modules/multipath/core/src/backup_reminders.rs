//! Backup paths by which the partner keeps sending, although they should wait: pure.
//!
//! The only notice is an option in one segment (MP_PRIO, RFC 8684 section 3.3.8), which is neither
//! acknowledged nor retransmitted. Its loss shows: a subflow that waits receives nothing but bytes
//! in flight, while its connection has a subflow that does not wait. If the subflow keeps
//! receiving, the notice is repeated. The less the repetition helps, the longer the interval: the
//! partner may have a reason, such as paths that the partner considers lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::subflows::{Subflow, SubflowKind, TcpState};

/// Checks at which a path kept receiving: bytes in flight arrive meanwhile.
const PATIENCE: u32 = 3;
/// Consecutive checks without bytes after which the path has stopped. A window's bytes may arrive
/// all at once, and then nothing for a round trip.
const SILENCE: u32 = 2;
/// Checks between two reminders, at first and at most.
const WAIT: (u32, u32) = (PATIENCE, 120);
/// Bytes per check that prove nothing: retransmissions, and the end of a connection.
const LITTLE: u64 = 5_000;

/// State of a path.
#[derive(Clone, Copy, Default)]
struct Path {
    /// Checks at which the path received, and the checks since then at which it did not.
    looks: u32,
    silent: u32,
    /// Checks since the last reminder, and the minimum before the next.
    since: u32,
    wait: u32,
}

/// See the module.
#[derive(Default)]
pub struct BackupReminders {
    /// Bytes received at the last check, by cookie.
    received: HashMap<u64, u64>,
    of: BTreeMap<IpAddr, Path>,
}

impl BackupReminders {
    /// Takes all subflows, and the paths that are to wait; returns the paths that need another
    /// notice. To be called about twice a second.
    pub fn update(&mut self, subflows: &[Subflow], waiting: &[IpAddr]) -> Vec<IpAddr> {
        let live = |subflow: &&Subflow| {
            let kind = matches!(subflow.kind, SubflowKind::First | SubflowKind::Joined);
            kind && subflow.token != 0 && subflow.state == TcpState::Established
        };
        let live: Vec<_> = subflows.iter().filter(live).collect();
        let waits = |subflow: &Subflow| waiting.contains(&subflow.local.ip().to_canonical());
        // A connection without any other subflow does as it should.
        let others = live.iter().filter(|s| !waits(s) && !s.backup);
        let others: BTreeSet<_> = others.map(|subflow| subflow.token).collect();
        let mut octets: BTreeMap<IpAddr, u64> = BTreeMap::new();
        for subflow in live
            .iter()
            .filter(|s| waits(s) && others.contains(&s.token))
        {
            let now = subflow.tcp.bytes_received;
            let before = self.received.get(&subflow.cookie).copied().unwrap_or(now);
            let of = octets.entry(subflow.local.ip().to_canonical());
            *of.or_default() += now.saturating_sub(before);
        }
        let received = |subflow: &&Subflow| (subflow.cookie, subflow.tcp.bytes_received);
        self.received = live.iter().map(received).collect();
        self.of.retain(|path, _| waiting.contains(path));
        let mut again = Vec::new();
        for address in waiting {
            let path = self.of.entry(*address).or_default();
            path.since = path.since.saturating_add(1);
            if octets.get(address).copied().unwrap_or(0) > LITTLE {
                (path.looks, path.silent) = (path.looks + 1, 0);
            } else {
                path.silent = path.silent.saturating_add(1);
            }
            if path.silent >= SILENCE {
                path.looks = 0;
                if path.since > path.wait {
                    path.wait = 0;
                }
            }
            if path.looks >= PATIENCE && path.since > path.wait {
                path.wait = (path.wait * 2).clamp(WAIT.0, WAIT.1);
                (path.looks, path.since) = (0, 0);
                again.push(*address);
            }
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use kernel::subflows::TcpInfo;

    use super::*;

    const OWN: &str = "10.2.0.2:4000";

    fn subflow(token: u32, local: &str, received: u64) -> Subflow {
        Subflow {
            kind: SubflowKind::Joined,
            token,
            local_id: 0,
            remote_id: 0,
            backup: local == OWN,
            local: local.parse().expect("an address"),
            remote: "203.0.113.1:9349".parse().expect("an address"),
            link: None,
            state: TcpState::Established,
            cookie: u64::from(token) << 8 | u64::from(local.as_bytes()[3]),
            congestion: "cubic".into(),
            tcp: TcpInfo {
                bytes_received: received,
                ..TcpInfo::default()
            },
        }
    }

    /// Returns the checks with a notice, if the waiting path receives so many bytes at each.
    fn told(others: &[&str], at_each: impl Fn(u64) -> u64) -> Vec<u64> {
        let own: std::net::SocketAddr = OWN.parse().expect("an address");
        let (mut unheard, mut sum) = (BackupReminders::default(), 0);
        let looks = 1..=600;
        let told = looks.filter(|look| {
            sum += at_each(*look);
            let others = others
                .iter()
                .map(|other| subflow(1, other, look * 1_000_000));
            let mut found: Vec<_> = others.collect();
            found.push(subflow(1, OWN, sum));
            !unheard.update(&found, &[own.ip()]).is_empty()
        });
        told.collect()
    }

    #[test]
    fn what_goes_on_is_told_again_and_more_and_more_seldom() {
        let told = told(&["10.1.0.2:4000"], |_| 200_000);
        assert_eq!(told[..4], [4, 8, 15, 28]);
        let last = told.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert_eq!(last, Some(u64::from(WAIT.1) + 1));
    }

    #[test]
    fn what_was_on_its_way_and_what_is_little_is_no_sign() {
        let other = ["10.1.0.2:4000"];
        let none: [u64; 0] = [];
        assert_eq!(
            told(&other, |look| if look < 4 { 200_000 } else { 0 }),
            none
        );
        assert_eq!(told(&other, |_| LITTLE), none);
        let seldom = |look| if look % 3 == 0 { 200_000 } else { 0 };
        assert_eq!(told(&other, seldom), none);
    }

    #[test]
    fn windows_that_come_all_at_once_go_on() {
        let told = told(&["10.1.0.2:4000"], |look| (look % 2) * 200_000);
        assert_eq!(told[..2], [7, 13]);
    }

    #[test]
    fn a_connection_with_nothing_else_may_use_it() {
        let none: [u64; 0] = [];
        assert_eq!(told(&[], |_| 200_000), none);
    }

    #[test]
    fn once_it_was_heard_the_next_time_is_a_new_one() {
        let told = told(&["10.1.0.2:4000"], |look| match look {
            0..20 | 100..104 => 200_000,
            _ => 0,
        });
        assert_eq!(told, [4, 8, 15, 102]);
    }
}
