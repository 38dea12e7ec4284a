//! A running `weir run` in a namespace of the lab.

#![allow(dead_code)] // Not every test needs all of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use answers::{Port, Status};
use api::Client;
use lab::namespace::{Namespace, Process, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testing::Directory;

/// Time limit for any step on a loaded machine.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A running daemon. Stopped when dropped.
pub struct Daemon {
    pub process: Process,
    folder: Directory,
    config: PathBuf,
}

impl Daemon {
    /// Starts a daemon with a configuration and waits for its first answer. `more` can change the
    /// command.
    pub fn start(namespace: &Namespace, config: &str, more: impl FnOnce(&mut Command)) -> Self {
        Self::start_with(namespace, None, config, more)
    }

    /// Starts a daemon whose configuration is in the caller's file.
    pub fn start_with(
        namespace: &Namespace,
        file: Option<&Path>,
        config: &str,
        more: impl FnOnce(&mut Command),
    ) -> Self {
        let folder = Directory::new();
        let file = file.map_or_else(|| folder.join("weir.toml"), Path::to_owned);
        fs::write(&file, config).expect("written");
        let log = fs::File::create(folder.join("log")).expect("a log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command
            .arg("run")
            .arg("--config")
            .arg(&file)
            .arg("--socket")
            .arg(folder.join("socket"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        more(&mut command);
        let process = namespace.start(&mut command).expect("started");
        let daemon = Self {
            process,
            folder,
            config: file,
        };
        daemon.wait("it answers", |daemon| {
            let ended = daemon.process.ended().expect("a state");
            assert!(ended.is_none(), "it ended: {}", daemon.log());
            daemon.client().get::<Status>("/v1/status").is_ok()
        });
        daemon
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    pub fn config(&self) -> &Path {
        &self.config
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    pub fn client(&self) -> Client {
        Client::new(&self.socket()).expect("a runtime")
    }

    /// Runs a command with the daemon's socket.
    pub fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(arguments)
            .arg("--socket")
            .arg(self.socket())
            .stdin(Stdio::null())
            .output()
            .expect("runs")
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("its own process");
    }

    pub fn wait(&self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        wait_until(what, LIMIT, || Ok(done(self)))
            .unwrap_or_else(|error| panic!("{error}: {}", self.log()));
    }

    pub fn port(&self, name: &str) -> Option<Port> {
        let ports: Vec<Port> = self.client().get("/v1/ports").ok()?;
        ports.into_iter().find(|port| port.name == name)
    }

    pub fn wait_for_ports(&self, names: &[&str]) {
        for name in names {
            self.wait(&format!("{name} is a port"), |daemon| {
                daemon.port(name).is_some_and(|port| port.hook.is_some())
            });
        }
    }
}
