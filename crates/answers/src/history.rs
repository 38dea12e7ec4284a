//! Traffic history: hours, days and months of each device.

use std::fmt;

use api::Problem;
use api::query::{self, Pairs, Query, number, unknown, wrong};
use serde::{Deserialize, Serialize};

use crate::monitor::{Count, mac};

const PARAMETERS: &str = "the parameters are unit, from, to, device and by";

/// Answer to `GET /v1/history`. Query: `unit` (`hour`, `day`, `month`), `from`, `to` (seconds since
/// 1970), `device` (MAC), `by` (`device`, `application`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// `hour`, `day` or `month`.
    pub unit: String,
    /// Division of each period: `device` or `application`.
    pub by: String,
    /// Time zone in which days begin, in minutes east of UTC now.
    pub offset_minutes: i32,
    /// The periods, in order of time; periods without traffic are left out.
    pub periods: Vec<Period>,
}

/// Traffic that crossed no uplink. One device sends a copy between two devices and the other
/// receives it: do not add sent and received up over all devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanCount {
    /// To stations.
    pub received: Count,
    /// From stations.
    pub sent: Count,
}

/// An hour, day or month.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Start of the period, seconds since 1970.
    pub start: u64,
    /// Start of the next period.
    pub end: u64,
    /// Internet traffic to stations: traffic that crossed an uplink.
    pub received: Count,
    /// Internet traffic from stations.
    pub sent: Count,
    /// Other traffic.
    #[serde(default)]
    pub lan: LanCount,
    /// The parts, the largest Internet traffic first.
    pub parts: Vec<Part>,
}

/// Share of one device or application in a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Hardware address, or the word for the application.
    pub key: String,
    /// Current name of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Internet traffic to stations.
    pub received: Count,
    /// Internet traffic from stations.
    pub sent: Count,
    /// Other traffic.
    #[serde(default)]
    pub lan: LanCount,
}

/// Query of `GET /v1/history`. Selects each period that ends after `from` and begins before `to`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Length of the periods.
    pub unit: HistoryUnit,
    /// Seconds since 1970; `None`: from the oldest record.
    pub from: Option<u64>,
    /// Seconds since 1970; `None`: until now.
    pub to: Option<u64>,
    /// Selects only this station; written as by [`normal_mac`].
    pub device: Option<String>,
    /// Division of each period.
    pub by: HistoryBy,
}

/// Length of a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryUnit {
    /// Hours.
    Hour,
    /// Days of the router's time zone.
    #[default]
    Day,
    /// Months of the router's time zone.
    Month,
}

impl fmt::Display for HistoryUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        })
    }
}

/// Division of the periods of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryBy {
    /// By station.
    #[default]
    Device,
    /// By application.
    Application,
}

impl fmt::Display for HistoryBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Application => "application",
        })
    }
}

impl Query for HistoryQuery {
    /// A parameter given twice counts the last time.
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        let mut query = Self::default();
        for (name, value) in pairs {
            let seconds = || {
                let number = number(value).filter(|seconds| *seconds <= LATEST);
                number.ok_or_else(|| wrong(name, value, "seconds since 1970, a whole number"))
            };
            match name.as_str() {
                "unit" => {
                    query.unit = match value.as_str() {
                        "hour" => HistoryUnit::Hour,
                        "day" => HistoryUnit::Day,
                        "month" => HistoryUnit::Month,
                        _ => return Err(wrong(name, value, "hour, day, month")),
                    }
                }
                "from" => query.from = Some(seconds()?),
                "to" => query.to = Some(seconds()?),
                "device" => query.device = Some(mac(name, value)?),
                "by" => {
                    query.by = match value.as_str() {
                        "device" => HistoryBy::Device,
                        "application" => HistoryBy::Application,
                        _ => return Err(wrong(name, value, "device, application")),
                    }
                }
                other => return Err(unknown("/v1/history", other, PARAMETERS)),
            }
        }
        if let (Some(from), Some(to)) = (query.from, query.to)
            && from >= to
        {
            let detail = format!("`from` ({from}) is not before `to` ({to})");
            let hint = "swap them; both are seconds since 1970";
            return Err(Problem::new(400, "wrong_parameter", detail, hint));
        }
        Ok(query)
    }

    /// Omits parameters that have their default.
    fn to_query(&self) -> String {
        let unit = (self.unit != HistoryUnit::default()).then(|| self.unit.to_string());
        let by = (self.by != HistoryBy::default()).then(|| self.by.to_string());
        query::encode([
            ("unit", unit),
            ("from", self.from.map(|seconds| seconds.to_string())),
            ("to", self.to.map(|seconds| seconds.to_string())),
            ("device", self.device.clone()),
            ("by", by),
        ])
    }
}

/// End of the year 9999: no caller needs later times, and no sum overflows.
const LATEST: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<HistoryQuery, Problem> {
        HistoryQuery::from_pairs(&query::decode(text).expect("well formed"))
    }

    #[test]
    fn says_what_can_be_given() {
        for (text, detail, hint) in [
            (
                "unit=week",
                "invalid value `week` of `unit`",
                "give hour, day, month",
            ),
            (
                "by=port",
                "invalid value `port` of `by`",
                "give device, application",
            ),
            (
                "from=yesterday",
                "invalid value `yesterday` of `from`",
                "give seconds since 1970, a whole number",
            ),
            (
                "to=18446744073709551615",
                "invalid value `18446744073709551615` of `to`",
                "give seconds since 1970, a whole number",
            ),
            (
                "from=7&to=7",
                "`from` (7) is not before `to` (7)",
                "swap them; both are seconds since 1970",
            ),
            (
                "limit=1",
                "`limit` is not a parameter of /v1/history",
                PARAMETERS,
            ),
        ] {
            let problem = read(text).expect_err("to be refused");
            let told = (
                problem.status,
                problem.detail.as_str(),
                problem.hint.as_str(),
            );
            assert_eq!(told, (400, detail, hint));
        }
    }

    proptest! {
        #[test]
        fn queries_survive_being_written(
            mac: [u8; 6], from in 0..LATEST - 1, apart in 1u64..1000
        ) {
            let asked = HistoryQuery {
                unit: HistoryUnit::Month,
                from: Some(from),
                to: Some((from + apart).min(LATEST)),
                device: Some(net::mac::text(&mac)),
                by: HistoryBy::Application,
            };
            prop_assert_eq!(read(&asked.to_query()), Ok(asked));
        }

        #[test]
        fn never_panics(name in "(unit|from|to|by|device|\\PC*)", value in "\\PC*") {
            let _ = HistoryQuery::from_pairs(&[(name, value)]);
        }
    }
}
