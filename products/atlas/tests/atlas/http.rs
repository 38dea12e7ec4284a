//! The server, asked over real sockets by a client that says every byte itself.

mod charts;
mod clients;
mod common;
mod health;
mod memory;
mod pages;
mod protocol;
mod replaced;
mod running;
mod said;
mod shares;
mod slow;
