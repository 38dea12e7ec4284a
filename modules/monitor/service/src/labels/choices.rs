//! The file of device labels: written in the format of the configuration, so that entries can be
//! copied there.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::pin::Pin;

use api::Problem;
use kernel::Mac;
use tracing::error;

use history::devices::{self, DeviceSettings, Label};
use runtime::config::{self, Section};
use runtime::persisted;

/// Default file in the first network namespace.
const FILE: &str = "/var/lib/weir/devices";
/// The first line of the file.
pub(super) const HEADER: &str = "# What devices are called, by weir's page and `weir device`.\n";
/// Write in progress.
pub type Writing = Pin<Box<dyn Future<Output = io::Result<()>>>>;
/// Hint if the file cannot be written.
pub const UNWRITTEN: &str = "set `choices` under [monitor] to a file of its own, in a writable \
    folder, on a disk with room";
/// Hint if the file was damaged.
const DAMAGED: &str = "valid entries stay in use; check the file that was set aside, and name the \
    other devices again";
/// Loss if the file cannot be read.
const LOST: &str = "device names from the page are lost";

/// File of device labels.
#[derive(Debug, Default)]
pub struct Choices {
    /// `None`: labels are not stored, and so cannot be set.
    file: Option<persisted::Writer>,
    /// Problem found when reading the file, and a hint.
    found: Option<(String, &'static str)>,
    /// Error of the last attempt to write the file.
    failed: Option<String>,
}

impl Choices {
    /// Reads the labels: from this file, otherwise from the default path, if this is the first
    /// network namespace. Valid entries of a damaged file are used, and the file is set aside; a
    /// foreign file is left alone.
    pub fn open(file: Option<&Path>) -> (Self, BTreeMap<Mac, Label>) {
        let first = || (api::path::is_first() != Some(false)).then(|| PathBuf::from(FILE));
        let Some(path) = file.map(Path::to_owned).or_else(first) else {
            return Default::default();
        };
        let named = path.display();
        // Oversized files are set aside unread, but only if weir wrote them.
        let foreign = path.exists() && !(path.is_file() && (is_short(&path) || begins(&path)));
        let octets = match foreign {
            true => Vec::new(),
            false => persisted::read(&path, LOST),
        };
        let text = String::from_utf8_lossy(&octets);
        let section = Section::named::<DeviceSettings>("devices", DeviceSettings::NAMING);
        let (effective, errors) = config::parse_recoverable(&[section], &text, &named.to_string());
        let mut choices = Self::default();
        let is_ours = errors.is_empty() || text.starts_with(HEADER);
        if foreign || !is_ours {
            let what = format!("{named} is not a file of device names: weir leaves it alone");
            error!("{what}");
            choices.found = Some((what, UNWRITTEN));
            return (choices, BTreeMap::new());
        }
        let writer = persisted::Writer::new(path.clone());
        if let Some(first) = errors.first() {
            persisted::quarantine(&path, first, "valid entries are kept");
            let what = format!("{named} was damaged, and was set aside: {first}");
            choices.found = Some((what, DAMAGED));
            writer.mark_dirty();
        }
        choices.file = Some(writer);
        (choices, devices::labels(&effective))
    }

    /// Returns the folder of the file.
    pub fn folder(&self) -> Option<PathBuf> {
        self.file.as_ref().map(persisted::Writer::folder)
    }

    /// Returns the present problem, and a hint.
    pub fn trouble(&self) -> Option<(&str, &'static str)> {
        let owes = self.owing().is_some();
        let failed = self.failed.as_deref().filter(|_| owes);
        let found = self.found.as_ref();
        failed
            .map(|what| (what, UNWRITTEN))
            .or(found.map(|(what, hint)| (&**what, *hint)))
    }

    /// Writes the labels; `more`: more devices have names than before.
    ///
    /// # Errors
    /// No file is configured, or there is no room for more.
    pub fn write(&self, given: &BTreeMap<Mac, Label>, more: bool) -> Result<Writing, Problem> {
        let file = self.file.as_ref().ok_or_else(|| {
            let found = self.found.as_ref().map(|(what, _)| what.clone());
            Problem::new(
                409,
                "not_kept",
                found.unwrap_or_else(|| {
                    "device names are not stored in this network namespace".to_owned()
                }),
                "set `choices` under [monitor] in the configuration to a file of its own, and \
                 restart weir",
            )
        })?;
        let text = text(given);
        if text.len() as u64 > persisted::LONGEST && more {
            return Err(Problem::new(
                409,
                "full",
                format!(
                    "the file of device names is full: it has {} devices",
                    given.len() - 1
                ),
                "move names to [devices] of the configuration, or remove old ones with `weir \
                 device forget`",
            ));
        }
        Ok(Box::pin(file.write(text.into_bytes())))
    }

    /// Handles the result of writing the file.
    pub fn written(&mut self, outcome: Result<(), String>) {
        match outcome {
            // Labels lost earlier stay lost.
            Ok(()) => self.found = None,
            Err(why) => {
                error!("cannot write device names: {why}; weir tries again");
                self.failed = Some(why);
            }
        }
    }

    /// Returns the writer if a write is still pending.
    fn owing(&self) -> Option<&persisted::Writer> {
        self.file.as_ref().filter(|file| file.is_dirty())
    }

    /// Repeats a failed write, from a thread of its own.
    pub fn write_again(&self, given: &BTreeMap<Mac, Label>) {
        if let Some(file) = self.owing().filter(|file| !file.is_busy()) {
            let write = file.write(text(given).into_bytes());
            tokio::spawn(async move {
                // The error was logged before.
                let _ = write.await;
            });
        }
    }

    /// Writes the file and waits for the result.
    pub fn write_last(&self, given: &BTreeMap<Mac, Label>) {
        if let Some(file) = self.owing()
            && let Err(why) = file.write_now(text(given).into_bytes())
        {
            error!("device names are lost: cannot write them: {why}");
        }
    }
}

fn is_short(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() <= persisted::LONGEST)
}

/// Returns true if the file has weir's header.
fn begins(path: &Path) -> bool {
    let mut octets = [0; HEADER.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut octets));
    read.is_ok() && octets == *HEADER.as_bytes()
}

/// Returns the file's text.
fn text(labels: &BTreeMap<Mac, Label>) -> String {
    let mut text = HEADER.to_owned();
    for (mac, label) in labels {
        // Writing into a text does not fail.
        let _ = writeln!(text, "[devices.\"{}\"]", net::mac::text(mac));
        let Label { name, owner, icon } = label;
        let owner = owner.as_deref();
        for (key, value) in [("name", name.as_deref()), ("owner", owner), ("icon", *icon)] {
            if let Some(value) = value {
                // No control characters are in it.
                let value = value.replace('\\', "\\\\").replace('"', "\\\"");
                let _ = writeln!(text, "{key} = \"{value}\"");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_is_damaged_or_foreign_is_not_lost() {
        let name = format!("weir-choices-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let path = folder.join("devices");
        fs::create_dir_all(&folder).expect("a folder");
        let text = || fs::read_to_string(&path).expect("a file");
        // Valid entries of a damaged file are kept.
        let good = "[devices.\"02:00:5e:10:00:01\"]\nname = \"tv\"\n";
        let bad = "[devices.\"02:00:5e:10:00:02\"]\nname = \"a\u{202e}b\"\n";
        fs::write(&path, format!("{HEADER}{good}{bad}")).expect("a file");
        let (choices, given) = Choices::open(Some(&path));
        assert_eq!(given.len(), 1);
        let told = |choices: &Choices| {
            choices
                .trouble()
                .map(|(what, hint)| format!("{what} {hint}"))
        };
        let why = told(&choices).expect("a trouble");
        assert!(
            why.contains("was damaged") && why.contains("name the other"),
            "{why}"
        );
        assert!(
            path.with_extension("damaged").exists() && !path.exists(),
            "put aside"
        );
        // The labels are written again: when weir stops, or soon.
        choices.write_last(&given);
        assert_eq!(text(), format!("{HEADER}{good}"));
        fs::write(&path, format!("{HEADER}{good}{bad}")).expect("a file");
        let (mut choices, given) = Choices::open(Some(&path));
        for _ in 0..1_000 {
            choices.write_again(&given);
            if path.exists() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(text(), format!("{HEADER}{good}"));
        assert!(told(&choices).is_some(), "what was lost is still told");
        // The problem ends with the next label that a user gives.
        choices.written(Ok(()));
        assert_eq!(told(&choices), None);
        // A foreign file stays untouched, whatever the configuration says.
        fs::write(&path, "127.0.0.1 localhost\n").expect("a file");
        for (other, there) in [(&path, &path), (&folder, &path)] {
            let (choices, _) = Choices::open(Some(other));
            let problem = choices
                .write(&given, false)
                .map(drop)
                .expect_err("a problem");
            assert!(
                problem.detail.contains("leaves it alone"),
                "{}",
                problem.detail
            );
            assert!(there.is_file());
        }
        assert_eq!(text(), "127.0.0.1 localhost\n");
        // Nor is one that is too long to be read.
        let long = "x".repeat(70_000);
        fs::write(&path, &long).expect("a file");
        let (choices, _) = Choices::open(Some(&path));
        assert!(told(&choices).is_some_and(|why| why.contains("leaves it alone")));
        assert_eq!(text(), long);
        fs::remove_dir_all(&folder).expect("to go");
    }
}
