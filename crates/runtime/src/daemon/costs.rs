//! Costs of the rules that see each packet.

use std::cmp::Reverse;

use answers::{PerPacketRules, RuleCost};
use offload_core::{Core, DeclineReason};

/// Largest number of rules in an answer.
const MOST: usize = 100;

/// Returns the connections that rules leave to the kernel now, the most expensive rule first.
/// `None` if there are no such rules, or if they are ignored.
pub fn each_packet(core: &Core) -> Option<PerPacketRules> {
    let concerns = core.per_packet_rules();
    if concerns.is_empty() || !core.settings().each_packet {
        return None;
    }
    let costs = concerns.iter().zip(core.costs());
    let mut rules: Vec<RuleCost> = costs
        .map(|(concern, connections)| RuleCost {
            rule: concern.rule.to_string(),
            why: concern.kind.explain().to_owned(),
            connections: connections as u64,
        })
        .collect();
    rules.sort_by_key(|rule| Reverse(rule.connections));
    rules.truncate(MOST);
    let connections = core.statistics().declined[DeclineReason::EachPacket.index()] as u64;
    Some(PerPacketRules { connections, rules })
}
