//! The daemon: `weir run`. One thread, one loop: the kernel's events, the heartbeat, the API, signals.

mod account;
mod capture;
pub(crate) mod confine;
mod costs;
mod counters;
pub(crate) mod drops;
mod expiry;
mod explain;
mod face;
mod firewall;
mod flows;
mod guard;
mod memory;
mod monitor;
mod multipath;
mod notify;
pub(crate) mod page;
pub(crate) mod privileges;
mod router;
mod routes;
pub(crate) mod settings;
pub(crate) mod surroundings;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use api::{Limits, Listener, Routes};
use datapath::{Datapath, Sizes};
use kernel::io::{Events, Requests, SetEvents};
use kernel::{Event, SetEvent, Source};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;
use tracing::{error, info, warn};

use crate::commands::run::Module;
use crate::config::Effective;
use crate::error::Error;
use crate::modules::monitor::config;
use crate::modules::offload::config::Offload;
use crate::modules::page::config::Web;
use face::Face;
use router::Router;
pub use settings::{RunOptions, Settings};
use surroundings::Surroundings;

/// Time-outs, re-proofs and retries.
const TICK: Duration = Duration::from_millis(250);
/// Heartbeat; the packet path waits four of them.
const BEAT: Duration = Duration::from_millis(500);
/// Counters, and sysctls, which change without an event.
const COUNT: Duration = Duration::from_secs(1);

/// Runs until told to stop. A signal or an error leaves the kernel forwarding everything.
pub fn run(effective: Effective, options: RunOptions) -> Result<(), Error> {
    let runtime = crate::event_loop()?;
    runtime.block_on(async { Daemon::new(effective, options)?.serve().await })
}

/// What is open.
struct Daemon {
    router: Rc<RefCell<Router>>,
    face: Rc<Face>,
    routes: Routes,
    listener: Listener,
    page: Option<page::Page>,
    conntrack: Events,
    route: Events,
    firewall: Events,
    policy: Option<Events>,
    sets: Option<SetEvents>,
    dumps: Requests,
    notify: notify::Notify,
    _guard: guard::Guard,
}

impl Daemon {
    fn new(effective: Effective, options: RunOptions) -> Result<Self, Error> {
        let guard = guard::take()
            .map_err(|e| Error::because("weir cannot see whether another one runs here", &e, "start it as root"))?
            .ok_or_else(|| {
                Error::new(
                    "another weir runs in this network namespace",
                    "`weir status` shows it; stop it first, or `weir reload` to change its settings",
                )
            })?;
        // Listening before dumping: what changes in between is told twice, not lost.
        let events = |source| {
            Events::open(source).map_err(|e| {
                Error::because(
                    format!("weir cannot listen to {source:?} events"),
                    &e,
                    "start it as root, with conntrack and nftables in the kernel",
                )
            })
        };
        let mut conntrack = events(Source::Conntrack)?;
        let route = events(Source::Route)?;
        let firewall = events(Source::Firewall)?;
        // A kernel without IPsec has no such socket, and no policies.
        let policy = Events::open(Source::Policy).ok();
        let requests = || {
            Requests::open()
                .map_err(|e| Error::because("weir cannot ask the kernel", &e, "start it as root"))
        };
        let (updates, dumps) = (requests()?, requests()?);
        conntrack.ignore_port(updates.port()).map_err(|e| {
            Error::because(
                "weir cannot tell its own updates apart",
                &e,
                "start it as root",
            )
        })?;

        let sets = SetEvents::open()
            .inspect_err(|error| warn!(%error, "sets of addresses cannot be followed"))
            .ok();
        let shadow = options.shadow || *effective.of::<Offload>().shadow;
        let wanted = |module| options.only.is_empty() || options.only.contains(&module);
        let forwards = wanted(Module::Offload);
        let sizes = match forwards {
            true => settings::sizes(&effective, &links()),
            // Nothing is written into it.
            false => Sizes::new(0, 0, &links()),
        };
        let path = Datapath::load(sizes, settings::options(&effective, shadow)).map_err(|e| {
            let mend = match e.is_out_of_memory() {
                true => memory::mend(),
                false => "`weir check` shows what the kernel lacks".to_owned(),
            };
            Error::because("the packet path cannot be loaded", &e, mend)
        })?;
        let mut offload = settings::offload_settings(&effective, shadow);
        if !forwards {
            offload = settings::hands_off(offload);
        }
        let monitor = wanted(Module::Monitor)
            .then(|| monitor::Keeper::load(&effective, &links()))
            .flatten();
        let core = offload::Core::new(offload);
        let surroundings = Surroundings::new();
        let mut router = Router::new(core, path, updates, surroundings, forwards, monitor);
        router
            .drops
            .configure(settings::drops(&effective), &mut router.path);
        let listener = Listener::bind(&options.socket).map_err(|e| {
            Error::because(
                "the API cannot listen",
                &e,
                "`--socket PATH` chooses another place",
            )
        })?;
        router.start().map_err(|e| {
            let mend = match e.is_out_of_memory() {
                true => memory::mend(),
                false => "`weir check` shows what the kernel lacks".to_owned(),
            };
            Error::because("the packet path does not start", &e, mend)
        })?;
        info!(socket = %options.socket.display(), table = router.path.sizes().octets(), shadow, "weir runs");
        let notify = notify::Notify::from_environment();
        let router = Rc::new(RefCell::new(router));
        let config = effective.of::<Web>().clone();
        let leases = effective.of::<config::Monitor>().leases.value.clone();
        let kept = monitor::past::file(&effective);
        let carries = wanted(Module::Multipath);
        let settings = Settings::new(effective, options.shadow, options.source);
        let face = Rc::new(Face {
            router: Rc::clone(&router),
            captures: Rc::new(capture::Captures::default()),
            settings: Rc::new(RefCell::new(settings)),
            multipath: carries.then(|| {
                RefCell::new(multipath::Multipath::new(&multipath::folder(
                    &options.socket,
                )))
            }),
            started: face::unix_seconds(),
            netns: netns_inode(),
        });
        let routes = routes::routes(&face);
        let page = page::Page::open(&config, &face, &routes);
        let history = kept.as_deref().and_then(Path::parent).map(Path::to_owned);
        if let Some(directory) = &history
            && let Err(error) = std::fs::create_dir_all(directory)
        {
            warn!(%error, directory = %directory.display(), "cannot be made: no history is kept");
        }
        let (multipath, devices) = match carries {
            true => (
                multipath::Multipath::places(&options.socket),
                multipath::Multipath::devices(),
            ),
            false => (Vec::new(), Vec::new()),
        };
        confine::confine(&confine::Reach {
            config: &options.config,
            socket: &options.socket,
            read: &leases,
            write: &[
                page::places(&config),
                history.into_iter().collect(),
                multipath,
            ]
            .concat(),
            devices: &devices,
        });
        privileges::drop_privileges(&options.config);
        // Its thread has the rights that this one has.
        if let (Some(file), Some(monitor)) = (&kept, &mut router.borrow_mut().monitor) {
            monitor.keep_history(file, &face.settings.borrow().effective);
        }
        if let Some(multipath) = &face.multipath {
            let settings = face.settings.borrow();
            multipath.borrow_mut().configure(&settings.effective);
        }
        Ok(Self {
            router,
            face,
            routes,
            listener,
            page,
            conntrack,
            route,
            firewall,
            policy,
            sets,
            dumps,
            notify,
            _guard: guard,
        })
    }

    async fn serve(self) -> Result<(), Error> {
        let Self {
            router,
            face,
            routes,
            listener,
            page,
            mut conntrack,
            mut route,
            mut firewall,
            mut policy,
            mut sets,
            mut dumps,
            notify,
            _guard,
        } = self;
        let captures = Rc::clone(&face.captures);
        let api = api::serve(&listener, &routes, Limits::default());
        tokio::pin!(api);
        let page = async {
            match &page {
                Some(page) => page.serve().await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(page);

        let signals = |kind| {
            signal(kind).map_err(|e| Error::because("signals cannot be caught", &e, "report this"))
        };
        let mut terminate = signals(SignalKind::terminate())?;
        let mut interrupt = signals(SignalKind::interrupt())?;
        let mut hang_up = signals(SignalKind::hangup())?;
        let every = |period| {
            let mut interval = tokio::time::interval(period);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        };
        let (mut tick, mut beat, mut count) = (every(TICK), every(BEAT), every(COUNT));
        let mut turn = every(capture::TURN);
        // One for each socket, as all are waited for at once.
        let mut found: [Vec<Event>; 5] = Default::default();
        let mut sets_changed: Vec<SetEvent> = Vec::new();
        let ruleset = RefCell::new(None);
        let mut quotas = firewall::Firewall::default();
        let mut loads = 0;

        notify.ready();
        let outcome = loop {
            let [
                from_firewall,
                from_policy,
                from_route,
                from_conntrack,
                from_dumps,
            ] = &mut found;
            // In order of urgency: a change of rules must not wait behind a flood of new connections.
            tokio::select! {
                biased;
                _ = beat.tick() => router.borrow_mut().beat(),
                _ = terminate.recv() => break Ok(()),
                _ = interrupt.recv() => break Ok(()),
                result = firewall.recv(from_firewall) => if let Err(e) = result { break Err(broken(Source::Firewall, &e)) },
                result = heard(&mut policy, from_policy) => if let Err(e) = result { break Err(broken(Source::Policy, &e)) },
                result = sets_heard(&mut sets, &mut sets_changed) => if let Err(e) = result { break Err(broken(Source::Firewall, &e)) },
                result = route.recv(from_route) => if let Err(e) = result { break Err(broken(Source::Route, &e)) },
                told = quotas.told() => if let Err(error) = told {
                    warn!(error, "the firewall does not take weir's rules for quotas");
                    if let Some(monitor) = &mut router.borrow_mut().monitor {
                        monitor.rules_refused();
                    }
                },
                () = expires(&router), if router.borrow().forwards => router.borrow_mut().expire(),
                _ = tick.tick() => router.borrow_mut().tick(),
                result = conntrack.recv(from_conntrack) => if let Err(e) = result { break Err(broken(Source::Conntrack, &e)) },
                result = dumps.recv(from_dumps) => if let Err(e) = result { warn!(error = %e, "a dump failed") },
                findings = ruleset_read(&ruleset) => {
                    *ruleset.borrow_mut() = None;
                    if let Ok(text) = &findings && loads == quotas.loads() {
                        match &mut router.borrow_mut().monitor {
                            Some(monitor) => monitor.rules_seen(text.quotas),
                            None if text.quotas => quotas.tell(history::nft::remove()),
                            None => {}
                        }
                    }
                    router.borrow_mut().ruleset_read(findings);
                    router.borrow_mut().resume_bridging();
                }
                _ = count.tick() => {
                    let router = &mut *router.borrow_mut();
                    router.count();
                    router.look_around();
                }
                // Gives what waits above its turn, and sockets the time to become readable.
                () = tokio::task::yield_now(), if router.borrow().counting() => router.borrow_mut().count_some(),
                _ = turn.tick(), if captures.running() => captures.turn(&mut router.borrow_mut()),
                _ = hang_up.recv() => match face.reload() {
                    Ok(reloaded) => info!(changes = reloaded.changed.len(), "reloaded"),
                    Err(problem) => error!(error = problem.detail, errors = ?problem.errors, "not reloaded"),
                },
                () = &mut api => {}
                () = &mut page => {}
            }
            if !sets_changed.is_empty() {
                router.borrow_mut().sets_changed(&mut sets_changed);
            }
            let [told @ .., answered] = &mut found;
            for events in told.iter_mut().filter(|events| !events.is_empty()) {
                router.borrow_mut().events(events);
            }
            if !answered.is_empty() {
                router.borrow_mut().answers(answered);
            }
            for source in router.borrow_mut().dumps.drain(..) {
                dumps.dump(source);
            }
            if let Some(rules) = router
                .borrow_mut()
                .monitor
                .as_mut()
                .and_then(monitor::Keeper::take_rules)
            {
                quotas.tell(rules);
            }
            if ruleset.borrow().is_none() && router.borrow().surroundings.due() {
                router.borrow_mut().ruleset_reading();
                loads = quotas.loads();
                *ruleset.borrow_mut() = Some(Box::pin(surroundings::read_ruleset()));
            }
        };
        notify.stopping();
        if let Some(multipath) = &face.multipath {
            multipath.borrow_mut().stop();
        }
        captures.stop(&mut router.borrow_mut());
        {
            let router = &mut *router.borrow_mut();
            router.count();
            while router.counting() {
                router.count_some();
            }
        }
        let cutting = {
            let router = &mut *router.borrow_mut();
            let keeper = router.monitor.as_mut();
            keeper.is_some_and(|keeper| keeper.stop(&router.core))
        };
        if cutting && let Err(error) = quotas.finish(history::nft::remove()).await {
            warn!(
                error,
                "rules for quotas are left: `nft delete table inet weir_quota`"
            );
        }
        {
            let router = &mut *router.borrow_mut();
            router.path.disarm();
            router.finish();
        }
        info!("weir stops: the kernel forwards everything");
        outcome
    }
}

/// Events of a source that this kernel may lack; for ever where it does.
async fn heard(events: &mut Option<Events>, found: &mut Vec<Event>) -> std::io::Result<()> {
    match events {
        Some(events) => events.recv(found).await,
        None => std::future::pending().await,
    }
}

/// The next time at which something is over, or to be looked at, that nothing tells of.
fn expires(router: &Rc<RefCell<Router>>) -> impl Future<Output = ()> + use<> {
    let next = router.borrow().expiry.wake();
    async move {
        match next {
            Some(next) => tokio::time::sleep_until(next.into()).await,
            None => std::future::pending().await,
        }
    }
}

fn broken(source: Source, error: &std::io::Error) -> Error {
    Error::because(
        format!("{source:?} events ended"),
        error,
        "start weir again",
    )
}

/// Events of sets, where they can be had; for ever where not.
async fn sets_heard(
    events: &mut Option<SetEvents>,
    found: &mut Vec<SetEvent>,
) -> std::io::Result<()> {
    match events {
        Some(events) => events.recv(found).await,
        None => std::future::pending().await,
    }
}

type RulesetRead =
    std::pin::Pin<Box<dyn Future<Output = Result<surroundings::RulesetText, String>>>>;

/// The reading of the ruleset under way; for ever where there is none.
async fn ruleset_read(
    under_way: &RefCell<Option<RulesetRead>>,
) -> Result<surroundings::RulesetText, String> {
    std::future::poll_fn(|context| match under_way.borrow_mut().as_mut() {
        Some(read) => read.as_mut().poll(context),
        None => std::task::Poll::Pending,
    })
    .await
}

/// Indices of the devices there are, so that port slots are chosen apart.
fn links() -> Vec<u32> {
    nix::net::if_::if_nameindex()
        .map(|list| list.iter().map(|i| i.index()).collect())
        .unwrap_or_default()
}

fn netns_inode() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/net").map_or(0, |m| m.ino())
}
