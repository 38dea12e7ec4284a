//! Scenarios of the laboratory: the ways to forward, or to drop.

use datapath::Hook;
use lab::{Lab, Options};

use crate::load::{Encapsulation, Load};
use crate::traffic::Kind;

/// Forwarder of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Generator, and a drop at the router's port: the cost outside the router.
    Nothing,
    /// The kernel, conntrack not in use.
    Kernel,
    /// The kernel with conntrack.
    Conntrack,
    /// The kernel with conntrack and masquerading.
    Masquerade,
    /// The kernel with conntrack, masquerading and nftables' flowtable, in software.
    Flowtable,
    /// A static rewrite at TC ingress.
    StaticTc,
    /// Weir at TC, translating.
    WeirTc,
    /// A static rewrite at generic XDP.
    StaticGeneric,
    /// The kernel's routing table at XDP.
    Fib,
    /// A hash map and source translation at XDP.
    HashNat,
    /// A static rewrite at XDP.
    Ceiling,
    /// Weir at XDP, translating.
    WeirXdp,
    /// The kernel with conntrack, IPv6.
    Conntrack6,
    /// Weir at XDP, IPv6, not translating.
    WeirXdp6,
    /// The kernel with conntrack and masquerading, IPv6.
    Masquerade6,
    /// Weir at XDP, IPv6, translating.
    WeirXdpNat6,
    /// The kernel drops, by a rule in forward.
    Drop,
    /// The kernel drops, by a set before conntrack.
    DropEarly,
    /// Weir drops at XDP, by the set of [`Path::DropEarly`].
    WeirDrop,
}

impl Path {
    /// All paths, in the order of the table.
    pub const ALL: [Path; 19] = [
        Self::Nothing,
        Self::Kernel,
        Self::Conntrack,
        Self::Masquerade,
        Self::Flowtable,
        Self::StaticTc,
        Self::WeirTc,
        Self::StaticGeneric,
        Self::Fib,
        Self::HashNat,
        Self::Ceiling,
        Self::WeirXdp,
        Self::Conntrack6,
        Self::WeirXdp6,
        Self::Masquerade6,
        Self::WeirXdpNat6,
        Self::Drop,
        Self::DropEarly,
        Self::WeirDrop,
    ];

    /// Returns the short name, for `--only` and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "direct",
            Self::Kernel => "kernel",
            Self::Conntrack => "kernel-conntrack",
            Self::Masquerade => "kernel-nat",
            Self::Flowtable => "flowtable",
            Self::StaticTc => "tc-static",
            Self::WeirTc => "weir-tc",
            Self::StaticGeneric => "xdp-generic",
            Self::Fib => "xdp-fib",
            Self::HashNat => "xdp-hash",
            Self::Ceiling => "xdp-static",
            Self::WeirXdp => "weir-xdp",
            Self::Conntrack6 => "kernel6-conntrack",
            Self::WeirXdp6 => "weir6-xdp",
            Self::Masquerade6 => "kernel6-nat",
            Self::WeirXdpNat6 => "weir6-xdp-nat",
            Self::Drop => "kernel-drop",
            Self::DropEarly => "kernel-drop-early",
            Self::WeirDrop => "weir-drop",
        }
    }

    /// Returns the description, for the table.
    pub fn text(self) -> &'static str {
        match self {
            Self::Nothing => "no router: dropped at its port",
            Self::Kernel => "kernel, no conntrack",
            Self::Conntrack => "kernel, conntrack",
            Self::Masquerade => "kernel, conntrack and NAT",
            Self::Flowtable => "kernel, nftables' flowtable and NAT",
            Self::StaticTc => "TC, static rewrite",
            Self::WeirTc => "weir at TC, NAT",
            Self::StaticGeneric => "generic XDP, static rewrite",
            Self::Fib => "XDP, the kernel's routing table",
            Self::HashNat => "XDP, hash map and NAT",
            Self::Ceiling => "XDP, static rewrite: the ceiling",
            Self::WeirXdp => "weir at XDP, NAT",
            Self::Conntrack6 => "kernel, conntrack, IPv6",
            Self::WeirXdp6 => "weir at XDP, IPv6",
            Self::Masquerade6 => "kernel, conntrack and NAT, IPv6",
            Self::WeirXdpNat6 => "weir at XDP, NAT, IPv6",
            Self::Drop => "kernel, dropped by a rule",
            Self::DropEarly => "kernel, dropped by a set",
            Self::WeirDrop => "weir at XDP, dropped by a set",
        }
    }

    /// Returns whether the path can be measured on these wires: programs that weir is compared with
    /// know plain Ethernet only, and a single family is enough.
    pub fn knows(self, wires: Encapsulation) -> bool {
        wires == Encapsulation::Plain
            || matches!(
                self,
                Self::Nothing
                    | Self::Kernel
                    | Self::Conntrack
                    | Self::Masquerade
                    | Self::Flowtable
                    | Self::WeirTc
                    | Self::WeirXdp
            )
    }

    /// Returns why this machine cannot measure the path, if so.
    pub fn lacks(self, wires: Encapsulation) -> Option<String> {
        let tried = || Lab::gateway(&Options::default()).and_then(|lab| lab.flowtable());
        match self {
            _ if !self.knows(wires) => Some("it can be measured between plain wires only".into()),
            Self::Flowtable => tried()
                .err()
                .map(|_| "this kernel has no flowtable for nftables (CONFIG_NF_FLOW_TABLE)".into()),
            _ => None,
        }
    }

    /// Returns whether the path drops all packets.
    pub fn drops(self) -> bool {
        matches!(self, Self::Drop | Self::DropEarly | Self::WeirDrop)
    }

    /// Returns rules of nftables that drop packets, on top of the gateway's rules.
    pub(crate) fn rules(self) -> Option<String> {
        const SET: &str = "192.168.1.2, 10.100.0.0/14";
        let chain = |hook: &str, rule: &str| {
            format!(
                "table inet blocked {{\nset blocked {{ type ipv4_addr; flags interval; elements = \
                    {{ {SET} }} }}\n\
                 chain blocked {{ type filter hook {hook}; policy accept;\n{rule}\n}}\n}}\n"
            )
        };
        match self {
            Self::Drop => Some(chain(
                "forward priority filter",
                "udp dport 443 counter drop",
            )),
            Self::DropEarly | Self::WeirDrop => Some(chain(
                "prerouting priority raw",
                "ip saddr @blocked counter drop",
            )),
            _ => None,
        }
    }

    /// Returns the lowest share of packets that weir has to take. Of the packets dropped by a set,
    /// weir passes each 256th as a sample.
    pub(crate) fn least(self) -> f64 {
        match self {
            Self::WeirDrop => 0.97,
            _ => 0.99,
        }
    }

    /// Returns lines of weir's configuration.
    pub(crate) fn config(self) -> &'static str {
        match self {
            Self::WeirDrop => "[drops]\nsets = [\"inet blocked blocked\"]\n",
            _ => "",
        }
    }

    /// Returns whether frames reach the far end without an skb, so that the sink is an XDP program.
    pub(crate) fn frames(self) -> bool {
        matches!(
            self,
            Self::Nothing
                | Self::Fib
                | Self::HashNat
                | Self::Ceiling
                | Self::WeirXdp
                | Self::WeirXdp6
                | Self::WeirXdpNat6
        )
    }

    pub(crate) fn hook(self) -> Option<Hook> {
        match self {
            Self::WeirTc => Some(Hook::Tc),
            Self::WeirXdp | Self::WeirXdp6 | Self::WeirXdpNat6 | Self::WeirDrop => Some(Hook::Xdp),
            _ => None,
        }
    }

    pub(crate) fn kind(self, load: &Load) -> Kind {
        let translated6 = matches!(self, Self::Masquerade6 | Self::WeirXdpNat6);
        let ipv6 = translated6 || matches!(self, Self::Conntrack6 | Self::WeirXdp6);
        let kind = Kind {
            ipv6,
            translated: match ipv6 {
                true => translated6,
                false => !matches!(self, Self::Kernel | Self::Conntrack | Self::Fib),
            },
            length: 0,
            flows: load.flows,
            servers: true,
        };
        let lengths = load.length.octets(kind.shortest(), load.wires);
        Kind {
            length: lengths.last().copied().unwrap_or_default(),
            ..kind
        }
    }
}
