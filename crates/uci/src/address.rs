//! Addresses such as `network.lan.proto=dhcp`, the arguments of commands.

use crate::{
    error::Error,
    names::{is_name, is_type, is_value},
    package::Package,
};

/// Argument of a command: a package, and optionally a section, an option and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The package.
    pub package: String,
    /// The section.
    pub section: Option<SectionRef>,
    /// The option or list.
    pub option: Option<String>,
    /// Text after the first `=`.
    pub value: Option<Vec<u8>>,
}

/// Reference to a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionRef {
    /// Section of this name.
    Named(String),
    /// `@TYPE[NUMBER]`: index among the sections of the type, or among all without a type; from the
    /// end if negative.
    Numbered(Option<String>, i64),
    /// Text that is neither a name nor an index. Looking up the section fails.
    Nonsense(String),
}

impl Address {
    /// Reads `PACKAGE[.SECTION[.OPTION]][=VALUE]`.
    ///
    /// # Errors
    /// [`Error::Invalid`] describes the invalid part.
    pub fn read(text: &[u8]) -> Result<Address, Error> {
        let (path, value) = match text.iter().position(|&c| c == b'=') {
            Some(n) => (&text[..n], Some(&text[n + 1..])),
            None => (text, None),
        };
        let shown = String::from_utf8_lossy(path);
        let parts: Vec<&[u8]> = path.split(|&c| c == b'.').collect();
        let (package, section, option) = match parts[..] {
            [package] => (package, None, None),
            [package, section] => (package, Some(section), None),
            [package, section, option] => (package, Some(section), Some(option)),
            _ => {
                return Err(Error::Invalid(format!(
                    "`{shown}` has more parts than PACKAGE.SECTION.OPTION"
                )));
            }
        };
        if !is_type(package) {
            return Err(Error::Invalid(format!(
                "`{shown}` does not begin with a package name"
            )));
        }
        if option.is_some_and(|option| !is_name(option)) {
            return Err(Error::Invalid(format!(
                "`{shown}` does not end with an option name: letters, digits and _"
            )));
        }
        if value.is_some_and(|value| !is_value(value)) {
            return Err(Error::Invalid(
                "a value may contain no control characters except tab and line end".to_owned(),
            ));
        }
        Ok(Address {
            package: ascii(package),
            section: section.map(SectionRef::read),
            option: option.map(ascii),
            value: value.map(<[u8]>::to_vec),
        })
    }

    /// Returns the name of the section, if the section exists.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text is neither a name nor an index.
    pub fn section_of(&self, package: &Package) -> Result<Option<String>, Error> {
        let found = match &self.section {
            None => None,
            Some(SectionRef::Nonsense(text)) => {
                let what = "a section is a name of letters, digits and _, or @TYPE[NUMBER]";
                return Err(Error::Invalid(format!("`{text}`: {what}")));
            }
            Some(SectionRef::Named(name)) => package.section(name),
            Some(SectionRef::Numbered(kind, number)) => {
                let of: Vec<_> = package
                    .sections()
                    .iter()
                    .filter(|s| kind.as_ref().is_none_or(|k| *k == s.kind))
                    .collect();
                let number = if *number < 0 {
                    number + i64::try_from(of.len()).unwrap_or(i64::MAX)
                } else {
                    *number
                };
                usize::try_from(number)
                    .ok()
                    .and_then(|n| of.get(n).copied())
            }
        };
        Ok(found.map(|section| section.name.clone()))
    }

    /// Returns the name of the section, even if the section does not exist. An index needs an
    /// existing section.
    ///
    /// # Errors
    /// As [`Address::section_of`].
    pub fn named(&self, package: &Package) -> Result<Option<String>, Error> {
        Ok(match (&self.section, self.section_of(package)?) {
            (_, Some(name)) => Some(name),
            (Some(SectionRef::Named(name)), None) => Some(name.clone()),
            _ => None,
        })
    }

    /// Checks that all named parts exist.
    ///
    /// # Errors
    /// [`Error::NotFound`] names the missing part; and as [`Address::section_of`].
    pub fn complete(&self, package: &Package) -> Result<(), Error> {
        let Some(which) = &self.section else {
            return Ok(());
        };
        let in_package = package.name();
        let section = self.section_of(package)?;
        let Some(section) = section.and_then(|name| package.section(&name)) else {
            return Err(Error::NotFound(match which {
                SectionRef::Named(name) => format!("section `{name}` in {in_package}"),
                _ => format!("section of this number in {in_package}"),
            }));
        };
        match &self.option {
            Some(option) if section.get(option).is_none() => {
                let name = &section.name;
                let what = format!("option `{option}` in {in_package}.{name}");
                Err(Error::NotFound(what))
            }
            _ => Ok(()),
        }
    }
}

impl SectionRef {
    fn read(text: &[u8]) -> SectionRef {
        if is_name(text) {
            return SectionRef::Named(ascii(text));
        }
        SectionRef::numbered(text)
            .unwrap_or_else(|| SectionRef::Nonsense(String::from_utf8_lossy(text).into_owned()))
    }

    fn numbered(text: &[u8]) -> Option<SectionRef> {
        let inner = text.strip_prefix(b"@")?.strip_suffix(b"]")?;
        let open = inner.iter().position(|&c| c == b'[')?;
        let (kind, number) = (&inner[..open], &inner[open + 1..]);
        // Like strtol: the empty text is 0.
        let number = std::str::from_utf8(number).ok()?.trim_start();
        let number = if number.is_empty() {
            0
        } else {
            number.parse().ok()?
        };
        if kind.is_empty() {
            return Some(SectionRef::Numbered(None, number));
        }
        is_type(kind).then(|| SectionRef::Numbered(Some(ascii(kind)), number))
    }
}

fn ascii(text: &[u8]) -> String {
    text.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::{Address, SectionRef};

    #[test]
    fn what_is_an_address() {
        let address = Address::read(b"network.@device[-1].ports=lan1=x").unwrap();
        assert_eq!(
            address.section,
            Some(SectionRef::Numbered(Some("device".to_owned()), -1))
        );
        assert_eq!(address.value.as_deref(), Some(b"lan1=x".as_slice()));
        assert!(
            Address::read(b"a.b.c.d").is_err()
                && Address::read(b".b").is_err()
                && Address::read(b"a.b.").is_err()
        );
        assert!(Address::read(b"a.b.c=\x01").is_err() && Address::read(b"a.b.c=\t\n").is_ok());
        assert_eq!(
            Address::read(b"a.").unwrap().section,
            Some(SectionRef::Nonsense(String::new()))
        );
    }
}
