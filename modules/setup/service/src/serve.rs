//! `weir setup serve`: changes the configuration for the daemon, which serves the web page and may
//! write no file of the system. It listens at a socket of root, and serves only its routes.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use answers::{QrPicture, SetupPort};
use api::{Asked, Limits, Listener, Method, Nothing, Route, Routes, Who};
use setup_core::Trouble;
use setup_core::choices::{Choices, FORMAT};
use setup_core::messages::{
    SetupChange, SetupChoices, SetupConfirm, SetupDocument, SetupDone, SetupJoin, SetupLine,
    SetupPlan, SetupRevert, SetupRouter,
};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use super::apart::{apart, problem};
use super::apply::{self, BOUNDS, How};
use super::config::Setup;
use super::desk::{Desk, without_secrets};
use super::detect::looking::Looking;
use super::document;
use super::place::{Place, trouble};
use super::ports;
use super::states::{states, told};
use runtime::Error;
use runtime::config::LogLevel;
use runtime::log;
use runtime::output::qr;

/// Default of the seconds in which a change has to be confirmed.
const WITHIN: u64 = 120;
/// Interval of looks for a change that has waited for too long: its maker may be gone.
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
        |error: std::io::Error| Error::because("cannot catch signals", &error, "report this");
    let place = Place::new(setup);
    let runtime = runtime::event_loop()?;
    let ended = runtime.block_on(async {
        let listener = Listener::bind(&setup.socket).map_err(|error| {
            let hint = "end the other process, or name another socket as `socket` under [setup]";
            Error::because("cannot listen for the setup process", &error, hint)
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

/// Undoes unconfirmed changes, for ever: a second safeguard, beside the guard of each change.
async fn guard(place: &Place) {
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
                    Trouble::Refused { change, .. } => Some(*change),
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

/// State for answers, each of which is made in a thread of its own.
struct Server {
    setup: Setup,
    config: Option<PathBuf>,
}

impl Server {
    fn desk(&self) -> Desk {
        Desk::new(&self.setup)
    }

    fn router(&self) -> Result<SetupRouter, Error> {
        let desk = self.desk();
        let looked = desk.look()?;
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
            told(pending.change, Some(left))
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
            address: planned.plan.moved.map(|inside| inside.address.to_string()),
        })
    }

    fn apply(&self, asked: &SetupChoices) -> Result<SetupDone, Error> {
        let desk = self.desk();
        let planned = desk.plan_whole(format(asked)?)?;
        let waiting = desk.files(&planned)?;
        let how = self.how(&asked.why, asked.within);
        let change = if planned.plan.moved.is_some() {
            let change = apply::put(&desk.place, &waiting, &how)?;
            let place = desk.place;
            let same = change.clone();
            // The answer goes first: it contains the router's new address, and files shown once.
            std::thread::spawn(move || {
                std::thread::sleep(ANSWERED);
                if let Err(error) = apply::tell(&place, &same) {
                    warn!("{error}");
                }
            });
            change
        } else {
            apply::make(&desk.place, &waiting, &how)?.0
        };
        Ok(SetupDone {
            change: told(change, Some(how.within)),
            address: planned.plan.moved.map(|inside| inside.address.to_string()),
            once: waiting.once,
        })
    }

    fn how<'a>(&'a self, why: &'a str, within: Option<u64>) -> How<'a> {
        How {
            why,
            who: "the page".to_owned(),
            within: within.unwrap_or(WITHIN).clamp(BOUNDS.0, BOUNDS.1),
            config: self.config.as_deref(),
        }
    }

    fn join(&self) -> Result<SetupJoin, Error> {
        let choices = self.desk().look()?.choices;
        let none = || {
            let hint = "configure a mesh in the wizard first";
            Error::new("this router is not in a mesh", hint)
        };
        let document = toml::to_string(&choices.to_join().ok_or_else(none)?)
            .map_err(|error| Error::because("cannot write the document", &error, "report this"))?;
        let (side, path) = qr::path(document.trim_end()).ok_or_else(none)?;
        Ok(SetupJoin {
            document,
            qr: QrPicture { side, path },
        })
    }

    fn confirm(&self, asked: SetupConfirm) -> Result<SetupDone, Error> {
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
                    "another change waits for confirmation: {} of {}",
                    other.number, other.who
                ),
                "check it again before you confirm it",
            ));
        }
        let begun = Instant::now();
        loop {
            match place.journal.confirm() {
                // Services are reloading.
                Err(Trouble::Unfinished(_)) if begun.elapsed() < FINISHED => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                confirmed => return Ok(done(confirmed.map_err(trouble)?, None)),
            }
        }
    }

    fn revert(&self, asked: SetupRevert) -> Result<SetupDone, Error> {
        let place = self.desk().place;
        let Some(number) = asked.number else {
            let pending = place.journal.pending().map_err(trouble)?;
            let other = |wanted| pending.is_none_or(|waits| waits.change.number != wanted);
            if asked.waiting.is_some_and(other) {
                return Err(trouble(Trouble::Nothing));
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

fn done(change: setup_core::Change, left: Option<u64>) -> SetupDone {
    SetupDone {
        change: told(change, left),
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
    let looking = Looking::default();
    let seen = looking.clone();
    let detect = me();
    let (look, join, plan, apply, confirm, revert) = (me(), me(), me(), me(), me(), me());
    let waits = me();
    let [used, use_as] = ports::routes(setup, config);
    Routes::new([
        used,
        use_as,
        Route::later(
            Method::GET,
            "/v1/setup",
            Who::Root,
            move |_: Asked<(), Nothing>| {
                let server = Arc::clone(&look);
                apart(move || server.router())
            },
        ),
        Route::later(
            Method::GET,
            PENDING,
            Who::Root,
            move |_: Asked<(), Nothing>| {
                let server = Arc::clone(&waits);
                apart(move || server.pending())
            },
        ),
        Route::later(
            Method::GET,
            "/v1/setup/join",
            Who::Root,
            move |_: Asked<(), Nothing>| {
                let server = Arc::clone(&join);
                apart(move || server.join())
            },
        ),
        Route::later(
            Method::POST,
            "/v1/setup/read",
            Who::Root,
            move |asked: Asked<(), SetupDocument>| {
                apart(move || {
                    let choices = document::understood("the document", &asked.body.document)?;
                    Ok(SetupChoices {
                        choices,
                        ..SetupChoices::default()
                    })
                })
            },
        ),
        Route::later(
            Method::POST,
            "/v1/setup/plan",
            Who::Root,
            move |asked: Asked<(), SetupChoices>| {
                let server = Arc::clone(&plan);
                apart(move || server.plan(&asked.body))
            },
        ),
        Route::later(
            Method::POST,
            "/v1/setup/apply",
            Who::Root,
            move |asked: Asked<(), SetupChoices>| {
                let server = Arc::clone(&apply);
                apart(move || server.apply(&asked.body))
            },
        ),
        Route::get("/v1/setup/detect", Who::Root, move |()| Ok(seen.so_far())),
        Route::new(
            Method::POST,
            "/v1/setup/detect",
            Who::Root,
            move |asked: Asked<(), SetupPort>| {
                let begun = looking.begin(asked.body.port, &detect.setup);
                begun.map_err(|error| problem(&error))
            },
        ),
        Route::later(
            Method::POST,
            "/v1/setup/confirm",
            Who::Root,
            move |asked: Asked<(), SetupConfirm>| {
                let server = Arc::clone(&confirm);
                apart(move || server.confirm(asked.body))
            },
        ),
        Route::later(
            Method::POST,
            "/v1/setup/revert",
            Who::Root,
            move |asked: Asked<(), SetupRevert>| {
                let server = Arc::clone(&revert);
                apart(move || server.revert(asked.body))
            },
        ),
    ])
}
