//! Tests that a running `weir run` keeps few privileges, and that these suffice for all later work.
//! Needs root.

use crate::router;
use std::fs;
use std::os::unix::net::UnixDatagram;

use lab::topology::Offloads;
use lab::{Lab, gateway};
use nix::sys::signal::Signal;
use router::{Daemon, LIMIT};

fn gateway() -> Lab {
    Lab::gateway(&gateway::Options::default()).expect("a lab, as root")
}

/// Returns the value of a line of /proc/PID/status.
fn status(daemon: &Daemon, name: &str) -> String {
    let path = format!("/proc/{}/status", daemon.process.id());
    let text = fs::read_to_string(path).expect("its status");
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.expect("such a line").trim().to_owned()
}

/// Bits of include/uapi/linux/capability.h: NET_ADMIN 12, PERFMON 38, BPF 39.
const KEPT: u64 = 1 << 12 | 1 << 38 | 1 << 39;

/// Capabilities for the page's process, which has another user: KILL 5, SETGID 6, SETUID 7.
const FOR_THE_PAGE: u64 = 1 << 5 | 1 << 6 | 1 << 7;

#[test]
fn it_keeps_three_capabilities_and_does_all_its_work_with_them() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    let daemon = Daemon::start(
        router,
        "[log]\nlevel = \"debug\"\n[web]\nenabled = false\n",
        |_| {},
    );
    daemon.wait_for_ports(&["lan0", "wan0"]);
    for set in ["CapEff", "CapPrm", "CapInh", "CapBnd"] {
        let bits = u64::from_str_radix(&status(&daemon, set), 16);
        assert_eq!(bits, Ok(KEPT), "{set}");
    }
    assert_eq!(status(&daemon, "NoNewPrivs"), "1");
    // The tests' kernel has landlock. Without landlock only this log line would be missing.
    daemon.wait("it is confined", |daemon| {
        daemon.log().contains("file access is restricted")
    });

    // A device that appears later, at TC.
    lab.wire(("router", "lan1"), ("client", "eth1"), Offloads::Default)
        .expect("a wire");
    daemon.wait_for_ports(&["lan1"]);

    // A ruleset that changes later: `nft` reads the ruleset as a child.
    router
        .nft(
            "table inet f { chain c { type filter hook ingress device lan1 priority 0; policy \
            accept; }; }",
        )
        .expect("rules");
    daemon.wait("the chain is noticed", |daemon| {
        let found = daemon.port("lan1").map(|port| port.stack.limits);
        found.is_some_and(|limits| limits.iter().any(|l| l.reason.code == "ingress-chain"))
    });
    router.nft("delete table inet f").expect("rules");
    daemon.wait_for_ports(&["lan1"]);

    // A configuration that changes later; XDP is attached again.
    fs::write(daemon.config(), "[ports.lan1]\nhook = \"xdp\"\n").expect("written");
    let reloaded = daemon.run(&["reload"]);
    assert!(reloaded.status.success(), "{reloaded:?}");
    daemon.wait("lan1 is at XDP", |daemon| {
        daemon
            .port("lan1")
            .is_some_and(|port| port.hook == Some(answers::Hook::Xdp))
    });

    assert!(!daemon.log().contains("WARN"), "{}", daemon.log());
    let socket = daemon.socket();
    daemon.signal(Signal::SIGTERM);
    assert!(daemon.process.wait(LIMIT).expect("it ends").success());
    assert!(!socket.exists(), "the socket is removed");
}

#[test]
fn a_hang_up_reloads_and_a_broken_file_changes_nothing() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    let daemon = Daemon::start(router, "", |_| {});
    daemon.wait_for_ports(&["lan0", "wan0"]);
    let value = |key: &str| {
        let config: answers::Config = daemon.client().get("/v1/config").expect("an answer");
        let entry = config.entries.into_iter().find(|entry| entry.key == key);
        entry.expect("a key").value
    };

    fs::write(
        daemon.config(),
        "[offload]\nreprove = \"7s\"\nbridge = true\n[log]\nlevel = \"debug\"\n",
    )
    .expect("written");
    daemon.signal(Signal::SIGHUP);
    daemon.wait("the file is read", |_| value("offload.reprove") == "7s");
    // The log lists keys that need a restart; `weir config` shows their running values.
    daemon.wait("it says what waits", |daemon| {
        daemon.log().contains("after_restart=[\"offload.bridge\"]")
    });
    assert_eq!(value("offload.bridge"), false);
    // The log level is among the new values: the log reports the next route change.
    router
        .run("ip route add 198.51.100.0/24 via 10.0.0.2")
        .expect("a route");
    daemon.wait("it tells more", |daemon| daemon.log().contains("DEBUG"));

    fs::write(daemon.config(), "[offload]\nreprove = 7\nudp = \"no\"\n").expect("written");
    let refused = daemon.run(&["reload"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains(":2:11: offload.reprove: "), "{said}");
    assert!(said.contains(":3:7: offload.udp: "), "{said}");
    daemon.signal(Signal::SIGHUP);
    daemon.wait("it is told in the log", |daemon| {
        daemon.log().contains("not reloaded")
    });
    assert!(daemon.log().contains("offload.udp"), "{}", daemon.log());
    assert_eq!(value("offload.reprove"), "7s", "what ran before goes on");
    assert_eq!(value("offload.udp"), true);
}

/// With the page enabled, weir keeps three further capabilities for the page.
#[test]
fn the_service_manager_is_told() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    let path = std::env::temp_dir().join(format!("weir-manager-{}", std::process::id()));
    let manager = UnixDatagram::bind(&path).expect("bound");
    manager.set_read_timeout(Some(LIMIT)).expect("set");
    let daemon = Daemon::start(router, "", |command| {
        command.env("NOTIFY_SOCKET", &path);
    });
    let said = || {
        let mut said = [0; 64];
        let length = manager.recv(&mut said).expect("a datagram");
        String::from_utf8_lossy(&said[..length]).into_owned()
    };
    assert_eq!(said(), "READY=1");
    daemon.wait_for_ports(&["lan0", "wan0"]);
    for set in ["CapEff", "CapPrm", "CapInh", "CapBnd"] {
        let bits = u64::from_str_radix(&status(&daemon, set), 16);
        assert_eq!(bits, Ok(KEPT | FOR_THE_PAGE), "{set}");
    }
    daemon.signal(Signal::SIGTERM);
    assert_eq!(said(), "STOPPING=1");
    fs::remove_file(&path).expect("removed");
}

/// Another user owns the configuration, in a directory closed to others.
#[test]
fn the_configuration_may_be_somebody_elses() {
    let lab = gateway();
    let router = lab.node("router").expect("a router");
    let home = std::env::temp_dir().join(format!("weir-home-{}", std::process::id()));
    fs::create_dir_all(&home).expect("a directory");
    let file = home.join("weir.toml");
    fs::write(&file, "").expect("written");
    let nobody = Some(nix::unistd::Uid::from_raw(65_534));
    for path in [&home, &file] {
        let mode = if path == &home { 0o700 } else { 0o600 };
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
            .expect("mode");
        nix::unistd::chown(path, nobody, None).expect("as root");
    }
    let daemon = Daemon::start_with(router, Some(&file), "", |_| {});
    fs::write(&file, "[offload]\nudp = false\n").expect("written");
    let reloaded = daemon.run(&["reload"]);
    drop(daemon);
    fs::remove_dir_all(&home).expect("removed");
    assert_eq!(
        (
            reloaded.status.code(),
            String::from_utf8_lossy(&reloaded.stdout).as_ref()
        ),
        (Some(0), "offload.udp: true is now false\n"),
        "{reloaded:?}"
    );
}
