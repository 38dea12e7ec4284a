//! A community's data as charts: hourly snapshots of a directory go in, pictures, tables and free
//! queries come out. `docs/how-to/atlas.md` is for operators, `docs/reference/atlas-format.md` for descriptions of
//! other directories, `docs/reference/atlas-charts.md` for new charts.
//!
//! Data flow: [`read`] parses files, by a mapping of the directory, into [`snapshot::Snapshot`]s;
//! [`store`] stores them, with sums by hour, day and month; a [`chart`] queries the store and
//! returns a [`figure::Figure`]; [`svg`] draws it, [`serve`] sends it. All but `serve`, `sql`,
//! `site` and the commands works without sockets and clocks.

pub mod answer;
pub mod chart;
pub mod chart_query;
pub mod client;
mod command;
mod country;
pub mod error;
pub mod export;
mod fair_queue;
pub mod figure;
mod gaps;
mod german;
mod owned_folder;
mod page;
pub mod read;
pub mod serve;
pub mod site;
pub mod snapshot;
pub mod sql;
pub mod store;
mod suggestions;
pub mod svg;
pub mod text;
pub mod time;

pub use command::main;
pub use error::Error;
