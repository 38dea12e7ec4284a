//! Paths of the wanted values in an entry, such as `location.geoCode.lat`, as a tree: one pass over
//! the entry finds all of them and skips all other values.

use std::borrow::Cow;

use super::value::{Value, halved};

/// Field of a community. The order is that of fields in a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Key,
    Name,
    Nodes,
    Fetched,
    Changed,
    Failed,
    Metacommunity,
    City,
    Country,
    Latitude,
    Longitude,
    Api,
    Routing,
    Url,
}

/// Tree of the wanted values in an entry.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) root: Node,
    /// The paths, as in the mapping, by slot.
    paths: Vec<String>,
    /// The slots of each field, in the order in which they are tried.
    fields: [Vec<usize>; 14],
    /// Number of places.
    places: usize,
}

/// A place in the tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Path as in the mapping, for remarks.
    pub(crate) path: String,
    /// Slot of the value, if wanted.
    pub(crate) slot: Option<usize>,
    /// Number among the places.
    place: usize,
    /// Wanted members.
    children: Vec<(Box<[u8]>, Node)>,
}

/// Values found in an entry.
#[derive(Debug)]
pub(crate) struct Slots<'a> {
    values: Vec<Value<'a>>,
    /// Paths with another type than an object, and that type.
    pub(crate) wrong: Vec<(String, &'static str)>,
    /// Slots of paths that occur twice.
    pub(crate) twice: Vec<usize>,
    /// Paths of repeated members with members of their own.
    pub(crate) again: Vec<String>,
    /// True for each place that occurred, by its number.
    met: Vec<bool>,
    /// Slots of texts with half a surrogate.
    pub(crate) halved: Vec<usize>,
}

impl Tree {
    /// Builds the tree. `nested`: a dot leads into an object. Otherwise paths are names of columns.
    pub(crate) fn of(fields: [&[String]; 14], nested: bool) -> Result<Self, String> {
        let mut tree = Self {
            root: Node::default(),
            paths: Vec::new(),
            fields: Default::default(),
            places: 0,
        };
        for (field, paths) in fields.iter().enumerate() {
            for path in *paths {
                let slot = tree.paths.iter().position(|known| known == path);
                let slot = slot.unwrap_or_else(|| {
                    tree.paths.push(path.clone());
                    tree.paths.len() - 1
                });
                tree.fields[field].push(slot);
                let way = match nested {
                    true => segments(path),
                    false => vec![path.clone()],
                };
                tree.root.add(&way, slot, path)?;
            }
        }
        tree.root.number(&mut tree.places);
        Ok(tree)
    }

    /// Returns empty slots for an entry.
    pub(crate) fn slots<'a>(&self) -> Slots<'a> {
        Slots {
            values: vec![Value::Nothing; self.paths.len()],
            wrong: Vec::new(),
            twice: Vec::new(),
            again: Vec::new(),
            met: vec![false; self.places],
            halved: Vec::new(),
        }
    }

    /// Returns the path of a slot, as in the mapping.
    pub(crate) fn path(&self, slot: usize) -> &str {
        &self.paths[slot]
    }

    /// Returns true if the mapping has a path for a field.
    pub(crate) fn has(&self, field: Field) -> bool {
        !self.fields[field as usize].is_empty()
    }

    /// Returns true if a slot belongs to a field.
    pub(crate) fn is_of(&self, slot: usize, field: Field) -> bool {
        self.fields[field as usize].contains(&slot)
    }

    /// Returns the paths of a field.
    pub(crate) fn names(&self, field: Field) -> impl Iterator<Item = &str> {
        self.fields[field as usize]
            .iter()
            .map(|slot| self.path(*slot))
    }

    /// Returns all paths, by slot.
    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns the first non-empty value of a field, and its path.
    pub(crate) fn value<'s, 'a>(
        &'s self,
        slots: &'s Slots<'a>,
        field: Field,
    ) -> Option<(&'s Value<'a>, &'s str)> {
        let mut found = self.fields[field as usize]
            .iter()
            .map(|slot| (&slots.values[*slot], self.paths[*slot].as_str()));
        found.find(|(value, _)| **value != Value::Nothing)
    }
}

impl Node {
    fn add(&mut self, way: &[String], slot: usize, path: &str) -> Result<(), String> {
        let Some((first, rest)) = way.split_first() else {
            if !self.children.is_empty() {
                return Err(format!(
                    "fields: {path:?} is a value, and others are within it"
                ));
            }
            self.slot = Some(slot);
            return Ok(());
        };
        if self.slot.is_some() {
            return Err(format!(
                "fields: {path:?} is within something that is a value"
            ));
        }
        let name = first.as_bytes();
        let known = self.children.iter().position(|(known, _)| **known == *name);
        let at = known.unwrap_or_else(|| {
            let path = match self.path.as_str() {
                "" => first.clone(),
                before => format!("{before}.{first}"),
            };
            let node = Self {
                path,
                ..Self::default()
            };
            self.children.push((name.into(), node));
            self.children.len() - 1
        });
        self.children[at].1.add(rest, slot, path)
    }

    fn number(&mut self, next: &mut usize) {
        self.place = *next;
        *next += 1;
        for (_, child) in &mut self.children {
            child.number(next);
        }
    }

    /// Returns the subtree of a member.
    pub(crate) fn child(&self, name: &[u8]) -> Option<&Self> {
        let mut children = self.children.iter();
        children
            .find(|(known, _)| **known == *name)
            .map(|(_, node)| node)
    }

    /// Returns the subtree of an item of a list.
    pub(crate) fn item(&self, index: usize) -> Option<&Self> {
        self.child(index.to_string().as_bytes())
    }
}

impl<'a> Slots<'a> {
    /// Stores a value. The last of several values counts, as everywhere in JSON.
    pub(crate) fn put(&mut self, slot: usize, value: Value<'a>) {
        if self.values[slot] != Value::Nothing {
            self.twice.push(slot);
        }
        self.values[slot] = value;
    }

    /// Handles a member with members of its own. An earlier one is discarded: the last of several
    /// counts as a whole.
    pub(crate) fn meet(&mut self, node: &Node) {
        if self.met[node.place] {
            self.forget(node);
            self.again.push(node.path.clone());
        }
        self.met[node.place] = true;
    }

    fn forget(&mut self, node: &Node) {
        self.met[node.place] = false;
        self.wrong.retain(|(path, _)| *path != node.path);
        self.again.retain(|path| *path != node.path);
        if let Some(slot) = node.slot {
            self.values[slot] = Value::Nothing;
            self.twice.retain(|twice| *twice != slot);
            self.halved.retain(|halved| *halved != slot);
        }
        for (_, child) in &node.children {
            self.forget(child);
        }
    }

    /// Puts a value of correct JSON.
    pub(crate) fn put_json(&mut self, slot: usize, raw: &'a str) {
        let value = Value::of_json(raw);
        // Without escapes a text is borrowed.
        let escaped = matches!(value, Value::Text(Cow::Owned(_)) | Value::List(_));
        if escaped && halved(raw) {
            self.halved.push(slot);
        }
        self.put(slot, value);
    }

    /// Prepares for the next entry.
    pub(crate) fn clear(&mut self) {
        self.values.fill(Value::Nothing);
        self.wrong.clear();
        self.twice.clear();
        self.again.clear();
        self.met.fill(false);
        self.halved.clear();
    }
}

/// Splits a path at dots, except those after a backslash.
pub(crate) fn segments(path: &str) -> Vec<String> {
    let mut segments = vec![String::new()];
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        let character = match character {
            '.' => {
                segments.push(String::new());
                continue;
            }
            '\\' => characters.next().unwrap_or('\\'),
            other => other,
        };
        if let Some(last) = segments.last_mut() {
            last.push(character);
        }
    }
    if path.is_empty() {
        Vec::new()
    } else {
        segments
    }
}
