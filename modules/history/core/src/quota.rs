//! Quotas: usage of each device against its limit. Pure: usage comes from the history, so a
//! restart, a changed clock, or the end of a month need no special case. The level of a device
//! follows from its usage alone: there is no hysteresis.

use std::collections::{BTreeMap, BTreeSet};

use crate::Mac;
use crate::periods::Unit;
use crate::usage::Usage;

/// Action against a device that used up its quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Only reports the device.
    Warn,
    /// Blocks the device from the network until the period ends.
    Cut,
}

/// Quota of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Unit of the period: day, week or month.
    pub unit: Unit,
    /// Limit in bytes of Internet traffic, both directions together.
    pub limit: u64,
    /// Percentage of the limit from which to warn; 100 and more: no warning before the end.
    pub warn: u8,
    /// Action once the quota is used up.
    pub action: Action,
}

impl Quota {
    /// Checks that the quota is valid.
    pub fn check(&self) -> Result<(), String> {
        match (self.unit, self.limit, self.warn) {
            (Unit::Hour, ..) => Err("a quota is for a day, week or month, not an hour".into()),
            (_, 0, _) => {
                Err("a quota of 0 bytes is not supported: block the device in the firewall".into())
            }
            (.., 0) => Err("a quota cannot warn at 0 %: use 1 to 100".into()),
            _ => Ok(()),
        }
    }

    /// Returns the level for this usage.
    pub fn level(&self, used: u64) -> Level {
        if used >= self.limit {
            Level::Exceeded
        } else if u128::from(used) * 100 >= u128::from(self.limit) * u128::from(self.warn) {
            Level::Warned
        } else {
            Level::Within
        }
    }
}

/// Usage level of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Usage is below the warning level.
    #[default]
    Within,
    /// Little is left.
    Warned,
    /// All is used.
    Exceeded,
}

/// Quotas by hardware address, otherwise the default for all. Not by name: devices choose their
/// names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Quotas by hardware address. `None`: the device has no quota, despite the default.
    pub devices: BTreeMap<Mac, Option<Quota>>,
    /// For all others.
    pub default: Option<Quota>,
}

impl Rules {
    /// Returns the quota of a device.
    pub fn quota(&self, mac: Mac) -> Option<Quota> {
        self.devices.get(&mac).copied().unwrap_or(self.default)
    }

    /// Returns true if no device has a quota.
    pub fn is_empty(&self) -> bool {
        self.default.is_none() && self.devices.values().all(Option::is_none)
    }
}

/// Usage of a device, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Quota of the device.
    pub quota: Quota,
    /// Bytes used.
    pub used: u64,
    /// Usage level.
    pub level: Level,
    /// Start of the next period, in seconds since 1970.
    pub resets: i64,
}

impl State {
    /// Returns true if the device is blocked from the network.
    pub fn cut(&self) -> bool {
        self.level == Level::Exceeded && self.quota.action == Action::Cut
    }

    /// Returns the level's name: `within`, `warned`, `exceeded`, `cut`.
    pub fn as_str(&self) -> &'static str {
        match self.level {
            _ if self.cut() => "cut",
            Level::Within => "within",
            Level::Warned => "warned",
            Level::Exceeded => "exceeded",
        }
    }
}

/// Change of a device's level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Hardware address of the device.
    pub mac: Mac,
    /// Level before the change.
    pub from: Level,
    /// True if the device was blocked.
    pub was_cut: bool,
    /// State after the change; `None`: the device has no quota any more.
    pub to: Option<State>,
}

/// All devices that have a quota and used something.
#[derive(Clone, Debug, Default)]
pub struct Quotas {
    rules: Rules,
    states: BTreeMap<Mac, State>,
}

impl Quotas {
    /// Creates the state before the first judgement.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            states: BTreeMap::new(),
        }
    }

    /// Returns the rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Sets the rules; they count from the next [`Quotas::judge`] on.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Compares usage with quotas and returns the changes. Uplinks of the router are not devices:
    /// omit them from the history's input, or exempt them in the rules.
    pub fn judge(&mut self, usage: &Usage) -> Vec<Change> {
        let mut states = BTreeMap::new();
        for mac in usage.devices() {
            let Some(quota) = self.rules.quota(mac) else {
                continue;
            };
            let Some(span) = usage.span(quota.unit) else {
                continue;
            };
            let used = usage.used(mac, quota.unit);
            let state = State {
                quota,
                used,
                level: quota.level(used),
                resets: span.end,
            };
            states.insert(mac, state);
        }
        let before = std::mem::replace(&mut self.states, states);
        let macs: BTreeSet<Mac> = before.keys().chain(self.states.keys()).copied().collect();
        let stand = |state: Option<&State>| {
            (
                state.map_or(Level::Within, |state| state.level),
                state.is_some_and(State::cut),
            )
        };
        macs.into_iter()
            .filter_map(|mac| {
                let (old, new) = (before.get(&mac), self.states.get(&mac));
                let (from, was_cut) = stand(old);
                (stand(old) != stand(new)).then(|| Change {
                    mac,
                    from,
                    was_cut,
                    to: new.copied(),
                })
            })
            .collect()
    }

    /// Returns the state of a device; `None` without a quota, or without usage.
    pub fn state(&self, mac: Mac) -> Option<&State> {
        self.states.get(&mac)
    }

    /// Returns the devices to block.
    pub fn cut(&self) -> BTreeSet<Mac> {
        self.states
            .iter()
            .filter(|(_, state)| state.cut())
            .map(|(mac, _)| *mac)
            .collect()
    }
}
