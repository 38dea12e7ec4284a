//! A package file: its sections as libuci sees them, and their text.

use crate::{
    document::{Document, Id, Piece},
    error::{Error, Keyword, Reason, Syntax},
    names::{generated_name, is_generated_name, is_name, is_type, is_value},
    scan::{ScanError, Scanner, Statement},
    section::{Element, Item, Section},
    text::written,
};

use std::collections::{HashMap, HashSet};

/// Treatment of malformed lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// A malformed line is an error.
    Strict,
    /// A malformed line counts as a comment, and stays in the text. (`uci -S`)
    Lenient,
}

/// A file of `/etc/config`: sections and options, and their text.
#[derive(Clone, Debug)]
pub struct Package {
    name: String,
    sections: Vec<Section>,
    document: Document,
    /// Number of sections opened so far, for the names of unnamed ones.
    counted: usize,
    /// Malformed lines, if allowed.
    faults: Vec<Syntax>,
}

impl Package {
    /// Creates an empty package.
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
    /// [`Error::Syntax`] at the first line that libuci would refuse.
    pub fn read(name: &str, text: &[u8]) -> Result<Package, Error> {
        Package::read_as(name, text, Strictness::Strict)
    }

    /// Reads a file with this strictness.
    ///
    /// # Errors
    /// As [`Package::read`]; with [`Strictness::Lenient`] only for octet 0.
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
            // Statements before this position are pieces already.
            let mut done = start;
            let mut pending: Option<Statement> = None;
            let fault = loop {
                match scanner.statement() {
                    Ok(Some(statement)) => {
                        if let Some(before) = pending.replace(statement.clone()) {
                            // The next statement on a line begins at its `;`.
                            let from = before.second.at.end.max(before.first.at.end);
                            let Some(n) = text[from..statement.at.start]
                                .iter()
                                .position(|&c| c == b';')
                            else {
                                break Some(scanner.fault(Reason::TooMany));
                            };
                            package.apply_statement(
                                &text[done..from + n],
                                done,
                                &before,
                                &mut reading,
                            );
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
                Some(statement) => package.apply_statement(rest, done, &statement, &mut reading),
                None => {
                    package.document.read(rest, done, None);
                }
            }
        }
        Ok(package)
    }

    /// Returns the name of the package.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text of the whole file.
    pub fn text(&self) -> Vec<u8> {
        self.document.text()
    }

    /// Checks that the text reads back the same. A section may have been given a name like the
    /// generated ones, `cfg02b5cb`, and an unnamed section may move to where it gets that name:
    /// then the two merge, or the file becomes unreadable.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text reads back differently.
    pub fn check(&self) -> Result<(), Error> {
        // In a file with faults, only the readable lines were edited.
        let again = Package::read_as(&self.name, &self.text(), Strictness::Lenient)?;
        let mut pairs = self.sections.iter().zip(&again.sections);
        if again.faults.len() == self.faults.len()
            && again.sections.len() == self.sections.len()
            && pairs.all(|(one, other)| one.is_written_as(other))
        {
            return Ok(());
        }
        // A section has this name, or an unnamed one was reopened by its generated name.
        let taken = self
            .sections
            .iter()
            .find(|s| (!s.anonymous || s.heads.len() > 1) && is_generated_name(&s.name));
        Err(Error::Invalid(taken.map_or_else(
            || "reading it back would give another result".to_owned(),
            |section| {
                let name = &section.name;
                format!(
                    "an unnamed section would get the name `{name}` of another section: rename \
                     that one"
                )
            },
        )))
    }

    /// Returns the sections, in order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns the malformed lines ([`Strictness::Lenient`]).
    pub fn faults(&self) -> &[Syntax] {
        &self.faults
    }

    /// Returns the section of this name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Returns the sections of this type.
    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl DoubleEndedIterator<Item = &'a Section> {
        self.sections
            .iter()
            .filter(move |section| section.kind == kind)
    }

    /// Returns an option's value. `None` if the option is missing or is a list.
    pub fn value(&self, section: &str, option: &str) -> Option<&[u8]> {
        self.section(section)?.get(option)?.value()
    }

    fn syntax(&self, text: &[u8], fault: &ScanError) -> Syntax {
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

    /// Checks a statement in its context.
    fn may(
        &self,
        statement: &Statement,
        reading: &Reading,
        strictness: Strictness,
    ) -> Result<(), Reason> {
        match statement.keyword {
            Keyword::Config if strictness == Strictness::Strict => {
                let kind = text_of(&statement.first.content);
                match reading.names.get(&text_of(&statement.second.content)) {
                    Some(&n) if self.sections[n].kind != kind => Err(Reason::OtherType),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Applies a statement as libuci does.
    fn apply_statement(
        &mut self,
        text: &[u8],
        from: usize,
        statement: &Statement,
        reading: &mut Reading,
    ) {
        let at = self.document.read(text, from, Some(statement));
        let name = text_of(&statement.first.content);
        match statement.keyword {
            Keyword::Package => {}
            Keyword::Config => {
                let called = text_of(&statement.second.content);
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
                            value: statement.second.content.clone(),
                            at,
                        },
                    );
                }
            }
        }
    }

    /// Adds a section to the list; its line exists already.
    fn begin(&mut self, kind: String, name: Option<String>, at: Id) -> usize {
        self.counted += 1;
        let anonymous = name.is_none();
        let name = name.unwrap_or_else(|| generated_name(self.counted, &kind));
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

    /// Sets an option. A list becomes an option; an empty value deletes the option.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the section, [`Error::Invalid`] for an invalid name or value.
    pub fn set(&mut self, section: &str, option: &str, value: &[u8]) -> Result<(), Error> {
        let n = self.position(section)?;
        allowed(option, value)?;
        let Some(m) = self.sections[n].place(option) else {
            if !value.is_empty() {
                self.append(n, option, false, value);
            }
            return Ok(());
        };
        if value.is_empty() {
            self.drop_element(n, m);
            return Ok(());
        }
        let element = &self.sections[n].options[m];
        if element.value() == Some(value) {
            return Ok(());
        }
        // Keeps the first line of a list, and the effective line of an option.
        let keep = element.values[0].at;
        self.only(n, m, keep);
        self.document.change_second(keep, value);
        if self.sections[n].options[m].list {
            self.document.change_keyword(keep, "option");
        }
        let element = &mut self.sections[n].options[m];
        element.list = false;
        element.values = vec![Item {
            value: value.to_vec(),
            at: keep,
        }];
        self.order(n);
        Ok(())
    }

    /// Adds a value to a list. An option becomes the first value.
    ///
    /// # Errors
    /// As [`Package::set`].
    pub fn add_list(&mut self, section: &str, option: &str, value: &[u8]) -> Result<(), Error> {
        let n = self.position(section)?;
        allowed(option, value)?;
        let Some(m) = self.sections[n].place(option) else {
            self.append(n, option, true, value);
            return Ok(());
        };
        let last = self.sections[n].options[m]
            .values
            .last()
            .map(|item| item.at);
        let Some(last) = last else { return Ok(()) };
        if !self.sections[n].options[m].list {
            self.only(n, m, last);
            self.document.change_keyword(last, "list");
        }
        self.document.part(last);
        let indent = self.document.indent(last);
        let at = self.document.insert(
            self.document.index(last) + 1,
            &indent,
            "list",
            option,
            Some(value),
        );
        let element = &mut self.sections[n].options[m];
        element.list = true;
        element.values.push(Item {
            value: value.to_vec(),
            at,
        });
        self.order(n);
        Ok(())
    }

    /// Removes all elements with this value from a list. Options and missing lists stay as they
    /// are.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the section.
    pub fn del_list(&mut self, section: &str, option: &str, value: &[u8]) -> Result<(), Error> {
        let n = self.position(section)?;
        let Some(element) = self.sections[n]
            .options
            .iter()
            .find(|element| element.name == option && element.list)
        else {
            return Ok(());
        };
        let numbers: Vec<usize> = (0..element.values.len())
            .filter(|&k| element.values[k].value == value)
            .collect();
        for k in numbers.into_iter().rev() {
            self.delete_element(section, option, k)?;
        }
        Ok(())
    }

    /// Removes one element from a list, by index from 0. A missing index is not an error, as in
    /// libuci.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the section or list.
    pub fn delete_element(
        &mut self,
        section: &str,
        option: &str,
        number: usize,
    ) -> Result<(), Error> {
        let (n, m) = self.positions(section, option)?;
        if number >= self.sections[n].options[m].values.len() {
            return Ok(());
        }
        // Overridden statements would take effect again.
        let overridden = std::mem::take(&mut self.sections[n].options[m].overridden);
        let item = self.sections[n].options[m].values.remove(number);
        for &at in overridden.iter().chain([&item.at]) {
            self.document.remove(at);
        }
        match &self.sections[n].options[m].values[..] {
            [] => {
                self.sections[n].options.remove(m);
            }
            // An option that became the first value of a list would be an option again.
            [last] if self.document.keyword(last.at).starts_with(b"o") => {
                let at = last.at;
                self.document.change_keyword(at, "list");
            }
            _ => {}
        }
        self.order(n);
        Ok(())
    }

    /// Deletes an option or list.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn delete_option(&mut self, section: &str, option: &str) -> Result<(), Error> {
        let (n, m) = self.positions(section, option)?;
        self.drop_element(n, m);
        Ok(())
    }

    /// Deletes a section, with the comment directly above it.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn delete_section(&mut self, section: &str) -> Result<(), Error> {
        let n = self.position(section)?;
        self.lift(n);
        self.sections.remove(n);
        Ok(())
    }

    /// Sets a section's type, or adds a section of this name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid name or type.
    pub fn set_section(&mut self, section: &str, kind: &str) -> Result<(), Error> {
        if !is_type(kind.as_bytes()) {
            return Err(Error::Invalid(format!(
                "invalid type `{kind}`: {}",
                crate::Reason::Type.expected()
            )));
        }
        if let Some(n) = self.sections.iter().position(|known| known.name == section) {
            for at in self.sections[n].heads.clone() {
                self.document.change_first(at, &written(kind));
            }
            kind.clone_into(&mut self.sections[n].kind);
            return Ok(());
        }
        if !is_name(section.as_bytes()) {
            return Err(Error::Invalid(format!(
                "invalid name `{section}`: {}",
                crate::Reason::Name.expected()
            )));
        }
        let at = self.open(kind, Some(section));
        self.begin(kind.to_owned(), Some(section.to_owned()), at);
        Ok(())
    }

    /// Adds an unnamed section at the end, and returns its generated name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid type.
    pub fn add(&mut self, kind: &str) -> Result<&str, Error> {
        if !is_type(kind.as_bytes()) {
            return Err(Error::Invalid(format!(
                "invalid type `{kind}`: {}",
                crate::Reason::Type.expected()
            )));
        }
        let at = self.open(kind, None);
        let n = self.begin(kind.to_owned(), None, at);
        Ok(&self.sections[n].name)
    }

    /// As [`Package::add`], with the generated name that the section had when it was added.
    pub(crate) fn add_as(&mut self, name: &str, kind: &str) -> Result<(), Error> {
        self.add(kind)?;
        if let Some(section) = self.sections.last_mut() {
            name.clone_into(&mut section.name);
        }
        Ok(())
    }

    /// Renames a section.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Duplicate`] if the name is taken; [`Error::Invalid`].
    pub fn rename_section(&mut self, section: &str, name: &str) -> Result<(), Error> {
        let n = self.position(section)?;
        allowed(name, b"")?;
        if self
            .sections
            .iter()
            .enumerate()
            .any(|(k, other)| k != n && other.name == name)
        {
            return Err(Error::Duplicate(format!("section `{name}`")));
        }
        for at in self.sections[n].heads.clone() {
            self.document.change_second(at, name.as_bytes());
        }
        let section = &mut self.sections[n];
        name.clone_into(&mut section.name);
        section.anonymous = false;
        Ok(())
    }

    /// Renames an option or list.
    ///
    /// # Errors
    /// As [`Package::rename_section`].
    pub fn rename_option(&mut self, section: &str, option: &str, name: &str) -> Result<(), Error> {
        let (n, m) = self.positions(section, option)?;
        allowed(name, b"")?;
        if self.sections[n]
            .options
            .iter()
            .enumerate()
            .any(|(k, other)| k != m && other.name == name)
        {
            return Err(Error::Duplicate(format!("option `{name}`")));
        }
        for at in self.sections[n].options[m].all() {
            self.document.change_first(at, name);
        }
        name.clone_into(&mut self.sections[n].options[m].name);
        Ok(())
    }

    /// Appends the line of a new section.
    fn open(&mut self, kind: &str, name: Option<&str>) -> Id {
        let end = self.document.len();
        if !self.document.blank_before(end) {
            self.document.insert_blank(end);
        }
        let at = self.document.insert(
            self.document.len(),
            b"",
            "config",
            &written(kind),
            name.map(str::as_bytes),
        );
        self.document.insert_blank(self.document.len());
        at
    }

    /// Writes a new option or list after the last statement of a section.
    fn append(&mut self, n: usize, option: &str, list: bool, value: &[u8]) {
        let section = &self.sections[n];
        let last = section
            .options
            .iter()
            .flat_map(Element::all)
            .max_by_key(|&at| self.document.index(at));
        let last_head = *section
            .heads
            .last()
            .expect("a section has a line that opens it");
        let before = last.unwrap_or(last_head);
        self.document.part(before);
        let indent = last.map_or_else(|| b"\t".to_vec(), |at| self.document.indent(at));
        let keyword = if list { "list" } else { "option" };
        let at = self.document.insert(
            self.document.index(before) + 1,
            &indent,
            keyword,
            option,
            Some(value),
        );
        let values = vec![Item {
            value: value.to_vec(),
            at,
        }];
        self.sections[n].options.push(Element {
            name: option.to_owned(),
            list,
            values,
            overridden: Vec::new(),
        });
    }

    /// Removes all statements of an element but one.
    fn only(&mut self, n: usize, m: usize, keep: Id) {
        for at in self.sections[n].options[m].all() {
            if at != keep {
                self.document.remove(at);
            }
        }
        self.sections[n].options[m].overridden.clear();
    }

    /// Sorts options by their order in the text, after statements were removed.
    fn order(&mut self, n: usize) {
        let document = &self.document;
        let first =
            |element: &Element| element.all().into_iter().map(|at| document.index(at)).min();
        self.sections[n].options.sort_by_cached_key(first);
    }

    fn drop_element(&mut self, n: usize, m: usize) {
        let element = self.sections[n].options.remove(m);
        for at in element.all() {
            self.document.remove(at);
        }
    }

    fn position(&self, section: &str) -> Result<usize, Error> {
        let position = self.sections.iter().position(|known| known.name == section);
        position.ok_or_else(|| Error::NotFound(format!("section `{section}` in {}", self.name)))
    }

    fn positions(&self, section: &str, option: &str) -> Result<(usize, usize), Error> {
        let n = self.position(section)?;
        let position = self.sections[n].place(option);
        match position {
            Some(m) => Ok((n, m)),
            None => Err(Error::NotFound(format!(
                "option `{option}` in {}.{section}",
                self.name
            ))),
        }
    }

    /// Moves a section to a position, counted from 0; positions past the end mean the last.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn reorder(&mut self, section: &str, to: usize) -> Result<(), Error> {
        let n = self.position(section)?;
        let to = to.min(self.sections.len() - 1);
        if n == to {
            return Ok(());
        }
        let lines = self.lift(n);
        let section = self.sections.remove(n);
        let at = match self.sections.get(to) {
            Some(next) => self.document.lead(self.document.index(next.heads[0])),
            None => self.document.len(),
        };
        self.sections.insert(to, section);
        if at > 0 && !self.document.blank_before(at) {
            self.document.insert_blank(at);
            self.insert_lines(at + 1, lines);
        } else {
            self.insert_lines(at, lines);
        }
        Ok(())
    }

    fn insert_lines(&mut self, at: usize, lines: Vec<Piece>) {
        let (end, after) = (at + lines.len(), self.document.len() > at);
        self.document.put(at, lines);
        if after && !self.document.blank_before(end) {
            self.document.insert_blank(end);
        }
    }

    /// Removes a section's lines from the text.
    fn lift(&mut self, n: usize) -> Vec<Piece> {
        let own: HashSet<Id> = self.sections[n].statements().into_iter().collect();
        for &at in &own {
            self.document.part(at);
        }
        let heads: HashSet<Id> = self
            .sections
            .iter()
            .flat_map(|section| section.heads.iter().copied())
            .collect();
        let mut lines = Vec::new();
        for head in self.sections[n].heads.clone().into_iter().rev() {
            let from = self.document.index(head);
            let (next, last) = self.document.between(from, &heads, &own);
            let region = self.document.region(from, last, next);
            lines.splice(..0, self.document.take(region));
        }
        lines
    }
}

/// State of reading.
struct Reading {
    section: Option<usize>,
    /// Sections by name.
    names: HashMap<String, usize>,
}

/// Converts a name or type, which is known to be ASCII.
fn text_of(word: &[u8]) -> String {
    word.iter().copied().map(char::from).collect()
}

fn allowed(name: &str, value: &[u8]) -> Result<(), Error> {
    if !is_name(name.as_bytes()) {
        return Err(Error::Invalid(format!(
            "invalid name `{name}`: {}",
            crate::Reason::Name.expected()
        )));
    }
    if !is_value(value) {
        let what = "a value may contain no control characters except tab and line end".to_owned();
        return Err(Error::Invalid(what));
    }
    Ok(())
}
