//! Changes, as answers list them.

use setup_core::Change;
use setup_core::messages::{SetupChange, SetupStates};

use super::config_store::{ConfigStore, trouble};
use super::reachability;
use runtime::Error;

/// Returns the change that waits to be confirmed, and earlier ones.
pub fn states(place: &ConfigStore) -> Result<SetupStates, Error> {
    let now = setup_core::now().map_err(trouble)?;
    let pending = place.journal.pending().map_err(trouble)?;
    let states = place.journal.states().map_err(trouble)?;
    Ok(SetupStates {
        reach: pending
            .as_ref()
            .and_then(|_| reachability::test_internet(place)),
        pending: pending.map(|pending| {
            let left = pending.change.until.left(&now).unwrap_or(0);
            to_setup_change(pending.change, Some(left))
        }),
        undone: place
            .journal
            .undone()
            .map(|change| to_setup_change(change, None)),
        states: states
            .into_iter()
            .map(|state| to_setup_change(state.change, None))
            .collect(),
    })
}

pub fn to_setup_change(change: Change, left: Option<u64>) -> SetupChange {
    SetupChange {
        number: change.number,
        why: change.why,
        who: change.who,
        when: change.when,
        left,
        files: change
            .files
            .iter()
            .map(|entry| entry.path.to_string_lossy().into_owned())
            .collect(),
        lines: change.lines,
    }
}
