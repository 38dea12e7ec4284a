//! A community's data as charts: hourly snapshots of a directory go in, pictures, tables and free
//! queries come out. `docs/atlas.md` is for those who run it, `docs/atlas-format.md` for those who
//! describe another directory, `docs/atlas-charts.md` for those who add a chart.
//!
//! The way of a number: [`read`] takes files apart, by what a mapping says of the directory, into
//! [`snapshot::Snapshot`]s; [`store`] keeps them, and sums them up by hour, day and month;
//! a [`chart`] asks the store and gives a [`figure::Figure`]; [`svg`] draws it, [`serve`] sends it.
//! Everything but `serve`, `sql`, `site` and the commands is without sockets and clocks.

pub mod answer;
pub mod asked;
pub mod chart;
pub mod client;
mod command;
mod country;
pub mod error;
pub mod export;
pub mod figure;
mod german;
mod line;
mod nearest;
mod owned;
mod page;
mod pause;
pub mod read;
pub mod serve;
pub mod site;
pub mod snapshot;
pub mod sql;
pub mod store;
pub mod svg;
pub mod text;
pub mod time;

pub use command::main;
pub use error::Error;
