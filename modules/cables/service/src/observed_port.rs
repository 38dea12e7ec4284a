//! A watched port: passes records to the core, and carries out its decisions.

use cables_core::{
    Cable, ClassSummary, Decision, FrameClass, Placement, PlacementContext, Port, PortSummary,
    Role, Use,
};
use datapath::cable::{self, Cables, Gate, PortRecord};
use kernel::{Link, Mac, facts};

use super::hello_port::{HelloPort, Keys};
use super::move_state::MoveState;
use super::mover::{ConfiguredUse, MoveRequest, MoveResult};
use super::probe::Probe;

/// Time after a decision in which all frames are recorded, in milliseconds: opposing evidence comes
/// late. Later, only group frames are recorded.
const AFTERWARDS: u64 = 10_000;

/// Milliseconds of the clock by which the kernel side notes.
pub fn now() -> u64 {
    cable::now() / 1_000_000
}

/// Context of a port's evaluation.
pub struct PortContext<'a> {
    pub noting: &'a mut Cables,
    pub own: &'a [Mac],
    /// True if another port is the uplink, and has a link; `None`: ports are not moved.
    pub other_uplink: Option<bool>,
    /// If it is a loop, that is cut at another port.
    pub cut_elsewhere: bool,
    /// Servers of others are kept out of the LAN.
    pub guards: bool,
    pub now: u64,
}

/// A port.
pub struct ObservedPort {
    /// Name of the port.
    pub device: String,
    /// True if the port has a link, and the time of the last change.
    pub up: bool,
    pub since: u64,
    /// Number of lost links at that time.
    lost: Option<u32>,
    pub mac: Mac,
    facts: Port,
    /// As the configuration has it.
    used: ConfiguredUse,
    /// State of the port in the core.
    cable: Cable,
    greeter: Option<HelloPort>,
    looking: Option<Probe>,
    /// Time of the decision, and the reported role.
    decided: Option<u64>,
    told: Option<Role>,
    /// Own port that sent the last own frame which came back.
    own: Option<Mac>,
    /// All traffic is blocked: the use of the port is undecided, or the port is part of a loop.
    waits: bool,
    /// True if a decision with this link found users of the LAN.
    of_lan: bool,
    moved: MoveState,
    /// Uses that were refused with this link.
    refused: Vec<Use>,
    /// The VXLAN that the mesh was put into.
    vxlan: Option<u32>,
    stays: Option<&'static str>,
    /// Requested use.
    to: Option<Use>,
    gate: Gate,
}

impl ObservedPort {
    /// Creates a port without a link.
    pub fn new(link: &Link, facts: Port, keys: Option<&Keys>) -> Self {
        let mac = link.mac.unwrap_or_default();
        Self {
            device: link.name.clone(),
            up: false,
            since: 0,
            lost: None,
            mac,
            greeter: HelloPort::new(keys, &link.name, mac),
            cable: Cable::new(facts.clone()),
            used: ConfiguredUse {
                now: facts.former,
                by_itself: false,
            },
            facts,
            looking: None,
            decided: None,
            told: None,
            own: None,
            waits: false,
            of_lan: false,
            moved: MoveState::Not,
            refused: Vec::new(),
            vxlan: None,
            stays: None,
            to: None,
            gate: Gate::Note,
        }
    }

    /// Returns the current use.
    pub fn used(&self) -> Use {
        self.used.now
    }

    /// Returns true if the link was lost and came back: another cable may be plugged in, without a
    /// message from the kernel.
    pub fn was_pulled(&self) -> bool {
        let lost = facts::links_lost(&self.device);
        self.up && lost.is_some() && lost != self.lost
    }

    /// Returns true if the port is shut.
    pub fn is_shut(&self) -> bool {
        self.up && self.gate == Gate::Shut
    }

    /// Returns the current decision.
    pub fn decision(&mut self, now: u64) -> Decision {
        self.cable.decision(now)
    }

    /// Describes the state of the move in a sentence, and returns true if the user should act.
    pub fn moving(&self) -> Option<(String, bool)> {
        self.moved.said(self.stays, self.to)
    }

    /// Sets a role chosen by hand.
    pub fn hold(&mut self, role: Option<Role>) {
        self.moved = MoveState::Not;
        self.refused.clear();
        let facts = Port {
            held: role,
            ..self.facts.clone()
        };
        self.learn(facts, self.used);
    }

    /// Updates the prior facts. A port that weir itself gave to the LAN counts as unused until
    /// users of the LAN are found again: any cable may have been plugged in.
    pub fn learn(&mut self, mut facts: Port, used: ConfiguredUse) {
        self.used = used;
        if used.by_itself && used.now == Use::Lan && !self.of_lan {
            facts.former = Use::None;
        }
        facts.own_dhcp &= facts.former == Use::Lan;
        if facts != self.facts {
            self.cable.facts(facts.clone());
            self.facts = facts;
        }
    }

    /// Returns true for a port of a LAN that gets its addresses from this router.
    pub fn is_served(&self) -> bool {
        self.facts.own_dhcp
    }

    /// Returns true if weir made the port the uplink, but the current system is not an uplink.
    pub fn was_uplink(&mut self, now: u64) -> bool {
        let decision = self.cable.decision(now);
        let other = decision.decided.is_some() && decision.role != Role::Uplink;
        self.used.by_itself && self.used.now == Use::Uplink && self.up && other
    }

    /// Returns the role chosen by hand, if any.
    pub fn held(&self) -> Option<Role> {
        self.facts.held
    }

    /// Handles a link that came or went; if `shut`, traffic is blocked until the use is decided.
    pub fn turn(&mut self, up: bool, shut: bool, noting: &mut Cables, index: u32) {
        let now = now();
        (self.up, self.since) = (up, now);
        self.lost = facts::links_lost(&self.device);
        self.cable.link(up, now);
        if let Some(greeter) = &mut self.greeter {
            greeter.link(up, now);
        }
        self.looking = None;
        self.decided = None;
        self.own = None;
        self.of_lan = false;
        self.moved = MoveState::Not;
        self.refused.clear();
        self.told = None;
        self.vxlan = None;
        (self.stays, self.to) = (None, None);
        // Shut without a link, too: a link carries frames before weir knows of it, and a bridge
        // forwards at once.
        self.waits = shut && self.facts.held.is_none() && !self.facts.administrator;
        self.gate = match self.waits {
            true => Gate::Shut,
            false => Gate::Note,
        };
        noting.clear(index);
        noting.gate(index, self.gate);
    }

    /// Reads the record, and sends hellos and probes.
    pub fn listen(&mut self, index: u32, means: &mut PortContext<'_>) {
        if !self.up {
            return;
        }
        self.hear(index, means);
        if let Some(over) = self.looking.as_ref().and_then(Probe::over) {
            self.looking = None;
            if let Some(suggestion) = over {
                self.cable.looked(&suggestion, means.now);
            }
        }
        if self.looking.is_none() && self.cable.wants_look(means.now) {
            self.looking = Some(Probe::begin(&self.device));
        }
    }

    /// Opens or shuts the port by the decision. Returns the use to apply, if it differs from the
    /// present use.
    pub fn act(&mut self, index: u32, means: &mut PortContext<'_>) -> Option<MoveRequest> {
        if !self.up {
            return None;
        }
        let decision = self.cable.decision(means.now);
        if decision.decided.is_some() {
            self.decided.get_or_insert(means.now);
            self.of_lan |= matches!(decision.role, Role::Client | Role::Switch);
        }
        let goes = match means.other_uplink {
            Some(other) => self.goes(&decision, other, means.cut_elsewhere, means.now),
            None => None,
        };
        self.to = goes.as_ref().map(|goes| goes.to);
        self.open_or_shut(index, means);
        goes
    }

    /// Returns a value if own frames come back: true if they are of another port.
    pub fn is_loop(&mut self, now: u64) -> Option<bool> {
        let looped = self.up && self.cable.decision(now).role == Role::Loop;
        looped.then(|| self.own.is_some_and(|own| own != self.mac))
    }

    /// Returns true once for each new role.
    pub fn news(&mut self, decision: &Decision) -> bool {
        let new = decision.decided.is_some() && self.told != Some(decision.role);
        if new {
            self.told = Some(decision.role);
        }
        new
    }

    fn hear(&mut self, index: u32, means: &mut PortContext<'_>) {
        let now = means.now;
        if let Some(record) = means.noting.read(index) {
            // The hello comes first, as an unproven hello on record makes a border. A tagged hello
            // is invalid: the mesh's own frames have no tag.
            let plain = record.sorts[FrameClass::Hello as usize].vlan.is_none();
            let hello = match &mut self.greeter {
                Some(greeter) if plain => greeter.hear(&record.hello, means.own, now),
                _ => None,
            };
            if let Some(hello) = hello {
                self.cable.hello(&hello, now);
            }
            let own = &record.sorts[FrameClass::Own as usize];
            self.own = (own.frames > 0).then_some(own.from);
            self.cable.noted(&noted(&record), now);
            if let Some(greeter) = &mut self.greeter {
                greeter.stations(&record.stations, now);
            }
        }
        if let Some(greeter) = &mut self.greeter {
            self.cable.vxlan(greeter.vxlan());
            if self.facts.greets() {
                greeter.speak(now);
            }
        }
    }

    /// Decides the next move.
    fn goes(
        &mut self,
        decision: &Decision,
        other_uplink: bool,
        cut_elsewhere: bool,
        now: u64,
    ) -> Option<MoveRequest> {
        let around = PlacementContext {
            now: self.used.now,
            by_itself: self.used.by_itself,
            of_lan: self.of_lan,
            other_uplink,
        };
        self.stays = None;
        // The current system does not belong to the LAN, whatever the result.
        let leaves_lan = self.used.by_itself && self.used.now == Use::Lan && !self.of_lan;
        let place = match self.cable.place(decision, around, now) {
            Placement::Apart if cut_elsewhere => {
                Placement::Stays(Some("it stays open, as the loop is cut at another port"))
            }
            place => place,
        };
        self.waits = match place {
            Placement::Awaited => self.waits,
            Placement::Apart => true,
            Placement::Stays(why) => {
                self.stays = why;
                false
            }
            Placement::Goes(_) => self.waits && (self.moved == MoveState::Not || leaves_lan),
        };
        let to = match (place, &self.moved) {
            (Placement::Goes(to), moved) if moved.is_kept(to) || self.refused.contains(&to) => {
                match leaves_lan && !self.refused.contains(&Use::None) && to != Use::None {
                    true => Use::None,
                    false => return None,
                }
            }
            (Placement::Goes(to), _) => to,
            // More stations came to the wire, so the mesh must be in a VXLAN.
            (Placement::Stays(_), _)
                if !self.refused.contains(&Use::Mesh)
                    && self.used.now == Use::Mesh
                    && self.used.by_itself
                    && decision.role == Role::Mesh
                    && decision.vxlan.is_some()
                    && decision.vxlan != self.vxlan =>
            {
                Use::Mesh
            }
            _ => return None,
        };
        Some(MoveRequest {
            device: self.device.clone(),
            since: self.since,
            to,
            vxlan: decision.vxlan,
            offer: self.cable.offer(),
        })
    }

    /// Handles the result of a move.
    pub fn told(&mut self, wanted: &MoveRequest, told: &MoveResult) {
        if matches!(told, MoveResult::Made | MoveResult::Kept) {
            self.vxlan = wanted.vxlan;
        }
        self.moved = MoveState::by(wanted.to, told);
        if matches!(self.moved, MoveState::Refused(..)) {
            self.refused.push(wanted.to);
        }
    }

    fn open_or_shut(&mut self, index: u32, means: &mut PortContext<'_>) {
        let listens = self
            .decided
            .is_none_or(|decided| means.now.saturating_sub(decided) < AFTERWARDS);
        let guarded = means.guards && self.used.now == Use::Lan;
        let gate = match (self.waits, guarded, listens) {
            (true, _, _) => Gate::Shut,
            (false, true, _) => Gate::Guard,
            (false, false, true) => Gate::Note,
            (false, false, false) => Gate::Groups,
        };
        if gate != self.gate {
            self.gate = gate;
            means.noting.gate(index, gate);
        }
    }
}

/// As the core reads it: nanoseconds become milliseconds.
fn noted(record: &PortRecord) -> PortSummary {
    PortSummary {
        sorts: record.sorts.map(|sort| ClassSummary {
            frames: sort.frames,
            last: sort.last / 1_000_000,
            from: sort.from,
            vlan: sort.vlan,
        }),
        stations: record.stations.clone(),
        more_stations: record.more_stations,
        vlans: record.vlans.clone(),
        lldp: record.lldp.clone(),
        cdp: record.cdp.clone(),
        mndp: record.mndp.clone(),
        hello: record.hello.clone(),
    }
}
