//! Reads a line from a terminal without echo.

use std::io::{self, BufRead};
use std::os::fd::AsFd;

use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};

/// Input so far.
#[derive(Debug, Default)]
struct Line {
    octets: Vec<u8>,
}

/// Effect of a key.
#[derive(Debug, PartialEq, Eq)]
enum Key {
    /// The line continues.
    More,
    /// The line is complete.
    Done,
    /// Ctrl-C, or end of input on an empty line.
    Away,
}

impl Line {
    /// Handles one byte. Keeps at most one byte beyond `most`, so that an overlong line is still
    /// recognised.
    fn key(&mut self, octet: u8, most: usize) -> Key {
        match octet {
            b'\r' | b'\n' => return Key::Done,
            // Ctrl-C
            0x03 => return Key::Away,
            // Ctrl-D
            0x04 if self.octets.is_empty() => return Key::Away,
            0x04 => return Key::Done,
            // Ctrl-U
            0x15 => self.octets.clear(),
            // Backspace takes a whole character of UTF-8.
            0x08 | 0x7f => while self.octets.pop().is_some_and(|last| last & 0xc0 == 0x80) {},
            other if self.octets.len() <= most => self.octets.push(other),
            _ => {}
        }
        Key::More
    }
}

/// The terminal's old state, restored on drop.
struct Restore<'a, T: AsFd> {
    terminal: &'a T,
    before: Termios,
}

impl<T: AsFd> Drop for Restore<'_, T> {
    fn drop(&mut self) {
        // A failure has no fallback.
        let _ = tcsetattr(self.terminal, SetArg::TCSADRAIN, &self.before);
    }
}

/// Reads a line without echo; `None` if the user aborts. Keys that would end the program come as
/// bytes instead, so that the echo is always restored.
pub(super) fn hidden(
    terminal: &impl AsFd,
    mut input: impl BufRead,
    most: usize,
) -> io::Result<Option<Vec<u8>>> {
    let before = tcgetattr(terminal)?;
    let mut silent = before.clone();
    silent
        .local_flags
        .remove(LocalFlags::ECHO | LocalFlags::ECHONL | LocalFlags::ICANON | LocalFlags::ISIG);
    // Shares its index with the end-of-input character on some processors.
    silent.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
    silent.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
    // Drops input typed before the question.
    tcsetattr(terminal, SetArg::TCSAFLUSH, &silent)?;
    let _restored = Restore { terminal, before };
    read(&mut input, most)
}

fn read(input: &mut impl BufRead, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Line::default();
    loop {
        let octet = match input.fill_buf() {
            Ok(octets) => octets.first().copied(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        input.consume(usize::from(octet.is_some()));
        // The terminal hung up.
        let Some(octet) = octet else {
            return Ok(None);
        };
        match line.key(octet, most) {
            Key::More => {}
            Key::Done => return Ok(Some(line.octets)),
            Key::Away => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for (typed, line) in [
            (&b"abc\r"[..], Some(&b"abc"[..])),
            (b"abc\nrest", Some(b"abc")),
            (b"abx\x7fc\n", Some(b"abc")),
            ("aä\u{7f}b€\u{8}\n".as_bytes(), Some(b"ab")),
            (b"\x7f\x7fa\n", Some(b"a")),
            (b"wrong\x15abc\n", Some(b"abc")),
            (b"abc\x04", Some(b"abc")),
            (b"\x04", None),
            (b"abc\x03", None),
            (b"abc", None),
            (b"\n", Some(b"")),
        ] {
            let read = read(&mut &*typed, 100).expect("no error");
            assert_eq!(read.as_deref(), line, "{typed:?}");
        }
    }

    #[test]
    fn bounded() {
        let mut typed = vec![b'x'; 1 << 20];
        typed.push(b'\n');
        let line = read(&mut &typed[..], 100)
            .expect("no error")
            .expect("a line");
        assert_eq!(line.len(), 101);
    }
}
