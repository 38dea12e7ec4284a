//! Reasons for the use of a device, in words.

use serde::Serialize;

/// Ports where packets of an upper device are forwarded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Below {
    /// Names of the ports below the device.
    pub ports: Vec<String>,
    /// Names of the devices below it that are not ports.
    pub others: Vec<String>,
}

/// Reason for the use of a device.
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
    /// TC: the device takes VLAN tags off before XDP.
    HiddenTags,
    /// TC: the same, those of 802.1ad.
    HiddenServiceTags,
    /// TC: XDP was refused.
    XdpRefused,
    /// Not a port itself: its packets are forwarded at its lower devices.
    Upper(Below),
    /// Not a port itself: PPP, whose lower device the kernel does not report.
    Ppp,
    /// Off: the conduit of a switch whose ports are ports themselves.
    Conduit,
    /// Off: the conduit of a switch with unknown tags: their name, if the kernel reports it.
    UnknownTags(Option<String>),
    /// Off: the settings say so.
    SwitchedOff,
    /// Off: not examined yet.
    NotLookedAt,
    /// Off: the loopback device.
    Loopback,
    /// Off: not Ethernet.
    NotEthernet,
    /// Off: a kind of device that is not supported yet.
    NotYet(String),
    /// Off: a member of a master other than a bridge or VRF: its kind.
    Enslaved(String),
    /// Off: down.
    Down,
    /// Off: no hardware address.
    NoAddress,
    /// Off: nothing is forwarded.
    NotForwarding,
    /// Off: foreign XDP program.
    ForeignXdp,
    /// Off at ingress: an nftables chain.
    IngressChain(String),
    /// Off at ingress: a locked member of a bridge.
    Locked,
    /// Off at egress: an nftables chain.
    EgressChain(String),
    /// Off at ingress: a filter of TC.
    IngressFilter(String),
    /// Off at egress: a filter of TC.
    EgressFilter(String),
    /// Off at egress: a qdisc that must not be bypassed, and would be.
    Qdisc(String),
    /// Off at egress: something at its qdiscs reads a packet's connection or route, which weir's
    /// packets do not have.
    Asking(String),
    /// Not straight from XDP: a qdisc that frames must not bypass.
    Queue(String),
    /// Not straight from XDP: frames from elsewhere may arrive faster, and no qdisc would limit the
    /// queue.
    Slower {
        /// Mbit/s, if known.
        speed: Option<u32>,
        /// Name of the port that may be faster.
        than: String,
        /// Speed of the port in Mbit/s, if known.
        its: Option<u32>,
    },
    /// Not straight from XDP: the driver does not accept frames of other devices, or not now.
    NoRings,
    /// Not straight from XDP: the other end of a veth device would not fetch them.
    PeerSleeps,
    /// Off at egress: a bridge may send copies by this member, to which weir is not attached.
    Unseen(String),
    /// Off for frames of these VLANs: more hardware addresses than a port can have.
    Addresses(Vec<u16>),
    /// Off for bridged frames: the bridge forgets stations too soon, in seconds, for the packets
    /// that weir shows the kernel.
    Ageing(u32),
    /// Off for bridged frames: something sees each frame.
    BridgeFilter(String),
    /// Off for bridged frames: the port answers for others.
    Proxies,
    /// Off for bridged frames: a switch forwards them itself.
    SwitchBridges,
    /// Off for bridged frames: shadow mode does not compare them.
    ShadowMode,
    /// The reason applies to an upper device of this one.
    Above {
        /// Name of that device.
        device: String,
        /// Reason at the upper device.
        reason: Box<PortReason>,
    },
    /// Off: TC was refused.
    TcRefused,
    /// Off: the device is gone.
    Gone,
}

impl PortReason {
    /// Explains the reason in plain words.
    pub fn explain(&self) -> String {
        match self {
            Self::Native => "the driver runs XDP itself".into(),
            Self::KnownDriver => "the driver is known to run XDP itself".into(),
            Self::Asked => "set in the settings".into(),
            Self::UnfinishedChecksums => {
                "frames here may carry unfinished checksums, which XDP would send as they are"
                    .into()
            }
            Self::NoNativeXdp => "the driver does not run XDP itself".into(),
            Self::HiddenTags => {
                "the device takes VLAN tags off: to XDP a frame of any VLAN looks like one without"
                    .into()
            }
            Self::HiddenServiceTags => {
                "the device takes 802.1ad tags off: to XDP their frames look like ones without"
                    .into()
            }
            Self::XdpRefused => "the kernel refused to attach at XDP".into(),
            Self::Upper(below) => below.explain(),
            Self::Ppp => {
                "its packets are forwarded at the port where the PPPoE session arrives; the kernel \
                    does not report which port that is"
                    .into()
            }
            Self::Conduit => {
                "conduit of a switch: weir forwards at the switch's ports instead".into()
            }
            Self::UnknownTags(tag) => format!(
                "conduit of a switch with tags that weir does not know ({}): weir forwards at the \
                    switch's ports instead",
                tag.as_deref().unwrap_or("the kernel does not report which")
            ),
            Self::SwitchedOff => "switched off in the settings".into(),
            Self::NotLookedAt => "not examined yet".into(),
            Self::Loopback => "the loopback device forwards nothing".into(),
            Self::NotEthernet => "not an Ethernet device".into(),
            Self::NotYet(kind) => format!("not supported yet: {kind}"),
            Self::Enslaved(kind) => format!("not supported yet: member of a {kind}"),
            Self::Down => "the device is down or has no carrier".into(),
            Self::NoAddress => "the device has no hardware address".into(),
            Self::NotForwarding => "forwarding is off here for IPv4 and IPv6".into(),
            Self::ForeignXdp => "a foreign XDP program is attached".into(),
            Self::IngressChain(chain) | Self::EgressChain(chain) => {
                format!("the nftables chain {chain} would be skipped")
            }
            Self::Locked => {
                "the bridge accepts frames here only from registered stations (locked)".into()
            }
            Self::IngressFilter(filter) => format!("{filter} at TC ingress would be skipped"),
            Self::EgressFilter(filter) => format!("{filter} at TC egress would be skipped"),
            Self::Qdisc(kind) => format!("the qdisc {kind} would be skipped"),
            Self::Asking(what) => {
                format!("{what} needs a packet's connection or route, which weir's packets lack")
            }
            Self::Queue(kind) => format!("packets must pass through the qdisc {kind}"),
            Self::Slower { speed, than, its } => slower(*speed, than, *its),
            Self::NoRings => {
                "the driver does not accept frames of other devices, or only while XDP is \
                    attached here"
                    .into()
            }
            Self::PeerSleeps => {
                "the other end of this veth device would not receive frames: neither GRO nor XDP \
                    is enabled there"
                    .into()
            }
            Self::Unseen(member) => format!(
                "the bridge may also send by {member}, where weir is off and sees no packets"
            ),
            Self::Addresses(_) => {
                "more VLAN devices have addresses of their own than a port can have".into()
            }
            Self::Ageing(seconds) => format!(
                "the bridge forgets a station after {seconds} s, and weir passes its frames to \
                    the kernel too rarely"
            ),
            Self::BridgeFilter(what) => format!("{what} may inspect each frame"),
            Self::Proxies => {
                "the bridge answers for others here (proxy_arp or neigh_suppress)".into()
            }
            Self::SwitchBridges => "the switch forwards between its ports itself".into(),
            Self::ShadowMode => "shadow mode does not compare them".into(),
            Self::Above { device, reason } => format!("at {device} above it, {}", reason.explain()),
            Self::TcRefused => "the kernel refused to attach at TC".into(),
            Self::Gone => "the device is gone".into(),
        }
    }

    /// Suggests a change that would remove the reason.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Native | Self::KnownDriver | Self::NotLookedAt | Self::Loopback => {
                "nothing to do"
            }
            Self::Asked => "set this device to auto for weir to choose",
            Self::UnfinishedChecksums => {
                "set this device to xdp if no program on this machine sends into it"
            }
            Self::NoNativeXdp => "use a network card or driver with native XDP",
            Self::HiddenTags => "switch that off: `ethtool -K DEV rxvlan off`",
            Self::HiddenServiceTags => {
                "switch that off: `ethtool -K DEV rx-vlan-stag-hw-parse off`"
            }
            Self::XdpRefused | Self::TcRefused => "see the log for the refusal",
            Self::Conduit => {
                "set this device itself to xdp or tc to forward at the conduit, below its ports; \
                    this has not been tried on hardware"
            }
            Self::UnknownTags(_) => "nothing to do",
            Self::Upper(below) if below.ports.is_empty() => "see the devices below it",
            Self::Upper(_) | Self::Ppp => "nothing to do",
            Self::SwitchedOff => "set this device to auto",
            Self::NotEthernet | Self::NotYet(_) | Self::Enslaved(_) => {
                "nothing to do: the kernel forwards it as before"
            }
            Self::Down => "bring the device up and connect it",
            Self::NoAddress => "give the device a hardware address",
            Self::NotForwarding => {
                "enable forwarding (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding)"
            }
            Self::ForeignXdp => "detach the program, or set this device to tc to run after it",
            Self::IngressChain(_) => "move the chain's rules to prerouting or forward",
            Self::Locked => {
                "nothing to do; `bridge link set dev DEV locked off` accepts all stations"
            }
            Self::EgressChain(_) => "move the chain's rules to postrouting",
            Self::IngressFilter(_) => "shape at the egress of the other device instead",
            Self::EgressFilter(_) => {
                "attach the filter to a class of the root qdisc, or do its work in nftables"
            }
            Self::Qdisc(_) => "shape at the lowest device instead, where weir keeps the qdisc",
            Self::Asking(_) => {
                "remove what needs them (`nat` of \
                    cake, connmark, nfct keys, …), or shape at an ifb behind another device"
            }
            Self::Queue(_) | Self::Slower { .. } => {
                "nothing to do: packets are forwarded through the qdisc"
            }
            Self::NoRings => "use XDP at this device, if its driver supports it",
            Self::PeerSleeps => {
                "enable GRO at the other end, in its network namespace: `ethtool -K PEER gro on`"
            }
            Self::Unseen(_) => "set that member to auto, or remove it from the bridge",
            Self::Addresses(_) => "give the VLAN devices the address of the device below",
            Self::Ageing(_) => {
                "set a longer ageing time (`ip link set BRIDGE type bridge ageing_time 30000`), \
                    or a shorter `reprove`, not 0"
            }
            Self::BridgeFilter(_) => {
                "remove the chains of family bridge, unload ebtables, or set \
                    net.bridge.bridge-nf-call-* to 0"
            }
            Self::Proxies => "disable that for the port, or leave these frames to the kernel",
            Self::SwitchBridges => "nothing to do: the switch is faster",
            Self::ShadowMode => "end shadow mode",
            Self::Above { reason, .. } => match **reason {
                Self::ForeignXdp => "detach the program",
                _ => reason.hint(),
            },
            Self::Gone => "plug the device in again",
        }
    }
}

/// Explains why frames of a port may come faster than they leave.
fn slower(speed: Option<u32>, than: &str, its: Option<u32>) -> String {
    let queue = "then only a qdisc keeps the queue short";
    match (speed, its) {
        (Some(speed), Some(its)) => {
            format!("it is slower ({speed} Mbit/s) than {than} ({its} Mbit/s), and {queue}")
        }
        (None, Some(its)) => {
            format!("its speed is not known, and {than} ({its} Mbit/s) may be faster: {queue}")
        }
        (Some(speed), None) => format!(
            "the speed of {than} is not known, and it may be faster than this one ({speed} \
                Mbit/s): {queue}"
        ),
        (None, None) => format!("{than} may be faster, and {queue}"),
    }
}

impl Below {
    fn explain(&self) -> String {
        let others = self.others.join(", ");
        match (self.ports.is_empty(), self.others.is_empty()) {
            (false, true) => format!("its packets are forwarded at {}", self.ports.join(", ")),
            (false, false) => {
                let ports = self.ports.join(", ");
                format!("its packets are forwarded at {ports}, not at {others}")
            }
            (true, false) => format!("it is on top of {others}, where weir forwards nothing"),
            (true, true) => "no device is below it".into(),
        }
    }
}

/// Use of a port that a plan may exclude.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Incoming packets.
    In,
    /// Outgoing packets.
    Out,
    /// Packets that enter by PPPoE.
    PppIn,
    /// Packets that leave by PPPoE.
    PppOut,
    /// Frames that a bridge passes on from here to another of its members.
    Bridged,
    /// Packets that XDP at other ports sends here, which go by TC instead.
    Xdp,
    /// Incoming packets for some addresses: see the reason.
    Some,
}

/// A part of the traffic of a port that is left to the kernel, or to TC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// Use that is excluded.
    pub of: Use,
    /// Reason of the limit.
    pub reason: PortReason,
}

impl Limit {
    /// Explains the limit in plain words.
    pub fn explain(&self) -> String {
        let part = match (&self.of, &self.reason) {
            (Use::Xdp, reason) => {
                return format!(
                    "outgoing traffic goes by TC, not straight from XDP: {}",
                    reason.explain()
                );
            }
            (Use::In, _) => "incoming traffic".to_owned(),
            (Use::Out, _) => "outgoing traffic".to_owned(),
            (Use::PppIn, _) => "PPPoE that comes in".to_owned(),
            (Use::PppOut, _) => "PPPoE that leaves".to_owned(),
            (Use::Bridged, _) => "bridged traffic".to_owned(),
            (Use::Some, PortReason::Addresses(vlans)) => {
                let vlans: Vec<String> = vlans.iter().take(8).map(u16::to_string).collect();
                format!(
                    "incoming traffic of VLAN {} for its own address",
                    vlans.join(", ")
                )
            }
            (Use::Some, _) => "a part of the incoming traffic".to_owned(),
        };
        format!("{part} is left to the kernel: {}", self.reason.explain())
    }
}
