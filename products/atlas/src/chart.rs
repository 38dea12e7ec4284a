//! The charts. Each is a file here, and a line in [`ALL`]; `docs/reference/atlas-charts.md` describes how to
//! add one.

use rusqlite::Connection;

use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::Figure;
use crate::text::Language;

mod births;
mod cloud;
mod community;
mod countries;
mod groups;
mod growth;
mod helpers;
mod map;
mod race;
mod range;
mod rank;
mod rate;
mod routing;
mod sizes;
mod sums;
#[cfg(test)]
mod tests;
mod top;
mod versions;

/// All charts, in the order of a page.
pub static ALL: &[&dyn Chart] = &[
    &growth::Growth,
    &top::Top,
    &routing::Routing,
    &countries::Countries,
    &cloud::Cloud,
    &map::Heat,
    &map::Map,
    &community::CommunityHistory,
    &births::Births,
    &versions::Versions,
    &sizes::Sizes,
    &rate::Rate,
    &race::Race,
];

/// A chart.
pub trait Chart: Sync {
    /// Returns the name in addresses: `/chart/NAME`.
    fn name(&self) -> &'static str;

    /// Returns the title.
    fn title(&self, language: Language) -> &'static str;

    /// Returns a description of one sentence.
    fn about(&self, language: Language) -> &'static str;

    /// Returns the parameters other than `from`, `to`, `by`, `only` and those of the picture.
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    /// Computes the figure. Everything is in rollups: a chart that reads more than some 50,000 rows
    /// is too slow.
    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error>;
}

/// A parameter of a chart, for pages, errors and the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// `at=2019-10`: one time instead of a range.
    At,
    /// `n=10`: how many.
    Count,
    /// `key=…`: the community.
    Key,
    /// `group=meta`: metacommunities instead of communities.
    Group,
    /// `share=1`: parts of a hundred.
    Share,
}

pub(crate) use helpers::odd as unbelieved;
pub(crate) use range::nearest;

/// Returns the chart with a name.
pub fn find(name: &str) -> Option<&'static dyn Chart> {
    ALL.iter().copied().find(|chart| chart.name() == name)
}
