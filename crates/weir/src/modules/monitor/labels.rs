//! What people say of devices: in the configuration; else on the page, or by `weir device`, which is
//! kept over a restart, in a file that is written as the configuration is, so that it can be copied
//! there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::mpsc;

use answers::{DeviceLabel, DeviceLabelled};
use api::Problem;
use kernel::Mac;
use monitor::device::is_station;
use monitor::names::{Names, Source};
use tracing::error;

use crate::config::devices::{self, DeviceSettings, Icon, Label, Line};
use crate::config::{self, Effective, FileValue, Section};
use crate::{kept, output};

/// In the first network namespace.
const FILE: &str = "/var/lib/weir/devices";
/// The first line of the file.
const HEADER: &str = "# What devices are called, by weir's page and `weir device`.\n";
/// What is being written.
pub type Writing = Pin<Box<dyn Future<Output = io::Result<()>>>>;
/// What helps where it cannot be written.
pub const UNWRITTEN: &str = "`choices` under [monitor] is to be a file of its own, in a folder that weir \
    may write, on a disk with room";
/// What helps where it was damaged.
const DAMAGED: &str =
    "what was good of it holds; look into what was put aside, and name the others again";
/// What is lost where the file cannot be read.
const LOST: &str = "what devices were called on the page is not known";

/// It.
#[derive(Debug, Default)]
pub struct Labels {
    /// The configuration's.
    configured: BTreeMap<Mac, Label>,
    /// What was given.
    given: BTreeMap<Mac, Label>,
    /// `None`: that is not kept, and so nothing can be given.
    file: Option<kept::Writer>,
    /// What is wrong with it, and what helps.
    trouble: Option<(String, &'static str)>,
    /// What was given is not in the file, as it could not be written; else none of it is lost.
    unwritten: bool,
    /// It is being written.
    writing: Option<mpsc::Receiver<io::Result<()>>>,
}

impl Labels {
    /// Reads what was given: from this file, else from its place, if this is the first network
    /// namespace. Where it is damaged, what is good of it is taken, and it is put aside; what was
    /// never one is left alone.
    pub fn open(file: Option<&Path>) -> Self {
        let first = || (api::path::is_first() != Some(false)).then(|| PathBuf::from(FILE));
        let Some(path) = file.map(Path::to_owned).or_else(first) else {
            return Self::default();
        };
        let named = path.display();
        // What is too long is put aside unread, which is for a file of weir's own alone.
        let foreign = path.exists() && !(path.is_file() && (is_short(&path) || begins(&path)));
        let octets = match foreign {
            true => Vec::new(),
            false => kept::read(&path, LOST),
        };
        let text = String::from_utf8_lossy(&octets);
        let section = Section::named::<DeviceSettings>("devices", DeviceSettings::NAMING);
        let (effective, errors) = config::parse_recoverable(&[section], &text, &named.to_string());
        let mut labels = Self::default();
        let is_ours = errors.is_empty() || text.starts_with(HEADER);
        if foreign || !is_ours {
            let trouble =
                format!("{named} is something else than what devices are called: it is left alone");
            error!("{trouble}");
            labels.trouble = Some((trouble, UNWRITTEN));
            return labels;
        }
        if let Some(first) = errors.first() {
            kept::put_aside(&path, first, "what is good of it is kept");
            let trouble = format!("{named} was damaged, and is put aside: {first}");
            labels.trouble = Some((trouble, DAMAGED));
            labels.unwritten = true;
        }
        labels.given = devices::labels(&effective);
        labels.file = Some(kept::Writer::new(path));
        labels
    }

    /// What is wrong with what is kept, and what helps.
    pub fn trouble(&self) -> Option<(&str, &'static str)> {
        self.trouble.as_ref().map(|(what, hint)| (&**what, *hint))
    }

    /// Whether it could be written.
    pub fn written(&mut self, outcome: Result<(), String>) {
        self.unwritten = outcome.is_err();
        if let Err(why) = &outcome {
            error!("what devices are called cannot be written: {why}; it is tried again");
        }
        self.trouble = outcome.err().map(|why| (why, UNWRITTEN));
    }

    /// Writes what could not be written before, from a thread of its own; due every some seconds.
    pub fn write_again(&mut self) {
        if let Some(writing) = self.writing.take() {
            match writing.try_recv() {
                Err(mpsc::TryRecvError::Empty) => {
                    self.writing = Some(writing);
                    return;
                }
                Ok(Ok(())) => {
                    self.unwritten = false;
                    // What was lost before is lost.
                    self.trouble.take_if(|(_, hint)| *hint == UNWRITTEN);
                }
                // Told of before.
                Ok(Err(_)) | Err(mpsc::TryRecvError::Disconnected) => {}
            }
        }
        if self.unwritten
            && let Some(file) = &self.file
        {
            let write = file.write(write(&self.given).into_bytes());
            let (done, writing) = mpsc::channel();
            tokio::spawn(async move {
                // Nobody waits for it where weir stops.
                let _ = done.send(write.await);
            });
            self.writing = Some(writing);
        }
    }

    /// Writes what could not be written before, now: weir stops.
    pub fn write_last(&self) {
        if self.unwritten
            && let Some(file) = &self.file
            && let Err(why) = file.write_now(write(&self.given).as_bytes())
        {
            error!("what devices are called is lost: it cannot be written: {why}");
        }
    }

    /// The configuration says this.
    pub fn configure(&mut self, effective: &Effective) {
        self.configured = devices::labels(effective);
    }

    /// Tells names.
    pub fn tell(&self, names: &mut Names) {
        names.replace(Source::Configuration, devices::known(&self.configured));
        names.replace(Source::Given, devices::known(&self.given));
    }

    /// The folder in which it is written.
    pub fn folder(&self) -> Option<PathBuf> {
        self.file.as_ref().map(kept::Writer::folder)
    }

    /// Takes what somebody gives; it is kept once it is written.
    ///
    /// # Errors
    /// It is none that a device can have, the configuration says something else, or nothing is kept.
    pub fn give(
        &mut self,
        mac: &str,
        asked: &DeviceLabel,
    ) -> Result<(DeviceLabelled, Writing), Problem> {
        let mac = monitor::names::mac(mac).filter(is_station).ok_or_else(|| {
            Problem::new(
                400,
                "no_device",
                format!(
                    "{} is no device's hardware address",
                    api::problem::clipped(mac)
                ),
                "`weir devices` has those that are known; one is written like 02:00:5e:10:00:01",
            )
        })?;
        let none = Label::default();
        let fixed = self.configured.get(&mac).unwrap_or(&none);
        let mut label = self.given.get(&mac).unwrap_or(&none).clone();
        if let Some(name) = &asked.name {
            free("name", fixed.name.is_some(), &mac)?;
            label.name = line("name", name)?;
            let is_address = |name: &String| {
                monitor::names::mac(name).is_some() || name.parse::<IpAddr>().is_ok()
            };
            if label.name.as_ref().is_some_and(is_address) {
                return Err(wrong("name", name, "a name that is no address"));
            }
        }
        if let Some(owner) = &asked.owner {
            free("owner", fixed.owner.is_some(), &mac)?;
            label.owner = line("owner", owner)?;
        }
        if let Some(icon) = &asked.icon {
            free("icon", fixed.icon.is_some(), &mac)?;
            let Icon(found) = Icon::of(icon).ok_or_else(|| wrong("icon", icon, Icon::ALLOWED))?;
            label.icon = found;
        }
        let file = self.file.clone().ok_or_else(|| {
            Problem::new(
                409,
                "not_kept",
                self.trouble.as_ref().map_or_else(
                    || "what devices are called is not kept in this network namespace".to_owned(),
                    |(what, _)| what.clone(),
                ),
                "set `choices` under [monitor] in the configuration to a file of its own, and \
                 restart weir",
            )
        })?;
        let mut all = self.given.clone();
        match label == none {
            true => drop(all.remove(&mac)),
            false => drop(all.insert(mac, label)),
        }
        let text = write(&all);
        if text.len() as u64 > kept::LONGEST && all.len() > self.given.len() {
            return Err(Problem::new(
                409,
                "full",
                format!("{} devices have names, and no more fit", self.given.len()),
                "move some to [devices] of the configuration, or take those away that are gone: \
                 `weir device forget`",
            ));
        }
        self.given = all;
        // What is being written is older.
        self.writing = None;
        Ok((self.of(&mac), Box::pin(file.write(text.into_bytes()))))
    }

    /// Those of whom anything is said.
    pub fn known(&self) -> BTreeSet<Mac> {
        self.configured
            .keys()
            .chain(self.given.keys())
            .copied()
            .collect()
    }

    /// What holds of a device: the configuration's word, else what was given.
    pub fn of(&self, mac: &Mac) -> DeviceLabelled {
        let none = Label::default();
        let fixed = self.configured.get(mac).unwrap_or(&none);
        let given = self.given.get(mac).unwrap_or(&none);
        let told = [
            ("name", fixed.name.is_some()),
            ("owner", fixed.owner.is_some()),
            ("icon", fixed.icon.is_some()),
        ];
        let configured = told.into_iter().filter(|(_, told)| *told);
        DeviceLabelled {
            mac: output::mac(mac),
            name: fixed.name.clone().or_else(|| given.name.clone()),
            owner: fixed.owner.clone().or_else(|| given.owner.clone()),
            icon: fixed.icon.or(given.icon).map(str::to_owned),
            configured: configured.map(|(word, _)| word.to_owned()).collect(),
        }
    }
}

fn is_short(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() <= kept::LONGEST)
}

/// Whether a file begins as weir's own.
fn begins(path: &Path) -> bool {
    let mut octets = [0; HEADER.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut octets));
    read.is_ok() && octets == *HEADER.as_bytes()
}

/// What the configuration says is not to be given.
fn free(what: &str, taken: bool, mac: &Mac) -> Result<(), Problem> {
    match taken {
        false => Ok(()),
        true => Err(Problem::new(
            409,
            "configured",
            format!("the configuration has the {what} of this device"),
            format!(
                "change `{what}` under [devices.\"{}\"] there, and run `weir reload`",
                output::mac(mac)
            ),
        )),
    }
}

fn line(what: &str, text: &str) -> Result<Option<String>, Problem> {
    let allowed = match text.trim() {
        text if text.len() > monitor::names::text::LONGEST_DEVICE => {
            "63 bytes at most: letters beyond ASCII take 2 to 4"
        }
        text if text.chars().any(char::is_control) => "one line",
        _ => {
            "a text without characters that are not seen: also those that join letters, and with \
                two spaces nowhere"
        }
    };
    let Line(line) = Line::of(text).ok_or_else(|| wrong(what, text, allowed))?;
    Ok(line)
}

fn wrong(what: &str, text: &str, allowed: &str) -> Problem {
    Problem::new(
        400,
        "wrong_label",
        format!("{what} cannot be {}", api::problem::clipped(text)),
        format!("give {allowed}"),
    )
}

/// The file's text.
fn write(labels: &BTreeMap<Mac, Label>) -> String {
    let mut text = HEADER.to_owned();
    for (mac, label) in labels {
        // Writing into a text does not fail.
        let _ = writeln!(text, "[devices.\"{}\"]", output::mac(mac));
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

    const MAC: &str = "02:00:5E:10:00:01";
    const OCTETS: Mac = [2, 0, 0x5e, 0x10, 0, 1];

    fn asked(name: Option<&str>, owner: Option<&str>, icon: Option<&str>) -> DeviceLabel {
        let [name, owner, icon] = [name, owner, icon].map(|text| text.map(str::to_owned));
        DeviceLabel { name, owner, icon }
    }

    fn folder(of: &str) -> PathBuf {
        let name = format!("weir-given-{of}-{}", std::process::id());
        std::env::temp_dir().join(name)
    }

    #[tokio::test]
    async fn what_was_given_is_read_again() {
        let folder = folder("again");
        let path = folder.join("of/devices");
        let mut labels = Labels::open(Some(&path));
        let hard = r#"Anna's "old" \ tv 📺"#;
        let all = asked(Some(hard), Some("Anna"), Some("tv"));
        let (label, written) = labels.give(MAC, &all).expect("a label");
        written.await.expect("to be written");
        assert_eq!(label.name.as_deref(), Some(hard));
        let again = Labels::open(Some(&path));
        assert_eq!(again.of(&OCTETS), label);
        assert_eq!(
            (label.owner.as_deref(), label.icon.as_deref()),
            (Some("Anna"), Some("tv"))
        );
        // One at a time; none is no line of the file.
        let text = || fs::read_to_string(&path).expect("a file");
        let (_, written) = labels
            .give(MAC, &asked(Some(" "), None, None))
            .expect("a label");
        written.await.expect("to be written");
        assert_eq!(
            text().strip_prefix(HEADER).expect("a head"),
            "[devices.\"02:00:5e:10:00:01\"]\nowner = \"Anna\"\nicon = \"tv\"\n"
        );
        let away = asked(None, Some(""), Some(""));
        labels
            .give(MAC, &away)
            .expect("a label")
            .1
            .await
            .expect("to be written");
        assert_eq!(text(), HEADER);
        // Of a damaged one what is good is kept.
        let good = "[devices.\"02:00:5e:10:00:01\"]\nname = \"tv\"\n";
        let bad = "[devices.\"02:00:5e:10:00:02\"]\nname = \"a\u{202e}b\"\n";
        fs::write(&path, format!("{HEADER}{good}{bad}")).expect("a file");
        let mut damaged = Labels::open(Some(&path));
        assert_eq!(damaged.of(&OCTETS).name.as_deref(), Some("tv"));
        assert!(
            damaged
                .trouble()
                .is_some_and(|(why, _)| why.contains("damaged"))
        );
        assert!(
            path.with_extension("damaged").exists() && !path.exists(),
            "put aside"
        );
        // And written again: soon, or where weir stops before that.
        damaged.write_last();
        assert_eq!(text(), format!("{HEADER}{good}"));
        fs::remove_file(&path).expect("to go");
        for _ in 0..1_000 {
            damaged.write_again();
            if !damaged.unwritten {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!damaged.unwritten && damaged.writing.is_none(), "once");
        assert_eq!(text(), format!("{HEADER}{good}"));
        assert!(damaged.trouble().is_some(), "what was lost is still told");
        // What is none is left alone, whatever is asked for.
        fs::write(&path, "127.0.0.1 localhost\n").expect("a file");
        for (other, there) in [(&path, &path), (&folder, &path)] {
            let mut labels = Labels::open(Some(other));
            let problem = labels.give(MAC, &all).map(drop).expect_err("a problem");
            assert!(problem.detail.contains("left alone"), "{}", problem.detail);
            assert!(there.is_file());
        }
        assert_eq!(text(), "127.0.0.1 localhost\n");
        // Nor is one that is too long to be read.
        let long = "x".repeat(70_000);
        fs::write(&path, &long).expect("a file");
        let labels = Labels::open(Some(&path));
        assert!(
            labels
                .trouble()
                .is_some_and(|(why, _)| why.contains("left alone"))
        );
        assert_eq!(text(), long);
        fs::remove_dir_all(&folder).expect("to go");
    }

    #[test]
    fn what_cannot_be_given_says_why() {
        let mut labels = Labels::open(Some(&folder("never").join("devices")));
        let _ = fs::remove_dir(folder("never"));
        let label = Label {
            name: Some("tv".into()),
            ..Label::default()
        };
        labels.configured.insert(OCTETS, label);
        let long = "x".repeat(64);
        let other = "02:00:5e:10:00:02";
        for (mac, asked, error, says) in [
            (
                MAC,
                asked(Some("radio"), None, None),
                "configured",
                "02:00:5e:10:00:01",
            ),
            (
                MAC,
                asked(None, Some(&long), None),
                "wrong_label",
                "63 bytes",
            ),
            (
                MAC,
                asked(None, None, Some("fridge")),
                "wrong_label",
                "appliance",
            ),
            (
                other,
                asked(Some("a\nb"), None, None),
                "wrong_label",
                "one line",
            ),
            (
                other,
                asked(Some("192.168.1.7"), None, None),
                "wrong_label",
                "no address",
            ),
            (
                "ff:ff:ff:ff:ff:ff",
                asked(Some("x"), None, None),
                "no_device",
                "weir devices",
            ),
            (
                "tv",
                asked(Some("x"), None, None),
                "no_device",
                "weir devices",
            ),
        ] {
            let problem = labels.give(mac, &asked).map(drop).expect_err("a problem");
            assert_eq!(problem.error, error);
            assert!(problem.hint.contains(says), "{}", problem.hint);
        }
        assert!(labels.given.is_empty());
        assert_eq!(labels.of(&OCTETS).configured, ["name"]);
        let problem = Labels::default().give(MAC, &asked(Some("x"), None, None));
        assert_eq!(problem.map(drop).expect_err("a problem").error, "not_kept");
    }

    #[test]
    fn there_is_room_for_hundreds() {
        let mut labels = Labels::open(Some(&folder("full").join("devices")));
        let _ = fs::remove_dir(folder("full"));
        let asked = asked(Some(&"x".repeat(63)), Some(&"y".repeat(63)), None);
        let many = (0..=u16::MAX).find_map(|number| {
            let [a, b] = number.to_be_bytes();
            let mac = output::mac(&[2, 0, 0, 0, a, b]);
            let problem = labels.give(&mac, &asked).err();
            problem.map(|problem| (number, problem.error))
        });
        let (many, error) = many.expect("an end");
        assert!(many > 300 && error == "full", "{many}: {error}");
        // What is there can still be changed.
        let changed = DeviceLabel {
            name: Some(String::new()),
            ..DeviceLabel::default()
        };
        labels
            .give("02:00:00:00:00:00", &changed)
            .map(drop)
            .expect("room");
    }
}
