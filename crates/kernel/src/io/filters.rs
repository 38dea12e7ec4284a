//! Programs at TC ingress and egress of a device, qdiscs, and VLANs of bridges.

use nix::errno::Errno;

use super::RequestError;
use super::request_socket::{RequestSocket, unless};
use super::socket::Netlink;
use crate::message::{DecodeError, Message};
use crate::route::filter::{self, Filter, Side};
use crate::route::qdisc::{self, Listed};
use crate::route::vlans::{self, VlanTagging};
use crate::route::{self, Table};

/// Maximum number of classes of a device whose filters are read.
const CLASSES: usize = 512;
const REQUEST: &str = "filters of a device";
const QDISCS: &str = "all qdiscs";
const CLASSES_BELOW: &str = "classes of a device";
const VLANS: &str = "VLANs of bridges";

/// Qdiscs that choose among nothing, or not by filters.
const WITHOUT_FILTERS: [&str; 9] = [
    "noqueue",
    "noop",
    "mq",
    "pfifo_fast",
    "pfifo",
    "bfifo",
    "fq",
    "tbf",
    "netem",
];

/// Socket for requests of filters, qdiscs and VLANs of bridges.
#[derive(Debug)]
pub struct Filters(RequestSocket);

/// Filters of a device, in the order in which packets meet them, including those of a shared block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFilters {
    /// Filters at ingress: of a clsact or of the qdisc `ingress`.
    pub ingress: Vec<Filter>,
    /// Filters at egress: of a clsact, without those of the root qdisc.
    pub egress: Vec<Filter>,
}

impl Filters {
    /// Opens the socket, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn open() -> Result<Self, RequestError> {
        Ok(Self(RequestSocket::open(Netlink::Route, REQUEST)?))
    }

    /// Returns the filters of a device; empty if the device does not exist, or the kernel has no
    /// filters. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, its answer was malformed, or the list keeps changing.
    pub fn attached(&mut self, link: u32) -> Result<DeviceFilters, RequestError> {
        let ingress = self.list(link, Side::Ingress)?;
        // The qdisc `ingress` answers a request for its egress with its ingress filters.
        let egress = if !ingress.is_empty() && !self.list(link, Side::IngressQdisc)?.is_empty() {
            Vec::new()
        } else {
            self.list(link, Side::Egress)?
        };
        Ok(DeviceFilters { ingress, egress })
    }

    /// Returns the filters by which the qdiscs of a device and their classes choose; `qdiscs`:
    /// those of this device. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, its answer was not understood, the list changes all the time, or there
    /// are very many classes.
    pub fn choosing(&mut self, link: u32, qdiscs: &[Listed]) -> Result<Vec<Filter>, RequestError> {
        let numbered = |qdisc: &&Listed| qdisc.root || qdisc.handle != 0;
        let mut handles: Vec<u32> = (qdiscs.iter().filter(numbered))
            .filter(|qdisc| !WITHOUT_FILTERS.contains(&qdisc.kind.as_str()))
            .map(|qdisc| qdisc.handle)
            .collect();
        // Only classes of these qdiscs have filters of their own; and only classes with child
        // classes use them.
        if qdiscs
            .iter()
            .any(|q| matches!(q.kind.as_str(), "htb" | "hfsc"))
        {
            let encode = |sequence| qdisc::dump_classes(link, sequence);
            let mut inner = self.repeat(CLASSES_BELOW, encode, qdisc::decode_inner)?;
            inner.sort_unstable();
            inner.dedup();
            if inner.len() > CLASSES {
                let request = CLASSES_BELOW;
                return Err(RequestError::NoAnswer { request });
            }
            handles.extend(inner);
        }
        let mut found = Vec::new();
        for handle in handles {
            found.extend(self.list(link, Side::Of(handle))?);
        }
        Ok(found)
    }

    /// Returns the qdiscs of all devices; those that only hold filters separately. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, its answer was malformed, or the list keeps changing.
    pub fn qdiscs(&mut self) -> Result<Vec<Listed>, RequestError> {
        let encode = |sequence| route::dump(Table::Qdiscs, sequence);
        self.repeat(QDISCS, encode, qdisc::decode)
    }

    /// Returns the packets that the root qdisc of a device dropped so far, modulo 2^32; 0 without a
    /// root qdisc. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, its answer was malformed, or the list keeps changing.
    pub fn dropped(&mut self, link: u32) -> Result<u32, RequestError> {
        let encode = |sequence| route::dump(Table::Qdiscs, sequence);
        let all = self.repeat(QDISCS, encode, qdisc::decode_drops)?;
        let own = all.into_iter().find(|(of, _)| *of == link);
        Ok(own.map_or(0, |(_, dropped)| dropped))
    }

    /// Returns how all bridges and their ports tag. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, its answer was not understood, or the list changes all the time.
    pub fn vlans(&mut self) -> Result<Vec<VlanTagging>, RequestError> {
        self.repeat(VLANS, vlans::dump, vlans::decode)
    }

    fn list(&mut self, link: u32, side: Side) -> Result<Vec<Filter>, RequestError> {
        let encode = |sequence| filter::dump(link, side, sequence);
        self.repeat(REQUEST, encode, filter::decode)
    }

    fn repeat<T>(
        &mut self,
        request: &'static str,
        encode: impl Fn(u32) -> Vec<u8>,
        decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
    ) -> Result<Vec<T>, RequestError> {
        // A kernel built without filters refuses.
        let found = unless(
            self.0.collect(request, encode, decode),
            &[Errno::EOPNOTSUPP],
        )?;
        let found = found.unwrap_or_else(|| Some(Vec::new()));
        found.ok_or(RequestError::NoAnswer { request })
    }
}
