//! Least privilege: the partner's capabilities, and the readers of a secret.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use lab::Error;
use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER};
use testing::Directory;
use weir_tests::partner::Pair;
use weir_tests::{LIMIT, binary};

use crate::multipath::at;

/// CAP_NET_ADMIN as in `/proc/PID/status`.
const NET_ADMIN: &str = "0000000000001000";

#[test]
fn a_partner_keeps_one_capability_and_serves_alone() -> Result<(), Error> {
    let mut pair = Pair::build(&Options::mbit(&[100]))?;
    let _echo = Echo::serve(pair.uplinks.server(), at(SERVER))?;
    // Every thread counts, also the threads that serve unauthenticated clients.
    let threads = fs::read_dir(format!("/proc/{}/task", pair.partner.id())).expect("it runs");
    let threads: Vec<_> = threads.map(|thread| thread.expect("one").path()).collect();
    assert!(threads.len() > 3, "{threads:?}");
    for thread in &threads {
        let status = fs::read_to_string(thread.join("status")).expect("a thread");
        let value = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::trim).unwrap_or_default().to_owned()
        };
        for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
            assert_eq!(value(set), NET_ADMIN, "{set} of\n{status}");
        }
        assert_eq!(value("NoNewPrivs:"), "1");
    }
    // The partner pairs, serves, restarts and cleans up with this capability.
    assert_eq!(ask_tcp(pair.uplinks.client(), at(SERVER), b"one")?, b"one");
    pair.partner.restart(pair.uplinks.partner())?;
    assert_eq!(ask_tcp(pair.uplinks.client(), at(SERVER), b"two")?, b"two");
    a_secret_that_others_can_read_is_told_of(&pair)?;
    a_second_partner_leaves_the_first_alone(&pair)?;
    assert_eq!(ask_tcp(pair.uplinks.client(), at(SERVER), b"six")?, b"six");
    let id = i32::try_from(pair.partner.id()).expect("a number");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(id),
        nix::sys::signal::Signal::SIGTERM,
    )
    .expect("it runs");
    wait_until("the partner to end in order", LIMIT, || {
        let tables = pair.uplinks.partner().run("nft list tables")?;
        Ok(!tables.contains("weir_partner"))
    })?;
    let log = pair.partner.log();
    assert!(!log.contains("WARN"), "{log}");
    Ok(())
}

fn a_secret_that_others_can_read_is_told_of(pair: &Pair) -> Result<(), Error> {
    let file = pair.weir.config_file();
    let warned = || pair.weir.log().matches("others can read this file").count();
    let mode = |mode| fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("set");
    let before = warned();
    let mut count = before;
    for (bits, more) in [(0o644, 1), (0o600, 0), (0o640, 1)] {
        mode(bits);
        let reloaded = pair.weir.client()?.reload();
        reloaded.map_err(|error| Error::Unexpected(error.to_string()))?;
        count += more;
        assert_eq!(warned(), count, "{bits:o}");
    }
    let hint = format!("chmod 600 {}", file.display());
    assert!(pair.weir.log().contains(&hint), "{}", pair.weir.log());
    Ok(())
}

/// The second partner's end would undo the first partner's kernel settings.
fn a_second_partner_leaves_the_first_alone(pair: &Pair) -> Result<(), Error> {
    let limits = || pair.uplinks.partner().run("ip mptcp limits show");
    let before = limits()?;
    let serve = || pair.partner.tell(&["serve", "--listen", "[::]:9444"]);
    let told = pair.uplinks.partner().enter(serve)?;
    let told = told.expect_err("it serves too").to_string();
    assert!(told.contains("another partner uses the folder"), "{told}");
    assert!(!told.contains("no tunnel"), "{told}");
    // A second partner with its own folder does not take the first partner's connections either.
    let folder = Directory::new();
    let other = |more: &[&str]| {
        let mut command = Command::new(binary());
        command
            .args(["multipath", "serve", "--state"])
            .arg(folder.path())
            .args(more);
        let told = pair.uplinks.partner().enter(|| command.output())?;
        let told = told.map_err(Error::system("run weir multipath"))?;
        assert!(!told.status.success());
        Ok::<_, Error>(String::from_utf8_lossy(&told.stderr).into_owned())
    };
    let told = other(&[])?;
    assert!(told.contains("cannot listen on [::]:9349"), "{told}");
    assert!(
        told.contains("another program listens there already"),
        "{told}"
    );
    let own = PARTNER.to_string();
    let told = other(&["--listen", "[::]:9444", "--tunnel", &format!("{own}/24")])?;
    assert!(
        told.contains("an address of this machine") && told.contains(&own),
        "{told}"
    );
    assert_eq!(limits()?, before);
    assert!(!pair.partner.tell(&["list"])?.contains("has not served"));
    Ok(())
}
