//! Device names in files on the router: leases of dnsmasq and odhcpd, `/etc/hosts`, `/etc/ethers`.
//!
//! A reader parses the bytes of a file, and returns the entries and the number of malformed lines.
//! The reader keeps at most [`MOST`] entries of a file, whatever its length: some routers have
//! 100,000 blocked names in their hosts.

use std::net::IpAddr;

use kernel::Mac;

use net::digits::hexadecimal;

/// Entries that are kept of a file.
pub const MOST: usize = 4096;

/// Contents of a line. At least two of the three are present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameEntry {
    /// Hardware address.
    pub mac: Option<Mac>,
    /// An IP address.
    pub address: Option<IpAddr>,
    /// Name of the device: made harmless by [`text::device`](super::text::device).
    pub name: Option<String>,
}

/// Contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameFile {
    /// Entries in the order of the file.
    pub entries: Vec<NameEntry>,
    /// Lines that make no sense.
    pub bad: usize,
    /// True if there were more than [`MOST`].
    pub more: bool,
}

impl NameFile {
    /// Parses line by line. `read` returns the content of a line, which may be empty; `None` if the
    /// line is malformed.
    pub(super) fn read(
        octets: &[u8],
        mut read: impl FnMut(&str) -> Option<Vec<NameEntry>>,
    ) -> Self {
        let mut file = Self::default();
        for line in octets.split(|&octet| octet == b'\n') {
            let line = String::from_utf8_lossy(line);
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            match read(line) {
                None => file.bad += 1,
                Some(known) => {
                    for known in known {
                        if file.entries.len() == MOST {
                            file.more = true;
                            return file;
                        }
                        file.entries.push(known);
                    }
                }
            }
        }
        file
    }
}

/// Parses hexadecimal digits without separators.
pub(super) fn octets(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| hex(std::str::from_utf8(pair).ok()?))
        .collect::<Option<Vec<u8>>>()
        .filter(|_| text.len().is_multiple_of(2))
}

fn hex(digits: &str) -> Option<u8> {
    u8::try_from(hexadecimal(digits)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_pairs() {
        assert_eq!(octets("0aFF"), Some(vec![10, 255]));
        assert_eq!(octets("0af"), None);
        assert_eq!(octets("0x"), None);
        assert_eq!(octets("ü"), None);
    }
}
