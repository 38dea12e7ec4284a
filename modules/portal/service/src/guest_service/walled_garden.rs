//! Names in the walled garden: permission to resolve a name, and the addresses opened for a time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use kernel::sets::Family;
use kernel::{Batch, ElementStep, Mac, Prefix};
use portal_core::rules;
use portal_core::walled_garden::{MOST, NamePattern, is_host, is_public};
use tokio::sync::oneshot;
use tracing::{debug, warn};
use web::throttle::{Allowance, Throttle};

use super::external_networks::ExternalNetworks;
use super::login_throttle::client_address;
use crate::config::Portal;
use crate::resolver;
use runtime::daemon::Router;

/// Questions of one device, and of all: a page has some dozens of names.
const ASKED_EACH: Allowance = Allowance {
    burst: 100,
    every: Duration::from_millis(500),
};
const ASKED_ALL: Allowance = Allowance {
    burst: 1000,
    every: Duration::from_millis(20),
};

/// Addresses that are opened for one device, and for all: each time, and when it is closed, all
/// proofs of the packet path end.
const OPENED_EACH: Allowance = Allowance {
    burst: 100,
    every: Duration::from_secs(5),
};
const OPENED_ALL: Allowance = Allowance {
    burst: 500,
    every: Duration::from_millis(500),
};

/// Shortest interval between updates of open addresses: addresses within it are opened together.
const TOGETHER: Duration = Duration::from_millis(250);
/// Addresses that are open at once.
const MOST_OPEN: usize = 1024;
/// Answers that are remembered until they are understood.
const MOST_SAID: usize = 64;
/// Maximum number of logged names for which nothing is opened.
const MOST_TOLD: usize = 64;
/// Factor of the usual time for which an address with a connection stays open.
const HELD: u32 = 12;
/// `TCP_CONNTRACK_ESTABLISHED` (include/uapi/linux/netfilter/nf_conntrack_tcp.h).
const ESTABLISHED: u8 = 3;

/// An address of a name.
struct OpenAddress {
    name: String,
    /// Time at which the kernel closes the address.
    until: Instant,
    /// Time of the last query by a guest.
    asked: Instant,
}

/// Reply of a name server.
struct StoredReply {
    number: u64,
    name: String,
    octets: Vec<u8>,
    /// Client that asked, as the rate limits distinguish devices.
    who: IpAddr,
}

/// Server to ask, and the client that asks.
pub struct QueryTarget {
    pub server: IpAddr,
    who: IpAddr,
}

/// State of the walled garden.
pub struct WalledGarden {
    /// Networks that every device may reach.
    networks: Vec<Prefix>,
    names: Vec<NamePattern>,
    server: Option<IpAddr>,
    time: Duration,
    began: Instant,
    questions: Throttle,
    opens: Throttle,
    said: VecDeque<StoredReply>,
    numbers: u64,
    open: HashMap<IpAddr, OpenAddress>,
    /// Addresses that are to be opened, and closed; and when the last ones were.
    opening: HashMap<IpAddr, (String, Instant)>,
    closing: Vec<IpAddr>,
    put: Option<Instant>,
    waiting: Vec<oneshot::Sender<()>>,
    outside: ExternalNetworks,
    looked: Instant,
    told: HashSet<String>,
    /// Problems already logged: each once, until the problem is solved.
    full: bool,
    refused: bool,
    silent: Option<IpAddr>,
}

impl Default for WalledGarden {
    fn default() -> Self {
        let began = Instant::now();
        Self {
            networks: Vec::new(),
            names: Vec::new(),
            server: None,
            time: Duration::from_secs(1200),
            began,
            questions: Throttle::new(ASKED_EACH, ASKED_ALL),
            opens: Throttle::new(OPENED_EACH, OPENED_ALL),
            said: VecDeque::new(),
            numbers: 0,
            open: HashMap::new(),
            opening: HashMap::new(),
            closing: Vec::new(),
            put: None,
            waiting: Vec::new(),
            outside: ExternalNetworks::default(),
            looked: began,
            told: HashSet::new(),
            full: false,
            refused: false,
            silent: None,
        }
    }
}

impl WalledGarden {
    fn holds(&self, name: &str) -> bool {
        self.names.iter().any(|own| own.holds(name))
    }

    /// Sets the entries of the walled garden, the name server, and how long addresses stay open.
    pub fn configure(&mut self, config: &Portal) {
        (self.networks, self.names) = (config.garden.networks(), config.garden.names());
        (self.server, self.time) = (config.resolver.0, *config.garden_time);
        self.told.clear();
        let names = &self.names;
        let gone = self
            .open
            .extract_if(|_, open| !names.iter().any(|own| own.holds(&open.name)));
        self.closing.extend(gone.map(|(address, _)| address));
        self.opening
            .retain(|_, (name, _)| names.iter().any(|own| own.holds(name)));
        self.settle();
    }

    /// Marks all addresses as possibly missing in the kernel: each is added once more at its next
    /// query.
    pub fn doubt(&mut self) {
        let now = Instant::now();
        for open in self.open.values_mut() {
            open.until = now;
        }
    }

    /// Returns when addresses have to be opened or closed next.
    pub fn due(&self) -> Option<Instant> {
        match (self.closing.is_empty(), self.opening.is_empty()) {
            (true, true) => None,
            (false, _) => Some(self.began),
            (true, false) => Some(self.put.map_or(self.began, |at| at + TOGETHER)),
        }
    }

    /// Opens and closes due addresses.
    pub fn settle(&mut self) {
        let now = Instant::now();
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        self.put = Some(now);
        let (opening, closing) = (
            std::mem::take(&mut self.opening),
            std::mem::take(&mut self.closing),
        );
        let keys: Vec<_> = opening
            .keys()
            .map(|address| (key(address), Some(Some(self.time))))
            .chain(closing.iter().map(|address| (key(address), None)))
            .collect();
        let mut steps: Vec<_> = keys
            .iter()
            .map(|((set, key), put)| ElementStep {
                set,
                key,
                put: *put,
                limit: None,
            })
            .collect();
        steps.sort_by_key(|step| step.set);
        let batch = Batch {
            steps,
            ..Batch::default()
        };
        match kernel::io::change_elements(Family::Inet, rules::TABLE, &batch) {
            Ok(()) => {
                self.refused = false;
                let until = now + self.time;
                self.open
                    .extend(opening.into_iter().map(|(address, (name, asked))| {
                        let opened = OpenAddress { name, until, asked };
                        (address, opened)
                    }));
            }
            Err(_) if self.refused => {}
            Err(error) => {
                self.refused = true;
                warn!(%error, "cannot open addresses of the garden's names");
            }
        }
        for waiting in self.waiting.drain(..) {
            // A receiver that is gone needs no message.
            let _ = waiting.send(());
        }
    }

    /// Returns true if another address may be opened for a client.
    fn takes(&mut self, who: IpAddr) -> bool {
        let now = self.began.elapsed();
        self.has_room() && self.opens.take(who, now).is_ok()
    }

    /// Returns true if another address can be opened.
    fn has_room(&mut self) -> bool {
        if self.open.len() + self.opening.len() < MOST_OPEN {
            return true;
        }
        let now = Instant::now();
        self.open.retain(|_, open| open.until > now);
        let room = self.open.len() + self.opening.len() < MOST_OPEN;
        if !room && !self.full {
            warn!(
                "too many addresses of the garden's names (over {MOST_OPEN}): further ones are \
                 opened once some are closed"
            );
        }
        self.full = !room;
        room
    }

    /// Returns the names in the walled garden.
    pub fn names(&self) -> Vec<String> {
        self.names.iter().map(ToString::to_string).collect()
    }

    /// Returns the server for a name. `None`: not in the walled garden, or too many queries of this
    /// guest.
    pub fn may_ask(
        &mut self,
        guest: IpAddr,
        device: Option<Mac>,
        name: &str,
    ) -> Option<QueryTarget> {
        if !is_host(name) || !self.holds(name) {
            return None;
        }
        let who = device.map_or(guest, |mac| client_address(&mac));
        let now = self.began.elapsed();
        self.questions.take(who, now).ok()?;
        let server = self.server.unwrap_or_else(resolver::of_the_system);
        Some(QueryTarget { server, who })
    }

    /// Handles a name server that does not answer.
    pub fn is_silent(&mut self, server: IpAddr, error: &io::Error) {
        if self.silent.replace(server) != Some(server) {
            let hint = "check `resolver` under [portal]";
            warn!(%server, %error, hint, "cannot resolve names of the garden: no answer from the name server");
        }
    }

    /// Stores the name server's answer about a name. The returned number identifies the answer.
    pub fn was_said(&mut self, way: &QueryTarget, name: String, octets: Vec<u8>) -> u64 {
        self.silent = None;
        self.numbers += 1;
        if self.said.len() >= MOST_SAID {
            self.said.pop_front();
        }
        let number = self.numbers;
        self.said.push_back(StoredReply {
            number,
            name,
            octets,
            who: way.who,
        });
        number
    }

    /// Opens addresses of an answer. Completes when the permitted ones are open; `None`: they are
    /// open already.
    pub fn open(
        &mut self,
        number: u64,
        addresses: &[IpAddr],
        router: &Router,
    ) -> Option<oneshot::Receiver<()>> {
        let place = self.said.iter().position(|said| said.number == number)?;
        let StoredReply {
            name, octets, who, ..
        } = self.said.remove(place)?;
        if !self.holds(&name) {
            return None;
        }
        let now = Instant::now();
        let stands = |address: &IpAddr| {
            let (_, key) = key(address);
            octets.windows(key.len()).any(|some| some == key)
        };
        let mut opens = false;
        for address in addresses.iter().filter(|a| stands(a)).take(MOST) {
            if self.networks.iter().any(|of| of.contains(address)) {
                continue;
            }
            if !is_public(*address) || !self.outside.holds(*address, router) {
                if self.told.len() < MOST_TOLD && self.told.insert(name.clone()) {
                    let hint = "to make it reachable, add the address under `garden`";
                    warn!(name, %address, hint, "garden name resolves to an address of this network: not opened");
                }
                continue;
            }
            if let Some(open) = self.open.get_mut(address) {
                open.asked = now;
                if open.until > now + self.time / 2 {
                    continue;
                }
            } else if !self.opening.contains_key(address) && !self.takes(who) {
                continue;
            }
            self.opening.insert(*address, (name.clone(), now));
            opens = true;
        }
        self.settle();
        let waits = opens && self.due().is_some();
        waits.then(|| {
            let (told, heard) = oneshot::channel();
            self.waiting.push(told);
            heard
        })
    }

    /// Returns true if guests can reach an address.
    pub fn is_open(&self, address: &IpAddr) -> bool {
        let open = self.open.get(address);
        open.is_some_and(|open| open.until > Instant::now())
            || self.networks.iter().any(|of| of.contains(address))
    }

    /// Returns the seconds after which guests have to ask again: before open addresses close.
    pub fn asked_again(&self) -> u32 {
        (self.time.as_secs() / 2).clamp(1, 86_400) as u32
    }

    /// Keeps addresses of running connections open, for some hours.
    pub fn hold_open(&mut self, router: &Router) {
        let (now, time) = (Instant::now(), self.time);
        if self.open.is_empty() || now.duration_since(self.looked) < time / 8 {
            return;
        }
        self.looked = now;
        let mut soon: HashMap<IpAddr, _> = self
            .open
            .iter()
            .filter(|(_, open)| open.until > now && open.until < now + time / 2)
            .filter(|(_, open)| now < open.asked + time * HELD)
            .map(|(address, open)| (*address, (open.name.clone(), open.asked)))
            .collect();
        for (_, flow) in router.core.flows() {
            if soon.is_empty() {
                break;
            }
            // Conntrack remembers those that are over for a while.
            if flow.tcp_state.is_some_and(|state| state != ESTABLISHED) {
                continue;
            }
            let to = flow.original().destination;
            if let Some(open) = soon.remove(&to) {
                debug!(address = %to, "connection keeps an address of the garden open");
                self.opening.insert(to, open);
            }
        }
        self.settle();
    }
}

/// Returns the set of an address, and its key there.
fn key(address: &IpAddr) -> (&'static str, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (rules::NAMES[0], address.octets().to_vec()),
        IpAddr::V6(address) => (rules::NAMES[1], address.octets().to_vec()),
    }
}
