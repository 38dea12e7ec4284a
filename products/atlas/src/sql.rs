//! Free queries: SQL of any reader, over a read-only copy of the store.
//!
//! [`public`] makes the copy, with views for people; [`Queries`] starts this program again for each
//! query, as a [`Worker`] that drops all privileges that a query does not need ([`confine`]) before
//! it reads the query. `docs/reference/atlas-sql.md` lists refusals and limits.

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
