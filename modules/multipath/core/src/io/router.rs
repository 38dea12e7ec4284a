//! `[multipath]` at the router: from its settings to its threads, and their state.

mod reserve;
mod rules;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use answers::Path;
use kernel::io::{Subflows, load_rules};
use kernel::subflows::{Sockets, SubflowKind};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, sleep};
use tracing::{debug, error, info, warn};

use super::partner_session::{self, PartnerEvent};
use super::paths::Paths;
use super::proxy_state::{Health, PathInfo, ProxyState};
use super::state::{Connection, SharedState, State};
use super::threads::{Stop, Threads, processors};
use super::traffic_settings::TrafficSettings;
use super::tunnel::{self, Tun};
use super::{TunDevice, limits, locked, proxy, socket};
use crate::backup_reminders::BackupReminders;
use crate::gaps::Gaps;
use crate::goodput::GoodputMonitor;
use crate::hints::{Hints, Use};
use crate::identity::Identity;
use crate::nft;
use crate::pairing::Pairing;
use crate::shares::Shares;
use crate::traffic_policy::{Forward, Ports};
use crate::welcome::Welcome;

use reserve::Reserve;
use rules::Rules;
pub use rules::forget_tunnelled;

/// Interval of reading the paths' traffic; each `LACKS`th reading also finds missing subflows.
const LOOK: Duration = Duration::from_millis(500);
const LACKS: u32 = 2;
/// Time for another partner to take over, before traffic of the tunnel goes directly.
const TAKES_OVER: Duration = Duration::from_secs(2);

/// Settings of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The lines that partners printed, in the order of trying.
    pub pairings: Vec<Pairing>,
    /// The router's own key; `None`: the key of the partner's line.
    pub own: Option<Identity>,
    /// Rules of clients' traffic. They may change meanwhile: see [`Router::conduct`].
    pub conduct: TrafficSettings,
    /// The user's hints, by device. They may change meanwhile: see [`Router::hint`].
    pub hints: Hints,
    /// Folder that records changed kernel settings.
    pub folder: PathBuf,
    /// File of the lock.
    pub lock: PathBuf,
}

/// Failure to start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Clients' connections cannot be accepted.
    #[error("cannot accept clients' connections at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The kernel's routing or MPTCP cannot be configured.
    #[error("cannot configure the kernel's paths: {0}")]
    Paths(#[source] io::Error),
}

/// Running multipath, until it is dropped.
pub struct Router {
    share: Arc<ProxyState>,
    state: Arc<SharedState>,
    conduct: watch::Sender<TrafficSettings>,
    _threads: Threads,
}

impl Router {
    /// Begins. `device`: for the tunnel; without a device, no tunnel runs. Clients' connections are
    /// redirected here once a session with the partner exists.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(settings: Settings, device: Option<TunDevice>) -> Result<Self, StartError> {
        let workers = processors();
        let share = ProxyState::new(limits::raise(), &settings.conduct, settings.hints.clone());
        let share = Arc::new(share);
        let state = Arc::new(SharedState::default());
        *state.lock() = State::of(&settings.pairings);
        let (conduct, heard) = watch::channel(settings.conduct.clone());
        let mut threads = Threads::new();
        let listens = |source| StartError::Listen {
            address: proxy::ACCEPT[0],
            source,
        };
        let [ipv4, ipv6] = proxy::ACCEPT.map(|address| socket::listen(address, false, true));
        let ipv4 = ipv4.map_err(listens)?;
        for number in 0..workers {
            let share = Arc::clone(&share);
            let ipv4 = ipv4.try_clone().map_err(listens)?;
            // A kernel without IPv6 has no clients that speak it.
            let ipv6 = ipv6.as_ref().ok().map(TcpListener::try_clone);
            let ipv6 = ipv6.transpose().map_err(listens)?;
            threads
                .start(&format!("multipath-{number}"), move |stop| {
                    let ipv4 = tokio::net::TcpListener::from_std(ipv4)?;
                    let ipv6 = ipv6.map(tokio::net::TcpListener::from_std).transpose()?;
                    Ok(stop.during(async move {
                        let four = proxy::accept(ipv4, Arc::clone(&share));
                        match ipv6 {
                            Some(ipv6) => drop(tokio::join!(four, proxy::accept(ipv6, share))),
                            None => four.await,
                        }
                    }))
                })
                .map_err(listens)?;
        }
        let (link, name) = (
            device.as_ref().map(|it| it.link),
            device.as_ref().map(|it| it.name.clone()),
        );
        if let Some(device) = device {
            let share = Arc::clone(&share);
            threads
                .start("multipath-tunnel", move |stop| {
                    let tun = Tun::new(device.descriptor)?;
                    Ok(stop.during(tunnel::router::run(tun, device.link, share)))
                })
                .map_err(StartError::Paths)?;
        }
        let (shared, shown) = (Arc::clone(&share), Arc::clone(&state));
        threads
            .start("multipath", move |stop| {
                let paths = Paths::open(&settings.folder, settings.hints.clone())?;
                let control = Control {
                    settings,
                    conduct: heard,
                    link,
                    rules: Rules::new(name, Arc::clone(&shared), Arc::clone(&shown)),
                    reserve: Reserve::new(Arc::clone(&shared)),
                    share: shared,
                    state: shown,
                    anew: RefCell::default(),
                    lost: Cell::default(),
                    lan: RefCell::default(),
                };
                Ok(control.run(paths, stop))
            })
            .map_err(StartError::Paths)?;
        Ok(Self {
            share,
            state,
            conduct,
            _threads: threads,
        })
    }

    /// Applies other hints about paths. Connections on the paths go on.
    pub fn hint(&self, hints: Hints) {
        self.share.set_hints(hints);
    }

    /// Applies other rules to new connections. Existing connections go on.
    pub fn conduct(&self, conduct: TrafficSettings) {
        self.share.conduct(&conduct);
        self.conduct.send_replace(conduct);
    }

    /// Returns the current state.
    pub fn state(&self) -> State {
        let mut state = self.state.lock().clone();
        state.counted = self.share.counts.read();
        let meeting = self.share.meetings().borrow().clone();
        let granted = |ports: &Ports| {
            let welcome = &meeting.as_ref()?.welcome;
            Some(welcome.forwards.iter().any(|granted| granted.hold(ports)))
        };
        let conduct = self.conduct.borrow();
        let forwards = conduct
            .choice
            .forwards
            .iter()
            .map(|forward| answers::Forward {
                ports: forward.ports.to_string(),
                to: forward.to(),
                granted: granted(&forward.ports),
            });
        state.forwards = forwards.collect();
        state
    }
}

/// The thread that manages paths, partner and rules.
struct Control {
    settings: Settings,
    conduct: watch::Receiver<TrafficSettings>,
    /// Index of the tunnel's device.
    link: Option<u32>,
    rules: Rules,
    reserve: Reserve,
    share: Arc<ProxyState>,
    state: Arc<SharedState>,
    /// Addresses of paths whose endpoints have to be created again.
    anew: RefCell<Vec<IpAddr>>,
    /// Time since which no path answers, while another partner may take over.
    lost: Cell<Option<Instant>>,
    /// Devices whose clients leave only by the partner.
    lan: RefCell<Vec<String>>,
}

impl Control {
    async fn run(self, mut paths: Paths, stop: Stop) {
        let (pairings, own) = (&self.settings.pairings, self.settings.own.as_ref());
        let who = pairings
            .iter()
            .map(|it| partner_session::PartnerCandidate::new(it, own));
        let work = async {
            let lock = &self.settings.lock;
            let session = partner_session::keep(who.collect(), lock, &self.share, |news| {
                self.state.lock().on_news(&news);
                match news {
                    PartnerEvent::Connected(_, welcome) => self.warn_of_forwards(welcome),
                    PartnerEvent::Lost => self.share.ailing.notify_one(),
                    _ => {}
                }
                self.rules.look();
            });
            let follow = async {
                loop {
                    self.reserve.keep(&mut paths);
                    self.tell_paths(&paths);
                    paths.damp(self.share.flapping());
                    paths.lead_to(&self.share.partners());
                    paths.lock(&self.lan.borrow());
                    tokio::select! {
                        changed = paths.changed() => match changed {
                            Ok(()) => {}
                            Err(error) => break error,
                        },
                        () = self.share.moved.notified() => {}
                        () = self.share.ailing.notified() => self.heed(&mut paths),
                        () = self.waited() => self.heed(&mut paths),
                    }
                }
            };
            tokio::select! {
                () = self.keep_shares() => {}
                () = session => {}
                error = follow => error!(%error, "cannot follow paths any longer"),
                () = self.rules.keep(self.conduct.clone()) => {}
                () = locked::keep(lock, |lan| {
                    self.lan.replace(lan);
                    self.share.moved.notify_one();
                }) => {}
            }
        };
        stop.during(work).await;
        if let Err(error) = load_rules(&nft::remove()).await {
            warn!(
                error,
                "cannot remove the rules: remove them by `nft delete table inet weir_multipath`"
            );
        }
        forget_tunnelled();
        paths.leave();
    }

    /// Warns of forwarded ports that the partner does not grant.
    fn warn_of_forwards(&self, welcome: &Welcome) {
        for Forward { ports, .. } in &self.conduct.borrow().choice.forwards {
            if !welcome.forwards.iter().any(|granted| granted.hold(ports)) {
                warn!(%ports, "the partner does not grant these ports to this router: run `weir \
                    multipath forward` at the partner");
            }
        }
    }

    fn tell_paths(&self, of: &Paths) {
        let mut paths = of.now();
        self.log_paths(&paths);
        let hints = self.share.hints();
        let used = paths.iter().filter(|path| path.used != Use::Never);
        let known = used.map(|path| PathInfo {
            address: path.address,
            device: path.device.clone(),
            hint: hints.get(&path.device).copied().unwrap_or_default(),
        });
        self.share.set_paths(known.collect());
        for path in &mut paths {
            self.reserve.describe(path);
        }
        let twins = of.twins();
        let state = &mut *self.state.lock();
        if state.duplicates != twins {
            for answers::Twin {
                device,
                address,
                of,
            } in &twins
            {
                warn!(device, %address, "uplink not used: it has the same address as {of}, and is \
                    used if that uplink fails; give one of the two modems another network");
            }
        }
        (state.paths, state.duplicates) = (paths, twins);
        self.rules.look();
    }

    /// Logs the list of paths, unless all changed ones flap.
    fn log_paths(&self, paths: &[Path]) {
        let key = |path: &Path| (path.device.clone(), path.address);
        let before: BTreeSet<_> = self.state.lock().paths.iter().map(key).collect();
        let now: BTreeSet<_> = paths.iter().map(key).collect();
        let changed: BTreeSet<_> = before.symmetric_difference(&now).map(|(d, _)| d).collect();
        if changed.iter().filter(|d| self.share.tells(d)).count() > 0 {
            let names: Vec<_> = paths.iter().map(|path| &*path.device).collect();
            info!(paths = names.join(" "), "paths");
        }
    }

    /// Stops using paths by which the partner does not answer, and returns to them.
    fn heed(&self, paths: &mut Paths) {
        paths.hint(self.share.hints());
        // Announces the path that takes over before the other path disappears.
        self.reserve.keep(paths);
        for address in self.anew.take() {
            paths.renew(address);
        }
        let health: Vec<_> = paths
            .now()
            .into_iter()
            .map(|path| (path.address, self.share.health(path.address)))
            .collect();
        let any = |wanted| health.iter().any(|(_, health)| *health == Some(wanted));
        let works = any(Health::Up);
        for (address, health) in &health {
            // If no path is better, all stay in use.
            paths.rest(*address, works && *health == Some(Health::Down));
        }
        if !works && any(Health::Down) {
            // The partner may have restarted and lost this session: it says so by TCP only.
            self.share.doubt_any();
        }
        let link = self.link.filter(|_| self.leads(works));
        paths.tunnel(link);
        self.rules.lead(link.is_some());
    }

    /// Returns true if traffic other than TCP is to go into the tunnel. With another partner, the
    /// tunnel stays for a moment when no path `works`, so that traffic can move.
    fn leads(&self, works: bool) -> bool {
        let connected = matches!(self.state.lock().connection, Connection::Connected { .. });
        let another = connected && self.settings.pairings.len() > 1;
        if works || !another || !self.rules.leads() {
            self.lost.set(None);
            return works;
        }
        let since = self.lost.get().unwrap_or_else(Instant::now);
        self.lost.set(Some(since));
        since.elapsed() < TAKES_OVER
    }

    /// Waits until that moment is over.
    async fn waited(&self) {
        match self.lost.get().filter(|_| self.rules.leads()) {
            Some(since) => sleep(TAKES_OVER.saturating_sub(since.elapsed())).await,
            None => pending().await,
        }
    }

    /// Measures the traffic of the paths.
    async fn keep_shares(&self) {
        let mut sockets = match Subflows::open() {
            Ok(sockets) => sockets,
            Err(error) => {
                warn!(%error, "cannot measure the traffic of paths");
                return pending().await;
            }
        };
        let (mut shares, mut gaps, mut found) = (Shares::default(), Gaps::default(), Vec::new());
        let mut connections = Vec::new();
        let (mut stray, mut unheard) = (Vec::new(), BackupReminders::default());
        let (mut guard, begun, mut looks) = (GoodputMonitor::default(), Instant::now(), 0_u32);
        let mut every = tokio::time::interval(LOOK);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            self.share.look_at_flaps();
            found.clear();
            let to = Sockets::To(self.share.port());
            if let Err(error) = sockets.read(to, &mut found) {
                debug!(%error, "cannot read subflows");
            }
            let partners = self.share.partners();
            found.retain(|subflow| {
                let mut partners = partners.iter();
                partners.any(|address| address.ip() == subflow.remote.ip().to_canonical())
            });
            shares.look(&found);
            for subflow in found.iter().filter(|s| s.kind == SubflowKind::FellBack) {
                self.share.note_stripped(subflow.local.ip().to_canonical());
            }
            looks = looks.wrapping_add(1);
            let works = self.share.working();
            let lacking = match looks.is_multiple_of(LACKS) {
                true => {
                    connections.clear();
                    if let Err(error) = sockets.connections(to, &mut connections) {
                        debug!(%error, "cannot read MPTCP connections");
                    }
                    gaps.look(&found, &connections, &works)
                }
                false => Vec::new(),
            };
            for path in lacking {
                info!(%path, "connections lack a subflow on a working path: creating it again");
                self.anew.borrow_mut().push(path);
                self.share.ailing.notify_one();
            }
            stray = self.reserve.strays(&found, &stray);
            self.reserve.unheard(&mut unheard, &found);
            let mut state = self.state.lock();
            for path in &mut state.paths {
                shares.of(path.address).show(path);
                self.reserve.describe(path);
                path.strips = self.share.strips(path.address);
                [path.tunnel_sent, path.tunnel_received] = self.share.tunnelled(path.address);
            }
            self.reserve
                .guard(&mut guard, &state.paths, begun.elapsed());
        }
    }
}
