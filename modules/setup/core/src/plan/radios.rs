//! Radios that go on air: the country's rules, and the access points that come with a radio.

use super::wifi::whom;
use super::{Config, Facts, ProblemKind, Report, countries, is_enabled, text};
use crate::read::wifi_of;

/// The radios of a router.
pub(super) struct Radios<'a> {
    config: &'a mut Config,
    facts: &'a Facts,
    report: &'a mut Report,
}

impl<'a> Radios<'a> {
    /// Makes a plan that edits the radios of `config`.
    pub fn new(config: &'a mut Config, facts: &'a Facts, report: &'a mut Report) -> Self {
        Self {
            config,
            facts,
            report,
        }
    }

    /// Switches a radio on, and removes unwanted access points that would come on with it: a fresh
    /// router has an open network there.
    pub fn switch_on(&mut self, radio: &str) {
        if !is_off(self.config, radio) {
            return;
        }
        self.config.unset("wireless", radio, "disabled");
        self.country_of(radio);
        let others: Vec<(String, String)> = self
            .config
            .of_type("wireless", "wifi-iface")
            .filter(|section| text(section, "device").as_deref() == Some(radio))
            .filter(|section| whom(section).is_some() && !is_enabled(section, "disabled"))
            .map(|section| {
                (
                    section.name.clone(),
                    text(section, "ssid").unwrap_or_default(),
                )
            })
            .collect();
        for (section, ssid) in others {
            if is_keyed(self.config, &section) {
                // A user created the access point, and may want it again.
                self.config.set("wireless", &section, "disabled", "1");
            } else {
                self.remove(&section, radio, &ssid);
            }
        }
        self.say_others(radio);
    }

    /// Reports manually created networks that come on air with a radio.
    pub fn say_others(&mut self, radio: &str) {
        let others: Vec<(String, bool)> = self
            .config
            .of_type("wireless", "wifi-iface")
            .filter(|section| text(section, "device").as_deref() == Some(radio))
            .filter(|section| whom(section).is_none() && !is_enabled(section, "disabled"))
            .filter(|section| section.name != format!("mesh_{radio}"))
            .filter(|section| section.name != "wifi_uplink")
            .map(|section| {
                let name = text(section, "ssid").or_else(|| text(section, "mesh_id"));
                (name.unwrap_or_default(), section.get("key").is_none())
            })
            .collect();
        for (ssid, open) in others {
            let values = [("ssid", &*ssid), ("radio", radio)];
            let key = if open { ", without a key" } else { "" };
            let says =
                format!("{ssid}, which was made by hand, comes on air by {radio}, too{key}.");
            let sentence = if open {
                "wifi-other-open"
            } else {
                "wifi-other"
            };
            self.report.add_sentence("wifi", sentence, &values, says);
        }
    }

    /// Sets the country of a radio that comes on, as on the other radios.
    pub fn country_of(&mut self, radio: &str) {
        let country = wifi_of(self.config).country;
        if !country.is_empty() && self.config.get("wireless", radio, "country").is_none() {
            self.config.set("wireless", radio, "country", &country);
        }
    }

    /// Sets the country of all radios.
    pub fn set_country(&mut self, field: &str, country: &str) {
        // Rules that are there already are not judged.
        let known = wifi_of(self.config).country;
        if country.is_empty() || known == country {
            return;
        }
        let country = match countries::code(country) {
            Ok(code) if code == known => return,
            Ok(code) => code,
            Err(meant) => {
                return self
                    .report
                    .add_problem(field, &ProblemKind::NotACountry(meant));
            }
        };
        for radio in &self.facts.radios {
            self.config.section("wireless", &radio.name, "wifi-device");
            self.config.set("wireless", &radio.name, "country", country);
        }
        let says = format!("Radios keep to the rules of {country}.");
        self.report
            .add_sentence("wifi", "wifi-country", &[("country", country)], says);
    }

    /// Takes an access point away.
    pub fn remove(&mut self, section: &str, radio: &str, ssid: &str) {
        self.config.remove("wireless", section);
        let says = format!("{radio} no longer has the network {ssid}.");
        self.report.add_sentence(
            "wifi",
            "wifi-gone",
            &[("ssid", ssid), ("radio", radio)],
            says,
        );
    }
}

/// Returns true if a radio or an access point is switched off.
pub(super) fn is_off(config: &Config, section: &str) -> bool {
    let section = config.section_of("wireless", section);
    section.is_some_and(|section| is_enabled(section, "disabled"))
}

/// Returns true if an access point has a key, which a user made.
pub(super) fn is_keyed(config: &Config, section: &str) -> bool {
    config.get("wireless", section, "key").is_some()
}
