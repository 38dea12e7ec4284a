//! Tests of `weir multipath` at the partner: routers, pairing lines, ports and limits.

use crate::support::{Directory, run};

#[test]
fn a_pairing_is_a_line_and_a_code_if_asked_for() {
    let directory = Directory::new();
    let state = directory.path().to_str().expect("text");
    let pair = |more: &[&str]| run(&[&["multipath", "pair", "--state", state], more].concat());
    let plain = pair(&["partner.example"]);
    assert_eq!((plain.code, plain.err.as_str()), (Some(0), ""));
    assert_eq!(plain.out.lines().count(), 1, "for a script: {}", plain.out);
    assert!(plain.out.trim_end().ends_with("@partner.example:9349"));
    let with_code = pair(&["partner.example", "--qr"]);
    let lines: Vec<_> = with_code.out.lines().collect();
    assert_ne!(
        lines[0],
        plain.out.trim_end(),
        "each router has its own key"
    );
    assert!(lines.len() > 15 && lines[1].chars().all(|letter| letter == '█'));
    let width = lines[1].chars().count();
    assert!(width <= 60, "{width} columns");
    assert!(lines[1..].iter().all(|row| row.chars().count() == width));
    for wrong in [
        "no address",
        "",
        "127.0.0.1",
        "[::1]:443",
        "0.0.0.0",
        "[::]",
        "224.0.0.1",
    ] {
        let told = pair(&[wrong]);
        assert_eq!((told.code, told.out.as_str()), (Some(1), ""), "{wrong}");
        assert!(
            told.err.contains("Hint: give a name or an address"),
            "{}",
            told.err
        );
    }
    let names = ["--name", "home", "partner.example"];
    assert_eq!(pair(&names).err, "");
    let again = pair(&names);
    assert_eq!(again.code, Some(0));
    assert!(
        again.err.contains("warning: another router is called home"),
        "{}",
        again.err
    );
}

/// For each file of a partner, the error names the problem, the file and a remedy.
#[test]
fn what_is_wrong_with_a_partners_state_is_told_of_the_file() {
    let directory = Directory::new();
    let state = directory.path().to_str().expect("text");
    let told = |arguments: &[&str]| {
        let told = run(&[&["multipath"], arguments, &["--state", state]].concat());
        assert!(told.code != Some(0) && told.out.is_empty(), "{}", told.out);
        told.err
    };
    std::fs::create_dir(directory.path().join("routers")).expect("a folder");
    let list = told(&["list"]);
    assert!(
        list.starts_with("weir: the partner's state cannot be used\n"),
        "{list}"
    );
    assert!(
        list.contains("routers") && list.contains("look at what is there"),
        "{list}"
    );
    std::fs::remove_dir(directory.path().join("routers")).expect("removed");
    std::fs::write(directory.path().join("key"), "short").expect("written");
    let key = told(&["pair", "partner.example"]);
    assert!(
        key.starts_with("weir: the partner's key cannot be used\n"),
        "{key}"
    );
    assert!(
        key.contains("it must have 32 bytes") && !key.contains("as root"),
        "{key}"
    );
    let door = told(&["serve", "--listen", "[::]:0"]);
    assert!(door.contains("ports are 1 to 65535"), "{door}");
    for (option, net) in [
        ("--tunnel", "10.93.0.0/31"),
        ("--tunnel", "fd00::/64"),
        ("--tunnel6", "10.1.0.0/24"),
    ] {
        let told = told(&["serve", option, net]);
        assert!(told.contains("network with room for two"), "{told}");
    }
}

#[test]
fn a_router_is_listed_given_another_key_and_sent_away() {
    let directory = Directory::new();
    let folder = directory.path().join("state");
    let state = folder.to_str().expect("text");
    let told = |command: &str, more: &[&str]| {
        run(&[&["multipath", command, "--state", state], more].concat())
    };
    let empty = told("list", &[]);
    assert_eq!((empty.code, empty.err.as_str()), (Some(0), ""));
    assert!(empty.out.contains("no routers"), "{}", empty.out);
    assert!(!folder.exists(), "to look changes nothing");
    let pair = |name: &str| told("pair", &["partner.example", "--name", name]).out;
    let old = pair("home");
    pair("other");
    let wrong = told("rotate", &["home", "no address"]);
    assert!(wrong.err.contains("Hint: give a name or an address"));
    let new = told("rotate", &["home", "partner.example:9000"]);
    assert_eq!((new.code, new.err.as_str()), (Some(0), ""));
    assert!(new.out.trim_end().ends_with("@partner.example:9000"));
    assert_ne!(new.out.split('@').next(), old.split('@').next());
    assert_eq!(told("limit", &["other", "500"]).code, Some(0));
    assert!(told("list", &[]).out.contains("0 of 500"));
    assert!(
        told("list", &["--json"]).out.contains("\"limit\":500")
            || told("list", &["--json"]).out.contains("\"limit\": 500")
    );
    let wrong = told("limit", &["other", "few"]);
    assert!(
        wrong.err.contains("a number of connections"),
        "{}",
        wrong.err
    );
    assert_eq!(told("limit", &["other", "none"]).code, Some(0));
    assert!(!told("list", &[]).out.contains(" of "));
    let sent = told("revoke", &["other"]);
    assert_eq!(
        (sent.code, sent.out.as_str(), sent.err.as_str()),
        (Some(0), "", "")
    );
    let nobody = told("revoke", &["other"]);
    assert_eq!(nobody.code, Some(1));
    assert_eq!(
        nobody.err,
        "weir: no router other\n  Hint: see `weir multipath list`\n"
    );
    let list = told("list", &[]).out;
    let of = |name: &str, state: &str| {
        let mut rows = list.lines().filter(|row| row.starts_with(name));
        rows.any(|row| row.contains(state))
    };
    assert!(of("home", "waits") && of("home", "revoked"), "{list}");
    assert!(of("other", "revoked") && !of("other", "waits"), "{list}");
    let json: serde_json::Value =
        serde_json::from_str(&told("list", &["--json"]).out).expect("a document");
    assert_eq!(json["routers"][0]["state"], "waits");
    assert!(json["at"].is_null() && json["routers"][0]["last_seen"].is_null());
}

#[test]
fn ports_are_given_to_one_router_each() {
    let directory = Directory::new();
    let state = directory.path().to_str().expect("text");
    let told = |command: &str, more: &[&str]| {
        run(&[&["multipath", command, "--state", state], more].concat())
    };
    let pair = |name: &str, port: &str| {
        told(
            "pair",
            &["partner.example", "--name", name, "--forward", port],
        )
    };
    assert_eq!(pair("home", "udp/8000-8099").code, Some(0));
    let twice = pair("other", "udp/8050");
    assert_eq!((twice.code, twice.out.as_str()), (Some(1), ""));
    assert_eq!(
        twice.err,
        "weir: udp/8050 already forwarded to router home\n  \
         Hint: use another port, or remove it there by `weir multipath forward home`\n"
    );
    assert!(
        pair("other", "tcp/9349")
            .err
            .contains("routers connect to port 9349")
    );
    assert_eq!(pair("other", "tcp/0").code, Some(2));
    let nobody = told("forward", &["nobody", "tcp/80"]);
    assert!(nobody.err.contains("no router nobody"), "{}", nobody.err);
    // The other entries of the list stay.
    let taken = told("forward", &["home"]);
    assert_eq!((taken.code, taken.err.as_str()), (Some(0), ""));
    assert_eq!(pair("other", "udp/8050").code, Some(0));

    let listener = std::net::TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let warned = told("forward", &["home", &format!("tcp/{port}")]);
    assert_eq!(warned.code, Some(0));
    let what = format!("something listens on tcp/{port} of this machine");
    assert!(warned.err.contains(&what), "{}", warned.err);
}
