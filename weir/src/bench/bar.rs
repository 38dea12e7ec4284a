//! Progress of a measurement.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use bench::local::Progress;

/// Progress on standard error: a bar on a terminal, otherwise a line for each step.
pub(super) struct Bar {
    terminal: bool,
}

impl Bar {
    pub(super) fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
        }
    }

    pub(super) fn show(&mut self, progress: &Progress) {
        const CELLS: usize = 20;
        let full = ((progress.done * CELLS as f64) as usize).min(CELLS);
        let left = clock(progress.left);
        let mut stderr = std::io::stderr().lock();
        // A lost terminal must not end a measurement.
        let _ = match self.terminal {
            true => write!(
                stderr,
                "\r\x1b[K{}{} {left} left  {}",
                "#".repeat(full),
                "-".repeat(CELLS - full),
                progress.doing
            ),
            false => writeln!(stderr, "{left} left: {}", progress.doing),
        };
        let _ = stderr.flush();
    }

    pub(super) fn clear(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
