//! Sections and their options.

use crate::{document::Id, text::quoted};

/// A section: `config TYPE [NAME]` and its options.
#[derive(Clone, Debug)]
pub struct Section {
    /// Type of the section.
    pub kind: String,
    /// Name of the section, or the generated one if it has none (`cfg01e48a`).
    pub name: String,
    /// True if the section has no name in the file.
    pub anonymous: bool,
    /// Options and lists, in order.
    pub options: Vec<Element>,
    /// Lines that open the section.
    pub(crate) heads: Vec<Id>,
    /// Lines without effect.
    pub(crate) idle: Vec<Id>,
}

/// An option or a list of a section.
#[derive(Clone, Debug)]
pub struct Element {
    /// Name of the option or list.
    pub name: String,
    /// True for a list.
    pub list: bool,
    pub(crate) values: Vec<Item>,
    /// Statements that later statements override.
    pub(crate) overridden: Vec<Id>,
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub value: Vec<u8>,
    pub at: Id,
}

impl Element {
    /// Returns the value of an option, or the values of a list.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.values.iter().map(|item| item.value.as_slice())
    }

    /// Returns the value of an option. `None` for a list.
    pub fn value(&self) -> Option<&[u8]> {
        if self.list {
            None
        } else {
            self.values.last().map(|item| item.value.as_slice())
        }
    }

    /// Returns the output of `uci get`: list elements with blanks are quoted.
    pub fn bare(&self, delimiter: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        values(&mut text, self, delimiter, false);
        text
    }

    /// Returns all statements of the element.
    pub(crate) fn all(&self) -> Vec<Id> {
        self.overridden
            .iter()
            .copied()
            .chain(self.values.iter().map(|item| item.at))
            .collect()
    }
}

impl Section {
    /// Returns an option or list by name.
    pub fn get(&self, option: &str) -> Option<&Element> {
        self.options.iter().find(|element| element.name == option)
    }

    pub(crate) fn take(&mut self, name: String, list: bool, item: Item) {
        // libuci ignores an empty option.
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

    /// Returns the index of an option.
    pub(crate) fn place(&self, option: &str) -> Option<usize> {
        self.options.iter().position(|known| known.name == option)
    }

    /// Returns all statements of the section.
    pub(crate) fn statements(&self) -> Vec<Id> {
        let others = self.heads.iter().chain(&self.idle).copied();
        others
            .chain(self.options.iter().flat_map(Element::all))
            .collect()
    }

    /// Returns true if both sections are written the same.
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
