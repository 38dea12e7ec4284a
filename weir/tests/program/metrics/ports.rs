//! Tests of the metrics of ports and cables.

use answers::Cable;
use api::metrics::Exposition;

use super::exposition::{get, read};

#[test]
fn ports_are_told_with_their_roles() {
    let cable = |device: &str, link, role: &str, decided| Cable {
        device: device.into(),
        link,
        role: role.into(),
        confidence: 90,
        evidence: Vec::new(),
        decided,
        held_by: None,
        now: "lan".into(),
        shut: link && decided.is_none(),
        moving: None,
        why: String::new(),
        change_condition: String::new(),
        notices: vec!["another server".into()],
    };
    let all = [
        cable("eth0", true, "uplink", Some(2500)),
        cable("eth1", true, "unknown", None),
        cable("eth2", false, "unknown", None),
    ];
    let mut text = Exposition::default();
    cables::metrics::write(&mut text, &all);
    let text = text.end();
    super::promtool::check(&text);
    let samples = read(&text);
    let one = |name: &str, device| {
        get(
            &samples,
            &format!("weir_cable_{name}"),
            &[("device", device)],
        )
    };
    assert_eq!(
        (one("link", "eth0"), one("link", "eth2")),
        (Some(1.0), Some(0.0))
    );
    let role = [("device", "eth0"), ("role", "uplink")];
    assert_eq!(get(&samples, "weir_cable_role", &role), Some(1.0));
    assert_eq!(
        (one("confidence", "eth0"), one("confidence", "eth2")),
        (Some(0.9), None)
    );
    assert_eq!(one("decided_seconds", "eth0"), Some(2.5));
    assert_eq!(
        (one("decided_seconds", "eth1"), one("notices", "eth1")),
        (None, Some(1.0))
    );
    let blocked = ["eth0", "eth1", "eth2"].map(|device| one("blocked", device));
    assert_eq!(
        blocked,
        [Some(0.0), Some(1.0), None],
        "of ports with a link"
    );
    let mut none = Exposition::default();
    cables::metrics::write(&mut none, &[]);
    assert!(read(&none.end()).is_empty());
}
