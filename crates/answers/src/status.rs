//! State of the daemon.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::drops::DropCounts;
use crate::monitor::MonitorStatus;
use crate::multipath::PathsStatus;

/// Answer to `GET /v1/status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the daemon.
    pub version: String,
    /// Start time of the daemon, seconds since 1970-01-01 UTC.
    pub started: u64,
    /// Seconds since the start, on a monotonic clock.
    pub uptime_seconds: u64,
    /// Inode of the daemon's network namespace (`stat -L /proc/PID/ns/net`).
    pub netns: u64,
    /// Running modules: `offload`, `monitor`, `multipath`.
    pub modules: Vec<String>,
    /// True while not every port counts and forwards yet; absent from then on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starting: bool,
    /// Mode: packets are forwarded, or only counted.
    pub mode: Mode,
    /// True if the packet path acts; `false` sends everything to the kernel.
    pub armed: bool,
    /// Generation of the proofs; every increment invalidates all earlier proofs.
    pub epoch: u32,
    /// Flows in use, and capacity.
    pub flows: FlowCounts,
    /// Hops in use, and capacity.
    pub hops: HopCounts,
    /// Packet counters.
    pub packets: PacketCounts,
    /// Share of the packets that took the fast path, 0 to 1 ([`PacketCounts::fast_path_share`]);
    /// absent before the first packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_path_share: Option<f64>,
    /// Increments of the generation, by cause (`routing`, `firewall`, `link`, …).
    pub bumps: BTreeMap<String, u64>,
    /// Refused connections, by cause (`table_full`, `helper`, …); not packets.
    pub refused: BTreeMap<String, u64>,
    /// Number of times the kernel dropped events because weir was slow (ENOBUFS); each led to a new
    /// dump.
    pub lost_events: u64,
    /// Shadow mode only: comparison of weir's forwarding with that of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowCounts>,
    /// Packets dropped early; absent if the configuration asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<DropCounts>,
    /// Uplinks that are used as one; absent if the configuration names no partner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multipath: Option<PathsStatus>,
    /// Conversations that the monitor stores; absent if the monitor is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<MonitorStatus>,
    /// Cost of rules that see each packet; absent if there are none, or if they are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each_packet: Option<PerPacketRules>,
    /// State of the heartbeat.
    pub heartbeat: Heartbeat,
    /// Parts that do not work as configured; absent if all work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<PartProblem>,
    /// Fields of other modules, by module name.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// A part that does not work as configured. weir retries by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartProblem {
    /// Name of the part: `page`, `metrics`.
    pub part: String,
    /// Description of the problem.
    pub what: String,
    /// Advice.
    pub hint: String,
}

/// Connections that stay with the kernel because a rule examines each of their packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerPacketRules {
    /// Number of connections.
    pub connections: u64,
    /// The rules, the most expensive first; not more than a hundred.
    pub rules: Vec<RuleCost>,
}

/// A rule that sees each packet, and its cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCost {
    /// Name of the rule: `inet filter forward, handle 7`.
    pub rule: String,
    /// Property that the rule examines, in words.
    pub why: String,
    /// Connections that the rule leaves to the kernel now. Several rules may share a connection.
    pub connections: u64,
}

/// Mode of forwarding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Proven flows are forwarded.
    #[default]
    Forward,
    /// Flows are proven and counted, but every packet goes to the kernel.
    Shadow,
}

/// Flows of both families. Counts connections, each of which takes two records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// IPv4.
    pub ipv4: FamilyFlows,
    /// IPv6.
    pub ipv6: FamilyFlows,
    /// Most connections known at a time, over both families: either family may use the whole.
    #[serde(default)]
    pub capacity: u64,
}

/// Flows of one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyFlows {
    /// Connections in the table, proven ones too.
    pub known: u64,
    /// Connections of which at least one direction is forwarded.
    pub proven: u64,
    /// Connections that stay with the kernel, with a reason.
    pub declined: u64,
}

/// Hops in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopCounts {
    /// Hops in use.
    pub used: u32,
    /// Largest number of hops.
    pub capacity: u32,
}

/// Counters of packets that came in at weir's ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCounts {
    /// Packets forwarded by XDP.
    pub forwarded_xdp: u64,
    /// Packets forwarded by TC.
    pub forwarded_tc: u64,
    /// Bytes forwarded by either.
    pub bytes: u64,
    /// Packets left to the kernel, by the code of the reason (`unproven`, `fragment`, …).
    pub passed: BTreeMap<String, u64>,
    /// Packets that the kernel was seen to send, but that proved nothing, by the code of the reason
    /// (`quiet`, `not_seen`, …). They are among those left to the kernel, or among those that the
    /// kernel received elsewhere.
    #[serde(default)]
    pub not_proof: BTreeMap<String, u64>,
}

impl PacketCounts {
    /// Packets forwarded by either hook.
    pub fn forwarded(&self) -> u64 {
        self.forwarded_xdp.saturating_add(self.forwarded_tc)
    }

    /// Share of the packets that took the fast path, 0 to 1; `None` before the first packet.
    pub fn fast_path_share(&self) -> Option<f64> {
        let passed = self
            .passed
            .values()
            .fold(0u64, |sum, count| sum.saturating_add(*count));
        let all = self.forwarded().saturating_add(passed);
        (all > 0).then(|| self.forwarded() as f64 / all as f64)
    }
}

/// The daemon's sign of life to the packet path, which passes all packets to the kernel if the
/// heartbeat is overdue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Seconds since the last beat.
    pub age_seconds: f64,
    /// Seconds of silence after which the packet path stops forwarding.
    pub limit_seconds: f64,
}

/// Packets compared in shadow mode. Packets that share their flow with another packet in flight are
/// not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadowCounts {
    /// Sent by the kernel as weir would have sent them.
    pub same: u64,
    /// Sent in another way. Any number but 0 is a bug in weir: please report it with the log.
    pub different: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_nothing_is_not_a_number_but_none() {
        let mut packets = PacketCounts::default();
        assert_eq!(packets.fast_path_share(), None);
        packets.forwarded_xdp = 2;
        packets.forwarded_tc = 1;
        packets.passed.insert("fragment".into(), 1);
        assert_eq!(packets.fast_path_share(), Some(0.75));
        packets.passed.insert("unknown".into(), u64::MAX);
        assert!(packets.fast_path_share().is_some_and(|share| share < 0.01));
    }
}
