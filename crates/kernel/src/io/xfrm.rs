//! Reading IPsec policies.

use super::RequestError;
use super::request_socket::RequestSocket;
use super::socket::Netlink;
use crate::xfrm::{decode_idle_limit, dump_policies};

/// After how many seconds without a packet the first policy ends, among those that let packets pass
/// through this router; `None`: none does so. Does not wait; takes some 10 ms for 10,000 policies.
///
/// # Errors
/// The kernel does not answer as it should.
pub fn read_idle_limit() -> Result<Option<u64>, RequestError> {
    let mut shortest: Option<u64> = None;
    // A kernel without IPsec has no such socket, and no policies.
    let Ok(mut kernel) = RequestSocket::open(Netlink::Xfrm, "IPsec policies") else {
        return Ok(None);
    };
    kernel.ask("IPsec policies", dump_policies, |message| {
        let limit = decode_idle_limit(message)?;
        shortest = shortest.into_iter().chain(limit).min();
        Ok(true)
    })?;
    Ok(shortest)
}
