//! The kernel keeps forwarding, whatever happens to weir, and an ended weir leaves nothing.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lab::gateway::{ROUTER_LAN, SERVER};
use lab::namespace::wait_until;
use lab::transfer::{Echo, Transfer, ask_tcp};
use lab::{Error, Lab, Namespace, Options};
use nix::sys::signal::Signal;
use weir_tests::scene::{self, Forwarder, PORT, Scene};
use weir_tests::{LIMIT, Weir, conntrack, hooked, kernel_has};

/// Longer than the packet path waits for a heartbeat (2 s).
const SILENCE: Duration = Duration::from_secs(3);

fn check(run: impl FnOnce() -> Result<(), Error>) {
    run().unwrap_or_else(|error| panic!("{error}"));
}

/// Returns weir's traces on devices: XDP programs, clsact and its filters.
fn traces(router: &Namespace) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for device in ["lan0", "wan0"] {
        for command in [
            format!("ip -d link show {device}"),
            format!("tc qdisc show dev {device}"),
            format!("tc filter show dev {device} ingress"),
            format!("tc filter show dev {device} egress"),
        ] {
            let shown = router.run(&command).unwrap_or_default();
            let ours = |line: &&str| {
                ["xdp", "clsact", "bpf"]
                    .iter()
                    .any(|word| line.contains(word))
            };
            found.extend(
                shown
                    .lines()
                    .filter(ours)
                    .map(|line| format!("{command}: {line}")),
            );
        }
    }
    Ok(found)
}

/// weir hangs, and the kernel forwards; weir continues, and is killed.
#[test]
fn silent_for_too_long_and_killed_with_xdp_attached() {
    check(|| {
        let scene = Scene::new(Forwarder::Weir("xdp"), &Options::default(), SERVER, "")?;
        let router = scene.router()?;
        let weir = scene.weir.as_ref().expect("weir runs");
        let silent = || -> Result<u64, Error> {
            Ok(weir
                .status()?
                .packets
                .passed
                .get("silent")
                .copied()
                .unwrap_or(0))
        };
        assert_eq!(silent()?, 0);
        weir.signal(Signal::SIGSTOP)?;
        thread::sleep(SILENCE);
        let before = scene.transfer.progress();
        scene.transfer.advance(scene::ENOUGH, LIMIT)?;
        weir.signal(Signal::SIGCONT)?;
        // Most bytes since then went by the kernel, at 1500 bytes a packet; at TC one packet holds
        // many of those.
        let least = (scene.transfer.progress() - before) / 65_536;
        assert!(silent()? >= least, "{} of {least} packets", silent()?);
        scene.lives("weir is back")?;

        let xdp = || -> Result<usize, Error> {
            Ok(traces(router)?
                .iter()
                .filter(|line| line.contains("prog/xdp"))
                .count())
        };
        assert_eq!(xdp()?, 2, "{:?}", traces(router)?);
        weir.end(Signal::SIGKILL)?;
        wait_until(
            "XDP programs go with the process",
            LIMIT,
            || Ok(xdp()? == 0),
        )?;
        scene.transfer.advance(scene::ENOUGH, LIMIT)?;
        scene.transfer.stop().map(drop)
    });
}

/// weir hangs, rules change, weir continues: it must process the change before it forwards the next
/// packet.
#[test]
fn what_changed_while_weir_hung_is_heard_before_anything_is_forwarded() {
    check(|| {
        let lab = scene::lab(Forwarder::Weir("tc"), &Options::default())?;
        let weir = scene::weir(Forwarder::Weir("tc"), &lab, "")?.expect("weir runs");
        let to = SocketAddr::new(SERVER, PORT);
        let bind = |at| move || UdpSocket::bind(at);
        let failed = || Error::system("use a UDP socket");
        let server = lab.node("server")?.enter(bind(to))?.map_err(failed())?;
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let client = lab.node("client")?.enter(bind(any))?.map_err(failed())?;
        client.connect(to).map_err(failed())?;

        // An answer first, so that weir may forward the flow; then a flood in one direction.
        let mut buffer = [0; 64];
        client.send(b"first").map_err(failed())?;
        let (_, from) = server.recv_from(&mut buffer).map_err(failed())?;
        server.send_to(b"answer", from).map_err(failed())?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let flood = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let _ = client.send(b"again");
                thread::sleep(Duration::from_micros(20));
            }
        });
        server
            .set_read_timeout(Some(Duration::from_millis(500)))
            .map_err(failed())?;
        let mut drain = || {
            let mut count = 0;
            while lab::uninterrupted(|| server.recv_from(&mut buffer)).is_ok() {
                count += 1;
            }
            count
        };
        wait_until("weir forwards the flood", LIMIT, || {
            Ok(weir.forwarded()? > 1000)
        })?;

        weir.signal(Signal::SIGSTOP)?;
        thread::sleep(SILENCE);
        let hook = "type filter hook forward priority -10; policy accept;";
        lab.node("router")?.nft(&format!(
            "table inet cut {{ chain forward {{ {hook}\nudp dport {PORT} drop\n}}\n}}\n"
        ))?;
        drain();
        weir.signal(Signal::SIGCONT)?;
        wait_until("weir is back", LIMIT, || {
            Ok(weir.status()?.heartbeat.age_seconds < 1.0)
        })?;
        let leaked = drain();
        stop.store(true, Ordering::Relaxed);
        let _ = flood.join();
        assert_eq!(leaked, 0, "packets were forwarded by the rules of before");
        Ok(())
    });
}

/// Namespaces share /run, so a command must not find another namespace's daemon, even if process 1
/// is not readable.
#[test]
fn each_namespace_has_a_socket_of_its_own() {
    check(|| {
        let namespace = Namespace::new("router")?;
        let inode = namespace.run("stat -L -c %i /proc/self/ns/net")?;
        let weir = weir_tests::binary();
        for rights in ["", "setpriv --bounding-set=-sys_ptrace --inh-caps=-all "] {
            let asked = namespace.run(&format!("{rights}{} status", weir.display()));
            let said = asked.expect_err("nobody answers there").to_string();
            let socket = format!("/run/weir/weir-{}.sock", inode.trim());
            assert!(said.contains(&socket), "{said}");
        }
        Ok(())
    });
}

/// Any process may take the name by which one weir detects another; that keeps no weir out.
#[test]
fn a_second_weir_is_told_and_a_squatter_keeps_none_away() {
    check(|| {
        let lab = Lab::gateway(&Options::default())?;
        let router = lab.node("router")?;
        let first = Weir::start(router, &hooked("tc"), &[])?;
        let folder = first.socket().with_file_name("second");
        let refused = || {
            let second = Weir::start(router, &hooked("tc"), &[]).err();
            let said = second.map(|error| error.to_string()).unwrap_or_default();
            assert!(
                said.contains("another weir is running in this network namespace"),
                "{said}"
            );
            assert!(said.contains("stop it first"), "{said}");
        };
        refused();
        // Checks the exit code, which `start` does not return.
        let mut command = std::process::Command::new(weir_tests::binary());
        command.arg("run").arg("--socket").arg(&folder);
        command.stderr(std::process::Stdio::null());
        let status = router.start(&mut command)?.wait(LIMIT)?;
        assert_eq!(status.code(), Some(1));
        assert!(first.status().is_ok(), "the first is not disturbed");
        drop(first);

        let mut squat = std::process::Command::new("setpriv");
        squat.args(["--reuid=65534", "--regid=65534", "--clear-groups", "socat"]);
        squat.args(["ABSTRACT-LISTEN:weir-offload,type=5,fork", "EXEC:cat"]);
        let squatter = router.start(&mut squat)?;
        wait_until("somebody has the name", LIMIT, || {
            Ok(router.run("cat /proc/net/unix")?.contains("@weir-offload"))
        })?;
        let first = Weir::start(router, &hooked("tc"), &[])?;
        refused();
        drop(squatter);
        wait_until("the name is free", LIMIT, || {
            Ok(!router.run("cat /proc/net/unix")?.contains("@weir-offload"))
        })?;
        refused();
        drop(first);
        let inode = router.run("stat -L -c %i /proc/self/ns/net")?;
        let file = format!("/run/weir/guard-{}.lock", inode.trim());
        drop(Weir::start(router, &hooked("tc"), &[])?);
        std::fs::remove_file(&file).map_err(Error::system(file))
    });
}

/// Returns every sysctl of the network except counters.
fn sysctls(router: &Namespace) -> Result<BTreeMap<String, String>, Error> {
    let counts = ["nf_conntrack_count", "random", "dentry", "nr_open"];
    let all = router.run("sysctl -a -e -r ^net\\.")?;
    Ok(all
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .filter(|(key, _)| !counts.iter().any(|word| key.contains(word)))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect())
}

#[test]
fn nothing_is_left_behind_and_nothing_else_is_touched() {
    for hook in ["tc", "xdp"] {
        check(|| {
            let lab = scene::lab(Forwarder::Weir(hook), &Options::default())?;
            let router = lab.node("router")?;
            let (client, server) = (lab.node("client")?, lab.node("server")?);
            let before = sysctls(router)?;
            assert!(before.len() > 100, "only {} sysctls", before.len());
            assert_eq!(traces(router)?, [""; 0]);

            let weir = scene::weir(Forwarder::Weir(hook), &lab, "")?.expect("weir runs");
            // A flow for weir, and a flow to the router itself, which weir ignores.
            let to = SocketAddr::new(SERVER, PORT);
            let transfer = Transfer::start(client, server, to, 1, Some(8 << 20))?;
            let local = SocketAddr::new(ROUTER_LAN, 7);
            let _echo = Echo::serve(router, local)?;
            assert_eq!(ask_tcp(client, local, b"hello")?, b"hello");
            weir.wait_for_forwarding(PORT)?;
            let liberal = |port| -> Result<bool, Error> {
                Ok(conntrack::entry_to(router, port)?.is_some_and(|entry| entry.liberal))
            };
            assert!(
                liberal(PORT)?,
                "a forwarded connection is not held to its window"
            );
            assert!(conntrack::entry_to(router, 7)?.is_some() && !liberal(7)?);
            assert_eq!(sysctls(router)?, before, "while it runs");

            let socket = weir.socket().to_owned();
            assert!(socket.exists());
            assert!(weir.end(Signal::SIGTERM)?.success(), "{}", weir.log());
            // Without TCX an empty clsact stays (docs/how-to/offload.md): weir cannot know its other users
            // by now.
            let empty = |trace: &String| !kernel_has([6, 6]) && trace.contains("qdisc clsact");
            let mut left = traces(router)?;
            left.retain(|trace| !empty(trace));
            assert_eq!(left, [""; 0]);
            assert!(!socket.exists(), "{} is left", socket.display());
            assert_eq!(sysctls(router)?, before, "after it ended");
            transfer.advance(scene::ENOUGH, LIMIT)?;
            transfer.stop().map(drop)
        });
    }
}
