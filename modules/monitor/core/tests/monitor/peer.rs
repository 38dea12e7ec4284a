//! Real collectors, as processes of their own on loopback.
#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait for a collector. Only a failure takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A port of loopback that nothing listens on.
pub fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("its address").port()
}

/// Creates an empty directory, without files of an earlier run. The files of this run stay for
/// inspection.
pub fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("ipfix")
        .join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a directory");
    path
}

/// Waits until `done` gives something.
pub fn wait<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = done() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
        sleep(Duration::from_millis(10));
    }
}

/// Bytes that wait at the socket of this UDP port, and datagrams that it dropped, if there is one
/// (`/proc/net/udp`).
pub fn receiver(port: u16) -> Option<(u64, u64)> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    ["/proc/net/udp", "/proc/net/udp6"].iter().find_map(|path| {
        let table = fs::read_to_string(path).ok()?;
        table.lines().skip(1).find_map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let (_, local) = fields[1].rsplit_once(':')?;
            (number(local)? == u64::from(port)).then_some(())?;
            let (_, waiting) = fields[4].split_once(':')?;
            Some((number(waiting)?, fields.last()?.parse().ok()?))
        })
    })
}

/// A collector that runs. It is killed when dropped.
pub struct Peer {
    child: Child,
    port: u16,
    name: String,
    log: PathBuf,
}

impl Peer {
    /// Starts a collector, and waits until it listens on `port` and has printed `ready`. Its output
    /// goes to `log`.
    pub fn start(command: &mut Command, port: u16, ready: &str, log: &Path) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let file = fs::File::create(log).expect("a log");
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("the log"))
            .stderr(file)
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}: scripts/setup installs it"));
        let mut peer = Self {
            child,
            port,
            name,
            log: log.into(),
        };
        wait(&format!("{} at port {port}", peer.name), || {
            if let Ok(Some(status)) = peer.child.try_wait() {
                panic!("{} ended, {status}:\n{}", peer.name, peer.log());
            }
            receiver(port).filter(|_| peer.log().contains(ready))
        });
        peer
    }

    /// Returns the output so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it has read all that was sent to it. Nothing may have been dropped.
    pub fn drain(&self) {
        wait(&format!("empty queue of {}", self.name), || {
            // The kernel's list of sockets skips one while others close.
            let (waiting, dropped) = receiver(self.port)?;
            assert_eq!(dropped, 0, "datagrams that {} was too slow for", self.name);
            (waiting == 0).then_some(())
        });
    }

    /// Ends it with this signal, and waits until it has written all it has.
    pub fn stop(mut self, signal: &str) -> String {
        self.drain();
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "kill {signal} {id}"
        );
        wait(&format!("end of {}", self.name), || {
            self.child.try_wait().ok()?
        });
        self.log()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command and returns its output. The command must succeed.
pub fn output(command: &mut Command) -> String {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{name}: {error}: scripts/setup installs it"));
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{name}: {}\n{error}", out.status);
    String::from_utf8(out.stdout).expect("text")
}
