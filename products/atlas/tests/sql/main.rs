//! Free queries: their answers, and attempts by untrusted users.

mod answers;
mod attacks;
mod common;
mod duckdb;
mod owner;
mod parquet;
