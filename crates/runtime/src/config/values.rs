//! Values of the file: from TOML to a type and back, with the allowed values in words.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;
use toml::de::DeValue;

use super::error::{SECRET, has_secret};
use super::naming::Naming;
use super::suggest::nearest;

/// A value that was refused, and the values that are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// Description of the error.
    pub what: String,
    /// Values that are allowed.
    pub hint: String,
}

impl ValueError {
    /// Error for an unknown key.
    pub(super) fn no_key() -> Self {
        Self {
            what: "unknown key".to_owned(),
            hint: "`weir config --keys` lists all".to_owned(),
        }
    }
}

/// A type that a key can have.
pub trait FileValue: Sized {
    /// Values that are allowed, after "write".
    const ALLOWED: &'static str;

    /// Reads a value. `Err(None)`: a wrong type, or not understood at all.
    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>>;

    /// Returns the value as written in the file; `null` if it would be absent.
    fn show(&self) -> Value;
}

/// The written form of a value. A row of [`table!`](super::table) names a form if its type belongs
/// to another crate: `key: Type as FORM`.
pub struct Form<T: 'static> {
    /// Allowed text, after "write".
    pub allowed: &'static str,
    /// Parses a value; the second argument is `allowed`. `Err(None)`: wrong type or not understood.
    pub read: fn(&DeValue<'_>, &str) -> Result<T, Option<ValueError>>,
    /// Converts the value to the form in the file; `null` if it would be absent.
    pub show: fn(&T) -> Value,
}

impl<T: FileValue> Form<T> {
    /// The form that the type itself has.
    pub const OWN: Self = Self {
        allowed: T::ALLOWED,
        read: |value, _| T::read(value),
        show: T::show,
    };
}

impl<T: FromStr + ToString + PartialEq> Form<Vec<T>> {
    /// A list of texts, each read and shown by its type.
    pub const fn list(allowed: &'static str) -> Self {
        Self {
            allowed,
            read: |value, allowed| list(value, allowed, |text| text.parse().ok()),
            show: |all| all.iter().map(ToString::to_string).collect(),
        }
    }
}

impl<T> Form<T> {
    /// Reads a value, or describes the error.
    ///
    /// # Errors
    /// The value is not allowed.
    pub fn from_file(&self, value: &DeValue<'_>) -> Result<T, ValueError> {
        (self.read)(value, self.allowed).map_err(|wrong| {
            wrong.unwrap_or_else(|| ValueError {
                what: format!("cannot be {}", named(value)),
                hint: format!("write {}", self.allowed),
            })
        })
    }
}

/// A type whose keys can limit the range of their values: the key declares the bounds.
pub trait Bounded: FileValue + PartialOrd {
    /// Values that are allowed, after "write".
    fn allowed(bounds: &RangeInclusive<Self>) -> String;

    /// Reads a value, or describes the error.
    fn from_file_within(
        value: &DeValue<'_>,
        bounds: &RangeInclusive<Self>,
    ) -> Result<Self, ValueError> {
        let read = Self::read(value).and_then(|read| match bounds.contains(&read) {
            true => Ok(read),
            false => Err(None),
        });
        read.map_err(|wrong| {
            wrong.unwrap_or_else(|| ValueError {
                what: format!("cannot be {}", named(value)),
                hint: format!("write {}", Self::allowed(bounds)),
            })
        })
    }
}

/// A value in words, short enough for a message.
pub fn named(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if has_secret(text) => SECRET.to_owned(),
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

/// A whole number, however it is written.
pub fn integer(value: &DeValue<'_>) -> Option<i128> {
    let number = value.as_integer()?;
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

impl FileValue for bool {
    const ALLOWED: &'static str = "true or false, without quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        value.as_bool().ok_or(None)
    }

    fn show(&self) -> Value {
        Value::Bool(*self)
    }
}

/// Units of time, the longest first, milliseconds.
const TIMES: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl FileValue for Duration {
    const ALLOWED: &'static str = "a time: a whole number and ms, s, m or h, in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        let text = value.as_str().ok_or(None)?;
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| None)?;
        let found = TIMES.iter().find(|(name, _)| *name == unit);
        let (_, each) = found.ok_or(None)?;
        let milliseconds = number.checked_mul(*each).ok_or(None)?;
        Ok(Self::from_millis(milliseconds))
    }

    fn show(&self) -> Value {
        let milliseconds = self.as_millis();
        match milliseconds.is_multiple_of(1_000) {
            true => format!("{}s", milliseconds / 1_000).into(),
            false => format!("{milliseconds}ms").into(),
        }
    }
}

impl Bounded for Duration {
    fn allowed(bounds: &RangeInclusive<Self>) -> String {
        let show = |time: &Self| {
            let milliseconds = time.as_millis() as u64;
            let whole = |(_, each): &&(&str, u64)| milliseconds.is_multiple_of(*each);
            match TIMES.iter().find(whole) {
                Some((unit, each)) => format!("\"{}{unit}\"", milliseconds / each),
                None => format!("\"{milliseconds}ms\""),
            }
        };
        format!(
            "a time from {} to {}: a whole number and ms, s, m or h, in quotes",
            show(bounds.start()),
            show(bounds.end())
        )
    }
}

impl FileValue for Option<PathBuf> {
    const ALLOWED: &'static str = "\"auto\", or an absolute path of at most 107 bytes, in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
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
pub fn list<T: PartialEq>(
    value: &DeValue<'_>,
    allowed: &str,
    one: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Option<ValueError>> {
    let mut read = Vec::new();
    let entries = value.as_array().ok_or(None)?;
    if entries.len() > LIST {
        return Err(Some(ValueError {
            what: format!("has {} entries", entries.len()),
            hint: format!("write {LIST} of them at most"),
        }));
    }
    for entry in entries {
        let entry = entry.get_ref();
        let wrong = || ValueError {
            what: format!("cannot contain {}", named(entry)),
            hint: format!("write {allowed}"),
        };
        let found = entry.as_str().and_then(&one).ok_or_else(|| Some(wrong()))?;
        if !read.contains(&found) {
            read.push(found);
        }
    }
    Ok(read)
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSize(pub u64);

/// Units of bytes, the largest first.
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

impl ByteSize {
    /// A whole number, and a unit behind it if it has one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().ok()?;
        let each = match unit.trim_start() {
            "" | "B" => 1,
            unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
        };
        number.checked_mul(each).map(Self)
    }
}

impl FileValue for ByteSize {
    const ALLOWED: &'static str =
        "a number of bytes, or one with a unit in quotes, such as \"50GB\" or \"16MiB\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        if let Some(number) = integer(value) {
            return u64::try_from(number).map(Self).map_err(|_| None);
        }
        Self::parse(value.as_str().ok_or(None)?).ok_or(None)
    }

    fn show(&self) -> Value {
        let whole = |(_, each): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*each);
        match UNITS.iter().find(whole) {
            Some((unit, each)) => format!("{}{unit}", self.0 / each).into(),
            None => self.0.into(),
        }
    }
}

/// Bits a second; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

/// Units of rates, the largest first, bit/s.
const RATES: [(&str, u64); 3] = [
    ("Gbit", 1_000_000_000),
    ("Mbit", 1_000_000),
    ("kbit", 1_000),
];
/// Lowest and highest plausible rate, bit/s.
const MEANT: RangeInclusive<u64> = 64_000..=1_000_000_000_000;

impl Rate {
    /// `500kbit`, `40Mbit`, `1Gbit`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().ok()?;
        let unit = unit.trim_start();
        let each = RATES.iter().find(|(name, _)| *name == unit)?.1;
        let rate = number.checked_mul(each);
        rate.filter(|rate| MEANT.contains(rate)).map(Self)
    }
}

impl FileValue for Option<Rate> {
    const ALLOWED: &'static str = "\"none\", or a whole number of kbit, Mbit or Gbit a second in \
        quotes, such as \"40Mbit\"; at least \"64kbit\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        match value.as_str().ok_or(None)? {
            "none" => Ok(None),
            text => Rate::parse(text).map(Some).ok_or(None),
        }
    }

    fn show(&self) -> Value {
        let Some(Rate(rate)) = *self else {
            return "none".into();
        };
        let whole = RATES.iter().find(|(_, each)| rate.is_multiple_of(*each));
        let (unit, each) = whole.unwrap_or(&RATES[2]);
        format!("{}{unit}", rate / each).into()
    }
}

/// Name of a network device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceName(pub String);

impl DeviceName {
    /// Rule for sections that have a table for each device.
    pub const NAMING: Naming = Naming {
        fits: Self::fits,
        what: "the name of a network device",
        hint: "a device name has 1 to 15 bytes, without spaces and `/:%*\"\\`, and does not \
               begin with `-`; see `ip link`",
        any_case: false,
    };

    /// `dev_valid_name` (net/core/dev.c): shorter than IFNAMSIZ, neither `.` nor `..`, without `/`,
    /// `:` and white space; nor `%`, a pattern for the kernel. Programs must not take a name for an
    /// option (`-` at the beginning), nor nft(8) for a pattern or the end of the name.
    pub fn fits(name: &str) -> bool {
        (1..=15).contains(&name.len())
            && name != "."
            && name != ".."
            && !name.starts_with('-')
            && !name.chars().any(|letter| {
                r#"/:%*"\"#.contains(letter) || letter.is_whitespace() || letter.is_control()
            })
    }
}

impl FileValue for Vec<DeviceName> {
    const ALLOWED: &'static str = "a list of devices, each in quotes, such as [\"wan0\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        list(value, Self::ALLOWED, |text| {
            DeviceName::fits(text).then(|| DeviceName(text.to_owned()))
        })
    }

    fn show(&self) -> Value {
        self.iter().map(|device| device.0.clone()).collect()
    }
}

impl FileValue for Option<DeviceName> {
    const ALLOWED: &'static str = "the name of a device, in quotes, or \"\" for none";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        match value.as_str() {
            Some("") => Ok(None),
            Some(text) if DeviceName::fits(text) => Ok(Some(DeviceName(text.to_owned()))),
            _ => Err(None),
        }
    }

    fn show(&self) -> Value {
        self.as_ref().map_or("", |device| &device.0).into()
    }
}

impl FileValue for Vec<PathBuf> {
    const ALLOWED: &'static str =
        "a list of absolute paths, each in quotes, such as [\"/tmp/dhcp.leases\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        list(value, Self::ALLOWED, absolute)
    }

    fn show(&self) -> Value {
        self.iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }
}

/// An absolute path.
pub fn absolute(text: &str) -> Option<PathBuf> {
    let fits = text.starts_with('/') && text.len() < 4096 && !text.contains('\0');
    fits.then(|| PathBuf::from(text))
}

impl FileValue for PathBuf {
    const ALLOWED: &'static str = "an absolute path, in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        value.as_str().and_then(absolute).ok_or(None)
    }

    fn show(&self) -> Value {
        self.to_string_lossy().into()
    }
}

impl FileValue for u8 {
    const ALLOWED: &'static str = "a number from 0 to 255, without quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        let number = integer(value).and_then(|number| Self::try_from(number).ok());
        number.ok_or(None)
    }

    fn show(&self) -> Value {
        (*self).into()
    }
}

impl Bounded for u8 {
    fn allowed(bounds: &RangeInclusive<Self>) -> String {
        let (low, high) = (bounds.start(), bounds.end());
        format!("a number from {low} to {high}, without quotes")
    }
}

impl FileValue for Vec<std::net::SocketAddr> {
    const ALLOWED: &'static str = "a list of addresses with ports, each in quotes, such as \
        [\"192.168.1.1:443\", \"[::1]:9347\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        list(value, Self::ALLOWED, |text| text.parse().ok())
    }

    fn show(&self) -> Value {
        self.iter().map(ToString::to_string).collect()
    }
}

impl FileValue for Vec<String> {
    const ALLOWED: &'static str =
        "a list of host names or addresses, each in quotes, such as [\"router.lan\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
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

/// A type whose values are words; `const FORM: TYPE` defines a [`Form`] of a foreign type.
#[macro_export]
macro_rules! words {
    (const $form:ident: $type:ty, $allowed:literal, $($word:literal => $value:expr),+) => {
        const $form: $crate::config::Form<$type> = $crate::config::Form {
            allowed: $allowed,
            read: |value, allowed| match value.as_str().ok_or(None)? {
                $($word => Ok($value),)+
                text => Err($crate::config::near(value, text, &[$($word),+], allowed)),
            },
            show: |value| {
                $(if *value == $value {
                    return $word.into();
                })+
                serde_json::Value::Null
            },
        };
    };
    ($type:ty, $allowed:literal, $($word:literal => $value:expr),+) => {
        impl $crate::config::FileValue for $type {
            const ALLOWED: &'static str = $allowed;

            fn read(
                value: &toml::de::DeValue<'_>,
            ) -> Result<Self, Option<$crate::config::ValueError>> {
                match value.as_str().ok_or(None)? {
                    $($word => Ok($value),)+
                    text => Err($crate::config::near(value, text, &[$($word),+], Self::ALLOWED)),
                }
            }

            fn show(&self) -> serde_json::Value {
                $(if *self == $value {
                    return $word.into();
                })+
                serde_json::Value::Null
            }
        }
    };
}

pub use crate::words;

/// Error for a word that is not one of `words` but is similar to one of them.
pub fn near(value: &DeValue<'_>, text: &str, words: &[&str], allowed: &str) -> Option<ValueError> {
    let word = nearest(text, words.iter().copied())?;
    Some(ValueError {
        what: format!("cannot be {}", named(value)),
        hint: format!("did you mean \"{word}\"? Write {allowed}"),
    })
}
