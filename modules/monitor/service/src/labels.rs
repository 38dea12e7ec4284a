//! Labels of devices: from the configuration; otherwise from the page or `weir device`, which
//! persist over a restart ([`choices`]).

mod choices;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use answers::{DeviceLabel, LabelledDevice};
use api::Problem;
use kernel::Mac;
use monitor_core::names::text::LONGEST_DEVICE;
use monitor_core::names::{Names, Source};
use net::mac::is_station;

use history::devices::{self, Icon, Label, LabelText};
use runtime::config::{Effective, FileValue};

pub use choices::{Choices, UNWRITTEN, Writing};

/// Labels of all devices.
#[derive(Debug, Default)]
pub struct Labels {
    /// The configuration's.
    configured: BTreeMap<Mac, Label>,
    /// Labels that users gave.
    user_labels: BTreeMap<Mac, Label>,
    /// File of these labels.
    file: Choices,
}

impl Labels {
    /// Opens the file of labels: see [`Choices::open`].
    pub fn open(file: Option<&Path>) -> Self {
        let (choices, given) = Choices::open(file);
        Self {
            user_labels: given,
            file: choices,
            ..Self::default()
        }
    }

    /// Applies the configured labels.
    pub fn configure(&mut self, effective: &Effective) {
        self.configured = devices::labels(effective);
    }

    /// Sends names to the core.
    pub fn publish_names(&self, names: &mut Names) {
        names.replace(
            Source::Configuration,
            devices::name_entries(&self.configured),
        );
        names.replace(Source::User, devices::name_entries(&self.user_labels));
    }

    /// Stores a label that a user gave; it persists once written.
    ///
    /// # Errors
    /// The label is not valid, the configuration sets another, or no file is configured.
    pub fn give(
        &mut self,
        mac: &str,
        asked: &DeviceLabel,
    ) -> Result<(LabelledDevice, Writing), Problem> {
        let mac = net::mac::parse_short(mac).filter(is_station).ok_or_else(|| {
            Problem::new(
                400,
                "no_device",
                format!(
                    "{} is not the hardware address of a device",
                    api::problem::clipped(mac)
                ),
                "`weir devices` lists the known addresses; write an address as 02:00:5e:10:00:01",
            )
        })?;
        let none = Label::default();
        let fixed = self.configured.get(&mac).unwrap_or(&none);
        let mut label = self.user_labels.get(&mac).unwrap_or(&none).clone();
        if let Some(name) = &asked.name {
            free("name", fixed.name.is_some(), &mac)?;
            label.name = line("name", name)?;
            let is_address = |name: &String| {
                net::mac::parse_short(name).is_some() || name.parse::<IpAddr>().is_ok()
            };
            if label.name.as_ref().is_some_and(is_address) {
                return Err(wrong("name", name, "a name that is not an address"));
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
        let mut all = self.user_labels.clone();
        match label == none {
            true => drop(all.remove(&mac)),
            false => drop(all.insert(mac, label)),
        }
        let writing = self.file.write(&all, all.len() > self.user_labels.len())?;
        self.user_labels = all;
        Ok((self.of(&mac), writing))
    }

    /// Returns the file of the labels.
    pub fn file(&self) -> &Choices {
        &self.file
    }

    /// Handles the result of writing the labels.
    pub fn written(&mut self, outcome: Result<(), String>) {
        self.file.written(outcome);
    }

    /// Repeats a failed write of the labels; due every some seconds.
    pub fn write_again(&self) {
        self.file.write_again(&self.user_labels);
    }

    /// Writes the labels and waits for the result: weir stops.
    pub fn write_last(&self) {
        self.file.write_last(&self.user_labels);
    }

    /// Returns the devices with a label.
    pub fn known(&self) -> BTreeSet<Mac> {
        self.configured
            .keys()
            .chain(self.user_labels.keys())
            .copied()
            .collect()
    }

    /// Returns the label of a device: from the configuration, otherwise as users set it.
    pub fn of(&self, mac: &Mac) -> LabelledDevice {
        let none = Label::default();
        let fixed = self.configured.get(mac).unwrap_or(&none);
        let given = self.user_labels.get(mac).unwrap_or(&none);
        let told = [
            ("name", fixed.name.is_some()),
            ("owner", fixed.owner.is_some()),
            ("icon", fixed.icon.is_some()),
        ];
        let configured = told.into_iter().filter(|(_, told)| *told);
        LabelledDevice {
            mac: net::mac::text(mac),
            name: fixed.name.clone().or_else(|| given.name.clone()),
            owner: fixed.owner.clone().or_else(|| given.owner.clone()),
            icon: fixed.icon.or(given.icon).map(str::to_owned),
            configured: configured.map(|(word, _)| word.to_owned()).collect(),
        }
    }
}

/// Refuses a label that the configuration sets.
fn free(what: &str, taken: bool, mac: &Mac) -> Result<(), Problem> {
    match taken {
        false => Ok(()),
        true => Err(Problem::new(
            409,
            "configured",
            format!("the configuration sets the {what} of this device"),
            format!(
                "change `{what}` under [devices.\"{}\"] there, and run `weir reload`",
                net::mac::text(mac)
            ),
        )),
    }
}

fn line(what: &str, text: &str) -> Result<Option<String>, Problem> {
    let allowed = match text.trim() {
        text if text.len() > LONGEST_DEVICE => "63 bytes at most: letters beyond ASCII take 2 to 4",
        text if text.chars().any(char::is_control) => "one line",
        _ => {
            "a text without two spaces in a row, and without invisible characters, such as those \
                that join letters"
        }
    };
    let LabelText(line) = LabelText::of(text).ok_or_else(|| wrong(what, text, allowed))?;
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::choices::HEADER;
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
        // Removes one field at a time; an empty label leaves no line in the file.
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
                asked(Some("\u{645}\u{6cc}\u{200c}\u{62e}"), None, None),
                "wrong_label",
                "join letters",
            ),
            (
                other,
                asked(Some("192.168.1.7"), None, None),
                "wrong_label",
                "not an address",
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
        assert!(labels.user_labels.is_empty());
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
            let mac = net::mac::text(&[2, 0, 0, 0, a, b]);
            let problem = labels.give(&mac, &asked).err();
            problem.map(|problem| (number, problem.error))
        });
        let (many, error) = many.expect("an end");
        assert!(many > 300 && error == "full", "{many}: {error}");
        // Existing labels can still be changed.
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
