//! Tests of OpenVPN: keys, certificates, clients, and disclosure of secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::router::Router;
use super::send;

/// Files that the router generates for itself.
const KEYS: [&str; 5] = [
    "ca.crt",
    "ca.key",
    "server.crt",
    "server.key",
    "tls-crypt.key",
];

const ON: &str = "format = 1\n[openvpn]\non = true\n";

fn router(release: &str) -> Router {
    let router = Router::new(release);
    router.write("lib/netifd/proto/openvpn.sh", "");
    router.write("etc/init.d/openvpn", "");
    router
}

/// Returns the files of OpenVPN, sorted.
fn files(router: &Router) -> Vec<PathBuf> {
    let folder = router.path("etc/openvpn/weir");
    let mut all = Vec::new();
    for folder in [folder.clone(), folder.join("clients")] {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        all.extend(entries.map(|entry| entry.path()));
    }
    all.retain(|path| path.is_file());
    all.sort();
    all
}

#[test]
fn keys_of_openvpn_are_made_once_and_go_with_the_change() {
    let router = router("24.10");
    router.write("document.toml", ON);
    let document = router.path("document.toml");
    let import = ["import", "--dry-run", document.to_str().expect("text")];
    let shown = router.done(&import);
    assert!(shown.contains("+ openvpn.authority=(secret)"), "{shown}");
    assert_eq!(
        files(&router),
        [""; 0].map(PathBuf::from),
        "nothing is done"
    );

    let said = router.import(ON);
    assert!(
        !said.contains("PRIVATE") && !said.contains("BEGIN"),
        "{said}"
    );
    let made = files(&router);
    assert_eq!(made.len(), 7, "{made:?}");
    for path in &made {
        let mode = fs::metadata(path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{}", path.display());
    }
    assert!(router.read("etc/config/openvpn").contains("server.conf"));
    router.done(&["revert"]);
    assert_eq!(files(&router), [""; 0].map(PathBuf::from), "taken back");
    assert!(!router.path("etc/openvpn").exists(), "and its folders");

    router.import(ON);
    router.done(&["confirm"]);
    let key = |name: &str| router.read(&format!("etc/openvpn/weir/{name}"));
    let before = KEYS.map(key);
    assert!(before.iter().all(|text| text.contains("-----END")));
    assert!(router.import(ON).contains("no changes: the router matches"));
    router.import(&format!("{ON}port = 1195\n"));
    router.done(&["confirm"]);
    assert!(key("server.conf").contains("port 1195"));
    assert_eq!(KEYS.map(key), before, "the authority is the same");
    // A revert restores files that follow from the configuration; keys stay.
    router.done(&["revert", "3"]);
    assert!(key("server.conf").contains("port 1194"));
    router.done(&["confirm"]);
    router.done(&["revert", "2"]);
    router.done(&["confirm"]);
    assert_eq!(key("server.conf"), "");
    assert_eq!(KEYS.map(key), before);

    // Neither the description of a change nor a saved state contains a key.
    let states = fs::read_dir(router.path("state/states")).expect("states");
    for state in states.flatten() {
        for file in fs::read_dir(state.path()).expect("a state").flatten() {
            let text = fs::read_to_string(file.path()).expect("text");
            assert!(!text.contains("PRIVATE"), "{}", file.path().display());
        }
    }
    let said = router.import_refused(&format!("{ON}clients = [{{ name = \"Phone\" }}]\n"));
    assert!(said.contains("missing certificate of Phone"), "{said}");
}

#[test]
fn the_page_lets_clients_of_openvpn_in() {
    for release in ["23.05", "25.12"] {
        let mut router = router(release);
        let client = router.serve();
        let send = |path: &str, body: &Value| send(&client, path, body);
        let choices = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
            json!({ "format": 1, "openvpn": {
                "on": true, "endpoint": "linde.example", "clients": names
            } })
        };
        let apply = |names: &[&str]| {
            let body = json!({ "choices": choices(names), "within": 60 });
            let done = send("/v1/setup/apply", &body).expect("applied");
            send("/v1/setup/confirm", &json!({})).expect("confirmed");
            done["once"].as_array().cloned().expect("a list")
        };
        let once = apply(&["Ana's phone", "Laptop"]);
        let file = once[0]["file"].as_str().expect("a file");
        assert!(file.contains("remote linde.example 1194\n"), "{file}");
        assert_eq!(file.matches("PRIVATE KEY").count(), 2, "{file}");
        assert_eq!((once.len(), &once[0]["qr"]), (2, &Value::Null));
        let clients = || {
            let mut all = files(&router);
            all.retain(|path| path.parent().is_some_and(|p| p.ends_with("clients")));
            all.len() - 1
        };
        assert_eq!(clients(), 2);
        let found: Value = client.get("/v1/setup").expect("a router");
        let named = json!([{ "name": "Ana's phone" }, { "name": "Laptop" }]);
        assert_eq!(found["choices"]["openvpn"]["clients"], named);
        assert!(!found.to_string().contains("PRIVATE"));
        let plan = send("/v1/setup/plan", &json!({ "choices": found["choices"] }));
        assert_eq!(plan.expect("a plan")["lines"], json!([]));
        let exported = router.done(&["export"]);
        assert!(!exported.contains("Laptop"), "{exported}");
        assert!(
            router
                .import(&exported)
                .contains("no changes: the router matches")
        );

        assert_eq!(apply(&["Laptop"]), [Value::Null; 0]);
        assert_eq!(clients(), 1);
        // A foreign file grants access only until the next change.
        router.write("etc/openvpn/weir/clients/stranger", "");
        assert_eq!(apply(&["Laptop", "Ana's phone"]).len(), 1);
        assert_eq!(clients(), 2);
        let off = json!({ "format": 1, "openvpn": { "on": false } });
        send("/v1/setup/apply", &json!({ "choices": off })).expect("off");
        assert!(router.read("etc/openvpn/weir/server.conf").is_empty());
        assert!(!router.path("etc/openvpn/weir/clients/.folder").exists());
    }
}

/// A thief of the CA's key loses access with the next change, and all services that hold the old
/// key are reloaded.
#[test]
fn another_authority_has_the_server_started_anew_and_all_clients_told() {
    for (release, package) in [("24.10", "openvpn"), ("25.12", "network")] {
        let mut router = router(release);
        let client = router.serve();
        let send = |path: &str, body: &Value| send(&client, path, body);
        let choices = json!({ "format": 1, "openvpn": {
            "on": true, "endpoint": "linde.example", "clients": [{ "name": "Laptop" }]
        } });
        let apply = || {
            let done = send("/v1/setup/apply", &json!({ "choices": choices })).expect("applied");
            send("/v1/setup/confirm", &json!({})).expect("confirmed");
            done
        };
        apply();
        let key = |name: &str| router.read(&format!("etc/openvpn/weir/{name}"));
        let before = KEYS.map(key);
        fs::remove_file(router.path("etc/openvpn/weir/ca.key")).expect("a key");
        let plan = send("/v1/setup/plan", &json!({ "choices": choices })).expect("a plan");
        let text = plan.to_string();
        for part in ["openvpn.authority", ".echo", "openvpn-authority"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let done = apply();
        let file = done["once"][0]["file"].as_str().expect("a file");
        for (name, before) in KEYS.iter().zip(before) {
            assert_ne!(key(name), before, "{name}");
        }
        assert!(
            file.contains(key("ca.crt").trim_end())
                && file.contains(key("tls-crypt.key").trim_end())
        );
        let path = router.path(&format!("etc/config/{package}"));
        let changed = done["change"]["files"].as_array().expect("files");
        assert!(
            changed.contains(&json!(path)),
            "{package} is not told: {done}"
        );
        let plan = send("/v1/setup/plan", &json!({ "choices": choices })).expect("a plan");
        assert_eq!(plan["lines"], json!([]));
    }
}

#[test]
fn a_file_by_which_nobody_finds_the_router_is_not_told() {
    let mut router = router("25.12");
    let client = router.serve();
    for tunnel in ["openvpn", "wireguard"] {
        let choices =
            |clients: Value| json!({ "format": 1, tunnel: { "on": true, "clients": clients } });
        let plan = |clients: Value| {
            let asked = json!({ "choices": choices(clients) });
            let plan = send(&client, "/v1/setup/plan", &asked).expect("a plan");
            plan["problems"].clone()
        };
        assert_eq!(plan(json!([])), json!([]));
        let problems = plan(json!([{ "name": "Laptop" }]));
        assert_eq!(
            problems[0]["field"],
            format!("{tunnel}.endpoint"),
            "{problems}"
        );
        assert_eq!(problems[0]["problem"], "required");
        // A client with a known key gets no file here.
        let key = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
        if tunnel == "wireguard" {
            let known = json!([{ "name": "Laptop", "public_key": key }]);
            assert_eq!(plan(known), json!([]));
        }
    }
}

/// A truncated key is generated again, and the plan shows this; clients with files keep them.
#[test]
fn a_broken_key_of_the_server_is_mended_and_shown() {
    let router = router("25.12");
    router.import(ON);
    router.done(&["confirm"]);
    router.write("etc/openvpn/weir/server.key", "");
    let document = router.path("document.toml");
    let shown = router.done(&["import", "--dry-run", document.to_str().expect("text")]);
    assert!(shown.contains("+ openvpn.authority=(secret)"), "{shown}");
    assert!(shown.contains("+ network.ovpn0.echo="), "{shown}");
    router.import(ON);
    router.done(&["confirm"]);
    assert!(
        router
            .read("etc/openvpn/weir/server.key")
            .contains("-----END")
    );
    let told = router.read("told");
    assert_eq!(told.lines().last(), Some("network"), "{told}");
    assert!(router.import(ON).contains("no changes: the router matches"));
}

/// A lost device was removed from the list: no old configuration grants access again.
#[test]
fn a_former_configuration_lets_no_lost_device_in() {
    for (release, package) in [("24.10", "openvpn"), ("25.12", "network")] {
        let mut router = router(release);
        let client = router.serve();
        let apply = |port: u16, names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
            let choices = json!({ "format": 1, "openvpn": {
                "on": true, "port": port, "endpoint": "linde.example", "clients": names
            } });
            send(&client, "/v1/setup/apply", &json!({ "choices": choices })).expect("applied");
            send(&client, "/v1/setup/confirm", &json!({})).expect("confirmed");
        };
        apply(1194, &["Laptop", "Lost"]);
        apply(1195, &["Laptop", "Lost"]);
        apply(1195, &["Laptop"]);
        let said = router.done(&["revert", "2"]);
        assert!(said.contains("leaving out Lost"), "{said}");
        let text = router.read(&format!("etc/config/{package}"));
        assert!(text.contains("1194") && text.contains("Laptop"), "{text}");
        assert!(!text.contains("Lost"), "{text}");
        let conf = router.read("etc/openvpn/weir/server.conf");
        assert!(
            conf.contains("port 1194") && !conf.contains("lost-"),
            "{conf}"
        );
        let mut all = files(&router);
        all.retain(|path| path.to_string_lossy().contains("lost-"));
        assert!(all.is_empty(), "{all:?}");
        router.done(&["confirm"]);
        // The server needs no further reload.
        let found: Value = client.get("/v1/setup").expect("a router");
        let asked = json!({ "choices": found["choices"] });
        let plan = send(&client, "/v1/setup/plan", &asked).expect("a plan");
        assert_eq!(plan["lines"], json!([]));
    }
}
