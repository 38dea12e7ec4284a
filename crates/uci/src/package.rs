//! One file: its sections as libuci sees them, and the text they stand in.

mod edit;
mod order;

use crate::{
    document::{Document, Id},
    error::{Error, Reason, Syntax},
    export::{Names, export},
    names::{is_made_up, made_up},
    scan::{Fault, Keyword, Scanner, Statement},
};

use std::collections::HashMap;

/// What to do with a line that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It is an error.
    Strict,
    /// It is as a comment, and stays in the text. (`uci -S`)
    Lenient,
}

/// One file of `/etc/config`: sections and options, and the text that they stand in.
#[derive(Clone, Debug)]
pub struct Package {
    name: String,
    sections: Vec<Section>,
    document: Document,
    /// How many sections there have been, for the names of those that have none.
    counted: usize,
    /// Lines that could not be read, where that was allowed.
    faults: Vec<Syntax>,
}

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
    heads: Vec<Id>,
    /// Lines in it that say nothing.
    idle: Vec<Id>,
}

/// An option or a list of a section.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Whether it is a list.
    pub list: bool,
    values: Vec<Item>,
    /// Statements that later ones override.
    overridden: Vec<Id>,
}

#[derive(Clone, Debug)]
struct Item {
    value: Vec<u8>,
    at: Id,
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
}

impl Section {
    /// One of its options or lists.
    pub fn get(&self, option: &str) -> Option<&Element> {
        self.options.iter().find(|element| element.name == option)
    }
}

impl Package {
    /// A package without anything.
    pub fn empty(name: &str) -> Package {
        Package {
            name: name.to_owned(),
            sections: Vec::new(),
            document: Document::default(),
            counted: 0,
            faults: Vec::new(),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Syntax`] names the first line that libuci would refuse.
    pub fn read(name: &str, text: &[u8]) -> Result<Package, Error> {
        Package::read_as(name, text, Strictness::Strict)
    }

    /// Reads a file, the given way.
    ///
    /// # Errors
    /// As [`Package::read`]; of [`Strictness::Lenient`] only an octet 0.
    pub fn read_as(name: &str, text: &[u8], strictness: Strictness) -> Result<Package, Error> {
        let mut package = Package::empty(name);
        if let Some(at) = text.iter().position(|&c| c == 0) {
            let line = 1 + text[..at].iter().filter(|&&c| c == b'\n').count();
            let syntax = Syntax {
                file: name.to_owned(),
                line,
                byte: 0,
                reason: Reason::Zero,
                found: String::new(),
            };
            return Err(syntax.into());
        }
        let mut scanner = Scanner::new(text, strictness == Strictness::Lenient);
        let mut reading = Reading {
            section: None,
            names: HashMap::new(),
        };
        while let Some(start) = scanner.line() {
            // Statements up to here are pieces already.
            let mut done = start;
            let mut pending: Option<Statement> = None;
            let fault = loop {
                match scanner.statement() {
                    Ok(Some(statement)) => {
                        if let Some(before) = pending.replace(statement.clone()) {
                            // Another statement of the same line begins at its `;`.
                            let from = before.second.at.end.max(before.first.at.end);
                            let Some(n) = text[from..statement.at.start]
                                .iter()
                                .position(|&c| c == b';')
                            else {
                                break Some(scanner.fault(Reason::TooMany));
                            };
                            package.take(&text[done..from + n], done, &before, &mut reading);
                            done = from + n;
                        }
                        if let Err(reason) = package.may(&statement, &reading, strictness) {
                            pending = None;
                            break Some(scanner.fault(reason));
                        }
                        scanner.opened |= statement.keyword == Keyword::Config;
                    }
                    Ok(None) => break None,
                    Err(fault) => break Some(fault),
                }
            };
            if let Some(fault) = fault {
                let syntax = package.syntax(text, &fault);
                if strictness == Strictness::Strict {
                    return Err(syntax.into());
                }
                package.faults.push(syntax);
            }
            let rest = &text[done..scanner.line_end()];
            match pending {
                Some(statement) => package.take(rest, done, &statement, &mut reading),
                None => {
                    package.document.read(rest, done, None);
                }
            }
        }
        Ok(package)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole file.
    pub fn text(&self) -> Vec<u8> {
        self.document.text()
    }

    /// Looks whether the text says the same when it is read again. A section may have been named as
    /// one without a name is, `cfg02b5cb`, and one without be moved to where it gets that name: then
    /// two are one, or nobody can read the file any more.
    ///
    /// # Errors
    /// [`Error::Invalid`] where it does not.
    pub fn check(&self) -> Result<(), Error> {
        let told = |package: &Package| export(package, false, Names::Extended);
        // Of a file with faults nobody wrote only what was read.
        let again = Package::read_as(&self.name, &self.text(), Strictness::Lenient)?;
        if again.faults.len() == self.faults.len() && told(&again) == told(self) {
            return Ok(());
        }
        // Named so, or without a name and opened again by that which it got.
        let taken = self
            .sections
            .iter()
            .find(|s| (!s.anonymous || s.heads.len() > 1) && is_made_up(&s.name));
        Err(Error::Invalid(taken.map_or_else(
            || "it would not be read again as it is meant".to_owned(),
            |section| {
                let name = &section.name;
                format!("a section without a name would get that of another, `{name}`: rename that")
            },
        )))
    }

    /// Its sections, in order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Lines that could not be read ([`Strictness::Lenient`]).
    pub fn faults(&self) -> &[Syntax] {
        &self.faults
    }

    /// The section of this name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The sections of this type.
    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl DoubleEndedIterator<Item = &'a Section> {
        self.sections
            .iter()
            .filter(move |section| section.kind == kind)
    }

    /// An option's value. `None` where there is none, or a list.
    pub fn value(&self, section: &str, option: &str) -> Option<&[u8]> {
        self.section(section)?.get(option)?.value()
    }

    fn syntax(&self, text: &[u8], fault: &Fault) -> Syntax {
        let rest = &text[fault.at.min(text.len())..];
        let word = rest
            .iter()
            .take(40)
            .take_while(|c| !c.is_ascii_whitespace())
            .copied()
            .collect::<Vec<_>>();
        let found = if word.is_empty() {
            String::new()
        } else {
            format!("`{}`", word.escape_ascii())
        };
        Syntax {
            file: self.name.clone(),
            line: fault.line,
            byte: fault.byte,
            reason: fault.reason,
            found,
        }
    }

    /// Whether a statement is right where it stands.
    fn may(
        &self,
        statement: &Statement,
        reading: &Reading,
        strictness: Strictness,
    ) -> Result<(), Reason> {
        match statement.keyword {
            Keyword::Config if strictness == Strictness::Strict => {
                let kind = text_of(&statement.first.says);
                match reading.names.get(&text_of(&statement.second.says)) {
                    Some(&n) if self.sections[n].kind != kind => Err(Reason::OtherType),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Makes of a statement what libuci makes of it.
    fn take(&mut self, text: &[u8], from: usize, statement: &Statement, reading: &mut Reading) {
        let at = self.document.read(text, from, Some(statement));
        let name = text_of(&statement.first.says);
        match statement.keyword {
            Keyword::Package => {}
            Keyword::Config => {
                let called = text_of(&statement.second.says);
                let n = match reading.names.get(&called) {
                    Some(&n) => {
                        self.sections[n].kind = name;
                        self.sections[n].heads.push(at);
                        n
                    }
                    None => self.begin(name, (!called.is_empty()).then_some(called), at),
                };
                reading.names.insert(self.sections[n].name.clone(), n);
                reading.section = Some(n);
            }
            Keyword::Option | Keyword::List => {
                let list = statement.keyword == Keyword::List;
                if let Some(n) = reading.section {
                    self.sections[n].take(
                        name,
                        list,
                        Item {
                            value: statement.second.says.clone(),
                            at,
                        },
                    );
                }
            }
        }
    }

    /// Adds a section to the sections; its line is there.
    fn begin(&mut self, kind: String, name: Option<String>, at: Id) -> usize {
        self.counted += 1;
        let anonymous = name.is_none();
        let name = name.unwrap_or_else(|| made_up(self.counted, &kind));
        self.sections.push(Section {
            kind,
            name,
            anonymous,
            options: Vec::new(),
            heads: vec![at],
            idle: Vec::new(),
        });
        self.sections.len() - 1
    }
}

impl Section {
    fn take(&mut self, name: String, list: bool, item: Item) {
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
}

/// Where a reader is.
struct Reading {
    section: Option<usize>,
    /// Sections by name.
    names: HashMap<String, usize>,
}

/// A name or type, which is ASCII by now.
fn text_of(word: &[u8]) -> String {
    word.iter().copied().map(char::from).collect()
}
