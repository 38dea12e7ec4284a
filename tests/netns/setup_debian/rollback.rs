//! Rollbacks: unconfirmed changes, killed runs, settings that a service refuses.

use lab::Error;
use lab::namespace::wait_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weir_tests::LIMIT;

use crate::setup_debian::router::unexpected;
use crate::setup_debian::{Conversation, Scene};

#[test]
fn the_former_state_comes_back() -> Result<(), Error> {
    let scene = Scene::begin()?;
    an_address_that_nobody_confirms_goes_away(&scene)?;
    // The changes are pending again, for a correction.
    scene.router.run("rm -rf /run/uci-changes")?;
    what_a_service_does_not_take_is_taken_back(&scene)?;
    scene.router.run("rm -rf /run/uci-changes")?;
    killed_in_the_middle_the_former_state_comes_back(&scene)
}

/// Without a confirmation, the LAN's old address returns, and older connections continue.
fn an_address_that_nobody_confirms_goes_away(scene: &Scene) -> Result<(), Error> {
    let router = &scene.router;
    let address = scene.lease("client", "192.168.1.1")?;
    scene.reaches("client")?;
    let mut talk = Conversation::begin(scene)?;
    talk.say(b"first")?;

    router.uci("set network.lan.ipaddr=192.168.7.1")?;
    router.setup("apply --within 5")?;
    router.wait("br-lan", "192.168.7.1/24")?;
    assert!(!router.has("br-lan", "192.168.1.1/24")?);
    assert!(router.read("dnsmasq.d/weir.conf").contains("192.168.7.100"));
    // No confirmation arrives.
    router.wait("br-lan", "192.168.1.1/24")?;
    assert!(!router.has("br-lan", "192.168.7.1/24")?);
    talk.say(b"again")?;
    scene.reaches("client")?;
    wait_until("dnsmasq serves the former addresses", LIMIT, || {
        Ok(router.read("dnsmasq.d/weir.conf").contains("192.168.1.100"))
    })?;
    assert_eq!(scene.lease("client", "192.168.1.1")?, address);
    scene.reaches("client")
}

/// If a service refuses its file, the old configuration returns at once, and a service that was
/// stopped runs again.
fn what_a_service_does_not_take_is_taken_back(scene: &Scene) -> Result<(), Error> {
    let router = &scene.router;
    scene.lease("client", "192.168.1.1")?;
    // The port of a second dnsmasq: the started dnsmasq ends at once.
    router.uci("set network.lan.ipaddr=192.168.7.1")?;
    let wrong = router
        .command(&["sh", "-c", "echo nonsense >/etc/dnsmasq.d/other"])
        .status();
    wrong.map_err(Error::system("a file"))?;
    let refused = router.setup("apply").expect_err("it fails").to_string();
    assert!(refused.contains("dnsmasq"), "{refused}");
    router.run("rm /etc/dnsmasq.d/other")?;
    // A repeated reload succeeds everywhere: the earlier failure was recorded.
    router.reload("network")?;
    router.wait("br-lan", "192.168.1.1/24")?;
    scene.lease("client", "192.168.1.1")?;
    scene.reaches("client")?;
    let said = router.setup("debian --run /bin/false")?;
    assert_eq!(said, "", "nobody has to be told any more");
    Ok(())
}

/// All processes of a change are killed midway. After a boot, or with the next reload, the old
/// configuration is active.
fn killed_in_the_middle_the_former_state_comes_back(scene: &Scene) -> Result<(), Error> {
    let router = &scene.router;
    scene.lease("client", "192.168.1.1")?;
    let former = router.read("config/network");
    // The firewall has reloaded, the network not yet.
    let held = "networkctl";
    router.uci("set network.lan.ipaddr=192.168.7.1")?;
    router.uci("set firewall.@redirect[0].src_dport=8099")?;
    router.run("rm -f /run/told")?;
    let hold = format!("echo {held} >/run/hold");
    let status = router.command(&["sh", "-c", &hold]).status();
    status.map_err(Error::system("hold"))?;
    let weir = weir_tests::binary();
    let weir = weir.display().to_string();
    let config = ["--config", "/etc/weir/weir.toml"];
    let words = [&[&*weir, "setup", "apply", "--within", "3600"], &config[..]].concat();
    let mut apply = router
        .command(&words)
        .spawn()
        .map_err(Error::system("apply"))?;
    wait_until(held, LIMIT, || {
        let told = router.run("cat /run/told").unwrap_or_default();
        Ok(told
            .lines()
            .last()
            .is_some_and(|line| line.starts_with(held)))
    })?;
    // Processes of the router, which sees only its own. They are stopped first: if one died,
    // another would roll the change back.
    let all = "for signal in STOP KILL; do for p in /proc/[0-9]*; do \
        case $(cat $p/comm 2>/dev/null) in \
        weir|reload_config|systemd) kill -$signal ${p#/proc/};; esac; done; done";
    let _ = router.command(&["sh", "-c", all]).status();
    // nsenter stopped together with the process inside.
    let leads = Pid::from_raw(apply.id().cast_signed());
    let _ = kill(leads, Signal::SIGCONT);
    let _ = apply.wait();
    router.run("rm /run/hold")?;
    assert!(router.read("config/network").contains("192.168.7.1"));
    assert!(router.read("dnsmasq.d/weir.conf").contains("192.168.7.100"));

    // Simulates a start of the machine by another boot id.
    let change = router.read("weir/setup/pending/change.json");
    let mut change: serde_json::Value =
        serde_json::from_str(&change).map_err(|error| unexpected(error.to_string()))?;
    change["until"]["boot"] = "another start".into();
    router.write("weir/setup/pending/change.json", &change.to_string())?;
    router.setup("recover")?;
    assert_eq!(router.read("config/network"), former);
    router.reload("network firewall")?;
    router.wait("br-lan", "192.168.1.1/24")?;
    assert!(!router.has("br-lan", "192.168.7.1/24")?, "{held}");
    let rules = router.run("nft list table inet weir_firewall")?;
    assert!(
        rules.contains("8080") && !rules.contains("8099"),
        "{held}: {rules}"
    );
    scene.reaches("client")?;
    scene.lease("client", "192.168.1.1").map(drop)
}
