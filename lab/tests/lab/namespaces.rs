//! Tests of the life of namespaces.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use weir_lab::namespace::wait_until;
use weir_lab::{Error, Namespace};

#[test]
fn drop_removes_it_and_stops_what_runs_in_it() {
    let namespace = Namespace::new("drop").expect("a namespace");
    let path = namespace.path();
    let process = namespace
        .start(Command::new("sleep").arg("1000"))
        .expect("sleep");
    let proc = format!("/proc/{}", process.id());
    assert!(path.exists() && Path::new(&proc).exists());
    drop(namespace);
    assert!(!path.exists());
    assert!(process.ended().expect("a status").is_some());
}

#[test]
fn a_panic_removes_it() {
    let mut path = None;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let namespace = Namespace::new("panic").expect("a namespace");
        path = Some(namespace.path());
        let _: Result<(), Error> = namespace.enter(|| panic!("on purpose"));
    }));
    assert!(panicked.is_err());
    assert!(!path.expect("a path").exists());
}

#[test]
fn failures_say_what_the_command_said() {
    let namespace = Namespace::new("errors").expect("a namespace");
    let error = namespace
        .run("ip link show nothing")
        .expect_err("an error")
        .to_string();
    assert!(
        error.contains("nothing") && error.contains("does not exist"),
        "{error}"
    );
    let error = namespace.ip("link add").expect_err("an error");
    assert!(matches!(error, Error::Command { .. }), "{error}");
    assert!(namespace.sysctl("net.ipv4.no_such_key", 1).is_err());
    assert!(namespace.nft("nonsense").is_err());
    assert!(namespace.run("").is_err());
}

#[test]
fn sysctls_and_commands_are_those_of_the_namespace() {
    let namespace = Namespace::new("inside").expect("a namespace");
    namespace
        .sysctl("net.ipv4.ip_default_ttl", 77)
        .expect("a sysctl");
    let shown = namespace
        .run("cat /proc/sys/net/ipv4/ip_default_ttl")
        .expect("its value");
    assert_eq!(shown.trim(), "77");
    let output = namespace
        .command("cat")
        .arg("/proc/sys/net/ipv4/ip_default_ttl")
        .output()
        .expect("cat");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "77");
}

/// Helper of the tests below, which run this test as another process: makes a namespace, prints its
/// name and waits.
#[test]
#[ignore = "run by other tests"]
fn helper_waits_for_a_signal() {
    let namespace = Namespace::new("signal").expect("a namespace");
    println!("ready {}", namespace.name());
    std::thread::sleep(Duration::from_secs(600));
}

fn helper() -> (std::process::Child, String) {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--ignored",
            "--exact",
            "namespaces::helper_waits_for_a_signal",
            "--nocapture",
            "--test-threads=1",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the helper");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let name = lines
        .map_while(Result::ok)
        .find_map(|line| line.split_once("ready ").map(|(_, name)| name.to_owned()))
        .expect("a namespace");
    (child, name)
}

fn signal(child: &std::process::Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(status.success());
}

#[test]
fn a_signal_removes_it() {
    for name in ["-TERM", "-INT"] {
        let (mut child, namespace) = helper();
        signal(&child, name);
        let status = child.wait().expect("its end");
        assert_eq!(status.code(), Some(130), "{name}");
        assert!(!Path::new("/run/netns").join(&namespace).exists());
    }
}

#[test]
fn sweep_removes_what_a_killed_process_left() {
    let (mut child, namespace) = helper();
    let path = Path::new("/run/netns").join(&namespace);
    let mine = Namespace::new("mine").expect("a namespace");
    signal(&child, "-KILL");
    child.wait().expect("its end");
    assert!(path.exists());
    wait_until("the sweep", Duration::from_secs(10), || {
        weir_lab::sweep()?;
        Ok(!path.exists())
    })
    .expect("removed");
    assert!(mine.path().exists());
}
