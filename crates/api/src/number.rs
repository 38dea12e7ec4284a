//! Numbers in queries.

use std::str::FromStr;

/// A number in digits and nothing else: `parse` would take a sign.
pub(crate) fn number<T: FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|octet| octet.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}
