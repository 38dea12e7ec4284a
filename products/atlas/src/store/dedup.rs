//! Selects the numbers of a snapshot to sum up, so that no node counts twice.
//!
//! Entries of one name are one community: the largest counts. Of a metacommunity and its parts the
//! larger counts, its own number or the sum of its parts; the parts if both are equal.

use std::collections::HashMap;

/// The relevant parts of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    pub key: &'a str,
    /// Name, by [`crate::text::folded`].
    pub name: &'a str,
    /// Name of the metacommunity, by [`crate::text::folded`].
    pub metacommunity: Option<&'a str>,
    /// `None`: not reported, or odd.
    pub nodes: Option<i64>,
}

/// All entries of a name.
struct Community {
    /// Entry that represents the community.
    entry: usize,
    /// The least key of all its entries; they may differ from that of `entry`.
    key: usize,
    parent: Option<usize>,
    parts: usize,
    /// Sum of its parts; `None`: no part has a number.
    of_parts: Option<i64>,
}

/// Returns true for each entry that counts. The order does not matter; keys differ.
pub(crate) fn counted(entries: &[Candidate<'_>]) -> Vec<bool> {
    let mut communities = by_name(entries);
    break_cycles(&mut communities, entries);
    let order = parts_first(&mut communities);
    let mut whole = vec![false; communities.len()];
    for &at in &order {
        let community = &communities[at];
        let own = entries[community.entry].nodes;
        let (parent, of_parts) = (community.parent, community.of_parts);
        whole[at] = own.is_some() && own > of_parts;
        let value = if whole[at] { own } else { of_parts };
        if let (Some(parent), Some(value)) = (parent, value) {
            let sum = &mut communities[parent].of_parts;
            *sum = Some(sum.unwrap_or(0).saturating_add(value));
        }
    }
    // From the top: parts of a community that counts as a whole do not count.
    let mut out = vec![false; entries.len()];
    let mut covered = vec![false; communities.len()];
    for &at in order.iter().rev() {
        let community = &communities[at];
        let above = community.parent.is_some_and(|parent| covered[parent]);
        out[community.entry] = whole[at] && !above;
        covered[at] = whole[at] || above;
    }
    out
}

fn by_name(entries: &[Candidate<'_>]) -> Vec<Community> {
    let mut named: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    let mut communities: Vec<Community> = Vec::with_capacity(entries.len());
    for (entry, candidate) in entries.iter().enumerate() {
        let new = Community {
            entry,
            key: entry,
            parent: None,
            parts: 0,
            of_parts: None,
        };
        // Entries without a name are unrelated.
        if candidate.name.is_empty() {
            communities.push(new);
            continue;
        }
        let at = *named.entry(candidate.name).or_insert(communities.len());
        let Some(community) = communities.get_mut(at) else {
            communities.push(new);
            continue;
        };
        let other = &entries[community.entry];
        if candidate.nodes > other.nodes
            || (candidate.nodes == other.nodes && candidate.key < other.key)
        {
            community.entry = entry;
        }
        if candidate.key < entries[community.key].key {
            community.key = entry;
        }
    }
    for (at, community) in communities.iter_mut().enumerate() {
        let above = entries[community.entry].metacommunity;
        let parent = above.and_then(|name| named.get(name).copied());
        community.parent = parent.filter(|parent| *parent != at);
    }
    communities
}

/// In a cycle of communities, makes the one with the least key part of none.
fn break_cycles(communities: &mut [Community], entries: &[Candidate<'_>]) {
    // The walk in which each was seen first.
    let mut seen = vec![usize::MAX; communities.len()];
    for walk in 0..communities.len() {
        let mut at = walk;
        while seen[at] == usize::MAX {
            seen[at] = walk;
            match communities[at].parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        if seen[at] != walk || communities[at].parent.is_none() {
            continue;
        }
        let begin = at;
        let mut least = at;
        while let Some(next) = communities[at].parent {
            at = next;
            if entries[communities[at].key].key < entries[communities[least].key].key {
                least = at;
            }
            if at == begin {
                break;
            }
        }
        communities[least].parent = None;
    }
}

/// Returns an order in which parts precede the whole.
fn parts_first(communities: &mut [Community]) -> Vec<usize> {
    for at in 0..communities.len() {
        if let Some(parent) = communities[at].parent {
            communities[parent].parts += 1;
        }
    }
    let whole = 0..communities.len();
    let mut order: Vec<usize> = whole.filter(|at| communities[*at].parts == 0).collect();
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        if let Some(parent) = communities[at].parent {
            communities[parent].parts -= 1;
            if communities[parent].parts == 0 {
                order.push(parent);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    type Row = (
        &'static str,
        &'static str,
        Option<&'static str>,
        Option<i64>,
    );

    fn keys(rows: &[Row]) -> Vec<&'static str> {
        let entries: Vec<_> = rows.iter().map(candidate).collect();
        let counted = counted(&entries);
        let kept = rows.iter().zip(counted).filter(|(_, counts)| *counts);
        kept.map(|(row, _)| row.0).collect()
    }

    fn candidate<'a>(row: &(&'a str, &'a str, Option<&'a str>, Option<i64>)) -> Candidate<'a> {
        let (key, name, metacommunity, nodes) = *row;
        Candidate {
            key,
            name,
            metacommunity,
            nodes,
        }
    }

    #[test]
    fn one_name_counts_once() {
        let rows = [
            ("b", "x", None, Some(5)),
            ("a", "x", None, Some(5)),
            ("c", "x", None, Some(4)),
            ("d", "y", None, None),
            ("e", "", None, Some(1)),
            ("f", "", None, Some(2)),
        ];
        assert_eq!(keys(&rows), ["a", "e", "f"]);
    }

    #[test]
    fn the_larger_of_whole_and_parts_counts() {
        let parts = [
            ("a", "a", Some("m"), Some(3)),
            ("b", "b", Some("m"), Some(4)),
        ];
        let with = |nodes| [parts[0], parts[1], ("m", "m", Some("m"), nodes)];
        assert_eq!(keys(&with(Some(6))), ["a", "b"]);
        assert_eq!(keys(&with(Some(7))), ["a", "b"]);
        assert_eq!(keys(&with(Some(8))), ["m"]);
        assert_eq!(keys(&with(None)), ["a", "b"]);
        assert_eq!(keys(&parts), ["a", "b"]);
        let silent = [("a", "a", Some("m"), None), ("m", "m", None, Some(0))];
        assert_eq!(keys(&silent), ["m"]);
    }

    #[test]
    fn parts_of_parts() {
        let with = |top, middle| {
            [
                ("t", "t", None, Some(top)),
                ("m", "m", Some("t"), middle),
                ("a", "a", Some("m"), Some(5)),
                ("b", "b", Some("t"), Some(1)),
            ]
        };
        assert_eq!(keys(&with(5, None)), ["a", "b"]);
        assert_eq!(keys(&with(7, Some(4))), ["t"]);
        assert_eq!(keys(&with(7, Some(6))), ["m", "b"]);
    }

    #[test]
    fn circles_end() {
        let circle = [
            ("c", "c", Some("b"), Some(1)),
            ("b", "b", Some("a"), Some(2)),
            ("a", "a", Some("c"), Some(4)),
            ("d", "d", Some("c"), Some(8)),
        ];
        // "a" is part of none: "c" and "d" are below "b", which is below "a".
        assert_eq!(keys(&circle), ["d"]);
        assert_eq!(keys(&circle[..3]), ["a"]);
    }

    #[test]
    fn the_least_of_all_keys_of_a_name_breaks_a_circle() {
        // "x" has the least key by an entry that does not represent it, and so is part of none; its
        // only part counts, as both numbers are equal.
        let circle = [
            ("a", "x", Some("y"), Some(1)),
            ("z", "x", Some("y"), Some(5)),
            ("m", "y", Some("x"), Some(5)),
        ];
        assert_eq!(keys(&circle), ["m"]);
    }

    #[test]
    fn a_long_chain_takes_no_stack() {
        let names: Vec<String> = (0..200_000).map(|n| format!("{n:06}")).collect();
        let entries: Vec<_> = (0..names.len())
            .map(|n| Candidate {
                key: &names[n],
                name: &names[n],
                metacommunity: names.get(n + 1).map(String::as_str),
                nodes: Some(1),
            })
            .collect();
        let counted = counted(&entries);
        assert_eq!(counted.iter().filter(|counts| **counts).count(), 1);
        assert!(counted[0]);
    }

    prop_compose! {
        fn entry()(
            key in 0u32..1000,
            name in 0usize..8,
            metacommunity in proptest::option::of(0usize..8),
            nodes in proptest::option::of(0i64..20),
        ) -> (String, String, Option<String>, Option<i64>) {
            let word = |n: usize| if n == 0 { String::new() } else { n.to_string() };
            (key.to_string(), word(name), metacommunity.map(word), nodes)
        }
    }

    proptest! {
        #[test]
        fn holds_for_any(rows in proptest::collection::vec(entry(), 0..24), turn in 0usize..24) {
            let mut rows = rows;
            let mut known = HashSet::new();
            rows.retain(|row| known.insert(row.0.clone()));
            let view = |rows: &[(String, String, Option<String>, Option<i64>)]| -> Vec<bool> {
                let entries: Vec<_> = rows.iter().map(|row| Candidate {
                    key: &row.0,
                    name: &row.1,
                    metacommunity: row.2.as_deref(),
                    nodes: row.3,
                }).collect();
                counted(&entries)
            };
            let set = |rows: &[(String, String, Option<String>, Option<i64>)]| {
                let kept = rows.iter().zip(view(rows)).filter(|(_, counts)| *counts);
                kept.map(|(row, _)| row.clone()).collect::<Vec<_>>()
            };
            let kept = set(&rows);
            let sum = |rows: &[(String, String, Option<String>, Option<i64>)]| {
                rows.iter().filter_map(|row| row.3).sum::<i64>()
            };
            // Never more than all, never less than the largest; no name twice; only numbers.
            prop_assert!(sum(&kept) <= sum(&rows));
            prop_assert!(sum(&kept) >= rows.iter().filter_map(|row| row.3).max().unwrap_or(0));
            prop_assert!(kept.iter().all(|row| row.3.is_some()));
            let mut names = HashSet::new();
            prop_assert!(kept.iter().all(|row| row.1.is_empty() || names.insert(&row.1)));
            // The selected entries alone yield the same sum.
            prop_assert_eq!(sum(&set(&kept)), sum(&kept));
            // The order does not matter.
            let mut turned = rows.clone();
            turned.rotate_left(turn.min(rows.len()));
            turned.reverse();
            let mut other = set(&turned);
            let mut kept = kept;
            other.sort();
            kept.sort();
            prop_assert_eq!(kept, other);
        }
    }
}
