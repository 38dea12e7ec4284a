//! Tests of `weir check` in routers of the lab: findings on devices, rules and qdiscs, with and
//! without a daemon. Needs root.

use crate::router;
use std::process::Command;

use datapath::{Datapath, Hook, Options, Port, Sizes};
use lab::Lab;
use lab::gateway;
use lab::namespace::Namespace;
use serde_json::{Value, json};
use testing::Directory;

/// Runs `weir check` in a namespace, without a daemon unless `socket` names one's socket.
fn check(node: &Namespace, options: &[&str], socket: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .arg("check")
        .args(options)
        .env("WEIR_SOCKET", socket)
        .env_remove("NO_COLOR");
    let output = node
        .enter(|| command.output())
        .expect("entered")
        .expect("runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (
        output.status.code(),
        String::from_utf8(output.stdout).expect("text"),
    )
}

fn report(node: &Namespace) -> (Option<i32>, Value) {
    let (code, text) = check(node, &["--json"], "/nonexistent/weir.sock");
    (code, serde_json::from_str(&text).expect("one document"))
}

fn device<'a>(report: &'a Value, name: &str) -> &'a Value {
    let devices = report["devices"].as_array().expect("a list");
    let found = devices.iter().find(|device| device["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {devices:?}"))
}

/// Parses `6.1.0-50-amd64` to 6 and 1.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    (next().unwrap_or(0), next().unwrap_or(0))
}

fn gateway() -> Lab {
    Lab::gateway(&gateway::Options::default()).expect("a lab, as root")
}

#[test]
fn a_plain_router_can_be_used() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    let (code, report) = report(router);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["running"], false);
    assert_eq!(report["ruleset_read"], true);
    assert_eq!(report["firewall"], json!([]));
    for name in ["lan0", "wan0"] {
        assert_eq!(device(&report, name)["hook"], "tc", "{report:#}");
    }
    assert_eq!(report["devices"].as_array().map(Vec::len), Some(2), "no lo");
    let features = report["features"].as_array().expect("a list");
    // The tests' kernel has every feature of its version: a failing probe must not go unnoticed.
    let running = version(report["kernel"].as_str().expect("text"));
    for feature in features {
        let since = feature["min_version"].as_str().map_or((0, 0), version);
        let expected = feature["required"] == true || running >= since;
        assert!(feature["present"] == true || !expected, "{feature:#}");
    }
    for name in [
        "kernel",
        "bpf()",
        "TCX",
        "conntrack events",
        "nf_tables generations",
        "the packet path",
        "memory for the table",
    ] {
        assert!(features.iter().any(|f| f["name"] == name), "{name}");
    }
}

/// A partner adds rows of requirements; the tests' kernel meets all of them except for a disabled
/// switch.
#[test]
fn multipath_has_its_own_rows() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    let folder = Directory::new();
    let pair = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["multipath", "pair", "203.0.113.10", "--state"])
        .arg(folder.path())
        .output()
        .expect("runs");
    let line = String::from_utf8(pair.stdout).expect("text");
    let file = folder.join("weir.toml");
    let text = format!("[multipath]\npartner = {:?}\n", line.trim());
    std::fs::write(&file, text).expect("written");
    let rows = |options: &[&str]| -> Vec<Value> {
        let (code, text) = check(
            router,
            &[&["--json"], options].concat(),
            "/nonexistent/weir.sock",
        );
        assert_eq!(code, Some(0), "none of them is required: {text}");
        let report: Value = serde_json::from_str(&text).expect("one document");
        let features = report["features"].as_array().expect("a list");
        let names = [
            "MPTCP",
            "nft tproxy",
            "nft socket",
            "nft fib",
            "policy routing",
            "TUN",
        ];
        let of = |feature: &&Value| names.iter().any(|name| feature["name"] == *name);
        features.iter().filter(of).cloned().collect()
    };
    assert_eq!(rows(&[]), [] as [Value; 0], "without a partner");
    let options = ["--config", file.to_str().expect("text")];
    let ruleset = || router.run("nft list ruleset").expect("runs");
    let before = ruleset();
    let there = rows(&options);
    assert_eq!(there.len(), 6, "{there:#?}");
    assert!(there.iter().all(|row| row["present"] == true), "{there:#?}");
    assert_eq!(ruleset(), before, "only tried");
    router.sysctl("net.mptcp.enabled", 0).expect("set");
    let off = rows(&options);
    let missing: Vec<_> = off.iter().filter(|row| row["present"] == false).collect();
    assert_eq!(missing.len(), 1, "{missing:#?}");
    assert_eq!(missing[0]["hint"], "sysctl net.mptcp.enabled=1");
}

/// Names and kinds of all JSON fields are part of the interface.
#[test]
fn json_has_this_shape() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    router
        .nft(
            "table inet f { chain c { type filter hook forward priority 0; limit rate 10/second \
            accept; }; }",
        )
        .expect("rules");
    router.sysctl("net.ipv4.ip_forward", 0).expect("set");
    router
        .sysctl("net.ipv6.conf.all.forwarding", 0)
        .expect("set");
    let (code, report) = report(router);
    assert_eq!(code, Some(1), "nothing is forwarded");
    let fields = |value: &Value| -> Vec<String> {
        let object = value.as_object().expect("an object");
        object.keys().cloned().collect()
    };
    assert_eq!(
        fields(&report),
        [
            "devices",
            "features",
            "firewall",
            "kernel",
            "ruleset_read",
            "running"
        ]
    );
    assert_eq!(
        device(&report, "lan0"),
        &json!({
            "name": "lan0",
            "why": "forwarding is off here for IPv4 and IPv6",
            "hint": "enable forwarding (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding)",
        })
    );
    assert_eq!(
        fields(&report["firewall"][0]),
        ["hint", "noted", "place", "statement", "what"]
    );
    assert_eq!(
        report["features"][0],
        json!({
            "name": "kernel",
            "min_version": "5.15",
            "present": true,
            "required": false,
            "why_needed": "Older kernels lack features, unless their distribution added them.",
        })
    );
}

#[test]
fn rules_that_see_each_packet_are_named() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    router
        .nft(
            "table inet f {
               chain c { type filter hook forward priority -10; policy accept;
                 limit rate 10/second accept
                 counter
                 ct state new limit rate 5/second accept
               }
             }",
        )
        .expect("rules");
    let (code, report) = report(router);
    assert_eq!(code, Some(0), "single rules do not stop weir: {report:#}");
    let firewall = report["firewall"].as_array().expect("a list");
    let of = |noted: bool| -> Vec<&str> {
        firewall
            .iter()
            .filter(|finding| finding["noted"] == noted)
            .filter_map(|finding| finding["place"].as_str())
            .collect()
    };
    assert_eq!(of(false).len(), 1, "{firewall:#?}");
    assert!(of(false)[0].starts_with("inet f c, handle "));
    assert_eq!(of(true).len(), 1, "{firewall:#?}");

    let (_, text) = check(router, &[], "/nonexistent/weir.sock");
    assert!(text.contains("a rate limit counts packets"), "{text}");
    assert!(text.contains("1 more, merely worth knowing"), "{text}");
    let (_, verbose) = check(router, &["--verbose"], "/nonexistent/weir.sock");
    assert!(verbose.contains("a counter counts only"), "{verbose}");
    for line in text.lines().chain(verbose.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_chain_at_ingress_and_a_shaper_are_kept() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    router
        .nft(
            "table netdev n { chain early { type filter hook ingress device wan0 priority 0; \
            policy accept; }; }",
        )
        .expect("rules");
    let (_, told) = report(router);
    let place = told["firewall"][0]["place"].as_str().expect("text");
    assert!(place.starts_with("netdev n early, handle "), "{place}");
    // The test skips lan0: nft 1.0.6 does not show the chain's device, so weir leaves every device
    // alone.
    let wan = device(&told, "wan0");
    assert_eq!(
        wan["hook"], "tc",
        "what leaves there does not come by the chain"
    );
    assert_eq!(
        wan["notes"],
        json!([{
            "what": "incoming traffic is left to the \
                kernel: the nftables chain netdev n early would be skipped",
            "hint": "move the chain's rules to prerouting or forward",
        }])
    );

    router.nft("delete table netdev n").expect("rules");
    router
        .run("tc qdisc add dev wan0 root handle 1: htb default 1")
        .expect("HTB");
    let (code, told) = report(router);
    assert_eq!(code, Some(0));
    let why = device(&told, "wan0")["why"].as_str().expect("text");
    assert!(
        why.ends_with("its qdisc htb is kept: packets that leave here pass through it"),
        "{why}"
    );
    let why = device(&told, "lan0")["why"].as_str().expect("text");
    assert!(!why.contains("qdisc"), "{why}");
}

#[test]
fn what_stands_on_a_device_is_shown_with_what_it_forbids() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    for line in [
        "ip link add br0 type bridge",
        "ip link set br0 up",
        "ip link set lan0 master br0",
        "sysctl -qw net.ipv4.conf.br0.forwarding=1",
        "tc qdisc add dev br0 root handle 1: htb default 1",
        "tc qdisc add dev wan0 clsact",
        "tc filter add dev wan0 ingress protocol ip u32 match u32 0 0 flowid 1:1",
    ] {
        router.run(line).expect(line);
    }
    let (code, report) = report(router);
    assert_eq!(code, Some(0), "{report:#}");
    let [lan, wan, br0] = ["lan0", "wan0", "br0"].map(|name| device(&report, name));
    assert_eq!(
        (&lan["hook"], &lan["carries"]),
        (&json!("tc"), &json!(["br0"]))
    );
    let text = |device: &Value| {
        device["notes"][0]["what"]
            .as_str()
            .expect("text")
            .to_owned()
    };
    assert_eq!(
        text(lan),
        "outgoing traffic is left to the kernel: at br0 above it, the qdisc htb would be skipped"
    );
    assert_eq!(
        text(wan),
        "incoming traffic is left to the kernel: filter u32 at TC ingress would be skipped"
    );
    assert_eq!(
        (br0.get("hook"), &br0["lower_devices"]),
        (None, &json!(["lan0"]))
    );
    assert_eq!(br0["why"], "its packets are forwarded at lan0");

    let (_, shown) = check(router, &[], "/nonexistent/weir.sock");
    assert!(shown.contains("  below    br0\n"), "{shown}");
    assert!(shown.contains("carries br0"), "{shown}");
    // A daemon reports equal devices from its own observation.
    let daemon = router::Daemon::start(router, "", |_| {});
    daemon.wait_for_ports(&["lan0", "wan0"]);
    let socket = daemon.socket();
    let socket = socket.to_str().expect("text");
    let (_, told) = check(router, &["--json"], socket);
    let told: Value = serde_json::from_str(&told).expect("one document");
    assert_eq!(told["running"], true);
    assert_eq!(told["devices"], report["devices"]);
    // The daemon notices a change.
    router
        .run("tc filter del dev wan0 ingress")
        .expect("deleted");
    daemon.wait("the filter is gone", |daemon| {
        daemon
            .port("wan0")
            .is_some_and(|port| port.stack.limits.is_empty())
    });
    router
        .run("tc filter add dev br0 parent 1: protocol ip u32 match u32 0 0 flowid 1:1")
        .expect("added");
    router.run("tc qdisc add dev br0 ingress").expect("added");
    router
        .run("tc filter add dev br0 parent ffff: protocol ip u32 match u32 0 0 flowid 1:1")
        .expect("added");
    daemon.wait("lan0 is left alone", |daemon| {
        daemon
            .port("lan0")
            .is_some_and(|port| port.hook.is_none() && port.stack.limits.len() == 2)
    });
    router
        .run("ip link set lan0 nomaster")
        .expect("out of the bridge");
    daemon.wait_for_ports(&["lan0"]);
    let lan = daemon.port("lan0").expect("a port");
    assert!(lan.stack.is_empty(), "{lan:?}");
}

#[test]
fn a_program_of_somebody_else_is_left_alone() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    let link = lab.index("router", "lan0").expect("an index");
    // The program cannot leave the thread that loaded it.
    let look = || {
        let mut path = Datapath::load(Sizes::new(4, 4, &[link]), Options::default())?;
        let port = Port::new(link, [2, 0, 0, 0, 0, 1], false);
        path.attach(&port, "lan0", Hook::Xdp)?;
        Ok::<_, datapath::Error>(report(router))
    };
    let (_, with) = router.enter(look).expect("entered").expect("attached");
    let (_, without) = report(router);
    assert_eq!(
        device(&with, "lan0")["why"],
        "a foreign XDP program is attached"
    );
    assert_eq!(device(&without, "lan0")["hook"], "tc");
}

#[test]
fn devices_are_as_a_running_daemon_has_them() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    let daemon = router::Daemon::start(router, "[ports.lan0]\nhook = \"xdp\"\n", |_| {});
    daemon.wait_for_ports(&["lan0", "wan0"]);
    // The check itself does not read this configuration: the answer comes from the daemon.
    let socket = daemon.socket();
    let socket = socket.to_str().expect("text");
    let (code, text) = check(router, &["--json"], socket);
    let report: Value = serde_json::from_str(&text).expect("one document");
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["running"], true);
    assert_eq!(device(&report, "lan0")["hook"], "xdp");
    // The check ignores a daemon of another namespace.
    let client = lab.node("client").expect("a client");
    let (_, text) = check(client, &["--json"], socket);
    let report: Value = serde_json::from_str(&text).expect("one document");
    assert_eq!(report["running"], false);
}

/// Without privileges the check reports this, and claims nothing that it could not try.
#[test]
fn without_privileges_it_says_so() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    let mut command = Command::new("setpriv");
    command
        .args([
            "--bounding-set=-all",
            "--inh-caps=-all",
            env!("CARGO_BIN_EXE_weir"),
            "check",
        ])
        .env("WEIR_SOCKET", "/nonexistent/weir.sock");
    let output = router
        .enter(|| command.output())
        .expect("entered")
        .expect("setpriv runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("MISSING  privileges"), "{text}");
    assert!(text.contains("Hint: run it as root"), "{text}");
    assert!(!text.contains("MISSING  XDP"), "{text}");
    assert!(text.contains("cannot read the rules"), "{text}");
}
