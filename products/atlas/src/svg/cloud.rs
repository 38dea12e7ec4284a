//! Word cloud, with sizes by value.

use super::canvas::{Area, Canvas, Drawn, LETTERS, overlap};
use super::ink::{escape, length, named};
use super::letters::{fit, width};
use super::number::{number, sane};
use super::{colour, frame};
use crate::figure::Bar;
use crate::text::Language;

/// Largest number of words, and the least number of pixels for each: too many words would all have
/// the smallest size, and hide their values.
const WORDS: usize = 150;
const ROOM: f64 = 2800.0;
/// Spots that are tried for a word.
const SPOTS: usize = 2500;
/// The least size of letters.
const LEAST: f64 = 10.0;
/// Maximum width of a word as a part of the area, so that more than one position has room for the
/// word.
const WIDEST: f64 = 0.9;
/// The blank at both sides of a word, of its size.
const BLANK: f64 = 0.3;

/// A word with its place.
struct Word<'a> {
    bar: &'a Bar,
    text: String,
    value: f64,
    size: f64,
    area: Area,
}

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas, bars: &[Bar]) -> Drawn {
    let mut all: Vec<(&Bar, f64)> = (bars.iter())
        .filter_map(|bar| Some((bar, sane(bar.value)?)))
        .filter(|(_, value)| *value > 0.0)
        .collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    let wanted = all.len();
    // Reserve room for notes, which are known only later.
    let planned = Area {
        left: 16.0,
        right: canvas.width - 16.0,
        top: 68.0,
        bottom: (canvas.height - 36.0).max(100.0),
    };
    let room = (planned.width() * planned.height() / ROOM) as usize;
    all.truncate(room.clamp(8, WORDS));
    let words = place(&all, planned);
    let left = bars.len() - words.len().min(wanted);
    if left > 0 {
        canvas.notes.push(match canvas.language {
            Language::English => format!("Without room here: {left}."),
            Language::German => format!("Ohne Platz hier: {left}."),
        });
    }
    let area = frame::draw(canvas, &[]);
    for word in &words {
        draw_word(canvas, word);
    }
    let gist = if words.is_empty() {
        canvas.nothing(area)
    } else {
        let first: Vec<String> = (words.iter().take(3))
            .map(|word| format!("{}: {}", word.text, number(word.value, canvas.language)))
            .collect();
        format!("{}.", first.join(", "))
    };
    Drawn {
        area,
        most: all.first().map_or(0.0, |first| first.1),
        gist,
        ..Drawn::default()
    }
}

/// Places words in an area without overlap: the largest in the middle, each other on a spiral, as
/// near to the middle as possible. If not all fit, all are smaller; words too small to read are
/// left out.
fn place<'a>(all: &[(&'a Bar, f64)], area: Area) -> Vec<Word<'a>> {
    let Some(most) = all.first().map(|first| first.1) else {
        return Vec::new();
    };
    // Letters cover only a part of the area, because of the gaps between them.
    let ems: f64 = (all.iter())
        .map(|(bar, value)| width(named(&bar.name, &bar.key), 1.0) * value / most)
        .sum();
    // The largest names fit as a whole, with their sizes in proportion.
    let widest = (all.iter())
        .filter(|(_, value)| *value * 4.0 >= most)
        .map(|(bar, value)| largest(named(&bar.name, &bar.key), area) / (value / most).sqrt())
        .fold(f64::INFINITY, f64::min);
    let mut size = (area.width() * area.height() * 0.62 / ems.max(0.1))
        .sqrt()
        .min(area.height() * 0.3)
        .min(widest.max(LEAST));
    let mut best = Vec::new();
    for _ in 0..10 {
        let words = attempt(all, area, size, most);
        if words.len() > best.len() {
            best = words;
        }
        if best.len() == all.len() {
            break;
        }
        size *= 0.9;
    }
    best
}

/// Returns the size at which a text has the maximum width.
fn largest(text: &str, area: Area) -> f64 {
    area.width() * WIDEST / (width(text, 1.0) + BLANK)
}

fn attempt<'a>(all: &[(&'a Bar, f64)], area: Area, size_of_most: f64, most: f64) -> Vec<Word<'a>> {
    let mut words: Vec<Word> = Vec::new();
    for (bar, value) in all {
        let name = named(&bar.name, &bar.key);
        // The whole name, smaller; its beginning, if the whole name would be unreadable.
        let size = size_of_most * (value / most).sqrt();
        let size = size.min(largest(name, area)).max(LEAST);
        let text = fit(name, size, area.width() * WIDEST - size * BLANK);
        let (wide, high) = (width(&text, size), size * 1.12);
        // A blank of its own at each side.
        let wide = wide + size * BLANK;
        // The begin of a spiral depends on the word alone.
        let turn = (colour::hash(&bar.key) % 628) as f64 / 100.0;
        let found = spots(area, turn).find_map(|(x, y)| {
            let here = Area {
                left: x - wide / 2.0,
                right: x + wide / 2.0,
                top: y - high / 2.0,
                bottom: y + high / 2.0,
            };
            let within = here.left >= area.left
                && here.right <= area.right
                && here.top >= area.top
                && here.bottom <= area.bottom;
            let free = |word: &Word| !overlap(&here, &word.area);
            (within && words.iter().all(free)).then_some(here)
        });
        let Some(here) = found else {
            // Smaller ones may have room all the same, in the last attempt; now all get smaller.
            break;
        };
        words.push(Word {
            bar,
            text,
            value: *value,
            size,
            area: here,
        });
    }
    words
}

/// Spots on a spiral from the middle outwards, as wide as the area is.
fn spots(area: Area, turn: f64) -> impl Iterator<Item = (f64, f64)> {
    let middle = (
        (area.left + area.right) / 2.0,
        (area.top + area.bottom) / 2.0,
    );
    let (wide, high) = (area.width() / 2.0, area.height() / 2.0);
    (0..SPOTS).map(move |nth| {
        // Equal density of spots on outer and inner turns.
        let far = (nth as f64 / SPOTS as f64).sqrt();
        let angle = turn + far * 2.0 * std::f64::consts::PI * 28.0;
        (
            middle.0 + far * wide * angle.cos(),
            middle.1 + far * high * angle.sin(),
        )
    })
}

fn draw_word(canvas: &mut Canvas, word: &Word) {
    canvas.item(&word.bar.key, &word.bar.name, word.value);
    let fill = canvas.fill(
        "",
        colour::slot(&colour::of_name(&word.bar.name, &word.bar.key)).paint,
    );
    // The length forces the computed width in any font of the reader.
    canvas.ink.put(format_args!(
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\" textLength=\"{}\" \
         lengthAdjust=\"spacingAndGlyphs\"{fill}>{}</text></g>",
        length(word.area.left + word.size * 0.15),
        length((word.area.top + word.area.bottom) / 2.0 + word.size * 0.36),
        length(word.size),
        length(word.area.width() - word.size * 0.3),
        escape(&word.text, LETTERS)
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart_query::PictureStyle;
    use crate::figure::{Figure, Plot, Table};
    use crate::time::Unit;

    fn bar(key: &str, name: &str, value: f64) -> Bar {
        Bar {
            key: key.into(),
            name: name.into(),
            value,
        }
    }

    fn bars() -> Vec<Bar> {
        (1..=40)
            .map(|nth: i32| {
                let name = format!("Freifunk {}", "x".repeat(nth as usize % 9));
                bar(&format!("key{nth}"), &name, 2000.0 / f64::from(nth))
            })
            .chain([bar("least", "Freifunk", 0.01)])
            .collect()
    }

    fn placed(bars: &[Bar], wide: f64, high: f64) -> Vec<Word<'_>> {
        let area = Area {
            left: 10.0,
            right: 10.0 + wide,
            top: 50.0,
            bottom: 50.0 + high,
        };
        let all: Vec<(&Bar, f64)> = bars.iter().map(|bar| (bar, bar.value)).collect();
        let words = place(&all, area);
        for (at, word) in words.iter().enumerate() {
            let here = word.area;
            // Width of the letters with a blank at each side, and a line's height.
            let letters = width(&word.text, word.size) + 0.3 * word.size;
            assert!((here.width() - letters).abs() < 1e-6, "{}", word.text);
            assert!((here.height() - 1.12 * word.size).abs() < 1e-6);
            assert!(word.size >= LEAST);
            assert!(here.left >= area.left && here.right <= area.right);
            assert!(here.top >= area.top && here.bottom <= area.bottom);
            let upon = |other: &Word| overlap(&here, &other.area);
            assert!(!words[..at].iter().any(upon), "{}", word.text);
        }
        words
    }

    #[test]
    fn words_have_room_and_none_is_upon_another() {
        let bars = bars();
        let words = placed(&bars, 590.0, 350.0);
        assert_eq!(words.len(), 41);
        assert!(words.iter().all(|word| word.text == word.bar.name.trim()));
        // Four times the value is twice the size, and all words are readable.
        assert!((words[0].size / words[3].size - 2.0).abs() < 0.01);
        assert!((words[40].size - LEAST).abs() < 1e-9);
        // The largest is in the middle.
        let middle = words[0].area;
        assert!(((middle.left + middle.right) / 2.0 - 305.0).abs() < 1e-6);
        assert!(((middle.top + middle.bottom) / 2.0 - 225.0).abs() < 1e-6);
        // In a small area some words remain.
        for wide in [90.0, 150.0, 300.0] {
            for high in [60.0, 120.0, 150.0, 500.0] {
                let some = placed(&bars, wide, high).len();
                assert!(some > 2, "{wide} × {high}: {some}");
            }
        }
        let long = [bar("long", &"x".repeat(300), 1.0)];
        let words = placed(&long, 590.0, 350.0);
        let wide = width(&words[0].text, words[0].size);
        assert!(words[0].text.ends_with('…') || wide > 380.0, "{wide}");
    }

    #[test]
    fn the_largest_names_are_whole_and_smaller() {
        let mut bars = vec![
            bar("big", "Freifunk Rhein-Neckar und Umgebung e.V.", 3993.0),
            bar("big2", "Freifunk Rheinland und Bergisches Land", 3500.0),
        ];
        for (nth, name) in ["Aachen", "Ulm", "Hof", "Kiel", "Bonn", "Moers"]
            .iter()
            .enumerate()
        {
            let value = 300.0 - 20.0 * nth as f64;
            bars.push(bar(name, &format!("Freifunk {name}"), value));
        }
        // Sizes in a page, in a telephone, and of the smallest picture.
        for (wide, high) in [(928.0, 376.0), (308.0, 296.0), (308.0, 110.0)] {
            let words = placed(&bars, wide, high);
            assert_eq!(words.len(), bars.len(), "{wide} × {high}");
            for word in &words {
                assert_eq!(word.text, word.bar.name, "{wide} × {high}");
            }
            let proportion = words[0].size / words[1].size;
            let expected = (3993.0_f64 / 3500.0).sqrt();
            assert!((proportion - expected).abs() < 0.01, "{proportion}");
        }
    }

    fn drawing(bars: Vec<Bar>) -> String {
        let figure = Figure {
            title: "Words".into(),
            name: "Words".into(),
            odd: 0,
            notes: Vec::new(),
            from: 0,
            to: 744,
            by: Unit::Month,
            plot: Plot::Words(bars),
            table: Table {
                name: "communities",
                columns: Vec::new(),
                rows: Vec::new(),
            },
        };
        let look = PictureStyle {
            width: 400,
            height: 300,
            ..PictureStyle::default()
        };
        crate::svg::draw(&figure, "cloud", &look, Language::English, None)
    }

    #[test]
    fn the_largest_are_drawn_and_the_others_counted() {
        let drawn = |picture: &str| picture.matches("class=\"item\"").count();
        // In any order, and without words of value 0.
        let few = vec![bar("a", "", 1.0), bar("b", "", 0.0), bar("c", "", 9.0)];
        let few = drawing(few);
        assert_eq!(drawn(&few), 2);
        assert!(
            few.contains("<desc id=\"") && few.contains(">c: 9, a: 1. "),
            "{few}"
        );
        assert!(few.contains("Without room here: 1."), "{few}");
        let all = drawing(vec![bar("a", "", 1.0), bar("c", "", 9.0)]);
        assert!(!all.contains("Without room"), "{all}");
        // Each word has 2800 pixels.
        let many = drawing(
            (1..=400)
                .map(|nth| bar(&nth.to_string(), "", 5.0))
                .collect(),
        );
        assert_eq!(drawn(&many), 368 * 196 / 2800);
        assert!(many.contains("Without room here: 375."), "{many}");
    }
}
