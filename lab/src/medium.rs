//! Simulates a radio medium between mac80211_hwsim radios from their power, distance and walls.
//! docs/reference/radio-medium.md lists the formulas. [`MediumModel`] is the pure model; [`Medium`] runs the
//! model between kernel radios in real time.

mod cells;
mod counts;
mod live;
mod model;
mod queue;
mod radio;
mod rate;
mod reception;
mod scene;
mod spectrum;
#[cfg(test)]
mod tests;

pub use cells::Cells;
pub use counts::Counts;
pub use live::{Medium, Report, add_radios};
pub use model::{Action, MediumModel};
pub use rate::{Code, Modulation, Rate};
pub use reception::{decibels, milliwatts, noise, right};
pub use scene::{Interferer, Position, Scene, Wall};
