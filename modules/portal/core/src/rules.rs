//! The firewall's table, as text for `nft`: pure. It is a table of weir's own, which drops
//! forbidden packets; other tables decide on all other packets.
//!
//! Sets hold the admitted devices, each with its timeout in the kernel: the kernel refuses packets
//! of a device whose time is over, even without weir. An existing table changes as a whole, with
//! its sets, or not at all: devices that stay admitted notice nothing.
//!
//! A device is admitted with its hardware address and each of its addresses ([`PAIRS`]). Packets of
//! admitted connections pass by their addresses alone ([`ADDRESSES`]), in both directions, so that
//! they may be forwarded past netfilter until the time is over. An admitted device may begin
//! connections from a new address ([`DEVICES`]); answers wait until the address is known.

mod chains;
mod element;

use std::fmt::Write;

use kernel::Prefix;

use crate::Millis;
use crate::guests::Change;
use crate::rates::{MAPS, RateLimits};
use chains::CHAINS;
pub(crate) use element::elements;
pub use element::{ADDRESSES, DEVICES, Element, PAIRS, TABLE};

/// Configuration of the portal's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSettings {
    /// Devices of this machine behind which guests are.
    pub devices: Vec<String>,
    /// Port where the page is.
    pub page: u16,
    /// Port where the page is by HTTPS, if it is.
    pub secure: Option<u16>,
    /// Port where names are answered.
    pub names: u16,
    /// Networks that every device may reach.
    pub garden: Vec<Prefix>,
}

/// Sets of addresses that names in the walled garden have, each for a limited time: IPv4, IPv6.
/// Other programs may add addresses.
pub const NAMES: [&str; 2] = ["names4", "names6"];
/// Addresses that one of these has room for.
const NAMES_ROOM: u32 = 4096;
/// Timeout of elements that other programs add to these sets, in minutes.
const NAMES_TIME: u32 = 20;

/// Practically for ever, in milliseconds: a hundred years. The kernel's maximum is some 500.
const FOR_EVER: Millis = 100 * 365 * 86_400_000;

/// Formats a time for `nft`: in days and smaller units, as no number may exceed 32 bits.
fn time(left: Millis) -> String {
    let left = left.clamp(1, FOR_EVER);
    let (days, seconds) = (left / 86_400_000, left / 1000 % 86_400);
    format!("{days}d{seconds}s{}ms", left % 1000)
}

/// Set of devices with open access.
pub const OPEN: &str = "open";

/// Change to an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetChange {
    /// Adds the element for a time in milliseconds from now; `None`: for ever.
    Put(Element, Option<Millis>),
    /// Removes the element.
    Remove(Element),
}

/// Returns the set changes that follow from a change.
pub fn set_changes(change: &Change) -> Vec<SetChange> {
    let bounded = |left: &Option<Millis>| left.map(|left| left.min(FOR_EVER));
    match change {
        Change::Admit(mac, left) => vec![SetChange::Put(Element::device(mac), bounded(left))],
        Change::Block(mac) => vec![SetChange::Remove(Element::device(mac))],
        Change::AddAddress(mac, address, left) => Element::address(mac, *address)
            .map(|element| SetChange::Put(element, bounded(left)))
            .into(),
        Change::RemoveAddress(mac, address) => Element::address(mac, *address)
            .map(SetChange::Remove)
            .into(),
        Change::EndConnections(_) | Change::Persist(_) => Vec::new(),
    }
}

/// Admitted devices when the rules change.
pub enum AdmittedDevices<'a> {
    /// Devices in the present sets.
    AsBefore,
    /// Changes of devices, of which some are limited; and all devices for so many milliseconds, if
    /// given.
    These(&'a [Change], &'a RateLimits, Option<Millis>),
}

/// Returns the number of rules in each chain of the table.
pub fn counts() -> impl Iterator<Item = (&'static str, usize)> {
    CHAINS.iter().map(|(chain, rules)| {
        let name = chain.split(' ').next().unwrap_or_default();
        (name, rules_of(rules).count())
    })
}

fn rules_of(rules: &str) -> impl Iterator<Item = &str> {
    rules.lines().map(str::trim).filter(|rule| !rule.is_empty())
}

/// Returns the commands that remove the table.
pub fn remove() -> String {
    // The first line ensures that there is a table to delete.
    format!("table inet {TABLE}\ndelete table inet {TABLE}\n")
}

/// Returns the commands that create the table, or change the present one.
pub fn create(portal: &TableSettings, admitted: &AdmittedDevices<'_>) -> String {
    let mut text = match admitted {
        // Without a table, the sets are missing: the kernel refuses the rules then.
        AdmittedDevices::AsBefore => String::new(),
        AdmittedDevices::These(..) => format!("table inet {TABLE}\n"),
    };
    for (name, kind) in [
        (PAIRS[0], "ether_addr . ipv4_addr"),
        (PAIRS[1], "ether_addr . ipv6_addr"),
        (ADDRESSES[0], "ipv4_addr"),
        (ADDRESSES[1], "ipv6_addr"),
        (DEVICES, "ether_addr"),
    ] {
        // Forwarded packets are counted by their address, in both directions.
        let counter = if ADDRESSES.contains(&name) {
            " counter;"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "add set inet {TABLE} {name} {{ type {kind}; flags timeout;{counter} }}"
        );
    }
    let _ = writeln!(
        text,
        "add set inet {TABLE} {OPEN} {{ type ifname; flags timeout; }}"
    );
    for (name, kind) in MAPS {
        let _ = writeln!(
            text,
            "add map inet {TABLE} {name} {{ type {kind} : limit; }}"
        );
    }
    for (name, ipv4) in [("garden4", true), ("garden6", false)] {
        let kind = if ipv4 { "ipv4_addr" } else { "ipv6_addr" };
        let of = portal.garden.iter().filter(|p| p.address.is_ipv4() == ipv4);
        let all: Vec<_> = of.map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "add set inet {TABLE} {name} {{ type {kind}; flags interval; auto-merge; }}\n\
             flush set inet {TABLE} {name}"
        );
        elements(&mut text, name, &all);
    }
    for (name, kind) in NAMES.into_iter().zip(["ipv4_addr", "ipv6_addr"]) {
        let _ = writeln!(
            text,
            "add set inet {TABLE} {name} {{ type {kind}; flags timeout; timeout {NAMES_TIME}m; \
             size {NAMES_ROOM}; }}"
        );
    }
    for chain in CHAINS {
        let _ = writeln!(
            text,
            "add chain inet {TABLE} {}\nflush chain inet {TABLE} {}",
            chain.0,
            chain.0.split(' ').next().unwrap_or_default()
        );
    }
    let names: Vec<_> = portal
        .devices
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    let pages: Vec<_> = std::iter::once(portal.page).chain(portal.secure).collect();
    let pages = pages
        .iter()
        .map(u16::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let here = format!("{{ {} }}", names.join(", "));
    for (chain, rules) in CHAINS {
        let name = chain.split(' ').next().unwrap_or_default();
        for rule in rules_of(rules) {
            let rule = rule
                .replace("$here", &here)
                .replace("$pages", &pages)
                .replace("$page", &portal.page.to_string())
                .replace("$names", &portal.names.to_string());
            let _ = writeln!(text, "add rule inet {TABLE} {name} {rule}");
        }
    }
    if let AdmittedDevices::These(admitted, slowed, open) = admitted {
        fill(&mut text, portal, admitted, *open);
        slowed.fill(&mut text);
    }
    text
}

/// Writes the elements of all admitted devices.
fn fill(text: &mut String, portal: &TableSettings, admitted: &[Change], open: Option<Millis>) {
    let time_of = |left: &Option<Millis>| {
        let timeout = left.map(|left| format!(" timeout {}", time(left)));
        timeout.unwrap_or_default()
    };
    let devices = portal.devices.iter().filter_map(|name| {
        let open = open.as_ref()?;
        Some(format!("\"{name}\"{}", time_of(&Some(*open))))
    });
    let _ = writeln!(text, "flush set inet {TABLE} {OPEN}");
    elements(text, OPEN, &devices.collect::<Vec<_>>());
    let steps: Vec<_> = admitted.iter().flat_map(set_changes).collect();
    for set in PAIRS.iter().chain(&ADDRESSES).chain([&DEVICES]) {
        let _ = writeln!(text, "flush set inet {TABLE} {set}");
        let of = steps.iter().filter_map(|step| match step {
            SetChange::Put(element, left) if element.set == *set => {
                Some(format!("{}{}", element.text, time_of(left)))
            }
            _ => None,
        });
        elements(text, set, &of.collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn keys_are_as_the_kernel_has_them() {
        let mac = [2, 0, 0, 0, 0, 7];
        let [pair, alone] = Element::address(&mac, IpAddr::from([10, 0, 0, 2]));
        assert_eq!(pair.key, [2, 0, 0, 0, 0, 7, 0, 0, 10, 0, 0, 2]);
        assert_eq!(pair.text, "02:00:00:00:00:07 . 10.0.0.2");
        assert_eq!((alone.set, alone.key), ("guests4", vec![10, 0, 0, 2]));
        assert_eq!(Element::device(&mac).key, mac);
    }

    #[test]
    fn times_are_as_nft_reads_them() {
        assert_eq!(time(0), "0d0s1ms");
        assert_eq!(time(8 * 3_600_000 + 5), "0d28800s5ms");
        assert_eq!(time(60 * 86_400_000 + 61_000), "60d61s0ms");
        assert_eq!(time(Millis::MAX), "36500d0s0ms");
    }

    #[test]
    fn what_is_there_stays_and_rules_come_anew() {
        let portal = TableSettings {
            devices: vec!["br-lan".into(), "br-guest".into()],
            page: 2050,
            secure: Some(2443),
            names: 2053,
            garden: Vec::new(),
        };
        let mac = [2, 0, 0, 0, 0, 7];
        let admitted = [
            Change::Admit(mac, Some(0)),
            Change::AddAddress(mac, IpAddr::from([10, 0, 0, 2]), None),
        ];
        let before = create(&portal, &AdmittedDevices::AsBefore);
        assert!(!before.contains("flush set inet weir_portal guests4"));
        assert!(!before.contains("flush set inet weir_portal open"));
        assert!(before.starts_with("add set inet weir_portal"));
        let text = create(
            &portal,
            &AdmittedDevices::These(&admitted, &RateLimits::default(), Some(5)),
        );
        assert!(!text.contains("delete"));
        assert!(!text.contains("flush set inet weir_portal names"));
        assert!(text.contains("iifname { \"br-lan\", \"br-guest\" } jump from_guests"));
        assert!(text.contains("macs { 02:00:00:00:00:07 timeout 0d0s1ms }"));
        assert!(text.contains("pairs4 { 02:00:00:00:00:07 . 10.0.0.2 }"));
        assert!(text.contains("open { \"br-lan\" timeout 0d0s5ms, \"br-guest\" timeout 0d0s5ms }"));
        assert!(text.contains("tcp dport { 2050, 2443, 2053 } return"));
        assert!(!text.contains('$'), "{text}");
    }
}
