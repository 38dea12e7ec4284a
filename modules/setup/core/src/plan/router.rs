//! The router itself: name, language, time zone, password, location.

use super::check::{has_control, is_hash, is_host_name};
use super::{Config, Facts, Policy, ProblemKind, Report, derived};
use crate::choices::Router;

/// Zones of the IANA with their present rules, as POSIX writes them (`TZ`): from the footer of a
/// zone's file (RFC 9636), of tzdata 2025b, which is in the public domain.
const ZONES: &str = include_str!("zones.txt");

/// Bytes of the longest name of one label (RFC 1035, section 2.3.4).
const LONGEST_NAME: usize = 63;

/// Returns the rule of a zone: `CET-1CEST,M3.5.0,M10.5.0/3`.
fn zone(name: &str) -> Option<&'static str> {
    ZONES.lines().find_map(|line| {
        let (zone, rule) = line.split_once(' ')?;
        (zone == name).then_some(rule)
    })
}

/// Edits the router's name, language, time zone and place, and checks the password.
pub(super) fn edit(router: &Router, config: &mut Config, facts: &Facts, report: &mut Report) {
    let mut plan = RouterPlan {
        config,
        facts,
        report,
    };
    plan.edit(router);
}

/// A plan for the router itself.
struct RouterPlan<'a> {
    config: &'a mut Config,
    facts: &'a Facts,
    report: &'a mut Report,
}

impl RouterPlan<'_> {
    fn edit(&mut self, router: &Router) {
        let system = self.config.first("system", "system");
        if !router.name.is_empty() {
            self.name(&system, &router.name);
        }
        self.timezone(&system, &router.timezone);
        self.language(&router.language);
        if let Some((north, east)) = &router.place {
            self.place(&system, north, east);
        }
        self.password(router);
    }

    fn name(&mut self, system: &str, name: &str) {
        let Some(name) = derived::name(name, self.facts, self.report) else {
            return;
        };
        // A name that is there stays, even one that the wizard would not give.
        if self.config.get("system", system, "hostname").as_deref() == Some(&name) {
            return;
        }
        if name.len() > LONGEST_NAME {
            return self.report.add_problem(
                "router.name",
                &ProblemKind::TooLong(LONGEST_NAME, name.len()),
            );
        }
        if !is_host_name(&name) {
            return self
                .report
                .add_problem("router.name", &ProblemKind::NotAName);
        }
        self.config.set("system", system, "hostname", &name);
        let says = format!("The router is called {name}.");
        self.report
            .add_sentence("router", "router-name", &[("name", &name)], says);
    }

    fn timezone(&mut self, system: &str, timezone: &str) {
        if timezone.is_empty() {
            return;
        }
        // OpenWrt's own pages write blanks: `America/New York`.
        let timezone = &*timezone.replace(' ', "_");
        let known = self.config.get("system", system, "zonename");
        if known.is_some_and(|known| known.replace(' ', "_") == timezone) {
            return;
        }
        let Some(rule) = zone(timezone) else {
            return self
                .report
                .add_problem("router.timezone", &ProblemKind::NotATimezone);
        };
        self.config.set("system", system, "zonename", timezone);
        self.config.set("system", system, "timezone", rule);
        let says = format!("Its clock goes by {timezone}.");
        self.report
            .add_sentence("router", "router-timezone", &[("timezone", timezone)], says);
    }

    fn language(&mut self, language: &str) {
        let known = self.config.get("luci", "main", "lang");
        if language.is_empty() || known.as_deref() == Some(language) {
            return;
        }
        let letters = |c: u8| c.is_ascii_lowercase() || c == b'_';
        if !(2..=8).contains(&language.len()) || !language.bytes().all(letters) {
            return self
                .report
                .add_problem("router.language", &ProblemKind::NotALanguage);
        }
        // Without LuCI the language has no use.
        if self.config.has("luci", "main") {
            self.config.set("luci", "main", "lang", language);
            let says = format!("OpenWrt's own pages are in {language}.");
            self.report
                .add_sentence("router", "router-language", &[("language", language)], says);
        }
    }

    fn place(&mut self, system: &str, north: &str, east: &str) {
        let degrees = |text: &str, most: f64| {
            let plain = |c: u8| c.is_ascii_digit() || matches!(c, b'.' | b'-');
            text.len() <= 16
                && text.bytes().all(plain)
                && text.parse::<f64>().is_ok_and(|n| n.abs() <= most)
        };
        let known = |option| self.config.get("system", system, option);
        if known("latitude").as_deref() == Some(north)
            && known("longitude").as_deref() == Some(east)
        {
            return;
        }
        if !degrees(north, 90.0) || !degrees(east, 180.0) {
            return self
                .report
                .add_problem("router.place", &ProblemKind::NotAPlace);
        }
        // Options that Freifunk's programs read.
        self.config.set("system", system, "latitude", north);
        self.config.set("system", system, "longitude", east);
        let says = format!("It stands at {north}, {east}.");
        self.report.add_sentence(
            "router",
            "router-place",
            &[("north", north), ("east", east)],
            says,
        );
    }

    /// Checks the password. The password is not an option of the plan: its caller stores it.
    fn password(&mut self, router: &Router) {
        if let Some(hash) = &router.password_hash
            && !is_hash(hash)
        {
            self.report
                .add_problem("router.password_hash", &ProblemKind::NotAHash);
        }
        if let Some(password) = &router.password {
            self.new_password(password);
        }
        if router.password.is_some() || router.password_hash.is_some() {
            let says = "It has another password.".to_owned();
            self.report
                .add_sentence("router", "router-password", &[], says);
        }
    }

    fn new_password(&mut self, password: &str) {
        let least = match self.facts.policy {
            Policy::Strength => 8,
            Policy::Classes => 10,
        };
        let has = |class: fn(char) -> bool| password.chars().any(class);
        let classes = has(|c| c.is_lowercase())
            && has(|c| c.is_uppercase())
            && has(|c| c.is_numeric())
            && has(|c| !c.is_alphanumeric());
        let wrong = if password.is_empty() {
            ProblemKind::Required
        } else if has_control(password) {
            ProblemKind::ControlCharacter
        } else if password.chars().count() < least {
            ProblemKind::TooShort(least)
        } else if password.len() > 128 {
            ProblemKind::TooLong(128, password.len())
        } else if self.facts.policy == Policy::Classes && !classes {
            ProblemKind::PasswordClasses
        } else if self.facts.score.is_some_and(|score| score < 2) {
            ProblemKind::WeakPassword
        } else {
            return;
        };
        self.report.add_problem("router.password", &wrong);
    }
}
