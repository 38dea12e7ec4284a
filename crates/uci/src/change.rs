//! Uncommitted changes: a line for each in `/tmp/.uci/PACKAGE`.

use crate::{
    address::{Address, SectionRef},
    error::Error,
    names::is_name,
    package::Package,
    scan::arguments,
    section::{Element, Section},
    text::quoted,
};

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Adds an unnamed section, or an element to it.
    Add,
    /// Deletes.
    Remove,
    /// Sets.
    Set,
    /// Renames.
    Rename,
    /// Moves a section.
    Reorder,
    /// Adds to a list.
    AddList,
    /// Removes from a list by value.
    DelList,
}

/// An uncommitted change of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Kind of the change.
    pub verb: Verb,
    /// The name of the section.
    pub section: String,
    /// The option or list.
    pub option: Option<String>,
    /// Value, type, name or position; for [`Verb::Remove`] the index of a list's element.
    pub value: Option<Vec<u8>>,
}

impl Verb {
    fn prefix(self) -> &'static str {
        match self {
            Verb::Add => "+",
            Verb::Remove => "-",
            Verb::Set => "",
            Verb::Rename => "@",
            Verb::Reorder => "^",
            Verb::AddList => "|",
            Verb::DelList => "~",
        }
    }
}

impl Change {
    /// Reads the changes of a package. Skips malformed lines, and lines of other packages.
    pub fn read(package: &str, text: &[u8]) -> Vec<Change> {
        let lines = arguments(text).into_iter();
        lines
            .filter_map(|line| Change::of(package, &line.ok()?))
            .collect()
    }

    fn of(package: &str, words: &[Vec<u8>]) -> Option<Change> {
        let [word] = words else { return None };
        let verbs = [
            Verb::Add,
            Verb::Remove,
            Verb::Rename,
            Verb::Reorder,
            Verb::AddList,
            Verb::DelList,
        ];
        let found = verbs
            .into_iter()
            .find_map(|verb| Some((verb, word.strip_prefix(verb.prefix().as_bytes())?)));
        let (verb, rest) = found.unwrap_or((Verb::Set, word));
        let address = Address::read(rest).ok()?;
        let Some(SectionRef::Named(section)) = address.section else {
            return None;
        };
        let right = match verb {
            Verb::Remove => true,
            Verb::Add | Verb::Set => address.value.is_some(),
            Verb::Rename => address.value.as_deref().is_some_and(is_name),
            Verb::Reorder => address.value.is_some() && address.option.is_none(),
            Verb::AddList | Verb::DelList => address.value.is_some() && address.option.is_some(),
        };
        (right && address.package == package).then_some(Change {
            verb,
            section,
            option: address.option,
            value: address.value,
        })
    }

    /// Returns the change for a command, as libuci understands it. `None` if nothing would change.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the target does not exist, [`Error::Invalid`] for an invalid command.
    pub fn from_command(
        verb: Verb,
        address: &Address,
        package: &Package,
    ) -> Result<Option<Change>, Error> {
        let there = address.section_of(package)?.is_some();
        match verb {
            Verb::Remove | Verb::Rename => address.complete(package)?,
            Verb::Reorder if !there || address.value.is_none() => {
                return Err(Error::NotFound(
                    "section, or place to move it to".to_owned(),
                ));
            }
            _ => {}
        }
        let Some(section) = address.named(package)? else {
            return invalid("name a section: PACKAGE.SECTION");
        };
        if address.value.is_none() && verb != Verb::Remove {
            return invalid("a value is missing: …=VALUE");
        }
        // If an option is named, too, its section moves.
        let option = address.option.clone().filter(|_| verb != Verb::Reorder);
        match verb {
            // A new section can be created only by its name.
            Verb::Set if option.is_some() && !there => return invalid("there is no such section"),
            Verb::AddList | Verb::DelList if !there => return invalid("there is no such section"),
            Verb::AddList if option.is_none() => return invalid("name a list"),
            Verb::DelList if option.is_none() => return Ok(None),
            _ => {}
        }
        let known = package.section(&section);
        let element = known
            .zip(option.as_deref())
            .and_then(|(known, name)| known.get(name));
        let value = address.value.as_deref();
        let said = match verb {
            Verb::Remove => removed(element, value),
            Verb::Reorder => moved(package, known, value),
            Verb::Set if value == Some(b"") => {
                // An empty value deletes.
                let gone = if option.is_some() {
                    element.is_none()
                } else {
                    known.is_none()
                };
                return Ok((!gone).then_some(Change {
                    verb: Verb::Remove,
                    section,
                    option,
                    value: None,
                }));
            }
            Verb::Set if element.is_some_and(|element| element.value() == value) => {
                RemovalValue::Nothing
            }
            Verb::DelList if element.is_none_or(|element| !element.list) => RemovalValue::Nothing,
            _ => RemovalValue::With(value.map(<[u8]>::to_vec)),
        };
        Ok(match said {
            RemovalValue::Nothing => None,
            RemovalValue::With(value) => Some(Change {
                verb,
                section,
                option,
                value,
            }),
        })
    }

    /// Returns the line of this change.
    pub fn line(&self, package: &str) -> Vec<u8> {
        let mut line = format!("{}{package}.{}", self.verb.prefix(), self.section).into_bytes();
        if let Some(option) = &self.option {
            line.push(b'.');
            line.extend_from_slice(option.as_bytes());
        }
        if let Some(value) = &self.value {
            line.push(b'=');
            line.extend_from_slice(&quoted(value));
        }
        line.push(b'\n');
        line
    }

    /// Returns the line in `uci changes`.
    pub fn show(&self, package: &str) -> Vec<u8> {
        let (prefix, sign) = match self.verb {
            Verb::Remove => ("-", ""),
            Verb::AddList => ("", "+="),
            Verb::DelList => ("", "-="),
            _ => ("", "="),
        };
        let mut line = format!("{prefix}{package}.{}", self.section).into_bytes();
        if let Some(option) = &self.option {
            line.push(b'.');
            line.extend_from_slice(option.as_bytes());
        }
        if self.verb != Verb::Remove {
            line.extend_from_slice(sign.as_bytes());
            line.extend_from_slice(&quoted(self.value.as_deref().unwrap_or_default()));
        }
        line.push(b'\n');
        line
    }

    /// Applies the change.
    ///
    /// # Errors
    /// Those of [`Package`]'s edits.
    pub fn apply(&self, package: &mut Package) -> Result<(), Error> {
        let value = self.value.as_deref().unwrap_or_default();
        let text = || String::from_utf8_lossy(value).into_owned();
        let section = self.section.as_str();
        match (self.verb, self.option.as_deref()) {
            (Verb::Add, None) if package.section(section).is_none() => {
                package.add_as(section, &text())
            }
            (Verb::Add | Verb::Set, None) if value.is_empty() => match package.section(section) {
                Some(_) => package.delete_section(section),
                None => Ok(()),
            },
            (Verb::Add | Verb::Set, None) => package.set_section(section, &text()),
            (Verb::Add | Verb::Set, Some(option)) => package.set(section, option, value),
            (Verb::Remove, None) => package.delete_section(section),
            (Verb::Remove, Some(option)) => match &self.value {
                Some(number)
                    if package
                        .section(section)
                        .and_then(|s| s.get(option))
                        .is_some_and(|e| e.list) =>
                {
                    match number_of(number) {
                        Some(number) => match usize::try_from(number) {
                            Ok(number) => package.delete_element(section, option, number),
                            Err(_) => Ok(()),
                        },
                        None => Err(Error::Invalid(format!("`{}` is not a number", text()))),
                    }
                }
                _ => package.delete_option(section, option),
            },
            (Verb::Rename, None) => package.rename_section(section, &text()),
            (Verb::Rename, Some(option)) => package.rename_option(section, option, &text()),
            (Verb::Reorder, _) => package.reorder(section, place(value)),
            (Verb::AddList, Some(option)) => package.add_list(section, option, value),
            (Verb::DelList, Some(option)) => package.del_list(section, option, value),
            (Verb::AddList | Verb::DelList, None) => {
                Err(Error::Invalid("a list has a name".to_owned()))
            }
        }
    }
}

/// Reads a number as C's `sscanf` does: the digits at the start of the text.
pub(crate) fn number_of(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end]
        .parse::<i64>()
        .ok()
        .map(|number| sign * number)
}

/// Parses a position in the order of sections. Invalid and negative numbers mean the first.
fn place(text: &[u8]) -> usize {
    number_of(text).map_or(0, |number| usize::try_from(number).unwrap_or(0))
}

enum RemovalValue {
    /// Nothing would change.
    Nothing,
    /// The change, with this value.
    With(Option<Vec<u8>>),
}

/// Returns the removal of an element; for a list, of one value by index.
fn removed(element: Option<&Element>, value: Option<&[u8]>) -> RemovalValue {
    let Some(element) = element.filter(|element| element.list) else {
        return RemovalValue::With(None);
    };
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return RemovalValue::With(None);
    };
    let number = usize::try_from(number_of(value).unwrap_or(0));
    match number.is_ok_and(|number| number < element.values().len()) {
        true => RemovalValue::With(Some(value.to_vec())),
        false => RemovalValue::Nothing,
    }
}

/// Returns a section's new position, as a number.
fn moved(package: &Package, section: Option<&Section>, value: Option<&[u8]>) -> RemovalValue {
    let number = number_of(value.unwrap_or_default()).unwrap_or(0);
    let place = usize::try_from(number)
        .unwrap_or(0)
        .min(package.sections().len().saturating_sub(1));
    let now = package
        .sections()
        .iter()
        .position(|known| section.is_some_and(|section| section.name == known.name));
    if now == Some(place) {
        RemovalValue::Nothing
    } else {
        RemovalValue::With(Some(number.to_string().into_bytes()))
    }
}

fn invalid<T>(what: &str) -> Result<T, Error> {
    Err(Error::Invalid(what.to_owned()))
}
