//! Accounts that an external server knows, and its verdicts on log-ins.

use std::net::IpAddr;

use kernel::Mac;

/// Bytes of the longest password that can be asked about (RFC 2865 section 5.2).
pub const LONGEST_PASSWORD: usize = 128;
/// Bytes of the longest name (section 5).
pub const LONGEST_NAME: usize = 253;

/// Log-in attempt with an account.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    /// Name of the account.
    pub name: &'a str,
    /// Password of the account.
    pub password: &'a str,
    /// Hardware address of the device.
    pub mac: Mac,
    /// Current address of the device.
    pub address: IpAddr,
}

/// Verdict of the external server on a log-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The server accepts the log-in, on these terms.
    Accept(Terms),
    /// The server rejects the log-in; with its message.
    Reject(String),
    /// More than a password is asked for, which a page of one form cannot give.
    Challenge,
}

/// Allowance that the server grants to an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Name of the account, if the server sends one.
    pub name: Option<String>,
    /// For how many seconds.
    pub seconds: Option<u32>,
    /// Byte limit, both directions together.
    pub bytes: Option<u64>,
    /// Rate limit in bits per second, for each direction.
    pub rate: Option<u64>,
}

impl Account<'_> {
    /// Returns true if the name and the password can be sent to the server.
    pub fn fits(&self) -> bool {
        let fits = |text: &str, most| (1..=most).contains(&text.len());
        fits(self.name, LONGEST_NAME) && fits(self.password, LONGEST_PASSWORD) && is_name(self.name)
    }
}

/// Returns true if a text can be shown as a name: no character in it moves neighbouring text.
pub fn is_name(text: &str) -> bool {
    let moves =
        |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !text.chars().any(moves)
}
