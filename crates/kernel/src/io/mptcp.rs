//! Endpoints of the kernel's MPTCP path manager.

use std::net::IpAddr;

use nix::errno::Errno;

use super::RequestError;
use super::request_socket::{RequestSocket, unless};
use crate::mptcp::{self, Endpoint, Limits, decode_endpoint, decode_limits};

/// The family `mptcp_pm` of this kernel. Reading and writing need CAP_NET_ADMIN.
#[derive(Debug)]
pub struct Mptcp {
    family: u16,
    requests: RequestSocket,
    /// The number of the endpoint that was added last.
    last: u8,
}

impl Mptcp {
    /// Finds the family, in the network namespace of the calling thread. `None`: the kernel was
    /// built without MPTCP.
    ///
    /// # Errors
    /// The socket cannot be opened, or the answer makes no sense.
    pub fn open() -> Result<Option<Self>, RequestError> {
        let found = RequestSocket::of_family("mptcp_pm", "family mptcp_pm")?;
        Ok(found.map(|(family, requests)| Self {
            family: family.id,
            requests,
            // Not where a predecessor began.
            last: std::process::id().to_ne_bytes()[0],
        }))
    }

    /// Returns all endpoints of the namespace, from any origin.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn endpoints(&mut self) -> Result<Vec<Endpoint>, RequestError> {
        let family = self.family;
        let mut found = Vec::new();
        self.requests.ask(
            "MPTCP endpoints",
            |sequence| mptcp::dump_endpoints(family, sequence),
            |message| {
                found.extend(decode_endpoint(message, family)?);
                Ok(true)
            },
        )?;
        Ok(found)
    }

    /// Adds an endpoint; with `subflow`, established connections make a subflow from it at once,
    /// within the limits. `false`: an endpoint with this address and port exists, and stays
    /// unchanged.
    ///
    /// The kernel does not retry a subflow that fails or ends: the peer may refuse or reset one
    /// while it clears an older one from the same address away (seen with 6.12, not with 6.18).
    /// Check [`Subflows`](super::Subflows), then remove the endpoint and add it again.
    ///
    /// If the number is 0, this method chooses a number that was not used lately. The kernel would
    /// begin with 1 again; and the report that a number is removed, which takes another path, may
    /// reach the peer after the new subflow of that number.
    ///
    /// # Errors
    /// The kernel refused: EINVAL, a combination of flags, or the number is taken; ERANGE, too many
    /// endpoints.
    pub fn add(&mut self, endpoint: &Endpoint) -> Result<bool, RequestError> {
        let family = self.family;
        let mut endpoint = *endpoint;
        let there = self.endpoints()?;
        match there.iter().find(|there| same(there, &endpoint)) {
            // The kernel takes it over, with the number that it has.
            Some(made) if made.flags.implicit => endpoint.id = 0,
            Some(_) => return Ok(false),
            None if endpoint.id == 0 => {
                self.last = mptcp::next_id(self.last, &there);
                endpoint.id = self.last;
            }
            None => {}
        }
        let answer = self.command("a new MPTCP endpoint", |sequence| {
            mptcp::add(family, &endpoint, sequence)
        });
        unless(answer, &[Errno::EEXIST]).map(|done| done.is_some())
    }

    /// Removes the endpoint of this number and address, and the subflows from it; the kernel
    /// notifies the peer. `false`: no such endpoint.
    ///
    /// Not all kernels count the first subflow of a connection among them: see
    /// [`withdraw`](Self::withdraw).
    ///
    /// # Errors
    /// The kernel refused.
    pub fn remove(&mut self, endpoint: &Endpoint) -> Result<bool, RequestError> {
        match self.endpoints()?.iter().any(|there| {
            there.id == endpoint.id && there.address == endpoint.address && endpoint.id != 0
        }) {
            true => self.delete(endpoint.id, endpoint.address),
            false => Ok(false),
        }
    }

    /// Closes the first subflow of all connections whose first subflow is from this address. The
    /// first subflow has the number 0, regardless of its endpoint's number. A connection without
    /// another subflow continues without any, and can get one. Having nothing to close is not an
    /// error.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn remove_first(&mut self, address: IpAddr) -> Result<(), RequestError> {
        self.delete(0, address).map(drop)
    }

    /// Ends the use of an address: removes its endpoints, then the remaining first subflows.
    /// `false`: the address was not an endpoint.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn withdraw(&mut self, address: IpAddr) -> Result<bool, RequestError> {
        let mut found = false;
        for endpoint in self.endpoints()? {
            if endpoint.address == address {
                found |= self.delete(endpoint.id, address)?;
            }
        }
        self.remove_first(address)?;
        Ok(found)
    }

    /// Closes the subflows from an address and makes them again, also in connections without one
    /// there. Removing the endpoint and adding it again has that effect too, but the kernel
    /// notifies the peer that the first subflow's number is removed. Without another subflow for
    /// that notice, the notice goes out with the new subflow, which has the same number, and the
    /// peer closes it (seen with 6.18). `false`: this was not an endpoint, or the kernel lacks this
    /// feature.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn renew(&mut self, address: IpAddr) -> Result<bool, RequestError> {
        let family = self.family;
        let mut found = false;
        for mut endpoint in self.endpoints()? {
            if endpoint.address != address {
                continue;
            }
            // Each change of this flag does it (mptcp_pm_nl_fullmesh); after the second all is as
            // it was.
            for _ in 0..2 {
                endpoint.flags.fullmesh = !endpoint.flags.fullmesh;
                let answer = self.command("flags of an MPTCP endpoint", |sequence| {
                    mptcp::set_flags(family, &endpoint, sequence)
                });
                found |= there(answer)?;
            }
        }
        Ok(found)
    }

    /// Makes all endpoints of an address backup ones, or no longer, and notifies the peers of live
    /// subflows (MP_PRIO). `false`: the address is not an endpoint, and its subflows stay as they
    /// are.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn set_backup(&mut self, address: IpAddr, backup: bool) -> Result<bool, RequestError> {
        let family = self.family;
        let mut found = false;
        for mut endpoint in self.endpoints()? {
            if endpoint.address != address {
                continue;
            }
            endpoint.flags.backup = backup;
            let answer = self.command("flags of an MPTCP endpoint", |sequence| {
                mptcp::set_flags(family, &endpoint, sequence)
            });
            found |= there(answer)?;
        }
        Ok(found)
    }

    /// Returns the limits of the kernel's work for one connection.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn limits(&mut self) -> Result<Limits, RequestError> {
        let family = self.family;
        self.requests.ask_one(
            "MPTCP limits",
            |sequence| mptcp::get_limits(family, sequence),
            |message| decode_limits(message, family),
        )
    }

    /// Sets how much the kernel may do for one connection, from now on.
    ///
    /// # Errors
    /// The kernel refused: EINVAL, more than 8.
    pub fn set_limits(&mut self, limits: Limits) -> Result<(), RequestError> {
        let family = self.family;
        self.command("new MPTCP limits", |sequence| {
            mptcp::set_limits(family, limits, sequence)
        })
    }

    fn delete(&mut self, id: u8, address: IpAddr) -> Result<bool, RequestError> {
        let family = self.family;
        there(self.command("removal of an MPTCP endpoint", |sequence| {
            mptcp::remove(family, id, address, sequence)
        }))
    }

    fn command(
        &mut self,
        request: &'static str,
        question: impl Fn(u32) -> Vec<u8>,
    ) -> Result<(), RequestError> {
        self.requests.order(request, question)
    }
}

/// Returns false for a missing endpoint, for which the kernel answers EINVAL
/// (net/mptcp/pm_kernel.c); weir sends no other invalid request.
fn there(answer: Result<(), RequestError>) -> Result<bool, RequestError> {
    unless(answer, &[Errno::EINVAL]).map(|done| done.is_some())
}

/// The kernel takes them for one endpoint.
fn same(there: &Endpoint, other: &Endpoint) -> bool {
    (there.address, there.port) == (other.address, other.port)
}
