//! A terminal for tests: tmux draws a program's output, and returns the screen's content.

use std::process::{Command, id};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Directory;

/// A window of a private tmux server that runs a shell script; ends when dropped.
pub struct Pane {
    server: String,
    directory: Directory,
}

impl Pane {
    /// Runs an `sh` script in a window of this size. The script must not end by itself.
    pub fn start(columns: u16, rows: u16, script: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let pane = Self {
            server: format!("weir-{}-{number}", id()),
            directory: Directory::new(),
        };
        let file = pane.directory.path().join("script");
        std::fs::write(&file, script).expect("written");
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let file = file.to_str().expect("text");
        pane.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            "sh",
            file,
        ]);
        pane
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-u", "-L", &self.server])
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .env("TMUX_TMPDIR", self.directory.path())
            .env_remove("TMUX")
            .output()
            .expect("tmux is there: scripts/setup installs it");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {complaints}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Presses keys, by their names in tmux.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types letters.
    pub fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Resizes the window.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&[
            "resize-window",
            "-x",
            &columns.to_string(),
            "-y",
            &rows.to_string(),
        ]);
    }

    /// Returns the rows of the screen.
    pub fn screen(&self) -> Vec<String> {
        self.tmux(&["capture-pane", "-p"])
            .lines()
            .map(ToOwned::to_owned)
            .collect()
    }

    /// Returns the screen with its style sequences.
    pub fn looks(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Returns a tmux variable of the window: `alternate_on`, `cursor_flag`, `pane_title`.
    pub fn told(&self, format: &str) -> String {
        self.tmux(&["display-message", "-p", &format!("#{{{format}}}")])
            .trim()
            .to_owned()
    }

    /// Waits until `wanted` accepts the screen, and returns the screen. The long time limit only
    /// keeps a broken test from hanging.
    pub fn wait(&self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let begin = Instant::now();
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            let late = begin.elapsed() > Duration::from_secs(60);
            assert!(!late, "never seen: {what}\n{}", screen.join("\n"));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until a text is on the screen.
    pub fn wait_for(&self, text: &str) -> Vec<String> {
        self.wait(text, |screen| has(screen, text))
    }
}

/// Returns true if a row contains the text.
pub fn has(screen: &[String], text: &str) -> bool {
    screen.iter().any(|row| row.contains(text))
}

impl Drop for Pane {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .args(["-L", &self.server, "kill-server"])
            .env("TMUX_TMPDIR", self.directory.path())
            .output();
    }
}
