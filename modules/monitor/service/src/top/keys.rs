//! Keys that have a meaning here.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A letter, a digit, a sign.
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Esc,
    Backspace,
    Tab,
    /// Ctrl and C: end, whatever is going on.
    Interrupt,
    /// Ctrl and L: redraw the screen.
    Redraw,
}

impl Key {
    /// Converts a key event. `None`: a key without a meaning here.
    pub(super) fn of(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        Some(match event.code {
            KeyCode::Char('c' | 'd') if control => Self::Interrupt,
            KeyCode::Char('l') if control => Self::Redraw,
            KeyCode::Char(_) if control || event.modifiers.contains(KeyModifiers::ALT) => {
                return None;
            }
            KeyCode::Char(letter) => Self::Char(letter),
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::Enter | KeyCode::Right => Self::Enter,
            KeyCode::Esc | KeyCode::Left => Self::Esc,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Tab => Self::Tab,
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
        assert_eq!(
            key(KeyCode::Char('c'), KeyModifiers::NONE),
            Some(Key::Char('c'))
        );
        assert_eq!(
            key(KeyCode::Char('C'), KeyModifiers::SHIFT),
            Some(Key::Char('C'))
        );
        assert_eq!(
            key(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Key::Interrupt)
        );
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::ALT), None);
        assert_eq!(key(KeyCode::F(1), KeyModifiers::NONE), None);
    }
}
