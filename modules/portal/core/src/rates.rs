//! Rate limits of guests, in the kernel: one for each device and direction, over all its addresses.
//! Pure. Packets beyond a limit are dropped. The rules of the limits need each packet, so the fast
//! path leaves the packets of these devices to the kernel.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use kernel::{Batch, ElementStep, Limit, Mac};

use crate::rules::{Element, TABLE, elements};

/// Rates that can be had, bit/s.
pub const RATES: RangeInclusive<u64> = 64_000..=1_000_000_000_000;

/// Map of hardware addresses, for packets from devices.
const UP: &str = "up";
/// Maps of addresses, for packets to devices. IPv4, IPv6.
const DOWN: [&str; 2] = ["down4", "down6"];

/// Maps of the table, with the key that leads to each.
pub const MAPS: [(&str, &str); 3] = [
    (UP, "ether_addr"),
    (DOWN[0], "ipv4_addr"),
    (DOWN[1], "ipv6_addr"),
];

/// Element of a map: its text for `nft`, and the limit that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lead {
    text: String,
    limit: String,
}

/// Devices with a rate limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Bytes a second, by the name of the limit.
    limits: BTreeMap<String, u64>,
    /// Elements by map and key.
    leads: BTreeMap<(&'static str, Vec<u8>), Lead>,
    addresses: HashSet<IpAddr>,
}

impl RateLimits {
    /// Limits a device with these addresses to `rate` bits per second in each direction.
    pub fn add(&mut self, mac: &Mac, addresses: impl IntoIterator<Item = IpAddr>, rate: u64) {
        let device = net::hex::text(mac);
        // No name ever means another rate: see `Limit`.
        let limit = |way: &str| format!("{way}_{device}_{rate}");
        let octets = (rate / 8).max(1);
        self.limits.insert(limit("up"), octets);
        self.limits.insert(limit("down"), octets);
        self.lead(UP, Element::device(mac), limit("up"));
        for address in addresses {
            let [_, alone] = Element::address(mac, address);
            self.lead(DOWN[usize::from(address.is_ipv6())], alone, limit("down"));
            self.addresses.insert(address);
        }
    }

    fn lead(&mut self, map: &'static str, element: Element, limit: String) {
        let Element { key, text, .. } = element;
        self.leads.insert((map, key), Lead { text, limit });
    }

    /// Returns the addresses of these devices.
    pub fn addresses(&self) -> &HashSet<IpAddr> {
        &self.addresses
    }

    /// Returns the batch that turns the present limits into `after`.
    pub fn batch<'a>(&'a self, after: &'a Self) -> Batch<'a> {
        let new = |(name, rate): (&'a String, &u64)| Limit { name, rate: *rate };
        let gone = |name: &&'a String| !after.limits.contains_key(*name);
        let step = |(place, lead): (&'a (&'static str, Vec<u8>), &'a Lead), put| ElementStep {
            set: place.0,
            key: &place.1,
            put,
            limit: Some(&lead.limit),
        };
        let differ = |one: &'a Self, other: &'a Self| {
            let leads = one.leads.iter();
            leads.filter(|(place, lead)| other.leads.get(*place) != Some(*lead))
        };
        let former = differ(self, after).map(|lead| step(lead, None));
        let later = differ(after, self).map(|lead| step(lead, Some(None)));
        Batch {
            limits: after.limits.iter().map(new).collect(),
            steps: former.chain(later).collect(),
            gone: self
                .limits
                .keys()
                .filter(gone)
                .map(String::as_str)
                .collect(),
        }
    }

    /// Writes all limits and elements, as text for `nft`.
    pub(crate) fn fill(&self, text: &mut String) {
        for (name, rate) in &self.limits {
            let _ = writeln!(
                text,
                "add limit inet {TABLE} {name} {{ rate over {rate} bytes/second burst 0 bytes }}"
            );
        }
        for (map, _) in MAPS {
            let _ = writeln!(text, "flush map inet {TABLE} {map}");
            let of = self.leads.iter().filter(|((place, _), _)| *place == map);
            let of = of.map(|(_, lead)| format!("{} : \"{}\"", lead.text, lead.limit));
            elements(text, map, &of.collect::<Vec<_>>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 7];

    fn slowed(rate: u64, addresses: &[&str]) -> RateLimits {
        let mut slowed = RateLimits::default();
        let addresses = addresses.iter().map(|text| text.parse().expect("address"));
        slowed.add(&MAC, addresses, rate);
        slowed
    }

    #[test]
    fn all_addresses_of_a_device_share_its_limit() {
        let slowed = slowed(8_000_000, &["10.0.0.2", "2001:db8::2"]);
        let mut text = String::new();
        slowed.fill(&mut text);
        for line in [
            "add limit inet weir_portal down_020000000007_8000000 { rate over 1000000 bytes/second \
             burst 0 bytes }",
            "up { 02:00:00:00:00:07 : \"up_020000000007_8000000\" }",
            "down4 { 10.0.0.2 : \"down_020000000007_8000000\" }",
            "down6 { 2001:db8::2 : \"down_020000000007_8000000\" }",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(slowed.addresses().len(), 2);
    }

    /// An address that led to another limit is removed before it is added.
    #[test]
    fn another_rate_is_another_limit() {
        let (before, after) = (
            slowed(8, &["10.0.0.2"]),
            slowed(80, &["10.0.0.2", "10.0.0.3"]),
        );
        let batch = before.batch(&after);
        let steps: Vec<_> = batch
            .steps
            .iter()
            .map(|s| (s.set, s.put.is_some()))
            .collect();
        let wanted = [
            ("down4", false),
            ("up", false),
            ("down4", true),
            ("down4", true),
            ("up", true),
        ];
        assert_eq!(steps, wanted);
        assert_eq!(batch.gone, ["down_020000000007_8", "up_020000000007_8"]);
        assert_eq!(batch.limits.len(), 2);
        // A further address causes one step.
        let more = slowed(80, &["10.0.0.2", "10.0.0.3", "10.0.0.4"]);
        let batch = after.batch(&more);
        assert_eq!((batch.steps.len(), batch.gone.len()), (1, 0));
        let nobody = RateLimits::default();
        let batch = more.batch(&nobody);
        assert_eq!((batch.steps.len(), batch.gone.len()), (4, 2));
        assert!(batch.limits.is_empty());
    }
}
