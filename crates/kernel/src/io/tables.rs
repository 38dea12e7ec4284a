//! Reading which tables of nf_tables there are.

use super::RequestError;
use super::asked::{Asker, End};
use super::socket::Netlink;
use crate::tables::{Table, decode_table, dump_tables};

/// How often they are read anew because they changed meanwhile.
const RETRIES: u32 = 4;

/// All tables of the network namespace of the calling thread, with their flags. Does not wait.
///
/// # Errors
/// The kernel does not answer as it should.
pub fn read_tables() -> Result<Vec<Table>, RequestError> {
    let request = "the tables";
    let mut kernel = Asker::open(Netlink::Netfilter, request)?;
    let mut tables = Vec::new();
    for _ in 0..=RETRIES {
        tables.clear();
        let end = kernel.ask(request, dump_tables, |message| {
            tables.extend(decode_table(message)?);
            Ok(true)
        })?;
        if end != End::Torn {
            break;
        }
    }
    Ok(tables)
}
