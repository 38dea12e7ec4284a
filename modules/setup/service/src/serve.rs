//! `weir setup serve`: changes the configuration for the daemon, which serves the web page and may
//! write no file of the system. It listens at a socket of root, and serves only its routes.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use answers::{QrPicture, SetupPort};
use api::{AccessLevel, ApiRequest, EmptyBody, Limits, Listener, Method, Route, Routes};
use setup_core::JournalError;
use setup_core::choices::{Choices, FORMAT};
use setup_core::messages::{
    SetupChange, SetupChoices, SetupConfirm, SetupDocument, SetupJoin, SetupLine, SetupOutcome,
    SetupPlan, SetupRevert, SetupRouter,
};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use super::apply::{self, BOUNDS, ChangeOptions};
use super::blocking::{problem, run_blocking};
use super::config::Setup;
use super::config_store::{ConfigStore, trouble};
use super::detect::detection::Detection;
use super::document;
use super::planner::{Planner, without_secrets};
use super::ports;
use super::states::{states, to_setup_change};
use runtime::Error;
use runtime::config::LogLevel;
use runtime::log;
use runtime::output::qr;

/// Default of the seconds in which a change has to be confirmed.
const WITHIN: u64 = 120;
/// Interval of checking for a change that is overdue: its process may have ended.
const LOOKS: Duration = Duration::from_secs(1);
/// Time for an answer to reach the client before the router's address changes.
const ANSWERED: Duration = Duration::from_secs(1);
/// Time for running work to end when the process has to end.
const LAST: Duration = Duration::from_secs(10);
/// Time that a confirmation waits for services to reload.
const FINISHED: Duration = Duration::from_secs(5);
/// Path of the change that waits to be confirmed.
pub const PENDING: &str = "/v1/setup/pending";
/// Bytes of the longest choices.
pub const LONGEST: usize = 64 * 1024;

/// Serves, until a signal ends the process.
pub fn run(setup: &Setup, config: Option<&Path>) -> Result<(), Error> {
    log::start(LogLevel::default());
    let failed =
        |error: std::io::Error| Error::with_cause("cannot catch signals", &error, "report this");
    let place = ConfigStore::new(setup);
    let runtime = runtime::event_loop()?;
    let ended = runtime.block_on(async {
        let listener = Listener::bind(&setup.socket).map_err(|error| {
            let hint = "end the other process, or name another socket as `socket` under [setup]";
            Error::with_cause("cannot listen for the setup process", &error, hint)
        })?;
        info!(socket = %setup.socket.display(), "setup process ready for the page");
        let routes = routes(setup, config);
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let limits = Limits {
            body: LONGEST,
            ..Limits::default()
        };
        tokio::select! {
            () = api::serve(Rc::new(listener), &routes, limits) => {}
            () = guard(&place) => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    });
    // Running work may end; work that waits for ever does not delay the end.
    runtime.shutdown_timeout(LAST);
    ended
}

/// Undoes unconfirmed changes, for ever: a second safeguard, in addition to the watchdog of each
/// change.
async fn guard(place: &ConfigStore) {
    loop {
        let change = match place.put_back_late() {
            Ok(Some(change)) => {
                info!(change = change.number, "change not confirmed: reverted");
                Some(change)
            }
            Ok(None) => None,
            Err(error) => {
                warn!("{error}");
                match error {
                    JournalError::Refused { change, .. } => Some(*change),
                    _ => None,
                }
            }
        };
        if let Some(change) = change
            && let Err(error) = place.reload(&change)
        {
            warn!("{error}");
        }
        tokio::time::sleep(LOOKS).await;
    }
}

/// State for answers; each answer is computed in a thread of its own.
struct Server {
    setup: Setup,
    config: Option<PathBuf>,
}

impl Server {
    fn desk(&self) -> Planner {
        Planner::new(&self.setup)
    }

    fn router(&self) -> Result<SetupRouter, Error> {
        let desk = self.desk();
        let looked = desk.read_state()?;
        let (choices, kept) = without_secrets(looked.choices);
        let states = states(&desk.place)?;
        let facts = looked.board.facts;
        Ok(SetupRouter {
            release: looked.board.release,
            model: looked.board.model,
            radios: facts.radios,
            ports: facts.lan.into_iter().chain(facts.wan).collect(),
            choices,
            kept,
            reach: states.reach,
            pending: states.pending,
            undone: states.undone,
            states: states.states,
        })
    }

    /// Returns the change that waits to be confirmed.
    fn pending(&self) -> Result<Option<SetupChange>, Error> {
        let place = self.desk().place;
        let now = setup_core::now().map_err(trouble)?;
        let pending = place.journal.pending().map_err(trouble)?;
        Ok(pending.map(|pending| {
            let left = pending.change.until.left(&now).unwrap_or(0);
            to_setup_change(pending.change, Some(left))
        }))
    }

    fn plan(&self, asked: &SetupChoices) -> Result<SetupPlan, Error> {
        let planned = self.desk().plan_whole(format(asked)?)?;
        let line = |line: setup_core::Line| SetupLine {
            added: line.added,
            address: line.address,
            value: line.value,
            list: line.list,
        };
        Ok(SetupPlan {
            problems: planned.plan.problems,
            lines: planned.lines.into_iter().map(line).collect(),
            sentences: planned.plan.sentences,
            strength: planned.strength,
            address: planned
                .plan
                .new_lan
                .map(|inside| inside.address.to_string()),
        })
    }

    fn apply(&self, asked: &SetupChoices) -> Result<SetupOutcome, Error> {
        let desk = self.desk();
        let planned = desk.plan_whole(format(asked)?)?;
        let waiting = desk.files(&planned)?;
        let how = self.how(&asked.why, asked.within);
        let change = if planned.plan.new_lan.is_some() {
            let change = apply::put_in_place(&desk.place, &waiting, &how)?;
            let place = desk.place;
            let same = change.clone();
            // The answer is sent first: it contains the router's new address, and files shown once.
            std::thread::spawn(move || {
                std::thread::sleep(ANSWERED);
                if let Err(error) = apply::reload_services(&place, &same) {
                    warn!("{error}");
                }
            });
            change
        } else {
            apply::make(&desk.place, &waiting, &how)?.0
        };
        Ok(SetupOutcome {
            change: to_setup_change(change, Some(how.within)),
            address: planned
                .plan
                .new_lan
                .map(|inside| inside.address.to_string()),
            once: waiting.once,
        })
    }

    fn how<'a>(&'a self, why: &'a str, within: Option<u64>) -> ChangeOptions<'a> {
        ChangeOptions {
            why,
            who: "the page".to_owned(),
            within: within.unwrap_or(WITHIN).clamp(BOUNDS.0, BOUNDS.1),
            config: self.config.as_deref(),
        }
    }

    fn join(&self) -> Result<SetupJoin, Error> {
        let choices = self.desk().read_state()?.choices;
        let none = || {
            let hint = "configure a mesh in the wizard first";
            Error::new("this router is not in a mesh", hint)
        };
        let document = toml::to_string(&choices.to_join().ok_or_else(none)?).map_err(|error| {
            Error::with_cause("cannot write the document", &error, "report this")
        })?;
        let (side, path) = qr::path(document.trim_end()).ok_or_else(none)?;
        Ok(SetupJoin {
            document,
            qr: QrPicture { side, path },
        })
    }

    fn confirm(&self, asked: SetupConfirm) -> Result<SetupOutcome, Error> {
        let place = self.desk().place;
        place.recover()?;
        let pending = place.journal.pending().map_err(trouble)?;
        let change = pending.map(|pending| pending.change);
        let other = change.filter(|change| {
            asked.number.is_some_and(|number| number != change.number)
                || asked.when.is_some_and(|when| when != change.when)
        });
        if let Some(other) = other {
            return Err(Error::new(
                format!(
                    "another change awaits confirmation: {} of {}",
                    other.number, other.who
                ),
                "check it again before you confirm it",
            ));
        }
        let begun = Instant::now();
        loop {
            match place.journal.confirm() {
                // Services are reloading.
                Err(JournalError::Unfinished(_)) if begun.elapsed() < FINISHED => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                confirmed => return Ok(done(confirmed.map_err(trouble)?, None)),
            }
        }
    }

    fn revert(&self, asked: SetupRevert) -> Result<SetupOutcome, Error> {
        let place = self.desk().place;
        let Some(number) = asked.number else {
            let pending = place.journal.pending().map_err(trouble)?;
            let other = |wanted| pending.is_none_or(|waits| waits.change.number != wanted);
            if asked.waiting.is_some_and(other) {
                return Err(trouble(JournalError::Nothing));
            }
            let (change, _) = place.undo()?;
            return Ok(done(change, None));
        };
        let why = format!("as before change {number}");
        let how = self.how(&why, None);
        let (change, _) = apply::make(&place, &place.former(number)?, &how)?;
        Ok(done(change, Some(how.within)))
    }
}

/// Checks the format of choices; a missing one is accepted.
fn format(asked: &SetupChoices) -> Result<&Choices, Error> {
    match asked.choices.format {
        0 | FORMAT => Ok(&asked.choices),
        other => Err(Error::new(
            format!("these choices have format {other}"),
            format!("this weir reads format {FORMAT}"),
        )),
    }
}

fn done(change: setup_core::Change, left: Option<u64>) -> SetupOutcome {
    SetupOutcome {
        change: to_setup_change(change, left),
        address: None,
        once: Vec::new(),
    }
}

fn routes(setup: &Setup, config: Option<&Path>) -> Routes {
    let server = Arc::new(Server {
        setup: setup.clone(),
        config: config.map(Path::to_owned),
    });
    let me = || Arc::clone(&server);
    let looking = Detection::default();
    let seen = looking.clone();
    let detect = me();
    let (look, join, plan, apply, confirm, revert) = (me(), me(), me(), me(), me(), me());
    let waits = me();
    let [used, use_as] = ports::routes(setup, config);
    Routes::new([
        used,
        use_as,
        Route::new_async(
            Method::GET,
            "/v1/setup",
            AccessLevel::Root,
            move |_: ApiRequest<(), EmptyBody>| {
                let server = Arc::clone(&look);
                run_blocking(move || server.router())
            },
        ),
        Route::new_async(
            Method::GET,
            PENDING,
            AccessLevel::Root,
            move |_: ApiRequest<(), EmptyBody>| {
                let server = Arc::clone(&waits);
                run_blocking(move || server.pending())
            },
        ),
        Route::new_async(
            Method::GET,
            "/v1/setup/join",
            AccessLevel::Root,
            move |_: ApiRequest<(), EmptyBody>| {
                let server = Arc::clone(&join);
                run_blocking(move || server.join())
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/setup/read",
            AccessLevel::Root,
            move |asked: ApiRequest<(), SetupDocument>| {
                run_blocking(move || {
                    let choices = document::understood("the document", &asked.body.document)?;
                    Ok(SetupChoices {
                        choices,
                        ..SetupChoices::default()
                    })
                })
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/setup/plan",
            AccessLevel::Root,
            move |asked: ApiRequest<(), SetupChoices>| {
                let server = Arc::clone(&plan);
                run_blocking(move || server.plan(&asked.body))
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/setup/apply",
            AccessLevel::Root,
            move |asked: ApiRequest<(), SetupChoices>| {
                let server = Arc::clone(&apply);
                run_blocking(move || server.apply(&asked.body))
            },
        ),
        Route::get("/v1/setup/detect", AccessLevel::Root, move |()| {
            Ok(seen.so_far())
        }),
        Route::new(
            Method::POST,
            "/v1/setup/detect",
            AccessLevel::Root,
            move |asked: ApiRequest<(), SetupPort>| {
                let begun = looking.begin(asked.body.port, &detect.setup);
                begun.map_err(|error| problem(&error))
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/setup/confirm",
            AccessLevel::Root,
            move |asked: ApiRequest<(), SetupConfirm>| {
                let server = Arc::clone(&confirm);
                run_blocking(move || server.confirm(asked.body))
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/setup/revert",
            AccessLevel::Root,
            move |asked: ApiRequest<(), SetupRevert>| {
                let server = Arc::clone(&revert);
                run_blocking(move || server.revert(asked.body))
            },
        ),
    ])
}
