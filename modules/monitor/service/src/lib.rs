//! Network usage, at present and in the history.

mod capacity;
mod clock;
pub(crate) mod commands;
mod conditions;
pub mod config;
mod export;
mod forwarded;
mod labels;
pub mod metrics;
mod naming;
mod outages;
mod plan;
mod ports;
mod probes;
mod reading;
mod recent_connections;
mod records;
mod service;
mod snapshot;
mod timing;
#[cfg(feature = "top")]
pub mod top;
mod translations;
mod unplaced;
mod uplinks;
mod vendors;
mod wifi;

use std::cell::{Cell, RefCell, RefMut};
use std::path::PathBuf;
use std::rc::Rc;

use answers::{ConversationsQuery, DeviceLabel, HistoryQuery, LabelledDevice, PartProblem};
use api::metrics::Exposition;
use api::{AccessLevel, ApiRequest, EmptyBody, Method, Problem, ResponseFuture, Route};
use kernel::Source;
use tracing::warn;

use history::firewall;
use history::recorder;
use metrics::Metrics;
use runtime::Error;
use runtime::config::Effective;
use runtime::daemon::Firewall;
use runtime::daemon::{
    ApiContext, Event, Module, Privileges, Report, Router, Setup, Spawner, Work, names,
};
use runtime::registry::{ConfigWarning, ModuleEntry};
use service::Service;

/// Entry of the monitor in the list of modules.
pub const ENTRY: ModuleEntry = ModuleEntry {
    choice: Some("Traffic counters per conversation and device"),
    sections: &config::SECTIONS,
    commands: commands::all,
    early: Some(begin),
    status: commands::status,
    ..ModuleEntry::named("monitor")
};

/// Counters, and firewall rules of quotas. Without a [`Service`], only removes rules of an
/// earlier weir.
struct Monitor {
    service: RefCell<Option<Service>>,
    firewall: RefCell<Firewall>,
    /// Load counter of the firewall when weir began to read the ruleset.
    loads: Cell<u64>,
    /// File of the history, and the process that writes the file.
    history: Option<PathBuf>,
    spawner: RefCell<Option<Spawner>>,
    leases: Vec<PathBuf>,
    metrics: RefCell<Metrics>,
    /// The meter is to count, and does not load.
    failed: bool,
}

/// Loads the meter, and counts at once: loading the packet path takes much longer.
///
/// # Errors
/// Never: without the meter nothing is counted.
pub fn begin(setup: &Setup<'_>) -> Result<Rc<dyn Module>, Error> {
    let mut keeper = setup
        .wanted
        .then(|| Service::load(setup.effective, setup.links))
        .flatten();
    if let Some(keeper) = &mut keeper {
        keeper.attach(setup.devices.iter());
    }
    let wanted = setup.wanted && *setup.effective.of::<config::Monitor>().enabled;
    let failed = wanted && keeper.is_none();
    let history = recorder::file(setup.effective);
    let nest = history.as_ref().filter(|_| keeper.is_some()).and_then(|_| {
        let begun = Spawner::begin("weir-nest");
        begun
            .inspect_err(|error| warn!(%error, "cannot keep a history: no thread"))
            .ok()
    });
    Ok(Rc::new(Monitor {
        spawner: RefCell::new(nest),
        service: RefCell::new(keeper),
        firewall: RefCell::default(),
        loads: Cell::new(0),
        history,
        leases: setup.effective.of::<config::Monitor>().leases.value.clone(),
        metrics: RefCell::default(),
        failed,
    }))
}

impl Monitor {
    /// Returns the state, unless counting is off.
    fn service(&self) -> Option<RefMut<'_, Service>> {
        RefMut::filter_map(self.service.borrow_mut(), Option::as_mut).ok()
    }

    /// Returns the state for a request, or the error that counting is off.
    fn service_or_problem(&self) -> Result<RefMut<'_, Service>, Problem> {
        self.service().ok_or_else(answers::monitor::is_off)
    }

    fn devices(&self, router: &mut Router) -> Result<answers::Devices, Problem> {
        router.count_all();
        let mut keeper = self.service_or_problem()?;
        // Traffic that was just read is among the sums by where it went, too.
        keeper.pair(&router.core);
        keeper.core.classify();
        Ok(keeper.snapshot().devices())
    }

    fn probes(&self, router: &Router) -> Result<answers::Probes, Problem> {
        let names = names(router);
        let own = router.core.links().filter_map(|link| link.mac).collect();
        let keeper = self.service_or_problem()?;
        Ok((keeper.probes).report(|link| names.get(&link).cloned(), &own))
    }

    /// Stores a label that a user gave to a device; responds once the label is on the disk.
    fn label(self: Rc<Self>, mac: &str, asked: &DeviceLabel) -> ResponseFuture<LabelledDevice> {
        let given = self
            .service_or_problem()
            .and_then(|mut keeper| keeper.label(mac, asked));
        Box::pin(async move {
            let (label, written) = given?;
            let outcome = written.await.map_err(|why| why.to_string());
            if let Some(mut keeper) = self.service() {
                keeper.labels_written(outcome.clone());
            }
            outcome.map_err(|why| {
                let what = format!("the label is in use, but cannot be stored yet: {why}");
                Problem::new(500, "not_written", what, labels::UNWRITTEN)
            })?;
            Ok(label)
        })
    }

    /// Queries the history, which answers from its own thread.
    fn history(&self, asked: &HistoryQuery) -> ResponseFuture<answers::History> {
        let none = || {
            let hint = "set `history.file`, and `history.enabled = true`; see the log of weir's \
                start";
            Problem::new(409, "no_history", "no history is kept", hint)
        };
        let answer = self
            .service_or_problem()
            .map(|keeper| keeper.history(asked));
        match answer.and_then(|answer| answer.ok_or_else(none)) {
            Ok(answer) => answer,
            Err(problem) => Box::pin(std::future::ready(Err(problem))),
        }
    }

    /// Sends the update of quotas to the firewall.
    fn cut(&self, keeper: &mut Service) {
        if let Some(rules) = keeper.take_rules() {
            self.firewall.borrow_mut().load(rules);
        }
    }

    /// Reports whether the ruleset contains rules for quotas.
    fn rules_seen(&self, there: bool) {
        if self.loads.get() != self.firewall.borrow().loads() {
            return;
        }
        match self.service() {
            Some(mut keeper) => {
                keeper.on_ruleset(there);
                self.cut(&mut keeper);
            }
            None if there => self.firewall.borrow_mut().load(history_core::nft::remove()),
            None => {}
        }
    }
}

impl Module for Monitor {
    fn privileges(&self) -> Privileges {
        let directory = self.history.as_deref().and_then(|file| file.parent());
        if let Some(directory) = directory
            && let Err(error) = std::fs::create_dir_all(directory)
        {
            warn!(
                %error,
                directory = %directory.display(),
                "cannot create the directory: no history is kept"
            );
        }
        let labels = self
            .service()
            .and_then(|keeper| keeper.labels().file().folder());
        Privileges {
            read: self.leases.clone(),
            write: directory
                .map(PathBuf::from)
                .into_iter()
                .chain(labels)
                .collect(),
            ..Privileges::default()
        }
    }

    fn routes(self: Rc<Self>, face: &Rc<dyn ApiContext>) -> Vec<Route> {
        let all = || (Rc::clone(&self), Rc::clone(face));
        let (monitor, face) = all();
        let devices = move |()| monitor.devices(&mut face.router());
        let (monitor, face) = all();
        let conversations = move |asked: ConversationsQuery| {
            let (mut keeper, router) = (monitor.service_or_problem()?, face.router());
            keeper.pair(&router.core);
            keeper.core.classify();
            Ok(keeper.snapshot().conversations(&asked, &router.core))
        };
        let (monitor, face) = all();
        let probes = move |()| monitor.probes(&face.router());
        let monitor = Rc::clone(&self);
        let history =
            move |asked: ApiRequest<HistoryQuery, EmptyBody>| monitor.history(&asked.query);
        let monitor = Rc::clone(&self);
        let label = move |asked: ApiRequest<(), DeviceLabel>| {
            Rc::clone(&monitor).label(&asked.path_params[0], &asked.body)
        };
        vec![
            Route::new_async(
                Method::POST,
                "/v1/devices/{mac}/label",
                AccessLevel::User,
                label,
            ),
            Route::get("/v1/devices", AccessLevel::User, devices),
            Route::get("/v1/conversations", AccessLevel::User, conversations),
            Route::new_async(Method::GET, "/v1/history", AccessLevel::User, history),
            Route::get("/v1/probes", AccessLevel::User, probes),
        ]
    }

    fn work(self: Rc<Self>) -> Option<Work> {
        Some(Box::pin(async move {
            loop {
                let told = std::future::poll_fn(|context| {
                    let mut firewall = self.firewall.borrow_mut();
                    firewall.poll_told(context)
                });
                if let Err(error) = told.await {
                    warn!(error, "the firewall rejects weir's rules for quotas");
                    if let Some(mut keeper) = self.service() {
                        keeper.rules_refused();
                    }
                }
            }
        }))
    }

    fn configure(&self, effective: &Effective, _: &mut Router) {
        if let Some(mut keeper) = self.service() {
            keeper.reload(effective);
        }
    }

    fn on_event(&self, event: Event<'_>, router: &mut Router) {
        match event {
            Event::RulesetReading => self.loads.set(self.firewall.borrow().loads()),
            Event::Ruleset(Ok(text)) => self.rules_seen(firewall::has_quotas(&text.text)),
            _ => {}
        }
        let Some(mut keeper) = self.service() else {
            return;
        };
        match event {
            Event::Started(effective) => {
                router.account.share();
                if let (Some(file), Some(nest)) = (&self.history, self.spawner.take()) {
                    keeper.start_history(file, effective, nest);
                }
            }
            Event::Kernel(event) => keeper.on_event(event, &router.core),
            Event::Settled => keeper.settled(router.core.links()),
            Event::Dump(Source::Conntrack) => keeper.on_dump_start(),
            Event::Forwarded(all) => {
                // A port is counted from its first packet on, even within the first second.
                keeper.refresh(router.core.links());
                for forwarded in all {
                    keeper.add_forwarded(forwarded);
                }
            }
            Event::Counted => keeper.time(router),
            Event::Count => keeper.read(),
            Event::Tick => keeper.tick(),
            Event::Second => {
                keeper.refresh(router.core.links());
                keeper.read_due();
                keeper.on_second(&router.core);
                keeper.check_uplinks(router.core.links());
                self.cut(&mut keeper);
            }
            _ => {}
        }
    }

    fn status(&self, _: &mut Router, report: &mut Report) {
        let Report { status, findings } = report;
        if self.failed {
            status.problems.push(PartProblem {
                part: "monitor".to_owned(),
                what: "cannot load the meter: traffic is not counted".to_owned(),
                hint: "`weir check` shows what the kernel lacks; see also the log".to_owned(),
            });
        }
        let Some(keeper) = self.service() else { return };
        keeper.conditions(findings);
        status.modules.push("monitor".to_owned());
        status.monitor = Some(keeper.status());
        let history = keeper.history_fails().map(|what| {
            let hint = "docs/how-to/history.md explains each problem; quotas use the data in memory \
                meanwhile";
            ("history", what, hint.to_owned())
        });
        let labels = keeper.labels().file().trouble();
        let labels = labels.map(|(what, hint)| ("devices", what.to_owned(), hint.to_owned()));
        let doubt = keeper.doubt().cloned();
        let quotas = doubt.map(|ConfigWarning { what, hint }| ("quotas", what, hint));
        let idle = keeper.quotas_are_idle().then(|| {
            let what = "no default route is known: nothing counts as Internet traffic, and no \
                quota is used up";
            let hint = "see `ip route`; quotas need a default route in the main table";
            ("quotas", what.to_owned(), hint.to_owned())
        });
        let all = [history, labels, quotas, idle].into_iter().flatten();
        status
            .problems
            .extend(all.map(|(part, what, hint)| PartProblem {
                part: part.to_owned(),
                what,
                hint,
            }));
    }

    fn metrics(&self, router: &mut Router, text: &mut Exposition) {
        let devices = self.devices(router).unwrap_or_default();
        self.metrics.borrow_mut().devices(text, &devices);
        if let Some(keeper) = self.service() {
            metrics::remembered(text, &keeper.status());
        }
        if let Ok(probes) = self.probes(router) {
            metrics::probes(text, &probes);
        }
    }

    fn stop(&self, router: &mut Router) -> Option<Work> {
        if !self.service()?.stop(&router.core) {
            return None;
        }
        let firewall = self.firewall.take();
        Some(Box::pin(async move {
            if let Err(error) = firewall.finish(history_core::nft::remove()).await {
                warn!(
                    error,
                    "cannot remove rules for quotas: run `nft delete table inet weir_quota`"
                );
            }
        }))
    }
}
