//! Aligned columns, for any number of rows.

use std::io;

use super::{Output, Tone, sanitize, width};

/// Rows that determine the column widths. Later, wider rows push their neighbours; the alternative
/// would be to buffer a hundred thousand rows.
const SAMPLE: usize = 512;

/// Which side of its column a text keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A text with a meaning.
    pub fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        Self {
            text: sanitize(text.as_ref()),
            tone,
        }
    }

    /// Creates a cell with the text, or with `-` if there is no text.
    pub fn or_dash(text: Option<impl AsRef<str>>) -> Self {
        match text {
            Some(text) => text.as_ref().into(),
            None => Self::toned("-", Tone::Dim),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

/// Writes rows under a heading.
pub struct Table<'h, const N: usize> {
    columns: [(&'h str, Align); N],
    waiting: Vec<[Cell; N]>,
    widths: Option<[usize; N]>,
}

impl<'h, const N: usize> Table<'h, N> {
    /// Creates a table with these headings.
    pub fn new(columns: [(&'h str, Align); N]) -> Self {
        Self {
            columns,
            waiting: Vec::new(),
            widths: None,
        }
    }

    /// Adds a row.
    pub fn row(&mut self, row: [Cell; N], output: &mut Output<'_>) -> io::Result<()> {
        if let Some(widths) = self.widths {
            return self.write(&row, &widths, output);
        }
        self.waiting.push(row);
        if self.waiting.len() >= SAMPLE {
            self.release(output)
        } else {
            Ok(())
        }
    }

    /// Writes the buffered rows, or at least the heading.
    pub fn finish(mut self, output: &mut Output<'_>) -> io::Result<()> {
        if self.widths.is_none() {
            self.release(output)
        } else {
            Ok(())
        }
    }

    fn release(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        let mut widths = self.columns.map(|(heading, _)| width(heading));
        for row in &self.waiting {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(&cell.text));
            }
        }
        self.widths = Some(widths);
        let headings = self
            .columns
            .map(|(heading, _)| Cell::toned(heading, Tone::Bold));
        self.write(&headings, &widths, output)?;
        for row in std::mem::take(&mut self.waiting) {
            self.write(&row, &widths, output)?;
        }
        Ok(())
    }

    fn write(
        &self,
        row: &[Cell; N],
        widths: &[usize; N],
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let mut line = String::new();
        for (index, (cell, column)) in row.iter().zip(widths).enumerate() {
            if index > 0 {
                line.push_str("  ");
            }
            let padding = " ".repeat(column.saturating_sub(width(&cell.text)));
            let text = output.toned(cell.tone, &cell.text);
            match self.columns[index].1 {
                Align::Left => line.extend([text, padding]),
                Align::Right => line.extend([padding, text]),
            }
        }
        output.line(line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize) -> String {
        let mut memory = Vec::new();
        let mut output = Output::to(&mut memory, false);
        let mut table = Table::new([
            ("NAME", Align::Left),
            ("N", Align::Right),
            ("LAST", Align::Left),
        ]);
        for number in 0..rows {
            let last = Cell::or_dash((number > 0).then_some("é"));
            table
                .row(["x".into(), number.to_string().into(), last], &mut output)
                .expect("memory");
        }
        table.finish(&mut output).expect("memory");
        drop(output);
        String::from_utf8(memory).expect("text")
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(table(0), "NAME  N  LAST\n");
        assert_eq!(table(2), "NAME  N  LAST\nx     0  -\nx     1  é\n");
        assert!(table(12).contains("\nx      9  é\nx     10  é\n"));
    }

    #[test]
    fn no_row_is_lost_after_the_sample() {
        for rows in [SAMPLE - 1, SAMPLE, SAMPLE + 1, 3 * SAMPLE] {
            assert_eq!(table(rows).lines().count(), rows + 1);
        }
        assert!(
            table(1001).ends_with("x     1000  é\n"),
            "wider than the sample"
        );
    }
}
