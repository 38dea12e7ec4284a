//! The terminal, taken over and given back: on leaving, on a panic, whatever happens.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{MoveTo, Show};
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
    pub fn enter() -> io::Result<Self> {
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
        let entered = queue!(output, EnterAlternateScreen, EnableBracketedPaste)
            .and_then(|()| output.flush());
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(output)));
        match terminal {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    pub(super) fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<BufWriter<Stdout>>> {
        &mut self.terminal
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
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
