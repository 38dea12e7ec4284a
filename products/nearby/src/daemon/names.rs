//! Names that other nodes use for themselves.

use std::collections::BTreeMap;

use crate::Id;
use crate::envelope::Profile;

/// Largest number of names; later nodes are shown by id alone.
const MOST: usize = 256;

/// Names that their owners signed.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<Id, Profile>);

impl Names {
    /// Stores a node's profile.
    pub fn note(&mut self, profile: Profile) {
        let id = profile.node.id();
        let newer = match self.0.get(&id) {
            // Another key may begin with the same bytes: the first one stays.
            Some(known) => known.node == profile.node && known.version <= profile.version,
            None => self.0.len() < MOST,
        };
        if newer {
            self.0.insert(id, profile);
        }
    }

    /// Returns the name of a node.
    pub fn of(&self, id: Id) -> Option<&str> {
        self.0.get(&id).map(|it| it.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Node;

    fn profile(at: u16, name: &str, version: u64) -> Profile {
        let mut node = Node([0; 32]);
        node.0[..2].copy_from_slice(&at.to_be_bytes());
        Profile {
            node,
            name: name.to_owned(),
            version,
        }
    }

    #[test]
    fn the_newest_name_counts_and_nobody_takes_another_s() {
        let mut names = Names::default();
        names.note(profile(1, "Ada", 2));
        names.note(profile(1, "Bea", 1));
        let id = profile(1, "", 0).node.id();
        assert_eq!(names.of(id), Some("Ada"));
        names.note(profile(1, "Cleo", 3));
        let mut other = profile(1, "Dana", 4);
        other.node.0[31] = 1;
        names.note(other);
        assert_eq!(names.of(id), Some("Cleo"));
        for at in 2..2_000 {
            names.note(profile(at, "many", 1));
        }
        assert_eq!(names.0.len(), MOST);
    }
}
