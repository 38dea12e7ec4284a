//! The process that serves browsers.

use std::fs;
use std::path::Path;

use lab::namespace::wait_until;
use lab::{Error, Lab, Namespace, Options, unexpected};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testing::Directory;
use weir_tests::{LIMIT, Weir};

use crate::page::system;

/// Returns the child processes of a process: number and name.
fn children(parent: u32) -> Vec<(i32, String)> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let of_it = |number: &i32| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        // State, then the parent's number (proc(5)).
        let of_it = rest.split_whitespace().nth(1)? == parent.to_string();
        of_it.then(|| (*number, name.to_owned()))
    };
    numbers.filter_map(|number: i32| of_it(&number)).collect()
}

/// Returns the page's process once it is ready.
fn server(weir: &Weir) -> Result<i32, Error> {
    let mut found = 0;
    wait_until("the page's process", LIMIT, || {
        let of_it = children(weir.id());
        let page = of_it.iter().find(|(_, name)| name == "weir-page");
        found = page.map_or(0, |(number, _)| *number);
        Ok(found != 0)
    })?;
    Ok(found)
}

/// Returns curl's output for these arguments; waits until a server answers.
fn curl(router: &Namespace, rest: &str) -> Result<String, Error> {
    let mut said = String::new();
    wait_until("the page answers", LIMIT, || {
        let command = format!("curl -sS --max-time 20 {rest}");
        Ok(router.run(&command).map(|text| said = text).is_ok())
    })?;
    Ok(said)
}

/// Returns the line of `/proc/PID/status` with this name.
fn line(process: i32, name: &str) -> Result<String, Error> {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.map_err(system("read a process's status"))?;
    let found = status.lines().find_map(|line| line.strip_prefix(name));
    Ok(found.expect("a line of that name").trim().to_owned())
}

/// The process that accepts unauthenticated connections has no rights and no file. Sessions outlive
/// that process and end with weir.
#[test]
fn who_listens_to_strangers_has_no_power() -> Result<(), Error> {
    let folder = Directory::new();
    let lab = Lab::gateway(&Options::default())?;
    tried(lab.node("router")?, &folder)
}

fn tried(router: &Namespace, folder: &Path) -> Result<(), Error> {
    let config = format!("[web]\npassword = {:?}\n", folder.join("password"));
    let mut weir = Weir::start(router, &config, &[])?;
    let page = server(&weir)?;
    assert_ne!(curl(router, "http://127.0.0.1:9347/api/session")?, "");
    // Its user differs from the portal's (crates/runtime/src/daemon/subprocess.rs).
    for sets in ["Uid:", "Gid:"] {
        assert_eq!(line(page, sets)?, ["65521"; 4].join("\t"), "{sets}");
    }
    assert_eq!(line(page, "Groups:")?, "");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(line(page, set)?, "0".repeat(16), "{set}");
    }
    assert_eq!(line(page, "NoNewPrivs:")?, "1");
    // A seccomp filter, if the platform has one (crates/runtime/src/daemon/syscalls.rs).
    assert_eq!(line(page, "Seccomp:")?, "2");
    // The process has its own session: the starter's terminal would take its input.
    assert_eq!(line(page, "NSsid:")?, page.to_string());
    // No file of the packet path, no log folder, no configuration.
    let open = fs::read_dir(format!("/proc/{page}/fd")).map_err(system("list what is open"))?;
    for entry in open.flatten() {
        let number = entry.file_name().to_string_lossy().into_owned();
        let what = fs::read_link(entry.path()).unwrap_or_default();
        let what = what.to_string_lossy();
        let known = [
            "socket:",
            "anon_inode:[eventpoll]",
            "anon_inode:[eventfd]",
            "/dev/null",
        ];
        // 2 is the log. weir keeps the files that it was started with.
        let known = known.iter().any(|one| what.starts_with(one));
        assert!(known || number == "2", "{number}: {what}");
    }

    let jar = folder.join("jar");
    let first = format!(
        "-c {} -H Content-Type:application/json --data {{\"new\":\"a_household's\"}} \
            http://127.0.0.1:9347/api/password",
        jar.display()
    );
    let set = curl(router, &first)?;
    assert!(set.contains("\"user\":true"), "{set}");
    let status = format!("-b {} http://127.0.0.1:9347/api/v1/status", jar.display());
    assert!(curl(router, &status)?.contains("\"version\""));
    // Requests that are reserved for the page's process are closed to logged-in users.
    let secret = format!(
        "-b {} http://127.0.0.1:9347/api/page/certificate",
        jar.display()
    );
    assert!(curl(router, &secret)?.contains("\"unknown_path\""));

    kill(Pid::from_raw(page), Signal::SIGKILL).map_err(unexpected)?;
    assert!(
        curl(router, &status)?.contains("\"version\""),
        "the session lives on: {}",
        weir.log()
    );
    let again = server(&weir)?;
    assert!(again != page && weir.log().contains("restarting it"));

    // A process that may open no file serves nothing: weir ends it and starts another. No process
    // runs in between. (For a silent process see crates/web/src/channel.rs.)
    let same_user = "setpriv --reuid=65521 --regid=65521 --clear-groups";
    router.run(&format!("{same_user} prlimit --pid {again} --nofile=3:3"))?;
    wait_until("it is seen that the page's process hangs", LIMIT, || {
        Ok(!Path::new(&format!("/proc/{again}")).exists())
    })?;
    assert!(weir.log().contains("hangs; restarting it"));
    assert!(curl(router, &status)?.contains("\"version\""));
    let again = server(&weir)?;

    // The process ends, and does not block the next one's listener.
    let gone = |page| {
        wait_until("the page's process goes", LIMIT, || {
            Ok(!Path::new(&format!("/proc/{page}")).exists())
        })
    };
    weir.end(Signal::SIGKILL)?;
    weir.restart(router)?;
    gone(again)?;
    let last = server(&weir)?;
    let session = curl(router, &status)?;
    assert!(session.contains("\"log_in\""), "{session}");
    assert!(
        !weir.log().contains("cannot start the web page"),
        "{}",
        weir.log()
    );
    weir.end(Signal::SIGTERM)?;
    gone(last)
}
