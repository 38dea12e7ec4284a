//! Wi-Fi networks.

mod known;

use md5::{Digest, Md5};
use uci::Section;

use super::check::is_wifi_key;
use super::guest::GuestPlan;
use super::radios::{Radios, is_keyed, is_off};
use super::{Config, Facts, ProblemKind, Radio, Report, is_enabled, text};
use crate::choices::{Network, NetworkUsers, Security, Wifi};
use crate::read::{network_of, wifi_of};
use known::{in_network, with_keys};
pub(crate) use known::{security, whom};

/// Most networks: more than eight cost a radio most of its time for their beacons.
const MOST: usize = 8;

/// Edits networks of Wi-Fi, and the country of the radios.
pub(super) fn edit(wifi: &Wifi, config: &mut Config, facts: &Facts, report: &mut Report) {
    let mut plan = WifiPlan {
        config,
        facts,
        report,
    };
    plan.edit(wifi);
}

/// A plan for networks of Wi-Fi.
struct WifiPlan<'a> {
    config: &'a mut Config,
    facts: &'a Facts,
    report: &'a mut Report,
}

impl WifiPlan<'_> {
    fn radios(&mut self) -> Radios<'_> {
        Radios::new(self.config, self.facts, self.report)
    }

    fn edit(&mut self, wifi: &Wifi) {
        let Wifi { country, networks } = wifi_of(self.config);
        let known = networks.unwrap_or_default();
        let Some(networks) = &wifi.networks else {
            return self.radios().set_country("wifi.country", &wifi.country);
        };
        let whole = with_keys(networks, &known);
        if whole == known && (wifi.country.is_empty() || wifi.country == country) {
            return;
        }
        if networks.len() > MOST.max(known.len()) {
            return self
                .report
                .add_problem("wifi.networks", &ProblemKind::TooMany(MOST));
        }
        self.radios().set_country("wifi.country", &wifi.country);
        let good: Vec<bool> = (networks.iter().enumerate())
            .map(|(n, network)| {
                // A network that is there already is not judged.
                let is_known = |n: usize| known.contains(&whole[n]);
                is_known(n) || {
                    let is_twice = self.is_twice(n, networks, is_known);
                    self.good_network(&format!("wifi.networks[{n}]"), network) && !is_twice
                }
            })
            .collect();
        if !networks.is_empty() && self.facts.radios.is_empty() {
            let what = "radio (wifi-device in /etc/config/wireless)".to_owned();
            return self
                .report
                .add_problem("wifi.networks", &ProblemKind::Lacking(what));
        }
        let is_guest = |one: &&Network| one.whom == NetworkUsers::Guest;
        let guests = || (whole.iter().enumerate()).filter(|(_, one)| is_guest(one));
        let is_known = |ssid: &str| {
            let mut all = known.iter().filter(is_guest);
            all.any(|other| other.ssid == ssid)
        };
        if !guests().all(|(_, one)| is_known(&one.ssid)) {
            // A network that is switched off is there, too.
            let new = guests().find(|(_, one)| !self.has_network(one));
            let new = new.map(|(n, _)| format!("wifi.networks[{n}]"));
            GuestPlan::new(self.config, self.facts, self.report).make(new.as_deref());
        } else if guests().next().is_none() && known.iter().any(|one| is_guest(&one)) {
            GuestPlan::new(self.config, self.facts, self.report).remove();
        }
        let radios = self.facts.radios.clone();
        for radio in &radios {
            self.access_points(radio, networks, &good);
        }
    }

    /// Makes the access points of a radio match the wanted networks. `good` is true for each
    /// network that can be made.
    fn access_points(&mut self, radio: &Radio, wanted: &[Network], good: &[bool]) {
        let was_off = is_off(self.config, &radio.name);
        // Sections of this radio that can be reused, in their order.
        let mut free: Vec<(String, NetworkUsers, Option<String>)> = self
            .config
            .of_type("wireless", "wifi-iface")
            .filter(|section| text(section, "device").as_deref() == Some(&radio.name))
            .filter_map(|section| {
                let ssid = text(section, "ssid");
                Some((section.name.clone(), whom(section)?, ssid))
            })
            .collect();
        for (n, network) in wanted.iter().enumerate() {
            let by = network.radios.is_empty() || network.radios.contains(&radio.name);
            if !by || !good[n] {
                continue;
            }
            let field = format!("wifi.networks[{n}]");
            let same = |point: &usize| {
                let (_, whom, ssid) = &free[*point];
                *whom == network.whom && ssid.as_deref() == Some(&network.ssid)
            };
            // Of several access points with one name, a network gets the one with its key, or a
            // free one.
            let rank = |point: &usize| {
                let key = self.config.get("wireless", &free[*point].0, "key");
                let is_same =
                    |other: &&Network| other.ssid == network.ssid && other.whom == network.whom;
                let mut others = wanted.iter().filter(is_same);
                match key == network.key {
                    true => 0,
                    false => 1 + u8::from(others.any(|other| key.is_some() && other.key == key)),
                }
            };
            let there = (0..free.len()).filter(same).min_by_key(rank);
            if there.is_none() && self.is_taken(radio, &network.ssid) {
                self.report
                    .add_problem(format!("{field}.ssid"), &ProblemKind::Twice);
                continue;
            }
            // An access point that is there already is not refused.
            if there.is_none()
                && let Some(band) = radio.lacking_band()
            {
                let wrong = ProblemKind::NotOnAir(radio.name.clone(), band.to_owned());
                self.report.add_problem(format!("{field}.radios"), &wrong);
                continue;
            }
            let other = |(name, whom, ssid): &(String, NetworkUsers, Option<String>)| {
                // A name that is taken by another network of the list is that network's.
                let theirs = |other: &Network| ssid.as_deref() == Some(&other.ssid);
                // An access point that is switched off waits for being switched on.
                let waits = is_off(self.config, name) || was_off && is_keyed(self.config, name);
                *whom == network.whom && !wanted.iter().any(theirs) && !waits
            };
            let found = there.or_else(|| free.iter().position(other));
            let section = match found {
                Some(found) => free.remove(found).0,
                None => self.new_access_point(radio, network.whom),
            };
            self.access_point(&field, &section, radio, network);
        }
        // An access point that is switched off stays as it is, unless it comes on with its radio.
        if is_off(self.config, &radio.name) {
            return;
        }
        for (section, _, ssid) in free {
            if was_off && is_keyed(self.config, &section) {
                self.config.set("wireless", &section, "disabled", "1");
            } else if !is_off(self.config, &section) {
                self.radios()
                    .remove(&section, &radio.name, &ssid.unwrap_or_default());
            }
        }
    }

    /// Returns true if a radio has an access point of this name for the same networks, with an
    /// encryption that the wizard does not know.
    fn is_taken(&self, radio: &Radio, ssid: &str) -> bool {
        let mut sections = self.config.of_type("wireless", "wifi-iface");
        sections.any(|section| {
            let is = |option, value| text(section, option).as_deref() == Some(value);
            is("device", &radio.name)
                && is("mode", "ap")
                && is("ssid", ssid)
                && security(section).is_none()
                && in_network(section).is_some()
                && !is_enabled(section, "disabled")
        })
    }

    fn good_network(&mut self, field: &str, network: &Network) -> bool {
        let before = self.report.problems().len();
        self.report
            .text(&format!("{field}.ssid"), &network.ssid, 32);
        let keyed = !matches!(network.security, Security::Open | Security::Owe);
        match &network.key {
            Some(_) if !keyed => self
                .report
                .add_problem(format!("{field}.key"), &ProblemKind::KeyUnused),
            Some(key) if keyed && !is_wifi_key(key) => {
                let wrong = match key.len() {
                    0 => ProblemKind::NeedsKey,
                    1..8 => ProblemKind::TooShort(8),
                    _ => ProblemKind::NotAWifiKey,
                };
                self.report.add_problem(format!("{field}.key"), &wrong);
            }
            Some(key) if key.len() == 64 && self.takes_password(network) => {
                self.report
                    .add_problem(format!("{field}.key"), &ProblemKind::NotAPassword);
            }
            None if keyed
                && network.security != Security::Kept
                && self.known(network, "key").is_none() =>
            {
                self.report
                    .add_problem(format!("{field}.key"), &ProblemKind::NeedsKey);
            }
            _ => {}
        }
        if network.security == Security::Kept && self.known(network, "encryption").is_none() {
            let wrong = ProblemKind::NothingKept(network.ssid.clone());
            self.report.add_problem(format!("{field}.security"), &wrong);
        }
        for name in &network.radios {
            let Some(radio) = self.facts.radios.iter().find(|radio| radio.name == *name) else {
                self.report.add_problem(
                    format!("{field}.radios"),
                    &ProblemKind::UnknownRadio(name.clone()),
                );
                continue;
            };
            let hard = matches!(network.security, Security::Wpa3 | Security::Owe);
            let only6 = radio.bands.iter().all(|band| band == "6g") && !radio.bands.is_empty();
            if (hard || only6) && !radio.wpa3 {
                let wrong = ProblemKind::NoWpa3(name.clone());
                self.report.add_problem(format!("{field}.security"), &wrong);
            }
        }
        self.report.problems().len() == before
    }

    /// Refuses a network whose name another one has on one of its radios. Of two networks the later
    /// one is wrong, unless the router has it already. Existing networks of one name stay.
    fn is_twice(&mut self, n: usize, wanted: &[Network], is_known: impl Fn(usize) -> bool) -> bool {
        let network = &wanted[n];
        let on =
            |one: &Network, radio: &String| one.radios.is_empty() || one.radios.contains(radio);
        let is_twice = self.facts.radios.iter().any(|radio| {
            let others = || {
                let all = wanted.iter().enumerate().filter(|(k, _)| *k != n);
                all.filter(|(_, other)| other.ssid == network.ssid && on(other, &radio.name))
            };
            let meets = others().any(|(k, other)| k < n || self.has_network(other));
            let before = others()
                .filter(|(k, other)| other.whom == network.whom && (*k < n || is_known(*k)));
            on(network, &radio.name) && meets && before.count() >= self.points(&radio.name, network)
        });
        if is_twice {
            self.report
                .add_problem(format!("wifi.networks[{n}].ssid"), &ProblemKind::Twice);
        }
        is_twice
    }

    /// Counts the access points of a radio on air with a network's name, for the same people.
    fn points(&self, radio: &str, network: &Network) -> usize {
        let all = self.config.of_type("wireless", "wifi-iface");
        let is_one = |section: &&Section| {
            whom(section) == Some(network.whom)
                && text(section, "device").as_deref() == Some(radio)
                && text(section, "ssid").as_deref() == Some(&network.ssid)
                && !is_enabled(section, "disabled")
        };
        all.filter(|_| !is_off(self.config, radio))
            .filter(is_one)
            .count()
    }

    /// Returns true if a network has a password on some radio, by SAE. hostapd takes no key of
    /// hexadecimal digits for one (`sae_get_password`).
    fn takes_password(&self, network: &Network) -> bool {
        let named =
            |radio: &&Radio| network.radios.is_empty() || network.radios.contains(&radio.name);
        let mut radios = self.facts.radios.iter().filter(named);
        match network.security {
            Security::Wpa3 => true,
            Security::Mixed => radios.any(|radio| radio.wpa3),
            Security::Wpa2 | Security::Owe | Security::Open | Security::Kept => false,
        }
    }

    /// Returns true if the router has a network of this name, for the same people.
    fn has_network(&self, network: &Network) -> bool {
        let mut all = self.config.of_type("wireless", "wifi-iface");
        all.any(|section| {
            whom(section) == Some(network.whom)
                && text(section, "ssid").as_deref() == Some(&network.ssid)
        })
    }

    /// Returns the present value of a network's option.
    fn known(&self, network: &Network, option: &str) -> Option<String> {
        self.config
            .of_type("wireless", "wifi-iface")
            .filter(|section| whom(section) == Some(network.whom))
            .find(|section| text(section, "ssid").as_deref() == Some(&network.ssid))
            .and_then(|section| text(section, option))
    }

    fn new_access_point(&mut self, radio: &Radio, whom: NetworkUsers) -> String {
        let word = match whom {
            NetworkUsers::Lan => "wifi",
            NetworkUsers::Guest => "guests",
        };
        let section = (1..)
            .map(|n| match n {
                1 => format!("{word}_{}", radio.name),
                n => format!("{word}{n}_{}", radio.name),
            })
            .find(|name| !self.config.has("wireless", name))
            .unwrap_or_default();
        self.config.section("wireless", &section, "wifi-iface");
        section
    }

    fn access_point(&mut self, field: &str, section: &str, radio: &Radio, network: &Network) {
        let known = self
            .config
            .package("wireless")
            .and_then(|wireless| network_of(wireless.section(section)?));
        // If two networks have one name, each on a radio of its own, each keeps its own key.
        let own = known
            .as_ref()
            .filter(|own| own.ssid == network.ssid && own.whom == network.whom)
            .and_then(|own| own.key.clone());
        let key = network.key.clone().or(own);
        let key = key.or_else(|| self.known(network, "key"));
        let six = radio.bands.iter().any(|band| band == "6g") && radio.bands.len() == 1;
        // Encryption that the radio lacks is left out if the choice permits, and reported.
        let security = match network.security {
            // 6 GHz supports nothing else (Wi-Fi Alliance, WPA3 specification 3.1, section 11).
            Security::Mixed | Security::Wpa2 if six => Security::Wpa3,
            Security::Open if six => Security::Owe,
            Security::Mixed if !radio.wpa3 => Security::Wpa2,
            Security::Wpa3 | Security::Owe if !radio.wpa3 => {
                return self.report.add_problem(
                    format!("{field}.security"),
                    &ProblemKind::NoWpa3(radio.name.clone()),
                );
            }
            security => security,
        };
        // Management frames are protected: by WPA3 always, in mixed mode if a station supports it.
        let kept = self.known(network, "encryption").unwrap_or_default();
        let (encryption, protected) = match security {
            Security::Mixed => ("sae-mixed", Some("1")),
            Security::Wpa3 => ("sae", Some("2")),
            Security::Wpa2 => ("psk2", None),
            Security::Owe => ("owe", Some("2")),
            Security::Open => ("none", None),
            Security::Kept => (&*kept, None),
        };
        let keyed = !matches!(security, Security::Open | Security::Owe);
        let whole = Network {
            key: key.clone().filter(|_| keyed),
            security,
            radios: vec![radio.name.clone()],
            ..network.clone()
        };
        let is_on = !is_off(self.config, section) && !is_off(self.config, &radio.name);
        if is_on && known.as_ref() == Some(&whole) {
            return;
        }
        let known = known.as_ref();
        let whom = match network.whom {
            NetworkUsers::Lan => "lan",
            NetworkUsers::Guest => "guest",
        };
        let before = self.config.package("wireless").map(uci::Package::text);
        let config = &mut *self.config;
        let former = config.get("wireless", section, "ssid");
        if known.is_none() {
            for (option, value) in [("device", &*radio.name), ("mode", "ap"), ("network", whom)] {
                config.set("wireless", section, option, value);
            }
        }
        config.set("wireless", section, "ssid", &network.ssid);
        if known.is_none_or(|known| known.security != security) {
            config.set("wireless", section, "encryption", encryption);
            config.set_if("wireless", section, "ieee80211w", protected);
        }
        if known.is_none_or(|known| known.security != security || known.key != whole.key) {
            config.set_if("wireless", section, "key", whole.key.as_deref());
        }
        if known.is_none() && network.whom == NetworkUsers::Guest {
            config.set("wireless", section, "isolate", "1");
        }
        let switch = |on: bool| on.then_some("1");
        if known.is_none_or(|known| known.hidden != network.hidden) {
            config.set_if("wireless", section, "hidden", switch(network.hidden));
        }
        let is_renamed = former.as_deref() != Some(&network.ssid);
        if known
            .is_none_or(|known| known.roaming != network.roaming || network.roaming && is_renamed)
        {
            roaming(config, section, network, former.as_deref());
        }
        if is_off(self.config, section) {
            self.config.unset("wireless", section, "disabled");
        }
        if is_off(self.config, &radio.name) {
            self.config.unset("wireless", &radio.name, "disabled");
            self.radios().country_of(&radio.name);
            self.radios().say_others(&radio.name);
        }
        if self.config.package("wireless").map(uci::Package::text) == before {
            return;
        }
        let (ssid, name) = (&*network.ssid, &*radio.name);
        let says = match network.whom {
            NetworkUsers::Lan => format!("{name} has the network {ssid}, with {}.", word(security)),
            NetworkUsers::Guest => format!(
                "{name} has the network {ssid} for guests, with {}.",
                word(security)
            ),
        };
        let sentence = match network.whom {
            NetworkUsers::Lan => "wifi-network",
            NetworkUsers::Guest => "wifi-guest",
        };
        let security = security_word(security);
        let values = [("ssid", ssid), ("radio", name), ("security", security)];
        self.report.add_sentence("wifi", sentence, &values, says);
        if security == "open" {
            let says = format!(
                "Anyone can join {ssid} without a password, and its traffic can be read by others."
            );
            self.report.add_sentence(
                "wifi",
                "wifi-open",
                &[("ssid", ssid), ("radio", name)],
                says,
            );
        }
    }
}

fn word(security: Security) -> &'static str {
    match security {
        Security::Mixed => "WPA3 or WPA2",
        Security::Wpa3 => "WPA3",
        Security::Wpa2 => "WPA2",
        Security::Owe => "no key, but encrypted",
        Security::Open => "no key",
        Security::Kept => "the encryption that it has",
    }
}

fn security_word(security: Security) -> &'static str {
    match security {
        Security::Mixed => "mixed",
        Security::Wpa3 => "wpa3",
        Security::Wpa2 => "wpa2",
        Security::Owe => "owe",
        Security::Open => "open",
        Security::Kept => "kept",
    }
}

/// Switches 802.11r on or off. An existing mobility domain stays, unless it is the default of the
/// network's old name.
fn roaming(config: &mut Config, section: &str, network: &Network, former: Option<&str>) {
    let was_on = config.get("wireless", section, "ieee80211r").as_deref() == Some("1");
    let known = config.get("wireless", section, "mobility_domain");
    let is_default = known.is_some() && known == former.map(mobility_domain);
    let switch = network.roaming.then_some("1");
    config.set_if("wireless", section, "ieee80211r", switch);
    if !network.roaming {
        if was_on && is_default {
            config.unset("wireless", section, "mobility_domain");
        }
    } else if is_default || known.is_none() && !was_on {
        let domain = mobility_domain(&network.ssid);
        config.set("wireless", section, "mobility_domain", &domain);
    }
}

/// Returns OpenWrt's default domain for all access points of a name: the first four hexadecimal
/// digits of MD5, over the name and a line feed.
fn mobility_domain(ssid: &str) -> String {
    let hash = Md5::new().chain_update(ssid).chain_update("\n").finalize();
    format!("{:02x}{:02x}", hash[0], hash[1])
}

#[cfg(test)]
mod tests {
    use super::mobility_domain;

    /// By `echo SSID | md5sum | head -c 4`, as OpenWrt's hostapd.sh does.
    #[test]
    fn the_domain_of_a_name_is_that_of_openwrt() {
        assert_eq!(mobility_domain("OpenWrt"), "aaf5");
        assert_eq!(mobility_domain("Zur Linde"), "2c08");
        assert_eq!(mobility_domain(""), "68b3");
    }
}
