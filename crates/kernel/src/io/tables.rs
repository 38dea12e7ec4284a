//! Lists the tables of nf_tables.

use super::RequestError;
use super::request_socket::read_all;
use crate::tables::{Table, decode_table, dump_tables};

/// Returns all tables of the calling thread's network namespace, with flags. Does not wait.
///
/// # Errors
/// The kernel does not answer as it should.
pub fn read_tables() -> Result<Vec<Table>, RequestError> {
    read_all("the tables", dump_tables, decode_table)
}
