//! Conditions of uplinks that are used as one.

use answers::{PartnerState, PathUse, Paths};

use runtime::daemon::{Finding, Value};

/// Returns all findings.
pub fn of(paths: &Paths) -> Vec<Finding> {
    let of = |key| Finding::new(key, "multipath", "paths");
    let mut all = Vec::new();
    if let (PartnerState::Failed, Some(partner)) = (paths.state, &paths.partner) {
        let what = paths.problem.clone().unwrap_or_default();
        let lost = of("partner-lost").of(partner);
        let lost = lost.with("partner", Value::Text(partner.clone()));
        all.push(lost.with("what", Value::Text(what)));
        // The missing path to the partner adds no information.
        return all;
    }
    let mut devices: Vec<&str> = Vec::new();
    for path in paths
        .paths
        .iter()
        .filter(|path| path.used != PathUse::Never)
    {
        if path.answers == Some(false) && !devices.contains(&&*path.device) {
            devices.push(&path.device);
        }
    }
    all.extend(
        devices
            .into_iter()
            .map(|device| of("path-silent").at(device)),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(state: &str, answers: bool) -> Paths {
        let path = |device: &str, answers: bool| {
            serde_json::json!({"device": device, "address": "192.0.2.1", "subflows": 0,
                "fell_back": 0, "answers": answers, "sent": 0, "received": 0, "retransmitted": 0,
                "rests": false, "backup": false, "tunnel_sent": 0, "tunnel_received": 0})
        };
        serde_json::from_value(serde_json::json!({
            "partner": "partner.example:4567", "state": state, "problem": "no answer",
            "redirects": true,
            "connections": {"open": 0, "all": 0, "direct": 0, "refused": 0, "sent": 0, "received": 0},
            "paths": [path("eth0", true), path("eth1", answers), path("eth1", answers)],
        }))
        .expect("paths")
    }

    fn keys(paths: &Paths) -> Vec<&'static str> {
        of(paths).iter().map(Finding::key).collect()
    }

    #[test]
    fn a_path_without_answers_and_a_lost_partner_are_conditions() {
        assert_eq!(keys(&Paths::default()), [""; 0]);
        assert_eq!(keys(&paths("connected", true)), [""; 0]);
        assert_eq!(keys(&paths("connected", false)), ["path-silent"]);
        assert_eq!(keys(&paths("failed", false)), ["partner-lost"]);
    }
}
