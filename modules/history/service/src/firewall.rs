//! Detection of the firewall's table of quotas.

use serde::Deserialize;

/// Returns true if a ruleset, as `nft --json list ruleset` prints it, has the table of quotas.
pub fn has_quotas(ruleset: &str) -> bool {
    #[derive(Deserialize)]
    struct Listing {
        nftables: Vec<Object>,
    }
    #[derive(Deserialize)]
    struct Object {
        table: Option<Table>,
    }
    #[derive(Deserialize)]
    struct Table {
        family: String,
        name: String,
    }
    // Nearly always it is not there, and rulesets may be long.
    ruleset.contains(history_core::nft::TABLE)
        && serde_json::from_str::<Listing>(ruleset).is_ok_and(|listing| {
            let mut tables = listing.nftables.into_iter().filter_map(|o| o.table);
            tables.any(|table| table.family == "inet" && table.name == history_core::nft::TABLE)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_found_and_nothing_that_looks_like_it() {
        let listing = |family: &str, name: &str, comment: &str| {
            format!(
                r#"{{"nftables": [{{"metainfo": {{"version": "1.0.6"}}}},
                {{"table": {{"family": "{family}", "name": "{name}", "handle": 4}}}},
                {{"chain": {{"family": "inet", "table": "{name}", "name": "{comment}", "handle": 1}}}}]}}"#
            )
        };
        assert!(has_quotas(&listing("inet", "weir_quota", "forward")));
        assert!(!has_quotas(&listing("ip", "weir_quota", "forward")));
        assert!(!has_quotas(&listing("inet", "filter", "weir_quota")));
        assert!(!has_quotas("weir_quota"));
        assert!(!has_quotas(""));
    }
}
