//! Quotas in `weir check`: devices that the router does not know.

use std::collections::BTreeSet;

use answers::{Devices, History, HistoryQuery, HistoryUnit};
use api::{Client, with_query};
use kernel::Mac;
use net::mac::parse_short as mac;

use super::config::QuotaSettings;
use super::recorder;
use crate::devices::DeviceSettings;
use runtime::Error;
use runtime::check::Feature;
use runtime::config::Effective;

/// Returns a line for each quota without a known device. A running daemon reports the devices seen.
pub fn check(effective: &Effective, client: Option<&Client>) -> Result<Vec<Feature>, Error> {
    let quotas = effective.named::<QuotaSettings>().keys();
    let macs: Vec<Mac> = quotas.filter_map(|name| mac(name)).collect();
    let seen = client.filter(|_| !macs.is_empty());
    let seen = seen.and_then(|client| seen_of(&macs, client));
    Ok(features(effective, seen.as_ref()))
}

/// Returns the devices that the daemon saw since its start, that people named, or that the history
/// has; `None`: the daemon does not answer.
fn seen_of(macs: &[Mac], client: &Client) -> Option<BTreeSet<Mac>> {
    let devices: Devices = client.get("/v1/devices").ok()?;
    let now = devices.devices.iter().map(|device| &device.mac);
    let named = devices.unseen.iter().map(|label| &label.mac);
    let mut seen: BTreeSet<Mac> = now.chain(named).filter_map(|text| mac(text)).collect();
    for mac in macs {
        if seen.contains(mac) {
            continue;
        }
        let asked = HistoryQuery {
            unit: HistoryUnit::Month,
            device: Some(net::mac::text(mac)),
            ..HistoryQuery::default()
        };
        // A router may keep no history.
        let history = client.get::<History>(&with_query("/v1/history", &asked));
        if history.is_ok_and(|history| !history.periods.is_empty()) {
            seen.insert(*mac);
        }
    }
    Some(seen)
}

fn features(effective: &Effective, seen: Option<&BTreeSet<Mac>>) -> Vec<Feature> {
    let feature = |name: &str, detail: String, hint: String| Feature {
        name: format!("device of `quotas.{name}`"),
        why_needed: "A quota counts the traffic of a known device.".into(),
        detail: Some(detail),
        hint: Some(hint),
        ..Feature::default()
    };
    let idle = recorder::idle(effective).map(|name| {
        let doubt = recorder::doubt_of(name);
        feature(name, doubt.what, doubt.hint)
    });
    let named: BTreeSet<Mac> = effective
        .named::<DeviceSettings>()
        .keys()
        .filter_map(|it| mac(it))
        .collect();
    let unknown = effective.named::<QuotaSettings>().keys().filter(|name| {
        let is_unknown =
            |mac: Mac| seen.is_some_and(|seen| !seen.contains(&mac) && !named.contains(&mac));
        mac(name).is_some_and(is_unknown)
    });
    let unknown = unknown.map(|name| {
        let detail = "the device is not under [devices], and weir has never seen it".to_owned();
        let hint = "correct the hardware address (`weir devices --all` lists those seen), or name \
                    the device under [devices]";
        feature(name, detail, hint.to_owned())
    });
    idle.chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::SECTIONS;
    use super::*;
    use runtime::config::{self, Section};

    #[test]
    fn a_quota_of_an_unknown_device_is_told() {
        let devices = Section::named::<DeviceSettings>("devices", DeviceSettings::NAMING);
        let sections = [&SECTIONS[..], &[devices]].concat();
        let text = "[devices.\"02:00:00:00:00:01\"]\nname = \"TV\"\n\
            [quotas.tv]\nlimit = \"1GB\"\n[quotas.laptop]\nlimit = \"1GB\"\n\
            [quotas.phone]\nlimit = \"1GB\"\n[quotas.default]\nlimit = \"1GB\"\n\
            [quotas.\"02:00:00:00:00:01\"]\nlimit = \"1GB\"\n\
            [quotas.\"02-00-00-00-00-02\"]\nlimit = \"1GB\"\n\
            [quotas.\"02:00:00:00:00:03\"]\nlimit = \"1GB\"\n";
        let effective = config::parse(&sections, text, "weir.toml").expect("good");
        let names = |seen: Option<&BTreeSet<Mac>>| {
            let found = features(&effective, seen).into_iter();
            let mut names: Vec<_> = found.map(|feature| feature.name).collect();
            names.sort_unstable();
            names
        };
        let of = |name: &str| format!("device of `quotas.{name}`");
        assert_eq!(names(None), [of("laptop"), of("phone")]);
        let seen = BTreeSet::from([[2, 0, 0, 0, 0, 2]]);
        assert_eq!(
            names(Some(&seen)),
            [of("02:00:00:00:00:03"), of("laptop"), of("phone")]
        );
    }
}
