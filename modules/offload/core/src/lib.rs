//! The decisions of weir, without a clock, a socket or BPF: `(event, now) → actions`.
//!
//! [`Core`] takes the kernel's reports ([`kernel::Event`]) and answers with [`Action`]s: which
//! connections the packet path may know, when their proofs end, which conntrack time-outs to
//! refresh, and where to attach. The core never evaluates a rule or a route: the core makes
//! a connection *known*. The packet path forwards the connection only after it has *seen* the
//! connection at ingress, and the kernel has *proven* the connection by sending a packet.
//!
//! [`ports::plans`] (devices → hooks), [`stack::Stack`] (devices → lower devices) and
//! [`ruleset::read`] (a ruleset → per-packet rules, and their flows) are plain functions;
//! [`ExpirySchedule`] determines when proofs end without an event.

mod action;
mod activity;
mod connections;
mod core;
mod decline;
pub mod drops;
mod dump;
mod eligibility;
pub mod expiry;
mod firewall;
mod flow;
mod gateways;
mod lifetime;
mod network;
mod output;
mod pairs;
pub mod ports;
mod room;
mod route_programs;
pub mod ruleset;
mod settings;
mod silent_connections;
pub mod stack;
mod stations;
mod statistics;
mod sweep;
mod table;
mod time;
mod timeout_learner;
mod upkeep;
mod visibility;

pub use self::core::Core;
pub use action::{Action, Cause, Direction, FlowId, PAIRS, Reading};
pub use decline::DeclineReason;
pub use expiry::ExpirySchedule;
pub use flow::Flow;
pub use gateways::Gateways;
pub use pairs::Pair;
pub use ports::{Device, Limit, PortFacts, PortPlan, PortReason, Use};
pub use settings::{Hook, Mark, Settings, Timeouts};
pub use statistics::Statistics;
pub use time::Millis;
