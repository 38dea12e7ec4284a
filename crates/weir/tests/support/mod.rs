//! Runs the command against a daemon made of paper.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

pub mod monitor;
pub mod tmux;

mod paper;
mod paths;
mod probes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use api::{Limits, Listener, serve};
use paper::Paper;
use tokio::sync::oneshot;

/// A directory that goes away again.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-cli-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The command, in an environment that says nothing.
pub fn weir(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// What came out, as text.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub fn run(arguments: &[&str]) -> Ran {
    ran(weir(arguments).output().expect("the command runs"))
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// Compares with a file of `tests/golden`; with `WEIR_UPDATE_GOLDEN` set, writes it instead.
pub fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("written");
        return;
    }
    let expected =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        text == expected,
        "{} differs; it is now:\n{text}",
        path.display()
    );
}

/// A running daemon of paper; stops when dropped.
pub struct Daemon {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    socket: String,
    _directory: Directory,
}

impl Daemon {
    /// With so many flows besides the three that are shown.
    pub fn start(more: u64) -> Self {
        Self::with(Paper {
            more,
            ..Paper::default()
        })
    }

    /// One that does not count who uses the network.
    pub fn without_monitor() -> Self {
        Self::with(Paper {
            monitor: false,
            ..Paper::default()
        })
    }

    /// One whose socket is at a certain place.
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

    /// Runs a command against it.
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
