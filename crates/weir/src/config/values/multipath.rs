//! Values of `[multipath]`.

use kernel::Prefix;
use multipath::Pairing;
use serde_json::Value;
use toml::de::DeValue;

use super::{FileValue, Wrong, list};

impl FileValue for Option<Pairing> {
    const ALLOWED: &'static str = "\"none\", or the line that `weir multipath pair ADDRESS` printed at the partner, in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        let wrong = |what: String| Wrong {
            what,
            mend: "copy the whole line that `weir multipath pair ADDRESS` printed at the partner"
                .to_owned(),
        };
        match value.as_str() {
            Some("none") => Ok(None),
            // The line is a secret: what is wrong with it is told without it.
            Some(line) => match line.parse() {
                Ok(pairing) => Ok(Some(pairing)),
                Err(error) => Err(Some(wrong(format!("is no such line: {error}")))),
            },
            None => Err(Some(wrong("has to be text in quotes".to_owned()))),
        }
    }

    /// Without the secret: `weir config` and the API show it to whoever may ask.
    fn show(&self) -> Value {
        match self {
            Some(pairing) => pairing.redacted().into(),
            None => "none".into(),
        }
    }
}

impl FileValue for Vec<Prefix> {
    const ALLOWED: &'static str =
        "a list of networks, each in quotes, such as [\"198.51.100.0/24\", \"2001:db8::/32\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        list(value, Self::ALLOWED, |text| text.parse().ok())
    }

    fn show(&self) -> Value {
        self.iter().map(ToString::to_string).collect()
    }
}
