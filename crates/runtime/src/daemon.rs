//! The daemon: `weir run`. One thread, one loop: the kernel's events, the heartbeat, the API,
//! signals.

mod account;
mod api_state;
mod companion_thread;
pub mod conditions;
pub mod config;
pub mod confine;
mod costs;
mod counters;
mod event;
pub mod expiry;
mod explain;
mod firewall;
mod flows;
mod instance_lock;
mod memory;
pub mod metrics;
mod module;
mod notify;
pub mod privileges;
mod router;
mod routes;
pub mod ruleset;
pub mod settings;
mod spawner;
pub mod subprocess;
pub mod syscalls;
pub mod system_state;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use answers::Reloaded;
use api::{Limits, Listener, Routes};
use datapath::{Datapath, Sizes};
use kernel::io::{Events, Policy, Requests, RoutesError, SetEvents};
use kernel::{Link, SetEvent, Source};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;
use tracing::{error, info, warn};

use crate::config::Effective;
use crate::error::Error;
use api_state::ApiState;
pub use api_state::names;
pub use companion_thread::CompanionThread;
pub use conditions::{Finding, Value};
use config::Offload;
pub use counters::netdev;
pub use event::{Event, ForwardedFlow};
pub use explain::witness;
pub use firewall::Firewall;
pub use memory::meminfo;
pub use module::{
    ApiContext, Begin, Early, Module, Modules, Part, Privileges, Report, Setup, Work,
};
pub use router::Router;
pub use ruleset::RulesetText;
pub use settings::{RunOptions, Settings};
pub use spawner::Spawner;
use system_state::SystemState;

/// Time-outs, re-proofs and retries.
const TICK: Duration = Duration::from_millis(250);
/// Heartbeat; the packet path waits four of them.
const BEAT: Duration = Duration::from_millis(500);
/// Counters, and sysctls, which change without an event.
const COUNT: Duration = Duration::from_secs(1);

/// Runs until a signal or an error, which leave the kernel forwarding everything.
pub fn run(effective: Effective, options: RunOptions) -> Result<(), Error> {
    let runtime = crate::event_loop()?;
    runtime.block_on(async { Daemon::new(effective, options)?.serve().await })
}

/// Open resources of the daemon.
struct Daemon {
    router: Rc<RefCell<Router>>,
    state: Rc<ApiState>,
    routes: Routes,
    /// Tables of nftables that are modules' own.
    tables: Vec<&'static str>,
    listener: Listener,
    conntrack: Events,
    route: Events,
    firewall: Events,
    policy: Option<Events>,
    sets: Option<SetEvents>,
    dumps: Requests,
    notify: notify::Notify,
    _guard: instance_lock::InstanceLock,
}

impl Daemon {
    fn new(effective: Effective, options: RunOptions) -> Result<Self, Error> {
        let guard = instance_lock::take()
            .map_err(|e| {
                Error::with_cause(
                    "cannot check whether another weir runs here",
                    &e,
                    "start it as root",
                )
            })?
            .ok_or_else(|| {
                Error::new(
                    "another weir is running in this network namespace",
                    "`weir status` shows it; stop it first, or `weir reload` to change its settings",
                )
            })?;
        // Listen before dumping: a change in between arrives twice rather than never.
        let events = |source| {
            Events::open(source).map_err(|e| {
                Error::with_cause(
                    format!("cannot listen for {source} events"),
                    &e,
                    "start weir as root, on a kernel with conntrack and nftables",
                )
            })
        };
        let mut conntrack = events(Source::Conntrack)?;
        let route = events(Source::Route)?;
        let firewall = events(Source::Firewall)?;
        // A kernel without IPsec lacks this socket, and has no policies.
        let policy = Events::open(Source::Policy).ok();
        let requests = || {
            Requests::open()
                .map_err(|e| Error::with_cause("cannot query the kernel", &e, "start it as root"))
        };
        let (updates, dumps) = (requests()?, requests()?);
        conntrack.ignore_port(updates.port()).map_err(|e| {
            Error::with_cause(
                "cannot filter out weir's own updates",
                &e,
                "start it as root",
            )
        })?;

        let sets = SetEvents::open()
            .inspect_err(|error| warn!(%error, "cannot follow sets of addresses"))
            .ok();
        let shadow = options.shadow || *effective.of::<Offload>().shadow;
        let forwards = options.wants("offload");
        let links = links();
        let devices = devices()
            .inspect_err(|error| warn!(%error, "cannot list devices yet"))
            .unwrap_or_default();
        let setup = |part: &Part| Setup {
            effective: &effective,
            socket: &options.socket,
            config: &options.config,
            wanted: options.wants(part.name),
            links: &links,
            devices: &devices,
        };
        let early = options.modules.iter().map(|part| match part.early {
            Some(early) => early(&setup(part)).map(Some),
            None => Ok(None),
        });
        let early: Vec<_> = early.collect::<Result<_, _>>()?;
        let sizes = match forwards {
            true => settings::sizes(&effective, &links),
            // Nothing is written into it.
            false => Sizes::new(0, 0, &links),
        };
        let path = Datapath::load(
            sizes,
            settings::options(&effective, shadow, &options.modules),
        )
        .map_err(|e| {
            let hint = match e.is_out_of_memory() {
                true => memory::hint(),
                false => "`weir check` shows what the kernel lacks".to_owned(),
            };
            Error::with_cause("cannot load the packet path", &e, hint)
        })?;
        let mut offload = settings::offload_settings(&effective, shadow);
        if !forwards {
            offload = settings::hands_off(offload);
        }
        let core = offload_core::Core::new(offload);
        let surroundings = SystemState::open();
        let mut router = Router::new(core, path, updates, surroundings, forwards);
        let begin = |(part, made): (&Part, Option<_>)| match made {
            Some(made) => Some(Ok(made)),
            None => Some((part.begin?)(&setup(part), &mut router)),
        };
        let parts = options.modules.iter().zip(early);
        let modules: Result<Vec<_>, _> = parts.filter_map(begin).collect();
        let modules = Modules::new(modules?);
        router.listener = Some(Rc::new(modules.clone()));
        let listener = Listener::bind(&options.socket).map_err(|e| {
            Error::with_cause(
                "cannot listen on the API's socket",
                &e,
                "choose another path with `--socket PATH`",
            )
        })?;
        router.start().map_err(|e| {
            let hint = match e.is_out_of_memory() {
                true => memory::hint(),
                false => "`weir check` shows what the kernel lacks".to_owned(),
            };
            Error::with_cause("cannot start the packet path", &e, hint)
        })?;
        info!(socket = %options.socket.display(), table = router.path.sizes().memory_bytes(), shadow, "weir runs");
        let notify = notify::Notify::from_environment();
        let router = Rc::new(RefCell::new(router));
        let settings = Settings::new(effective, options.shadow, options.source);
        let state = Rc::new(ApiState {
            router: Rc::clone(&router),
            settings: Rc::new(RefCell::new(settings)),
            modules,
            routes: OnceCell::new(),
            conditions: RefCell::default(),
            began: Instant::now(),
            started: net::clock::unix_seconds(),
            netns: netns_inode(),
        });
        let routes = routes::routes(&state);
        let _ = state.routes.set(routes.clone());
        let mut needs = state.modules.privileges();
        needs.sealed.push(options.config.clone());
        let keys = state.settings.borrow().effective.entries();
        let (write, refused) = confine::unsealed(needs.write, &needs.sealed, &keys);
        needs.write = write;
        // The files in them are still read.
        needs
            .read
            .extend(refused.iter().map(|folder| folder.join("any")));
        confine::confine(&confine::Reach {
            config: &options.config,
            socket: &options.socket,
            read: &needs.read,
            write: &needs.write,
            devices: &needs.devices,
            programs: &needs.programs,
        });
        privileges::drop_privileges(&options.config, &needs.capabilities);
        for module in state.modules.iter() {
            let effective = &state.settings.borrow().effective;
            module.on_event(Event::Started(effective), &mut state.router());
        }
        Ok(Self {
            router,
            state,
            routes,
            tables: options
                .modules
                .iter()
                .flat_map(|part| part.tables)
                .copied()
                .collect(),
            listener,
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
            state,
            routes,
            tables,
            listener,
            mut conntrack,
            mut route,
            mut firewall,
            mut policy,
            mut sets,
            mut dumps,
            notify,
            _guard,
        } = self;
        let api = api::serve(Rc::new(listener), &routes, Limits::default());
        tokio::pin!(api);
        let work = state.modules.work();
        tokio::pin!(work);

        let signals = |kind| {
            signal(kind).map_err(|e| Error::with_cause("cannot catch signals", &e, "report this"))
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
        // A buffer for each socket, as the loop waits for all sockets at once.
        let mut found: [Vec<kernel::Event>; 5] = Default::default();
        let mut sets_changed: Vec<SetEvent> = Vec::new();
        let ruleset = RefCell::new(None);

        let mut starting = true;
        let outcome = loop {
            let [
                from_firewall,
                from_policy,
                from_route,
                from_conntrack,
                from_dumps,
            ] = &mut found;
            // In order of urgency: a change of rules must not wait behind a flood of new
            // connections.
            tokio::select! {
                biased;
                _ = beat.tick() => router.borrow_mut().beat(),
                _ = terminate.recv() => break Ok(()),
                _ = interrupt.recv() => break Ok(()),
                result = firewall.recv(from_firewall) => if let Err(e) = result {
                    break Err(broken(Source::Firewall, &e));
                },
                result = heard(&mut policy, from_policy) => if let Err(e) = result {
                    break Err(broken(Source::Policy, &e));
                },
                result = sets_heard(&mut sets, &mut sets_changed) => if let Err(e) = result {
                    break Err(broken(Source::Firewall, &e));
                },
                result = route.recv(from_route) => if let Err(e) = result {
                    break Err(broken(Source::Route, &e));
                },
                () = expires(&router), if router.borrow().forwards => router.borrow_mut().expire(),
                _ = tick.tick() => router.borrow_mut().tick(),
                result = conntrack.recv(from_conntrack) => if let Err(e) = result {
                    break Err(broken(Source::Conntrack, &e));
                },
                result = dumps.recv(from_dumps) => if let Err(e) = result {
                    warn!(error = %e, "a dump failed");
                },
                findings = ruleset_read(&ruleset) => {
                    *ruleset.borrow_mut() = None;
                    router.borrow_mut().ruleset_read(findings);
                    router.borrow_mut().resume_bridging();
                }
                _ = count.tick() => {
                    {
                        let router = &mut *router.borrow_mut();
                        router.count();
                        router.look_around();
                    }
                    state.look_for_conditions();
                }
                // Lets waiting tasks run, and gives sockets time to become readable.
                () = tokio::task::yield_now(), if router.borrow().counting() => {
                    router.borrow_mut().count_some();
                }
                () = until(state.modules.poll_at()) => state.modules.poll(&mut router.borrow_mut()),
                _ = hang_up.recv() => match state.reload() {
                    Ok(Reloaded { changed }) => {
                        let waits = changed.iter().filter(|change| change.after_restart);
                        let after_restart: Vec<&str> = waits.map(|c| c.key.as_str()).collect();
                        info!(changes = changed.len(), ?after_restart, "reloaded");
                    }
                    Err(problem) => {
                        error!(error = problem.detail, errors = ?problem.errors, "not reloaded");
                    }
                },
                () = &mut api => {}
                () = &mut work => {}
            }
            if !sets_changed.is_empty() {
                router.borrow_mut().sets_changed(&mut sets_changed);
            }
            let [told @ .., answered] = &mut found;
            for events in told.iter_mut().filter(|events| !events.is_empty()) {
                router.borrow_mut().on_events(events);
            }
            if !answered.is_empty() {
                router.borrow_mut().on_dump_events(answered);
            }
            for source in router.borrow_mut().dumps.drain(..) {
                dumps.dump(source);
            }
            if starting && !router.borrow().is_starting() {
                starting = false;
                info!("every port counts and forwards");
                notify.ready();
            }
            if ruleset.borrow().is_none() && router.borrow().surroundings.due() {
                router.borrow_mut().ruleset_reading();
                *ruleset.borrow_mut() = Some(Box::pin(ruleset::read_ruleset(tables.clone())));
            }
        };
        notify.stopping();
        {
            let router = &mut *router.borrow_mut();
            router.count();
            while router.counting() {
                router.count_some();
            }
        }
        state.modules.stop(&router).await;
        {
            let router = &mut *router.borrow_mut();
            router.path.heartbeat.disarm();
            router.finish();
        }
        info!("weir stops: the kernel forwards everything again");
        outcome
    }
}

/// Waits for events of a source; for ever if this kernel lacks the source.
async fn heard(events: &mut Option<Events>, found: &mut Vec<kernel::Event>) -> std::io::Result<()> {
    match events {
        Some(events) => events.recv(found).await,
        None => std::future::pending().await,
    }
}

/// Waits for the next time at which state without events expires or must be read.
fn expires(router: &Rc<RefCell<Router>>) -> impl Future<Output = ()> + use<> {
    until(router.borrow().expiry.poll_at())
}

/// Waits until `time`; forever if there is no time.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

fn broken(source: Source, error: &std::io::Error) -> Error {
    Error::with_cause(format!("{source} events ended"), error, "start weir again")
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

type RulesetRead = std::pin::Pin<Box<dyn Future<Output = Result<RulesetText, String>>>>;

/// Waits for the pending read of the ruleset; forever if no read is pending.
async fn ruleset_read(under_way: &RefCell<Option<RulesetRead>>) -> Result<RulesetText, String> {
    std::future::poll_fn(|context| match under_way.borrow_mut().as_mut() {
        Some(read) => read.as_mut().poll(context),
        None => std::task::Poll::Pending,
    })
    .await
}

/// Returns the indices of all devices, so that port slots do not collide.
fn links() -> Vec<u32> {
    nix::net::if_::if_nameindex()
        .map(|list| list.iter().map(|i| i.index()).collect())
        .unwrap_or_default()
}

fn devices() -> Result<Vec<Link>, RoutesError> {
    Policy::open()?.links()
}

fn netns_inode() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/net").map_or(0, |m| m.ino())
}
