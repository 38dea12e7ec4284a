//! Colours. Each colour is an attribute at its place of use, so that a picture is correct without a
//! style sheet; an additional class lets [`sheet`] turn the colour dark.
//!
//! The parts' colours result from a search, which maximised the smallest difference between any
//! two, for normal vision and for people who lack the cones for green or for red, with a contrast
//! of at least 3 on the background (WCAG 2.2, 1.4.11). A mark, a hatch or a name repeats the
//! meaning of each colour.

use std::fmt::Write;

use crate::chart_query::Theme;

/// Role of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    Ground,
    Text,
    Muted,
    Grid,
    Axis,
    Land,
    Border,
    /// A part of a whole, by [`slot`].
    Part(usize),
    /// Remaining values.
    Rest,
    /// Steps of one scale.
    Heat(usize),
}

/// Number of colours of parts.
pub(super) const PARTS: usize = 8;

const LIGHT: [&str; PARTS] = [
    "#138fa7", "#af6e54", "#5044ad", "#2a5b0e", "#a63b68", "#5e8df6", "#a89107", "#581e4f",
];
const DARK: [&str; PARTS] = [
    "#42d9fd", "#ca8125", "#9999f1", "#8de8b0", "#db8fa3", "#537fcc", "#d5be4e", "#a16589",
];

/// Levels have one colour each.
pub(super) const LEVELS: usize = 6;
/// Scale from little to much: one hue, increasingly different from the ground in lightness.
const HEAT: [(&str, &str); LEVELS] = [
    ("#d3e9ee", "#1c434d"),
    ("#a9d4de", "#1f5c6a"),
    ("#74b8c8", "#247a8b"),
    ("#3b96aa", "#389fb2"),
    ("#126f85", "#6cc8d9"),
    ("#0a4859", "#c3f1f9"),
];

impl Paint {
    fn all() -> impl Iterator<Item = Self> {
        let parts = (0..PARTS).map(Self::Part);
        let heat = (0..LEVELS).map(Self::Heat);
        [
            Self::Ground,
            Self::Text,
            Self::Muted,
            Self::Grid,
            Self::Axis,
            Self::Land,
            Self::Border,
            Self::Rest,
        ]
        .into_iter()
        .chain(parts)
        .chain(heat)
    }

    /// Returns the name. Its class is `f-NAME` for fills and `s-NAME` for lines.
    pub(super) fn name(self) -> String {
        match self {
            Self::Ground => "ground".into(),
            Self::Text => "text".into(),
            Self::Muted => "muted".into(),
            Self::Grid => "grid".into(),
            Self::Axis => "axis".into(),
            Self::Land => "land".into(),
            Self::Border => "border".into(),
            Self::Rest => "rest".into(),
            Self::Part(at) => format!("part{at}"),
            Self::Heat(at) => format!("heat{at}"),
        }
    }

    /// Returns the light and the dark colour: as in web/src/style/tokens.css, except parts.
    fn colours(self) -> (&'static str, &'static str) {
        match self {
            Self::Ground => ("#ffffff", "#141d23"),
            Self::Text => ("#15212a", "#e3ebf0"),
            Self::Muted => ("#4d5d69", "#9db0bc"),
            Self::Grid => ("#e3e9ed", "#26343c"),
            Self::Axis => ("#7d8c97", "#71828d"),
            Self::Land => ("#e9eef1", "#22303a"),
            Self::Border => ("#b9c5cd", "#40525e"),
            Self::Rest => ("#77858f", "#8496a1"),
            Self::Part(at) => (LIGHT[at % PARTS], DARK[at % PARTS]),
            Self::Heat(at) => HEAT[at % LEVELS],
        }
    }
}

/// Returns the attributes that paint an element: `classes` are added to those of the theme.
pub(super) fn paint(
    theme: Theme,
    classes: &str,
    fill: Option<Paint>,
    stroke: Option<Paint>,
) -> String {
    let mut class = classes.to_owned();
    let mut colours = String::new();
    for (paint, letter, attribute) in [(fill, 'f', "fill"), (stroke, 's', "stroke")] {
        let Some(paint) = paint else { continue };
        let (light, dark) = paint.colours();
        let colour = if theme == Theme::Dark { dark } else { light };
        // A String takes everything.
        let _ = write!(colours, " {attribute}=\"{colour}\"");
        if theme == Theme::Auto {
            let blank = if class.is_empty() { "" } else { " " };
            let _ = write!(class, "{blank}{letter}-{}", paint.name());
        }
    }
    if class.is_empty() {
        return colours;
    }
    format!(" class=\"{class}\"{colours}")
}

/// Returns the style sheet that turns pictures of the theme `auto` dark if the reader's system is
/// dark. All pictures have the same sheet, so one page may contain any number of them;
/// [`super::draw`] puts the sheet into each. A page that forbids inline styles includes the sheet
/// in its own style sheet, and removes the sheet from the pictures by [`without_sheet`].
pub fn sheet() -> String {
    let mut text = String::from("@media screen and (prefers-color-scheme:dark){");
    for paint in Paint::all() {
        let (name, (_, dark)) = (paint.name(), paint.colours());
        // A String takes everything.
        let _ = write!(
            text,
            ".weir-chart .f-{name}{{fill:{dark}}}.weir-chart .s-{name}{{stroke:{dark}}}"
        );
    }
    text.push('}');
    text
}

/// Returns a picture of [`super::draw`] without its style sheet.
pub fn without_sheet(picture: &str) -> String {
    picture.replacen(&element(), "", 1)
}

pub(super) fn element() -> String {
    format!("<style>{}</style>", sheet())
}

/// Permanent appearance of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) paint: Paint,
    /// Index of the mark.
    pub(super) mark: usize,
    /// Index of the hatch or dash: 0 none, and less than [`ROUNDS`].
    pub(super) round: usize,
}

/// Number of hatches and dashes that distinguish names of one colour.
pub(super) const ROUNDS: usize = 10;

/// Returns the appearance of a key, identical in each picture and year, whatever else is in the
/// picture. Unforeseen keys may have one appearance; keys known to appear together do not.
pub(super) fn slot(key: &str) -> Slot {
    let hash = hash(key);
    // Each property uses other bits.
    let nth = |from: u32, of: usize| (hash >> from & 0xff_ffff) as usize % of;
    let marks = PARTS + 1;
    let (part, round, mark) = match known(key).or_else(|| listed(key)) {
        Some((part, round)) => (part, round, (part + round) % marks),
        None => (nth(0, PARTS), nth(8, ROUNDS), nth(16, marks)),
    };
    let paint = match part {
        PARTS => Paint::Rest,
        part => Paint::Part(part),
    };
    Slot { paint, mark, round }
}

/// Returns the source of a colour for a bar or a word: its name, so that a community and a
/// metacommunity of one name match, otherwise its key.
pub(super) fn of_name(name: &str, key: &str) -> String {
    super::ink::named(name, key).to_lowercase()
}

/// Returns the colour and hatch or dash of frequent keys, chosen to differ strongly within their
/// pictures. `PARTS`: grey.
fn known(key: &str) -> Option<(usize, usize)> {
    Some(match key.to_ascii_lowercase().as_str() {
        "live" | "nodes" | "rate" | "appeared" | "batman-adv" => (0, 0),
        "stale" | "olsr" => (6, 0),
        "begin" | "rest" | "other" => (PARTS, 0),
        "frozen" | "unknown" => (PARTS, 1),
        "none" => (PARTS, 2),
        "olsrv2" => (1, 0),
        "babel" => (4, 0),
        "802.11s" => (2, 0),
        "bmx6" => (3, 0),
        "bmxd" => (5, 0),
        "elsewhere" => (5, 2),
        "cjdns" | "gone" => (7, 0),
        // Classes of size: the larger, the darker.
        "0" => (PARTS, 0),
        "1-9" => (6, 0),
        "10-49" => (1, 0),
        "50-99" => (4, 0),
        "100-499" => (2, 0),
        "500+" => (7, 0),
        _ => return None,
    })
}

/// Names that share a chart and outnumber the colours, the most frequent first. Append new ones at
/// the end: the position determines the appearance.
const LISTS: [&[&str]; 2] = [
    &[
        "DE", "AT", "CH", "IT", "FR", "NL", "BE", "ES", "DK", "PL", "CZ", "GB", "LU", "SE", "NO",
        "FI", "US", "CA", "GR", "PT", "HU", "SI", "HR", "AR", "BR", "AU", "IN", "ZA",
    ],
    &[
        "0.4.14", "0.5.2", "0.4.1", "0.4.13", "0.4.8", "0.4.4", "0.5.3", "0.5.0", "0.4.16",
        "0.4.11", "0.1", "0.2.1", "0.3.0", "0.4.3", "0.4.5", "0.4.6", "0.4.9", "0.4.10", "0.4.12",
        "0.2.0", "0.4.0", "0.4.2", "0.4.7", "0.4.15", "0.4.17", "0.5.1", "0.5.4", "0.5.5",
    ],
];

fn listed(key: &str) -> Option<(usize, usize)> {
    let place = |list: &[&str]| list.iter().position(|one| *one == key);
    let place = LISTS.iter().find_map(|list| place(list))?;
    Some((place % PARTS, place / PARTS % ROUNDS))
}

/// Computes FNV-1a: stable, unlike the standard library's hash.
pub(super) fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    // The low bits alone distinguish short keys badly.
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    type Light = [f64; 3];

    fn light(colour: &str) -> Light {
        [1, 3, 5].map(|at| {
            let part = u8::from_str_radix(&colour[at..at + 2], 16).expect("hexadecimal");
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let luminance = |colour| {
            let [red, green, blue] = light(colour);
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        };
        let (one, other) = (luminance(one), luminance(other));
        one.max(other) / one.min(other)
    }

    fn seen(by: [[f64; 3]; 3], colour: &str) -> Light {
        let light = light(colour);
        by.map(|row| (0..3).map(|at| row[at] * light[at]).sum::<f64>().max(0.0))
    }

    /// Returns the difference in OKLab.
    fn difference(one: Light, other: Light) -> f64 {
        let lab = |[r, g, b]: Light| {
            let l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b).cbrt();
            let m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b).cbrt();
            let s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b).cbrt();
            [
                0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
                1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
                0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
            ]
        };
        let (one, other) = (lab(one), lab(other));
        let squares = (0..3).map(|at| (one[at] - other[at]).powi(2));
        squares.sum::<f64>().sqrt()
    }

    #[test]
    fn colours_have_contrast_and_differ_for_all_eyes() {
        // Machado, Oliveira and Fernandes (2009), severity 1.
        let eyes = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ];
        for (parts, ground) in [(LIGHT, "#ffffff"), (DARK, "#141d23")] {
            for (at, part) in parts.iter().enumerate() {
                assert!(contrast(part, ground) >= 3.0, "{part} on {ground}");
                for other in &parts[..at] {
                    for by in eyes {
                        let difference = difference(seen(by, part), seen(by, other));
                        assert!(difference > 0.085, "{part} {other}: {difference}");
                    }
                }
            }
        }
        for text in [Paint::Text, Paint::Muted] {
            let ((light, dark), (day, night)) = (text.colours(), Paint::Ground.colours());
            assert!(contrast(light, day) >= 4.5 && contrast(dark, night) >= 4.5);
        }
    }

    #[test]
    fn looks_belong_to_keys() {
        // Fixed values: the appearance must not change with a new version.
        let parts = |keys: &[&str]| {
            let slots = keys.iter().map(|key| slot(key));
            slots.map(|slot| slot.paint).collect::<Vec<_>>()
        };
        let ages = [Paint::Part(0), Paint::Part(6), Paint::Rest];
        assert_eq!(parts(&["live", "stale", "frozen"]), ages);
        assert_eq!(parts(&["DE", "0.4.11"]), [Paint::Part(0), Paint::Part(1)]);
        let halle = Slot {
            paint: Paint::Part(4),
            mark: 8,
            round: 8,
        };
        assert_eq!(slot("halle"), halle);
        for list in LISTS {
            assert!(list.len() <= PARTS * ROUNDS);
            for (at, key) in list.iter().enumerate() {
                assert!(known(key).is_none() && !list[..at].contains(key), "{key}");
            }
        }
    }

    #[test]
    fn themes() {
        let with = |theme| paint(theme, "x", Some(Paint::Text), None);
        assert_eq!(with(Theme::Light), " class=\"x\" fill=\"#15212a\"");
        assert_eq!(with(Theme::Dark), " class=\"x\" fill=\"#e3ebf0\"");
        assert_eq!(with(Theme::Auto), " class=\"x f-text\" fill=\"#15212a\"");
        assert!(sheet().contains(".weir-chart .f-text{fill:#e3ebf0}"));
    }
}
