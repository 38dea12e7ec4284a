//! Tests of whole programs.

mod chat;
mod cli;
mod memory;
mod support;
mod unit;
mod village;
