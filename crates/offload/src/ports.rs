//! Where to attach: a device, and what is known of it, to a plan with its reason.

use kernel::{Link, Mac};
use serde::Serialize;

use crate::settings::{Hook, Settings};

/// ARPHRD_ETHER.
const ETHERNET: u16 = 1;
/// ARPHRD_LOOPBACK.
const LOOPBACK: u16 = 772;

/// NETDEV_XDP_ACT_* (include/uapi/linux/netdev.h), as the `netdev` netlink family tells them.
pub mod xdp {
    /// Native XDP with pass, drop, abort and transmit.
    pub const BASIC: u64 = 1 << 0;
    /// XDP_REDIRECT from this device.
    pub const REDIRECT: u64 = 1 << 1;
    /// Other devices may redirect to this one.
    pub const NDO_XMIT: u64 = 1 << 2;
}

/// Drivers whose native XDP takes, redirects and sends frames in every kernel from 5.15 on. Asked only where the kernel does
/// not say itself (before 6.3); anything else then gets TC.
const KNOWN_DRIVERS: [&str; 12] = [
    "bnxt_en",
    "fsl_dpaa2_eth",
    "fsl_enetc",
    "i40e",
    "ice",
    "igb",
    "igc",
    "ixgbe",
    "mlx5_core",
    "mvneta",
    "mvpp2",
    "virtio_net",
];

/// Root qdiscs that may be passed by: none at all, or the defaults, which neither shape nor classify.
const PASSABLE_QDISCS: [&str; 7] = [
    "noqueue",
    "pfifo_fast",
    "mq",
    "fq_codel",
    "fq",
    "pfifo",
    "noop",
];

/// Kinds of devices (IFLA_INFO_KIND) that are Ethernet and can be taken as they are. The empty kind is hardware.
const PLAIN_KINDS: [&str; 4] = ["", "veth", "tun", "dsa"];

/// What is to be known of a device and is not told by events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortFacts {
    /// Driver name, as `ethtool -i` shows it.
    pub driver: String,
    /// [`xdp`] bits; `None` where the kernel has no `netdev` family to ask.
    pub xdp_features: Option<u64>,
    /// IPv4 forwarding is on for this device.
    pub forwarding_v4: bool,
    /// IPv6 forwarding is on for this device.
    pub forwarding_v6: bool,
    /// Id of weir's own XDP program here, once attached.
    pub own_program: Option<u32>,
    /// Somebody else's XDP program was found to be attached, otherwise than by the link's own telling.
    pub foreign_xdp: bool,
    /// Attaching at XDP was tried and refused.
    pub xdp_refused: bool,
    /// Attaching at TC was tried and refused.
    pub tc_refused: bool,
    /// nftables chains at this device's ingress, as `family table chain`.
    pub ingress_chains: Vec<String>,
    /// nftables chains at this device's egress, as `family table chain`.
    pub egress_chains: Vec<String>,
    /// What else sits at its ingress (a policer, a redirect to an ifb, …), in words.
    pub ingress_shaper: Option<String>,
}

/// Why a device is used the way it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason", content = "detail")]
pub enum PortReason {
    /// XDP: the driver says it can.
    Native,
    /// XDP: the driver is known to be able to.
    KnownDriver,
    /// XDP or TC: the settings say so.
    Asked,
    /// TC: local senders leave checksums unfinished here.
    UnfinishedChecksums,
    /// TC: no native XDP.
    NoNativeXdp,
    /// TC: XDP was refused.
    XdpRefused,
    /// Off: the settings say so.
    SwitchedOff,
    /// Off: not looked at yet.
    NotLookedAt,
    /// Off: the loopback device.
    Loopback,
    /// Off: not Ethernet.
    NotEthernet,
    /// Off: a kind of device that is not supported yet.
    NotYet(String),
    /// Off: a member of a bridge, bond or VRF.
    Enslaved,
    /// Off: down.
    Down,
    /// Off: no hardware address.
    NoAddress,
    /// Off: nothing is forwarded.
    NotForwarding,
    /// Off: somebody's XDP program.
    ForeignXdp,
    /// Off: an nftables chain at ingress.
    IngressChain(String),
    /// Off: an nftables chain at egress.
    EgressChain(String),
    /// Off: a shaper at ingress.
    IngressShaper(String),
    /// Off: TC was refused.
    TcRefused,
    /// Off: the device is gone.
    Gone,
}

impl PortReason {
    /// What it is, in plain words.
    pub fn explain(&self) -> String {
        match self {
            Self::Native => "the driver runs XDP itself".into(),
            Self::KnownDriver => "the driver is known to run XDP itself".into(),
            Self::Asked => "the settings say so".into(),
            Self::UnfinishedChecksums => {
                "frames here may carry unfinished checksums, which XDP would send as they are"
                    .into()
            }
            Self::NoNativeXdp => "the driver does not run XDP itself".into(),
            Self::XdpRefused => "the kernel refused to attach at XDP".into(),
            Self::SwitchedOff => "switched off in the settings".into(),
            Self::NotLookedAt => "not looked at yet".into(),
            Self::Loopback => "the loopback device forwards nothing".into(),
            Self::NotEthernet => "not an Ethernet device".into(),
            Self::NotYet(kind) => format!("not yet: {kind}"),
            Self::Enslaved => "not yet: member of a bridge, bond or VRF".into(),
            Self::Down => "the device is down or has no carrier".into(),
            Self::NoAddress => "the device has no hardware address".into(),
            Self::NotForwarding => "forwarding is off here for IPv4 and IPv6".into(),
            Self::ForeignXdp => "somebody else's XDP program is attached".into(),
            Self::IngressChain(chain) | Self::EgressChain(chain) => {
                format!("the nftables chain {chain} would be skipped")
            }
            Self::IngressShaper(shaper) => format!("{shaper} at ingress would be skipped"),
            Self::TcRefused => "the kernel refused to attach at TC".into(),
            Self::Gone => "the device is gone".into(),
        }
    }

    /// What would change it.
    pub fn mend(&self) -> &'static str {
        match self {
            Self::Native | Self::KnownDriver | Self::NotLookedAt | Self::Loopback => {
                "nothing to do"
            }
            Self::Asked => "set this device to auto for weir to choose",
            Self::UnfinishedChecksums => {
                "set this device to xdp if nothing on this machine sends into it"
            }
            Self::NoNativeXdp => "use a network card or driver with native XDP",
            Self::XdpRefused | Self::TcRefused => "look at what the log said when it was refused",
            Self::SwitchedOff => "set this device to auto",
            Self::NotEthernet | Self::NotYet(_) | Self::Enslaved => {
                "nothing to do: the kernel forwards it as before"
            }
            Self::Down => "bring the device up and connect it",
            Self::NoAddress => "give the device a hardware address",
            Self::NotForwarding => {
                "switch forwarding on (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding)"
            }
            Self::ForeignXdp => "detach the program, or set this device to tc to run after it",
            Self::IngressChain(_) => "move the chain's rules to prerouting or forward",
            Self::EgressChain(_) => "move the chain's rules to postrouting",
            Self::IngressShaper(_) => "shape at the egress of the other device instead",
            Self::Gone => "plug the device in again",
        }
    }
}

/// What to do with a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlan {
    /// Interface index.
    pub link: u32,
    /// Name.
    pub name: String,
    /// Own hardware address; zero where off.
    pub mac: Mac,
    /// Where to attach; never [`Hook::Auto`].
    pub hook: Hook,
    /// XDP on other devices may send here: the driver takes frames, and the qdisc may be passed by.
    pub xdp_transmit: bool,
    /// The root qdisc shapes or classifies (or is not known): whatever leaves here must go through it.
    pub needs_qdisc: bool,
    /// Why.
    pub reason: PortReason,
}

impl PortPlan {
    /// Hands off this device.
    pub fn off(link: u32, name: &str, reason: PortReason) -> Self {
        Self {
            link,
            name: name.to_owned(),
            mac: [0; 6],
            hook: Hook::Off,
            xdp_transmit: false,
            needs_qdisc: false,
            reason,
        }
    }

    /// Whether nothing is to be done to get from one plan to the other.
    pub fn same_effect(&self, other: &Self) -> bool {
        let effect = |plan: &Self| {
            (
                plan.link,
                plan.mac,
                plan.hook,
                plan.xdp_transmit,
                plan.needs_qdisc,
            )
        };
        effect(self) == effect(other) && (self.hook == Hook::Off || self.name == other.name)
    }
}

/// Decides what to do with a device. `link.xdp_program` is taken for somebody else's unless `facts.own_program` is the same.
pub fn plan(link: &Link, facts: &PortFacts, settings: &Settings) -> PortPlan {
    let wish = settings
        .ports
        .get(&link.name)
        .copied()
        .unwrap_or(settings.hook);
    let chosen = obstacle(link, facts, wish).map_or_else(|| hook(link, facts, wish), Err);
    let (hook, reason, mac) = match (chosen, link.mac) {
        (Ok((hook, reason)), Some(mac)) => (hook, reason, mac),
        (Ok(_), None) => return PortPlan::off(link.index, &link.name, PortReason::NoAddress),
        (Err(reason), _) => return PortPlan::off(link.index, &link.name, reason),
    };
    let needs_qdisc = !PASSABLE_QDISCS.contains(&link.qdisc.as_str());
    let takes_frames = match facts.xdp_features {
        Some(features) => features & xdp::NDO_XMIT != 0,
        None => known_driver(facts),
    };
    PortPlan {
        link: link.index,
        name: link.name.clone(),
        mac,
        hook,
        xdp_transmit: takes_frames && !needs_qdisc,
        needs_qdisc,
        reason,
    }
}

/// What forbids any hook.
fn obstacle(link: &Link, facts: &PortFacts, wish: Hook) -> Option<PortReason> {
    let foreign = facts.foreign_xdp
        || link
            .xdp_program
            .is_some_and(|id| facts.own_program != Some(id));
    if wish == Hook::Off {
        Some(PortReason::SwitchedOff)
    } else if link.hardware == LOOPBACK {
        Some(PortReason::Loopback)
    } else if link.hardware != ETHERNET {
        Some(PortReason::NotEthernet)
    } else if !PLAIN_KINDS.contains(&link.kind.as_str()) {
        Some(PortReason::NotYet(link.kind.clone()))
    } else if link.master.is_some() {
        Some(PortReason::Enslaved)
    } else if !link.up {
        Some(PortReason::Down)
    } else if !facts.forwarding_v4 && !facts.forwarding_v6 {
        Some(PortReason::NotForwarding)
    } else if foreign && wish != Hook::Tc {
        // At TC weir comes after it, as the kernel does.
        Some(PortReason::ForeignXdp)
    } else if let Some(chain) = facts.ingress_chains.first() {
        Some(PortReason::IngressChain(chain.clone()))
    } else if let Some(chain) = facts.egress_chains.first() {
        // Not even at TC: the kernel has skbs that a TC program redirects skip it (nf_skip_egress in net/core/dev.c).
        Some(PortReason::EgressChain(chain.clone()))
    } else {
        facts.ingress_shaper.clone().map(PortReason::IngressShaper)
    }
}

/// XDP or TC, with the reason; or the reason against both.
fn hook(link: &Link, facts: &PortFacts, wish: Hook) -> Result<(Hook, PortReason), PortReason> {
    let native = match facts.xdp_features {
        Some(features) if features & (xdp::BASIC | xdp::REDIRECT) == xdp::BASIC | xdp::REDIRECT => {
            Some(PortReason::Native)
        }
        None if known_driver(facts) => Some(PortReason::KnownDriver),
        _ => None,
    };
    let tc = |reason| {
        if facts.tc_refused {
            Err(PortReason::TcRefused)
        } else {
            Ok((Hook::Tc, reason))
        }
    };
    match (wish, native) {
        (Hook::Tc, _) => tc(PortReason::Asked),
        (Hook::Xdp, _) if !facts.xdp_refused => Ok((Hook::Xdp, PortReason::Asked)),
        _ if facts.xdp_refused => tc(PortReason::XdpRefused),
        // What a local process or a guest sends into these comes without a finished checksum. Not so virtio_net: attaching
        // switches that off.
        _ if link.kind == "veth" || link.kind == "tun" => tc(PortReason::UnfinishedChecksums),
        (_, Some(reason)) => Ok((Hook::Xdp, reason)),
        (_, None) => tc(PortReason::NoNativeXdp),
    }
}

fn known_driver(facts: &PortFacts) -> bool {
    KNOWN_DRIVERS.contains(&facts.driver.as_str())
}
