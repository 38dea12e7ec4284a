//! A QR code: in a terminal, two modules in each letter, one above the other; and on paper.

use qrcode::{Color, QrCode};

/// Width of the quiet zone, in modules (ISO/IEC 18004, 9.1).
const QUIET: usize = 4;

/// Returns the rows of a text's code; `None` if the text is too long. Without colour, draws the
/// light modules and leaves out the dark ones, as most terminals are dark. With colour, draws both
/// explicitly, for any background.
pub fn rows(text: &str, colour: bool) -> Option<Vec<String>> {
    let code = QrCode::new(text).ok()?;
    let side = code.width();
    let dark = |row: usize, column: usize| {
        let inside =
            (QUIET..QUIET + side).contains(&row) && (QUIET..QUIET + side).contains(&column);
        inside && code[(column - QUIET, row - QUIET)] == Color::Dark
    };
    let whole = side + 2 * QUIET;
    let rows = (0..whole).step_by(2).map(|row| {
        let letters = (0..whole).map(|column| {
            // Below the last row, nothing is drawn.
            let below = row + 1 == whole || dark(row + 1, column);
            match (dark(row, column), below) {
                (true, true) => ' ',
                (true, false) => '▄',
                (false, true) => '▀',
                (false, false) => '█',
            }
        });
        let letters: String = letters.collect();
        match colour {
            // White on black from the 256 colours, which no palette changes.
            true => format!("\x1b[38;5;231;48;5;16m{letters}\x1b[0m"),
            false => letters,
        }
    });
    Some(rows.collect())
}

/// Returns a code as a picture: the length of its sides in modules, with the quiet zone, and its
/// dark modules as a path of SVG; `None`: the text is too long.
pub fn path(text: &str) -> Option<(usize, String)> {
    let code = QrCode::new(text).ok()?;
    let side = code.width();
    let mut path = String::new();
    for row in 0..side {
        for column in (0..side).filter(|column| code[(*column, row)] == Color::Dark) {
            let (x, y) = (column + QUIET, row + QUIET);
            path.push_str(&format!("M{x} {y}h1v1h-1z"));
        }
    }
    Some((side + 2 * QUIET, path))
}

/// Draws the code as an SVG picture, black on white.
pub fn svg(text: &str) -> Option<String> {
    let (whole, path) = path(text)?;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {whole} {whole}\" \
         shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{whole}v{whole}H0z\"/><path \
         d=\"{path}\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders the code as a camera would see it, each module several pixels wide.
    fn read(rows: &[String]) -> String {
        const SIZE: usize = 4;
        let light = |letter: char, upper: bool| match letter {
            '█' => true,
            '▀' => upper,
            '▄' => !upper,
            ' ' => false,
            other => panic!("{other:?}"),
        };
        let modules: Vec<Vec<bool>> = rows
            .iter()
            .flat_map(|row| {
                [true, false].map(|upper| row.chars().map(|c| light(c, upper)).collect())
            })
            .collect();
        let (width, height) = (modules[0].len() * SIZE, modules.len() * SIZE);
        let mut picture = rqrr::PreparedImage::prepare_from_greyscale(width, height, |x, y| {
            if modules[y / SIZE][x / SIZE] { 255 } else { 0 }
        });
        let found = picture.detect_grids();
        assert_eq!(found.len(), 1);
        found[0].decode().expect("readable").1
    }

    #[test]
    fn another_reader_reads_it() {
        for text in [
            "x".to_owned(),
            format!("weir-pair:1:{}@partner.example.net:9349", "aB3_".repeat(16)),
            "y".repeat(1000),
        ] {
            let rows = rows(&text, false).expect("short enough");
            assert!(
                rows.iter()
                    .all(|row| row.chars().count() == rows[0].chars().count())
            );
            assert_eq!(read(&rows), text);
        }
        assert_eq!(rows(&"z".repeat(5000), false), None);
    }

    #[test]
    fn colour_only_where_there_is() {
        let plain = rows("x", false).expect("short");
        let coloured = rows("x", true).expect("short");
        assert!(!plain.concat().contains('\x1b'));
        assert!(
            coloured
                .iter()
                .all(|row| row.starts_with("\x1b[") && row.ends_with("\x1b[0m"))
        );
    }
}
