//! Runs commands against a simulated daemon.
#![allow(
    dead_code,
    unused_imports,
    reason = "each program of tests uses a part of it"
)]

pub mod monitor;

mod fake_router;
mod paths;
mod probes;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use api::{Limits, Listener, serve};
use fake_router::Paper;
pub use testing::{Directory, Ran, golden, ran, tmux};
use tokio::sync::oneshot;

/// Returns the command with an empty environment.
pub fn weir(arguments: &[&str]) -> Command {
    testing::command(env!("CARGO_BIN_EXE_weir"), arguments)
}

pub fn run(arguments: &[&str]) -> Ran {
    ran(weir(arguments).output().expect("the command runs"))
}

/// A running simulated daemon; stops when dropped.
pub struct Daemon {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    socket: String,
    _directory: Directory,
}

impl Daemon {
    /// Starts a daemon with `more` flows in addition to the three that are shown.
    pub fn start(more: u64) -> Self {
        Self::with(Paper {
            more,
            ..Paper::default()
        })
    }

    /// Starts a daemon without a monitor.
    pub fn without_monitor() -> Self {
        Self::with(Paper {
            monitor: false,
            ..Paper::default()
        })
    }

    /// Starts a daemon with its socket at this path.
    pub fn start_at(socket: &Path) -> Self {
        Self::serving(Paper::default(), socket.to_owned(), Directory::new())
    }

    fn with(paper: Paper) -> Self {
        let directory = Directory::new();
        let socket = directory.path().join("weir.sock");
        Self::serving(paper, socket, directory)
    }

    fn serving(paper: Paper, socket: PathBuf, directory: Directory) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let path = socket.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let listener = Listener::bind(&path).expect("a socket");
                ready.send(()).expect("the test waits");
                let routes = paper.routes();
                tokio::select! {
                    () = serve(std::rc::Rc::new(listener), &routes, Limits::default()) => {}
                    _ = stopped => {}
                }
            });
        });
        is_ready.recv().expect("the daemon starts");
        let socket = socket.to_str().expect("text").to_owned();
        Self {
            stop: Some(stop),
            thread: Some(thread),
            socket,
            _directory: directory,
        }
    }

    pub fn socket(&self) -> &str {
        &self.socket
    }

    /// Runs a command with the daemon's socket.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        run(&[arguments, &["--socket", &self.socket]].concat())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
