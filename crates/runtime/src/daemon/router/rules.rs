//! What of the firewall concerns the fast path: rules that see each packet, and what weir itself has
//! limited.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use offload_core::ruleset::Concern;
use tracing::{info, warn};

use super::Router;
use crate::daemon::module::Event;
use crate::daemon::ruleset::RulesetText;

/// Nothing is proven for longer than this because rules are not read yet: `nft` takes some 20 ms,
/// and is run once a second at most.
const HOLD: Duration = Duration::from_secs(2);
/// Rules that are named in the log, each with a line; `weir check` names all.
const TOLD: usize = 16;

impl Router {
    /// The ruleset begins to be read.
    pub fn ruleset_reading(&mut self) {
        self.surroundings.reading();
        for module in self.modules.clone().iter() {
            module.on_event(Event::RulesetReading, self);
        }
    }

    /// The ruleset was read, or could not be.
    pub fn ruleset_read(&mut self, read: Result<RulesetText, String>) {
        self.surroundings.read();
        for module in self.modules.clone().iter() {
            module.on_event(Event::Ruleset(read.as_ref().map_err(String::as_str)), self);
        }
        if self.forwards {
            let silent = read.as_ref().map(|text| &text.silent);
            let respected = self.core.settings().each_packet;
            if let Ok(silent) = silent {
                self.core.hidden_events(silent.hidden);
            }
            self.core
                .own_timeouts(read.as_ref().map_or(true, |text| text.policies));
            self.expiry.rules(silent.map_err(String::as_str), respected);
        }
        match read {
            Ok(text) => {
                self.surroundings.rules_read = true;
                self.concerned(text.concerns);
                // Chains at devices may be among them.
                if text.findings != self.surroundings.findings {
                    self.surroundings.findings = text.findings;
                    self.look_at_all(self.core.links().cloned().collect());
                }
            }
            Err(error) => {
                warn!(
                    error,
                    "the ruleset cannot be read: rules that need each packet are not found"
                );
            }
        }
        if !self.surroundings.is_stale() {
            self.release_proofs();
        }
    }

    /// Rules changed, and may look at each packet: nothing is proven until they are read. Elements
    /// of sets are no such change.
    pub fn hold_proofs(&mut self) {
        if self.core.settings().each_packet
            && let Err(error) = self.path.pause(HOLD)
        {
            warn!(%error, "cannot end proofs: the kernel forwards everything");
            self.path.disarm();
        }
    }

    /// The rules are read, or cannot be.
    fn release_proofs(&mut self) {
        if let Err(error) = self.path.resume() {
            warn!(%error, "proofs come up again a moment later");
        }
    }

    /// Rules look at each packet: connections that they may concern are left to the kernel.
    fn concerned(&mut self, concerns: Vec<Concern>) {
        if concerns == self.core.concerns() {
            return;
        }
        let mut actions = Vec::new();
        let now = self.now();
        self.core.rules(concerns, now, &mut actions);
        self.apply(actions);
        let respect = self.core.settings().each_packet;
        let all = self.core.concerns();
        let left = match respect {
            true => "connections that it may concern are left to the kernel",
            false => "it sees a sample of the packets, as each_packet says to ignore it",
        };
        for concern in all.iter().take(TOLD) {
            let Concern { rule, kind, .. } = concern;
            let whole = concern.is_everything();
            warn!(%rule, all = whole, why = kind.explain(), "a rule looks at each packet: {left}");
        }
        match all.len() {
            0 => info!("no rule looks at each packet any more"),
            more if more > TOLD => {
                warn!(
                    more = more - TOLD,
                    "more rules look at each packet: `weir check`"
                );
            }
            _ => {}
        }
    }

    /// Rules of a module limit what these addresses send and get: their connections are left to the
    /// kernel.
    pub fn slow(&mut self, addresses: &HashSet<IpAddr>) {
        let mut actions = Vec::new();
        let now = self.now();
        self.core.slow(addresses, now, &mut actions);
        self.apply(actions);
    }

    /// Rules may have changed: until they are read, any of them may look at bridged frames. Before
    /// proofs end, so that none comes up anew.
    pub(super) fn hold_bridging(&mut self) {
        if !self.surroundings.rules_known() {
            self.path.set_bridging(false);
        }
    }

    /// Lets bridged frames be forwarded where the rules are known, once the ports are planned by
    /// them.
    pub fn resume_bridging(&mut self) {
        let on = self.core.settings().bridge && self.surroundings.rules_known();
        self.path.set_bridging(on);
    }
}
