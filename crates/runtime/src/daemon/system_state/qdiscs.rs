//! Reads the qdiscs of devices: shapers, and filters that inspect more of a packet than weir's
//! hooks see.

use std::collections::{BTreeSet, HashMap};

use kernel::Link;
use kernel::io::Filters;
use kernel::route::filter::Filter;
use kernel::route::qdisc::Listed;
use offload_core::ports::{has_details, shaper};
use tracing::debug;

/// Root qdiscs without children and filters.
const NEVER_ASK: [&str; 6] = ["noqueue", "noop", "pfifo_fast", "pfifo", "bfifo", "fq"];

/// The qdiscs of all devices, and what was found at them.
#[derive(Default)]
pub(super) struct Qdiscs {
    /// Filters that inspect packets' connections, as last listed, by device.
    asking: HashMap<u32, Vec<String>>,
    /// All qdiscs, as last listed; `None`: they may have changed since.
    listed: Option<Vec<Listed>>,
}

impl Qdiscs {
    /// Forgets all results: packets of one device may wait at the qdiscs of another.
    pub(super) fn forget(&mut self) {
        self.listed = None;
        self.asking.clear();
    }

    /// Returns the shaper in or below a root qdisc that could be bypassed. If the list cannot be
    /// read, the qdisc counts as a shaper.
    pub(super) fn shaper(&mut self, link: &Link, filters: &mut Option<Filters>) -> Option<String> {
        if !has_details(&link.qdisc) {
            return None;
        }
        let Some(all) = self.list(filters) else {
            return Some(format!("{}, whose settings are unknown,", link.qdisc));
        };
        let own = all.iter().filter(|qdisc| qdisc.link == link.index);
        shaper(&own.cloned().collect::<Vec<_>>())
    }

    /// Lists all qdiscs; `None` if they cannot be listed.
    fn list(&mut self, filters: &mut Option<Filters>) -> Option<&[Listed]> {
        if self.listed.is_none() {
            let listed = filters.as_mut().map(|filters| filters.qdiscs());
            self.listed = listed.and_then(|listed| {
                listed
                    .inspect_err(|error| debug!(%error, "cannot list qdiscs"))
                    .ok()
            });
        }
        self.listed.as_deref()
    }

    /// Lists qdiscs and filters of a device that inspect a packet's connection or route. If the
    /// list cannot be read, the device counts as having one.
    pub(super) fn asking(&mut self, link: &Link, filters: &mut Option<Filters>) -> Vec<String> {
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
            let Some((qdiscs, chosen)) = self.choosing(device, filters) else {
                // The next check lists them again.
                return vec!["an unknown filter".to_owned()];
            };
            let nat = qdiscs.iter().find(|qdisc| qdisc.nat);
            found.extend(nat.map(|qdisc| format!("the qdisc {} with nat{at}", qdisc.kind)));
            let asks = chosen.iter().filter(|filter| filter.reads_connection);
            found.extend(asks.map(|filter| format!("{}{at}", words(filter))));
            // Packets may go to an ifb, and wait at its qdiscs.
            let actions = chosen.iter().flat_map(|filter| &filter.actions);
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
    fn choosing(
        &mut self,
        link: u32,
        filters: &mut Option<Filters>,
    ) -> Option<(Vec<Listed>, Vec<Filter>)> {
        let own = (self.list(filters)?.iter()).filter(|qdisc| qdisc.link == link);
        let own: Vec<Listed> = own.cloned().collect();
        let chosen = filters.as_mut()?.choosing(link, &own);
        let chosen = chosen.inspect_err(|error| debug!(%error, link, "cannot list filters"));
        Some((own, chosen.ok()?))
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
