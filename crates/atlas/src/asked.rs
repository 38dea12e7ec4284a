//! What an address asks for: `from=2019-01&to=2019-12&by=month`.

use crate::error::Error;
use crate::text::Language;
use crate::time::Unit;

/// Points a time series may have.
pub const POINTS: i64 = 2000;

/// A span of time as people write it: `2019`, `2019-10`, `2019-10-17`, `2019-10-17T22`; also with
/// minutes, seconds and `Z`, which are read and left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Its first hour, since 1970.
    pub begin: i64,
    /// The first hour after it.
    pub end: i64,
}

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Asked {
    pub from: Option<Span>,
    /// The whole of it is shown: `to=2019-12` is up to the end of December.
    pub to: Option<Span>,
    /// `None`: by what fits.
    pub by: Option<Unit>,
    pub at: Option<Span>,
    pub n: Option<usize>,
    pub key: Option<String>,
    /// Metacommunities instead of communities.
    pub group: bool,
    pub share: bool,
    /// Keys of series that are shown; empty: all.
    pub only: Vec<String>,
    pub language: Language,
    pub look: Look,
}

/// How a picture looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    /// Pixels.
    pub width: u32,
    pub height: u32,
    pub theme: Theme,
}

/// Colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Theme {
    /// As the reader's system says.
    #[default]
    Auto,
    Light,
    Dark,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            width: 960,
            height: 480,
            theme: Theme::Auto,
        }
    }
}

impl Asked {
    /// Reads what stands behind `?`. Percent signs and `+` mean what they mean in forms. A
    /// parameter that nobody knows, comes twice, or has a wrong value is an [`Error::Asked`] that
    /// names it, what it may be, and the one that was meant. Empty values count as none, as forms
    /// send them.
    pub fn read(_query: &str) -> Result<Self, Error> {
        Ok(Self::default())
    }

    /// The same question as an address, in one order, without what is as it would be anyway: two
    /// questions that mean the same have the same.
    pub fn query(&self) -> String {
        String::new()
    }
}
