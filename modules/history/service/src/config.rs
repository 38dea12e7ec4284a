//! `[history]` and `[quotas.NAME]`.

use std::path::PathBuf;
use std::time::Duration;

use runtime::config::{ByteSize, Naming, Section, table, words};

/// Sections of this module in the configuration file.
pub const SECTIONS: [Section; 2] = [
    Section::of::<History>("history"),
    Section::named::<QuotaSettings>("quotas", NAMING),
];

/// A hardware address, the name that a device has in the configuration, or [`QuotaSettings::ALL`].
const NAMING: Naming = Naming {
    fits: |name| (1..=63).contains(&name.len()) && !name.chars().any(char::is_control),
    what: "the name of a device",
    hint: "write a hardware address, the name of a device, or \"default\"",
    any_case: true,
};

table! {
    /// `[history]`: traffic by the hour, day and month.
    History {
        /// Record the usage of devices by hour, day and month.
        Restart enabled: bool = true;
        /// File of the history. "auto" is /var/lib/weir/history.db in the first network namespace,
        /// and nothing in any other.
        Restart file: Option<PathBuf> = None;
        /// Shortest time between two writes, because flash wears out. A power failure loses the
        /// data since the last write.
        Live flush: Duration = Duration::from_secs(600),
            Duration::from_secs(1) => Duration::from_secs(86_400);
        /// Largest size of the file; the oldest hours are removed first.
        Live limit: ByteSize = ByteSize(16 << 20);
        /// Day on which a month begins, as your provider counts.
        Live month_begins: u8 = 1, 1 => 28;
    }
}

table! {
    /// `[quotas.NAME]`: how much a device may use.
    QuotaSettings {
        /// Traffic that the device may use, both directions together; 0: unlimited. NAME is a
        /// hardware address, the name of a device in `[devices]`, or "default" for all others.
        Live limit: ByteSize = ByteSize(0);
        /// Period of the quota.
        Live per: QuotaPeriod = QuotaPeriod::Month;
        /// Percentage of the quota from which a warning is shown.
        Live warn: u8 = 80, 1 => 100;
        /// Action when the quota is used up: "warn" reports it, "cut" keeps the device from the
        /// network until the next period.
        Live action: QuotaAction = QuotaAction::Warn;
    }
}

impl QuotaSettings {
    /// Name of the quota for all devices without a quota of their own.
    pub const ALL: &str = "default";
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

/// Action once a quota is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotaAction {
    /// Only reports the device.
    #[default]
    Warn,
    /// The device is kept from the network until the next period begins.
    Cut,
}

words!(QuotaPeriod, "\"day\", \"week\" or \"month\"",
    "day" => Self::Day, "week" => Self::Week, "month" => Self::Month);
words!(QuotaAction, "\"warn\" or \"cut\"", "warn" => Self::Warn, "cut" => Self::Cut);
