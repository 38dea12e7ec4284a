//! What can be wrong, and where.

use std::{fmt, io, path::PathBuf};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file, or what was imported, cannot be read.
    #[error(transparent)]
    Syntax(#[from] Syntax),
    /// A package, section or option that is not there; what.
    #[error("there is no {0}")]
    NotFound(String),
    /// What was asked for makes no sense; why.
    #[error("{0}")]
    Invalid(String),
    /// There is one of that name; what.
    #[error("there is a {0} already")]
    Duplicate(String),
    /// A file could not be read or written.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
    },
}

/// The first word of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// `package NAME`
    Package,
    /// `config TYPE [NAME]`
    Config,
    /// `option NAME VALUE`
    Option,
    /// `list NAME VALUE`
    List,
}

/// What is wrong in a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// The file or package.
    pub file: String,
    /// The line, from 1. Of a statement over several lines: the last that was read.
    pub line: usize,
    /// The octet, from 0, of the statement's first line on (without the line ends that a backslash
    /// takes away).
    pub byte: usize,
    /// What is wrong.
    pub reason: Reason,
    /// What stands there, where that helps.
    pub found: String,
}

/// What is wrong with a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It begins with none of the four words.
    Command,
    /// A word that begins a statement is the last of the file.
    Alone(Keyword),
    /// There are not enough words.
    TooFew,
    /// There are too many.
    TooMany,
    /// The name has other characters than letters, digits and `_`.
    Name,
    /// The type has blanks, or characters that are not ASCII.
    Type,
    /// The section was opened before, with another type.
    OtherType,
    /// An option before the first section.
    NoSection,
    /// A section, where no package was named.
    NoPackage,
    /// A quotation mark that is not closed; which.
    Quote(char),
    /// The octet 0, which no C program can read.
    Zero,
}

impl Reason {
    /// The words of libuci.
    pub fn libuci(self) -> &'static str {
        match self {
            Reason::Command => "invalid command",
            Reason::Alone(Keyword::Package) => "package without name",
            Reason::Alone(Keyword::Config) => "config without name",
            Reason::Alone(Keyword::Option | Keyword::List) => "option without name",
            Reason::TooFew => "insufficient arguments",
            Reason::TooMany => "too many arguments",
            Reason::Name => "invalid character in name field",
            Reason::Type => "invalid character in type field",
            Reason::OtherType => {
                "section of different type overwrites prior section with same name"
            }
            Reason::NoSection => "option/list command found before the first section",
            Reason::NoPackage => "attempting to import a file without a package name",
            Reason::Quote('"') => "EOF with unterminated \"",
            Reason::Quote(_) => "EOF with unterminated '",
            Reason::Zero => "invalid character",
        }
    }

    /// What would be right.
    pub fn expected(self) -> &'static str {
        match self {
            Reason::Command => "a line begins with config, option, list or package",
            Reason::Alone(_) => "after this word comes a blank and a name",
            Reason::TooFew => {
                "a name or type is missing: config TYPE [NAME], option NAME VALUE, list NAME VALUE"
            }
            Reason::TooMany => "a value with blanks goes in quotation marks: 'like this'",
            Reason::Name => "a name is of letters, digits and _",
            Reason::Type => "a type is of printable ASCII without blanks",
            Reason::OtherType => {
                "a section has one type: the same in all places where it is opened"
            }
            Reason::NoSection => "options stand below a line config TYPE",
            Reason::NoPackage => "name the package: as an argument, or by a line package NAME",
            Reason::Quote(_) => "this quotation mark is not closed",
            Reason::Zero => "the octet 0 cannot stand in a configuration",
        }
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.reason.expected())?;
        if self.found.is_empty() {
            Ok(())
        } else {
            write!(f, ", found {}", self.found)
        }
    }
}

impl std::error::Error for Syntax {}
