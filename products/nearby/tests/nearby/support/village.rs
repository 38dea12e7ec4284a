//! Whole programs that reach each other by IP, on this machine's loopback, without Bluetooth.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_weir-nearby");
/// Timeout of all waits.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for one test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// A file with a new secret.
    pub fn secret(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        let file = std::fs::File::create(&path).expect("a file");
        let mut make = Command::new(PROGRAM);
        let done = make.arg("village").stdout(file).status();
        assert!(done.expect("the program").success());
        path
    }
}

/// Returns a free port.
pub fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Lines that a program wrote.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn of(read: impl Read + Send + 'static) -> Self {
        let lines = Self::default();
        let into = lines.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(read).lines().map_while(Result::ok) {
                into.0.lock().expect("lines").push(line);
            }
        });
        lines
    }

    pub fn with(&self, text: &str) -> usize {
        self.with_all(&[text])
    }

    pub fn with_all(&self, texts: &[&str]) -> usize {
        let lines = self.0.lock().expect("lines");
        let has_all = |it: &&String| texts.iter().all(|text| it.contains(text));
        lines.iter().filter(has_all).count()
    }
}

/// A node that runs.
pub struct Node {
    pub socket: PathBuf,
    run: Child,
    watch: Child,
    pub log: Lines,
    pub said: Lines,
}

impl Drop for Node {
    fn drop(&mut self) {
        for child in [&mut self.watch, &mut self.run] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Node {
    pub fn run(folder: &Folder, name: &str, secret: &Path, port: u16, nodes: &[u16]) -> Self {
        let socket = folder.0.join(format!("{name}.sock"));
        let mut run = Command::new(PROGRAM);
        run.arg("--socket").arg(&socket);
        run.args(["run", "--adapter", "none", "--state"])
            .arg(folder.0.join(name));
        run.arg("--village").arg(secret);
        run.arg("--listen").arg(format!("127.0.0.1:{port}"));
        for node in nodes {
            run.arg("--node").arg(format!("localhost:{node}"));
        }
        run.env("WEIR_LOG", "debug").stderr(Stdio::piped());
        let mut run = run.spawn().expect("the program");
        let log = Lines::of(run.stderr.take().expect("its log"));
        until("it listens", || log.with("searching for others") > 0);
        let mut watch = Command::new(PROGRAM);
        watch.arg("--socket").arg(&socket).args(["watch", "--json"]);
        let mut watch = watch.stdout(Stdio::piped()).spawn().expect("the program");
        let said = Lines::of(watch.stdout.take().expect("what is said"));
        Self {
            socket,
            run,
            watch,
            log,
            said,
        }
    }

    fn command(&self, arguments: &[&str]) -> Output {
        let mut ask = Command::new(PROGRAM);
        ask.arg("--socket").arg(&self.socket).args(arguments);
        ask.output().expect("the program")
    }

    pub fn ask(&self, arguments: &[&str]) -> String {
        let told = self.command(arguments);
        assert!(told.status.success(), "{arguments:?}");
        String::from_utf8(told.stdout).expect("text")
    }

    /// Runs a command that must fail, and returns its error.
    pub fn refuses(&self, arguments: &[&str]) -> String {
        let told = self.command(arguments);
        assert_eq!(told.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(told.stderr).expect("text")
    }

    pub fn say(&self, text: &str) {
        self.ask(&["send", "all", text]);
    }

    /// The most memory that it took until now, KiB.
    pub fn most_memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.run.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let mut lines = status.lines().filter_map(|it| it.strip_prefix("VmHWM:"));
        let most = lines.next().and_then(|it| it.trim().strip_suffix(" kB"));
        most.and_then(|it| it.parse().ok()).expect("a number")
    }

    /// Pauses the program, which then reads nothing.
    pub fn stop(&self) {
        self.signal("-STOP");
    }

    /// Resumes the program.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, which: &str) {
        let mut kill = Command::new("kill");
        let done = kill.arg(which).arg(self.run.id().to_string()).status();
        assert!(done.expect("kill").success());
    }

    /// Returns the number of linked peers.
    pub fn links(&self) -> usize {
        let told: serde_json::Value =
            serde_json::from_str(&self.ask(&["peers", "--json"])).expect("JSON");
        let peers = told["peers"].as_array().expect("peers");
        let linked = peers
            .iter()
            .filter(|it| it["linked"] == serde_json::json!(["ip"]));
        linked.count()
    }

    pub fn heard(&self, text: &str) -> usize {
        // An own message appears as an event, too.
        self.said
            .with_all(&["\"event\":\"message\"", &format!("\"text\":\"{text}\"")])
    }
}

/// Waits for it.
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < PATIENCE, "it does not come to be: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
