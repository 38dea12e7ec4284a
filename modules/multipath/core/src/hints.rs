//! A user's hints about paths, and the paths that are therefore kept in reserve: pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

pub use answers::PathUse as Use;

/// A user's hint about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Condition of its use.
    pub used: Use,
    /// Share of new conversations in the tunnel, in percent of the share that its rate alone would
    /// give.
    pub weight: u8,
    /// Most that the path carries to the partner, bit/s, if known.
    pub up: Option<u64>,
    /// Most that the path carries from the partner, bit/s, if known.
    pub down: Option<u64>,
}

impl Default for Hint {
    fn default() -> Self {
        Self {
            used: Use::default(),
            weight: 100,
            up: None,
            down: None,
        }
    }
}

/// Hints, by names of devices.
pub type Hints = BTreeMap<String, Hint>;

/// State of a path for the choice of a treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStatus {
    /// The path's own address.
    pub address: IpAddr,
    /// Condition of its use.
    pub used: Use,
    /// The partner does not answer by the path.
    pub down: bool,
    /// The path rests, as far as there are others: it slowed them down.
    pub paused: bool,
}

/// Returns the addresses of paths that are to wait until others fail. IPv4 and IPv6 are separate,
/// as no connection has paths of both.
pub fn reserve(paths: &[PathStatus]) -> Vec<IpAddr> {
    let waits = |path: &&PathStatus| {
        let peers = || {
            let same = |other: &&PathStatus| other.address.is_ipv4() == path.address.is_ipv4();
            paths.iter().filter(same)
        };
        // If no path works, this state may be old.
        let best = peers().filter(|peer| !peer.down).map(|peer| peer.used);
        let best = best.min().or_else(|| peers().map(|peer| peer.used).min());
        best.is_some_and(|best| {
            let used = |peer: &PathStatus| peer.used == best && !peer.down && !peer.paused;
            path.used > best || path.paused && peers().any(used)
        })
    };
    let waiting = paths.iter().filter(waits);
    waiting.map(|path| path.address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(address: &str, used: Use, down: bool) -> PathStatus {
        PathStatus {
            address: address.parse().expect("an address"),
            used,
            down,
            paused: false,
        }
    }

    #[test]
    fn the_cheapest_that_work_are_used() {
        use Use::{Always, Backup, Metered};
        // Use of each path and whether it is down; the paths that wait.
        type Case<'a> = (&'a [(Use, bool)], &'a [usize]);
        let cases: [Case<'_>; 7] = [
            (&[(Always, false), (Always, false)], &[]),
            (
                &[(Always, false), (Metered, false), (Backup, false)],
                &[1, 2],
            ),
            (&[(Always, true), (Metered, false), (Backup, false)], &[2]),
            (&[(Always, true), (Metered, true), (Backup, false)], &[]),
            (&[(Always, true), (Metered, true), (Backup, true)], &[1, 2]),
            (&[(Backup, false), (Backup, false)], &[]),
            (&[(Backup, false)], &[]),
        ];
        for (paths, expected) in cases {
            let address = |number: usize| format!("10.0.0.{number}");
            let paths = paths.iter().enumerate();
            let paths = paths.map(|(n, (used, down))| seen(&address(n), *used, *down));
            let paths: Vec<_> = paths.collect();
            let expected: Vec<IpAddr> = expected
                .iter()
                .map(|n| address(*n).parse().expect("an address"))
                .collect();
            assert_eq!(reserve(&paths), expected, "{paths:?}");
        }
    }

    #[test]
    fn who_rests_is_used_where_there_is_no_other() {
        let good = seen("10.0.0.1", Use::Always, false);
        let rests = PathStatus {
            paused: true,
            ..seen("10.0.0.2", Use::Always, false)
        };
        let backup = seen("10.0.0.3", Use::Backup, false);
        let [two, three] = [rests.address, backup.address];
        assert_eq!(reserve(&[good, rests, backup]), [two, three]);
        let down = PathStatus { down: true, ..good };
        assert_eq!(reserve(&[down, rests, backup]), [three]);
    }

    #[test]
    fn families_are_for_themselves() {
        let four = seen("10.0.0.1", Use::Always, false);
        let six = seen("2001:db8::1", Use::Backup, false);
        assert_eq!(reserve(&[four, six]), [] as [IpAddr; 0]);
    }
}
