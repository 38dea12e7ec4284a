//! Output of commands: tables, units, colour. Everything goes through [`Output`], which reports
//! errors instead of a panic.

mod charset;
pub mod dates;
pub mod qr;
mod table;
mod text;
pub mod units;

use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;

pub use charset::{Charset, CharsetArg};
pub use table::{Align, Cell, Table};
pub use text::{clipped, sanitize, some_of, width};

/// Meaning of a piece of text; its colour, if colours are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing particular.
    #[default]
    Plain,
    /// Good: green.
    Good,
    /// Warning: yellow.
    Warn,
    /// Wrong: red.
    Bad,
    /// Of less interest.
    Dim,
    /// A heading.
    Bold,
}

/// Standard output, or a test's memory.
pub struct Output<'a> {
    writer: Box<dyn Write + 'a>,
    colour: bool,
    terminal: bool,
}

impl<'a> Output<'a> {
    /// Returns standard output; with colour on a terminal, unless `NO_COLOR` (no-color.org) is set
    /// or the terminal is dumb.
    pub fn stdout() -> Output<'static> {
        let terminal = io::stdout().is_terminal();
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colour = terminal && !set("NO_COLOR") && !dumb;
        Output {
            writer: Box::new(BufWriter::new(io::stdout().lock())),
            colour,
            terminal,
        }
    }

    /// Anything else that can be written to.
    pub fn to(writer: impl Write + 'a, colour: bool) -> Self {
        Self {
            writer: Box::new(writer),
            colour,
            terminal: false,
        }
    }

    /// Returns true if the output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns true if text is coloured.
    pub fn has_colour(&self) -> bool {
        self.colour
    }

    /// Returns text, coloured if colours are on.
    pub fn toned(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            _ if !self.colour => return text.to_owned(),
            Tone::Good => "32",
            Tone::Warn => "33",
            Tone::Bad => "31",
            Tone::Dim => "2",
            Tone::Bold => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Writes a line.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.writer, "{text}")
    }

    /// `name  value`, the names of one width.
    pub fn field(&mut self, name: &str, value: &str) -> io::Result<()> {
        let name = self.toned(Tone::Dim, &format!("{name:<12}"));
        writeln!(self.writer, "{name}  {value}")
    }

    /// Prints a JSON document, indented, and a newline. A terminal obeys no letter of it.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let document = serde_json::to_string_pretty(value)?;
        writeln!(self.writer, "{}", cli::text::json(&document))
    }

    /// Bytes as they are.
    pub fn raw(&mut self) -> &mut dyn Write {
        &mut self.writer
    }

    /// Flushes the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Columns for running text; tables take the necessary width.
pub const WIDTH: usize = 80;

/// Breaks text between words into lines of at most `width` characters. A longer word gets a line of
/// its own, unbroken: it may be a path to copy.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_only_where_wanted() {
        let mut memory = Vec::new();
        assert_eq!(Output::to(&mut memory, false).toned(Tone::Bad, "x"), "x");
        assert_eq!(
            Output::to(&mut memory, true).toned(Tone::Bad, "x"),
            "\x1b[31mx\x1b[0m"
        );
        assert_eq!(Output::to(&mut memory, true).toned(Tone::Plain, "x"), "x");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("a /long/path b", 4), ["a", "/long/path", "b"]);
    }

    #[test]
    fn a_closed_pipe_is_seen() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = Output::to(Closed, false).json(&[1, 2]).expect_err("closed");
        assert_eq!(
            error.kind(),
            io::ErrorKind::BrokenPipe,
            "serde_json keeps the kind"
        );
    }
}
