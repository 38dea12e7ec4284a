//! The packages that a plan changes, all at once.

use std::collections::BTreeMap;

use uci::{Element, Error, Package, Section};

/// A router's packages, `network`, `wireless` and so on.
#[derive(Clone, Debug, Default)]
pub struct Config {
    packages: BTreeMap<String, Package>,
    /// First edit that failed. Names are this crate's own and values are checked before, so edits
    /// fail only on unusual files.
    failed: Option<String>,
}

impl Config {
    /// Creates a configuration of these packages.
    pub fn new(packages: impl IntoIterator<Item = Package>) -> Self {
        Self {
            packages: packages
                .into_iter()
                .map(|package| (package.name().to_owned(), package))
                .collect(),
            failed: None,
        }
    }

    /// Returns all packages, by name.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// Returns a package, if there is one of that name.
    pub fn package(&self, name: &str) -> Option<&Package> {
        self.packages.get(name)
    }

    /// Returns a section, if there is one of that name.
    pub(crate) fn section_of(&self, package: &str, section: &str) -> Option<&Section> {
        self.package(package)?.section(section)
    }

    fn element(&self, package: &str, section: &str, option: &str) -> Option<&Element> {
        self.section_of(package, section)?.get(option)
    }

    /// Returns the failure of an edit.
    pub(crate) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Returns the sections of a type.
    pub fn of_type<'a>(
        &'a self,
        package: &str,
        kind: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a Section> {
        self.package(package)
            .into_iter()
            .flat_map(move |package| package.of_type(kind))
    }

    /// Returns an option's value, as text.
    pub fn get(&self, package: &str, section: &str, option: &str) -> Option<String> {
        text(self.section_of(package, section)?, option)
    }

    /// Returns the values of a list, or the words of an option, which netifd takes for a list.
    pub fn list(&self, package: &str, section: &str, option: &str) -> Vec<String> {
        let section = self.section_of(package, section);
        section.map_or_else(Vec::new, |section| words(section, option))
    }

    /// Returns true if there is a section of that name.
    pub fn has(&self, package: &str, section: &str) -> bool {
        self.section_of(package, section).is_some()
    }

    /// Returns the section of a type that has this value in an option.
    pub fn find_by_option(
        &self,
        package: &str,
        kind: &str,
        option: &str,
        value: &str,
    ) -> Option<String> {
        self.of_type(package, kind)
            .find(|section| text(section, option).as_deref() == Some(value))
            .map(|section| section.name.clone())
    }

    /// Returns the device of an interface, also where the interface has the old form: `ifname`, or
    /// `type bridge`.
    pub fn device(&self, interface: &str) -> Option<String> {
        device_of(self.section_of("network", interface)?)
    }

    fn edit(&mut self, package: &str, edit: impl FnOnce(&mut Package) -> Result<(), Error>) {
        let entry = self.packages.entry(package.to_owned());
        let done = edit(entry.or_insert_with(|| Package::empty(package)));
        if let (Err(error), None) = (done, &self.failed) {
            self.failed = Some(format!("{package}: {error}"));
        }
    }

    /// Makes a section, unless one of that name exists.
    pub fn section(&mut self, package: &str, section: &str, kind: &str) {
        if self.has(package, section) {
            return;
        }
        self.edit(package, |package| package.set_section(section, kind));
    }

    /// Adds a section without a name, and returns the name by which it can be found.
    pub fn add(&mut self, package: &str, kind: &str) -> String {
        let mut name = String::new();
        self.edit(package, |package| {
            package.add(kind)?.clone_into(&mut name);
            Ok(())
        });
        name
    }

    /// Returns the first section of a type; makes it if missing.
    pub fn first(&mut self, package: &str, kind: &str) -> String {
        let first = self.of_type(package, kind).next();
        let name = first.map(|section| section.name.clone());
        name.unwrap_or_else(|| self.add(package, kind))
    }

    /// Sets an option.
    pub fn set(&mut self, package: &str, section: &str, option: &str, value: &str) {
        self.edit(package, |package| {
            package.set(section, option, value.as_bytes())
        });
    }

    /// Sets an option that is not there.
    pub fn set_new(&mut self, package: &str, section: &str, option: &str, value: &str) {
        if self.get(package, section, option).is_none() {
            self.set(package, section, option, value);
        }
    }

    /// Sets an option, or takes it away.
    pub fn set_if(&mut self, package: &str, section: &str, option: &str, value: Option<&str>) {
        match value {
            Some(value) => self.set(package, section, option, value),
            None => self.unset(package, section, option),
        }
    }

    /// Sets a list to exactly these values. Existing values stay in place.
    pub fn set_list(&mut self, package: &str, section: &str, option: &str, wanted: &[String]) {
        let known = self.list(package, section, option);
        if known == wanted {
            return;
        }
        if wanted.is_empty() {
            return self.unset(package, section, option);
        }
        let listed = self
            .element(package, section, option)
            .is_none_or(|element| element.list);
        if !listed || known.iter().any(|value| value.contains(' ')) {
            self.unset(package, section, option);
        }
        for value in known.iter().filter(|value| !wanted.contains(value)) {
            self.edit(package, |package| {
                let there = package.section(section).and_then(|s| s.get(option));
                if there.is_none() {
                    return Ok(());
                }
                package.del_list(section, option, value.as_bytes())
            });
        }
        for value in wanted {
            self.list_with(package, section, option, value);
        }
    }

    /// Replaces a list by these values, in this order, in its place.
    pub fn replace_list(&mut self, package: &str, section: &str, option: &str, all: &[String]) {
        let Some((first, others)) = all.split_first() else {
            return self.unset(package, section, option);
        };
        if self.element(package, section, option).is_none() {
            return self.set_list(package, section, option, all);
        }
        // An option becomes the first of a list.
        self.set(package, section, option, first);
        for value in others {
            self.edit(package, |package| {
                package.add_list(section, option, value.as_bytes())
            });
        }
    }

    /// Adds a value to a list, unless it is there.
    pub fn list_with(&mut self, package: &str, section: &str, option: &str, value: &str) {
        if self
            .list(package, section, option)
            .iter()
            .any(|v| v == value)
        {
            return;
        }
        self.spread(package, section, option);
        self.edit(package, |package| {
            package.add_list(section, option, value.as_bytes())
        });
    }

    /// Removes a value from a list, if it is there.
    pub fn list_without(&mut self, package: &str, section: &str, option: &str, value: &str) {
        let known = self.list(package, section, option);
        if known.iter().any(|v| v == value) {
            self.spread(package, section, option);
            self.edit(package, |package| {
                package.del_list(section, option, value.as_bytes())
            });
        }
    }

    /// Turns an option with several words into a list.
    fn spread(&mut self, package: &str, section: &str, option: &str) {
        let words = self.list(package, section, option);
        let listed = self
            .element(package, section, option)
            .is_none_or(|element| element.list);
        if listed {
            return;
        }
        self.unset(package, section, option);
        for word in words {
            self.edit(package, |package| {
                package.add_list(section, option, word.as_bytes())
            });
        }
    }

    /// Takes an option away, if it is there.
    pub fn unset(&mut self, package: &str, section: &str, option: &str) {
        if self.element(package, section, option).is_some() {
            self.edit(package, |package| package.delete_option(section, option));
        }
    }

    /// Takes a section away, if it is there.
    pub fn remove(&mut self, package: &str, section: &str) {
        if self.has(package, section) {
            self.edit(package, |package| package.delete_section(section));
        }
    }
}

/// Returns an option's value, as text; of a list the first.
pub(crate) fn text(section: &Section, option: &str) -> Option<String> {
    let value = section.get(option)?.values().next()?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Returns the values of a list, or the words of an option.
pub(crate) fn words(section: &Section, option: &str) -> Vec<String> {
    let Some(element) = section.get(option) else {
        return Vec::new();
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    if element.list {
        element.values().map(text).collect()
    } else {
        let value = Element::value(element).map(text).unwrap_or_default();
        value.split_whitespace().map(str::to_owned).collect()
    }
}

/// Returns true if an option is on, as OpenWrt's programs read it.
pub(crate) fn is_enabled(section: &Section, option: &str) -> bool {
    text(section, option)
        .is_some_and(|value| matches!(&*value, "1" | "yes" | "on" | "true" | "enabled"))
}

/// Returns the option with an interface's device. netifd reads the old `ifname` if `device` is
/// missing (interface.c, `IFACE_ATTR_IFNAME`).
pub(super) fn device_option(section: &Section) -> &'static str {
    match (section.get("device"), section.get("ifname")) {
        (None, Some(_)) => "ifname",
        _ => "device",
    }
}

/// Returns the device of an interface. An interface of the old `type bridge` makes its own.
pub(crate) fn device_of(section: &Section) -> Option<String> {
    if is_old_bridge(section) {
        return Some(format!("br-{}", section.name));
    }
    text(section, device_option(section))
}

/// Returns true if an interface makes a bridge of the ports in its `ifname`.
pub(super) fn is_old_bridge(section: &Section) -> bool {
    section.get("device").is_none() && text(section, "type").as_deref() == Some("bridge")
}
