//! Notes on a device, in addition to its figures.

use answers::{Device, QuotaState};

use runtime::output::{Tone, units};

/// Returns the notes on a device, and their urgency.
pub(crate) fn note(device: &Device, now: u64) -> (String, Tone) {
    let mut notes = Vec::new();
    let mut tone = Tone::Plain;
    if let Some(quota) = &device.quota {
        let (text, urgent) = quota_note(quota, now);
        notes.extend(text);
        tone = urgent;
    }
    if device.uplink {
        notes.push("uplink".to_owned());
    }
    if let Some(verdict) = device
        .latency
        .as_ref()
        .and_then(|latency| latency.bufferbloat.as_deref())
        && verdict != "good"
    {
        notes.push(format!("bufferbloat {verdict}"));
        if verdict == "bad" && tone == Tone::Plain {
            tone = Tone::Warn;
        }
    }
    if let Some(signal) = device.wifi.as_ref().and_then(|wifi| wifi.signal) {
        notes.push(format!("{signal} dBm"));
    }
    (notes.join(", "), tone)
}

fn quota_note(quota: &QuotaState, now: u64) -> (Option<String>, Tone) {
    let share = if quota.limit == 0 {
        1.0
    } else {
        quota.used as f64 / quota.limit as f64
    };
    let resets = units::duration(quota.resets.saturating_sub(now));
    match quota.state.as_str() {
        "within" => (None, Tone::Plain),
        "warned" => (Some(format!("quota {}", units::percent(share))), Tone::Warn),
        "exceeded" => (Some(format!("over quota, {resets} to go")), Tone::Bad),
        "cut" => (Some(format!("cut off, {resets} to go")), Tone::Bad),
        other => (Some(format!("quota {other}")), Tone::Plain),
    }
}

#[cfg(test)]
mod tests {
    use answers::Latency;

    use super::*;
    use crate::commands::devices::tests::device;

    #[test]
    fn notes_say_what_matters() {
        let mut some = device("a", None, "x");
        assert_eq!(note(&some, 0), (String::new(), Tone::Plain));
        some.latency = Some(Latency {
            bufferbloat: Some("bad".into()),
            ..Latency::default()
        });
        some.quota = Some(QuotaState {
            period: "month".into(),
            limit: 1000,
            used: 900,
            state: "warned".into(),
            resets: 100,
        });
        assert_eq!(
            note(&some, 40),
            ("quota 90.0 %, bufferbloat bad".into(), Tone::Warn)
        );
        if let Some(quota) = &mut some.quota {
            quota.state = "cut".into();
        }
        assert_eq!(note(&some, 40).0, "cut off, 1m 0s to go, bufferbloat bad");
    }
}
