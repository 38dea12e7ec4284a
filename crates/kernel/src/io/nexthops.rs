//! Reading groups of next hops.

use nix::errno::Errno;

use super::RequestError;
use super::request_socket::{RequestSocket, unless};
use super::socket::Netlink;
use crate::nexthops::{decode_bucket_idle, dump_groups};

/// Returns the shortest idle time, in milliseconds, after which a bucket of a resilient group of
/// next hops may move; `None`: no such group. Does not wait.
///
/// # Errors
/// The kernel's answer is malformed.
pub fn read_bucket_idle() -> Result<Option<u64>, RequestError> {
    let request = "groups of next hops";
    let mut shortest: Option<u64> = None;
    let mut kernel = RequestSocket::open(Netlink::Route, request)?;
    let answer = kernel.ask(request, dump_groups, |message| {
        let idle = decode_bucket_idle(message)?;
        shortest = shortest.into_iter().chain(idle).min();
        Ok(true)
    });
    // A kernel without them refuses.
    Ok(unless(answer, &[Errno::EOPNOTSUPP])?.and(shortest))
}
