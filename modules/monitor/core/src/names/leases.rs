//! Leases: the files of dnsmasq (`/var/lib/misc/dnsmasq.leases`, `/tmp/dhcp.leases`) and of odhcpd
//! (`/tmp/odhcpd.leases`, `/tmp/hosts/odhcpd`).

use std::net::{IpAddr, Ipv4Addr};

use kernel::Mac;

use super::hosts;
use super::name_file::{NameEntry, NameFile, octets};
use super::text;
use net::digits::{decimal, hexadecimal};
use net::mac::parse_short as mac;

/// Reads a file of either, or one line by line of both.
pub fn any(file: &[u8]) -> NameFile {
    NameFile::read(file, |line| match line.split_ascii_whitespace().next() {
        Some(first) if first == "duid" || first.bytes().all(|octet| octet.is_ascii_digit()) => {
            of_dnsmasq(line)
        }
        _ => of_odhcpd(line),
    })
}

/// Reads a file of dnsmasq: `expiry mac address name client-id` in each line. After a line `duid
/// …`, the lines are leases of DHCPv6, `expiry iaid address name duid` (dnsmasq, lease.c). `*` is a
/// missing name.
pub fn dnsmasq(file: &[u8]) -> NameFile {
    NameFile::read(file, of_dnsmasq)
}

/// Reads a file of odhcpd (statefiles.c): `# device duid iaid name expiry number length
/// address/length …`; of DHCPv4 `iaid` is `ipv4` and `duid` the hardware address. `-` is a missing
/// name; invalid host names are marked as broken, and may contain spaces. Other lines are as in
/// `/etc/hosts`.
pub fn odhcpd(file: &[u8]) -> NameFile {
    NameFile::read(file, of_odhcpd)
}

fn of_dnsmasq(line: &str) -> Option<Vec<NameEntry>> {
    let mut fields = line.split_ascii_whitespace();
    let first = fields.next()?;
    let hardware = fields.next()?;
    let Some(address) = fields.next() else {
        // The server's own.
        return (first == "duid").then(Vec::new);
    };
    decimal::<u64>(first)?;
    let address: IpAddr = address.parse().ok()?;
    let name = fields.next().filter(|&name| name != "*");
    let mac = match address {
        // Hardware other than Ethernet has a type prefix: `20-80:00:…`.
        IpAddr::V4(_) => mac(hardware),
        IpAddr::V6(_) => fields
            .next()
            .and_then(|duid| of_duid(&duid.replace(':', ""))),
    };
    Some(entry(mac, vec![address], name))
}

fn of_odhcpd(line: &str) -> Option<Vec<NameEntry>> {
    let Some(line) = line.strip_prefix("# ") else {
        return hosts::line(line);
    };
    let fields: Vec<&str> = line.split(' ').collect();
    let [_, hardware, iaid, ref rest @ ..] = fields[..] else {
        return None;
    };
    // The name ends before the first three that are numbers.
    let numbers = |fields: &[&str]| {
        fields[0].parse::<i64>().is_ok()
            && hexadecimal(fields[1]).is_some()
            && decimal::<u8>(fields[2]).is_some()
    };
    let behind = 1 + rest.get(1..)?.windows(3).position(numbers)?;
    let name = rest[..behind].join(" ");
    let name = name.strip_prefix("broken\\x20").unwrap_or(&name);
    let mut addresses: Vec<IpAddr> = rest[behind + 3..]
        .iter()
        .filter_map(|address| address.split('/').next()?.parse().ok())
        .collect();
    let mac = if iaid == "ipv4" {
        // Older versions say the address only as a number.
        if addresses.is_empty() {
            let number = u32::try_from(hexadecimal(rest[behind + 1])?).ok()?;
            addresses.push(Ipv4Addr::from(number).into());
        }
        octets(hardware).and_then(|octets| Mac::try_from(octets).ok())
    } else {
        of_duid(hardware)
    };
    Some(entry(
        mac,
        addresses,
        Some(name).filter(|&name| name != "-"),
    ))
}

/// Builds an entry for each address. Empty without a name, or without a device.
fn entry(mac: Option<Mac>, addresses: Vec<IpAddr>, name: Option<&str>) -> Vec<NameEntry> {
    let Some(name) = name.and_then(|name| text::device(name.as_bytes())) else {
        return Vec::new();
    };
    let known = |address| NameEntry {
        mac,
        address,
        name: Some(name.clone()),
    };
    if addresses.is_empty() && mac.is_some() {
        return vec![known(None)];
    }
    addresses
        .into_iter()
        .map(|address| known(Some(address)))
        .collect()
}

/// Returns the Ethernet address in a DHCPv6 client's identifier, if it has one (RFC 8415, 11.2 and
/// 11.4): usually, but not always, the address of the sending device.
fn of_duid(digits: &str) -> Option<Mac> {
    let duid = octets(digits)?;
    let mac = match *duid.first_chunk()? {
        [0, 1, 0, 1] => duid.get(8..)?,
        [0, 3, 0, 1] => duid.get(4..)?,
        _ => return None,
    };
    mac.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0x5e, 0x10, 0, 1];

    fn known(mac: Option<Mac>, address: &str, name: &str) -> NameEntry {
        NameEntry {
            mac,
            address: Some(address.parse().expect("an address")),
            name: Some(name.to_owned()),
        }
    }

    #[test]
    fn files_of_dnsmasq() {
        let file = dnsmasq(
            b"1795200000 02:00:5e:10:00:01 192.0.2.7 laptop 01:02:00:5e:10:00:01\n\
              0 02:00:5e:10:00:02 192.0.2.8 * *\n\
              1795200000 20-80:00:02:08 192.0.2.9 infiniband *\n\
              duid 00:01:00:01:2d:00:00:00:02:00:5e:10:00:ff\n\
              1795200000 6295553 2001:db8::7 laptop 00:01:00:01:2d:00:00:00:02:00:5e:10:00:01\n\
              1795200000 T6295553 2001:db8::8 phone 00:03:00:01:02:00:5e:10:00:01\n\
              1795200000 1 2001:db8::9 opaque 00:04:00:01:02:00:5e:10:00:01\n\
              1795200000 02:00:5e:10:00:03 192.0.2.10 \x1b[2Jx\xff *\n",
        );
        assert_eq!(
            file.entries,
            [
                known(Some(MAC), "192.0.2.7", "laptop"),
                known(None, "192.0.2.9", "infiniband"),
                known(Some(MAC), "2001:db8::7", "laptop"),
                known(Some(MAC), "2001:db8::8", "phone"),
                known(None, "2001:db8::9", "opaque"),
                known(Some([2, 0, 0x5e, 0x10, 0, 3]), "192.0.2.10", "[2Jx"),
            ]
        );
        assert_eq!((file.bad, file.more), (0, false));
        assert_eq!(
            dnsmasq(b"x\n1 2\n1 2 3\nyesterday 02:00:5e:10:00:01 192.0.2.7 a *\n\n").bad,
            4
        );
    }

    #[test]
    fn files_of_odhcpd() {
        let file = odhcpd(
            b"# br-lan 00020000ab11d2a1f5e6 5f 6 1795200000 c6 128 2001:db8::c6/128 \n\
              # br-lan 0003000102005e100001 5e100001 laptop 1795200000 77 128 2001:db8::77/128 \
              fd00::77/128\n\
              2001:db8::77\tlaptop.lan\tlaptop\n\
              # br-lan 02005e100001 ipv4 broken\\x20Anna's old PC -1 c0000207 32 192.0.2.7/32\n\
              # br-lan 02005e100001 ipv4 - 0 c0000207 32 192.0.2.7/32\n\
              # br-lan 02005e100001 ipv4 tv 0 c0000208 32\n\
              # br-lan 02005e100001 ipv4 tv\n\
              # x\n",
        );
        assert_eq!(
            file.entries,
            [
                known(None, "2001:db8::c6", "6"),
                known(Some(MAC), "2001:db8::77", "laptop"),
                known(Some(MAC), "fd00::77", "laptop"),
                known(None, "2001:db8::77", "laptop"),
                known(Some(MAC), "192.0.2.7", "Anna's old PC"),
                known(Some(MAC), "192.0.2.8", "tv"),
            ]
        );
        assert_eq!(file.bad, 2);
    }

    #[test]
    fn of_either() {
        let file = any(b"1795200000 02:00:5e:10:00:01 192.0.2.7 laptop *\nduid \
                00:01\n2001:db8::77\ttv.lan\ttv\n\
              # br-lan 02005e100001 ipv4 phone 0 c0000208 32 192.0.2.8/32\n1 2 3\nx y\n");
        assert_eq!(
            file.entries,
            [
                known(Some(MAC), "192.0.2.7", "laptop"),
                known(None, "2001:db8::77", "tv"),
                known(Some(MAC), "192.0.2.8", "phone"),
            ]
        );
        assert_eq!(file.bad, 2);
    }
}
