//! How the daemon is doing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::drops::DropCounts;
use crate::monitor::Remembered;
use crate::multipath::PathsStatus;

/// Answer to `GET /v1/status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the daemon.
    pub version: String,
    /// When the daemon started, seconds since 1970-01-01 UTC.
    pub started: u64,
    /// Seconds since then, on a clock that does not jump.
    pub uptime_seconds: u64,
    /// Inode of the network namespace it works in (`stat -L /proc/PID/ns/net`).
    pub netns: u64,
    /// Modules that run: `offload`, `monitor`, `multipath`.
    pub modules: Vec<String>,
    /// Not every port counts and forwards yet; absent from then on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starting: bool,
    /// Whether packets are forwarded, or only what would be is counted.
    pub mode: Mode,
    /// Whether the packet path acts at all; `false` sends everything to the kernel.
    pub armed: bool,
    /// Generation of the proofs; every bump ends all proofs given before.
    pub epoch: u32,
    /// Flows and room for them.
    pub flows: FlowCounts,
    /// Hops and room for them.
    pub hops: HopCounts,
    /// What became of the packets.
    pub packets: PacketCounts,
    /// Share of the packets that took the fast path, 0 to 1 ([`PacketCounts::share_of_packets`]);
    /// absent before the first packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_of_packets: Option<f64>,
    /// How often the generation was raised, by cause (`routing`, `firewall`, `link`, …).
    pub bumps: BTreeMap<String, u64>,
    /// What was not taken on, by cause (`table_full`, `helper`, …); counts connections, not
    /// packets.
    pub refused: BTreeMap<String, u64>,
    /// How often the kernel said that it dropped events because weir was slow (ENOBUFS); each led
    /// to a new dump.
    pub lost_events: u64,
    /// Shadow mode only: how well what weir would have sent agrees with what the kernel sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowCounts>,
    /// Packets dropped early; absent where nothing is to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<DropCounts>,
    /// Uplinks that are used as one; absent where the configuration names no partner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multipath: Option<PathsStatus>,
    /// Conversations that the monitor remembers; absent where it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Remembered>,
    /// What rules cost that see each packet; absent where there are none, or where they are
    /// ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each_packet: Option<EachPacket>,
    /// Whether the packet path believes that the daemon lives.
    pub heartbeat: Heartbeat,
    /// Parts that do not work as they are configured; absent where all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<Trouble>,
    /// What other modules add, by their names.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// A part that does not work as it is configured. It is tried again by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// Which: `page`, `metrics`.
    pub part: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// Connections that stay with the kernel as a rule looks at each of their packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EachPacket {
    /// How many.
    pub connections: u64,
    /// The rules, the dearest first; not more than a hundred.
    pub rules: Vec<RuleCost>,
}

/// A rule that sees each packet, and what it costs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCost {
    /// Which: `inet filter forward, handle 7`.
    pub rule: String,
    /// What it looks at, in words.
    pub why: String,
    /// Connections that it leaves to the kernel now. One may be left to it by several rules.
    pub connections: u64,
}

/// Whether flows are forwarded.
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
    /// Most connections known at a time, of both families together: either may take what the other
    /// leaves.
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
    /// Connections that stay with the kernel, for a reason.
    pub declined: u64,
}

/// Hops in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopCounts {
    /// Learned so far.
    pub used: u32,
    /// Room for.
    pub capacity: u32,
}

/// What became of the packets that came in at weir's ports.
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
    /// (`quiet`, `not_seen`, …). They are among those left to the kernel, or among those that it
    /// got elsewhere.
    #[serde(default)]
    pub not_proof: BTreeMap<String, u64>,
}

impl PacketCounts {
    /// Packets forwarded by either hook.
    pub fn forwarded(&self) -> u64 {
        self.forwarded_xdp.saturating_add(self.forwarded_tc)
    }

    /// Share of the packets that took the fast path, 0 to 1; `None` before the first packet.
    pub fn share_of_packets(&self) -> Option<f64> {
        let passed = self
            .passed
            .values()
            .fold(0u64, |sum, count| sum.saturating_add(*count));
        let all = self.forwarded().saturating_add(passed);
        (all > 0).then(|| self.forwarded() as f64 / all as f64)
    }
}

/// The daemon's sign of life to the packet path, which passes everything to the kernel when it is
/// overdue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Seconds since the last beat.
    pub age_seconds: f64,
    /// Seconds of silence after which the packet path stands aside.
    pub limit_seconds: f64,
}

/// Packets compared in shadow mode. A packet that shared its flow with another one under way is not
/// compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadowCounts {
    /// Sent by the kernel as weir would have.
    pub same: u64,
    /// Sent otherwise. Anything but 0 is a bug of weir's: please report it with the log.
    pub different: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_nothing_is_not_a_number_but_none() {
        let mut packets = PacketCounts::default();
        assert_eq!(packets.share_of_packets(), None);
        packets.forwarded_xdp = 2;
        packets.forwarded_tc = 1;
        packets.passed.insert("fragment".into(), 1);
        assert_eq!(packets.share_of_packets(), Some(0.75));
        packets.passed.insert("unknown".into(), u64::MAX);
        assert!(packets.share_of_packets().is_some_and(|share| share < 0.01));
    }
}
