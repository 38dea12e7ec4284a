//! The list of the routers that a partner was paired with, as text. Pure.
//!
//! A line is a router: `ID NAME`, followed by optional fields, each after a tab.
//! `tcp/8022,udp/51820` are its ports. `#7` is its index, which determines its addresses in the
//! tunnel. `key:` and 43 characters is its own key, after its first connection: from then on no
//! other router can use its line. `most:500` is its maximum number of connections. A revoked router
//! is `revoked ID NAME` with its index: no other router gets its key or its index. All other lines
//! are the user's own.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::key::{KeyId, KeyIdError, PublicKey};
use crate::traffic_policy::Ports;
use crate::welcome::MOST_FORWARDS;

/// Prefix of the line of a revoked router. Former versions do not take such a line for a router.
const REVOKED: &str = "revoked ";

/// Prefix of a router's own key.
const KEY: &str = "key:";

/// Prefix of the most connections of a router.
const MOST: &str = "most:";

/// Placeholder for an unreadable key: no router has it, so no router can take over the line.
const NOBODY: PublicKey = PublicKey([0; 32]);

/// A router paired with the partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterEntry {
    /// Id of its key.
    pub id: KeyId,
    /// Name of the router.
    pub name: String,
    /// Ports of the partner that lead to the router.
    pub forwards: Vec<Ports>,
    /// Index, from 0, that determines its addresses in the tunnel. A revoked router may have lost
    /// the index to another.
    pub address_index: Option<usize>,
    /// Key of the router that first used the line; `None`: no router yet.
    pub router: Option<PublicKey>,
    /// Maximum number of connections; `None`: as many as the others leave free.
    pub max_connections: Option<u32>,
    /// True if the router may no longer connect.
    pub is_revoked: bool,
}

impl fmt::Display for RouterEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let front = if self.is_revoked { REVOKED } else { "" };
        write!(formatter, "{front}{} {}", self.id, self.name)?;
        let more =
            self.address_index.is_some() || self.router.is_some() || self.max_connections.is_some();
        if more || !self.forwards.is_empty() {
            formatter.write_str("\t")?;
        }
        for (number, ports) in self.forwards.iter().enumerate() {
            let before = if number == 0 { "" } else { "," };
            write!(formatter, "{before}{ports}")?;
        }
        if let Some(place) = self.address_index {
            write!(formatter, "\t#{place}")?;
        }
        if let Some(router) = self.router {
            write!(formatter, "\t{KEY}{router}")?;
        }
        match self.max_connections {
            Some(most) => write!(formatter, "\t{MOST}{most}"),
            None => Ok(()),
        }
    }
}

impl FromStr for RouterEntry {
    type Err = KeyIdError;

    /// Skips ports that cannot be read.
    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let (line, is_revoked) = match line.strip_prefix(REVOKED) {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        let mut fields = line.split('\t');
        let router = fields.next().unwrap_or_default();
        let (id, mut name) = router.split_once(' ').unwrap_or((router, ""));
        let (mut forwards, mut place, mut key, mut most) = (Vec::new(), None, None, None);
        // An editor may have made blanks of tabs: the line still belongs to its router.
        if let Some((before, text)) = name.split_once(KEY)
            && text.trim().parse::<PublicKey>().is_ok()
        {
            (name, key) = (before.trim(), Some(text.trim()));
        }
        for field in fields.map(str::trim) {
            if let Some(number) = field.strip_prefix('#') {
                place = number.parse().ok();
            } else if let Some(text) = field.strip_prefix(KEY) {
                key = Some(text);
            } else if let Some(number) = field.strip_prefix(MOST) {
                // An unreadable limit permits no connection.
                most = Some(number.parse().unwrap_or(0));
            } else {
                forwards.extend(field.split(',').filter_map(|it| it.parse().ok()));
            }
        }
        forwards.truncate(MOST_FORWARDS);
        Ok(Self {
            id: id.parse()?,
            name: name.to_owned(),
            forwards,
            address_index: place,
            router: key.map(|key| key.parse().unwrap_or(NOBODY)),
            max_connections: most,
            is_revoked,
        })
    }
}

#[derive(Debug)]
enum Line {
    Router(RouterEntry),
    /// A line that is not a router's: a note of the user.
    Other(String),
}

/// See the module.
#[derive(Debug, Default)]
pub struct RouterList(Vec<Line>);

impl RouterList {
    /// Reads the list. Each router has an index afterwards: lists of earlier versions have no
    /// indexes, and the router's position was the index.
    pub fn read(text: &str) -> Self {
        let line = |line: &str| match line.parse() {
            Ok(router) => Line::Router(router),
            Err(_) => Line::Other(line.to_owned()),
        };
        let mut roll = Self(text.lines().map(line).collect());
        roll.settle();
        roll
    }

    fn settle(&mut self) {
        // A revoked key stays revoked, whatever other lines say.
        let revoked: BTreeSet<_> = self
            .all()
            .filter(|it| it.is_revoked)
            .map(|it| it.id)
            .collect();
        self.0.retain(|line| match line {
            Line::Router(router) => router.is_revoked || !revoked.contains(&router.id),
            Line::Other(_) => true,
        });
        // A key belongs to one router: a second line with it counts as a note.
        let mut ids = BTreeSet::new();
        for line in &mut self.0 {
            if let Line::Router(router) = line
                && !router.is_revoked
                && !ids.insert(router.id)
            {
                *line = Line::Other(router.to_string());
            }
        }
        // Of two routers with one place, the first keeps it.
        let mut taken = BTreeSet::new();
        for router in self.live() {
            router.address_index = router.address_index.filter(|place| taken.insert(*place));
        }
        let is_old = self.all().all(|router| router.address_index.is_none());
        let next = if is_old { 0 } else { self.next() };
        let without = self.live().filter(|router| router.address_index.is_none());
        for (place, router) in (next..).zip(without) {
            router.address_index = Some(place);
        }
    }

    /// Returns all routers, revoked ones too.
    pub fn all(&self) -> impl Iterator<Item = &RouterEntry> {
        self.0.iter().filter_map(|line| match line {
            Line::Router(router) => Some(router),
            Line::Other(_) => None,
        })
    }

    /// Returns the routers that may come.
    pub fn paired(&self) -> impl Iterator<Item = &RouterEntry> {
        self.all().filter(|router| !router.is_revoked)
    }

    fn live(&mut self) -> impl Iterator<Item = &mut RouterEntry> {
        self.0.iter_mut().filter_map(|line| match line {
            Line::Router(router) if !router.is_revoked => Some(router),
            _ => None,
        })
    }

    /// Returns permitted routers with this name or key's id.
    pub fn named<'a>(&'a mut self, router: &'a str) -> impl Iterator<Item = &'a mut RouterEntry> {
        let is = move |it: &&mut RouterEntry| it.name == router || it.id.to_string() == router;
        self.live().filter(is)
    }

    /// Returns the first index that no router has had, as far as the list knows.
    fn next(&self) -> usize {
        let places = self.all().filter_map(|router| router.address_index);
        places.max().map_or(0, |most| most.saturating_add(1))
    }

    /// Returns an index for a new router, below `places`: one that no router had; otherwise one of
    /// a deleted line; otherwise that of the router that was revoked first.
    fn vacant(&mut self, places: usize) -> usize {
        let next = self.next();
        if next < places {
            return next;
        }
        let known: BTreeSet<_> = self
            .all()
            .filter_map(|router| router.address_index)
            .collect();
        if let Some(deleted) = (0..places).find(|place| !known.contains(place)) {
            return deleted;
        }
        let mut revoked = self.0.iter_mut().filter_map(|line| match line {
            Line::Router(router) if router.is_revoked => Some(router),
            _ => None,
        });
        let first = revoked.find_map(|router| match router.address_index {
            Some(place) if place < places => router.address_index.take(),
            _ => None,
        });
        first.unwrap_or(next)
    }

    /// Adds a router, in a tunnel with `places` indexes.
    pub fn add(&mut self, id: KeyId, name: &str, forwards: &[Ports], places: usize) {
        let router = RouterEntry {
            id,
            name: name.to_owned(),
            forwards: forwards.to_vec(),
            address_index: Some(self.vacant(places)),
            router: None,
            max_connections: None,
            is_revoked: false,
        };
        self.0.push(Line::Router(router));
    }

    /// Revokes a router. The lines of revoked routers are in the order of their revocation.
    pub fn revoke(&mut self, id: KeyId) {
        let is = |line: &Line| matches!(line, Line::Router(it) if it.id == id && !it.is_revoked);
        let Some(at) = self.0.iter().position(is) else {
            return;
        };
        if let Line::Router(router) = self.0.remove(at) {
            self.0.push(Line::Router(RouterEntry {
                is_revoked: true,
                forwards: Vec::new(),
                ..router
            }));
        }
    }

    /// Replaces a router's key. The first router that uses the new key owns it; the old key is
    /// revoked.
    pub fn rotate(&mut self, old: KeyId, new: KeyId) {
        let Some(router) = self.live().find(|router| router.id == old) else {
            return;
        };
        let former = RouterEntry {
            is_revoked: true,
            // The router keeps its index.
            address_index: None,
            forwards: Vec::new(),
            ..router.clone()
        };
        (router.id, router.router) = (new, None);
        self.0.push(Line::Router(former));
    }
}

impl fmt::Display for RouterList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| match line {
            Line::Router(router) => writeln!(formatter, "{router}"),
            Line::Other(line) => writeln!(formatter, "{line}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> KeyId {
        KeyId([number; 8])
    }

    fn places(roll: &RouterList) -> Vec<(String, usize)> {
        let each = roll.paired();
        each.map(|it| (it.name.clone(), it.address_index.expect("a place")))
            .collect()
    }

    fn named(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
        let each = expected.iter();
        each.map(|(name, place)| ((*name).to_owned(), *place))
            .collect()
    }

    const OLD: &str = "# mine\n0011223344556677 home\n\n8899aabbccddeeff\ttcp/8022,udp/8000-8099\n";

    #[test]
    fn in_an_old_list_the_position_is_the_place() {
        let roll = RouterList::read(OLD);
        assert_eq!(places(&roll), named(&[("home", 0), ("", 1)]));
        let text = roll.to_string();
        assert_eq!(
            text,
            "# mine\n0011223344556677 home\t\t#0\n\n8899aabbccddeeff \
                \ttcp/8022,udp/8000-8099\t#1\n"
        );
        assert_eq!(RouterList::read(&text).to_string(), text);
        let deleted = text.replace("0011223344556677 home\t\t#0\n", "");
        assert_eq!(places(&RouterList::read(&deleted)), named(&[("", 1)]));
    }

    #[test]
    fn a_line_stays_whose_it_is_whatever_an_editor_does_to_tabs() {
        let router = PublicKey([7; 32]);
        let text = format!("0011223344556677 home    #0  key:{router} \n");
        let roll = RouterList::read(&text);
        assert_eq!(roll.paired().next().expect("a router").router, Some(router));
        let named = RouterList::read("0011223344556677 key:abc\n");
        let named = named.paired().next().expect("a router");
        assert_eq!((&*named.name, named.router), ("key:abc", None));
    }

    #[test]
    fn what_a_router_may_have_is_read_as_written() {
        let text = "0011223344556677 home\ttcp/8022\t#0\tmost:500\n8899aabbccddeeff away\t\t#1\n";
        let roll = RouterList::read(text);
        let most: Vec<_> = roll.paired().map(|it| it.max_connections).collect();
        assert_eq!(most, [Some(500), None]);
        assert_eq!(roll.to_string(), text);
        let wrong = RouterList::read("0011223344556677 home\t\t#0\tmost:many\n");
        assert_eq!(
            wrong.paired().next().expect("a router").max_connections,
            Some(0)
        );
    }

    #[test]
    fn a_place_is_given_once() {
        let mut roll = RouterList::default();
        for number in 0..3 {
            roll.add(id(number), &number.to_string(), &[], 5);
        }
        roll.revoke(id(1));
        roll.revoke(id(0));
        roll.add(id(3), "3", &[], 5);
        roll.add(id(4), "4", &[], 5);
        assert_eq!(places(&roll), named(&[("2", 2), ("3", 3), ("4", 4)]));
        // All indexes are taken: the routers that were revoked first have lost theirs.
        roll.add(id(5), "5", &[], 5);
        roll.add(id(6), "6", &[], 5);
        assert_eq!(places(&roll)[3..], named(&[("5", 1), ("6", 0)]));
        roll.add(id(7), "7", &[], 5);
        assert_eq!(places(&roll)[5..], named(&[("7", 5)]), "it has no address");
        let text = roll.to_string();
        assert!(text.contains("revoked 0101010101010101 1\n"), "{text}");
        assert_eq!(RouterList::read(&text).to_string(), text);
    }

    #[test]
    fn a_new_key_has_the_place_of_the_old_one() {
        let mut roll = RouterList::read(OLD);
        let old = roll.named("home").next().expect("a router").id;
        roll.rotate(old, id(7));
        assert_eq!(places(&roll), named(&[("home", 0), ("", 1)]));
        assert!(roll.paired().all(|router| router.id != old));
        roll.revoke(id(7));
        let text = roll.to_string();
        assert!(text.contains("revoked 0011223344556677 home\n"), "{text}");
        assert!(
            text.contains("revoked 0707070707070707 home\t\t#0\n"),
            "{text}"
        );
        assert_eq!(roll.named("home").count(), 0);
    }

    #[test]
    fn what_is_written_by_hand_takes_nothing_from_others() {
        // A second line with a place, one with none, and a revoked key's.
        let roll = RouterList::read(
            "revoked 0000000000000009 gone\t\t#4\n0000000000000001 a\t\t#2\n0000000000000002 \
                b\t\t#2\n0000000000000003 c\n0000000000000009 again\t\t#0\n",
        );
        assert_eq!(places(&roll), named(&[("a", 2), ("b", 5), ("c", 6)]));
    }
}
