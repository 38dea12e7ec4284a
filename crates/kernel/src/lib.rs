//! Events from Linux: conntrack entries, links, addresses, routes, rules, neighbours, qdiscs and
//! the generation of the nftables ruleset, as types. Decoding is pure
//! ([`conntrack::decode`], [`route::decode`], [`firewall::decode`], [`netdev::decode_device`]);
//! sockets live in [`io`].
//!
//! Weir also writes to the kernel: for several uplinks, MPTCP endpoints ([`mptcp`]), rules and
//! routes ([`policy`]), and settings ([`sysctls`]); and its own tables of nftables ([`elements`]).
//! All of these are recognisable as weir's, and weir removes them again.

mod batadv;
pub mod conntrack;
pub mod conversation;
pub mod element_statements;
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
pub mod tuple;
pub mod uplinks;
pub mod xfrm;

pub use conversation::{ConversationKey, Endpoints};
pub use elements::{Batch, ElementCount, ElementStep, Limit};
pub use event::*;
pub use prefix::{Prefix, PrefixError};
pub use sets::{SetContent, SetEvent, SetHeader, SetName};
pub use tuple::*;
