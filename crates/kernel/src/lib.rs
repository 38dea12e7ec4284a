//! What Linux tells weir: conntrack entries, links, addresses, routes, rules, neighbours, qdiscs
//! and the generation of the nftables ruleset, as typed events. Decoding is pure
//! ([`conntrack::decode`], [`route::decode`], [`firewall::decode`], [`netdev::decode_device`]);
//! sockets live in [`io`].
//!
//! What weir writes beside that belongs to several uplinks: MPTCP endpoints ([`mptcp`]), rules and
//! routes ([`policy`]), and settings ([`sysctls`]); or to its own tables of nftables ([`elements`]).
//! Each can be told from what others wrote, and is taken back.

mod batadv;
pub mod conntrack;
pub mod elements;
mod encode;
pub mod ethtool;
pub mod event;
pub mod extensions;
pub mod facts;
pub mod firewall;
#[cfg(test)]
mod fixture;
pub mod hwsim;
pub mod io;
pub mod kept;
pub mod members;
pub mod message;
pub mod mptcp;
pub mod netdev;
pub mod nexthops;
pub mod nl80211;
pub mod policy;
mod prefix;
pub mod release;
pub mod route;
pub mod routes;
mod rtnetlink;
pub mod sets;
pub mod subflows;
pub mod sysctls;
pub mod tables;
pub mod talk;
pub mod tuple;
pub mod uplinks;
pub mod xfrm;

pub use elements::{Batch, ElementCount, ElementStep, Limit};
pub use event::*;
pub use prefix::{Prefix, PrefixError};
pub use sets::{SetContent, SetEvent, SetHeader, SetName};
pub use talk::{Ends, TalkKey};
pub use tuple::*;
