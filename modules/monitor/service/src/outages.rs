//! Detects uplinks that are down: those that led to the Internet since weir runs, and do not now.
//! Pure but for [`unresolved`], which reads `/proc/net/arp`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use runtime::daemon::{Finding, Value};

/// Seconds of outage before a report: routes are rewritten, links flap.
const PATIENCE: u64 = 5;
/// Seconds after the start until a router without any uplink is reported.
const BEGINS: u64 = 30;
/// Seconds for which an uplink that is gone is missed.
const MISSED: u64 = 7 * 86_400;

/// Reason why an uplink is down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// No link, or no device.
    NoLink,
    /// No default route.
    NoRoute,
    /// The gateway does not answer.
    Silent(String),
}

/// A device that may be an uplink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uplink {
    /// True if the link is up.
    pub link: bool,
    /// A default route leaves by it.
    pub route: bool,
    /// The device belongs to a bridge or bond now: not an uplink any more.
    pub member: bool,
    /// True if only a device above has a default route: this device is part of that uplink.
    pub below: bool,
    /// The device is a tunnel, which people switch on and off.
    pub tunnel: bool,
    /// Gateway without an answer.
    pub silent: Option<String>,
}

/// Uplinks that there were.
#[derive(Debug, Default)]
pub struct Outages {
    /// Outages by device: the second when each began, and its cause.
    known: BTreeMap<String, Option<(u64, Cause)>>,
    /// True if any device has a default route.
    leads_out: bool,
    now: u64,
}

impl Outages {
    /// Observes all devices at this second after the start. `elsewhere`: another device leads out,
    /// too.
    pub fn look(&mut self, devices: &BTreeMap<String, Uplink>, elsewhere: bool, now: u64) {
        self.now = now;
        self.leads_out = elsewhere || devices.values().any(|uplink| uplink.route);
        for (name, uplink) in devices.iter().filter(|(_, uplink)| uplink.route) {
            if !uplink.member && !uplink.tunnel {
                self.known.entry(name.clone()).or_default();
            }
        }
        // A tunnel to the Internet uses an uplink, which then needs no default route.
        let by_tunnel = devices.values().any(|uplink| uplink.tunnel && uplink.route);
        self.known.retain(|name, down| {
            let uplink = devices.get(name);
            let cause = match uplink {
                Some(uplink) if uplink.member || uplink.below => return false,
                None | Some(Uplink { link: false, .. }) => Some(Cause::NoLink),
                Some(Uplink { route: false, .. }) => (!by_tunnel).then_some(Cause::NoRoute),
                Some(Uplink { silent, .. }) => silent.clone().map(Cause::Silent),
            };
            let since = down.as_ref().map_or(now, |(since, _)| *since);
            *down = cause.map(|cause| (since, cause));
            now.saturating_sub(since) < MISSED
        });
    }

    /// Conditions of now.
    pub fn conditions(&self) -> Vec<Finding> {
        let finding = |key| Finding::new(key, "monitor", "");
        if self.known.is_empty() {
            let none = self.now >= BEGINS && !self.leads_out;
            return Vec::from_iter(none.then(|| finding("no-uplink")));
        }
        let down = self.known.iter().filter_map(|(name, down)| {
            let (since, cause) = down.as_ref()?;
            let finding = match cause {
                Cause::NoLink => finding("uplink-no-link"),
                Cause::NoRoute => finding("uplink-no-route"),
                Cause::Silent(who) => {
                    finding("uplink-silent").with("who", Value::Text(who.clone()))
                }
            };
            (self.now.saturating_sub(*since) >= PATIENCE).then(|| finding.at(name))
        });
        let mut down: Vec<Finding> = down.collect();
        if down.len() == self.known.len() {
            down.push(finding("uplinks-down"));
        }
        down
    }
}

/// Returns unresolved gateways (`/proc/net/arp`, net/ipv4/arp.c `arp_format_neigh_entry`: address,
/// hardware type, flags, hardware address, mask, device): flags without ATF_COM.
pub fn unresolved(text: &str, gateways: &BTreeSet<IpAddr>) -> BTreeMap<String, Ipv4Addr> {
    let (mut silent, mut answers) = (BTreeMap::new(), BTreeSet::new());
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [address, _, flags, _, _, device] = fields[..] else {
            continue;
        };
        let Ok(address) = address.parse::<Ipv4Addr>() else {
            continue;
        };
        if !gateways.contains(&IpAddr::V4(address)) {
            continue;
        }
        match flags {
            "0x0" => drop(silent.insert(device.to_owned(), address)),
            _ => drop(answers.insert(device.to_owned())),
        }
    }
    silent.retain(|device, _| !answers.contains(device));
    silent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Uplink {
        Uplink {
            link: true,
            route: true,
            ..Uplink::default()
        }
    }

    fn keys(outages: &Outages) -> Vec<&'static str> {
        outages.conditions().iter().map(Finding::key).collect()
    }

    /// Returns the outages after a minute with two uplinks, followed by these two.
    fn after(one: Option<Uplink>, two: Option<Uplink>) -> Vec<&'static str> {
        let mut outages = Outages::default();
        let both = [("eth0", Some(good())), ("eth1", Some(good()))];
        let of = |all: [(&str, Option<Uplink>); 2]| -> BTreeMap<String, Uplink> {
            let all = all.into_iter();
            all.filter_map(|(name, uplink)| Some((name.to_owned(), uplink?)))
                .collect()
        };
        outages.look(&of(both), false, 60);
        assert_eq!(keys(&outages), [""; 0]);
        let now = of([("eth0", one), ("eth1", two)]);
        outages.look(&now, false, 61);
        assert_eq!(keys(&outages), [""; 0], "it may come back at once");
        outages.look(&now, false, 61 + PATIENCE);
        keys(&outages)
    }

    #[test]
    fn one_of_two_uplinks_that_is_down_is_reported() {
        let unplugged = Uplink {
            link: false,
            ..good()
        };
        let routeless = Uplink {
            route: false,
            ..good()
        };
        let silent = Uplink {
            silent: Some("192.0.2.1".into()),
            ..good()
        };
        assert_eq!(after(Some(good()), Some(good())), [""; 0]);
        assert_eq!(
            after(Some(good()), Some(unplugged.clone())),
            ["uplink-no-link"]
        );
        assert_eq!(after(Some(good()), None), ["uplink-no-link"]);
        assert_eq!(
            after(Some(routeless.clone()), Some(good())),
            ["uplink-no-route"]
        );
        assert_eq!(after(Some(good()), Some(silent)), ["uplink-silent"]);
        assert_eq!(
            after(Some(unplugged), Some(routeless)),
            ["uplink-no-link", "uplink-no-route", "uplinks-down"]
        );
        let member = Uplink {
            member: true,
            route: false,
            ..good()
        };
        assert_eq!(
            after(Some(good()), Some(member)),
            [""; 0],
            "it is of the LAN now"
        );
    }

    /// Returns the outages after a minute with a single uplink, followed by these devices.
    fn replaced(now: [(&str, Uplink); 2]) -> Vec<&'static str> {
        let mut outages = Outages::default();
        outages.look(&BTreeMap::from([("eth1".to_owned(), good())]), false, 60);
        let now: BTreeMap<String, Uplink> = now
            .into_iter()
            .map(|(name, uplink)| (name.to_owned(), uplink))
            .collect();
        outages.look(&now, false, 61);
        outages.look(&now, false, 61 + PATIENCE);
        keys(&outages)
    }

    #[test]
    fn an_uplink_that_a_device_above_replaces_is_not_missed() {
        let routeless = Uplink {
            route: false,
            ..good()
        };
        let below = Uplink {
            below: true,
            ..routeless.clone()
        };
        assert_eq!(replaced([("eth1", below), ("ppp0", good())]), [""; 0]);
        assert_eq!(
            replaced([("eth1", routeless), ("ppp0", good())]),
            ["uplink-no-route"]
        );
    }

    #[test]
    fn an_uplink_below_a_tunnel_needs_no_default_route() {
        let tunnel = Uplink {
            tunnel: true,
            ..good()
        };
        let routeless = Uplink {
            route: false,
            ..good()
        };
        let unplugged = Uplink {
            link: false,
            ..routeless.clone()
        };
        let leads_nowhere = Uplink {
            route: false,
            ..tunnel.clone()
        };
        let cases: [(_, _, &[&str]); 3] = [
            (&routeless, &tunnel, &[]),
            (&unplugged, &tunnel, &["uplink-no-link", "uplinks-down"]),
            (
                &routeless,
                &leads_nowhere,
                &["uplink-no-route", "uplinks-down"],
            ),
        ];
        for (uplink, tunnel, expected) in cases {
            let found = replaced([("eth1", uplink.clone()), ("wg0", tunnel.clone())]);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_router_that_never_had_an_uplink_is_reported_after_a_while() {
        let mut outages = Outages::default();
        outages.look(&BTreeMap::new(), false, 3);
        assert_eq!(keys(&outages), [""; 0]);
        outages.look(&BTreeMap::new(), false, BEGINS);
        assert_eq!(keys(&outages), ["no-uplink"]);
        // By a table of its own, or by routes that cover the whole Internet.
        outages.look(&BTreeMap::new(), true, BEGINS);
        assert_eq!(keys(&outages), [""; 0]);
        // A tunnel leads out, and is not an uplink that could be missing.
        let tunnel = Uplink {
            tunnel: true,
            ..good()
        };
        outages.look(&BTreeMap::from([("wg0".into(), tunnel)]), false, BEGINS + 1);
        assert_eq!(keys(&outages), [""; 0]);
    }

    #[test]
    fn a_gateway_that_the_kernel_asks_for_in_vain_is_silent() {
        let text = "IP address       HW type     Flags       HW address            Mask     Device\n\
             192.0.2.1        0x1         0x0         00:00:00:00:00:00     *        eth0\n\
             192.0.2.9        0x1         0x0         00:00:00:00:00:00     *        eth1\n\
             198.51.100.1     0x1         0x2         02:00:00:00:00:01     *        eth1\n\
             nonsense\n\n";
        let gateways = ["192.0.2.1", "198.51.100.1"].map(|it| it.parse().expect("an address"));
        let found = unresolved(text, &gateways.into());
        let found: Vec<_> = found.into_iter().collect();
        assert_eq!(found, [("eth0".into(), Ipv4Addr::new(192, 0, 2, 1))]);
    }
}
