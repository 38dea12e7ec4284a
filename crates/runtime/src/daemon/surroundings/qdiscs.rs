//! What is at the qdiscs of devices: what shapes there, and what looks at more of a packet than
//! weir's have.

use std::collections::BTreeSet;

use kernel::Link;
use kernel::route::filter::Filter;
use kernel::route::qdisc::Listed;
use offload_core::ports::{has_details, shaper};
use tracing::debug;

use super::Surroundings;

/// Roots below which nothing is, and which go by no filters.
const NEVER_ASK: [&str; 6] = ["noqueue", "noop", "pfifo_fast", "pfifo", "bfifo", "fq"];

impl Surroundings {
    /// Packets of one device may wait at the qdiscs of another: what was found at any of them goes.
    pub(super) fn forget_qdiscs(&mut self) {
        self.qdiscs = None;
        self.asking.clear();
    }

    /// What shapes in or below a root qdisc that may be passed by. Where that cannot be listed,
    /// something may.
    pub(super) fn shaper(&mut self, link: &Link) -> Option<String> {
        if !has_details(&link.qdisc) {
            return None;
        }
        let Some(all) = self.list_qdiscs() else {
            return Some(format!("{}, as it cannot be looked into,", link.qdisc));
        };
        let own = all.iter().filter(|qdisc| qdisc.link == link.index);
        shaper(&own.cloned().collect::<Vec<_>>())
    }

    /// All qdiscs; `None` where they cannot be listed.
    fn list_qdiscs(&mut self) -> Option<&[Listed]> {
        if self.qdiscs.is_none() {
            let listed = self.filters.as_mut().map(|filters| filters.qdiscs());
            self.qdiscs = listed.and_then(|listed| {
                listed
                    .inspect_err(|error| debug!(%error, "qdiscs cannot be listed"))
                    .ok()
            });
        }
        self.qdiscs.as_deref()
    }

    /// What among the qdiscs of a device and their filters looks at a packet's connection or route.
    /// Where that cannot be listed, something may.
    pub(super) fn asking(&mut self, link: &Link) -> Vec<String> {
        if NEVER_ASK.contains(&link.qdisc.as_str()) {
            return Vec::new();
        }
        let link = link.index;
        if let Some(known) = self.asking.get(&link) {
            return known.clone();
        }
        let (mut found, mut seen, mut todo) = (Vec::new(), BTreeSet::from([link]), vec![link]);
        while let Some(device) = todo.pop() {
            let at = match device == link {
                true => String::new(),
                false => format!(" at {}", name_of(device)),
            };
            let Some((qdiscs, filters)) = self.choosing(device) else {
                // Asked for again with the next look.
                return vec!["what cannot be listed".to_owned()];
            };
            let nat = qdiscs.iter().find(|qdisc| qdisc.nat);
            found.extend(nat.map(|qdisc| format!("the qdisc {} with nat{at}", qdisc.kind)));
            let asks = filters.iter().filter(|filter| filter.asks);
            found.extend(asks.map(|filter| format!("{}{at}", words(filter))));
            // Packets may go to an ifb, and wait at its qdiscs.
            let actions = filters.iter().flat_map(|filter| &filter.actions);
            todo.extend(
                actions
                    .filter_map(|action| action.to)
                    .filter(|to| seen.insert(*to)),
            );
        }
        self.asking.insert(link, found.clone());
        found
    }

    /// The qdiscs of a device, and the filters by which they choose.
    fn choosing(&mut self, link: u32) -> Option<(Vec<Listed>, Vec<Filter>)> {
        let own = (self.list_qdiscs()?.iter()).filter(|qdisc| qdisc.link == link);
        let own: Vec<Listed> = own.cloned().collect();
        let filters = self.filters.as_mut()?.choosing(link, &own);
        let filters = filters.inspect_err(|error| debug!(%error, link, "filters cannot be listed"));
        Some((own, filters.ok()?))
    }
}

/// A filter in words, with the devices that it sends packets to.
pub(super) fn words(filter: &Filter) -> String {
    let mut words = filter.to_string();
    for to in filter.actions.iter().filter_map(|action| action.to) {
        words = format!("{words} to {}", name_of(to));
    }
    words
}

fn name_of(link: u32) -> String {
    nix::net::if_::if_indextoname(link).map_or_else(
        |_| format!("device {link}"),
        |name| name.to_string_lossy().into_owned(),
    )
}
