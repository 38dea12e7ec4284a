//! The problems and sentences of a plan, and checks that note a problem.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::check::{has_control, is_device};
use super::{Ipv4Cidr, Problem, ProblemKind, SENTENCES};

/// A sentence about a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// Step of the wizard: `router`, `internet`, `wifi`, `mesh`, `services`.
    pub step: String,
    /// Key for a page's own text.
    pub sentence: String,
    /// Values for that text, by name.
    pub values: BTreeMap<String, String>,
    /// Text in English.
    pub says: String,
}

/// The problems and sentences of a plan.
#[derive(Default)]
pub(super) struct Report {
    problems: Vec<Problem>,
    sentences: Vec<Sentence>,
}

impl Report {
    /// Returns the problems and the sentences.
    pub fn into_parts(self) -> (Vec<Problem>, Vec<Sentence>) {
        (self.problems, self.sentences)
    }

    /// Returns the problems.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the number of sentences.
    pub fn sentences(&self) -> usize {
        self.sentences.len()
    }

    /// Drops sentences after the first `first` ones, unless `keep` keeps them.
    pub fn retain_after(&mut self, first: usize, keep: impl Fn(&Sentence) -> bool) {
        let mut n = 0;
        self.sentences.retain(|sentence| {
            n += 1;
            n <= first || keep(sentence)
        });
    }

    /// Notes a problem. A field has a problem of one kind once.
    pub fn add_problem(&mut self, field: impl Into<String>, wrong: &ProblemKind) {
        let problem = wrong.at(field);
        let is_known =
            |known: &Problem| known.field == problem.field && known.problem == problem.problem;
        if !self.problems.iter().any(is_known) {
            self.add(problem);
        }
    }

    /// Adds a problem, even if the field has one of its kind.
    pub fn add(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Returns true if a field has a problem.
    pub fn is_wrong(&self, field: &str) -> bool {
        self.problems.iter().any(|problem| problem.field == field)
    }

    /// Notes a sentence.
    pub fn add_sentence(
        &mut self,
        step: &str,
        sentence: &str,
        values: &[(&str, &str)],
        says: String,
    ) {
        debug_assert!(SENTENCES.contains(&sentence), "{sentence}");
        self.sentences.push(Sentence {
            step: step.to_owned(),
            sentence: sentence.to_owned(),
            values: values
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            says,
        });
    }

    /// Checks a text: present, at most `most` bytes, and without control characters.
    pub fn text(&mut self, field: &str, text: &str, most: usize) -> bool {
        let wrong = if text.is_empty() {
            ProblemKind::Required
        } else if text.len() > most {
            ProblemKind::TooLong(most, text.len())
        } else if has_control(text) {
            ProblemKind::ControlCharacter
        } else {
            return true;
        };
        self.add_problem(field, &wrong);
        false
    }

    /// Checks a name in a list: blanks alone are not valid.
    pub fn check_name(&mut self, field: &str, name: &str) -> bool {
        let name = if name.trim().is_empty() { "" } else { name };
        self.text(field, name, 64)
    }

    /// Checks a required text.
    pub fn check_required(&mut self, field: &str, text: Option<&str>, most: usize) -> bool {
        self.text(field, text.unwrap_or_default(), most)
    }

    /// Checks an optional text.
    pub fn check_optional(&mut self, field: &str, text: Option<&str>, most: usize) -> bool {
        text.is_none_or(|text| self.text(field, text, most))
    }

    /// Checks the name of a device.
    pub fn device(&mut self, field: &str, device: Option<&str>) -> bool {
        let good = device.is_none_or(is_device);
        if !good {
            self.add_problem(field, &ProblemKind::NotADevice);
        }
        good
    }

    /// Reads an address.
    pub fn address<T: FromStr>(&mut self, field: &str, text: &str) -> Option<T> {
        let read = text.parse().ok();
        self.read(field, text, read, &ProblemKind::NotOneAddress)
    }

    /// Reads an address that a router can have inside.
    pub fn read_lan_address(&mut self, field: &str, text: &str) -> Option<Ipv4Cidr> {
        // Link-local addresses are for devices without a router (RFC 3927, 2.7).
        let inside = Ipv4Cidr::read(text)
            .filter(|inside| (8..=30).contains(&inside.length) && !inside.address.is_link_local());
        self.read(field, text, inside, &ProblemKind::NotAnAddress)
    }

    fn read<T>(
        &mut self,
        field: &str,
        text: &str,
        read: Option<T>,
        wrong: &ProblemKind,
    ) -> Option<T> {
        if read.is_none() {
            let wrong = if text.is_empty() {
                &ProblemKind::Required
            } else {
                wrong
            };
            self.add_problem(field, wrong);
        }
        read
    }
}
