//! Devices on the network, their conversations, and records of the network stack.

mod conversations;
mod label;
mod probes;
mod traffic;

use api::Problem;

pub(crate) use conversations::mac;
pub use conversations::{
    CONVERSATION_LIMITS, ConversationSort, ConversationsQuery, DEFAULT_CONVERSATIONS, normal_mac,
};
pub use label::{DeviceLabel, LabelledDevice};
pub use probes::{Probe, ProbeKind, ProbeRecord, Probes};
pub use traffic::{
    Conversation, Conversations, Count, Device, Devices, LanTraffic, Latency, MeteredPort,
    MonitorStatus, PortCounters, QuotaState, Rate, Wifi,
};

/// Returns the problem that the monitor is off: devices, conversations and history are unknown.
pub fn is_off() -> Problem {
    let hint = "set `enabled = true` under [monitor] in the configuration, and restart weir";
    Problem::new(409, "no_monitor", "the monitor is off", hint)
}
