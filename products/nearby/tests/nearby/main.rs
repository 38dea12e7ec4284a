//! Tests of whole programs. Adapters and the air between them are simulated (`tests/lab`), and so
//! are neighbours; those tests run in a machine: `make vm-air`.

mod absent;
mod bluetooth;
mod chat;
mod cli;
mod memory;
mod scene;
mod support;
mod teller;
mod unit;
mod village;
