//! Reads state that ends without a message, and limits how long proofs of the packet path hold.

use std::hash::RandomState;
use std::time::{Duration, Instant};

use kernel::io::{read_bucket_idle, read_idle_limit, read_lifetimes, read_members, read_next_hops};
use kernel::{Event, Prefix, Source};
use offload_core::ruleset::UnreportedConditions;
use offload_core::{ExpirySchedule, Gateways, Millis};
use tracing::{debug, info};

/// Maximum number of routes examined for lifetimes, gateways and programs.
pub const ROUTES: usize = 131_072;

/// State that is going to end, and its sources.
#[derive(Debug)]
pub struct ExpiryMonitor {
    agenda: ExpirySchedule,
    gateways: Gateways,
    /// Routes with a program that sees each packet, until they are taken.
    programs: Option<Vec<Prefix>>,
    hasher: RandomState,
    started: Instant,
    /// Costs that the log has already.
    told: Vec<String>,
}

impl ExpiryMonitor {
    /// Creates the state before any read. Milliseconds count from `started`.
    pub fn new(started: Instant) -> Self {
        let mut agenda = ExpirySchedule::default();
        agenda.routed(0);
        agenda.policed(0);
        Self {
            agenda,
            gateways: Gateways::default(),
            programs: None,
            hasher: RandomState::new(),
            started,
            told: Vec::new(),
        }
    }

    /// Receives an event after which further state may end.
    pub fn on_event(&mut self, event: &Event) {
        let now = self.now();
        match event {
            Event::Firewall(_) | Event::Overrun(Source::Firewall) => self.agenda.commanded(now),
            Event::Routing | Event::Overrun(Source::Route) => self.agenda.routed(now),
            Event::Policies | Event::Overrun(Source::Policy) => self.agenda.policed(now),
            Event::Neighbour(neighbour) if self.gateways.on_neighbour(neighbour) => {
                self.agenda.on_gateway_reachable()
            }
            _ => {}
        }
    }

    /// Takes the ruleset after a read, or the reason why the read failed. `respected`: the kernel
    /// keeps connections that per-packet rules affect.
    pub fn rules(&mut self, silent: Result<&UnreportedConditions, &str>, respected: bool) {
        let silent = match silent {
            Ok(silent) if respected => silent.clone(),
            Ok(silent) => silent.clone().ignoring(),
            Err(error) => UnreportedConditions::unknown(&format!("an unreadable ruleset: {error}")),
        };
        self.agenda.rules(silent, self.now());
    }

    /// Reads what is due. Whether all proofs are to end.
    pub fn turn(&mut self) -> bool {
        let unix = net::clock::unix().as_millis() as u64;
        let now = self.now();
        self.agenda.wall(unix, now);
        let asked = self.agenda.due_reads(now);
        for (name, most) in asked.sets {
            let begun = self.now();
            let members = read_members(&name, most, &self.hasher)
                .inspect_err(|error| debug!(set = %name, %error, "cannot read the set"));
            let now = self.now();
            self.agenda
                .set_read(&name, members.ok().as_deref(), begun, now);
        }
        if asked.routes {
            let begun = self.now();
            let lives = read_lifetimes(ROUTES)
                .inspect_err(|error| debug!(%error, "cannot read lifetimes of routes"));
            self.agenda
                .routes_read(lives.ok().as_deref(), begun, self.now());
        }
        if asked.policies {
            let begun = self.now();
            let idle =
                read_idle_limit().map_err(|error| debug!(%error, "cannot read IPsec policies"));
            self.agenda.policies_read(idle, begun, self.now());
        }
        if asked.groups {
            let begun = self.now();
            let idle = read_bucket_idle()
                .map_err(|error| debug!(%error, "cannot read groups of next hops"));
            let hops =
                read_next_hops(ROUTES).inspect_err(|error| debug!(%error, "cannot read next hops"));
            let (shared, programs) = hops.map_or_else(
                |_| Default::default(),
                |hops| (hops.shared, Some(hops.programs)),
            );
            self.gateways.shared(shared);
            // If routes cannot be read, the former ones stay.
            self.programs = programs.or(self.programs.take());
            self.agenda.groups_read(idle, begun, self.now());
        }
        self.tell();
        self.agenda.ends(self.now())
    }

    /// Routes with a program that sees each packet, where routes were read since the last call.
    pub fn take_programs(&mut self) -> Option<Vec<Prefix>> {
        self.programs.take()
    }

    /// Returns the time from which the packet path must not use proofs.
    pub fn until(&self) -> Option<Instant> {
        self.agenda.until().map(|at| self.instant(at))
    }

    /// Returns the time at which [`ExpiryMonitor::turn`] is due.
    pub fn poll_at(&self) -> Option<Instant> {
        self.agenda.poll_at().map(|at| self.instant(at))
    }

    fn now(&self) -> Millis {
        self.started.elapsed().as_millis() as Millis
    }

    fn instant(&self, at: Millis) -> Instant {
        // Far beyond any wait, but within the range of an instant.
        self.started + Duration::from_millis(at.min(u64::from(u32::MAX) * 1000))
    }

    /// Logs excessive costs when they first occur.
    fn tell(&mut self) {
        let opaque = self.agenda.silent().opaque.iter();
        let blind = self.agenda.blind();
        let told: Vec<String> = opaque
            .cloned()
            .chain(blind.map(|name| format!("the set {name}, which is too large to be read")))
            .collect();
        for line in told.iter().filter(|line| !self.told.contains(line)) {
            info!("all proofs end each second: the kernel does not report changes of {line}");
        }
        self.told = told;
    }
}
