//! Schedules the probes and decisions of one port.

use std::collections::VecDeque;

use detect::Suggestion;

use crate::decision::Decision;
use crate::evidence::{ANSWERS, Evidence};
use crate::evidence_items::clues;
use crate::judge::{DOUBT, SURE, Verdict, judge, notices};
use crate::placement::{self, Offer, Placement, PlacementContext};
use crate::port::{Hello, Port, Use};
use crate::port_summary::PortSummary;
use crate::role::Role;

/// Contrary signs that come together are weighed together. Milliseconds, as all below.
const SETTLE: u64 = 500;
/// Silence before a probe.
const LOOK: u64 = 2000;
/// Time of a decision with weak evidence, in milliseconds.
const WEAK: u64 = 3000;
/// Two nodes of a mesh have said hello, and proven each other, by then.
const GREETED: u64 = 3000;
/// Time of a decision without evidence, in milliseconds.
const SILENT: u64 = 10_000;
/// New evidence has to hold for so long,
const HOLD: u64 = 2000;
/// and to say so much more.
const MORE: u8 = 10;
/// More links than this
const LINKS: usize = 6;
/// within this time count as flapping,
const FLAP: u64 = 60_000;
/// until it held for so long.
const CALM: u64 = 10_000;

/// A decision, and when it was made.
#[derive(Clone, Debug)]
struct Settled {
    verdict: Verdict,
    at: u64,
}

/// State of one port. Times are in milliseconds of any clock that does not go back.
#[derive(Clone, Debug)]
pub struct Cable {
    port: Port,
    up: Option<u64>,
    links: VecDeque<u64>,
    flaps: bool,
    /// From when on it is listened: the link, or the end of its coming and going.
    begin: u64,
    heard: Evidence,
    sure: Option<u64>,
    /// Time of the last probe without a decision.
    waited: u64,
    settled: Option<Settled>,
    /// Evidence for another role, and its start.
    other: Option<(Role, u64)>,
    /// VXLAN of a mesh at this port ([`crate::hello::Port::vxlan`]).
    vxlan: Option<u32>,
}

impl Cable {
    /// Creates a port, without a link yet.
    pub fn new(port: Port) -> Self {
        Self {
            port,
            up: None,
            links: VecDeque::new(),
            flaps: false,
            begin: 0,
            heard: Evidence::default(),
            sure: None,
            waited: 0,
            settled: None,
            other: None,
            vxlan: None,
        }
    }

    /// Updates the prior facts of the port.
    pub fn facts(&mut self, port: Port) {
        self.port = port;
    }

    /// Handles a link that came or went: forgets all earlier observations.
    pub fn link(&mut self, up: bool, now: u64) {
        if up == self.up.is_some() {
            return;
        }
        self.heard = Evidence::default();
        (self.sure, self.vxlan) = (None, None);
        (self.settled, self.other) = (None, None);
        self.up = up.then_some(now);
        self.begin = now;
        if up {
            self.links.push_back(now);
            self.links.retain(|at| now.saturating_sub(*at) < FLAP);
            self.flaps = self.links.len() > LINKS;
            while self.links.len() > LINKS {
                self.links.pop_front();
            }
        }
    }

    /// Takes the classifier's record since the link came.
    pub fn noted(&mut self, noted: &PortSummary, now: u64) {
        let Some(up) = self.up else { return };
        self.advance(now);
        self.heard.note(noted, up, now);
        self.advance(now);
    }

    /// Records the result of the active probe.
    pub fn looked(&mut self, said: &Suggestion, now: u64) {
        if self.up.is_some() {
            self.advance(now);
            self.heard.look(said, now);
            // The answer came after the decision, and outweighs passive evidence.
            let found = judge(&self.port, &self.heard, now);
            let other = |settled: &Settled| settled.verdict.role != found.role;
            if self.settled.as_ref().is_some_and(other) {
                self.settle(found, now);
            }
            self.advance(now);
        }
    }

    /// Handles a received hello, proven or not.
    pub fn hello(&mut self, hello: &Hello, now: u64) {
        if self.up.is_some() {
            self.advance(now);
            self.heard.greet(hello, now);
            self.advance(now);
        }
    }

    /// Sets the VXLAN that a mesh requires at this port ([`crate::hello::Port::vxlan`]).
    pub fn vxlan(&mut self, vxlan: Option<u32>) {
        self.vxlan = vxlan;
    }

    /// Returns how the Internet is offered, if it is.
    pub fn offer(&self) -> Option<Offer> {
        placement::offer(&self.heard)
    }

    /// Decides the use of the port by the decision, at this time.
    pub fn place(&self, decision: &Decision, around: PlacementContext, time: u64) -> Placement {
        placement::place(&self.heard, decision, around, time)
    }

    /// Returns true if the port should be probed: once per link at most, if listening leaves a
    /// doubt.
    pub fn wants_look(&mut self, now: u64) -> bool {
        if self.up.is_none() {
            return false;
        }
        self.advance(now);
        let kept = self.port.held.is_some() || self.port.administrator;
        if kept || self.heard.look_began.is_some() || self.flaps {
            return false;
        }
        let settled = self.settled.as_ref().map(|it| it.verdict.role);
        let found = judge(&self.port, &self.heard, now);
        let sure = |role| matches!(role, Role::Loop | Role::Mesh);
        let lan = self.port.former == Use::Lan;
        // A switch or a radio does not announce its uplink; a client does not announce other
        // clients, nor a server its answers.
        let opaque = match found.role {
            Role::Switch | Role::Radio | Role::Client => !lan,
            Role::Uplink => found.confidence < SURE,
            _ => false,
        };
        let doubt = found.confidence < DOUBT || opaque;
        // If only an active answer can help, the probe begins as soon as that is known.
        let soon = opaque && found.role != Role::Client;
        let after = if soon { SETTLE } else { LOOK };
        let early = now.saturating_sub(self.begin) < after;
        let wants = doubt && !early && !sure(found.role) && !settled.is_some_and(sure);
        self.heard.look_began = wants.then_some(now);
        wants
    }

    /// Returns the time at which a first decision is due.
    fn due(&self, found: &Verdict) -> u64 {
        let begin = self.begin;
        let sure = self.sure.map(|at| at + SETTLE);
        let weak = self.heard.first().map(|at| (at + SETTLE).max(begin + WEAK));
        let look = self.heard.look.as_ref().map(|it| it.at);
        // A pending probe delays the decision, unless the system identifies itself: a late answer
        // can still change that. Behind a switch or a radio at the uplink, an answer is expected.
        let uplink = self.port.former == Use::Uplink;
        let says = match found.role {
            Role::Switch | Role::Radio => !uplink,
            Role::Border | Role::Uplink => true,
            _ => false,
        };
        let asks = self.heard.look_began.filter(|_| look.is_none() && !says);
        let answers = asks.map_or(0, |at| at + ANSWERS);
        let patient = [weak, Some(begin + SILENT)].map(|at| at.map(|at| at.max(answers)));
        let all = [sure, look].into_iter().chain(patient);
        let due = all.flatten().min().unwrap_or(begin);
        // A hello replaces earlier certainty; the proof decides.
        let proof = self.heard.proves().unwrap_or(begin);
        // A node of the same mesh speaks the mesh's protocol, too, and often before its hello.
        let border = found.role == Role::Border && self.port.secret;
        let greeted = if border { begin + GREETED } else { begin };
        due.max(greeted).max(proof.min(begin + SILENT))
    }

    fn advance(&mut self, now: u64) {
        let Some(up) = self.up else { return };
        if self.flaps {
            if now.saturating_sub(up) < CALM {
                return;
            }
            self.flaps = false;
            self.begin = up.saturating_add(CALM);
            self.links.clear();
        }
        let found = judge(&self.port, &self.heard, now);
        if found.confidence >= SURE && self.sure.is_none() {
            self.sure = Some(now);
        }
        let Some(settled) = &mut self.settled else {
            let due = self.due(&found);
            let at = if found.role == Role::Loop { now } else { due };
            if now >= at {
                // Evidence since then may have made the decision due earlier.
                let at = at.max(self.waited);
                self.settle(found, at);
            }
            self.waited = now;
            return;
        };
        let former = &settled.verdict;
        if found.role == former.role {
            settled.verdict = found;
            self.other = None;
        } else if matches!(found.role, Role::Loop | Role::Mesh) || former.role == Role::Loop {
            self.settle(found, now);
        } else if found.confidence < former.confidence.saturating_add(MORE) {
            self.other = None;
        } else {
            match self.other {
                Some((role, since)) if role == found.role => {
                    if now.saturating_sub(since) >= HOLD {
                        self.settle(found, now);
                    }
                }
                _ => self.other = Some((found.role, now)),
            }
        }
    }

    fn settle(&mut self, verdict: Verdict, at: u64) {
        self.settled = Some(Settled { verdict, at });
        self.other = None;
    }

    /// Returns the decision on the port's role, as far as known.
    pub fn decision(&mut self, now: u64) -> Decision {
        self.advance(now);
        let (mut found, decided) = self.found();
        if let (Role::Mesh, Some(vxlan)) = (found.role, self.vxlan) {
            found.why = format!(
                "{}; other stations are connected too, so the mesh needs VXLAN {vxlan}",
                found.why
            );
        }
        let (mut decision, up) = (
            Decision {
                role: found.role,
                confidence: found.confidence,
                evidence: Vec::new(),
                why: sentence(&found.why),
                change_condition: sentence(found.change_condition),
                decided,
                held_by: None,
                vxlan: None,
                looped: false,
                notices: Vec::new(),
            },
            self.up.unwrap_or(now),
        );
        if self.up.is_some() {
            decision.evidence = clues(&self.heard, up);
            decision.notices = notices(&self.port, &self.heard, now);
            decision.looped = self.heard.looped(&self.port, now);
        }
        if let Some(role) = self.port.held {
            decision.why = sentence(&format!(
                "the administrator chose {role}; the evidence suggests {}, as {}",
                found.role, found.why
            ));
            decision.change_condition = "The administrator's choice alone would change it.".into();
            (decision.role, decision.confidence) = (role, 100);
            decision.decided = Some(0);
            decision.held_by = Some("administrator");
        } else if self.port.administrator {
            decision.why = sentence(&format!(
                "the administrator's own connection uses this port; the evidence suggests {}, as \
                 {}",
                found.role, found.why
            ));
            decision.change_condition =
                "Another connection of the administrator to this router, or \
                                     the administrator's choice, would change it."
                    .into();
            (decision.role, decision.confidence) = (Role::Client, 100);
            decision.held_by = Some("connection");
        }
        decision.vxlan = self.vxlan.filter(|_| decision.role == Role::Mesh);
        decision
    }

    /// Returns the verdict and its time, or the reason why a verdict is still missing.
    fn found(&self) -> (Verdict, Option<u64>) {
        let unknown = |why: &str, change_condition| Verdict {
            role: Role::Unknown,
            confidence: 0,
            why: why.into(),
            change_condition,
        };
        let Some(up) = self.up else {
            let change = "A cable with something at its other end would change it";
            return (unknown("the port has no link", change), None);
        };
        if self.flaps {
            let change = "A link that holds for ten seconds would change it";
            return (unknown("the link comes and goes", change), None);
        }
        match &self.settled {
            Some(it) => (it.verdict.clone(), Some(it.at.saturating_sub(up))),
            None => {
                let change = "Any frame would change it";
                (unknown("the link has just come up", change), None)
            }
        }
    }
}

/// Adds a full stop, and a capital letter unless the text begins with an address.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let word = text.split(' ').next().unwrap_or_default();
    let is_word = word.chars().all(char::is_alphabetic);
    let first = letters.next();
    let first = first.map(|it| if is_word { it.to_ascii_uppercase() } else { it });
    first.into_iter().chain(letters).chain(['.']).collect()
}
