//! Plans all devices together: an upper device affects the plan of its ports.

use std::collections::{BTreeMap, BTreeSet};

use kernel::{Link, Mac};

use super::members::Members;
use super::transmit::choose_transmit;
use super::vlan::{hides_tags, vlan_macs};
use super::{Below, Device, Limit, PortFacts, PortPlan, PortReason, Use, hook, kept};
use crate::settings::{Hook, Settings};
use crate::stack::{Stack, Upper, is_ppp, is_switch_port};

/// ARPHRD_ETHER.
const ETHERNET: u16 = 1;
/// ARPHRD_LOOPBACK.
const LOOPBACK: u16 = 772;

/// Kinds of devices (IFLA_INFO_KIND) that are Ethernet and need no special treatment. The empty
/// kind is hardware.
const PLAIN_KINDS: [&str; 4] = ["", "veth", "tun", "dsa"];
/// Kinds that are forwarded at the devices below.
const UPPER_KINDS: [&str; 4] = ["vlan", "bridge", "vrf", "dsa"];
/// Kinds of upper devices that do nothing to frames that weir would have to do. Frames for the
/// addresses of the last four are left to the kernel.
const HARMLESS_ABOVE: [&str; 9] = [
    "", "dsa", "vlan", "bridge", "vrf", "macvlan", "macvtap", "ipvlan", "ipvtap",
];

/// The kind of device that encrypts frames.
const MACSEC: &str = "macsec";

/// Number of re-proofs for which a bridge must remember a station: each shows the kernel one frame
/// of the station.
const AGEING_REPROOFS: u64 = 3;

/// Tags of switches that the packet path knows.
const KNOWN_TAGS: [&str; 3] = ["mtk", "gswip", "qca"];

/// Plans for all devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plans {
    /// Plan of each device, by index.
    pub ports: Vec<PortPlan>,
    /// A number for each: see [`Stack::numbers`].
    pub stacks: Vec<(u32, u32)>,
}

/// Decides what to do with all devices of a network namespace.
pub fn plans(devices: &[Device<'_>], settings: &Settings) -> Plans {
    let router = Router::new(devices, settings);
    let all = || router.devices.values().copied();
    let mut ports: BTreeMap<u32, PortPlan> = all()
        .filter(|device| !router.is_upper(device))
        .map(|device| (device.link.index, router.lowest(&device)))
        .collect();
    let uppers: Vec<PortPlan> = all()
        .filter(|device| router.is_upper(device))
        .map(|device| router.upper(&device, &ports))
        .collect();
    ports.extend(uppers.into_iter().map(|plan| (plan.link, plan)));
    Members::new(&router.devices, &router.stack).plan(&mut ports);
    choose_transmit(&router.devices, &mut ports);
    Plans {
        ports: ports.into_values().collect(),
        stacks: router.stack.numbers(),
    }
}

/// All devices, and their stacks.
struct Router<'a> {
    devices: BTreeMap<u32, Device<'a>>,
    stack: Stack,
    settings: &'a Settings,
    /// Conduits below the ports of a switch.
    conduits: BTreeSet<u32>,
    /// MACsec devices, each with its lower device.
    macsec: Vec<(&'a Link, u32)>,
    /// Limits of PPP devices on every port, as the kernel does not report their lower device.
    ppp: Vec<Limit>,
    /// True if some PPP device forwards.
    ppp_forwards: bool,
}

impl<'a> Router<'a> {
    fn new(devices: &[Device<'a>], settings: &'a Settings) -> Self {
        let devices: BTreeMap<u32, Device<'a>> =
            devices.iter().map(|d| (d.link.index, *d)).collect();
        // Unless the user configured the conduit, the ports of a switch are ports themselves,
        // without lower devices.
        let at_conduit = |port: &Link| {
            let conduit = port.lower.and_then(|lower| devices.get(&lower));
            conduit.is_some_and(|conduit| at_conduit(conduit, settings))
        };
        let stack = Stack::with_apart(devices.values().map(|device| device.link), |link| {
            is_switch_port(link) && !at_conduit(link)
        });
        let links = || devices.values().map(|device| device.link);
        let on_it = links().filter(|link| is_switch_port(link));
        let encrypt = links().filter(|link| link.kind == MACSEC);
        let mut router = Self {
            conduits: on_it.filter_map(|port| port.lower).collect(),
            macsec: encrypt
                .filter_map(|link| Some((link, link.lower?)))
                .collect(),
            devices,
            stack,
            settings,
            ppp: Vec::new(),
            ppp_forwards: false,
        };
        for index in router.stack.over_ppp() {
            let Some(device) = router.devices.get(&index).copied() else {
                continue;
            };
            router.ppp_forwards |= device.forwards();
            router
                .ppp
                .extend(router.limits_above(&device).into_iter().map(|limit| {
                    let of = match limit.of {
                        Use::Out => Use::PppOut,
                        _ => Use::PppIn,
                    };
                    Limit { of, ..limit }
                }));
        }
        router
    }

    /// Returns true if the kind of a device means that it is never a port itself.
    fn is_upper(&self, device: &Device<'_>) -> bool {
        let (link, stands) = (device.link, self.stack.stands(device.link.index));
        is_ppp(link)
            || (link.kind != "dsa" && UPPER_KINDS.contains(&link.kind.as_str()))
            || stands && matches!(link.kind.as_str(), "dsa" | "")
    }

    fn uppers(&self, link: u32) -> Vec<(Upper, &Device<'a>)> {
        let uppers = self.stack.uppers(link).into_iter();
        uppers
            .filter_map(|upper| Some((upper, self.devices.get(&upper.link)?)))
            .collect()
    }

    fn name(&self, link: u32) -> String {
        self.devices
            .get(&link)
            .map_or_else(|| link.to_string(), |d| d.link.name.clone())
    }

    /// Limits of an upper device on its ports, in its own words.
    fn limits_of_upper(&self, device: &Device<'_>) -> Vec<Limit> {
        let mut limits = Vec::new();
        let both = |reason: PortReason, limits: &mut Vec<Limit>| {
            for of in [Use::In, Use::Out] {
                let reason = reason.clone();
                limits.push(Limit { of, reason });
            }
        };
        let kind = device.link.kind.as_str();
        let Some(facts) = device.facts else {
            both(PortReason::NotLookedAt, &mut limits);
            return limits;
        };
        // The wish for all devices is one about ports.
        if device.own_wish(self.settings) == Some(Hook::Off) {
            both(PortReason::SwitchedOff, &mut limits);
        }
        if !HARMLESS_ABOVE.contains(&kind) && !is_ppp(device.link) {
            both(PortReason::NotYet(kind.to_owned()), &mut limits);
        }
        if device.foreign_xdp() {
            let reason = PortReason::ForeignXdp;
            limits.push(Limit {
                of: Use::In,
                reason,
            });
        }
        limits.extend(attached(facts));
        limits.extend(locked(device.link));
        if let Some(qdisc) = kept(device.link, facts) {
            let reason = PortReason::Qdisc(qdisc);
            limits.push(Limit {
                of: Use::Out,
                reason,
            });
        }
        limits
    }

    /// Limits of an upper device, as the ports below report them.
    fn limits_above(&self, device: &Device<'_>) -> Vec<Limit> {
        let limits = self.limits_of_upper(device).into_iter();
        let name = &device.link.name;
        limits
            .map(|Limit { of, reason }| Limit {
                of,
                reason: PortReason::Above {
                    device: name.clone(),
                    reason: Box::new(reason),
                },
            })
            .collect()
    }

    /// Plans a device with lower devices, after their plans.
    fn upper(&self, device: &Device<'_>, ports: &BTreeMap<u32, PortPlan>) -> PortPlan {
        let index = device.link.index;
        let lowest = self.stack.lowest(index);
        let mut below = Below::default();
        for link in &lowest {
            let port = ports.get(link).is_some_and(PortPlan::forwards);
            let list = if port {
                &mut below.ports
            } else {
                &mut below.others
            };
            list.push(self.name(*link));
        }
        let reason = if is_ppp(device.link) {
            PortReason::Ppp
        } else {
            PortReason::Upper(below)
        };
        PortPlan {
            limits: self.limits_of_upper(device),
            upper_devices: self.carries(index),
            lower_devices: lowest.iter().map(|link| self.name(*link)).collect(),
            ..PortPlan::off(index, &device.link.name, reason)
        }
    }

    fn carries(&self, link: u32) -> Vec<String> {
        let uppers = self.uppers(link).into_iter();
        uppers.map(|(_, device)| device.link.name.clone()).collect()
    }

    /// Plans a device without lower devices.
    fn lowest(&self, device: &Device<'_>) -> PortPlan {
        let link = device.link;
        let carries = self.carries(link.index);
        let uppers = self.uppers(link.index);
        let hides_tags = device.facts.and_then(|facts| hides_tags(facts, &uppers));
        let off = |reason| PortPlan {
            upper_devices: carries.clone(),
            hides_tags: hides_tags.clone(),
            ..PortPlan::off(link.index, &link.name, reason)
        };
        let Some(facts) = device.facts else {
            return off(PortReason::NotLookedAt);
        };
        let conduit = self.is_conduit(device);
        let wish = device.own_wish(self.settings).unwrap_or(self.settings.hook);
        let chosen = self
            .obstacle(device, wish, &uppers)
            .map_or_else(|| hook(link, facts, wish, hides_tags.as_ref()), Err);
        let mac = self.mac(link);
        let (hook, reason, mac) = match (chosen, mac) {
            (Ok((hook, reason)), Some(mac)) => (hook, reason, mac),
            (Ok(_), None) => return off(PortReason::NoAddress),
            (Err(reason), _) => return off(reason),
        };
        let mut limits = attached(facts);
        limits.extend(locked(link));
        for (_, upper) in &uppers {
            limits.extend(self.limits_above(upper));
        }
        limits.extend(self.macsec(link.index));
        let allowed = |of: Use| !limits.iter().any(|limit| limit.of == of);
        let (into, out) = (allowed(Use::In), allowed(Use::Out));
        if let (false, false, Some(first)) = (into, out, limits.first()) {
            let reason = first.reason.clone();
            return PortPlan {
                limits,
                ..off(reason)
            };
        }
        limits.extend(self.ppp.iter().cloned());
        let may = |of: Use| !limits.iter().any(|limit| limit.of == of);
        let (ppp_in, ppp_out) = (into && may(Use::PppIn), out && may(Use::PppOut));
        let (vlan_macs, left) = vlan_macs(mac, &uppers, |link| self.in_bridge(link));
        if !left.is_empty() {
            let reason = PortReason::Addresses(left);
            limits.push(Limit {
                of: Use::Some,
                reason,
            });
        }
        let mut bridges = false;
        if self.settings.bridge
            && let Some(bridge) = self.bridge(link)
        {
            match self.against_bridging(device, bridge) {
                Some(reason) => limits.push(Limit {
                    of: Use::Bridged,
                    reason,
                }),
                None => bridges = into && out,
            }
        }
        let direct = kept(link, facts).is_none();
        PortPlan {
            link: link.index,
            name: link.name.clone(),
            mac,
            vlan_macs,
            hook,
            ingress: into,
            egress: out,
            ppp_ingress: ppp_in,
            ppp_egress: ppp_out,
            // Once all others have their plans.
            xdp_transmit: false,
            direct,
            // A switch sends frames on to the ports that it has learned.
            floods: conduit || uppers.iter().any(|(_, upper)| upper.link.kind == "bridge"),
            bridges,
            sees_tags: !facts.hidden_tags.customer && !facts.hidden_tags.service,
            hides_tags,
            tagging: facts.tagging.clone(),
            reason,
            limits,
            upper_devices: carries,
            lower_devices: Vec::new(),
        }
    }

    /// Limits that MACsec puts on sending by a port below it, at any depth. A card that encrypts
    /// does so with the kernel's own packets only; weir's would leave as they are.
    fn macsec(&self, port: u32) -> impl Iterator<Item = Limit> + '_ {
        let stands_here = move |(_, lower): &&(&Link, u32)| {
            *lower == port || self.stack.lowest(*lower).contains(&port)
        };
        let found = self.macsec.iter().filter(stands_here);
        found.map(|(link, _)| Limit {
            of: Use::Out,
            reason: PortReason::Above {
                device: link.name.clone(),
                reason: Box::new(PortReason::NotYet(MACSEC.to_owned())),
            },
        })
    }

    /// Returns true if frames here have tags of a switch: the kernel says so, or switch ports are
    /// on it.
    fn is_conduit(&self, device: &Device<'_>) -> bool {
        device.facts.is_some_and(|facts| facts.tagging.is_some())
            || self.conduits.contains(&device.link.index)
    }

    /// Returns the reason that forbids a hook on the conduit of a switch.
    fn conduit(&self, device: &Device<'_>) -> Option<PortReason> {
        if !self.is_conduit(device) {
            return None;
        }
        match device.facts.and_then(|facts| facts.tagging.clone()) {
            Some(tag) if KNOWN_TAGS.contains(&tag.as_str()) => {
                (!at_conduit(device, self.settings)).then_some(PortReason::Conduit)
            }
            tag => Some(PortReason::UnknownTags(tag)),
        }
    }

    /// Returns true if the link is a member of a bridge.
    fn in_bridge(&self, link: &Link) -> bool {
        self.bridge(link).is_some()
    }

    fn bridge(&self, link: &Link) -> Option<&Device<'a>> {
        let master = self.devices.get(&link.master?)?;
        (master.link.kind == "bridge").then_some(master)
    }

    /// Returns the reason that forbids bridging frames from this member to other members of the
    /// bridge.
    fn against_bridging(&self, device: &Device<'_>, bridge: &Device<'_>) -> Option<PortReason> {
        let (Some(facts), Some(settings)) = (bridge.facts, bridge.link.bridge) else {
            return Some(PortReason::NotLookedAt);
        };
        let reprove = self.settings.reprove;
        if self.settings.shadow {
            Some(PortReason::ShadowMode)
        } else if is_switch_port(device.link) || self.is_conduit(device) {
            Some(PortReason::SwitchBridges)
        } else if reprove == 0 || u64::from(settings.ageing) * 10 < AGEING_REPROOFS * reprove {
            Some(PortReason::Ageing(settings.ageing / 100))
        } else if settings.netfilter {
            Some(PortReason::BridgeFilter("nf_call of the bridge".into()))
        } else if let Some(filter) = facts.bridge_filters.first() {
            Some(PortReason::BridgeFilter(filter.clone()))
        } else if device.link.proxies {
            Some(PortReason::Proxies)
        } else {
            None
        }
    }

    /// Returns the address of frames for this router at a lowest device.
    fn mac(&self, link: &Link) -> Option<Mac> {
        self.bridge(link).map_or(link.mac, |bridge| bridge.link.mac)
    }

    /// Returns the reason that forbids any hook on a lowest device.
    fn obstacle(
        &self,
        device: &Device<'_>,
        wish: Hook,
        uppers: &[(Upper, &Device<'_>)],
    ) -> Option<PortReason> {
        let link = device.link;
        let master = link.master.map(|master| {
            let kind = self.devices.get(&master).map(|m| m.link.kind.as_str());
            kind.filter(|kind| !kind.is_empty())
                .unwrap_or("device of an unknown kind")
        });
        let forwards = device.forwards()
            || uppers.iter().any(|(_, upper)| upper.forwards())
            || self.ppp_forwards
            || self.settings.bridge && self.in_bridge(link);
        if wish == Hook::Off {
            Some(PortReason::SwitchedOff)
        } else if link.hardware == LOOPBACK {
            Some(PortReason::Loopback)
        } else if link.hardware != ETHERNET {
            Some(PortReason::NotEthernet)
        } else if !PLAIN_KINDS.contains(&link.kind.as_str()) || self.stack.stands(link.index) {
            Some(PortReason::NotYet(link.kind.clone()))
        } else if let Some(kind) = master.filter(|kind| !matches!(*kind, "bridge" | "vrf")) {
            Some(PortReason::Enslaved(kind.to_owned()))
        } else if let Some(reason) = self.conduit(device) {
            Some(reason)
        } else if !link.up {
            Some(PortReason::Down)
        } else if !forwards {
            Some(PortReason::NotForwarding)
        } else if device.foreign_xdp() && wish != Hook::Tc {
            // At TC weir comes after the foreign program, as the kernel does.
            Some(PortReason::ForeignXdp)
        } else {
            None
        }
    }
}

/// Limits of programs and chains attached to a device that weir's packets would bypass. Weir's
/// packets bypass an egress chain even at TC: the kernel has skbs that a TC program redirects skip
/// it (nf_skip_egress in net/core/dev.c). Filters at egress would see those packets, but unlike the
/// kernel's own packets, without their connection.
fn attached(facts: &PortFacts) -> Vec<Limit> {
    let first = |list: &[String], of, reason: fn(String) -> PortReason| {
        let reason = list.first().cloned().map(reason);
        reason.map(|reason| Limit { of, reason })
    };
    [
        first(&facts.ingress_chains, Use::In, PortReason::IngressChain),
        first(&facts.ingress_filters, Use::In, PortReason::IngressFilter),
        first(&facts.egress_chains, Use::Out, PortReason::EgressChain),
        first(&facts.egress_filters, Use::Out, PortReason::EgressFilter),
        first(&facts.asking, Use::Out, PortReason::Asking),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the limit of a locked member of a bridge: the bridge must check the station of each
/// frame that enters there.
fn locked(link: &Link) -> Option<Limit> {
    link.locked.then_some(Limit {
        of: Use::In,
        reason: PortReason::Locked,
    })
}

/// Returns true if the user asked for a conduit to be the port, instead of the ports of its switch,
/// and its tags are known (or not read yet). The setting for all devices does not count.
fn at_conduit(conduit: &Device<'_>, settings: &Settings) -> bool {
    let asked = matches!(conduit.own_wish(settings), Some(Hook::Xdp | Hook::Tc));
    let known = conduit.facts.is_none_or(|facts| {
        let tag = facts.tagging.as_deref();
        tag.is_some_and(|tag| KNOWN_TAGS.contains(&tag))
    });
    asked && known
}
