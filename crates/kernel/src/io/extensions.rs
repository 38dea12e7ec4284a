//! Reading what nft's JSON leaves out of rules.

use super::RequestError;
use super::asked::{Asker, End};
use super::socket::Netlink;
use crate::extensions::{RuleExtensions, decode_rule, dump_rules};

/// How often the rules are read anew because they changed meanwhile.
const RETRIES: u32 = 4;

/// The rules of all tables that have extensions of iptables which are read, of the network
/// namespace of the calling thread. Does not wait.
///
/// # Errors
/// The kernel does not answer as it should.
pub fn read_extensions() -> Result<Vec<RuleExtensions>, RequestError> {
    let request = "the rules";
    let mut kernel = Asker::open(Netlink::Netfilter, request)?;
    let mut rules = Vec::new();
    for _ in 0..=RETRIES {
        rules.clear();
        let end = kernel.ask(request, dump_rules, |message| {
            rules.extend(decode_rule(message)?);
            Ok(true)
        })?;
        if end != End::Torn {
            break;
        }
    }
    Ok(rules)
}
