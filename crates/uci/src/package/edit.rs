//! Edits: the sections change, and of the text only the lines that say so.

use super::{Element, Item, Package, Section};
use crate::{
    document::Id,
    error::Error,
    names::{is_name, is_type, is_value},
    text::written,
};

impl Package {
    /// Sets an option. A list becomes an option; an empty value takes the option away.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the section, [`Error::Invalid`] for a name or value that cannot
    /// be one.
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
        // Of a list the first line stays, of options the one that counts.
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

    /// Adds to a list. An option becomes the first of it.
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

    /// Takes all elements with this value from a list. What is no list, or not there, stays as it
    /// is.
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

    /// Takes one element from a list, counted from 0. What is not there is no error, as with
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
        // What was overridden would count again.
        let overridden = std::mem::take(&mut self.sections[n].options[m].overridden);
        let item = self.sections[n].options[m].values.remove(number);
        for &at in overridden.iter().chain([&item.at]) {
            self.document.remove(at);
        }
        match &self.sections[n].options[m].values[..] {
            [] => {
                self.sections[n].options.remove(m);
            }
            // By itself an option that had become the first of a list would be one again.
            [last] if self.document.keyword(last.at).starts_with(b"o") => {
                let at = last.at;
                self.document.change_keyword(at, "list");
            }
            _ => {}
        }
        self.order(n);
        Ok(())
    }

    /// Takes an option or list away.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn delete_option(&mut self, section: &str, option: &str) -> Result<(), Error> {
        let (n, m) = self.positions(section, option)?;
        self.drop_element(n, m);
        Ok(())
    }

    /// Takes a section away, with the comment directly above it.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn delete_section(&mut self, section: &str) -> Result<(), Error> {
        let n = self.position(section)?;
        self.lift(n);
        self.sections.remove(n);
        Ok(())
    }

    /// Sets a section's type, or adds one of this name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name or type that cannot be one.
    pub fn set_section(&mut self, section: &str, kind: &str) -> Result<(), Error> {
        if !is_type(kind.as_bytes()) {
            return Err(Error::Invalid(format!(
                "`{kind}` cannot be a type: {}",
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
                "`{section}` cannot be a name: {}",
                crate::Reason::Name.expected()
            )));
        }
        let at = self.open(kind, Some(section));
        self.begin(kind.to_owned(), Some(section.to_owned()), at);
        Ok(())
    }

    /// Adds a section without a name at the end, and gives the name by which it can be asked for.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a type that cannot be one.
    pub fn add(&mut self, kind: &str) -> Result<&str, Error> {
        if !is_type(kind.as_bytes()) {
            return Err(Error::Invalid(format!(
                "`{kind}` cannot be a type: {}",
                crate::Reason::Type.expected()
            )));
        }
        let at = self.open(kind, None);
        let n = self.begin(kind.to_owned(), None, at);
        Ok(&self.sections[n].name)
    }

    /// As [`Package::add`], with the name by which it was asked for when it was added.
    pub(crate) fn add_as(&mut self, name: &str, kind: &str) -> Result<(), Error> {
        self.add(kind)?;
        if let Some(section) = self.sections.last_mut() {
            name.clone_into(&mut section.name);
        }
        Ok(())
    }

    /// Gives a section a name.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Duplicate`] where another has the name; [`Error::Invalid`].
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

    /// Gives an option or list another name.
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

    /// Writes the line of a new section at the end.
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

    /// Writes a new option or list behind the last statement of a section.
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

    /// Takes all statements of an element away but one.
    fn only(&mut self, n: usize, m: usize, keep: Id) {
        for at in self.sections[n].options[m].all() {
            if at != keep {
                self.document.remove(at);
            }
        }
        self.sections[n].options[m].overridden.clear();
    }

    /// Puts options in the order in which they stand in the text, after statements were taken away.
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

    pub(super) fn position(&self, section: &str) -> Result<usize, Error> {
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
}

impl Element {
    /// All statements that say it.
    fn all(&self) -> Vec<Id> {
        self.overridden
            .iter()
            .copied()
            .chain(self.values.iter().map(|item| item.at))
            .collect()
    }
}

impl Section {
    /// Where an option stands among the others.
    fn place(&self, option: &str) -> Option<usize> {
        self.options.iter().position(|known| known.name == option)
    }

    /// All its statements.
    pub(super) fn statements(&self) -> Vec<Id> {
        let others = self.heads.iter().chain(&self.idle).copied();
        others
            .chain(self.options.iter().flat_map(Element::all))
            .collect()
    }
}

fn allowed(name: &str, value: &[u8]) -> Result<(), Error> {
    if !is_name(name.as_bytes()) {
        return Err(Error::Invalid(format!(
            "`{name}` cannot be a name: {}",
            crate::Reason::Name.expected()
        )));
    }
    if !is_value(value) {
        let what = "a value has no control characters but tab and line end".to_owned();
        return Err(Error::Invalid(what));
    }
    Ok(())
}
