//! From what is decided to the options that make it so, as OpenWrt's releases have them.
//!
//! What is not decided, and what the wizard does not know, stays as it is. The same choices twice
//! are one: the second time nothing changes. So do choices that [`crate::read`] reads: each part
//! edits only what differs from what it reads.

mod air;
mod apart;
mod check;
mod config;
mod countries;
mod dns;
mod firewall;
mod guest;
mod internet;
mod lan;
mod link;
mod mesh;
mod moved;
mod network;
mod outside;
mod own;
pub mod ports;
mod problem;
mod router;
mod subject;
mod vpn;
mod wifi;
mod wireguard;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choices::Choices;
use crate::openvpn::Server;
pub use air::{Air, Channel};
pub use config::Config;
pub use network::Inside;
pub use problem::{Problem, Wrong};
pub use wireguard::MOST as MOST_CLIENTS;
pub use words::{PROBLEMS, SENTENCES};
pub(crate) use {
    config::text, config::words, config::yes, dns::is_general, dns::over_https,
    firewall::blocked_of, firewall::forward_of, firewall::simple, firewall::zone_names,
    internet::internet_of, lan::address_in, lan::pool_of, mesh::is_mesh, vpn::openvpn_of,
    wifi::security, wifi::whom, wireguard::client_of, wireguard::peers, wireguard::tunnel_of,
};

/// What a plan has to know of the router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// OpenWrt's release, as its year: 23, 24, 25. None: another system, whose back end reads the
    /// newest form.
    pub release: Option<u16>,
    /// The device that the Internet is plugged into.
    pub wan: Option<String>,
    /// The devices of the network inside.
    pub lan: Vec<String>,
    /// The hardware address by which nobody else goes.
    pub mac: Option<[u8; 6]>,
    /// The networks at the uplink, as the router has them at the moment.
    pub uplink: Vec<Inside>,
    /// The radios.
    pub radios: Vec<Radio>,
    /// What the router lacks, and what brings it: `mobile` → `uqmi`.
    pub lacks: BTreeMap<String, String>,
    /// How good a password has to be.
    pub policy: Policy,
    /// How hard the password of the choices is to guess, 0 to 4, where somebody judged it.
    pub score: Option<u8>,
    /// What tells the keys of its OpenVPN server from any others ([`crate::openvpn::mark_of`]).
    /// Empty: it has none.
    pub openvpn_keys: String,
    /// Whether those are others than clients know.
    pub openvpn_anew: bool,
}

/// What a radio can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Radio {
    /// Its section in `wireless`: `radio0`.
    pub name: String,
    /// `2g`, `5g`, `6g`.
    pub bands: Vec<String>,
    /// Whether its access points can do WPA3 (SAE).
    pub wpa3: bool,
    /// Whether it can do 802.11s.
    pub mesh: bool,
    /// Whether its access points can peer (`APuP`).
    pub apup: bool,
    /// Its channels, where the kernel tells. It is of no use to a page.
    #[serde(skip)]
    pub air: Option<Air>,
}

/// How good a password has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// 8 characters, and hard to guess.
    #[default]
    Strength,
    /// 10 characters, with small and large letters, digits and others.
    Classes,
}

/// A sentence about what changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// The step of the wizard that it is of: `router`, `internet`, `wifi`, `mesh`, `services`.
    pub step: String,
    /// A word that a page can have its own text for.
    pub sentence: String,
    /// What belongs into that text, by name.
    pub values: BTreeMap<String, String>,
    /// The same in English.
    pub says: String,
}

/// What the choices come to.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The packages as they would be.
    pub config: Config,
    /// What is wrong. Nothing may be done while anything is.
    pub problems: Vec<Problem>,
    /// What changes, said for people.
    pub sentences: Vec<Sentence>,
    /// The network inside, where the router's address there changes.
    pub moved: Option<Inside>,
}

/// Plans. `config` is what the router has.
pub fn plan(choices: &Choices, config: &Config, facts: &Facts) -> Plan {
    let mut planner = Planner {
        config: config.clone(),
        facts,
        problems: Vec::new(),
        sentences: Vec::new(),
    };
    let before = planner.lan_address();
    planner.choices(choices, config);
    let after = planner.lan_address();
    if let (Some(failed), []) = (planner.config.failed(), &planner.problems[..]) {
        let problem = Wrong::Unwritable(failed.to_owned()).at("router");
        planner.problems.push(problem);
    }
    Plan {
        moved: after.filter(|after| before.is_some_and(|b| b.address != after.address)),
        config: planner.config,
        problems: planner.problems,
        sentences: planner.sentences,
    }
}

/// A plan that is being made.
struct Planner<'a> {
    config: Config,
    facts: &'a Facts,
    problems: Vec<Problem>,
    sentences: Vec<Sentence>,
}

impl Planner<'_> {
    /// `was` is the configuration as it was.
    fn choices(&mut self, choices: &Choices, was: &Config) {
        let before = self.lan_address();
        let clients = Server::of(&self.config).map(|server| server.clients);
        if let Some(router) = &choices.router {
            self.part(|plan| plan.router(router));
        }
        if let Some(lan) = &choices.lan {
            self.part(|plan| plan.lan(lan));
        }
        if let Some(internet) = &choices.internet {
            self.part(|plan| plan.internet(internet));
        }
        if let Some(wifi) = &choices.wifi {
            self.part(|plan| plan.wifi(wifi));
        }
        if let Some(mesh) = &choices.mesh {
            self.part(|plan| plan.mesh(mesh));
        }
        if let Some(dns) = &choices.dns {
            self.part(|plan| plan.dns(dns));
        }
        if let Some(wireguard) = &choices.wireguard {
            self.part(|plan| plan.wireguard(wireguard));
        }
        if let Some(openvpn) = &choices.openvpn {
            self.part(|plan| plan.openvpn(openvpn));
        }
        if let Some(firewall) = &choices.firewall {
            self.part(|plan| plan.firewall(firewall, before));
        }
        self.openvpn_mark(clients);
        let forwards = choices.firewall.as_ref();
        let forwards = forwards.and_then(|firewall| firewall.forwards.as_ref());
        if forwards.is_none() && self.lan_address() != before {
            self.forwards_stay_inside(before);
        }
        self.mesh_and_addresses(was);
        self.keep_apart(choices, was);
        self.asks_itself(was);
        self.inside_moved(before);
        self.ports_once(choices, was);
    }

    /// Does a part. Drops the sentences of what did not change by it.
    fn part(&mut self, part: impl FnOnce(&mut Self)) {
        let texts = |config: &Config| -> Vec<Vec<u8>> {
            config.packages().map(uci::Package::text).collect()
        };
        let (before, said) = (self.config.clone(), self.sentences.len());
        part(self);
        let is_same = texts(&self.config) == texts(&before);
        let now = &self.config;
        let mut n = 0;
        self.sentences.retain(|sentence| {
            n += 1;
            let subject = |config| subject::subject(sentence, config);
            let changes = match subject(now) {
                Some(text) => subject(&before) != Some(text),
                None => !is_same,
            };
            n <= said || changes || sentence.sentence == "router-password"
        });
    }

    /// Notes a problem. A field has a problem of one kind once.
    fn wrong(&mut self, field: impl Into<String>, wrong: &Wrong) {
        let problem = wrong.at(field);
        let is_known =
            |known: &Problem| known.field == problem.field && known.problem == problem.problem;
        if !self.problems.iter().any(is_known) {
            self.problems.push(problem);
        }
    }

    /// Returns true if a field has a problem.
    fn is_wrong(&self, field: &str) -> bool {
        self.problems.iter().any(|problem| problem.field == field)
    }

    /// Says that a feature is missing; whether it is.
    fn lacks(&mut self, feature: &str, field: &str) -> bool {
        let Some(what) = self.facts.lacks.get(feature).cloned() else {
            return false;
        };
        self.wrong(field, &Wrong::NotHere(what));
        true
    }

    fn say(&mut self, step: &str, sentence: &str, values: &[(&str, &str)], says: String) {
        debug_assert!(SENTENCES.contains(&sentence), "{sentence}");
        self.sentences.push(Sentence {
            step: step.to_owned(),
            sentence: sentence.to_owned(),
            values: values
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            says,
        });
    }
}
