//! Sufficient power at each hour of earlier days, kept over a restart.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use radio_core::power::Priors;
use tracing::warn;

use runtime::persisted;

/// In the first network namespace.
pub const FILE: &str = "/var/lib/weir/radio";
/// Loss with the file.
const LOST: &str = "the sufficient power per hour is learned again";
/// Shortest interval of writes, except at the end: flash wears out.
const WRITES: Duration = Duration::from_secs(600);

/// Priors of all devices.
pub struct PriorStore {
    priors: Priors,
    /// Nowhere: it is forgotten when weir ends.
    file: Option<PathBuf>,
    changed: bool,
    /// The last time it could not be written.
    fails: bool,
    /// Hour of the last value.
    hour: u64,
    written: Instant,
}

impl PriorStore {
    /// Reads the state of the last run. A damaged file is reported and set aside.
    pub fn open(file: Option<&Path>) -> Self {
        let octets = file.map_or_else(Vec::new, |file| persisted::read(file, LOST));
        let read = Priors::read(&String::from_utf8_lossy(&octets));
        let priors = read.unwrap_or_else(|error| {
            if let Some(file) = file {
                persisted::quarantine(file, &error, LOST);
            }
            Priors::default()
        });
        Self {
            priors,
            file: file.map(Path::to_owned),
            changed: false,
            fails: false,
            hour: 0,
            written: Instant::now(),
        }
    }

    /// Returns the folder of the file.
    pub fn folder(&self) -> Option<PathBuf> {
        self.file.as_deref().map(persisted::folder)
    }

    /// Returns the file, if the last attempt to write it failed.
    pub fn unwritten(&self) -> Option<String> {
        let file = self.file.as_deref().filter(|_| self.fails);
        file.map(|file| file.display().to_string())
    }

    /// Records the sufficient power at this hour, counted from the epoch (UTC). Returns the one at
    /// the same hour of earlier days.
    pub fn learn(&mut self, device: &str, hour: u64, enough: Option<i32>) -> Option<i32> {
        if hour != self.hour {
            self.priors.end();
            self.hour = hour;
        }
        let hour = u8::try_from(hour % 24).ok()?;
        let prior = self.priors.of(device)?;
        if let Some(enough) = enough {
            self.changed |= prior.learn(hour, enough);
        }
        let expected = prior.at(hour);
        if self.written.elapsed() >= WRITES {
            self.keep();
        }
        expected
    }

    /// Writes it, where there is something new.
    pub fn keep(&mut self) {
        self.written = Instant::now();
        let Some(file) = self.file.as_ref().filter(|_| self.changed) else {
            return;
        };
        match persisted::write(file, self.priors.text().as_bytes()) {
            Ok(()) => (self.changed, self.fails) = (false, false),
            Err(error) => {
                self.fails = true;
                warn!(%error, file = %file.display(), "cannot store the sufficient power per hour");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_hour_of_another_day_is_another() {
        let mut learned = PriorStore::open(None);
        for (hour, power, known) in [
            (7, 10, 10),
            (7, 10, 10),
            (7, 20, 10),
            (31, 20, 13),
            (31, 20, 13),
        ] {
            assert_eq!(learned.learn("wlan0", hour, Some(power)), Some(known));
        }
    }

    #[test]
    fn what_was_enough_survives_a_restart() {
        let folder = std::env::temp_dir().join(format!("weir-learned-{}", std::process::id()));
        let file = folder.join("of/radio");
        let mut first = PriorStore::open(Some(&file));
        assert_eq!(first.learn("wlan0", 7, Some(9)), Some(9));
        first.keep();
        let mut second = PriorStore::open(Some(&file));
        assert_eq!(second.learn("wlan0", 7, None), Some(9));
        assert_eq!(second.learn("wlan1", 7, None), None);
        for (damaged, aside) in [
            (&b"wlan0 7 9.00\nwlan0 7 loud\n"[..], "damaged"),
            (b"\xff 1 1\xff", "damaged.2"),
            (&[b'x'; 70_000], "damaged.3"),
        ] {
            std::fs::write(&file, damaged).expect("a file");
            let mut anew = PriorStore::open(Some(&file));
            assert_eq!(anew.learn("wlan0", 7, None), None);
            let aside = file.with_extension(aside);
            assert_eq!(std::fs::read(&aside).expect("put aside"), damaged);
            assert!(!file.exists());
        }
        let mut second = PriorStore::open(Some(&file));
        second.learn("wlan0", 7, Some(9));
        second.keep();
        assert_eq!(second.unwritten(), None);
        second.learn("wlan0", 8, Some(5));
        std::fs::remove_dir_all(&folder).expect("removed");
        second.keep();
        assert_eq!(second.unwritten(), Some(file.display().to_string()));
        let mut nowhere = PriorStore::open(None);
        assert_eq!(nowhere.learn("wlan0", 7, Some(9)), Some(9));
        nowhere.keep();
        assert_eq!(nowhere.unwritten(), None);
    }
}
