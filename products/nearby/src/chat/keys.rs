//! Keys that have a meaning here.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::input::Edit;

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter, a digit, a sign.
    Char(char),
    /// Changes the line.
    Edit(Edit),
    /// The line is done.
    Enter,
    /// Scrolls back in the history.
    PageUp,
    /// Scrolls forward in the history.
    PageDown,
    /// Ctrl and C: quits in any state.
    Interrupt,
    /// Ctrl and D: quits in an empty line; otherwise deletes the letter at the cursor.
    End,
    /// Ctrl and L: redraw the screen.
    Redraw,
}

impl Key {
    /// Converts a key event. `None`: a key without a meaning here.
    pub fn of(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        let alt = event.modifiers.contains(KeyModifiers::ALT);
        Some(match event.code {
            KeyCode::Char('c') if control => Self::Interrupt,
            KeyCode::Char('d') if control => Self::End,
            KeyCode::Char('l') if control => Self::Redraw,
            KeyCode::Char('a') if control => Self::Edit(Edit::Home),
            KeyCode::Char('e') if control => Self::Edit(Edit::End),
            KeyCode::Char('b') if control => Self::Edit(Edit::Left),
            KeyCode::Char('f') if control => Self::Edit(Edit::Right),
            KeyCode::Char('h') if control => Self::Edit(Edit::Backspace),
            KeyCode::Char('k') if control => Self::Edit(Edit::Rest),
            KeyCode::Char('u') if control => Self::Edit(Edit::Begin),
            KeyCode::Char('w') if control => Self::Edit(Edit::Word),
            KeyCode::Char('p') if control => Self::Edit(Edit::Up),
            KeyCode::Char('n') if control => Self::Edit(Edit::Down),
            KeyCode::Char('j') if control => Self::Enter,
            KeyCode::Char('b') if alt => Self::Edit(Edit::WordLeft),
            KeyCode::Char('f') if alt => Self::Edit(Edit::WordRight),
            // Alt Gr of some terminals is both.
            KeyCode::Char(_) if control != alt => return None,
            KeyCode::Char(letter) => Self::Char(letter),
            KeyCode::Left if control || alt => Self::Edit(Edit::WordLeft),
            KeyCode::Right if control || alt => Self::Edit(Edit::WordRight),
            KeyCode::Left => Self::Edit(Edit::Left),
            KeyCode::Right => Self::Edit(Edit::Right),
            KeyCode::Up => Self::Edit(Edit::Up),
            KeyCode::Down => Self::Edit(Edit::Down),
            KeyCode::Home => Self::Edit(Edit::Home),
            KeyCode::End => Self::Edit(Edit::End),
            KeyCode::Backspace if alt => Self::Edit(Edit::Word),
            KeyCode::Backspace => Self::Edit(Edit::Backspace),
            KeyCode::Delete => Self::Edit(Edit::Delete),
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Enter => Self::Enter,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_is_not_a_letter() {
        let key = |code, modifiers| Key::of(KeyEvent::new(code, modifiers));
        let (none, control, alt) = (KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT);
        assert_eq!(key(KeyCode::Char('c'), none), Some(Key::Char('c')));
        assert_eq!(
            key(KeyCode::Char('C'), KeyModifiers::SHIFT),
            Some(Key::Char('C'))
        );
        assert_eq!(key(KeyCode::Char('c'), control), Some(Key::Interrupt));
        assert_eq!(
            key(KeyCode::Char('u'), control),
            Some(Key::Edit(Edit::Begin))
        );
        assert_eq!(key(KeyCode::Char('q'), control), None);
        assert_eq!(key(KeyCode::Char('q'), alt), None);
        assert_eq!(key(KeyCode::Char('@'), control | alt), Some(Key::Char('@')));
        assert_eq!(key(KeyCode::F(1), none), None);
    }
}
