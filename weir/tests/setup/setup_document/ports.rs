//! Tests of the API by which the daemon assigns another use to ports.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use api::{Client, ClientError};
use serde_json::{Value, json};

use crate::setup_document::router::Router;
use crate::setup_document::send;

const PATH: &str = "/v1/setup/ports";

fn used(client: &Client, device: &str) -> Value {
    let all: Value = client.get(PATH).expect("ports");
    let ports = all["ports"].as_array().expect("a list");
    let one = ports.iter().find(|port| port["device"] == device);
    one.cloned().unwrap_or_else(|| panic!("no {device}: {all}"))
}

fn problem(sent: Result<Value, ClientError>) -> api::Problem {
    match sent {
        Err(ClientError::Problem(problem)) => *problem,
        other => panic!("{other:?}"),
    }
}

fn uplink(device: &str) -> Value {
    json!({
        "ports": [{"device": device, "used": "uplink", "uplink": {"kind": "dhcp", "vlan": null}}],
        "why": "DHCP is answered",
    })
}

#[test]
fn the_daemon_has_a_port_used_for_something_else() {
    let mut router = Router::new("24.10");
    let client = router.serve();
    let all: Value = client.get(PATH).expect("ports");
    assert_eq!(all["system"], "openwrt");
    let before = router.configuration();
    let lan1 =
        |used: &str, by_weir: bool| json!({"device": "lan1", "used": used, "by_weir": by_weir});
    assert_eq!(used(&client, "lan1"), lan1("lan", false));

    let done = send(&client, PATH, &uplink("lan1")).expect("it is done");
    let change = &done["change"];
    assert_eq!(change["who"], "weir cables");
    assert_eq!(change["why"], "DHCP is answered");
    assert_eq!(change["left"], 60);
    assert_eq!(router.read("told").trim(), "network");
    assert_eq!(used(&client, "lan1"), lan1("uplink", true));
    assert_eq!(used(&client, "wan")["used"], "none");

    // A pending change blocks others; a request that changes nothing gets another error.
    let waits = problem(send(&client, PATH, &uplink("lan2")));
    assert_eq!((waits.status, &*waits.error), (409, "waits"));
    assert!(waits.detail.contains("weir cables"), "{}", waits.detail);
    let number = json!({"number": change["number"]});
    send(&client, "/v1/setup/confirm", &number).expect("it stays");
    let nothing = problem(send(&client, PATH, &uplink("lan1")));
    assert_eq!((nothing.status, &*nothing.error), (409, "nothing"));

    // The assignment is one of the changes and can be reverted like them.
    let shown = router.done(&["show"]);
    assert!(shown.contains("weir cables"), "{shown}");
    let first = change["number"].as_u64().expect("a number").to_string();
    router.done(&["revert", &first]);
    router.done(&["confirm"]);
    assert_eq!(router.configuration(), before);

    // Without confirmation the change is reverted.
    let mut short = uplink("lan1");
    short["within"] = 1.into();
    let done = send(&client, PATH, &short).expect("it is done");
    assert_eq!(done["change"]["left"], 5, "no less than all changes have");
    let begin = Instant::now();
    while router.configuration() != before {
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "it is not taken back"
        );
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn what_cannot_be_is_named_and_changes_nothing() {
    let mut router = Router::new("24.10");
    let client = router.serve();
    let before = router.configuration();
    for (ports, said) in [
        (
            json!([{"device": "lan1", "used": "uplink", "uplink": {"kind": "pppoe"}}]),
            "lan1: PPPoE needs the provider's name and password",
        ),
        (
            json!([{"device": "lan1", "used": "mesh"}]),
            "lan1: the router lacks kmod-batman-adv",
        ),
        (
            json!([{"device": "lan1", "used": "lan"}, {"device": "../lan1", "used": "lan"}]),
            "invalid name of a port: \"../lan1\"",
        ),
    ] {
        let refused = problem(send(&client, PATH, &json!({"ports": ports})));
        assert_eq!(refused.errors, [said]);
        assert_eq!(&*refused.error, "setup");
    }
    let wrong = json!({"ports": [{"device": "lan1", "used": "client"}]});
    let refused = problem(send(&client, PATH, &wrong));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(router.configuration(), before);
}

/// LibreMesh generates other files from its own. Its programs are simulated here: they record each
/// call, and the content of `lime-node` at the time.
#[test]
fn libremesh_makes_its_files_anew() {
    let mut router = Router::new("24.10");
    router.write("etc/config/lime-node", "config lime 'system'\n");
    let program = |name: &str, script: &str| {
        router.write(name, &format!("#!/bin/sh\n{script}\n"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(router.path(name), mode).expect("a program");
    };
    let told = router.path("told").display().to_string();
    let node = router.path("etc/config/lime-node").display().to_string();
    let roles = format!("echo config $(grep -c eth_role {node}) >> {told}");
    program("usr/bin/lime-config", &roles);
    program("usr/bin/lime-apply", &format!("echo apply >> {told}"));
    let client = router.serve();
    let all: Value = client.get(PATH).expect("ports");
    assert_eq!(all["system"], "libremesh");
    send(&client, PATH, &uplink("lan1")).expect("it is done");
    assert_eq!(router.read("told"), "config 1\napply\nlime-node\n");
    assert_eq!(used(&client, "lan1")["used"], "uplink");
    send(&client, "/v1/setup/revert", &json!({})).expect("it is taken back");
    assert_eq!(
        router.read("told"),
        "config 1\napply\nlime-node\nconfig 0\napply\nlime-node\n"
    );

    // After a reboot no service is reloaded: the files are only generated.
    send(&client, PATH, &uplink("lan1")).expect("it is done");
    let change = router.read("state/pending/change.json");
    let mut change: Value = serde_json::from_str(&change).expect("a change");
    change["until"]["boot"] = "another start".into();
    fs::remove_file(&told).expect("it was told");
    router.write("state/pending/change.json", &change.to_string());
    let begin = Instant::now();
    while !router.read("told").starts_with("config 0") {
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "{}",
            router.read("told")
        );
        let _ = router.run(&["recover"]);
        sleep(Duration::from_millis(20));
    }
    assert!(!router.read("etc/config/lime-node").contains("eth_role"));
}
