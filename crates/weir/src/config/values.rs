//! Values of the file: from TOML to a type and back, with what is allowed in words.

mod multipath;

use std::path::PathBuf;
use std::time::Duration;

use monitor::digits::{self, decimal};
use monitor::probes::{PROBES, Probe, find};
use serde_json::Value;
use toml::de::DeValue;

use super::settings::{
    Collector, DeviceName, EachPacket, Fallback, FlowRoom, HookChoice, LogLevel, Mark, MeterRoom,
    MetricsFor, Octets, PortHook, QuotaAction, QuotaPeriod, WebTls,
};
use super::suggest::nearest;

/// What is wrong with a value, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) what: String,
    pub(super) mend: String,
}

/// A type that a key can have.
pub(super) trait FileValue: Sized {
    /// What is allowed, after "write".
    const ALLOWED: &'static str;

    /// Reads it. `Err(None)`: of a wrong type, or not understood at all.
    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>>;

    /// As it would be in the file; `null` where it would not be there.
    fn show(&self) -> Value;

    /// Reads it, or says what is wrong.
    fn from_file(value: &DeValue<'_>) -> Result<Self, Wrong> {
        Self::read(value).map_err(|wrong| {
            wrong.unwrap_or_else(|| Wrong {
                what: format!("cannot be {}", named(value)),
                mend: format!("write {}", Self::ALLOWED),
            })
        })
    }
}

/// A value in words, short enough for a message.
fn named(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{:?}", text.chars().take(60).collect::<String>()),
        DeValue::Integer(number) => format!(
            "the number {}",
            number.as_str().chars().take(30).collect::<String>()
        ),
        DeValue::Float(number) => format!(
            "the number {}",
            number.as_str().chars().take(30).collect::<String>()
        ),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn integer(value: &DeValue<'_>) -> Option<i128> {
    let number = value.as_integer()?;
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

impl FileValue for bool {
    const ALLOWED: &'static str = "true or false, without quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        value.as_bool().ok_or(None)
    }

    fn show(&self) -> Value {
        Value::Bool(*self)
    }
}

/// Shortest and longest `reprove`, milliseconds. Below a second every packet of a slow flow would go to the kernel; above ten
/// minutes it would be no safeguard.
const REPROVE: std::ops::RangeInclusive<u64> = 1_000..=600_000;

impl FileValue for Duration {
    const ALLOWED: &'static str =
        "a time from \"1s\" to \"10m\": a whole number and ms, s or m, in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        let text = value.as_str().ok_or(None)?;
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| None)?;
        let unit = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            _ => return Err(None),
        };
        let milliseconds = number
            .checked_mul(unit)
            .filter(|time| REPROVE.contains(time))
            .ok_or(None)?;
        Ok(Self::from_millis(milliseconds))
    }

    fn show(&self) -> Value {
        let milliseconds = self.as_millis();
        if milliseconds.is_multiple_of(1_000) {
            format!("{}s", milliseconds / 1_000)
        } else {
            format!("{milliseconds}ms")
        }
        .into()
    }
}

impl FileValue for FlowRoom {
    const ALLOWED: &'static str =
        "\"auto\", or a number of connections from 1024 to 4194304, without quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        if value.as_str() == Some("auto") {
            return Ok(Self::Auto);
        }
        let number = integer(value)
            .and_then(|number| u32::try_from(number).ok())
            .ok_or(None)?;
        if !(Self::FEWEST..=Self::MOST).contains(&number) {
            return Err(None);
        }
        Ok(Self::Connections(number))
    }

    fn show(&self) -> Value {
        match self {
            Self::Auto => "auto".into(),
            Self::Connections(number) => (*number).into(),
        }
    }
}

impl FileValue for MeterRoom {
    const ALLOWED: &'static str =
        "\"auto\", \"cache\", or a number of conversations from 256 to 4194304, without quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        match value.as_str() {
            Some("auto") => return Ok(Self::Auto),
            Some("cache") => return Ok(Self::Cache),
            _ => {}
        }
        let number = integer(value)
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| (Self::FEWEST..=Self::MOST).contains(number));
        number.map(Self::Records).ok_or(None)
    }

    fn show(&self) -> Value {
        match self {
            Self::Auto => "auto".into(),
            Self::Cache => "cache".into(),
            Self::Records(number) => (*number).into(),
        }
    }
}

impl FileValue for Option<Collector> {
    const ALLOWED: &'static str =
        "\"none\", or HOST:PORT in quotes, such as \"192.0.2.1:4739\" or \"[2001:db8::1]:4739\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        let text = value.as_str().ok_or(None)?;
        if text == "none" {
            return Ok(None);
        }
        let (host, port) = text.rsplit_once(':').ok_or(None)?;
        let port: u16 = decimal(port).ok_or(None)?;
        let literal = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let fits = match literal {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                (1..=253).contains(&host.len())
                    && host
                        .bytes()
                        .all(|octet| octet.is_ascii_alphanumeric() || b"-._".contains(&octet))
            }
        };
        if port == 0 || !fits {
            return Err(None);
        }
        Ok(Some(Collector(text.to_owned())))
    }

    fn show(&self) -> Value {
        self.as_ref()
            .map_or_else(|| "none".into(), |collector| collector.0.as_str().into())
    }
}

impl FileValue for Option<Mark> {
    const ALLOWED: &'static str =
        "\"none\", or VALUE/MASK in hexadecimal and quotes, such as \"0x10/0xf0\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        let text = value.as_str().ok_or(None)?;
        if text == "none" {
            return Ok(None);
        }
        let (value, mask) = text.split_once('/').ok_or(None)?;
        let (value, mask) = (
            hexadecimal(value).ok_or(None)?,
            hexadecimal(mask).ok_or(None)?,
        );
        let wrong = |what: &str, mend: &str| {
            Err(Some(Wrong {
                what: what.to_owned(),
                mend: mend.to_owned(),
            }))
        };
        if mask == 0 {
            return wrong(
                "the mask is 0, so that every connection would be left out",
                "set the bits that are to be looked at",
            );
        }
        if value & !mask != 0 {
            return wrong(
                "the value has bits outside of the mask, so that no mark fits",
                "widen the mask, or drop the bits",
            );
        }
        Ok(Some(Mark { value, mask }))
    }

    fn show(&self) -> Value {
        self.map_or_else(|| "none".into(), |mark| mark.to_string().into())
    }
}

fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    u32::try_from(digits::hexadecimal(digits)?).ok()
}

impl FileValue for Option<PathBuf> {
    const ALLOWED: &'static str = "\"auto\", or an absolute path of at most 107 octets, in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        let text = value.as_str().ok_or(None)?;
        if text == "auto" {
            return Ok(None);
        }
        // unix(7): sun_path, without the 0 at its end.
        if !text.starts_with('/') || text.ends_with('/') || text.len() > 107 || text.contains('\0')
        {
            return Err(None);
        }
        Ok(Some(PathBuf::from(text)))
    }

    fn show(&self) -> Value {
        self.as_ref()
            .map_or_else(|| "auto".into(), |path| path.to_string_lossy().into())
    }
}

/// Most entries of a list.
const LIST: usize = 64;

/// A list of texts, each read by `one`.
fn list<T: PartialEq>(
    value: &DeValue<'_>,
    allowed: &str,
    one: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Option<Wrong>> {
    let mut read = Vec::new();
    let entries = value.as_array().ok_or(None)?;
    if entries.len() > LIST {
        return Err(Some(Wrong {
            what: format!("has {} entries", entries.len()),
            mend: format!("write {LIST} of them at most"),
        }));
    }
    for entry in entries {
        let entry = entry.get_ref();
        let wrong = || Wrong {
            what: format!("cannot have {} in it", named(entry)),
            mend: format!("write {allowed}"),
        };
        let found = entry.as_str().and_then(&one).ok_or_else(|| Some(wrong()))?;
        if !read.contains(&found) {
            read.push(found);
        }
    }
    Ok(read)
}

impl FileValue for Vec<kernel::SetName> {
    const ALLOWED: &'static str =
        "a list of sets, each as FAMILY TABLE NAME in quotes, such as [\"inet fw4 banned4\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        list(value, Self::ALLOWED, |text| text.parse().ok())
    }

    fn show(&self) -> Value {
        self.iter().map(ToString::to_string).collect()
    }
}

impl FileValue for Vec<DeviceName> {
    const ALLOWED: &'static str = "a list of devices, each in quotes, such as [\"wan0\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        list(value, Self::ALLOWED, |text| {
            DeviceName::fits(text).then(|| DeviceName(text.to_owned()))
        })
    }

    fn show(&self) -> Value {
        self.iter().map(|device| device.0.clone()).collect()
    }
}

impl FileValue for Vec<&'static Probe> {
    const ALLOWED: &'static str = "a list of probes, each in quotes, such as [\"drops\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        let named = |wrong: Wrong| {
            let names: Vec<_> = PROBES.iter().map(|probe| probe.name).collect();
            Wrong {
                mend: format!("{}; there are {}", wrong.mend, names.join(", ")),
                ..wrong
            }
        };
        list(value, Self::ALLOWED, |text| find(text).ok()).map_err(|wrong| wrong.map(named))
    }

    fn show(&self) -> Value {
        self.iter().map(|probe| probe.name).collect()
    }
}

impl FileValue for Vec<PathBuf> {
    const ALLOWED: &'static str =
        "a list of absolute paths, each in quotes, such as [\"/tmp/dhcp.leases\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        list(value, Self::ALLOWED, absolute)
    }

    fn show(&self) -> Value {
        self.iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }
}

/// An absolute path.
fn absolute(text: &str) -> Option<PathBuf> {
    let fits = text.starts_with('/') && text.len() < 4096 && !text.contains('\0');
    fits.then(|| PathBuf::from(text))
}

impl FileValue for PathBuf {
    const ALLOWED: &'static str = "an absolute path, in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        value.as_str().and_then(absolute).ok_or(None)
    }

    fn show(&self) -> Value {
        self.to_string_lossy().into()
    }
}

/// Days on which a month can begin, parts of a hundred, and weights: nothing else is so small a number.
impl FileValue for u8 {
    const ALLOWED: &'static str = "a number from 1 to 100 (a day: to 28), without quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        integer(value)
            .and_then(|number| Self::try_from(number).ok())
            .filter(|number| (1..=100).contains(number))
            .ok_or(None)
    }

    fn show(&self) -> Value {
        (*self).into()
    }
}

/// Units of octets, the largest first.
const UNITS: [(&str, u64); 8] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
];

impl FileValue for Octets {
    const ALLOWED: &'static str =
        "a number of octets, or one with a unit in quotes, such as \"50GB\" or \"16MiB\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        if let Some(number) = integer(value) {
            return u64::try_from(number).map(Self).map_err(|_| None);
        }
        let text = value.as_str().ok_or(None)?;
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| None)?;
        let unit = unit.trim_start();
        let each = match unit {
            "" | "B" => 1,
            _ => UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .map(|(_, each)| *each)
                .ok_or(None)?,
        };
        number.checked_mul(each).map(Self).ok_or(None)
    }

    fn show(&self) -> Value {
        let whole = |(_, each): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*each);
        match UNITS.iter().find(whole) {
            Some((unit, each)) => format!("{}{unit}", self.0 / each).into(),
            None => self.0.into(),
        }
    }
}

impl FileValue for Vec<std::net::SocketAddr> {
    const ALLOWED: &'static str = "a list of addresses with ports, each in quotes, such as [\"192.168.1.1:443\", \"[::1]:9347\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        list(value, Self::ALLOWED, |text| text.parse().ok())
    }

    fn show(&self) -> Value {
        self.iter().map(ToString::to_string).collect()
    }
}

impl FileValue for Vec<String> {
    const ALLOWED: &'static str =
        "a list of host names or addresses, each in quotes, such as [\"router.lan\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        list(value, Self::ALLOWED, |text| {
            let fits = (1..=253).contains(&text.len())
                && text
                    .bytes()
                    .all(|octet| octet.is_ascii_alphanumeric() || b"-.:[]".contains(&octet));
            fits.then(|| text.to_owned())
        })
    }

    fn show(&self) -> Value {
        self.iter().map(String::as_str).collect()
    }
}

impl FileValue for MetricsFor {
    const ALLOWED: &'static str =
        "\"off\", \"loopback\", or the file of a token, an absolute path in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        match value.as_str().ok_or(None)? {
            "off" => Ok(Self::Off),
            "loopback" => Ok(Self::Loopback),
            text => absolute(text).map(Self::Token).ok_or(None),
        }
    }

    fn show(&self) -> Value {
        match self {
            Self::Off => "off".into(),
            Self::Loopback => "loopback".into(),
            Self::Token(path) => path.to_string_lossy().into(),
        }
    }
}

/// A type whose values are words.
macro_rules! words {
    ($type:ty, $allowed:literal, $($word:literal => $value:expr),+) => {
        impl FileValue for $type {
            const ALLOWED: &'static str = $allowed;

            fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
                let text = value.as_str().ok_or(None)?;
                match text {
                    $($word => Ok($value),)+
                    _ => Err(nearest(text, [$($word),+]).map(|word| Wrong {
                        what: format!("cannot be {}", named(value)),
                        mend: format!("did you mean \"{word}\"? Write {}", Self::ALLOWED),
                    })),
                }
            }

            fn show(&self) -> Value {
                $(if *self == $value {
                    return $word.into();
                })+
                Value::Null
            }
        }
    };
}

words!(EachPacket, "\"respect\" or \"ignore\"", "respect" => Self::Respect, "ignore" => Self::Ignore);
words!(HookChoice, "\"auto\", \"xdp\" or \"tc\"", "auto" => Self::Auto, "xdp" => Self::Xdp, "tc" => Self::Tc);
words!(PortHook, "\"auto\", \"xdp\", \"tc\" or \"off\"",
    "auto" => Self::Auto, "xdp" => Self::Xdp, "tc" => Self::Tc, "off" => Self::Off);
words!(LogLevel, "\"error\", \"warn\", \"info\", \"debug\" or \"trace\"",
    "error" => Self::Error, "warn" => Self::Warn, "info" => Self::Info, "debug" => Self::Debug, "trace" => Self::Trace);
words!(QuotaPeriod, "\"day\", \"week\" or \"month\"", "day" => Self::Day, "week" => Self::Week, "month" => Self::Month);
words!(QuotaAction, "\"warn\" or \"cut\"", "warn" => Self::Warn, "cut" => Self::Cut);
words!(WebTls, "\"off\", \"own\" or \"files\"", "off" => Self::Off, "own" => Self::Own, "files" => Self::Files);
words!(::multipath::Encrypt, "\"auto\", \"all\" or \"none\"", "auto" => Self::Auto, "all" => Self::All, "none" => Self::None);
words!(::multipath::hints::Use, "\"always\", \"metered\", \"backup\" or \"never\"",
    "always" => Self::Always, "metered" => Self::Metered, "backup" => Self::Backup, "never" => Self::Never);
words!(Fallback, "\"direct\" or \"stop\"", "direct" => Self::Direct, "stop" => Self::Stop);
