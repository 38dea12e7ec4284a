//! Free queries: what they are answered with, and what strangers may try.

mod answers;
mod attacks;
mod common;
mod duckdb;
mod owner;
mod parquet;
