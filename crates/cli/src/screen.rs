//! Full-screen use of the terminal; restored on leaving, even on a panic.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::{SigSet, Signal};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, MoveTo, Show};
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::style::ResetColor;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};

/// True while this process controls the terminal. A process has only one.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Bytes of a picture per write; over ssh each write may be a packet.
const PICTURE: usize = 32 * 1024;

/// Kind of use of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Display only: no cursor.
    Look,
    /// Text input: pasted text arrives as one event.
    Write,
}

/// The controlled terminal: raw mode, the alternate screen. Restored when dropped, and before a
/// panic message.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Takes control of the terminal.
    ///
    /// # Errors
    /// Standard output is not a terminal, or is gone.
    pub fn enter(what: Use) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // The panic message must not go to a raw, vanishing screen.
                give_back();
                before(panic);
            }));
        });
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let mut output = BufWriter::with_capacity(PICTURE, io::stdout());
        let entered = queue!(output, EnterAlternateScreen);
        let entered = entered.and_then(|()| match what {
            Use::Look => queue!(output, Hide),
            Use::Write => queue!(output, EnableBracketedPaste),
        });
        let entered = entered.and_then(|()| output.flush());
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(output)));
        match terminal {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Returns the terminal to draw into.
    pub fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<BufWriter<Stdout>>> {
        &mut self.terminal
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Blocks the signals that end the process, and calls `stop` on the first one, so that the terminal
/// can be restored. Must be called before other threads start: they inherit the signal mask.
///
/// # Errors
/// The signals cannot be blocked.
pub fn signals(stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let set: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .collect();
    set.thread_block()?;
    thread::spawn(move || {
        // Fails only for an invalid set, and this set was accepted above.
        let _ = set.wait();
        stop();
    });
    Ok(())
}

/// Does nothing if the terminal is restored already.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // A vanished terminal cannot be restored. The console of Linux has no other screen: the console
    // is left empty.
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        ResetColor,
        Clear(ClearType::All),
        MoveTo(0, 0),
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}
