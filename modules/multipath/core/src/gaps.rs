//! Connections without a subflow on a working path: pure.
//!
//! The kernel makes a subflow once, when an endpoint appears, and not again when the subflow fails
//! or is reset (mptcp_net-next 235 and 440; observed here when a path came back after a few
//! seconds). Only removing the endpoint and adding it again makes the kernel retry, which costs the
//! other connections their subflows there for a moment. So weir does this rarely, and the less it
//! helped, the longer the interval.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use kernel::subflows::{Subflow, SubflowKind, TcpState};

/// Checks for which a subflow may be missing: connections and paths have just begun.
const PATIENCE: u32 = 2;
/// Maximum number of checks between two attempts.
const LONGEST: u32 = 300;

/// Missing subflows of a path.
#[derive(Clone, Copy, Default)]
struct Gap {
    /// Checks with a missing subflow.
    looks: u32,
    /// Checks until the next attempt.
    wait: u32,
    /// Checks since the last attempt.
    since: u32,
}

/// See the module.
#[derive(Default)]
pub struct Gaps {
    /// Number of checks that saw each connection, by its token.
    seen: HashMap<u32, u32>,
    of: BTreeMap<IpAddr, Gap>,
}

impl Gaps {
    /// Processes all subflows, the tokens of all connections, and the working paths; returns the
    /// paths whose endpoint has to be created again.
    pub fn look(
        &mut self,
        subflows: &[Subflow],
        connections: &[u32],
        paths: &[IpAddr],
    ) -> Vec<IpAddr> {
        let multipath = |subflow: &&Subflow| {
            let kind = matches!(subflow.kind, SubflowKind::First | SubflowKind::Joined);
            kind && subflow.token != 0 && subflow.state == TcpState::Established
        };
        // A connection may have no subflow at all: it lost its only path, and a late event of the
        // kernel about that closed the subflow that replaced it.
        let none = |token: &u32| (*token, Vec::new());
        let mut has: HashMap<u32, Vec<IpAddr>> = connections.iter().map(none).collect();
        for subflow in subflows.iter().filter(multipath) {
            let local = subflow.local.ip().to_canonical();
            has.entry(subflow.token).or_default().push(local);
        }
        self.seen.retain(|token, _| has.contains_key(token));
        for token in has.keys() {
            *self.seen.entry(*token).or_default() += 1;
        }
        self.of.retain(|path, _| paths.contains(path));
        let mut anew = Vec::new();
        for path in paths {
            let old = |token: &u32| self.seen.get(token).is_some_and(|looks| *looks > PATIENCE);
            let missing = has
                .iter()
                .any(|(token, paths)| old(token) && !paths.contains(path));
            let gap = self.of.entry(*path).or_default();
            gap.since = gap.since.saturating_add(1);
            gap.looks = if missing { gap.looks + 1 } else { 0 };
            if !missing && gap.since > gap.wait {
                gap.wait = 0;
            }
            if gap.looks >= PATIENCE && gap.since > gap.wait {
                anew.push(*path);
                gap.wait = (gap.wait * 2).clamp(5, LONGEST);
                (gap.looks, gap.since) = (0, 0);
            }
        }
        anew
    }
}

#[cfg(test)]
mod tests {
    use kernel::subflows::TcpInfo;

    use super::*;

    fn subflow(token: u32, local: &str) -> Subflow {
        Subflow {
            kind: SubflowKind::Joined,
            token,
            local_id: 0,
            remote_id: 0,
            backup: false,
            local: format!("{local}:4000").parse().expect("an address"),
            remote: "203.0.113.1:9349".parse().expect("an address"),
            link: None,
            state: TcpState::Established,
            cookie: 1,
            congestion: "bbr".into(),
            tcp: TcpInfo::default(),
        }
    }

    const ONE: &str = "10.1.0.2";
    const OTHER: &str = "10.2.0.2";

    fn paths() -> Vec<IpAddr> {
        [ONE, OTHER].map(|path| path.parse().expect("one")).to_vec()
    }

    #[test]
    fn a_path_that_a_connection_lacks_is_made_anew_more_and_more_seldom() {
        let mut gaps = Gaps::default();
        let lacking = [subflow(7, ONE), subflow(8, ONE), subflow(8, OTHER)];
        let mut tries = Vec::new();
        for look in 0..100 {
            match &gaps.look(&lacking, &[7, 8], &paths())[..] {
                [] => {}
                found => {
                    assert_eq!(found, [paths()[1]]);
                    tries.push(look);
                }
            }
        }
        assert_eq!(tries, [3, 9, 20, 41, 82]);
        // The new endpoint helped; much later the subflow is missing again.
        for _ in 0..200 {
            let whole = [subflow(7, ONE), subflow(7, OTHER)];
            assert!(gaps.look(&whole, &[7], &paths()).is_empty());
        }
        assert!(gaps.look(&lacking[..1], &[7], &paths()).is_empty());
        assert_eq!(gaps.look(&lacking[..1], &[7], &paths()), [paths()[1]]);
    }

    #[test]
    fn a_connection_without_any_subflow_is_given_one() {
        let mut gaps = Gaps::default();
        let tries: Vec<_> = (0..9).map(|_| gaps.look(&[], &[7], &paths())).collect();
        assert_eq!(tries.iter().position(|found| *found == paths()), Some(3));
        assert_eq!(tries.iter().filter(|found| !found.is_empty()).count(), 1);
    }

    #[test]
    fn what_is_new_what_is_plain_and_what_is_closing_lacks_nothing() {
        let mut gaps = Gaps::default();
        let plain = Subflow {
            kind: SubflowKind::FellBack,
            ..subflow(0, ONE)
        };
        let closing = Subflow {
            state: TcpState::Closing,
            ..subflow(5, ONE)
        };
        for token in 100..200 {
            let all = [plain.clone(), closing.clone(), subflow(token, ONE)];
            assert!(gaps.look(&all, &[token], &paths()).is_empty());
        }
    }
}
