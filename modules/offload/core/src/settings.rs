//! Settings of the operator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// Hook where the packet path attaches to a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// The hook that fits the device best; a setting, never part of a plan.
    #[default]
    Auto,
    /// Native XDP.
    Xdp,
    /// TC ingress.
    Tc,
    /// Attached for watching outgoing packets alone; part of a plan, never a setting. If a bridge
    /// sends copies of a packet by such a member, too, no other member may count as the way to its
    /// station.
    Watch,
    /// Not attached.
    Off,
}

/// A connection mark to compare with: matches where `mark & mask == value & mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Wanted bits.
    pub value: u32,
    /// Compared bits.
    pub mask: u32,
}

impl Mark {
    /// Returns true if a connection mark matches.
    pub fn matches(&self, mark: u32) -> bool {
        mark & self.mask == self.value & self.mask
    }
}

/// Conntrack time-outs in seconds, as the sysctls `net.netfilter.nf_conntrack_*` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// `tcp_timeout_established`.
    pub tcp_established: u32,
    /// `tcp_timeout_unacknowledged`.
    pub tcp_unacknowledged: u32,
    /// `tcp_timeout_max_retrans`.
    pub tcp_max_retrans: u32,
    /// `udp_timeout`.
    pub udp: u32,
    /// `udp_timeout_stream`.
    pub udp_stream: u32,
}

impl Default for Timeouts {
    /// Returns the kernel's own defaults.
    fn default() -> Self {
        Self {
            tcp_established: 432_000,
            tcp_unacknowledged: 300,
            tcp_max_retrans: 300,
            udp: 30,
            udp_stream: 120,
        }
    }
}

impl Timeouts {
    /// Returns the minimum timeout of an established connection without an answer.
    pub(crate) fn tcp_unanswered(&self) -> u32 {
        self.tcp_unacknowledged
            .min(self.tcp_max_retrans)
            .min(self.tcp_established)
    }

    /// Returns the shortest of them.
    pub(crate) fn shortest(&self) -> u32 {
        self.tcp_unanswered().min(self.udp).min(self.udp_stream)
    }

    /// Returns true if an established connection may get this time-out because of data in flight
    /// (not acknowledged, sent again, no room at the receiver), and a longer one otherwise.
    pub(crate) fn ambiguous(&self, seconds: u32) -> bool {
        [self.tcp_unacknowledged, self.tcp_max_retrans]
            .into_iter()
            .any(|short| short < self.tcp_established && short.abs_diff(seconds) <= 1)
    }
}

/// All settings of the core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Maximum number of connections installed at a time.
    pub max_flows: usize,
    /// Maximum number of declined connections stored with their reason; further ones are only
    /// counted.
    pub max_declined: usize,
    /// Connections with this mark stay with the kernel.
    pub opt_out: Option<Mark>,
    /// Connections that a rule may see each packet of stay with the kernel.
    pub each_packet: bool,
    /// Interval at which each proven flow proves again; 0: never.
    pub reprove: Millis,
    /// Take over TCP.
    pub tcp: bool,
    /// Take over UDP.
    pub udp: bool,
    /// Time-outs to refresh conntrack entries with.
    pub timeouts: Timeouts,
    /// Hook to attach to, unless `ports` says otherwise.
    pub hook: Hook,
    /// Device name → where to attach.
    pub ports: BTreeMap<String, Hook>,
    /// Conntrack reports nothing (`nf_conntrack_events` = 0): all connections stay with the kernel.
    pub no_events: bool,
    /// Forward frames between members of a bridge, too.
    pub bridge: bool,
    /// Maximum number of pairs of stations known at a time.
    pub max_pairs: usize,
    /// Compute everything, forward nothing. Carried for the packet path; the core decides the same.
    pub shadow: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_flows: 65_536,
            max_declined: 65_536,
            opt_out: None,
            each_packet: true,
            reprove: 20_000,
            tcp: true,
            udp: true,
            timeouts: Timeouts::default(),
            hook: Hook::Auto,
            ports: BTreeMap::new(),
            no_events: false,
            bridge: false,
            max_pairs: 4_096,
            shadow: false,
        }
    }
}
