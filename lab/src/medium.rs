//! A medium between radios of mac80211_hwsim that knows what a radio sends with, how far it is to
//! the others, and what is in between: docs/radio-medium.md says by which formulas. [`Air`] is the
//! model, pure; [`Medium`] has it work between radios of the kernel, in real time.

mod air;
mod cells;
mod counts;
mod live;
mod queue;
mod radio;
mod rate;
mod reception;
mod scene;
mod spectrum;
#[cfg(test)]
mod tests;

pub use air::{Action, Air};
pub use cells::Cells;
pub use counts::Counts;
pub use live::{Medium, Report, add_radios};
pub use rate::{Code, Modulation, Rate};
pub use reception::{decibels, milliwatts, noise, right};
pub use scene::{Interferer, Place, Scene, Wall};
