//! `weir setup detect` with real peers behind a switch: dnsmasq, radvd, WIDE's dhcp6s,
//! pppoe-server. crates/detect/src/tests.rs tests the conclusions from their answers.

mod ipv6;
#[allow(dead_code, reason = "weir cables needs the rest of it")]
pub mod scene;
mod sent_frames;
mod tags;

use answers::SetupUplink;
use lab::Error;

use scene::{LINE, PORT, ROUTER, Scene};

/// Asserts the suggestion: kind of uplink, VLAN, and certainty.
#[track_caller]
fn is(found: &SetupUplink, internet: &str, vlan: Option<u16>, confident: bool) {
    let said = &found.suggestion;
    // Compares the word in the JSON.
    let word = serde_json::to_value(said.internet).expect("a word");
    assert_eq!(
        (word.as_str(), said.vlan, said.confident),
        (Some(internet), vlan, confident),
        "{said:#?}"
    );
}

#[track_caller]
fn open_questions(found: &SetupUplink, what: &str) {
    let open_questions = &found.suggestion.open_questions;
    assert!(
        open_questions.iter().any(|it| it.contains(what)),
        "{what} is not in {open_questions:#?}"
    );
}

#[track_caller]
fn why(found: &SetupUplink, what: &str) {
    let why = &found.suggestion.why;
    assert!(
        why.iter().any(|it| it.contains(what)),
        "{what} is not in {why:#?}"
    );
}

#[track_caller]
fn heard(found: &SetupUplink, kind: &str) {
    assert!(
        found.evidence.iter().any(|it| it.kind == kind),
        "no {kind}: {:#?}",
        found.evidence
    );
}

const ISP: [&str; 1] = ["192.0.2.1/24"];

#[test]
fn dhcp_with_a_captive_portal() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    let options = [
        "dhcp-option=6,192.0.2.53",
        "dhcp-option=114,https://login.example/",
    ];
    scene.dhcp("isp", &options)?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    heard(&found, "captive");
    let details = &found.suggestion.details;
    assert_eq!(details.gateway.as_deref(), Some("192.0.2.1"));
    assert_eq!(
        (details.network.as_deref(), &details.dns[..]),
        (Some("192.0.2.0/24"), &["192.0.2.53".to_owned()][..])
    );
    assert!(!details.ipv6 && found.suggestion.lan.is_none());
    assert_eq!(details.portal.as_deref(), Some("https://login.example/"));
    assert!(
        !found
            .suggestion
            .open_questions
            .iter()
            .any(|it| it.contains("log-in page"))
    );
    Ok(())
}

#[test]
fn pppoe() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[])?;
    scene.pppoe("isp", &["gold", "silver"])?;
    let found = scene.found()?;
    is(&found, "pppoe", None, true);
    let details = &found.suggestion.details;
    assert_eq!(
        (&details.services[..], &details.concentrators[..]),
        (
            &["gold".to_owned(), "silver".to_owned()][..],
            &["BRAS1".to_owned()][..]
        )
    );
    open_questions(&found, "User name and password");
    open_questions(&found, "gold and silver");
    Ok(())
}

#[test]
fn a_static_network_whose_router_is_asked_for() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("gate", &["203.0.113.254/24"])?;
    for (host, address) in [("east", "203.0.113.7/24"), ("west", "203.0.113.9/24")] {
        scene.peer(host, &[address])?;
        scene.asks(host, "203.0.113.254")?;
    }
    let found = scene.found()?;
    is(&found, "static", None, false);
    let details = &found.suggestion.details;
    assert_eq!(details.gateway.as_deref(), Some("203.0.113.254"));
    assert_eq!(details.network.as_deref(), Some("203.0.113.0/24"));
    assert_eq!(
        details.addresses,
        ["203.0.113.7", "203.0.113.9", "203.0.113.254"]
    );
    why(&found, "203.0.113.254 is present");
    open_questions(&found, "A free address");
    open_questions(&found, "Name servers");
    Ok(())
}

#[test]
fn no_link() -> Result<(), Error> {
    let scene = Scene::new()?;
    scene
        .lab
        .node(LINE)?
        .run(&format!("ip link set {PORT} down"))?;
    let found = scene.found()?;
    is(&found, "none", None, true);
    heard(&found, "no-link");
    open_questions(&found, "without a link");
    Ok(())
}

#[test]
fn a_loop_beside_dhcp() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    scene.reflects()?;
    let found = scene.found()?;
    is(&found, "dhcp", None, false);
    heard(&found, "loop");
    Ok(())
}

#[test]
fn the_cable_leads_to_the_routers_own_lan() -> Result<(), Error> {
    let scene = Scene::new()?;
    let line = lab::Offloads::Default;
    scene.lab.wire((ROUTER, "lan"), (LINE, "back"), line)?;
    scene.lab.node(LINE)?.run("ip link set back master sw")?;
    scene.lab.address(ROUTER, "lan", "192.168.1.1/24")?;
    let router = scene.lab.node(ROUTER)?;
    let mut ping = std::process::Command::new("ping");
    ping.args(["-i", "0.3", "-I", "lan", "192.168.1.9"]);
    let _asks = router.start(ping.stdout(std::process::Stdio::null()))?;
    let found = scene.found()?;
    is(&found, "none", None, true);
    heard(&found, "itself");
    why(&found, "another port of this router");
    Ok(())
}
