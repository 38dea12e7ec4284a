//! Settings of batman-adv.

use super::RequestError;
use super::request_socket::RequestSocket;
use crate::batadv::set_throughput;

pub(super) const THROUGHPUT: &str = "throughput of a link (SET_HARDIF)";

/// The family `batadv` of this kernel. Needs `CAP_NET_ADMIN`; nothing here waits.
#[derive(Debug)]
pub struct Batadv {
    family: u16,
    requests: RequestSocket,
}

impl Batadv {
    /// Finds the family, in the network namespace of the calling thread. `None`: batman-adv is not
    /// loaded.
    ///
    /// # Errors
    /// The socket cannot be opened, or the answer makes no sense.
    pub fn open() -> Result<Option<Self>, RequestError> {
        let found = RequestSocket::of_family("batadv", "family batadv")?;
        Ok(found.map(|(family, requests)| Self {
            family: family.id,
            requests,
        }))
    }

    /// Sets the throughput of a device (`link`) in a mesh (`mesh`) of batman-adv, bits a second.
    /// B.A.T.M.A.N. V then uses no other measure, until this sets `None`; IV ignores the setting.
    ///
    /// # Errors
    /// The kernel refused: EINVAL or ENODEV, the device is not in there; EOPNOTSUPP, this
    /// batman-adv has no such setting.
    pub fn set_throughput(
        &mut self,
        mesh: u32,
        link: u32,
        bits: Option<u64>,
    ) -> Result<(), RequestError> {
        let family = self.family;
        let question = |sequence| set_throughput(family, mesh, link, bits, sequence);
        self.requests.order(THROUGHPUT, question)
    }
}
