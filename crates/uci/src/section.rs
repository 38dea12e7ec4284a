//! Sections and their options.

use crate::{document::Id, text::quoted};

/// A section: `config TYPE [NAME]` and its options.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its type.
    pub kind: String,
    /// Its name, or the one by which it can be asked for where it has none (`cfg01e48a`).
    pub name: String,
    /// Whether it has no name in the file.
    pub anonymous: bool,
    /// Its options, in order.
    pub options: Vec<Element>,
    /// The lines that open it.
    pub(crate) heads: Vec<Id>,
    /// Lines in it that say nothing.
    pub(crate) idle: Vec<Id>,
}

/// An option or a list of a section.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Whether it is a list.
    pub list: bool,
    pub(crate) values: Vec<Item>,
    /// Statements that later ones override.
    pub(crate) overridden: Vec<Id>,
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub value: Vec<u8>,
    pub at: Id,
}

impl Element {
    /// Its value, or those of the list.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.values.iter().map(|item| item.value.as_slice())
    }

    /// The value of an option. `None` of a list.
    pub fn value(&self) -> Option<&[u8]> {
        if self.list {
            None
        } else {
            self.values.last().map(|item| item.value.as_slice())
        }
    }

    /// What `uci get` says: elements of a list with blanks in apostrophes, else without.
    pub fn bare(&self, delimiter: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        values(&mut text, self, delimiter, false);
        text
    }

    /// All statements that say it.
    pub(crate) fn all(&self) -> Vec<Id> {
        self.overridden
            .iter()
            .copied()
            .chain(self.values.iter().map(|item| item.at))
            .collect()
    }
}

impl Section {
    /// One of its options or lists.
    pub fn get(&self, option: &str) -> Option<&Element> {
        self.options.iter().find(|element| element.name == option)
    }

    pub(crate) fn take(&mut self, name: String, list: bool, item: Item) {
        // libuci takes no notice of an option that is empty.
        if !list && item.value.is_empty() {
            self.idle.push(item.at);
            return;
        }
        let Some(element) = self.options.iter_mut().find(|element| element.name == name) else {
            self.options.push(Element {
                name,
                list,
                values: vec![item],
                overridden: Vec::new(),
            });
            return;
        };
        if list {
            element.list = true;
        } else {
            element.list = false;
            element
                .overridden
                .extend(element.values.drain(..).map(|item| item.at));
        }
        element.values.push(item);
    }

    /// Where an option stands among the others.
    pub(crate) fn place(&self, option: &str) -> Option<usize> {
        self.options.iter().position(|known| known.name == option)
    }

    /// All its statements.
    pub(crate) fn statements(&self) -> Vec<Id> {
        let others = self.heads.iter().chain(&self.idle).copied();
        others
            .chain(self.options.iter().flat_map(Element::all))
            .collect()
    }

    /// Returns true if two sections are written as one another.
    pub(crate) fn is_written_as(&self, other: &Section) -> bool {
        let options = |section: &Section| -> Vec<_> {
            let told = |one: &Element| {
                let values: Vec<Vec<u8>> = one.values().map(<[u8]>::to_vec).collect();
                (one.name.clone(), one.list, values)
            };
            section.options.iter().map(told).collect()
        };
        self.kind == other.kind
            && self.anonymous == other.anonymous
            && (self.anonymous || self.name == other.name)
            && options(self) == options(other)
    }
}

pub(crate) fn values(text: &mut Vec<u8>, element: &Element, delimiter: &[u8], always: bool) {
    for (n, value) in element.values().enumerate() {
        if n > 0 {
            text.extend_from_slice(delimiter);
        }
        let blanks = element.list
            && value
                .iter()
                .any(|c| matches!(c, b' ' | b'\t' | b'\r' | b'\n'));
        if always || blanks {
            text.extend_from_slice(&quoted(value));
        } else {
            text.extend_from_slice(value);
        }
    }
}
