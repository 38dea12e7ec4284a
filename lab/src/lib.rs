//! A laboratory: routers, hosts and wires in network namespaces, traffic between hosts, and an
//! oracle that compares two routers.
//!
//! All parts need root. Nothing outlives the process: see [`namespace`].

pub mod addresses;
pub mod arrangement;
pub mod counters;
pub mod envelope;
pub mod error;
pub mod experiment;
pub mod frame;
pub mod gateway;
pub mod generate;
pub mod goodput;
pub mod medium;
pub mod namespace;
pub mod opennds;
pub mod oracle;
pub mod outlet;
pub mod peer;
pub mod radios;
pub mod random;
pub mod relay;
pub mod series;
pub mod talk;
pub mod topology;
pub mod transfer;
pub mod uplinks;
pub mod view;
pub mod wire;

pub use arrangement::Arrangement;
pub use error::{Error, unexpected};
pub use gateway::{Ipv6, Lab, Options};
pub use namespace::{Namespace, Process, asked_to_end, end_gently, sweep};
pub use talk::{Talk, uninterrupted};
pub use topology::{Offloads, Topology};
pub use uplinks::Uplinks;
pub use wire::Tap;
