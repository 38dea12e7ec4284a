//! `weir-nearby chat`: to talk with those who are near, in a terminal or through pipes.
//!
//! [`model`] knows what was said and what is to be done next, and is pure; [`view`] makes rows of it.
//! Threads wait: one for keys, one for what the daemon tells, one that says what is to be said, one for
//! signals; all of them only send events to the loop in [`run`], or in [`plain`] where there is no
//! terminal.

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

pub(crate) use plain::{Ended, plain};
pub(crate) use run::run;
pub(crate) use view::Look;
