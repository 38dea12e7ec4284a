//! Sets a router up from a browser in its LAN. The daemon serves the page and may write no system
//! file; `weir setup serve` changes the configuration. The administrator confirms the change at the
//! new address after a new log-in.

mod router;

use std::process::Stdio;
use std::time::Duration;

use lab::namespace::wait_until;
use lab::{Error, gateway};
use router::Router;
use serde_json::{Value, json};
use weir_tests::{LIMIT, binary};

#[test]
fn a_new_address_is_confirmed_where_it_leads() -> Result<(), Error> {
    let router = Router::new()?;
    let old = "192.168.1.1";
    assert_eq!(
        router.ask(old, "v1/setup", None)?.0,
        401,
        "nobody without a password"
    );
    router.claim(old)?;
    let found = router.told(old, "v1/setup", None)?;
    assert_eq!(found["release"]["version"], "24.10.1");
    let mut choices = found["choices"].clone();
    // Detects the uplink. The daemon itself may send no such frames.
    let look = json!({"port": "wan0"});
    router.told(old, "v1/setup/detect", Some(&look))?;
    let mut seen = Value::Null;
    wait_until("the uplink is looked at", LIMIT, || {
        // The page's rate: each request has a new handshake, and a client with constant handshakes
        // is rejected.
        std::thread::sleep(Duration::from_millis(300));
        seen = router.told(old, "v1/setup/detect", None)?;
        Ok(seen["running"] == false)
    })?;
    assert_eq!(
        (&seen["port"], &seen["failed"]),
        (&json!("wan0"), &Value::Null),
        "{seen}"
    );
    assert!(
        seen["evidence"]
            .as_array()
            .is_some_and(|heard| !heard.is_empty()),
        "{seen}"
    );
    assert!(seen["suggestion"]["open_questions"].is_array(), "{seen}");

    choices["router"]["name"] = "linde".into();
    choices["router"]["password"] = "four horses in a tin can".into();
    choices["lan"]["address"] = "192.168.77.1/24".into();
    let plan = router.told(old, "v1/setup/plan", Some(&json!({"choices": choices})))?;
    assert_eq!(plan["problems"], json!([]));
    let apply = json!({"choices": choices, "why": "first set-up", "within": 60});

    // A foreign page's request: without the token it has no effect.
    let csrf = router.folder.join(format!("csrf-{old}"));
    let token = std::fs::read_to_string(&csrf).map_err(Error::system("read the token"))?;
    std::fs::write(&csrf, "0").map_err(Error::system("keep another"))?;
    assert_eq!(router.ask(old, "v1/setup/apply", Some(&apply))?.0, 403);
    std::fs::write(&csrf, token).map_err(Error::system("keep the token"))?;

    // The answer precedes the loss of the address.
    let done = router.told(old, "v1/setup/apply", Some(&apply))?;
    assert_eq!(done["address"], "192.168.77.1");
    wait_until("the address goes", LIMIT, || {
        let shown = router.lab.node("router")?.ip("address show dev lan0")?;
        Ok(shown.contains("192.168.77.1/24"))
    })?;
    router.client_moves("192.168.77.2")?;
    let new = "192.168.77.1";
    let confirm = json!({});
    assert_eq!(
        router.ask(new, "v1/setup/confirm", Some(&confirm))?.0,
        401,
        "not logged in there"
    );
    router.log_in(new)?;
    let found = router.told(new, "v1/setup", None)?;
    assert_eq!(found["pending"]["why"], "first set-up");
    router.told(new, "v1/setup/confirm", Some(&confirm))?;
    let shadow = std::fs::read_to_string(router.folder.join("etc/shadow"));
    assert!(shadow.is_ok_and(|shadow| shadow.starts_with("root:$6$")));
    let found = router.told(new, "v1/setup", None)?;
    assert_eq!(found["pending"], Value::Null);
    assert_eq!(found["choices"]["router"]["name"], "linde");

    // Without the setup process the page names the service to start.
    router.serving.stop();
    let (code, problem) = router.ask(new, "v1/setup", None)?;
    assert_eq!(code, 503, "{problem}");
    assert_eq!(problem["error"], "setup_not_running");
    let hint = problem["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("weir-setup"), "{hint}");
    Ok(())
}

#[test]
fn a_browser_in_the_lan_sets_the_router_up() -> Result<(), Error> {
    let router = Router::new()?;
    let code = router.code()?;
    router.browse("192.168.1.1", "begin", &code)?;
    router.client_moves("192.168.77.2")?;
    router.browse("192.168.77.1", "confirm", "")?;
    let read = |name: &str| {
        std::fs::read_to_string(router.folder.join("etc").join(name)).unwrap_or_default()
    };
    assert!(read("config/system").contains("option hostname 'linde'"));
    assert!(read("config/network").contains("option ipaddr '192.168.77.1'"));
    assert!(read("shadow").starts_with("root:$6$"), "{}", read("shadow"));
    // Disabled open networks leave only the user's choices.
    let wireless = read("config/wireless");
    assert!(wireless.contains("option ssid 'Zur Linde'") && !wireless.contains("'none'"));
    router.log_in("192.168.77.1")?;
    let found = router.told("192.168.77.1", "v1/setup", None)?;
    assert_eq!(found["pending"], Value::Null);
    Ok(())
}

/// While a change is pending, the page shows the router's reachability.
#[test]
fn how_far_the_router_gets_is_told() -> Result<(), Error> {
    let router = Router::new()?;
    let node = router.lab.node("router")?;
    let weir = |words: &[&str]| {
        let mut command = node.command(&binary().display().to_string());
        command.arg("setup").args(words).arg("--config");
        let output = command.arg(router.folder.join("weir.toml")).output();
        output.map_err(Error::system("run weir"))
    };
    let reach = || -> Result<Value, Error> {
        let output = weir(&["show", "--json"])?;
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        Ok(json!([shown["reach"]["way"], shown["reach"]["whom"]]))
    };
    assert_eq!(reach()?, json!([null, null]), "nothing waits");
    let file = router.folder.join("name.toml");
    std::fs::write(&file, "format = 1\n[router]\nname = \"linde\"\n")
        .map_err(Error::system("write a document"))?;
    let output = weir(&["import", &file.display().to_string()])?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    assert_eq!(reach()?, json!(["no-route", null]));
    let nobody = "10.0.0.250";
    node.ip(&format!("route add default via {nobody} dev wan0"))?;
    assert_eq!(reach()?, json!(["no-gateway", nobody]));
    let server = gateway::SERVER.to_string();
    node.ip(&format!("route replace default via {server} dev wan0"))?;
    assert_eq!(reach()?, json!(["no-names", null]));
    let servers = format!("nameserver {nobody}\nnameserver {server}\n");
    std::fs::write(router.folder.join("etc/resolv.conf"), servers)
        .map_err(Error::system("name servers"))?;
    assert_eq!(reach()?, json!(["no-names", format!("{nobody}, {server}")]));

    // A resolver without an upstream refuses; the other knows the root.
    for (root, way) in [(None, "no-names"), (Some("--dns-rr=.,2,00"), "reached")] {
        let far = router.lab.node("server")?;
        let mut dnsmasq = far.command("dnsmasq");
        dnsmasq.args([
            "--no-daemon",
            "--conf-file=/dev/null",
            "--pid-file=",
            "--user=root",
        ]);
        dnsmasq.args(["--no-resolv", "--no-hosts"]).args(root);
        dnsmasq.stderr(Stdio::null());
        let _dnsmasq = far.start(&mut dnsmasq)?;
        wait_until("a server of names answers", LIMIT, || {
            Ok(far
                .run("dig +time=1 +tries=1 @127.0.0.1 weir.example")
                .is_ok())
        })?;
        assert_eq!(reach()?[0], way);
    }
    let output = weir(&["show"])?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("awaits confirmation"), "{said}");
    Ok(())
}
