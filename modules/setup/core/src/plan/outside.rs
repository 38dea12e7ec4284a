//! The way out: the router's own uplink, without which some choices have no effect.

use super::firewall::zone_of;
use super::problem::NO_UPLINK;
use super::{Config, Planner, Wrong, text, words, yes};

impl Planner<'_> {
    /// Returns true if a firewall zone leads to an uplink, and notes a problem otherwise: one for each
    /// list of choices.
    pub(super) fn leads_outside(&mut self, field: &str) -> bool {
        if leads_outside(&self.config) {
            return true;
        }
        let list = field.split('[').next().unwrap_or(field);
        let said = self.problems.iter().any(|problem| {
            // An uplink that is chosen, and cannot be made, is one problem.
            problem.field.starts_with("internet.")
                || problem.field.starts_with(list) && problem.problem == NO_UPLINK
        });
        if !said {
            self.wrong(field, &Wrong::NoUplink);
        }
        false
    }

    /// Does the same for a network of guests. An uplink that no zone holds gets one, as guests are kept
    /// apart by zones.
    pub(super) fn leads_guests_outside(&mut self, field: &str) -> bool {
        if !leads_outside(&self.config) && is_uplink(&self.config, "wan") {
            let zone = self.zone("wan");
            self.config.list_with("firewall", &zone, "network", "wan");
        }
        self.leads_outside(field)
    }
}

/// Returns true if the zone outside holds an uplink.
fn leads_outside(config: &Config) -> bool {
    let zone = zone_of(config, "wan");
    let zone = zone.and_then(|zone| config.package("firewall")?.section(&zone));
    zone.is_some_and(|zone| {
        let has = |option| !words(zone, option).is_empty();
        let networks = words(zone, "network");
        has("device") || has("subnet") || networks.iter().any(|name| is_uplink(config, name))
    })
}

/// Returns true if an interface goes somewhere: netifd brings one with `none` up, and no address
/// comes of it.
fn is_uplink(config: &Config, interface: &str) -> bool {
    let goes = |name: &str| {
        let section = config.package("network")?.section(name)?;
        let protocol = text(section, "proto").filter(|protocol| protocol != "none");
        let is_on = protocol.is_some() && !yes(section, "disabled");
        is_on.then(|| config.device(name))
    };
    // An alias goes where the interface goes that it names.
    goes(interface).is_some_and(|device| {
        let below = device
            .as_deref()
            .and_then(|device| device.strip_prefix('@'));
        below.is_none_or(|below| goes(below).is_some())
    })
}
