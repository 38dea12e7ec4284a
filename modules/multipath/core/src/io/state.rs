//! The state of a router's partners and paths.

use std::sync::{Mutex, MutexGuard};

use answers::{Candidate, ConnectionCounts, Forward, Path, Twin};

use super::partner_session::PartnerEvent;
use super::threads::lock;
use crate::pairing::Pairing;

/// Connection to the partner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// Connecting, for the first time or again.
    #[default]
    Connecting,
    /// Connected.
    Connected {
        /// Version of the partner's weir.
        version: String,
        /// The partner reaches IPv4 addresses.
        ipv4: bool,
        /// The partner reaches IPv6 addresses.
        ipv6: bool,
    },
    /// All tries failed; they go on.
    Failed {
        /// Cause, in words.
        problem: String,
    },
}

/// State of partners and paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Name or address, and port, of the session's partner, or of the first one.
    pub partner: String,
    /// All partners, in the order in which they are tried.
    pub partners: Vec<Candidate>,
    /// Connection to the partner.
    pub connection: Connection,
    /// True if clients' new connections are redirected here.
    pub redirects: bool,
    /// True if traffic other than TCP uses the tunnel.
    pub tunnel: bool,
    /// The tunnel carries IPv4, and IPv6.
    pub tunnel_families: [bool; 2],
    /// The uplinks.
    pub paths: Vec<Path>,
    /// Uplinks that wait, as another has their address.
    pub duplicates: Vec<Twin>,
    /// Forwarded ports.
    pub forwards: Vec<Forward>,
    /// Connections and bytes.
    pub counted: ConnectionCounts,
}

impl State {
    /// Returns the state before the first try.
    pub fn of(pairings: &[Pairing]) -> Self {
        let candidates = pairings.iter().map(|pairing| Candidate {
            partner: pairing.address(),
            ..Candidate::default()
        });
        let mut state = Self {
            partners: candidates.collect(),
            ..Self::default()
        };
        state.partner_is(0);
        state
    }

    fn partner_is(&mut self, at: usize) {
        self.partner = self
            .partners
            .get(at)
            .map_or_else(String::new, |it| it.partner.clone());
    }

    /// Applies an event of the partners.
    pub fn on_news(&mut self, news: &PartnerEvent<'_>) {
        let reached = |it: &mut Candidate| (it.reached, it.problem) = (Some(true), None);
        match *news {
            PartnerEvent::Connected(at, welcome) => {
                for (place, candidate) in self.partners.iter_mut().enumerate() {
                    candidate.in_use = place == at;
                }
                reached(&mut self.partners[at]);
                self.partner_is(at);
                self.connection = Connection::Connected {
                    version: welcome.version.clone(),
                    ipv4: welcome.ipv4,
                    ipv6: welcome.ipv6,
                };
            }
            PartnerEvent::Reachable(at) => reached(&mut self.partners[at]),
            PartnerEvent::Failed(at, error) => {
                let candidate = &mut self.partners[at];
                (candidate.reached, candidate.problem) = (Some(false), Some(error.to_string()));
            }
            PartnerEvent::Lost => {
                self.partners.iter_mut().for_each(|it| it.in_use = false);
                self.partner_is(0);
                let problem = self.partners.first().and_then(|it| it.problem.clone());
                let problem = problem.unwrap_or_default();
                self.connection = Connection::Failed { problem };
            }
        }
    }
}

/// The state, which several threads write.
#[derive(Debug, Default)]
pub struct SharedState(Mutex<State>);

impl SharedState {
    /// Locks the state.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}
