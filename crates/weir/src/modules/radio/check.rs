//! What the radio module uses of the machine, where it is switched on.

use kernel::io::{Nl80211, RequestError};
use kernel::nl80211::WirelessKind;

use super::config::{Mode, Power};
use super::peering::{self, config::Peering};
use crate::Error;
use crate::check::Feature;
use crate::config::Effective;

/// Whether there is Wi-Fi, and an access point.
pub fn check(config: &Effective, _: Option<&api::Client>) -> Result<Vec<Feature>, Error> {
    let off = *config.of::<Power>().mode == Mode::Off;
    if off && config.of::<Peering>().device.is_none() {
        return Ok(Vec::new());
    }
    let mut all = vec![match access_points() {
        Ok(Some(0)) => wifi(
            true,
            Some("no device is an access point now".into()),
            Some("start hostapd; weir takes its devices as they come".into()),
        ),
        Ok(Some(_)) => wifi(true, None, None),
        Ok(None) => wifi(
            false,
            Some("this machine has no Wi-Fi".into()),
            Some("none needed: nothing else changes. Or load the radio's driver".into()),
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
        why_needed: "Tells what stations get, sets transmit power, and has peers of access points."
            .into(),
        detail,
        hint,
    }
}

/// How many there are. `None`: there is no Wi-Fi.
fn access_points() -> Result<Option<usize>, RequestError> {
    // The kernel's answers are awaited by an event loop.
    let Ok(runtime) = crate::event_loop() else {
        return Ok(None);
    };
    let _inside = runtime.enter();
    let Some(mut nl80211) = Nl80211::open()? else {
        return Ok(None);
    };
    let devices = nl80211.devices()?.into_iter();
    let access_point = |kind| kind == WirelessKind::AccessPoint;
    Ok(Some(
        devices.filter(|device| access_point(device.kind)).count(),
    ))
}
