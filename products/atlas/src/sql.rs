//! Free queries: anybody's SQL, over a copy of the store that can only be read.
//!
//! [`public`] makes the copy, with views for people; [`Queries`] starts this program again for
//! each query, as a [`Worker`] that takes from itself all that a query has no need of ([`confine`])
//! before it reads the first octet of it. `docs/atlas-sql.md` says what is refused and what is
//! bounded.

mod answer;
mod cache;
mod confine;
mod copy;
mod duckdb;
mod engine;
mod examples;
mod functions;
mod limits;
mod parquet;
mod process;
mod public;
mod queries;
mod schema;
mod settings;
mod syscalls;
mod worker;

pub use answer::Answer;
pub use examples::{EXAMPLES, Example};
pub use limits::{Engine, Limits};
pub use queries::{Counts, Queries, query};
pub use schema::{ColumnDoc, TableDoc, schema};
pub use settings::Settings;
pub use worker::{Worker, worker};
