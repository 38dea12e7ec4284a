//! Devices on the network, their conversations, and records of the network stack.

mod counted;
mod label;
mod probes;
mod talks;

use api::Problem;

pub use counted::{
    Count, Device, Devices, LanTraffic, Latency, Metered, MeteredPort, QuotaState, Rate,
    Remembered, Talk, Talks, Wifi,
};
pub use label::{DeviceLabel, DeviceLabelled};
pub use probes::{Probe, ProbeKind, ProbeRecord, Probes};
pub(crate) use talks::mac;
pub use talks::{DEFAULT_TALKS, TALKS, TalkSort, TalksQuery, normal_mac};

/// Returns the problem that the monitor is off: devices, conversations and history are unknown.
pub fn is_off() -> Problem {
    let hint = "set `enabled = true` under [monitor] in the configuration, and restart weir";
    Problem::new(409, "no_monitor", "the monitor is off", hint)
}
