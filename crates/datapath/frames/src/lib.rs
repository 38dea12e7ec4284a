//! A packet path in a namespace of its own, and frames to test it, through BPF_PROG_TEST_RUN: for
//! the tests of the packet path, and for fuzz/.

pub mod cable;
pub mod checksum;
pub mod connection;
pub mod edit;
pub mod exercise;
pub mod frame;
pub mod link;
pub mod mangle;
pub mod maps;
pub mod model;
pub mod router;

pub use connection::*;
pub use datapath::{Options, Reason, SkbFields};
pub use frame::{ACK, FIN, Frame, PSH, RST, SYN, URG};
pub use kernel::Protocol::{Tcp, Udp};
pub use link::Behind;
pub use model::Hook;
pub use router::*;
