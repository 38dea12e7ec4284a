//! Tests of `weir setup export`, `import` and `serve`: choices as one document, and by the API.

mod many;
mod openvpn;
mod ports;
mod router;
mod serve;

use std::fs;
use std::process::Command;

use api::{Client, ClientError, Method};
use router::{Router, SHADOW};
use serde_json::{Value, json};

const HOME: &str = r#"
format = 1
[router]
name = "linde"
timezone = "Europe/Berlin"
password = "four horses in a tin can"
[wifi]
country = "DE"
networks = [{ ssid = "Zur Linde", key = "correct horse battery staple" }]
"#;

/// Checks the password with openssl, which implements crypt(3) too.
fn is_password(hash: &str, password: &str) -> bool {
    let salt = hash.split('$').nth(2).expect("a salt");
    let output = Command::new("openssl")
        .args(["passwd", "-6", "-salt", salt, password])
        .output()
        .expect("openssl runs");
    String::from_utf8_lossy(&output.stdout).trim() == hash
}

fn hash(shadow: &str) -> String {
    let root = shadow.lines().next().expect("root");
    root.split(':').nth(1).expect("a hash").to_owned()
}

fn send(client: &Client, path: &str, body: &Value) -> Result<Value, ClientError> {
    client.send(Method::POST, path, body)
}

#[test]
fn a_document_makes_a_hundred_nodes_the_same() {
    let first = Router::new("24.10");
    let said = first.import(HOME);
    assert!(
        said.contains("radio0 has the network Zur Linde, with WPA3 or WPA2."),
        "{said}"
    );
    assert!(
        !said.contains("battery") && !said.contains("horses"),
        "{said}"
    );
    first.done(&["confirm"]);
    assert_eq!(first.read("told").trim(), "system wireless");
    let password = hash(&first.read("etc/shadow"));
    assert!(
        is_password(&password, "four horses in a tin can"),
        "{password}"
    );

    let document = first.done(&["export"]);
    assert!(
        !document.contains("horses"),
        "the password itself: {document}"
    );
    for release in ["23.05", "24.10"] {
        let second = Router::new(release);
        second.import(&document);
        second.done(&["confirm"]);
        assert_eq!(second.read("etc/shadow").lines().count(), 2);
        assert_eq!(hash(&second.read("etc/shadow")), password);
        assert_eq!(second.done(&["export"]), document, "{release}");
        if release == "24.10" {
            assert_eq!(second.configuration(), first.configuration());
        }
        assert!(
            second
                .import(&document)
                .contains("no changes: the router matches")
        );
    }

    let public = first.done(&["export", "--without-secrets"]);
    for secret in ["battery", "$6$"] {
        assert!(!public.contains(secret), "{public}");
    }
    // Secrets that the document lacks stay unchanged.
    assert!(
        first
            .import(&public)
            .contains("no changes: the router matches")
    );
}

const NODE: &str = r#"
format = 1
[wifi]
country = "ES"
networks = [{ ssid = "guifi.net", security = "open", radios = ["radio0"] }]
[mesh]
kind = "batman"
name = "roofs"
key = "what the neighbours know"
radios = ["radio1"]
channel = 48
gateway = true
"#;

#[test]
fn another_node_joins_by_a_code() {
    let mut first = Router::new("24.10");
    assert!(
        first
            .refused(&["export", "--mesh"])
            .contains("not in a mesh")
    );
    assert!(first.import_refused(NODE).contains("lacks kmod-batman-adv"));
    first.write("lib/netifd/proto/batadv.sh", "");
    first.import(NODE);
    first.done(&["confirm"]);
    let document = first.done(&["export", "--mesh"]);
    assert!(
        !document.contains("guifi") && !document.contains("gateway"),
        "{document}"
    );
    assert!(first.done(&["export", "--mesh", "--qr"]).contains('█'));

    // The page's QR code is read as by a phone.
    let client = first.serve();
    let join: Value = client.get("/v1/setup/join").expect("a code");
    assert_eq!(join["document"], document);
    let read = read_code(&join["qr"]);
    assert_eq!(read.trim(), document.trim());

    let body = json!({"document": read});
    let asked = send(&client, "/v1/setup/read", &body).expect("choices");
    assert_eq!(asked["choices"]["mesh"]["name"], "roofs");
    let broken = send(
        &client,
        "/v1/setup/read",
        &json!({"document": "format = 1\n[mesh"}),
    );
    assert!(matches!(broken, Err(ClientError::Problem(_))), "{broken:?}");

    let second = Router::new("25.12");
    second.write("lib/netifd/proto/batadv.sh", "");
    // The channel selects the radio.
    second.import(&document);
    let wireless = second.read("etc/config/wireless");
    assert!(
        wireless.contains("option mesh_id 'roofs'") && wireless.contains("'ES'"),
        "{wireless}"
    );
    // The second router's own network stays unchanged.
    assert!(wireless.contains("option ssid 'OpenWrt'"), "{wireless}");
}

/// Returns the text of a QR code, drawn as on the page.
fn read_code(code: &Value) -> String {
    const SCALE: usize = 4;
    let side = code["side"]
        .as_u64()
        .and_then(|side| usize::try_from(side).ok());
    let side = side.expect("a side");
    let mut dark = vec![false; side * side];
    for module in code["path"].as_str().expect("a path").split('M').skip(1) {
        let (place, _) = module.split_once('h').expect("a square");
        let (x, y) = place.split_once(' ').expect("a place");
        let number = |text: &str| text.parse::<usize>().expect("a number");
        dark[number(y) * side + number(x)] = true;
    }
    let shade = |x: usize, y: usize| match dark[y / SCALE * side + x / SCALE] {
        true => 0,
        false => 255,
    };
    let pixels = side * SCALE;
    let mut picture = rqrr::PreparedImage::prepare_from_greyscale(pixels, pixels, shade);
    let grids = picture.detect_grids();
    grids[0].decode().expect("it can be read").1
}

#[test]
fn what_is_taken_back_takes_the_password_with_it() {
    let router = Router::new("25.12");
    let before = router.configuration();
    router.write("document.toml", HOME);
    let file = router.path("document.toml");
    let dry = router.done(&["import", "--dry-run", file.to_str().expect("text")]);
    assert!(dry.contains("+ shadow.root.password=(secret)"), "{dry}");
    assert_eq!(router.configuration(), before);

    router.import(HOME);
    assert_ne!(router.configuration(), before);
    assert_ne!(router.read("etc/shadow"), SHADOW);
    router.done(&["revert"]);
    assert_eq!(router.configuration(), before);
    assert_eq!(router.read("etc/shadow"), SHADOW);
}

#[test]
fn documents_that_cannot_be_are_refused() {
    let router = Router::new("24.10");
    let before = router.configuration();
    for (document, says) in [
        ("format = 2", "has format 2"),
        ("format = 0", "has format 0"),
        ("", "is empty"),
        ("# later\n", "begins with `format = 1`"),
        ("[router]\nname = \"a\"", "missing `format`"),
        ("[router]\nname = \"a\"", "begins with `format = 1`"),
        ("format = 1\n[wify]", "line 2: unknown field `wify`"),
        (
            "format = 1\n[router]\nname = \"a b\"",
            "router.name: not a valid name of a router",
        ),
        (
            "format = 1\n[router]\nname = \"a\"\npassword = \"short\"",
            "too short",
        ),
        (
            "format = 1\n[router]\nname = \"a\"\npassword = \"password1\"",
            "too easy to guess",
        ),
        (
            "format = 1\n[internet]\nkind = \"mobile\"\napn = \"x\"",
            "lacks uqmi",
        ),
        (
            "format = 1\n[lan]\naddress = \"192.168.1.0/24\"",
            "not a device's address",
        ),
        (
            "format = 1\n[wifi]\nnetworks = [{ssid = \"a\\nb\", security = \"open\"}]",
            "control character",
        ),
        (
            "format = 1\n[wireguard]\non = true\nclients = [{name = \"phone\"}]",
            "missing public key of phone",
        ),
    ] {
        let said = router.import_refused(document);
        assert!(said.contains(says), "{document}\n{said}");
        assert!(said.contains("Hint:") || said.contains(';'), "{said}");
    }
    // A truncated document would be another document.
    let long = format!(
        "format = 1\n{}[router]\nname = \"late\"\n",
        "# more\n".repeat(40_000)
    );
    let said = router.import_refused(&long);
    let length = format!("has {} bytes: at most 262144 are allowed", long.len());
    assert!(said.contains(&length), "{said}");
    // The limit applies at any byte, also within a character.
    let umlauts = format!("format = 1\n#{}", "ä".repeat(140_000));
    assert!(
        router
            .import_refused(&umlauts)
            .contains("at most 262144 are allowed")
    );
    let wide = format!("format = 1\nx = \"{}\"", "y".repeat(100_000));
    assert!(router.import_refused(&wide).len() < 1000);
    assert!(
        router
            .refused(&["import", "/nonexistent"])
            .contains("/nonexistent")
    );
    router.write("changes/network", "network.lan.proto='dhcp'\n");
    assert!(
        router
            .import_refused(HOME)
            .contains("uncommitted changes of `uci` in network")
    );
    fs::remove_file(router.path("changes/network")).expect("removed");

    // For an unknown release the changes are shown, but not applied.
    let unknown = "DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='29.02.0'\n";
    router.write("etc/openwrt_release", unknown);
    assert!(
        router
            .import_refused(HOME)
            .contains("weir does not support OpenWrt 29.02.0")
    );
    assert_eq!(router.configuration(), before);
    assert_eq!(router.read("etc/shadow"), SHADOW);
}

#[test]
fn the_rule_of_four_classes_is_a_policy() {
    let router = Router::new("24.10");
    let text = router.read("weir.toml") + "password = \"classes\"\n";
    router.write("weir.toml", &text);
    let with =
        |password: &str| format!("format = 1\n[router]\nname = \"a\"\npassword = \"{password}\"\n");
    let said = router.import_refused(&with("four horses in a tin can"));
    assert!(said.contains("all four kinds"), "{said}");
    assert!(
        router
            .import_refused(&with("Aa1!Aa1!x"))
            .contains("10 characters")
    );
    router.import(&with("Wq7!-plinth-Rou"));
}

const FORWARD: &str = "format = 1\n[firewall]\nforwards = [{ name = \"NAME\", port = \"80\", to = \"192.168.1.9\" }]\n";

/// Installs a simulated fw4 with the verdict of `test`; nft lists the table if `loaded` exists.
fn with_firewall(router: &Router, test: &str) {
    let script = |name: &str, text: &str| {
        router.write(
            name,
            &format!("#!/bin/sh\ncd {}\n{text}\n", router.path("").display()),
        );
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(router.path(name), mode).expect("a program");
    };
    let fw4 = format!(
        "echo \"$@\" >> judged\nif {test}; then exit; fi\n\
         echo 'Section @redirect[0] is odd' >&2\n\
         echo '/dev/stdin:1:1-1: Error: syntax error, unexpected string' >&2\nexit 1"
    );
    script("sbin/fw4", &fw4);
    script("usr/sbin/nft", "test -e loaded");
    router.write("loaded", "");
}

#[test]
fn rules_that_the_firewall_refuses_are_taken_back() {
    let router = Router::new("23.05");
    with_firewall(&router, "! grep -q BAD etc/config/firewall");
    let before = router.configuration();
    let said = router.import_refused(&FORWARD.replace("NAME", "BAD"));
    assert!(
        said.contains("the firewall refuses its new rules")
            && said.contains("Error: syntax error, unexpected string")
            && !said.contains("is odd")
            && said.contains("the former configuration is restored"),
        "{said}"
    );
    assert_eq!(router.configuration(), before);
    assert_eq!(router.read("judged"), "check\ncheck\n");
    // No change is pending, and valid rules are accepted.
    router.import(&FORWARD.replace("NAME", "good"));
    router.done(&["confirm"]);
    // The firewall does not judge changes of files that the firewall does not read.
    router.import("format = 1\n[router]\nname = \"linde\"\n");
    router.done(&["confirm"]);
    assert_eq!(router.read("judged"), "check\n".repeat(4));
    // If the rules were refused before, the change is not the cause, and may be the repair.
    let text = router
        .read("etc/config/firewall")
        .replace("'good'", "'BAD'");
    router.write("etc/config/firewall", &text);
    router.import("format = 1\n[lan]\naddress = \"192.168.1.2/24\"\n");
    router.done(&["confirm"]);
}

/// fw4 also reads pending changes of `uci`: fw4 refuses such rules before the change is made.
#[test]
fn rules_that_wait_by_uci_are_judged() {
    let router = Router::new("24.10");
    with_firewall(&router, "! grep -rq BAD etc/config/firewall changes");
    let before = router.configuration();
    router.write(
        "changes/firewall",
        "firewall.odd='rule'\nfirewall.odd.name='BAD'\n",
    );
    let said = router.refused(&["apply"]);
    assert!(
        said.contains("the firewall refuses its new rules"),
        "{said}"
    );
    assert_eq!(router.configuration(), before);
    // If the rules are not in the kernel either, the change is not the cause.
    fs::remove_file(router.path("loaded")).expect("removed");
    router.done(&["apply"]);
}

#[test]
fn a_firewall_that_goes_with_a_change_takes_the_change_back() {
    let router = Router::new("24.10");
    with_firewall(&router, "true");
    let before = router.configuration();
    router.write(
        "reload",
        &format!("#!/bin/sh\nrm -f {}\n", router.path("loaded").display()),
    );
    let said = router.import_refused(&FORWARD.replace("NAME", "web"));
    assert!(said.contains("the firewall does not run"), "{said}");
    assert_eq!(router.configuration(), before);
    // A firewall that did not run before is left alone.
    router.import(&FORWARD.replace("NAME", "web"));
}

#[test]
fn what_overrides_the_configuration_is_not_changed_in_vain() {
    let router = Router::new("24.10");
    router.write("var/run/uci/firewall", "config defaults\n");
    let before = router.configuration();
    let said = router.import_refused(&FORWARD.replace("NAME", "web"));
    assert!(
        said.contains("var/run/uci/firewall overrides that file"),
        "{said}"
    );
    assert_eq!(router.configuration(), before);
    router.import("format = 1\n[router]\nname = \"linde\"\n");
}

#[test]
fn a_password_that_stays_is_not_in_the_summary() {
    let router = Router::new("24.10");
    router.import(HOME);
    router.done(&["confirm"]);
    let document = router.done(&["export"]);
    assert!(document.contains("password_hash"), "{document}");
    let said = router.import(&document.replace("linde", "erle"));
    assert!(said.contains("The router is called erle."), "{said}");
    assert!(
        !said.contains("password") && !said.contains("rules of DE"),
        "{said}"
    );
}
