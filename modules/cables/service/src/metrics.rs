//! Metrics of ports for Prometheus.

use answers::Cable;
use api::metrics::{Exposition, sanitized};

api::metrics! {
    CABLE_LINK "weir_cable_link" Gauge &["device"], "1: the port has a link.";
    CABLE_ROLE "weir_cable_role" Gauge &["device", "role"], "1: the role of a port with a link.";
    CABLE_CONFIDENCE "weir_cable_confidence" Gauge &["device"],
        "Confidence in the role, from 0 to 1.";
    CABLE_DECIDED "weir_cable_decided_seconds" Gauge &["device"], "Seconds from the link to the \
        decision; absent until the decision.";
    CABLE_SHUT "weir_cable_blocked" Gauge &["device"], "1: no traffic passes the port: its role is \
        not known yet, or it is a loop.";
    CABLE_NOTICES "weir_cable_notices" Gauge &["device"], "Problems that need attention, such as \
        a second DHCP server.";
}

/// Writes the metrics of observed ports.
pub fn write(text: &mut Exposition, cables: &[Cable]) {
    if cables.is_empty() {
        return;
    }
    text.family(CABLE_LINK);
    for cable in cables {
        text.sample(
            CABLE_LINK,
            &[&sanitized(&cable.device)],
            u8::from(cable.link),
        );
    }
    let linked = || cables.iter().filter(|cable| cable.link);
    text.family(CABLE_ROLE);
    for cable in linked() {
        text.sample(CABLE_ROLE, &[&sanitized(&cable.device), &cable.role], 1);
    }
    text.family(CABLE_CONFIDENCE);
    for cable in linked() {
        let sure = f64::from(cable.confidence) / 100.0;
        text.sample(CABLE_CONFIDENCE, &[&sanitized(&cable.device)], sure);
    }
    text.family(CABLE_DECIDED);
    for cable in linked() {
        if let Some(decided) = cable.decided {
            let seconds = decided as f64 / 1000.0;
            text.sample(CABLE_DECIDED, &[&sanitized(&cable.device)], seconds);
        }
    }
    text.family(CABLE_SHUT);
    for cable in linked() {
        let shut = u8::from(cable.shut);
        text.sample(CABLE_SHUT, &[&sanitized(&cable.device)], shut);
    }
    text.family(CABLE_NOTICES);
    for cable in linked() {
        let notices = cable.notices.len() as u64;
        text.sample(CABLE_NOTICES, &[&sanitized(&cable.device)], notices);
    }
}
