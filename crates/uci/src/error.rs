//! Errors and their positions.

use std::{fmt, io, path::PathBuf};

/// Error of an operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file, or imported text, is malformed.
    #[error(transparent)]
    Syntax(#[from] Syntax),
    /// The named package, section or option does not exist.
    #[error("there is no {0}")]
    NotFound(String),
    /// The request is not valid, for this reason.
    #[error("{0}")]
    Invalid(String),
    /// The named thing exists already.
    #[error("there is a {0} already")]
    Duplicate(String),
    /// A file could not be read or written.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the kernel.
        error: io::Error,
    },
}

/// Keyword of a statement.
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

/// A syntax error, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// The file or package.
    pub file: String,
    /// Line, from 1. For a statement over several lines: the last line read.
    pub line: usize,
    /// Octet, from 0, counted from the statement's first line (without line ends removed by a
    /// backslash).
    pub byte: usize,
    /// Kind of the error.
    pub reason: Reason,
    /// Text at the position, if helpful.
    pub found: String,
}

/// Kind of a syntax error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The line begins with none of the four keywords.
    Command,
    /// A keyword is the last word of the file.
    Alone(Keyword),
    /// The statement has too few words.
    TooFew,
    /// The statement has too many words.
    TooMany,
    /// The name has other characters than letters, digits and `_`.
    Name,
    /// The type has blanks, or characters that are not ASCII.
    Type,
    /// The section was opened before, with another type.
    OtherType,
    /// The option comes before the first section.
    NoSection,
    /// The section comes before any package.
    NoPackage,
    /// This quotation mark is not closed.
    Quote(char),
    /// The text contains octet 0, which no C program can read.
    Zero,
}

impl Reason {
    /// Returns the message of libuci.
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

    /// Returns a description of valid text.
    pub fn expected(self) -> &'static str {
        match self {
            Reason::Command => "a line must begin with config, option, list or package",
            Reason::Alone(_) => "this word must be followed by a blank and a name",
            Reason::TooFew => {
                "a name or type is missing: config TYPE [NAME], option NAME VALUE, list NAME VALUE"
            }
            Reason::TooMany => "put a value with blanks into quotation marks: 'like this'",
            Reason::Name => "a name consists of letters, digits and _",
            Reason::Type => "a type consists of printable ASCII without blanks",
            Reason::OtherType => {
                "a section has one type: the same in all places where it is opened"
            }
            Reason::NoSection => "options must follow a line `config TYPE`",
            Reason::NoPackage => "name the package: as an argument, or with a line `package NAME`",
            Reason::Quote(_) => "this quotation mark is not closed",
            Reason::Zero => "a configuration cannot contain the byte 0",
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
