//! What can forward, or drop: the scenarios of the laboratory.

use datapath::Hook;
use lab::{Lab, Options};

use crate::load::{Load, Wires};
use crate::traffic::Kind;

/// What forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The generator and a drop at the router's port: what is not the router.
    Nothing,
    /// The kernel, conntrack not in use.
    Kernel,
    /// The kernel with conntrack.
    Conntrack,
    /// The kernel with conntrack and masquerading.
    Masquerade,
    /// The same with nftables' flowtable, in software.
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
    /// Weir drops at XDP, by the same set.
    WeirDrop,
}

impl Path {
    /// In the order of the table.
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

    /// Short name, for `--only` and JSON.
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

    /// For the table.
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

    /// Whether it can be measured on wires that carry more than Ethernet: the programs that weir is
    /// compared with know nothing else, and one family is enough.
    pub fn knows(self, wires: Wires) -> bool {
        wires == Wires::Plain
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

    /// Why this machine cannot do it.
    pub fn lacks(self, wires: Wires) -> Option<String> {
        let tried = || Lab::gateway(&Options::default()).and_then(|lab| lab.flowtable());
        match self {
            _ if !self.knows(wires) => Some("it is measured between plain wires only".into()),
            Self::Flowtable => tried()
                .err()
                .map(|_| "this kernel has no flowtable for nftables (CONFIG_NF_FLOW_TABLE)".into()),
            _ => None,
        }
    }

    /// Whether packets are to reach nobody: nothing is forwarded.
    pub fn drops(self) -> bool {
        matches!(self, Self::Drop | Self::DropEarly | Self::WeirDrop)
    }

    /// Rules of nftables, on top of those of a gateway: which packets are dropped.
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

    /// The least share of the packets that weir has to take. Of what it drops by a set it lets one
    /// in 256 through, as a sample.
    pub(crate) fn least(self) -> f64 {
        match self {
            Self::WeirDrop => 0.97,
            _ => 0.99,
        }
    }

    /// Lines of weir's configuration.
    pub(crate) fn config(self) -> &'static str {
        match self {
            Self::WeirDrop => "[drops]\nsets = [\"inet blocked blocked\"]\n",
            _ => "",
        }
    }

    /// Whether frames reach their end without an skb, so that the sink is an XDP one.
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
