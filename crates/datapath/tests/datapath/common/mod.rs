//! A packet path in a namespace of its own, and the packets to try it with, through
//! BPF_PROG_TEST_RUN. Also used by fuzz/.
#![allow(dead_code, unused_imports)]

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
pub use frame::{ACK, FIN, Frame, PSH, RST, SYN, URG};
pub use kernel::Protocol::{Tcp, Udp};
pub use link::Behind;
pub use model::Hook;
pub use router::*;
pub use weir_datapath::{Options, Reason, SkbFields};
