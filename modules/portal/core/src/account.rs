//! Who has an account elsewhere, and what who knows accounts says of it.

use std::net::IpAddr;

use kernel::Mac;

/// Bytes of the longest password that can be asked about (RFC 2865 section 5.2).
pub const LONGEST_PASSWORD: usize = 128;
/// Bytes of the longest name (section 5).
pub const LONGEST_NAME: usize = 253;

/// Who wants in.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    /// His name.
    pub name: &'a str,
    /// His password.
    pub password: &'a str,
    /// His device.
    pub mac: Mac,
    /// Where it is.
    pub address: IpAddr,
}

/// What is said of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// He may, on these terms.
    Accept(Terms),
    /// He may not; what is said of it.
    Reject(String),
    /// More than a password is asked for, which a page of one form cannot give.
    Challenge,
}

/// What somebody may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// What his account is called, if that is said.
    pub name: Option<String>,
    /// For how many seconds.
    pub seconds: Option<u32>,
    /// How many bytes, both ways together.
    pub bytes: Option<u64>,
    /// How many bits a second, each way.
    pub rate: Option<u64>,
}

impl Account<'_> {
    /// Whether it can be asked about.
    pub fn fits(&self) -> bool {
        let fits = |text: &str, most| (1..=most).contains(&text.len());
        fits(self.name, LONGEST_NAME) && fits(self.password, LONGEST_PASSWORD) && is_name(self.name)
    }
}

/// Whether a text is a name that can be shown: nothing in it moves what stands beside it.
pub fn is_name(text: &str) -> bool {
    let moves =
        |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !text.chars().any(moves)
}
