//! Plans where to attach: turns all devices and their facts into a plan for each, with its reason.
//!
//! A port is always the lowest device. Weir never attaches to upper devices (VLAN devices, bridges,
//! VRFs); but as weir's packets bypass an upper device, anything that must see each packet there
//! forbids the ports below.

mod facts;
mod members;
mod planner;
mod qdisc;
mod reason;
mod transmit;
mod vlan;

use kernel::{Link, Mac};

use crate::settings::{Hook, Settings};
pub use facts::{PortFacts, xdp};
pub use planner::{Plans, plans};
pub use qdisc::{has_details, kept, shaper};
pub use reason::{Below, Limit, PortReason, Use};

/// Plan for one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlan {
    /// Interface index.
    pub link: u32,
    /// Name.
    pub name: String,
    /// The address that frames for this router have here: its own, or that of the bridge it is a
    /// member of; zero where off.
    pub mac: Mac,
    /// Addresses of VLAN devices above the port that differ from its own, with the outermost VLAN
    /// id of their frames; at most three.
    pub vlan_macs: Vec<(u16, Mac)>,
    /// Hook to attach to; never [`Hook::Auto`].
    pub hook: Hook,
    /// True if weir may forward packets that enter here.
    pub ingress: bool,
    /// Weir may send out here.
    pub egress: bool,
    /// True if weir may forward packets that enter by PPPoE.
    pub ppp_ingress: bool,
    /// Weir may send out by PPPoE here.
    pub ppp_egress: bool,
    /// True if XDP on other devices may send here: the driver accepts frames, the qdisc may be
    /// bypassed, and frames arrive no faster than they leave.
    pub xdp_transmit: bool,
    /// True if the root qdisc and those below it neither shape nor classify. If false or unknown,
    /// all packets that leave here must go through the qdisc.
    pub direct: bool,
    /// Member of a bridge, as it is or with a VLAN: frames that leave here may leave elsewhere,
    /// too.
    pub floods: bool,
    /// True if weir may forward frames that enter here for another member of the bridge.
    pub bridges: bool,
    /// The device takes no VLAN tags off: XDP sees all.
    pub sees_tags: bool,
    /// Reason why frames of VLANs have no tag at XDP although an upper device needs one, for any
    /// hook.
    pub hides_tags: Option<PortReason>,
    /// The tag of a switch that all frames have here, in the kernel's words.
    pub tagging: Option<String>,
    /// Reason of the plan.
    pub reason: PortReason,
    /// Uses that the plan excludes; for an upper device, the uses that it denies to its ports.
    pub limits: Vec<Limit>,
    /// Names of the upper devices, the nearest first.
    pub upper_devices: Vec<String>,
    /// Names of the lowest devices below it.
    pub lower_devices: Vec<String>,
}

impl PortPlan {
    /// Returns true if weir forwards packets here.
    pub fn forwards(&self) -> bool {
        matches!(self.hook, Hook::Xdp | Hook::Tc)
    }

    /// Hands off this device.
    pub fn off(link: u32, name: &str, reason: PortReason) -> Self {
        Self {
            link,
            name: name.to_owned(),
            mac: [0; 6],
            vlan_macs: Vec::new(),
            hook: Hook::Off,
            ingress: false,
            egress: false,
            ppp_ingress: false,
            ppp_egress: false,
            xdp_transmit: false,
            direct: false,
            floods: false,
            bridges: false,
            sees_tags: false,
            hides_tags: None,
            tagging: None,
            reason,
            limits: Vec::new(),
            upper_devices: Vec::new(),
            lower_devices: Vec::new(),
        }
    }

    /// Returns true if both plans have the same effect.
    pub fn same_effect(&self, other: &Self) -> bool {
        let effect = |plan: &Self| {
            (
                (plan.link, plan.hook, plan.mac),
                (plan.ingress, plan.egress, plan.ppp_ingress, plan.ppp_egress),
                (plan.xdp_transmit, plan.direct, plan.floods),
                (plan.bridges, plan.sees_tags),
            )
        };
        effect(self) == effect(other)
            && (&self.vlan_macs, &self.tagging) == (&other.vlan_macs, &other.tagging)
            && (self.hook == Hook::Off || self.name == other.name)
    }
}

/// A device as it is planned.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// The link as rtnetlink reports it.
    pub link: &'a Link,
    /// Facts from other sources; `None`: not read yet.
    pub facts: Option<&'a PortFacts>,
    /// The XDP program that it shows is weir's own.
    pub own_xdp: bool,
}

impl Device<'_> {
    fn foreign_xdp(&self) -> bool {
        let own = self.facts.and_then(|facts| facts.own_program);
        let shown = self.link.xdp_program;
        self.facts.is_some_and(|facts| facts.foreign_xdp)
            || shown.is_some_and(|id| !self.own_xdp && own != Some(id))
    }

    fn forwards(&self) -> bool {
        self.facts
            .is_some_and(|facts| facts.forwarding_v4 || facts.forwarding_v6)
    }

    /// Returns the hook that the settings name for exactly this device.
    fn own_wish(&self, settings: &Settings) -> Option<Hook> {
        settings.ports.get(&self.link.name).copied()
    }
}

/// Chooses XDP or TC, or returns the reason against both. `hides_tags`: a reason against XDP.
fn hook(
    link: &Link,
    facts: &PortFacts,
    wish: Hook,
    hides_tags: Option<&PortReason>,
) -> Result<(Hook, PortReason), PortReason> {
    let native = match facts.xdp_features {
        Some(features) if features & (xdp::BASIC | xdp::REDIRECT) == xdp::BASIC | xdp::REDIRECT => {
            Some(PortReason::Native)
        }
        None if facts.known_driver() => Some(PortReason::KnownDriver),
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
        // A local process or a guest sends frames into these devices without a finished checksum.
        // virtio_net differs: attaching switches that off.
        _ if link.kind == "veth" || link.kind == "tun" => tc(PortReason::UnfinishedChecksums),
        (_, Some(reason)) => match hides_tags {
            Some(hides) => tc(hides.clone()),
            None => Ok((Hook::Xdp, reason)),
        },
        (_, None) => tc(PortReason::NoNativeXdp),
    }
}
