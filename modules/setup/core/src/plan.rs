//! Translates choices into the options of OpenWrt's releases.
//!
//! Options without a choice, and options that the wizard does not know, stay as they are. Applying
//! choices twice changes nothing the second time. The same holds for choices from [`crate::read`]:
//! each part edits only differences from the values that it reads.

mod batman;
mod bridge;
mod check;
mod config;
mod countries;
mod derived;
mod dns;
mod facts;
mod firewall;
mod guest;
mod internet;
mod ipv4_cidr;
mod lan;
mod lan_move;
mod link;
mod mesh;
mod outside;
mod overlaps;
pub mod ports;
mod problem;
mod radio_channels;
mod radios;
mod report;
mod router;
mod subject;
mod vpn;
mod wifi;
mod wireguard;
mod words;
mod zones;

use crate::choices::Choices;
use crate::openvpn::Server;
pub use config::Config;
pub use facts::{Facts, Policy};
pub use ipv4_cidr::Ipv4Cidr;
pub use problem::{Problem, ProblemKind};
pub use radio_channels::{Channel, Radio, RadioChannels};
use report::Report;
pub use report::Sentence;
pub use wireguard::MOST as MOST_CLIENTS;
pub use words::{PROBLEMS, SENTENCES};
pub(crate) use {
    bridge::address_in, bridge::pool_of, config::is_enabled, config::text, config::words,
    firewall::blocked_of, firewall::forward_of, firewall::simple, internet::internet_of,
    wifi::security, wifi::whom, zones::zone_names,
};

/// Result of planning.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The packages as they would be.
    pub config: Config,
    /// Problems. Nothing may be changed while there are any.
    pub problems: Vec<Problem>,
    /// Changes, for people.
    pub sentences: Vec<Sentence>,
    /// New network inside, if the router's address there changes.
    pub new_lan: Option<Ipv4Cidr>,
}

/// Plans choices. `config` is the router's present configuration.
pub fn plan(choices: &Choices, config: &Config, facts: &Facts) -> Plan {
    let mut planner = Planner {
        config: config.clone(),
        facts,
        report: Report::default(),
    };
    planner.choices(choices, config);
    let before = address_in(config, "lan");
    let after = address_in(&planner.config, "lan");
    if let (Some(failed), []) = (planner.config.failed(), planner.report.problems()) {
        let wrong = ProblemKind::Unwritable(failed.to_owned());
        planner.report.add_problem("router", &wrong);
    }
    let (problems, sentences) = planner.report.into_parts();
    Plan {
        new_lan: after.filter(|after| before.is_some_and(|b| b.address != after.address)),
        config: planner.config,
        problems,
        sentences,
    }
}

/// A plan that is being made.
struct Planner<'a> {
    config: Config,
    facts: &'a Facts,
    report: Report,
}

impl Planner<'_> {
    /// Applies all parts. `was` is the old configuration.
    fn choices(&mut self, choices: &Choices, was: &Config) {
        let before = address_in(was, "lan");
        self.part(choices.router.as_ref(), router::edit);
        self.part(choices.lan.as_ref(), lan::edit);
        self.part(choices.internet.as_ref(), internet::edit);
        self.part(choices.wifi.as_ref(), wifi::edit);
        self.part(choices.mesh.as_ref(), mesh::edit);
        self.part(choices.dns.as_ref(), dns::edit);
        self.part(choices.wireguard.as_ref(), wireguard::edit);
        self.part(choices.openvpn.as_ref(), vpn::edit);
        self.part(choices.firewall.as_ref(), |firewall, config, _, report| {
            firewall::edit(firewall, before, config, report);
        });
        let (config, facts, report) = (&mut self.config, self.facts, &mut self.report);
        vpn::mark(Server::of(was), config, facts, report);
        let firewall = choices.firewall.as_ref();
        let has_forwards = firewall.is_some_and(|firewall| firewall.forwards.is_some());
        if !has_forwards && address_in(config, "lan") != before {
            firewall::forwards_stay_inside(config, before, report);
        }
        mesh::and_addresses(config, was, report);
        overlaps::keep_apart(choices, was, config, facts, report);
        dns::asks_itself(config, was, report);
        lan_move::inside_moved(before, config, report);
        lan::ports_once(choices, was, config, report);
    }

    /// Applies a part of the choices. Drops sentences about unchanged settings.
    fn part<T>(
        &mut self,
        choice: Option<&T>,
        edit: impl FnOnce(&T, &mut Config, &Facts, &mut Report),
    ) {
        let Some(choice) = choice else { return };
        let texts = |config: &Config| -> Vec<Vec<u8>> {
            config.packages().map(uci::Package::text).collect()
        };
        let (before, said) = (self.config.clone(), self.report.sentences());
        edit(choice, &mut self.config, self.facts, &mut self.report);
        let is_same = texts(&self.config) == texts(&before);
        let now = &self.config;
        self.report.retain_after(said, |sentence| {
            let subject = |config| subject::subject(sentence, config);
            let changes = match subject(now) {
                Some(text) => subject(&before) != Some(text),
                None => !is_same,
            };
            changes || sentence.sentence == "router-password"
        });
    }
}
