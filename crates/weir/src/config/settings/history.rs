//! Settings of the history, and of quotas.

use std::path::PathBuf;
use std::time::Duration;

use super::Setting;

/// `[history]`: traffic by the hour, day and month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Keep one at all.
    pub enabled: Setting<bool>,
    /// The file; `None`: a place of its own in the first network namespace, and none in any other.
    pub file: Setting<Option<PathBuf>>,
    /// How often is written at most.
    pub flush: Setting<Duration>,
    /// How large the file may grow.
    pub limit: Setting<Octets>,
    /// Day of the month on which a month begins, 1 to 28.
    pub month_begins: Setting<u8>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            enabled: Setting::default_value(true),
            file: Setting::default(),
            flush: Setting::default_value(Duration::from_secs(600)),
            limit: Setting::default_value(Octets(16 << 20)),
            month_begins: Setting::default_value(1),
        }
    }
}

/// A number of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Octets(pub u64);

/// `[quotas.NAME]`: how much a device may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaSettings {
    /// How much, both ways together; 0: as much as it likes.
    pub limit: Setting<Octets>,
    /// In which time.
    pub per: Setting<QuotaPeriod>,
    /// From how many hundredths on is warned.
    pub warn: Setting<u8>,
    /// What happens when all is used.
    pub action: Setting<QuotaAction>,
}

impl QuotaSettings {
    /// The name that stands for all devices without a quota of their own.
    pub const ALL: &str = "default";
}

impl Default for QuotaSettings {
    fn default() -> Self {
        Self {
            limit: Setting::default(),
            per: Setting::default(),
            warn: Setting::default_value(80),
            action: Setting::default(),
        }
    }
}

/// The time in which a quota may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotaPeriod {
    /// From midnight to midnight.
    Day,
    /// From Monday to Sunday.
    Week,
    /// From `history.month_begins` on.
    #[default]
    Month,
}

/// What happens when a quota is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotaAction {
    /// It is told.
    #[default]
    Warn,
    /// The device is kept from the network until the next period begins.
    Cut,
}
