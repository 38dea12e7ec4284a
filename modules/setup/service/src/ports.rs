//! Uses of ports, for the daemon: reads them, and changes them after a detection.

use std::path::Path;
use std::sync::Arc;

use api::{AccessLevel, ApiRequest, EmptyBody, Method, Problem, Route};
use setup_core::messages::{SetupOutcome, SetupPorts, SetupPortsRequest};
use setup_core::plan::ports::{Refusal, change, is_lime, uses};

use super::apply::{self, BOUNDS, ChangeOptions};
use super::blocking::{problem, run_blocking, run_blocking_with_problem};
use super::config::Setup;
use super::config_store::{StagedChanges, trouble};
use super::planner::{Planner, lines};
use super::states::to_setup_change;
use runtime::Error;

/// Author of changes of ports, in the journal.
const WHO: &str = "weir cables";
/// Default of the seconds in which a change has to be confirmed.
const WITHIN: u64 = 60;

/// Returns the routes for the daemon.
pub fn routes(setup: &Setup, config: Option<&Path>) -> [Route; 2] {
    let (setup, config) = (Arc::new(setup.clone()), config.map(Path::to_owned));
    let same = Arc::clone(&setup);
    [
        Route::new_async(
            Method::GET,
            "/v1/setup/ports",
            AccessLevel::Root,
            move |_: ApiRequest<(), EmptyBody>| {
                let setup = Arc::clone(&same);
                run_blocking(move || look(&setup))
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/setup/ports",
            AccessLevel::Root,
            move |asked: ApiRequest<(), SetupPortsRequest>| {
                let (setup, config) = (Arc::clone(&setup), config.clone());
                run_blocking_with_problem(move || make(&setup, config.as_deref(), &asked.body))
            },
        ),
    ]
}

/// Returns the use of each port.
fn look(setup: &Setup) -> Result<SetupPorts, Error> {
    let looked = Planner::new(setup).read_state()?;
    let system = match is_lime(&looked.config) {
        true => "libremesh".to_owned(),
        false => looked.board.release.name.to_lowercase(),
    };
    Ok(SetupPorts {
        system,
        ports: uses(&looked.config, &looked.board.facts),
    })
}

/// Changes the use of ports. The change waits to be confirmed.
fn make(
    setup: &Setup,
    config: Option<&Path>,
    asked: &SetupPortsRequest,
) -> Result<SetupOutcome, Problem> {
    let told_as = |error: Error| problem(&error);
    let desk = Planner::new(setup);
    desk.place.recover().map_err(told_as)?;
    let pending = desk.place.journal.pending().map_err(trouble);
    if let Some(pending) = pending.map_err(told_as)? {
        return Err(Problem::new(
            409,
            "waits",
            format!(
                "change {} of {} awaits confirmation",
                pending.change.number, pending.change.who
            ),
            "confirm or revert it, and try again",
        ));
    }
    let waits = desk.place.uncommitted().map_err(told_as)?;
    if let Some(package) = waits {
        let what = format!("uncommitted changes of `uci` in {package}");
        let hint = "commit or revert them, and try again";
        return Err(Problem::new(409, "waits", what, hint));
    }
    let looked = desk.read_state().map_err(told_as)?;
    looked.board.known().map_err(told_as)?;
    let after = change(&asked.ports, &looked.config, &looked.board.facts).map_err(refused)?;
    let waiting = StagedChanges {
        files: desk.place.files(&looked.config, &after).map_err(told_as)?,
        lines: lines(&looked.config, &after),
        once: Vec::new(),
        notes: Vec::new(),
    };
    if waiting.files.is_empty() {
        let what = "the ports already match";
        return Err(Problem::new(409, "nothing", what, "no action needed"));
    }
    let how = ChangeOptions {
        why: &asked.why,
        who: WHO.to_owned(),
        within: asked.within.unwrap_or(WITHIN).clamp(BOUNDS.0, BOUNDS.1),
        config,
    };
    let (change, _) = apply::make(&desk.place, &waiting, &how).map_err(told_as)?;
    Ok(SetupOutcome {
        change: to_setup_change(change, Some(how.within)),
        address: None,
        once: Vec::new(),
    })
}

/// Converts refusals for the daemon.
fn refused(refusals: Vec<Refusal>) -> Problem {
    let hint = refusals.first().map_or("", |first| first.hint());
    let mut problem = Problem::new(409, "setup", "nothing was changed", hint);
    problem.errors = refusals.iter().map(ToString::to_string).collect();
    problem
}
