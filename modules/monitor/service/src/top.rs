//! `weir top`: who uses the network, live, in a terminal.
//!
//! [`state`] holds the displayed data and determines the next step, and is pure: `(key or answer,
//! now) → actions`. [`view`] draws it into a buffer. Threads wait: one for keys, one for the
//! daemon's answers, one for signals; all of them only send events to the loop in [`run`].

mod chart;
mod columns;
mod events;
mod find;
mod keys;
mod poll;
mod rows;
mod samples;
mod state;
mod view;

pub use run::run;

mod run;
