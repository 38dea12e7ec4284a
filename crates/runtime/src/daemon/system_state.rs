//! State without events: drivers, sysctls, filters, and the rules that concern devices. Read when
//! an event suggests a change.

mod qdiscs;

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use answers::{PortLimit, PortStack, PortUse, Reason};
use kernel::io::{Ethtool, Filters, Netdev};
use kernel::route::filter::Filter;
use kernel::route::vlans::VlanTagging;
use kernel::{Event, Link, Source, facts};
use offload_core::ruleset::{Finding, Kind};
use offload_core::{Limit, PortFacts, PortPlan, PortReason, Use};
use tracing::debug;

use qdiscs::{Qdiscs, words};

/// Shortest and longest time between two reads of the ruleset: ten times the duration of the last
/// read. Nothing is proven before changed rules are read, and reading must not occupy a processor.
const RULESET_PAUSE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(1);

/// ARPHRD_LOOPBACK.
const LOOPBACK: u16 = 772;

/// Filters of a device, in words: at ingress, and at egress.
type Attached = (Vec<String>, Vec<String>);

/// State found by probes.
pub struct SystemState {
    netdev: Option<Netdev>,
    ethtool: Option<Ethtool>,
    filters: Option<Filters>,
    /// As last listed, by device.
    attached: HashMap<u32, Attached>,
    qdiscs: Qdiscs,
    /// Devices that may have changed since their last check.
    unlisted: BTreeSet<u32>,
    /// Rules that need each packet, and ingress chains, as last read.
    pub findings: Vec<Finding>,
    stale: bool,
    /// True if the last read of the ruleset succeeded.
    pub rules_read: bool,
    read: Option<Instant>,
    /// Shortest time from the last read to the next.
    pause: Duration,
}

impl SystemState {
    /// Opens the sockets for checks.
    pub fn open() -> Self {
        let netdev = Netdev::open().unwrap_or_else(|error| {
            debug!(%error, "cannot open the netdev family");
            None
        });
        let ethtool = Ethtool::open().unwrap_or_else(|error| {
            debug!(%error, "cannot open the ethtool family");
            None
        });
        let filters = Filters::open()
            .inspect_err(|error| debug!(%error, "cannot list filters"))
            .ok();
        Self {
            netdev,
            ethtool,
            filters,
            attached: HashMap::new(),
            qdiscs: Qdiscs::default(),
            unlisted: BTreeSet::new(),
            findings: Vec::new(),
            stale: true,
            rules_read: false,
            read: None,
            pause: *RULESET_PAUSE.end(),
        }
    }

    /// Returns true if the kernel reports the features of drivers.
    pub fn knows_drivers(&self) -> bool {
        self.netdev.is_some()
    }

    /// Receives an event: earlier results may be outdated.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::Qdiscs(link) | Event::Qdisc(kernel::Qdisc { link, .. }) => {
                self.qdiscs.forget();
                self.unlisted.insert(*link);
            }
            // The device may have come up, with its default qdiscs.
            Event::Link(link) => {
                self.qdiscs.forget();
                self.unlisted.insert(link.index);
            }
            Event::Forwarding(link) if *link != 0 => drop(self.unlisted.insert(*link)),
            Event::Firewall(_) | Event::Overrun(Source::Firewall) => self.stale = true,
            // The filter's block may be shared by any device, or the device is unknown.
            Event::Filters(0) | Event::Overrun(Source::Route) => {
                self.qdiscs.forget();
                self.unlisted
                    .extend(self.attached.drain().map(|(link, _)| link));
            }
            Event::Filters(link) => {
                self.attached.remove(link);
                self.unlisted.insert(*link);
            }
            Event::LinkGone(link) => {
                self.attached.remove(link);
                self.unlisted.remove(link);
            }
            _ => {}
        }
    }

    /// Takes the devices that need a check because they may have changed; reports each once.
    pub fn take_unlisted(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.unlisted)
    }

    /// Returns true if the read rules are the current ones: only then can weir exclude a rule that
    /// sees bridged frames.
    pub fn rules_known(&self) -> bool {
        self.rules_read && !self.stale
    }

    /// Returns true if the ruleset changed since the last read began.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// Returns true if the ruleset must be read now.
    pub fn due(&self) -> bool {
        self.stale && self.read.is_none_or(|at| at.elapsed() >= self.pause)
    }

    /// Notes the end of a read of the ruleset, successful or not.
    pub fn read(&mut self) {
        let took = self.read.map_or(Duration::ZERO, |began| began.elapsed());
        self.pause = (took * 10).clamp(*RULESET_PAUSE.start(), *RULESET_PAUSE.end());
    }

    /// Notes that a read of the ruleset begins.
    pub fn reading(&mut self) {
        self.stale = false;
        self.rules_read = false;
        self.read = Some(Instant::now());
    }

    /// Returns updated facts of a device. Results of attempts (`xdp_refused`, …) stay.
    pub fn facts(&mut self, link: &Link, known: PortFacts, own_program: Option<u32>) -> PortFacts {
        let (forwarding_v4, forwarding_v6) = facts::forwarding(&link.name).unwrap_or_default();
        let features = self
            .netdev
            .as_mut()
            .and_then(|n| n.xdp_features(link.index).ok().flatten());
        // VLAN devices, bridges and the like are no ports.
        let may_be_port = matches!(link.kind.as_str(), "" | "veth" | "tun" | "dsa");
        let mut ethtool = self.ethtool.as_mut().filter(|_| may_be_port);
        let tags = (ethtool.as_mut()).and_then(|e| e.hidden_tags(link.index).ok().flatten());
        let speed = match ethtool {
            Some(ethtool) => ethtool.speed(link.index).ok().flatten(),
            None => facts::speed(&link.name).filter(|_| may_be_port),
        };
        let asking = match may_be_port {
            true => self.qdiscs.asking(link, &mut self.filters),
            false => Vec::new(),
        };
        let ingress_chains = chains(&self.findings, Kind::IngressChain, &link.name);
        let egress_chains = chains(&self.findings, Kind::EgressChain, &link.name);
        let (mut ingress_filters, mut egress_filters) = self.filters(link.index);
        // TCX programs have no events.
        let (at_ingress, at_egress) = datapath::foreign_tcx(link.index).unwrap_or_else(|error| {
            debug!(%error, link.name, "cannot list programs");
            Attached::default()
        });
        ingress_filters.extend(at_ingress);
        egress_filters.extend(at_egress);
        PortFacts {
            driver: if link.kind.is_empty() {
                facts::driver(&link.name).unwrap_or_default()
            } else {
                link.kind.clone()
            },
            xdp_features: features.map(|f| f.0),
            hidden_tags: tags.unwrap_or_default(),
            tagging: facts::dsa_tagging(&link.name),
            forwarding_v4,
            forwarding_v6,
            own_program,
            multipath: (link.hardware == LOOPBACK)
                .then(|| facts::multipath().ok())
                .flatten()
                // A single failed read is not a change.
                .or(known.multipath),
            switches: switches(link).or(known.switches),
            shaper: self.qdiscs.shaper(link, &mut self.filters),
            speed,
            asking,
            bridge_filters: self.bridge_filters(link),
            ingress_chains,
            egress_chains,
            ingress_filters,
            egress_filters,
            ..known
        }
    }

    /// Lists filters that see each frame which this bridge forwards. A filter that cannot be read
    /// counts.
    fn bridge_filters(&self, link: &Link) -> Vec<String> {
        if link.kind != "bridge" {
            return Vec::new();
        }
        let chains = chains(&self.findings, Kind::BridgeChain, &link.name).into_iter();
        let mut filters: Vec<String> = chains
            .map(|chain| format!("the nftables chain {chain}"))
            .collect();
        filters.extend(
            facts::bridge_filters()
                .unwrap_or_else(|error| vec![format!("an unknown filter ({error})")]),
        );
        filters
    }

    /// Lists how bridges and their ports tag; empty if the list cannot be read.
    pub fn taggings(&mut self) -> Vec<VlanTagging> {
        let listed = self.filters.as_mut().map(|filters| filters.vlans());
        listed
            .and_then(|listed| {
                listed
                    .inspect_err(|error| debug!(%error, "cannot list VLANs of bridges"))
                    .ok()
            })
            .unwrap_or_default()
    }

    /// Returns foreign filters of a device. If the list cannot be read, any filter is assumed.
    fn filters(&mut self, link: u32) -> Attached {
        if let Some(known) = self.attached.get(&link) {
            return known.clone();
        }
        let listed = self.filters.as_mut().map(|filters| filters.attached(link));
        match listed {
            Some(Ok(found)) => {
                let found = (foreign(&found.ingress), foreign(&found.egress));
                self.attached.insert(link, found.clone());
                found
            }
            other => {
                if let Some(Err(error)) = other {
                    debug!(%error, link, "cannot list filters");
                }
                let unknown = vec!["an unknown filter".to_owned()];
                (unknown.clone(), unknown)
            }
        }
    }
}

/// Reads settings of a device that change without an event. The loopback device represents all
/// devices: nothing bypasses it.
fn switches(link: &Link) -> Option<facts::Switches> {
    let name = match link.hardware {
        LOOPBACK => "all",
        _ => &link.name,
    };
    // A single failed read is not a change.
    facts::switches(name).ok()
}

/// Describes filters that are not weir's.
fn foreign(filters: &[Filter]) -> Vec<String> {
    let own = |filter: &&Filter| {
        let program = filter.name.split(':').next().unwrap_or_default();
        filter.kind == "bpf" && datapath::TC_PROGRAMS.contains(&program)
    };
    filters
        .iter()
        .filter(|filter| !own(filter))
        .map(words)
        .collect()
}

/// Returns a device's position in its stack of devices, as the API shows it.
pub fn stack(plan: &PortPlan) -> PortStack {
    PortStack {
        carries: plan.upper_devices.clone(),
        lower_devices: plan.lower_devices.clone(),
        limits: plan
            .limits
            .iter()
            .map(|limit| told(limit, &plan.name))
            .collect(),
    }
}

fn told(limit: &Limit, device: &str) -> PortLimit {
    let (device, inner) = match &limit.reason {
        PortReason::Above { device, reason } => (device.as_str(), reason.as_ref()),
        own => (device, own),
    };
    PortLimit {
        of: match limit.of {
            Use::In => PortUse::In,
            Use::Out => PortUse::Out,
            Use::PppIn => PortUse::PppIn,
            Use::PppOut => PortUse::PppOut,
            Use::Bridged => PortUse::Bridged,
            Use::Xdp => PortUse::Xdp,
            Use::Some => PortUse::Some,
        },
        device: device.to_owned(),
        reason: Reason {
            code: code(inner),
            text: limit.explain(),
            hint: Some(limit.reason.hint().to_owned()),
        },
    }
}

/// Hook that takes over packets of a port, if any.
pub fn hook(hook: offload_core::Hook) -> Option<answers::Hook> {
    match hook {
        offload_core::Hook::Xdp => Some(answers::Hook::Xdp),
        offload_core::Hook::Tc => Some(answers::Hook::Tc),
        offload_core::Hook::Off | offload_core::Hook::Watch | offload_core::Hook::Auto => None,
    }
}

/// The tag of a reason, as its JSON has it.
pub fn code(reason: &PortReason) -> String {
    serde_json::to_value(reason)
        .ok()
        .and_then(|value| Some(value.get("reason")?.as_str()?.to_owned()))
        .unwrap_or_default()
}

/// Returns chains at the ingress or egress of a device, which frames that weir forwards would
/// bypass. A chain without a device in `nft`'s output may be at any device.
fn chains(findings: &[Finding], kind: Kind, device: &str) -> Vec<String> {
    findings
        .iter()
        .filter(|f| {
            f.kind == kind && (f.devices.is_empty() || f.devices.iter().any(|d| d == device))
        })
        .map(|f| format!("{} {} {}", f.family, f.table, f.chain))
        .collect()
}

#[cfg(test)]
mod tests {
    use kernel::route::filter::FilterAction;

    use super::*;

    fn filter(kind: &str, name: &str, action: &str, to: Option<u32>) -> Filter {
        Filter {
            kind: kind.into(),
            name: name.into(),
            actions: vec![FilterAction {
                kind: action.into(),
                to,
            }],
            reads_connection: false,
        }
    }

    #[test]
    fn weirs_own_filters_are_nobodys() {
        let own = datapath::TC_PROGRAMS
            .map(|program| filter("bpf", &format!("{program}:[17]"), "gact", None));
        assert!(foreign(&own).is_empty());
        let other = filter("bpf", "weird_tc:[17]", "gact", None);
        let named = filter("flower", "weir_tc:[17]", "gact", None);
        let to_ifb = filter("matchall", "", "mirred", Some(1));
        let found = foreign(&[other, named, to_ifb]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[2], "filter matchall with action mirred to lo");
    }

    #[test]
    fn limits_name_the_device_where_the_reason_is() {
        let reason = PortReason::Above {
            device: "br0".into(),
            reason: Box::new(PortReason::Qdisc("cake".into())),
        };
        let mut plan = PortPlan::off(2, "lan0", PortReason::Native);
        plan.limits = [reason, PortReason::IngressFilter("a policer".into())]
            .map(|reason| Limit {
                of: Use::Out,
                reason,
            })
            .to_vec();
        let shown = stack(&plan).limits;
        let names: Vec<_> = shown
            .iter()
            .map(|l| (l.device.as_str(), l.reason.code.as_str()))
            .collect();
        assert_eq!(names, [("br0", "qdisc"), ("lan0", "ingress-filter")]);
        assert!(
            shown[0]
                .reason
                .text
                .contains("at br0 above it, the qdisc cake")
        );
    }

    #[tokio::test]
    async fn what_was_listed_is_forgotten_when_it_may_have_changed() {
        let mut around = SystemState::open();
        let known = |around: &mut SystemState| {
            around.attached.insert(7, (vec!["x".into()], vec![]));
            around.attached.insert(8, Attached::default());
        };
        for (event, stale) in [
            (Event::Filters(7), vec![7]),
            (Event::Filters(0), vec![7, 8]),
            (Event::Overrun(Source::Route), vec![7, 8]),
            (Event::Filters(9), vec![9]),
            (Event::Qdiscs(9), vec![9]),
            (Event::Forwarding(9), vec![9]),
            (Event::Forwarding(0), vec![]),
            (Event::LinkGone(7), vec![]),
            (Event::Routing, vec![]),
        ] {
            known(&mut around);
            around.on_event(&event);
            assert_eq!(Vec::from_iter(around.take_unlisted()), stale, "{event:?}");
            assert!(stale.iter().all(|link| !around.attached.contains_key(link)));
        }
        assert_eq!(around.take_unlisted().len(), 0);
    }
}
