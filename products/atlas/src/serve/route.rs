//! Maps addresses to routes: pure.

use crate::chart::{self, Chart};
use crate::page::Shape;

/// Route of an address.
#[derive(Clone, Copy)]
pub(crate) enum Route<'a> {
    Overview,
    Chart(&'static dyn Chart, Shape),
    Embed(&'static dyn Chart),
    /// Key of the community, as encoded in the address.
    Community(&'a str),
    Communities,
    Sql,
    Oembed,
    Ledger,
    About,
    /// A file that browsers load.
    Asset(&'a str),
    Metrics,
    Health,
    Robots,
}

/// Returns the route of a path. `None`: not found.
pub(crate) fn find(path: &str) -> Option<Route<'_>> {
    let name = path.strip_prefix('/')?;
    if let Some(name) = name.strip_prefix("chart/") {
        return chart_of(name);
    }
    if let Some(name) = name.strip_prefix("embed/") {
        return chart::find(name).map(Route::Embed);
    }
    if let Some(key) = name.strip_prefix("community/") {
        return (!key.is_empty() && !key.contains('/')).then_some(Route::Community(key));
    }
    Some(match name {
        "" => Route::Overview,
        "communities" => Route::Communities,
        "sql" => Route::Sql,
        "oembed" => Route::Oembed,
        "ledger" => Route::Ledger,
        "about" => Route::About,
        "weir-chart.js" | "page.js" | "atlas.css" | "icon.svg" => Route::Asset(name),
        "metrics" => Route::Metrics,
        "healthz" => Route::Health,
        "robots.txt" => Route::Robots,
        _ => return None,
    })
}

/// Decodes a community's key in an address. `None`: not percent-encoded text.
pub(crate) fn key(text: &str) -> Option<String> {
    // A plus sign is a blank behind the question mark alone.
    let pairs = api::query::decode(&format!("key={}", text.replace('+', "%2B")))?;
    pairs.into_iter().next().map(|(_, key)| key)
}

fn chart_of(name: &str) -> Option<Route<'static>> {
    if let Some(chart) = chart::find(name) {
        return Some(Route::Chart(chart, Shape::Page));
    }
    let (name, ending) = name.rsplit_once('.')?;
    let shape = match ending {
        "svg" => Shape::Svg,
        "json" => Shape::Json,
        "csv" => Shape::Csv,
        _ => return None,
    };
    chart::find(name).map(|chart| Route::Chart(chart, shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_is() {
        for path in [
            "/",
            "/chart/growth",
            "/chart/growth.svg",
            "/embed/growth",
            "/community/a",
        ] {
            assert!(find(path).is_some(), "{path}");
        }
        for path in [
            "",
            "*",
            "//",
            "/chart",
            "/chart/",
            "/chart/growth/",
            "/chart/growth.svg.svg",
            "/chart/growth.html",
            "/chart/.svg",
            "/chart/../sql",
            "/embed/growth.svg",
            "/community/",
            "/community/a/b",
            "/atlas.css/",
            "/../etc/passwd",
            "/%2e%2e/atlas.db",
            "/atlas.db",
        ] {
            assert!(find(path).is_none(), "{path}");
        }
    }
}
