//! Finds prefixes that routes always drop.
//!
//! A route decides about a packet only after prerouting, and only if no rule sends the packet to
//! another table. So nothing is dropped if a policy rule has conditions; [`super::rules`] covers
//! translation and marks by the firewall.

use std::collections::BTreeMap;
use std::fmt;

use kernel::Prefix;
use kernel::routes::{PolicyRule, Route, RouteKind, Routing};

const MAIN: u32 = 254;
const LOCAL: u32 = 255;
const DEFAULT: u32 = 253;

/// Treatment of packets to a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Left to the kernel: a hole in a shorter prefix.
    Hole,
    /// Dropped without a word.
    Silent,
    /// Dropped; the kernel sometimes notifies the sender.
    Answered,
}

/// Reason why weir drops by no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutesProblem {
    /// A policy rule that asks for something, or one for another table.
    Rules,
    /// Routes by source or TOS.
    Narrow,
    /// More prefixes than there is room for.
    TooMany(usize),
}

impl fmt::Display for RoutesProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules => {
                f.write_str("there are policy rules (`ip rule`) other than the kernel's own")
            }
            Self::Narrow => f.write_str("there are routes by source or TOS"),
            Self::TooMany(most) => {
                write!(f, "there are more than {most} relevant routes")
            }
        }
    }
}

/// Returns the prefixes of one family that routes drop, and the holes in them; at most `most`.
///
/// # Errors
/// No prefix is certain to be dropped; see [`RoutesProblem`].
pub fn of_routes(routing: &Routing, most: usize) -> Result<BTreeMap<Prefix, Fate>, RoutesProblem> {
    let fate = |kind| match kind {
        RouteKind::Blackhole => Some(Fate::Silent),
        RouteKind::Unreachable | RouteKind::Prohibit => Some(Fate::Answered),
        RouteKind::Unicast | RouteKind::Local | RouteKind::Other => None,
    };
    let in_table = |table| {
        routing
            .routes
            .iter()
            .filter(move |route: &&Route| route.table == table)
    };
    let mut found: BTreeMap<Prefix, Fate> = BTreeMap::new();
    for route in in_table(MAIN).filter(|route| !route.narrow) {
        if let Some(fate) = fate(route.kind) {
            // Two at one prefix: the one that may answer.
            let old = found.entry(route.to).or_insert(fate);
            *old = (*old).max(fate);
        }
    }
    // The local table is asked first: a prefix in it wins, however short.
    found.retain(|prefix, _| {
        !in_table(LOCAL)
            .any(|local| local.to.length <= prefix.length && local.to.contains(&prefix.address))
    });
    if found.is_empty() {
        return Ok(found);
    }
    if !routing.rules.iter().all(usual) {
        return Err(RoutesProblem::Rules);
    }
    if routing.routes.iter().any(|route| route.narrow) {
        return Err(RoutesProblem::Narrow);
    }
    let dropped = found.clone();
    for table in [MAIN, LOCAL] {
        for route in in_table(table) {
            if fate(route.kind).is_some() && table == MAIN {
                continue;
            }
            let within = (0..=route.to.length).any(|length| {
                let above = shorter(&route.to, length);
                dropped.contains_key(&above)
            });
            if within {
                // If one prefix has both, metrics decide which route counts: leave the prefix to
                // the kernel.
                found.insert(route.to, Fate::Hole);
                if found.len() > most {
                    return Err(RoutesProblem::TooMany(most));
                }
            }
        }
    }
    match found.len() > most {
        true => Err(RoutesProblem::TooMany(most)),
        false => Ok(found),
    }
}

/// Returns true for the kernel's default rules: local, then main, then default.
fn usual(rule: &PolicyRule) -> bool {
    !rule.conditional
        && matches!(
            (rule.priority, rule.table),
            (0, LOCAL) | (32766, MAIN) | (32767, DEFAULT)
        )
}

fn shorter(prefix: &Prefix, length: u8) -> Prefix {
    use std::net::IpAddr;
    let address = match prefix.address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    };
    Prefix { address, length }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        let (address, length) = text.split_once('/').expect("a slash");
        Prefix {
            address: address.parse().expect("an address"),
            length: length.parse().expect("a length"),
        }
    }

    fn route(table: u32, to: &str, kind: RouteKind) -> Route {
        Route {
            to: prefix(to),
            table,
            kind,
            narrow: false,
        }
    }

    fn usual_rules() -> Vec<PolicyRule> {
        [(0, LOCAL), (32766, MAIN), (32767, DEFAULT)]
            .map(|(priority, table)| PolicyRule {
                priority,
                table,
                conditional: false,
            })
            .to_vec()
    }

    fn routing(routes: &[(u32, &str, RouteKind)]) -> Routing {
        Routing {
            rules: usual_rules(),
            routes: routes.iter().map(|(t, to, k)| route(*t, to, *k)).collect(),
        }
    }

    use RouteKind::{Blackhole, Other, Prohibit, Unreachable};

    #[test]
    fn dropped_prefixes_have_holes() {
        let routing = routing(&[
            (MAIN, "0.0.0.0/0", Other),
            (MAIN, "10.0.0.0/8", Blackhole),
            (MAIN, "10.1.0.0/16", Other),
            (MAIN, "10.1.2.0/24", Prohibit),
            (MAIN, "192.0.2.0/24", Unreachable),
            (LOCAL, "10.2.0.1/32", Other),
            (1000, "10.3.0.0/16", Other),
        ]);
        let found = of_routes(&routing, 100).expect("certain");
        let shown: Vec<_> = found.iter().map(|(p, f)| (p.to_string(), *f)).collect();
        assert_eq!(
            shown,
            [
                ("10.0.0.0/8".into(), Fate::Silent),
                ("10.1.0.0/16".into(), Fate::Hole),
                ("10.1.2.0/24".into(), Fate::Answered),
                ("10.2.0.1/32".into(), Fate::Hole),
                ("192.0.2.0/24".into(), Fate::Answered),
            ]
        );
    }

    #[test]
    fn two_routes_to_one_prefix_are_the_kernels() {
        let two = routing(&[(MAIN, "10.0.0.0/8", Blackhole), (MAIN, "10.0.0.0/8", Other)]);
        let found = of_routes(&two, 100).expect("certain");
        assert_eq!(found[&prefix("10.0.0.0/8")], Fate::Hole);
        let two = routing(&[
            (MAIN, "10.0.0.0/8", Blackhole),
            (MAIN, "10.0.0.0/8", Prohibit),
        ]);
        let found = of_routes(&two, 100).expect("certain");
        assert_eq!(found[&prefix("10.0.0.0/8")], Fate::Answered);
    }

    #[test]
    fn a_shorter_local_prefix_wins() {
        let local = routing(&[
            (MAIN, "10.1.0.0/16", Blackhole),
            (LOCAL, "10.0.0.0/8", Other),
        ]);
        assert_eq!(of_routes(&local, 100), Ok(BTreeMap::new()));
    }

    #[test]
    fn what_is_not_certain_is_refused() {
        let mut asked = routing(&[(MAIN, "10.0.0.0/8", Blackhole)]);
        asked.rules[1].conditional = true;
        assert_eq!(of_routes(&asked, 100), Err(RoutesProblem::Rules));
        let mut other = routing(&[(MAIN, "10.0.0.0/8", Blackhole)]);
        other.rules.push(PolicyRule {
            priority: 100,
            table: 1000,
            conditional: false,
        });
        assert_eq!(of_routes(&other, 100), Err(RoutesProblem::Rules));
        // Without a route that drops, rules do not matter.
        other.routes.clear();
        assert_eq!(of_routes(&other, 100), Ok(BTreeMap::new()));
        let mut narrow = routing(&[
            (MAIN, "2001:db8::/32", Blackhole),
            (MAIN, "2001:db8:1::/48", Other),
        ]);
        assert_eq!(of_routes(&narrow, 1), Err(RoutesProblem::TooMany(1)));
        narrow.routes[1].narrow = true;
        assert_eq!(of_routes(&narrow, 100), Err(RoutesProblem::Narrow));
    }
}
