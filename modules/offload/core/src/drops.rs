//! Lists that may be dropped early, decided without a socket: the prefixes of a set ([`prefixes`]),
//! whether the ruleset really drops all that comes from them ([`rules`]), and the prefixes that
//! routes drop ([`routes`]).
//!
//! Weir evaluates no rule. Weir recognises only rules that must mean "all of these are dropped",
//! and leaves all other rules to the kernel: a packet dropped wrongly is a lock-out, a packet not
//! dropped early only costs time.

use std::collections::BTreeMap;

use kernel::Prefix;

pub mod prefixes;
pub mod routes;
pub mod rules;

/// Changes to apply to a list of prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference<V> {
    /// Prefixes that were removed from the list.
    pub gone: Vec<Prefix>,
    /// Prefixes that are new, or of another kind now.
    pub new: Vec<(Prefix, V)>,
}

/// Computes the changes between two states of a list. Unchanged prefixes keep their counters.
pub fn difference<V: Copy + PartialEq>(
    old: &BTreeMap<Prefix, V>,
    new: &BTreeMap<Prefix, V>,
) -> Difference<V> {
    Difference {
        gone: old
            .keys()
            .filter(|prefix| !new.contains_key(prefix))
            .copied()
            .collect(),
        new: new
            .iter()
            .filter(|(prefix, value)| old.get(prefix) != Some(value))
            .map(|(prefix, value)| (*prefix, *value))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_touched() {
        let prefix = |n: u8| Prefix {
            address: [10, n, 0, 0].into(),
            length: 16,
        };
        let old = BTreeMap::from([(prefix(1), 'a'), (prefix(2), 'a'), (prefix(3), 'a')]);
        let new = BTreeMap::from([(prefix(2), 'a'), (prefix(3), 'b'), (prefix(4), 'a')]);
        let found = difference(&old, &new);
        assert_eq!(found.gone, [prefix(1)]);
        assert_eq!(found.new, [(prefix(3), 'b'), (prefix(4), 'a')]);
    }
}
