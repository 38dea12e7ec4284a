//! Settings of an access point's section, as far as the wizard knows them.

use uci::Section;

use crate::choices::{Network, NetworkUsers, Security};
use crate::plan::{text, words};

/// Returns the users of an access point's network, if the wizard knows the access point. The wizard
/// leaves access points alone in another network, or peer with others.
pub(crate) fn whom(section: &Section) -> Option<NetworkUsers> {
    let mode = text(section, "mode");
    // Since 25.12 one network may be of several radios at once (multi-link operation).
    let links = section
        .get("device")
        .map_or(0, |device| device.values().len());
    if mode.as_deref() != Some("ap") || section.get("apup").is_some() || links != 1 {
        return None;
    }
    // An encryption that the wizard does not know has secrets of its own.
    security(section)?;
    in_network(section)
}

/// Returns the network of an access point, if the wizard knows it.
pub(super) fn in_network(section: &Section) -> Option<NetworkUsers> {
    match &*words(section, "network").join(" ") {
        "lan" => Some(NetworkUsers::Lan),
        "guest" => Some(NetworkUsers::Guest),
        _ => None,
    }
}

/// Reads the security of a network. `None`: a server that knows the users, WEP, or another method
/// that the wizard does not know. A network with one key stays unchanged, as [`Security::Kept`].
pub(crate) fn security(section: &Section) -> Option<Security> {
    let encryption = text(section, "encryption").unwrap_or_default();
    // A cipher may follow: `psk2+ccmp`.
    Some(match encryption.split('+').next().unwrap_or_default() {
        "sae" | "psk3" => Security::Wpa3,
        "sae-mixed" | "psk3-mixed" => Security::Mixed,
        "psk2" => Security::Wpa2,
        "owe" => Security::Owe,
        "none" | "open" | "" => Security::Open,
        "psk" | "psk-mixed" | "mixed-psk" => Security::Kept,
        _ => return None,
    })
}

/// Returns the wanted networks without those secrets that stay.
pub(super) fn with_keys(wanted: &[Network], known: &[Network]) -> Vec<Network> {
    let mut whole = wanted.to_vec();
    for network in whole.iter_mut().filter(|one| one.key.is_none()) {
        let same = |one: &&Network| one.ssid == network.ssid && one.whom == network.whom;
        // Two radios may have networks of one name with different keys.
        let own = |one: &&Network| {
            same(one) && one.radios == network.radios && one.security == network.security
        };
        let all = || known.iter();
        let found = all().find(own).or_else(|| all().find(same));
        network.key = found.and_then(|one| one.key.clone());
    }
    whole
}
