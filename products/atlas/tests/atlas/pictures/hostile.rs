//! For any content of a figure, its picture is XML, small, without anything that a strict page
//! forbids, and all its numbers are numbers.

use std::collections::BTreeSet;

use atlas::chart_query::{PictureStyle, Theme};
use atlas::figure::{Bar, Figure, Lines, Odd, Plot, Point, Series, Style, Table};
use atlas::svg;
use atlas::text::Language;
use atlas::time::Unit;
use proptest::prelude::*;
use quick_xml::events::Event;

/// Elements allowed in a picture.
const ELEMENTS: [&str; 14] = [
    "svg", "title", "desc", "style", "defs", "pattern", "g", "a", "path", "rect", "circle", "text",
    "line", "tspan",
];
/// Attributes with texts; all others are checked as numbers.
const TEXTS: [&str; 9] = [
    "data-key",
    "data-name",
    "data-chart",
    "aria-label",
    "aria-labelledby",
    "href",
    "font-family",
    "class",
    "id",
];

/// Parses a picture like other programs, and reports violations.
fn check(picture: &str) -> Result<(), String> {
    let mut reader = quick_xml::Reader::from_str(picture);
    reader.config_mut().check_end_names = true;
    let (mut ids, mut asked) = (BTreeSet::new(), BTreeSet::new());
    let (mut depth, mut drawn) = (0, 0);
    loop {
        let event = reader.read_event().map_err(|error| error.to_string())?;
        let (element, opens) = match &event {
            Event::Start(element) => (element, true),
            Event::Empty(element) => (element, false),
            Event::End(_) => {
                depth -= 1;
                continue;
            }
            Event::Text(text) => {
                let text: &str = text;
                if text.chars().any(|letter| letter.is_control()) {
                    return Err(format!("a control character in {text:?}"));
                }
                continue;
            }
            Event::GeneralRef(_) => continue,
            Event::Eof => break,
            other => return Err(format!("{other:?}")),
        };
        depth += i32::from(opens);
        drawn += 1;
        let name = element.name().as_ref().to_owned();
        if !ELEMENTS.contains(&name.as_str()) {
            return Err(format!("<{name}>"));
        }
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let key = attribute.key.as_ref().to_owned();
            let value = attribute.value.into_owned();
            if key == "style" || key.starts_with("on") || key.contains(':') {
                return Err(format!("{key}=\"{value}\""));
            }
            if key == "href" && name != "a" {
                return Err(format!("<{name} href>"));
            }
            if key == "id" && !ids.insert(value.clone()) {
                return Err(format!("{value} twice"));
            }
            if key == "aria-labelledby" {
                asked.extend(value.split(' ').map(str::to_owned));
            }
            if let Some(id) = value.strip_prefix("url(#") {
                asked.insert(id.trim_end_matches(')').to_owned());
            }
            let numbers = !TEXTS.contains(&key.as_str());
            if numbers && ["NaN", "inf"].iter().any(|no| value.contains(no)) {
                return Err(format!("{key}=\"{value}\""));
            }
        }
    }
    if depth != 0 || drawn < 4 {
        return Err("no picture".into());
    }
    if let Some(id) = asked.difference(&ids).next() {
        return Err(format!("#{id} is nowhere"));
    }
    if picture.contains('\u{1}') {
        return Err("an id that was not replaced".into());
    }
    if picture.len() > 200_000 {
        return Err(format!("{} octets", picture.len()));
    }
    Ok(())
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1000.0..100_000.0,
        1 => Just(0.0),
        2 => any::<f64>(),
        1 => prop::sample::select(vec![
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            -0.0,
        ]),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-zäöü <>&\"'\\]]{0,20}",
        1 => any::<String>(),
        1 => Just("</title><script>alert(1)</script>".to_owned()),
        1 => Just("\" onload=\"alert(1)".to_owned()),
        1 => Just("]]>\u{0}\u{7}\u{202e}\u{fffe}".to_owned()),
        1 => Just("W".repeat(5000)),
    ]
}

fn hour() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 380_000..500_000i64,
        1 => any::<i64>(),
        1 => prop::sample::select(vec![i64::MIN, i64::MAX, 0, -1]),
    ]
}

fn lines() -> impl Strategy<Value = Lines> {
    let style = prop::sample::select(vec![
        Style::Line,
        Style::Area,
        Style::Hatched,
        Style::Columns,
        Style::Hidden,
    ]);
    let values = prop::collection::vec(prop::option::of(value()), 0..40);
    let series = (text(), text(), values, style).prop_map(|(key, name, values, style)| Series {
        key,
        name,
        values,
        style,
    });
    let at = prop_oneof![
        (380_000..500_000i64, 1..800i64)
            .prop_map(|(from, by)| (0..40).map(|nth| from + nth * by).collect::<Vec<_>>()),
        prop::collection::vec(hour(), 0..40),
    ];
    let odd = (hour(), any::<Option<i64>>(), any::<i64>());
    let odd = odd.prop_map(|(at, value, count)| Odd { at, value, count });
    (
        at,
        prop::collection::vec(series, 0..40),
        any::<bool>(),
        text(),
        prop::collection::vec(odd, 0..9),
    )
        .prop_map(|(at, series, stacked, unit, odd)| Lines {
            at,
            series,
            stacked,
            unit,
            odd,
        })
}

fn plot() -> impl Strategy<Value = Plot> {
    let bars = || {
        let bar = (text(), text(), value()).prop_map(|(key, name, value)| Bar { key, name, value });
        prop::collection::vec(bar, 0..160)
    };
    let degrees = || prop_oneof![3 => -180.0..180.0, 5 => 40.0..60.0, 3 => 0.0..20.0, 1 => value()];
    let point = (text(), text(), degrees(), degrees(), value()).prop_map(
        |(key, name, latitude, longitude, value)| Point {
            key,
            name,
            latitude,
            longitude,
            value,
        },
    );
    prop_oneof![
        3 => lines().prop_map(Plot::Time),
        1 => bars().prop_map(Plot::Bars),
        1 => bars().prop_map(Plot::Words),
        2 => (prop::collection::vec(point, 0..100), prop::option::of(value()))
            .prop_map(|(points, heat)| Plot::Map { points, heat }),
    ]
}

fn figure() -> impl Strategy<Value = Figure> {
    let by = prop::sample::select(vec![Unit::Hour, Unit::Day, Unit::Month]);
    let notes = prop::collection::vec(text(), 0..4);
    (text(), notes, hour(), hour(), by, plot()).prop_map(|(title, notes, from, to, by, plot)| {
        Figure {
            name: title.clone(),
            title,
            odd: notes.len() as i64,
            notes,
            from,
            to,
            by,
            plot,
            table: Table::default(),
        }
    })
}

fn look() -> impl Strategy<Value = PictureStyle> {
    let theme = prop::sample::select(vec![Theme::Auto, Theme::Light, Theme::Dark]);
    let size = || prop_oneof![3 => 160..2400u32, 1 => any::<u32>()];
    let look = (size(), size(), theme, any::<(bool, bool)>());
    look.prop_map(|(width, height, theme, (notes, fit))| PictureStyle {
        width,
        height,
        theme,
        notes,
        fit,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_figure_has_a_picture(
        figure in figure(),
        look in look(),
        german in any::<bool>(),
        links in any::<bool>(),
    ) {
        let language = if german { Language::German } else { Language::English };
        let address = |keys: &[String]| format!("/chart/x?only={}", keys.join(","));
        let links: Option<svg::Links> = if links { Some(&address) } else { None };
        let picture = svg::draw(&figure, "x", &look, language, links);
        prop_assert_eq!(check(&picture), Ok(()));
        // Drawing is deterministic.
        prop_assert_eq!(picture, svg::draw(&figure, "x", &look, language, links));
    }
}

/// Noise: any omitted part would be visible.
fn noise(points: usize, series: usize, style: Style) -> Figure {
    let mut state = 1u64;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        Some((state >> 44) as f64)
    };
    let series = (0..series)
        .map(|nth| Series {
            key: format!("key-{nth}"),
            name: format!("Series {nth}"),
            values: (0..points).map(|_| next()).collect(),
            style,
        })
        .collect();
    let odd = |nth: i64| Odd {
        at: 400_000 + nth,
        value: Some(if nth % 2 == 0 { -1 } else { 250_000 }),
        count: 1,
    };
    Figure {
        title: "Noise".into(),
        name: "Noise".into(),
        notes: Vec::new(),
        odd: 0,
        from: 400_000,
        to: 400_000 + points as i64,
        by: Unit::Hour,
        plot: Plot::Time(Lines {
            at: (0..points as i64).map(|nth| 400_000 + nth).collect(),
            series,
            stacked: style != Style::Line,
            unit: "nodes".into(),
            odd: (0..points as i64).map(odd).collect(),
        }),
        table: Table::default(),
    }
}

#[test]
fn large_figures_have_small_pictures() {
    for style in [Style::Line, Style::Area, Style::Hatched, Style::Columns] {
        for (points, series) in [(400, 5), (2000, 5), (2000, 24), (2, 10_000), (1, 1), (0, 3)] {
            let figure = noise(points, series, style);
            for width in [360, 960, 2400] {
                let look = PictureStyle {
                    width,
                    ..PictureStyle::default()
                };
                let picture = svg::draw(&figure, "noise", &look, Language::English, None);
                assert_eq!(
                    check(&picture),
                    Ok(()),
                    "{points} {series} {style:?} {width}"
                );
                let size = picture.len();
                assert!(
                    size < 130_000 && (points > 400 || size < 100_000),
                    "{points} points, {series} series, {style:?}, {width}: {size}"
                );
                if series > 1000 {
                    assert!(picture.contains("9976 smaller series are not drawn."));
                }
            }
        }
    }
}

#[test]
fn names_are_text() {
    let mut figure = noise(20, 2, Style::Line);
    if let Plot::Time(lines) = &mut figure.plot {
        lines.series[0].name = "<img src=x onerror=\"alert(1)\">".into();
        lines.series[1].name = "n".repeat(10_000);
    }
    let picture = svg::draw(
        &figure,
        "noise",
        &PictureStyle::default(),
        Language::English,
        Some(&|keys| format!("/?a=\"><script>{}", keys.len())),
    );
    assert_eq!(check(&picture), Ok(()));
    assert!(picture.contains("&lt;img src=x"));
    assert!(picture.len() < 20_000);
}

#[test]
fn the_legend_filters() {
    let mut figure = noise(20, 3, Style::Line);
    if let Plot::Time(lines) = &mut figure.plot {
        lines.series[2].style = Style::Hidden;
    }
    let address = |keys: &[String]| format!("/x?only={}", keys.join(","));
    let picture = svg::draw(
        &figure,
        "noise",
        &PictureStyle::default(),
        Language::German,
        Some(&address),
    );
    let links: Vec<&str> = picture.split("<a href=\"").skip(1).collect();
    let links: Vec<&str> = (links.iter())
        .filter_map(|link| link.split_once('"').map(|(address, _)| address))
        .collect();
    // Without the first; without the second; with all, which is no filter.
    assert_eq!(links, ["/x?only=key-1", "/x?only=key-0", "/x?only="]);
    assert!(picture.contains("aria-label=\"Series 2 zeigen\""));
    assert_eq!(picture.matches("class=\"series\"").count(), 2);
    // Nothing changes its colour when another is hidden.
    let colour = |picture: &str| {
        let of = picture.split("data-key=\"key-0\" data-name").nth(1)?;
        Some(of.split_once("stroke=\"")?.1[..7].to_owned())
    };
    let before = colour(&picture);
    if let Plot::Time(lines) = &mut figure.plot {
        lines.series[1].style = Style::Hidden;
    }
    let after = svg::draw(
        &figure,
        "noise",
        &PictureStyle::default(),
        Language::German,
        None,
    );
    assert!(before.is_some());
    assert_eq!(before, colour(&after));
}

#[test]
fn styles_stand_in_a_sheet_alone() {
    let figure = noise(20, 2, Style::Hatched);
    let draw = |theme| {
        let look = PictureStyle {
            theme,
            ..PictureStyle::default()
        };
        svg::draw(&figure, "noise", &look, Language::English, None)
    };
    let picture = draw(Theme::Auto);
    assert!(picture.contains(&format!("<style>{}</style>", svg::sheet())));
    let without = svg::without_sheet(&picture);
    assert!(!without.contains("<style") && without.contains("class=\"f-ground\""));
    // Each class of a picture is in the sheet.
    for class in without.split("class=\"").skip(1) {
        let (classes, _) = class.split_once('"').unwrap_or_default();
        for class in classes
            .split(' ')
            .filter(|class| class.starts_with(['f', 's']))
        {
            if class.contains('-') {
                assert!(svg::sheet().contains(&format!(".{class}{{")), "{class}");
            }
        }
    }
    assert!(!draw(Theme::Dark).contains("<style") && !draw(Theme::Light).contains("<style"));
}
