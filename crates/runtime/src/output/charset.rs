//! Draws bars and charts with characters that the terminal can show.

use std::env;

use clap::{Args, ValueEnum};

/// Letters that can be drawn with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// Block elements (U+2580 to U+259F), in eighths.
    Unicode,
    /// Characters that every terminal has.
    #[default]
    Ascii,
}

/// Which letters to draw with, as a flag.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct CharsetArg {
    /// Draw with block elements, or with ASCII only [auto: by LC_ALL, LC_CTYPE or LANG; ASCII if
    /// TERM is linux]
    #[arg(
        long,
        value_name = "SET",
        default_value = "auto",
        hide_default_value = true
    )]
    charset: Choice,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Choice {
    #[default]
    Auto,
    Unicode,
    Ascii,
}

impl CharsetArg {
    /// Returns the requested charset, or the one that the environment suggests.
    pub fn charset(self) -> Charset {
        match self.charset {
            Choice::Auto => told(|name| env::var(name).ok()),
            Choice::Unicode => Charset::Unicode,
            Choice::Ascii => Charset::Ascii,
        }
    }
}

/// The first of the three that is set decides (POSIX, 8.2). The console of Linux has UTF-8, but few
/// blocks in its font.
fn told(variable: impl Fn(&str) -> Option<String>) -> Charset {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"];
    let mut set = locale
        .iter()
        .filter_map(|name| variable(name).filter(|value| !value.is_empty()));
    let locale = set.next().unwrap_or_default().to_ascii_lowercase();
    let console = variable("TERM").is_some_and(|term| term == "linux");
    if !console && (locale.contains("utf-8") || locale.contains("utf8")) {
        Charset::Unicode
    } else {
        Charset::Ascii
    }
}

/// Left to right, by eighths.
const ACROSS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// From below, by eighths.
const UP: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Steps of a bar without block characters: more ink for a higher value.
const INK: [char; 8] = ['.', ':', '-', '=', '+', '*', '#', '@'];

impl Charset {
    /// A bar of at most `width` columns for `value`, where `most` fills it. Something is drawn for
    /// whatever is not 0.
    pub fn bar(self, value: u64, most: u64, width: usize) -> String {
        let steps = match self {
            Self::Unicode => 8,
            Self::Ascii => 1,
        };
        let whole = u64::try_from(width)
            .unwrap_or(u64::MAX)
            .saturating_mul(steps);
        let filled = usize::try_from(share(value, most, whole)).unwrap_or(usize::MAX);
        match self {
            Self::Ascii => "#".repeat(filled),
            Self::Unicode => {
                let mut bar = "█".repeat(filled / 8);
                if filled % 8 > 0 {
                    bar.push(ACROSS[filled % 8 - 1]);
                }
                bar
            }
        }
    }

    /// Draws a column of a chart that is `rows` high, from the top row to the lowest. In ASCII a
    /// row is full, half full or empty; a single row has eight steps in both.
    pub fn column(self, value: u64, most: u64, rows: usize) -> Vec<char> {
        let rows_number = u64::try_from(rows).unwrap_or(u64::MAX);
        let filled = share(value, most, rows_number.saturating_mul(8));
        let of_row = |row: u64| filled.saturating_sub(row.saturating_mul(8)).min(8);
        let letter = |eighths: u64| match (usize::try_from(eighths).unwrap_or(8), self) {
            (0, _) => ' ',
            (n, Self::Unicode) => UP[n - 1],
            (n, Self::Ascii) if rows == 1 => INK[n - 1],
            (n, Self::Ascii) => {
                if n <= 4 {
                    '.'
                } else {
                    '#'
                }
            }
        };
        (0..rows_number)
            .rev()
            .map(|row| letter(of_row(row)))
            .collect()
    }
}

/// `value / most` of `whole`, rounded, but 0 for 0 only, and never more than the whole.
fn share(value: u64, most: u64, whole: u64) -> u64 {
    if value == 0 || most == 0 || whole == 0 {
        return 0;
    }
    let most = u128::from(most);
    let part = (u128::from(value) * u128::from(whole) + most / 2) / most;
    u64::try_from(part).unwrap_or(whole).clamp(1, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_tells() {
        let with = |pairs: &'static [(&'static str, &'static str)]| {
            told(move |name| {
                pairs
                    .iter()
                    .find(|pair| pair.0 == name)
                    .map(|pair| pair.1.to_owned())
            })
        };
        assert_eq!(with(&[]), Charset::Ascii);
        assert_eq!(
            with(&[("LANG", "de_DE.UTF-8"), ("TERM", "screen")]),
            Charset::Unicode
        );
        assert_eq!(with(&[("LANG", "C.utf8")]), Charset::Unicode);
        assert_eq!(
            with(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]),
            Charset::Ascii
        );
        assert_eq!(
            with(&[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8")]),
            Charset::Unicode
        );
        assert_eq!(
            with(&[("LANG", "C.UTF-8"), ("TERM", "linux")]),
            Charset::Ascii
        );
    }

    #[test]
    fn bars_have_their_length() {
        for (value, unicode, ascii) in [
            (0, "", ""),
            (1, "▏", "#"),
            (500, "██", "##"),
            (600, "██▍", "##"),
            (1000, "████", "####"),
            (5000, "████", "####"),
        ] {
            assert_eq!(Charset::Unicode.bar(value, 1000, 4), unicode, "{value}");
            assert_eq!(Charset::Ascii.bar(value, 1000, 4), ascii, "{value}");
        }
        assert_eq!(Charset::Unicode.bar(u64::MAX, u64::MAX, 2), "██");
        assert_eq!(Charset::Ascii.bar(7, 0, 4), "", "where nothing is the most");
    }

    #[test]
    fn columns_have_their_height() {
        let column = |charset: Charset, value, rows| {
            charset
                .column(value, 16, rows)
                .into_iter()
                .collect::<String>()
        };
        assert_eq!(column(Charset::Unicode, 0, 2), "  ");
        assert_eq!(column(Charset::Unicode, 12, 2), "▄█");
        assert_eq!(column(Charset::Ascii, 12, 2), ".#");
        assert_eq!(column(Charset::Ascii, 14, 2), "##");
        assert_eq!(column(Charset::Unicode, 16, 1), "█");
        assert_eq!(column(Charset::Ascii, 2, 1), ".");
        assert_eq!(column(Charset::Ascii, 99, 1), "@");
    }
}
