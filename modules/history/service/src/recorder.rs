//! Past traffic and quotas: the history in its thread, and the rules of quotas.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use answers::QuotaState;
use api::{Problem, ResponseFuture};
use history_core::quota::{Action, Quota, Quotas, Rules};
use history_core::{By, Calendar, Delta, Key, Query, StoreThread, ThreadHost, Unit, nft};
use kernel::Mac;
use monitor_core::apps::Application;
use monitor_core::{Counts, Traffic};
use net::mac::parse_short as mac;
use tracing::{info, warn};

use super::config::{History, QuotaAction, QuotaPeriod, QuotaSettings};
use crate::devices::macs_named;
use runtime::config::{ByteSize, Effective};
use runtime::daemon::{Spawner, confine};
use runtime::registry::ConfigWarning;

/// Default file in the first network namespace.
const FILE: &str = "/var/lib/weir/history.db";
/// Longest wait for the end of the thread.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of parts listed in a period.
const PARTS: usize = 64;

/// Returns the file of the history: as configured, otherwise the default in the first namespace.
pub fn file(effective: &Effective) -> Option<PathBuf> {
    let history = effective.of::<History>();
    if !*history.enabled {
        return None;
    }
    let first = api::path::is_first() != Some(false);
    history
        .file
        .value
        .clone()
        .or_else(|| first.then(|| PathBuf::from(FILE)))
}

/// The history, and the quotas that depend on it.
pub struct HistoryRecorder {
    store: StoreThread,
    quotas: Quotas,
    /// Names as last sent to the history.
    names: HashMap<Mac, String>,
    /// Blocked devices, as sent to the firewall; `None`: the state of the firewall is unknown.
    cut: Option<nft::Cut>,
    calendar: Calendar,
    /// True once there were quotas.
    judged: bool,
}

impl HistoryRecorder {
    /// Opens it.
    ///
    /// # Errors
    /// The history cannot be opened; the text is the reason.
    pub fn start(
        file: &Path,
        effective: &Effective,
        now: i64,
        nest: Spawner,
    ) -> Result<Self, String> {
        let rules = rules(effective);
        let judged = !rules.is_empty();
        let (settings, calendar) = choices(effective, judged)
            .ok_or_else(|| "invalid `history.month_begins`".to_owned())?;
        let kept = calendar.clone();
        let keeper = settings
            .check()
            .and_then(|()| StoreThread::start(file, settings, calendar, now, home(nest)))
            .inspect_err(|error| warn!(%error, "cannot keep a history"))
            .map_err(|error| error.to_string())?;
        info!(file = %file.display(), "keeping a history");
        Ok(Self {
            store: keeper,
            quotas: Quotas::new(rules),
            names: HashMap::new(),
            cut: Some(nft::Cut::default()),
            calendar: kept,
            judged,
        })
    }

    /// Returns the reason why writes fail at present, if they do.
    pub fn problem(&self) -> Option<String> {
        self.store.problem()
    }

    /// Adds the usage of devices since the last call; due every second.
    pub fn add(&mut self, now: i64, usage: HashMap<(Mac, Application), Traffic>) {
        let delta = |((mac, application), traffic): ((Mac, Application), Traffic)| Delta {
            device: Some(mac),
            application: Cow::Borrowed(application.as_str()),
            traffic,
        };
        self.store.add(now, usage.into_iter().map(delta).collect());
    }

    /// Sets the name of a device.
    pub fn name(&mut self, mac: Mac, name: &str) {
        if self.names.get(&mac).is_none_or(|known| known != name) {
            self.store.name(mac, name);
            self.names.insert(mac, name.to_owned());
        }
    }

    /// Compares usage with quotas. `addresses` returns the addresses of a device. Returns the next
    /// update of the firewall, if anything changed.
    pub fn evaluate(&mut self, addresses: impl Fn(&Mac) -> Vec<IpAddr>) -> Option<String> {
        match self.store.usage() {
            Some(usage) => self.judge_by(&usage),
            // No quota exists, nor ever existed.
            None if !self.judged => {}
            None => return None,
        }
        let macs: BTreeSet<Mac> = self.quotas.cut();
        let addresses: Vec<IpAddr> = macs.iter().flat_map(addresses).collect();
        let cut = nft::Cut::new(macs, addresses);
        if self.cut.as_ref() == Some(&cut) {
            return None;
        }
        // Created again each time: flushing the ruleset removes the table.
        let text = match cut.is_empty() {
            true => nft::remove(),
            false => nft::create(&cut),
        };
        self.cut = Some(cut);
        Some(text)
    }

    fn judge_by(&mut self, usage: &history_core::Usage) {
        for change in self.quotas.judge(usage) {
            let device = net::mac::text(&change.mac);
            match change.to {
                Some(state) => info!(device, state = state.as_str(), used = state.used, "quota"),
                None => info!(device, "device has no quota any more"),
            }
        }
    }

    /// Marks the firewall's state as unknown: the next judgement sends the rules again.
    pub fn unsure(&mut self) {
        self.cut = None;
    }

    /// Compares the expected table with the one found in the firewall.
    pub fn rules_seen(&mut self, there: bool) {
        if there != self.is_cutting() {
            self.unsure();
        }
    }

    /// Minutes that clocks are ahead of UTC now.
    pub fn offset_minutes(&self, now: i64) -> i32 {
        self.calendar.offset_minutes(now)
    }

    /// Returns the quota state of a device.
    pub fn quota(&self, mac: &Mac) -> Option<QuotaState> {
        let state = self.quotas.state(*mac)?;
        Some(QuotaState {
            period: match state.quota.unit {
                Unit::Day => "day",
                Unit::Week => "week",
                _ => "month",
            }
            .to_owned(),
            limit: state.quota.limit,
            used: state.used,
            state: state.as_str().to_owned(),
            resets: u64::try_from(state.resets).unwrap_or_default(),
        })
    }

    /// Applies new quotas and settings, except for the file.
    pub fn reload(&mut self, effective: &Effective, now: i64) {
        let rules = rules(effective);
        // Once judged, always: the removal of all quotas is a judgement, too.
        self.judged |= !rules.is_empty();
        if let Some((settings, calendar)) = choices(effective, self.judged) {
            self.calendar = calendar.clone();
            self.store.change(settings, calendar, now, |changed| {
                if let Err(error) = changed {
                    warn!(%error, "cannot apply the new settings of the history: reload again");
                }
            });
        }
        self.quotas.set_rules(rules);
    }

    /// Answers a question; the answer comes from the other thread.
    pub fn query(
        &self,
        asked: &answers::HistoryQuery,
        now: i64,
    ) -> ResponseFuture<answers::History> {
        let unit = match asked.unit {
            answers::HistoryUnit::Hour => Unit::Hour,
            answers::HistoryUnit::Day => Unit::Day,
            answers::HistoryUnit::Month => Unit::Month,
        };
        let by = match asked.by {
            answers::HistoryBy::Device => By::Device,
            answers::HistoryBy::Application => By::Application,
        };
        let (unit_word, by_word) = (asked.unit.to_string(), asked.by.to_string());
        let seconds = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let to = asked.to.map_or(now + 1, seconds);
        let query = Query {
            unit,
            from: asked.from.map_or(0, seconds),
            to,
            device: asked.device.as_deref().and_then(mac),
            by,
            parts: PARTS,
        };
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.store.query(query, move |periods| {
            // The receiver may be gone.
            let _ = reply.send(periods);
        });
        let offset_minutes = self.calendar.offset_minutes(now);
        Box::pin(async move {
            let failed =
                |error: String| Problem::new(503, "no_history", error, "see the daemon's log");
            let periods = answer
                .await
                .map_err(|_| failed("the history has ended".to_owned()))?
                .map_err(|error| failed(error.to_string()))?;
            Ok(answers::History {
                unit: unit_word,
                by: by_word,
                offset_minutes,
                periods: periods.into_iter().map(period).collect(),
            })
        })
    }

    /// Writes all pending data.
    pub fn stop(self, now: i64) {
        if let Err(error) = self.store.stop(now, PATIENCE) {
            warn!(%error, "cannot write the last data of the history");
        }
    }

    /// Returns true if any device has a quota.
    pub fn has_quotas(&self) -> bool {
        !self.quotas.rules().is_empty()
    }

    /// Returns true if the firewall has rules of quotas, or may have.
    pub fn is_cutting(&self) -> bool {
        self.cut.as_ref().is_none_or(|cut| !cut.is_empty())
    }
}

fn period(period: history_core::Period) -> answers::Period {
    let count = |count: monitor_core::Count| answers::Count {
        bytes: count.bytes,
        packets: count.packets,
    };
    let lan = |lan: &Counts| answers::LanCount {
        received: count(lan.received),
        sent: count(lan.sent),
    };
    let seconds = |at: i64| u64::try_from(at).unwrap_or_default();
    answers::Period {
        start: seconds(period.start),
        end: seconds(period.end),
        received: count(period.traffic.internet.received),
        sent: count(period.traffic.internet.sent),
        lan: lan(&period.traffic.lan),
        parts: period
            .parts
            .into_iter()
            .map(|part| answers::Part {
                key: match part.key {
                    Key::Other => "other".to_owned(),
                    ref key => key.to_string(),
                },
                name: part.name,
                received: count(part.traffic.internet.received),
                sent: count(part.traffic.internet.sent),
                lan: lan(&part.traffic.lan),
            })
            .collect(),
    }
}

/// Threads for the history, each confined to its folder as it is then.
fn home(nest: Spawner) -> ThreadHost {
    ThreadHost {
        run: Box::new(move |task| nest.run(task)),
        confine: Arc::new(confine::confine_to_folder),
    }
}

/// Returns the configured settings of the history; `usage`: true if any device has a quota. `None`
/// for an invalid configuration.
fn choices(effective: &Effective, usage: bool) -> Option<(history_core::Settings, Calendar)> {
    let settings = history_core::Settings {
        flush: *effective.of::<History>().flush,
        limit: effective.of::<History>().limit.value.0,
        usage,
        ..Default::default()
    };
    let calendar = Calendar::new(history_core::zone::system().zone)
        .month_begins(*effective.of::<History>().month_begins)
        .inspect_err(|error| warn!(error, "history.month_begins"))
        .ok()?;
    Some((settings, calendar))
}

/// Returns the configured quotas. A name is one of the configuration: names that devices give
/// themselves do not count. A hardware address takes precedence over a name.
fn rules(effective: &Effective) -> Rules {
    let mut rules = Rules::default();
    let quotas = effective.named::<QuotaSettings>();
    let (by_address, by_name): (Vec<_>, Vec<_>) =
        quotas.iter().partition(|(name, _)| mac(name).is_some());
    for (name, settings) in by_name {
        let quota = quota(settings);
        if name == QuotaSettings::ALL {
            rules.default = quota;
        }
        rules
            .devices
            .extend(macs_named(effective, name).map(|mac| (mac, quota)));
    }
    for (name, settings) in by_address {
        rules
            .devices
            .extend(mac(name).map(|mac| (mac, quota(settings))));
    }
    rules
}

/// Returns a problem if a quota has the name of no configured device.
pub fn doubt(effective: &Effective) -> Option<ConfigWarning> {
    idle(effective).next().map(|name| doubt_of(name))
}

/// Returns names of quotas that no device has in the configuration.
pub fn idle(effective: &Effective) -> impl Iterator<Item = &String> {
    effective.named::<QuotaSettings>().keys().filter(|name| {
        let one = mac(name).is_some() || *name == QuotaSettings::ALL;
        !one && macs_named(effective, name).next().is_none()
    })
}

/// Returns the warning about one of these names.
pub fn doubt_of(idle: &str) -> ConfigWarning {
    ConfigWarning {
        what: format!(
            "no device matches `quotas.{idle}`: no device has this name in the configuration, \
             and names that devices report do not count"
        ),
        hint: format!(
            "use the hardware address instead of the name, or add `[devices.\"02:…\"]` with \
             `name = \"{idle}\"`; `weir devices` lists addresses"
        ),
    }
}

fn quota(settings: &QuotaSettings) -> Option<Quota> {
    let ByteSize(limit) = *settings.limit;
    (limit > 0).then(|| Quota {
        limit,
        unit: match *settings.per {
            QuotaPeriod::Day => Unit::Day,
            QuotaPeriod::Week => Unit::Week,
            QuotaPeriod::Month => Unit::Month,
        },
        warn: *settings.warn,
        action: match *settings.action {
            QuotaAction::Warn => Action::Warn,
            QuotaAction::Cut => Action::Cut,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::config::SECTIONS;
    use super::*;
    use crate::devices::DeviceSettings;
    use runtime::config::{self, Section};

    fn parsed(text: &str) -> Effective {
        let devices = Section::named::<DeviceSettings>("devices", DeviceSettings::NAMING);
        let sections = [&SECTIONS[..], &[devices]].concat();
        config::parse(&sections, text, "weir.toml").expect("good")
    }

    #[test]
    fn a_name_of_the_configuration_stands_for_its_devices() {
        let effective = parsed(
            "[devices.\"02:00:00:00:00:01\"]\nname = \"TV\"\n\
             [devices.\"02-00-00-00-00-02\"]\nname = \"tv\"\n\
             [devices.\"02:00:00:00:00:03\"]\nname = \"\"\n\
             [quotas.Tv]\nlimit = \"1GB\"\n\
             [quotas.\"02:00:00:00:00:02\"]\nlimit = \"2GB\"\nper = \"week\"\n\
             [quotas.default]\nlimit = \"3GB\"\n",
        );
        let rules = rules(&effective);
        let limit = |last| rules.quota([2, 0, 0, 0, 0, last]).map(|quota| quota.limit);
        let gigabytes = [1, 2, 3].map(|last| limit(last).map(|limit| limit / 1_000_000_000));
        assert_eq!(gigabytes, [1, 2, 3].map(Some));
        let second = rules.quota([2, 0, 0, 0, 0, 2]).expect("a quota");
        assert_eq!(second.unit, Unit::Week);
        assert_eq!(doubt(&effective), None);
    }

    #[test]
    fn a_name_that_nobody_has_there_is_doubted() {
        let effective = parsed("[quotas.laptop]\nlimit = \"1GB\"\n");
        assert!(rules(&effective).is_empty());
        let doubt = doubt(&effective).expect("a doubt");
        assert!(doubt.what.contains("`quotas.laptop`"), "{}", doubt.what);
        assert!(doubt.hint.contains("name = \"laptop\""), "{}", doubt.hint);
    }
}
