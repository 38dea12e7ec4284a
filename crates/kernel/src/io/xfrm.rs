//! Reading IPsec policies.

use super::RequestError;
use super::request_socket::RequestSocket;
use super::socket::Netlink;
use crate::xfrm::{decode_idle_limit, dump_policies};

/// Returns the shortest idle time, in seconds, after which a policy ends, among those that let
/// packets pass through this router; `None`: no such policy. Does not wait; takes some 10 ms for
/// 10,000 policies.
///
/// # Errors
/// The kernel's answer is malformed.
pub fn read_idle_limit() -> Result<Option<u64>, RequestError> {
    let mut shortest: Option<u64> = None;
    // A kernel without IPsec lacks this socket, and has no policies.
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
