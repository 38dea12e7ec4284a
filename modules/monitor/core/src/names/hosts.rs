//! Names from the administrator: `/etc/hosts` (hosts(5)) and `/etc/ethers` (ethers(5)).

use std::net::IpAddr;

use super::name_file::{NameEntry, NameFile};
use super::text;
use net::mac::parse_short as mac;

/// Reads `/etc/hosts`: address, name, other names. Of several names the first without a dot is
/// used: `printer`, not `printer.lan`. Leaves out addresses of no station, such as those that block
/// names.
pub fn hosts(file: &[u8]) -> NameFile {
    NameFile::read(file, |text| {
        line(text.split('#').next().unwrap_or("").trim())
    })
}

/// Reads `/etc/ethers`: hardware address, and a name or an IP address; the name is then where that
/// address has one.
pub fn ethers(file: &[u8]) -> NameFile {
    NameFile::read(file, |line| {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            return Some(Vec::new());
        }
        let (hardware, of) = line.split_once(|char: char| char.is_ascii_whitespace())?;
        let mac = Some(mac(hardware)?);
        let known = match of.trim().parse() {
            Ok(address) => NameEntry {
                mac,
                address: Some(address),
                name: None,
            },
            Err(_) => NameEntry {
                mac,
                address: None,
                name: Some(text::device(of.as_bytes())?),
            },
        };
        Some(vec![known])
    })
}

/// Parses a line of `/etc/hosts` without its comment.
pub(super) fn line(line: &str) -> Option<Vec<NameEntry>> {
    let mut fields = line.split_ascii_whitespace();
    let Some(address) = fields.next() else {
        return Some(Vec::new());
    };
    // `fe80::1%br-lan` is valid on one link only: the hardware address decides, not this one.
    let address: IpAddr = address.split('%').next()?.parse().ok()?;
    let first = fields.next()?;
    if address.is_loopback() || address.is_unspecified() || address.is_multicast() {
        return Some(Vec::new());
    }
    let short = std::iter::once(first)
        .chain(fields)
        .find(|name| !name.contains('.'));
    let name = text::device(short.unwrap_or(first).as_bytes())?;
    Some(vec![NameEntry {
        mac: None,
        address: Some(address),
        name: Some(name),
    }])
}

#[cfg(test)]
mod tests {
    use super::super::name_file::MOST;
    use super::*;

    fn names(file: &NameFile) -> Vec<(String, String)> {
        let text = |known: &NameEntry| {
            let who = known
                .mac
                .map(|mac| format!("{mac:02x?}"))
                .or(known.address.map(|address| address.to_string()));
            let name = known
                .name
                .clone()
                .or(known.address.map(|address| address.to_string()));
            (who.expect("someone"), name.expect("something"))
        };
        file.entries.iter().map(text).collect()
    }

    fn pair(who: &str, name: &str) -> (String, String) {
        (who.to_owned(), name.to_owned())
    }

    #[test]
    fn of_hosts() {
        let file = hosts(
            b"127.0.0.1\tlocalhost\n::1 localhost ip6-localhost\nff02::1 ip6-allnodes\n0.0.0.0 \
                ads.example\n\
              # a comment\n192.0.2.7 printer.lan printer # the old \
              one\n192.0.2.8\ttv.lan\n2001:db8::7 printer\n\
              192.0.2.300 x\nprinter\n192.0.2.9\n192.0.2.10 \x1b\x07\n",
        );
        let expected = [
            pair("192.0.2.7", "printer"),
            pair("192.0.2.8", "tv.lan"),
            pair("2001:db8::7", "printer"),
        ];
        assert_eq!(names(&file), expected);
        assert_eq!(file.bad, 4);
    }

    #[test]
    fn of_ethers() {
        let file = ethers(
            b"02:00:5e:10:00:01 laptop\n2:0:5e:10:0:2\t192.0.2.7 # fixed\n# \
            x\nlaptop 02:00:5e:10:00:01\n02:00:5e:10:00:01\n",
        );
        let expected = [
            pair("[02, 00, 5e, 10, 00, 01]", "laptop"),
            pair("[02, 00, 5e, 10, 00, 02]", "192.0.2.7"),
        ];
        assert_eq!(names(&file), expected);
        assert_eq!(file.bad, 2);
    }

    #[test]
    fn is_bounded() {
        let blocked = "0.0.0.0 ads.example\n".repeat(MOST + 10);
        let file = hosts((blocked + "192.0.2.1 a\n").as_bytes());
        assert_eq!((file.entries.len(), file.more), (1, false));
        let file = hosts("192.0.2.1 a\n".repeat(MOST + 1).as_bytes());
        assert_eq!((file.entries.len(), file.more), (MOST, true));
    }
}
