//! Makes, confirms and takes back changes.

use std::io;
use std::path::Path;

use setup_core::{Change, ChangeRequest, JournalError, Line};

use super::config_store::{ConfigStore, StagedChanges, trouble};
use super::ruleset::Ruleset;
use super::watchdog;
use runtime::Error;
use runtime::output::units::duration;
use runtime::output::{Output, Tone, sanitize};

/// Minimum and maximum seconds to confirm a change: enough time to log in again, and at most a day.
pub const BOUNDS: (u64, u64) = (5, 86_400);

/// Parses how long a change may wait.
pub fn seconds() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(BOUNDS.0..=BOUNDS.1)
}

/// Parameters of a change.
pub struct ChangeOptions<'a> {
    pub why: &'a str,
    /// Author of the change.
    pub who: String,
    /// Seconds in which it has to be confirmed.
    pub within: u64,
    pub config: Option<&'a Path>,
}

/// Makes a change, and starts a guard that undoes it. Returns the change, and a note if services
/// cannot be reloaded.
pub fn make(
    place: &ConfigStore,
    waiting: &StagedChanges,
    how: &ChangeOptions<'_>,
) -> Result<(Change, Option<String>), Error> {
    let change = put_in_place(place, waiting, how)?;
    let note = reload_services(place, &change)?;
    Ok((change, note))
}

/// Puts the files of a change in place, and starts a guard that undoes it. Services are not
/// reloaded yet.
pub fn put_in_place(
    place: &ConfigStore,
    waiting: &StagedChanges,
    how: &ChangeOptions<'_>,
) -> Result<Change, Error> {
    if waiting.files.is_empty() {
        return Err(Error::new(
            "no changes to apply",
            "change something first (in a terminal: `weir uci set …`, or `uci set …`)",
        ));
    }
    place.recover()?;
    let wish = ChangeRequest {
        why: how.why.to_owned(),
        who: how.who.clone(),
        within: how.within,
        lines: waiting.lines.iter().map(Line::to_string).collect(),
    };
    // A ruleset that was refused before is not a fault of this change. While `fw4` reads the new
    // configuration from `uci` already, the loaded rules count instead. The time does not run yet.
    let is_staged = place.is_staged(waiting);
    let ruleset = place.ruleset(waiting.files.iter().map(|file| &*file.path));
    let ruleset = ruleset.filter(|it| it.check().is_ok() || is_staged && it.is_loaded());
    let pending = place
        .journal
        .begin(&wish, &waiting.files)
        .map_err(trouble)?;
    // From here on the old files return in any case, at the next start at the latest.
    let number = pending.change.number;
    watchdog::start(how.config, number)
        .map_err(|error| undone(place, "cannot start the guard", &error))?;
    if let Err(error) = place.journal.apply(&pending) {
        return Err(undone(place, "cannot write the files", &error));
    }
    // A firewall that receives invalid rules keeps the old ones, and loads no rules at the next
    // start.
    if let Some(Err(error)) = ruleset.map(|ruleset| ruleset.check()) {
        return Err(undone(place, "the firewall refuses its new rules", &error));
    }
    Ok(pending.change)
}

/// Reloads services after a change; if that fails, undoes the change.
pub fn reload_services(place: &ConfigStore, change: &Change) -> Result<Option<String>, Error> {
    let ruleset = place.ruleset(change.files.iter().map(|entry| &*entry.path));
    let ruleset = ruleset.filter(Ruleset::is_loaded);
    let note = place.reload(change).map_err(|error| {
        let what = "services do not accept the new configuration";
        undone(place, what, &error)
    })?;
    if ruleset.is_some_and(|ruleset| !ruleset.becomes_loaded()) {
        let cause = io::Error::other("its rules are missing in the kernel");
        return Err(undone(place, "the firewall does not run", &cause));
    }
    match place.journal.finish(change.number) {
        Ok(()) => Ok(note),
        Err(JournalError::Nothing) => Err(Error::new(
            format!(
                "change {} was reverted already: services took too long",
                change.number
            ),
            "give it more time (in a terminal: `--within SECONDS`)",
        )),
        Err(error) => Err(undone(place, "cannot finish the change", &error)),
    }
}

/// Makes a change, and prints it.
pub fn apply(
    place: &ConfigStore,
    waiting: &StagedChanges,
    how: &ChangeOptions<'_>,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let (change, note) = make(place, waiting, how)?;
    print(&waiting.lines, output)?;
    if let Some(note) = note {
        output.line(&sanitize(&note))?;
    }
    for note in &waiting.notes {
        output.line(&output.toned(Tone::Warn, &sanitize(note)))?;
    }
    let text = format!(
        "change {} is applied. Confirm it within {}: weir setup confirm",
        change.number,
        duration(how.within)
    );
    Ok(output.line(&output.toned(Tone::Warn, &text))?)
}

/// Restores the old files, and returns the cause as an error.
fn undone(place: &ConfigStore, what: &str, cause: &dyn std::error::Error) -> Error {
    let hint = match place.journal.undo() {
        Ok(change) => match place.reload(&change) {
            Ok(_) => "the former configuration is restored",
            Err(_) => "the former files are restored, but services have not reloaded them",
        },
        Err(JournalError::Refused { change, .. }) => match place.reload(&change) {
            Ok(_) => "the former files are restored, except one that weir may not change",
            Err(_) => {
                "the former files are restored, except one that weir may not change, and services \
                 have not reloaded them"
            }
        },
        // The guard was faster, and reloads services.
        Err(JournalError::Nothing) => "the former configuration is restored",
        Err(_) => "the former files are not restored yet: the next start restores them",
    };
    Error::with_cause(what, cause, hint)
}

/// Confirms the change that waits.
pub fn confirm(place: &ConfigStore, output: &mut Output<'_>) -> Result<(), Error> {
    place.recover()?;
    let change = place.journal.confirm().map_err(trouble)?;
    Ok(output.line(&format!("change {} stays", change.number))?)
}

/// Takes back the change that waits.
pub fn take_back(place: &ConfigStore, output: &mut Output<'_>) -> Result<(), Error> {
    let (change, note) = place.undo()?;
    if let Some(note) = note {
        output.line(&sanitize(&note))?;
    }
    let text = format!("change {} is reverted", change.number);
    output.line(&text)?;
    for found in place.foreign_copies(change.number) {
        let text = format!("changes made by hand meanwhile are in {}", found.display());
        output.line(&output.toned(Tone::Warn, &sanitize(&text)))?;
    }
    Ok(())
}

/// Restores the old files, if a change was not confirmed before the machine went off.
pub fn recover(place: &ConfigStore, output: &mut Output<'_>) -> Result<(), Error> {
    let recovered = match place.put_back_late() {
        // The change is set aside: the next start continues without a message.
        Err(ref refused @ JournalError::Refused { ref change, .. }) => {
            output.line(&output.toned(Tone::Warn, &sanitize(&refused.to_string())))?;
            Some(Change::clone(change))
        }
        // A journal that another user may have written is not read, and every start logs this. A
        // damaged one is set aside.
        Err(other @ (JournalError::Outside(_) | JournalError::Damaged { .. })) => {
            output.line(&output.toned(Tone::Warn, &sanitize(&other.to_string())))?;
            None
        }
        recovered => recovered.map_err(trouble)?,
    };
    match recovered {
        Some(change) => {
            // Other services start with the files; LibreMesh's with those that it made before.
            place.regenerate(&change)?;
            let text = format!("change {} was not confirmed: reverted", change.number);
            Ok(output.line(&text)?)
        }
        None => Ok(()),
    }
}

/// Prints the lines of a difference, added ones green and removed ones red.
pub fn print(lines: &[Line], output: &mut Output<'_>) -> io::Result<()> {
    for line in lines {
        let tone = if line.added { Tone::Good } else { Tone::Bad };
        let text = output.toned(tone, &sanitize(&line.to_string()));
        output.line(&text)?;
    }
    Ok(())
}

/// Returns the user at the keyboard, as far as known.
pub fn who() -> String {
    let named = ["SUDO_USER", "USER", "LOGNAME"].into_iter();
    let name = named
        .filter_map(|name| std::env::var(name).ok())
        .find(|name| !name.is_empty());
    name.unwrap_or_else(|| format!("user {}", nix::unistd::getuid()))
}
