//! Checks the machine for the radio module, if the module is on.

use kernel::io::{Nl80211, RequestError};
use kernel::nl80211::WirelessKind;
use nix::net::if_::if_indextoname;

use super::config::{Mode, Power};
use super::peering::{self, config::Peering};
use runtime::Error;
use runtime::check::Feature;
use runtime::config::Effective;

/// Checks for Wi-Fi and for an access point.
pub fn check(config: &Effective, _: Option<&api::Client>) -> Result<Vec<Feature>, Error> {
    let off = *config.of::<Power>().mode == Mode::Off;
    if off && config.of::<Peering>().device.is_none() {
        return Ok(peering::check::check(config.of::<Peering>()));
    }
    let start = || Some("start hostapd; weir finds its devices automatically".into());
    let mut all = vec![match access_points() {
        Ok(Some(there)) if there.is_empty() => wifi(
            true,
            Some("no device is an access point at present".into()),
            start(),
        ),
        Ok(Some(there)) => match named(config).find(|name| !there.contains(name)) {
            Some(name) => wifi(
                true,
                Some(format!(
                    "{name} is not an access point at present, {} is",
                    there.join(", ")
                )),
                start(),
            ),
            None => wifi(true, None, None),
        },
        Ok(None) => wifi(
            false,
            Some("this machine has no Wi-Fi".into()),
            Some("not required otherwise; or load the radio's driver".into()),
        ),
        Err(error) => wifi(
            false,
            Some(error.to_string()),
            Some("run it as root, outside of a container".into()),
        ),
    }];
    all.extend(peering::check::check(config.of::<Peering>()));
    Ok(all)
}

fn wifi(present: bool, detail: Option<String>, hint: Option<String>) -> Feature {
    Feature {
        name: "nl80211".into(),
        min_version: Some("2.6.24".into()),
        present,
        required: false,
        why_needed: "Measures throughput of stations, sets transmit power, and connects peering \
            access points."
            .into(),
        detail,
        hint,
    }
}

/// Returns the devices of access points in the configuration.
fn named(config: &Effective) -> impl Iterator<Item = String> {
    let power = config.of::<Power>();
    let watched = (*power.mode != Mode::Off).then(|| power.devices.iter());
    let peered = config.of::<Peering>().device.iter();
    let all = watched.into_iter().flatten().chain(peered);
    all.map(|device| device.0.clone())
}

/// Lists the access points. `None`: no Wi-Fi device.
fn access_points() -> Result<Option<Vec<String>>, RequestError> {
    // The kernel's answers are awaited by an event loop.
    let Ok(runtime) = runtime::event_loop() else {
        return Ok(None);
    };
    let _inside = runtime.enter();
    let Some(mut nl80211) = Nl80211::open()? else {
        return Ok(None);
    };
    let devices = nl80211.devices()?.into_iter();
    let links = devices.filter(|device| device.kind == WirelessKind::AccessPoint);
    // A device that has gone since has no name.
    let names = links.filter_map(|device| if_indextoname(device.link).ok());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    Ok(Some(names.collect()))
}
