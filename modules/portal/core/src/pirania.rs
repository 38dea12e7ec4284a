//! Vouchers of Pirania (LibreMesh): one file with a JSON object each. Their printed codes stay
//! valid, so that buyers can go on typing them.

use std::collections::BTreeMap;

use kernel::Mac;
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::Value;

use crate::Millis;
use crate::code::{Code, FormerCode, InvalidCode};
use crate::voucher::{User, Voucher};
use net::mac::parse_station as station_of;

/// Bytes of the longest file: theirs have some 300.
pub const LONGEST: usize = 8192;
/// Bytes of the longest name, which is one line.
const NAME: usize = 200;

/// Contents of a file. Times are seconds since 1970.
#[derive(Deserialize)]
struct File {
    id: String,
    name: String,
    code: String,
    /// Hardware address of the device that uses the voucher.
    mac: Option<String>,
    /// Duration in minutes; none: for ever; 0: revoked.
    duration_m: Option<f64>,
    creation_date: f64,
    activation_date: Option<f64>,
    activation_deadline: Option<f64>,
    /// Time of the revocation, in some versions.
    invalidation_date: Option<f64>,
    /// Fields of this voucher that weir does not have.
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// Fields without effect on a voucher: its author, and its number of changes.
const WITHOUT_EFFECT: [&str; 2] = ["author_node", "mod_counter"];
/// Longest part of a field's name that is shown.
const SHOWN: usize = 40;

/// A voucher of Pirania, as weir's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PiraniaImport {
    /// The voucher.
    pub voucher: Voucher,
    /// Properties that weir does not have, one sentence each.
    pub lost: Vec<String>,
}

/// Returns a sentence for each property that the voucher loses.
fn lost(more: &BTreeMap<String, Value>) -> Vec<String> {
    let says_nothing = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => matches!(text.as_str(), "" | "0" | "false"),
        Value::Bool(true) | Value::Array(_) | Value::Object(_) => false,
    };
    let kept = more
        .iter()
        .filter(|(name, value)| !WITHOUT_EFFECT.contains(&name.as_str()) && !says_nothing(value));
    kept.map(|(name, _)| match name.as_str() {
        "unrestricted" => "`unrestricted` is ignored: the voucher does not work during `closed` \
            hours; list its devices under `exempt`"
            .to_owned(),
        name => {
            let name: String = name
                .chars()
                .filter(|c| !c.is_control())
                .take(SHOWN)
                .collect();
            format!("`{name}` is ignored: weir has no such property")
        }
    })
    .collect()
}

/// Error in a file of Pirania.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PiraniaError {
    /// The content is not in Pirania's format.
    #[error("not a voucher of Pirania: {0}")]
    Json(String),
    /// The code is invalid.
    #[error("invalid code: {0}")]
    Code(#[from] InvalidCode),
    /// The hardware address of the device is invalid.
    #[error("invalid hardware address: write it as 02:00:5e:10:00:01")]
    Mac,
    /// Not a number, or a time out of range.
    #[error("invalid time: {0}")]
    Time(&'static str),
    /// Too long, or several lines.
    #[error("invalid name: longer than {NAME} bytes, or several lines")]
    Name,
}

/// Reads one. `wall`: the time of day; `code`: an additional code for the voucher.
///
/// # Errors
/// The text is not a voucher of Pirania.
pub fn read(text: &str, code: Code, wall: u64) -> Result<PiraniaImport, PiraniaError> {
    let json = |error: serde_json::Error| PiraniaError::Json(error.to_string());
    let file: File = serde_json::from_str(text).map_err(json)?;
    if file.name.len() > NAME || file.name.chars().any(char::is_control) {
        return Err(PiraniaError::Name);
    }
    let former: FormerCode = file.code.parse()?;
    let time = |what, number: f64| {
        let fits = number.is_finite() && (0.0..4_294_967_296.0).contains(&number);
        fits.then_some(number as u64)
            .ok_or(PiraniaError::Time(what))
    };
    let some = |what, number: Option<f64>| number.map(|number| time(what, number)).transpose();
    let created = time("creation_date", file.creation_date)?;
    let activated = some("activation_date", file.activation_date)?;
    let duration = some("duration_m", file.duration_m.map(|minutes| minutes * 60.0))?;
    let mut revoked = some("invalidation_date", file.invalidation_date)?;
    if duration == Some(0) {
        revoked = revoked.or(Some(wall));
    }
    let mac = file
        .mac
        .map(|mac| station_of(&mac).ok_or(PiraniaError::Mac));
    let mac: Option<Mac> = mac.transpose()?;
    // As in Pirania, the remaining time of a voucher that its owner released is usable again.
    let used = activated.map_or(0, |since| wall.saturating_sub(since) * 1000);
    let used: Millis = duration.map_or(0, |all| used.min(all * 1000));
    let since = activated.unwrap_or(created);
    let lost = lost(&file.more);
    let voucher = Voucher {
        name: file.name,
        duration,
        until: some("activation_deadline", file.activation_deadline)?,
        activated: activated.filter(|_| mac.is_some()).or(mac.map(|_| created)),
        revoked,
        used,
        users: mac.map(|mac| User::new(mac, since)).into_iter().collect(),
        former: Some(former),
        ..Voucher::new(id(&file.id, &file.code), code, created)
    };
    Ok(PiraniaImport { voucher, lost })
}

/// Derives the id from the voucher, so that repeated imports give one voucher.
fn id(id: &str, code: &str) -> String {
    let digest = digest(&SHA256, format!("pirania\n{id}\n{code}").as_bytes());
    net::hex::text(&digest.as_ref()[..8])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::voucher::State;

    const WALL: u64 = 1_631_140_000;

    fn file(more: &str) -> String {
        format!(
            "{{\"id\":\"Q3TJZS\",\"name\":\"san-notebook\",\"code\":\"ZRJUXO\",\"mod_counter\":2,\
             \"author_node\":\"lima-1\",\"creation_date\":1631130000{more}}}"
        )
    }

    fn known(more: &str) -> Voucher {
        let read = read(&file(more), Code::new([7; 5]), WALL).expect("a voucher");
        assert_eq!(read.lost, [""; 0]);
        read.voucher
    }

    #[test]
    fn what_a_voucher_loses_is_told() {
        let lost = |more: &str| {
            let read = read(&file(more), Code::new([7; 5]), WALL).expect("a voucher");
            read.lost.join("; ")
        };
        assert!(lost(",\"unrestricted\":true").contains("closed"));
        assert!(lost(",\"unrestricted\":1").contains("exempt"));
        assert!(lost(",\"bandwidth\":\"2M\"").contains("`bandwidth` is ignored"));
        for more in [
            "",
            ",\"unrestricted\":false",
            ",\"status\":\"\"",
            ",\"x\":null",
        ] {
            assert_eq!(lost(more), "", "{more}");
        }
    }

    #[test]
    fn those_not_used_yet_are_to_be_used() {
        let voucher = known(",\"duration_m\":60,\"activation_deadline\":1631150000");
        assert_eq!(
            (voucher.duration, voucher.until),
            (Some(3600), Some(1_631_150_000))
        );
        assert_eq!(voucher.state(0, WALL), State::Available);
        assert_eq!(voucher.former, Some("zrj uxo".parse().expect("a code")));
        assert_eq!(known("").duration, None, "permanent");
        assert_eq!(voucher.id, known("").id, "the same voucher");
    }

    #[test]
    fn who_is_in_stays_in_for_the_rest() {
        let voucher = known(
            ",\"duration_m\":60,\"mac\":\"02:11:22:33:44:55\",\"activation_date\":1631139400",
        );
        assert_eq!((voucher.used, voucher.users.len()), (600_000, 1));
        assert_eq!(voucher.state(voucher.used, WALL), State::Active);
        let over = known(
            ",\"duration_m\":60,\"mac\":\"02:11:22:33:44:55\",\"activation_date\":1631130000",
        );
        assert_eq!(over.state(over.used, WALL), State::Expired);
        let called_back = known(",\"duration_m\":0");
        assert_eq!(called_back.state(0, WALL), State::Revoked);
    }

    #[test]
    fn what_is_something_else_is_told() {
        for (text, why) in [
            ("{}", "missing field"),
            (
                &file(",\"mac\":\"ff:ff:ff:ff:ff:ff\""),
                "invalid hardware address",
            ),
            (&file(",\"duration_m\":1e300"), "invalid time: duration_m"),
            (&file("").replace("ZRJUXO", "a b"), "invalid code"),
            (&file("").replace("san-notebook", "a\\nb"), "invalid name"),
        ] {
            let wrong = read(text, Code::new([7; 5]), WALL)
                .expect_err("wrong")
                .to_string();
            assert!(wrong.contains(why), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in ".{0,200}", number in -1e20_f64..1e20) {
            let _ = read(&text, Code::new([7; 5]), WALL);
            let _ = read(&file(&format!(",\"duration_m\":{number}")), Code::new([7; 5]), WALL);
        }
    }
}
