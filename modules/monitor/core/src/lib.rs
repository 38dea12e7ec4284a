//! Network usage: from records of the packet path to flows, devices and names. Pure: no clock, no
//! socket, no BPF; except [`ipfix::Collector`], which has the socket to a collector.

pub mod apps;
pub mod conversation;
mod conversation_table;
pub mod core;
pub mod count;
pub mod device;
mod edge;
pub mod flood;
pub mod ipfix;
pub mod latency;
pub mod names;
mod neighbours;
pub mod networks;
mod pairs;
pub mod port;
pub mod probes;
pub mod rate;
pub mod reading;
mod reports;
pub mod saturation;
pub mod vendor;

pub use conversation::{Conversation, ConversationReport};
pub use conversation_table::BYTES_PER_CONVERSATION;
pub use core::{Limits, Monitor};
pub use count::{Count, Counts, Traffic};
pub use device::Device;
pub use flood::{FLOOD_LEVEL, Flood};
pub use latency::{Latency, Side, Verdict};
pub use networks::{Destination, Networks, UpperDevices, is_default};
pub use port::{Port, PortCounters};
pub use rate::Rate;
pub use reading::{
    BridgedTraffic, Direction, ForwardedTraffic, Millis, Reading, RttSample, RttStats,
    UnrecordedPortTraffic, UnrecordedStationTraffic,
};
