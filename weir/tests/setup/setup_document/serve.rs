//! Tests of the page's API, and of changes hindered by services or other users.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use api::ClientError;
use serde_json::{Value, json};

use crate::setup_document::router::Router;
use crate::setup_document::{HOME, hash, send};

#[test]
fn the_page_decides_by_the_api() {
    let mut router = Router::new("24.10");
    let client = router.serve();
    let found: Value = client.get("/v1/setup").expect("a router");
    assert_eq!(
        found["release"],
        json!({"name": "OpenWrt", "version": "24.10.1", "known": true})
    );
    assert_eq!(found["model"], "Roof Box 3");
    assert_eq!(found["radios"][1]["bands"], json!(["5g"]));
    let mut choices = found["choices"].clone();

    // Unchanged choices change nothing; but root has no password, which the page must fix.
    let asked = json!({"choices": choices});
    let plan = send(&client, "/v1/setup/plan", &asked).expect("a plan");
    assert_eq!(plan["lines"], json!([]), "{plan}");
    assert_eq!(plan["problems"][0]["field"], "router.password", "{plan}");
    assert_eq!(plan["problems"][0]["problem"], "required", "{plan}");
    assert_eq!(plan["problems"][1], Value::Null, "{plan}");
    // Half-typed values are problems of fields, not errors of the request.
    let mut typed = choices.clone();
    typed["internet"] = json!({"kind": "static", "address": "192.", "gateway": "1", "dns": ["9"]});
    let plan = send(&client, "/v1/setup/plan", &json!({"choices": typed})).expect("a plan");
    assert_eq!(plan["problems"][0]["field"], "internet.address", "{plan}");
    let other = json!({"choices": {"format": 2}});
    assert!(send(&client, "/v1/setup/plan", &other).is_err());

    choices["router"]["password"] = "hunter22".into();
    choices["lan"]["address"] = "192.168.77.1/24".into();
    choices["wifi"]["networks"] = json!([{"ssid": "Zur Linde", "security": "wpa3"}]);
    let plan = send(&client, "/v1/setup/plan", &json!({"choices": choices})).expect("a plan");
    let problem = |n: usize| {
        (
            plan["problems"][n]["field"].clone(),
            plan["problems"][n]["problem"].clone(),
        )
    };
    assert_eq!(
        problem(0),
        ("router.password".into(), "weak-password".into())
    );
    assert_eq!(
        problem(1),
        ("wifi.networks[0].key".into(), "needs-key".into())
    );
    assert_eq!(plan["strength"]["score"], 1, "{plan}");
    assert_eq!(plan["address"], "192.168.77.1");
    let refused = send(&client, "/v1/setup/apply", &json!({"choices": choices}));
    assert!(
        matches!(refused, Err(ClientError::Problem(_))),
        "{refused:?}"
    );

    choices["router"]["password"] = "four horses in a tin can".into();
    choices["wifi"]["networks"][0]["key"] = "correct horse battery".into();
    choices["wireguard"] =
        json!({"on": true, "endpoint": "linde.example", "clients": [{"name": "Phone"}]});
    let apply = json!({"choices": choices, "why": "first set-up", "within": 30});
    let done = send(&client, "/v1/setup/apply", &apply).expect("applied");
    assert_eq!(done["address"], "192.168.77.1");
    assert_eq!(done["change"]["why"], "first set-up");
    let file = done["once"][0]["file"].as_str().expect("a file");
    assert!(file.contains("Endpoint = linde.example:51820"), "{file}");
    assert!(
        done["once"][0]["qr"]["path"]
            .as_str()
            .is_some_and(|path| path.len() > 1000)
    );
    assert!(router.read("etc/config/network").contains("192.168.77.1"));
    assert!(hash(&router.read("etc/shadow")).starts_with("$6$"));

    // A second change is refused with the name of the first.
    choices["router"]["name"] = "other".into();
    let second = send(&client, "/v1/setup/apply", &json!({"choices": choices}));
    let Err(ClientError::Problem(problem)) = second else {
        panic!("{second:?}");
    };
    assert!(
        format!("{problem:?}").contains("first set-up"),
        "{problem:?}"
    );

    // A client that reviewed another change cannot confirm this one.
    let (number, when) = (&done["change"]["number"], &done["change"]["when"]);
    for stale in [json!({"number": 7}), json!({"number": number, "when": 1})] {
        let refused = send(&client, "/v1/setup/confirm", &stale);
        assert!(
            matches!(refused, Err(ClientError::Problem(_))),
            "{refused:?}"
        );
    }
    let same = json!({"number": number, "when": when});
    send(&client, "/v1/setup/confirm", &same).expect("confirmed");
    let found: Value = client.get("/v1/setup").expect("a router");
    assert_eq!(found["pending"], Value::Null);
    assert_eq!(found["states"][0]["why"], "first set-up");
    let whole = found.to_string();
    for secret in ["battery", "horses", "$6$", "PrivateKey"] {
        assert!(!whole.contains(secret), "{secret} in {whole}");
    }
    assert_eq!(
        found["kept"],
        json!([
            "router.password",
            "wifi.networks[0].key",
            "wireguard.private_key"
        ])
    );
    // Choices without their secrets change nothing.
    let asked = json!({"choices": found["choices"]});
    let plan = send(&client, "/v1/setup/plan", &asked).expect("a plan");
    assert_eq!(
        (&plan["problems"], &plan["lines"]),
        (&json!([]), &json!([])),
        "{plan}"
    );

    let number = found["states"][0]["number"].clone();
    send(&client, "/v1/setup/revert", &json!({"number": number})).expect("reverted");
    assert!(router.read("etc/config/network").contains("192.168.1.1"));
    send(&client, "/v1/setup/revert", &json!({})).expect("taken back");
    assert!(router.read("etc/config/network").contains("192.168.77.1"));
}

#[test]
fn the_setup_process_undoes_what_a_dead_guard_would_have() {
    let mut router = Router::new("24.10");
    let before = router.configuration();
    let client = router.serve();
    let choices = json!({"router": {"name": "linde", "password": "four horses in a tin can"}});
    let done = send(
        &client,
        "/v1/setup/apply",
        &json!({"choices": choices, "within": 5}),
    );
    let number = done.expect("applied")["change"]["number"].to_string();
    // Kills the guard of this change.
    let guard = ["setup", "guard", &number];
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let config = router.path("weir.toml").display().to_string();
    let guards: Vec<String> = processes
        .filter(|process| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains(&guard.join("\0")) && line.contains(&config)
        })
        .filter_map(|process| process.file_name().into_string().ok())
        .collect();
    assert_eq!(guards.len(), 1, "{guards:?}");
    let killed = Command::new("kill").args(["-9", &guards[0]]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    assert_ne!(router.configuration(), before);
    let begin = Instant::now();
    while router.configuration() != before {
        assert!(begin.elapsed() < Duration::from_secs(30), "it stayed");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn services_that_take_longer_than_the_time_are_told_of() {
    let router = Router::new("24.10");
    let before = router.configuration();
    router.write("reload", "#!/bin/sh\nsleep 7\n");
    router.write("document.toml", HOME);
    let file = router.path("document.toml");
    let said = router.refused(&["import", "--within", "5", file.to_str().expect("text")]);
    assert!(
        said.contains("reverted already") && said.contains("--within"),
        "{said}"
    );
    assert_eq!(router.configuration(), before);
}

#[test]
fn what_was_written_by_hand_meanwhile_is_not_lost_unsaid() {
    let router = Router::new("24.10");
    router.import(HOME);
    let wireless = router.read("etc/config/wireless") + "# by hand\n";
    router.write("etc/config/wireless", &wireless);
    let said = router.done(&["revert"]);
    let kept = said
        .lines()
        .find_map(|line| line.split("meanwhile are in ").nth(1));
    let kept = kept.unwrap_or_else(|| panic!("{said}")).trim();
    assert_eq!(fs::read_to_string(kept).unwrap_or_default(), wireless);
}

/// Clients of the page have no terminal, and errors of a refused document name fields.
#[test]
fn errors_name_fields_and_no_commands() {
    let mut router = Router::new("24.10");
    let client = router.serve();
    let problem = |path: &str, body: &Value| match send(&client, path, body) {
        Err(ClientError::Problem(problem)) => problem,
        other => panic!("{other:?}"),
    };
    let choices = json!({"lan": {"address": "192."}, "router": {"name": "a b", "password": "x"}});
    let asked = json!({"choices": choices});
    let refused = problem("/v1/setup/apply", &asked);
    let fields = ["router.name", "router.password", "lan.address"];
    assert_eq!(*refused.fields, fields, "{refused:?}");
    assert_eq!(refused.errors.len(), fields.len());

    // The pending change was made elsewhere, such as in LuCI.
    router.write("changes/network", "network.lan.proto='dhcp'\n");
    let refused = problem("/v1/setup/plan", &asked);
    assert!(refused.detail.contains("in network"), "{refused:?}");
    assert!(
        !refused.hint.is_empty() && !refused.hint.contains("weir"),
        "{refused:?}"
    );
    let told = router.import_refused(HOME);
    assert!(told.contains("weir uci revert"), "{told}");
    fs::remove_file(router.path("changes/network")).expect("removed");

    for (path, body) in [
        ("/v1/setup/confirm", json!({})),
        ("/v1/setup/revert", json!({"number": 7})),
        ("/v1/setup/apply", json!({"choices": {}})),
        ("/v1/setup/read", json!({"document": ""})),
        ("/v1/setup/read", json!({"document": "[router]"})),
    ] {
        let refused = problem(path, &body);
        let said = format!("{} {:?} {}", refused.detail, refused.errors, refused.hint);
        assert!(
            !refused.hint.is_empty() && !said.contains("weir"),
            "{path}: {said}"
        );
    }
}
