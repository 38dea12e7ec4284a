//! Reading what nft's JSON leaves out of rules.

use super::RequestError;
use super::request_socket::read_all;
use crate::extensions::{RuleExtensions, decode_rule, dump_rules};

/// The rules of all tables that have extensions of iptables which are read, of the network
/// namespace of the calling thread. Does not wait.
///
/// # Errors
/// The kernel does not answer as it should.
pub fn read_extensions() -> Result<Vec<RuleExtensions>, RequestError> {
    read_all("the rules", dump_rules, decode_rule)
}
