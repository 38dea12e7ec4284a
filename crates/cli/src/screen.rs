//! The terminal, taken over and given back: on leaving, on a panic, whatever happens.

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

/// Whether the terminal is ours now. One process has one.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Bytes of a picture that are written at once; over ssh each write may be a packet.
const PICTURE: usize = 32 * 1024;

/// What is done in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Somebody looks: there is no cursor.
    Look,
    /// Somebody writes: what is pasted is told as one.
    Write,
}

/// The terminal as long as it is ours: raw, the alternate screen. Given back when dropped, and before a
/// panic is told.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Takes it over.
    ///
    /// # Errors
    /// Standard output is not a terminal, or is gone.
    pub fn enter(what: Use) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // What it says is to be read, and not in raw mode on a screen that vanishes.
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

    /// What is drawn into.
    pub fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<BufWriter<Stdout>>> {
        &mut self.terminal
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Signals that end it are waited for instead of obeyed at once: the terminal is given back first. To be
/// called before other threads are started: they inherit that these are waited for.
///
/// # Errors
/// They cannot be waited for.
pub fn signals(stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let set: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .collect();
    set.thread_block()?;
    thread::spawn(move || {
        // Fails for a wrong set only, and this one was taken above.
        let _ = set.wait();
        stop();
    });
    Ok(())
}

/// Does nothing when it was given back already.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // A terminal that is gone cannot be mended. The console of Linux has no other screen to go back
    // to: it is left empty.
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
