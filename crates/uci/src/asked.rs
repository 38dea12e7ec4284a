//! What a command changes.

use crate::{
    address::Address,
    change::{Change, Verb, number_of},
    error::Error,
    package::{Element, Package, Section},
};

impl Change {
    /// The change that a command asks for, as libuci understands it. `None` where nothing would be
    /// another.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is to be changed and is not there, [`Error::Invalid`] for what
    /// makes no sense.
    pub fn asked(
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
        // Where an option is named, too, its section moves.
        let option = address.option.clone().filter(|_| verb != Verb::Reorder);
        match verb {
            // A new section may be made by its name only.
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
                // An empty value takes away.
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
            Verb::Set if element.is_some_and(|element| element.value() == value) => Said::Nothing,
            Verb::DelList if element.is_none_or(|element| !element.list) => Said::Nothing,
            _ => Said::With(value.map(<[u8]>::to_vec)),
        };
        Ok(match said {
            Said::Nothing => None,
            Said::With(value) => Some(Change {
                verb,
                section,
                option,
                value,
            }),
        })
    }
}

enum Said {
    /// All is so already.
    Nothing,
    /// The change, with this value.
    With(Option<Vec<u8>>),
}

/// All of an element; of a list one of its own, by number.
fn removed(element: Option<&Element>, value: Option<&[u8]>) -> Said {
    let Some(element) = element.filter(|element| element.list) else {
        return Said::With(None);
    };
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Said::With(None);
    };
    let number = usize::try_from(number_of(value).unwrap_or(0));
    match number.is_ok_and(|number| number < element.values().len()) {
        true => Said::With(Some(value.to_vec())),
        false => Said::Nothing,
    }
}

/// A section's new place, as a number.
fn moved(package: &Package, section: Option<&Section>, value: Option<&[u8]>) -> Said {
    let number = number_of(value.unwrap_or_default()).unwrap_or(0);
    let place = usize::try_from(number)
        .unwrap_or(0)
        .min(package.sections().len().saturating_sub(1));
    let now = package
        .sections()
        .iter()
        .position(|known| section.is_some_and(|section| section.name == known.name));
    if now == Some(place) {
        Said::Nothing
    } else {
        Said::With(Some(number.to_string().into_bytes()))
    }
}

fn invalid<T>(what: &str) -> Result<T, Error> {
    Err(Error::Invalid(what.to_owned()))
}
