//! Network usage: from records of the packet path to flows, devices and names. Pure: no clock, no
//! socket, no BPF; except [`ipfix::Collector`], which has the socket to a collector.

pub mod apps;
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
pub mod talk;
mod talks;
pub mod vendor;

pub use core::{Limits, Monitor};
pub use count::{Both, Count, Traffic};
pub use device::Device;
pub use flood::{FULL, Flood};
pub use latency::{Latency, Side, Verdict};
pub use networks::{Above, Leads, Networks, is_default};
pub use port::{Metered, Port};
pub use rate::Rate;
pub use reading::{Bridged, Forwarded, Loose, Millis, Reading, Rest, Times, Waited, Way};
pub use talk::{Talk, Told};
pub use talks::OCTETS as TALK_OCTETS;
