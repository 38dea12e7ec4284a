//! The server, queried over real sockets by a client that controls every byte.

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
