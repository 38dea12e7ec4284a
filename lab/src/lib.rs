//! A laboratory: routers, hosts and wires in network namespaces, traffic between hosts, and an
//! oracle that compares two routers.
//!
//! All parts need root. Nothing outlives the process: see [`namespace`].

pub mod addresses;
pub mod arrangement;
pub mod counters;
pub mod encapsulation;
pub mod error;
pub mod experiment;
pub mod frame;
pub mod gateway;
pub mod generate;
pub mod goodput;
pub mod iperf;
pub mod medium;
pub mod namespace;
pub mod opennds;
pub mod oracle;
pub mod radios;
pub mod random;
pub mod relay;
pub mod series;
pub mod test_port;
pub mod topology;
pub mod transfer;
pub mod udp_pair;
pub mod uplinks;
pub mod view;
pub mod wire;

pub use arrangement::Arrangement;
pub use error::{Error, unexpected};
pub use gateway::{Ipv6, Lab, Options};
pub use namespace::{Namespace, Process, asked_to_end, end_gently, sweep};
pub use topology::{Offloads, Topology};
pub use udp_pair::{UdpPair, uninterrupted};
pub use uplinks::Uplinks;
pub use wire::Tap;
