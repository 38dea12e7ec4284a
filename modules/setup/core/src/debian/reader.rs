//! Reads options by their types, and notes all options that are not used.

use std::cell::RefCell;
use std::collections::BTreeSet;

use uci::{Package, Section};

use super::rendered::{Fault, Note};
use super::value;

/// Notes and faults found on the way.
#[derive(Debug, Default)]
pub struct Diagnostics {
    notes: RefCell<Vec<Note>>,
    faults: RefCell<Vec<Fault>>,
}

impl Diagnostics {
    pub fn note(&self, at: impl Into<String>, what: impl Into<String>) {
        let (at, what) = (at.into(), what.into());
        self.notes.borrow_mut().push(Note { at, what });
    }

    pub fn fault(&self, at: impl Into<String>, expected: impl Into<String>) {
        let (at, expected) = (at.into(), expected.into());
        self.faults.borrow_mut().push(Fault { at, expected });
    }

    pub fn end(self) -> (Vec<Note>, Vec<Fault>) {
        (self.notes.into_inner(), self.faults.into_inner())
    }
}

/// A section that is being read.
pub struct Reader<'a> {
    section: &'a Section,
    at: String,
    asked: RefCell<BTreeSet<String>>,
    ledger: &'a Diagnostics,
}

/// Returns a reader for each section of a package.
pub fn sections<'a>(
    package: &'a Package,
    ledger: &'a Diagnostics,
) -> impl Iterator<Item = Reader<'a>> {
    package
        .sections()
        .iter()
        .enumerate()
        .map(move |(n, section)| {
            let name = if section.anonymous {
                let before = &package.sections()[..n];
                let kind = &section.kind;
                let number = before.iter().filter(|other| other.kind == *kind).count();
                format!("@{kind}[{number}]")
            } else {
                section.name.clone()
            };
            Reader {
                section,
                at: format!("{}.{name}", package.name()),
                asked: RefCell::default(),
                ledger,
            }
        })
}

impl<'a> Reader<'a> {
    /// Returns the section's type.
    pub fn kind(&self) -> &'a str {
        &self.section.kind
    }

    /// Returns the section's name.
    pub fn name(&self) -> &'a str {
        &self.section.name
    }

    /// Returns true if the section has this option.
    pub fn has(&self, option: &str) -> bool {
        self.section.get(option).is_some()
    }

    pub fn fault(&self, option: &str, expected: impl Into<String>) {
        self.ledger.fault(format!("{}.{option}", self.at), expected);
    }

    pub fn note(&self, option: &str, what: impl Into<String>) {
        self.ledger.note(format!("{}.{option}", self.at), what);
    }

    /// Returns the raw values of an option or list.
    pub fn octets(&self, option: &str) -> Vec<&'a [u8]> {
        self.asked.borrow_mut().insert(option.to_owned());
        let found = self.section.get(option);
        found.map_or_else(Vec::new, |element| element.values().collect())
    }

    fn texts(&self, option: &str, expected: &str) -> Vec<&'a str> {
        let octets = self.octets(option).into_iter();
        let text = |octets| std::str::from_utf8(octets).ok();
        let texts: Vec<_> = octets.map(text).collect();
        if texts.iter().any(Option::is_none) {
            self.fault(option, expected);
        }
        texts.into_iter().flatten().collect()
    }

    /// Reads an option's value with a parser.
    pub fn one<T>(
        &self,
        option: &str,
        read: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Option<T> {
        match self.texts(option, expected)[..] {
            [] => None,
            [text] => {
                let value = read(text);
                if value.is_none() {
                    self.fault(option, expected);
                }
                value
            }
            _ => {
                self.fault(option, format!("one value: {expected}"));
                None
            }
        }
    }

    /// Reads the elements of a list. A plain option is split at white space, as OpenWrt does.
    pub fn many<T>(
        &self,
        option: &str,
        read: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Vec<T> {
        let mut all = Vec::new();
        for text in self.texts(option, expected) {
            for word in text.split_ascii_whitespace() {
                match read(word) {
                    Some(value) => all.push(value),
                    None => self.fault(option, expected),
                }
            }
        }
        all
    }

    /// Reads an option that is on or off.
    pub fn flag(&self, option: &str, default: bool) -> bool {
        self.one(option, value::flag, "0 or 1").unwrap_or(default)
    }

    /// Reads an option with one of these words.
    pub fn word(&self, option: &str, words: &[&'static str]) -> Option<&'static str> {
        let read = |text: &str| words.iter().find(|word| **word == text).copied();
        self.one(option, read, &format!("one of: {}", words.join(" ")))
    }

    /// Reads a number in these bounds.
    pub fn number(&self, option: &str, bounds: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let expected = format!("a number from {} to {}", bounds.start(), bounds.end());
        self.one(option, value::number(bounds), &expected)
    }

    /// Reads the name of a network device.
    pub fn device(&self, option: &str) -> Option<String> {
        self.one(option, value::device, DEVICE)
    }

    /// Ignores options that only people or other programs use.
    pub fn ignore(&self, options: &[&str]) {
        let mut asked = self.asked.borrow_mut();
        asked.extend(options.iter().map(|&option| option.to_owned()));
    }

    /// Returns the options that were not used.
    pub fn left(&self) -> Vec<&'a str> {
        let asked = self.asked.borrow();
        let options = self.section.options.iter().map(|option| &*option.name);
        options.filter(|&option| !asked.contains(option)).collect()
    }

    /// Notes the options that were not used.
    pub fn end(self) {
        for option in self.left() {
            self.note(option, "not rendered");
        }
    }

    /// Notes a section that is not rendered at all.
    pub fn leave_out(self, why: &str) {
        self.ledger.note(self.at.clone(), why);
    }
}

/// Description of a valid device name.
pub const DEVICE: &str = "a network device: up to 15 letters, digits, or . _ -";
