//! The sockets. Each is opened in the network namespace of the calling thread and stays there, even
//! if the thread moves. All need a tokio runtime with I/O enabled; events and dumps need
//! CAP_NET_ADMIN.
//!
//! - [`Events`]: messages that the kernel sends by itself.
//! - [`Requests`]: dumps of tables, which run beside the events on sockets of their own, and
//!   updates of connections.
//! - [`Netdev`]: XDP abilities of drivers.
//! - [`Ethtool`]: VLAN tags that devices strip.
//! - [`Nl80211`]: wireless devices, and their stations; [`StationEvents`]: arrivals and departures.
//! - [`Peers`], [`Beacons`], [`MonitorSocket`]: access points that are peers of this one.
//! - [`Batadv`]: settings of links for batman-adv.
//! - [`Mptcp`]: addresses from which the kernel makes MPTCP subflows.
//! - [`Policy`]: policy rules and routes, read, written and removed; egress devices.
//! - [`Subflows`]: TCP connections and subflows of MPTCP, and their performance.
//! - [`Device`]: a device of weir's own, brought up and given addresses.
//! - [`load_rules`], [`try_rules`]: rulesets, by `nft`.
//! - [`Filters`]: programs at TC ingress and egress of a device, and qdiscs.
//!
//! **Order.** Events and dumps come by different sockets, so an entry of a dump may be older than
//! an event read before it. While a dump runs, remember the objects that events removed
//! ([`Event::ConnectionGone`](crate::Event), …) and ignore the dump's entries of them.

mod batadv;
mod delete;
mod device;
mod elements;
mod ethtool;
mod events;
mod extensions;
mod filters;
mod fix;
mod hwsim;
mod monitor_socket;
mod mptcp;
mod netdev;
mod nexthops;
mod nft;
mod nl80211;
mod peers;
mod policy;
mod protocol;
mod request_socket;
mod requests;
mod resolve;
mod routes;
mod sets;
mod socket;
mod subflows;
mod tables;
mod updates;
#[cfg(test)]
mod virtual_kernel;
mod xfrm;

pub use batadv::Batadv;
pub use delete::{delete_connections, delete_marked};
pub use device::Device;
pub use elements::change_elements;
pub use ethtool::Ethtool;
pub use events::Events;
pub use extensions::read_extensions;
pub use filters::{DeviceFilters, Filters};
pub use hwsim::{Hwsim, HwsimCounts};
pub use monitor_socket::MonitorSocket;
pub use mptcp::Mptcp;
pub use netdev::Netdev;
pub use nexthops::read_bucket_idle;
pub use nft::{load_rules, try_rules};
pub use nl80211::{Nl80211, StationEvents};
pub use peers::{Beacons, PeerStation, Peers};
pub use policy::Policy;
pub use requests::Requests;
pub use resolve::resolve_neighbours;
pub use routes::{Exceptions, NextHops, RoutesError, read_lifetimes, read_next_hops, read_routes};
pub use sets::{SetError, SetEvents, read_counts, read_element_statements, read_members, read_set};
pub use subflows::Subflows;
pub use tables::read_tables;
pub use updates::Outcome;
pub use xfrm::read_idle_limit;

use crate::message::DecodeError;

/// A request that was not answered as it should.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The socket failed.
    #[error("{request}: {source}")]
    Socket {
        /// Name of the request.
        request: &'static str,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The kernel refused.
    #[error("the kernel refused {request}: {errno}")]
    Refused {
        /// Name of the request.
        request: &'static str,
        /// Error number of the kernel.
        errno: nix::errno::Errno,
    },
    /// The kernel did not answer.
    #[error("the kernel did not answer {request}")]
    NoAnswer {
        /// Name of the request.
        request: &'static str,
    },
    /// The answer was not understood.
    #[error("cannot parse the answer to {request}: {source}")]
    Answer {
        /// Name of the request.
        request: &'static str,
        /// Part of the answer that was not understood.
        #[source]
        source: DecodeError,
    },
}
