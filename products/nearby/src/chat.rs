//! `weir-nearby chat`: a chat with the peers nearby, in a terminal or through pipes.
//!
//! [`model`] holds the state and is pure; [`view`] turns it into rows. Threads wait for keys, for
//! events of the daemon, for messages to send and for signals; all of them only send events to the
//! loop in [`run`], or in [`plain`] without a terminal.

mod clock;
mod event;
mod input;
mod keys;
mod link;
mod model;
mod plain;
mod run;
mod text;
mod view;

pub(crate) use plain::{Outcome, plain};
pub(crate) use run::run;
pub(crate) use view::TerminalStyle;
