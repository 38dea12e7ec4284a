//! Pictures: compared with `tests/golden` (`WEIR_UPDATE_GOLDEN=1` rewrites them; then review them),
//! and well-formed and small for any figure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use atlas::chart_query::{PictureStyle, Theme};
use atlas::figure::{Figure, Plot, Style};
use atlas::svg;
use atlas::text::Language;

mod figures;
mod hostile;
mod looks;

use figures::{births, catalonia, cloud, growth, hours, odd, places, routing, top, weeks, world};

/// Compares a picture with its file.
fn golden(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.svg"));
    // A line for each element, so that a change can be read.
    let text = picture.replace("><", ">\n<") + "\n";
    if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, &text).expect("written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == text, "{name} is another: WEIR_UPDATE_GOLDEN=1");
}

fn look(width: u32, height: u32, theme: Theme) -> PictureStyle {
    PictureStyle {
        width,
        height,
        theme,
        ..PictureStyle::default()
    }
}

const THEMES: [(&str, Theme); 2] = [("light", Theme::Auto), ("dark", Theme::Dark)];

#[test]
fn numbers_that_nobody_believes_are_drawn_beside_the_scale() {
    let draw = |figure: &Figure, language| {
        let look = look(960, 480, Theme::Light);
        svg::draw(figure, "community", &look, language, None)
    };
    let most = |picture: &str| {
        let value = picture.split("data-most=\"").nth(1);
        value.and_then(|rest| rest.split('"').next().map(str::to_owned))
    };
    let (with, without) = (odd(), hours());
    let picture = draw(&with, Language::English);
    assert_eq!(
        most(&picture),
        most(&draw(&without, Language::English)),
        "the scale is that of the others"
    );
    for says in [
        "not believed: ▲ above 100,000, ▼ below 0",
        // Marks that would lie upon each other are one.
        "<title>17 Oct 2019, 05:00 UTC – 17 Oct 2019, 06:00 UTC: 250,000 (2 hours)</title>",
        ": −4 (1 hour)</title>",
    ] {
        assert!(picture.contains(says), "{says}: {picture}");
    }
    // Without other values the odd numbers appear alone.
    let mut alone = with;
    if let Plot::Time(lines) = &mut alone.plot {
        for series in &mut lines.series {
            series.values.fill(None);
        }
    }
    let picture = draw(&alone, Language::German);
    assert!(picture.contains("Keine glaubhafte Zahl hier"), "{picture}");
    assert_eq!(picture.matches("<title>").count(), 4, "{picture}");
}

#[test]
fn points_are_joined_however_far_from_each_other_they_are() {
    for style in [Style::Line, Style::Area] {
        let look = look(960, 480, Theme::Light);
        let picture = svg::draw(&weeks(style), "growth", &look, Language::English, None);
        let series = picture.split("<g class=\"series\"").nth(1);
        let series = series.and_then(|rest| rest.split("</g>").next());
        let paths = series.expect("a series").split(" d=\"").skip(1);
        let path = paths.last().and_then(|path| path.split('"').next());
        // Before the pause, and behind it.
        let parts = path.map(|path| path.matches(['M', 'm']).count());
        assert_eq!(parts, Some(2), "{style:?}: {picture}");
    }
}

#[test]
fn bars_without_room_are_left_out_where_a_picture_has_to_fit() {
    let drawn = |width, height, fit| {
        let look = PictureStyle {
            fit,
            ..look(width, height, Theme::Light)
        };
        let picture = svg::draw(&top(), "top", &look, Language::English, None);
        let high = picture.split(" height=\"").nth(1);
        let high = high.and_then(|rest| rest.split('"').next()?.parse().ok());
        let says = picture.contains("more are not drawn");
        (high, picture.matches("class=\"item\"").count(), says)
    };
    // At the side of its bar a name takes less room than above it.
    assert_eq!(drawn(340, 400, true), (Some(400), 10, false));
    assert_eq!(drawn(340, 300, true), (Some(300), 9, true));
    assert_eq!(drawn(960, 200, true), (Some(200), 6, true));
    // Otherwise the picture grows.
    assert_eq!(drawn(340, 400, false), (Some(490), 10, false));
}

#[test]
fn the_world_is_on_the_map() {
    let look = look(960, 480, Theme::Light);
    let figure = world();
    let picture = svg::draw(&figure, "heat", &look, Language::English, None);
    for city in ["buenos aires", "portland", "tokyo", "wien"] {
        let item = format!("class=\"item\" data-key=\"{city}\"");
        assert!(picture.contains(&item), "{city}: {picture}");
    }
    assert!(picture.contains("Not on the map: 1."), "{picture}");
    // There is land, and more of it than where Europe ends.
    let land = picture.split("class=\"ground\"").nth(1);
    let land = land.and_then(|rest| rest.split(" d=\"").nth(1));
    let land = land.and_then(|rest| rest.split('"').next());
    let rings = land.map_or(0, |land| land.matches('M').count());
    assert!(rings > 50, "{rings}");
}

#[test]
fn a_colour_of_the_heat_map_means_the_same_at_all_times() {
    let look = look(960, 480, Theme::Light);
    let legend = |by: f64| {
        let mut figure = places(true);
        if let Plot::Map { points, .. } = &mut figure.plot {
            for point in points {
                point.value *= by;
            }
        }
        let picture = svg::draw(&figure, "heat", &look, Language::English, None);
        let legend = picture.split("class=\"legend\"").nth(1);
        legend.map(str::to_owned).expect("a legend")
    };
    let large = legend(1.0);
    assert!(large.contains("same steps at all times"), "{large}");
    assert_eq!(legend(0.001), large);
}

/// Returns the key and the paint of each bar.
fn painted(figure: &Figure) -> BTreeMap<String, String> {
    let look = look(960, 480, Theme::Light);
    let picture = svg::draw(figure, "top", &look, Language::English, None);
    let id = picture.split("aria-labelledby=\"").nth(1);
    let id = id.and_then(|rest| rest.split("-t ").next()).expect("an id");
    let plain = picture.replace(id, "");
    let items = plain.split("<g class=\"item\" data-key=\"").skip(1);
    let of = |item: &str| {
        let key = item.split('"').next()?;
        let fill = item.split("<rect ").nth(1)?.split(" fill=\"").nth(1)?;
        Some((key.to_owned(), fill.split('"').next()?.to_owned()))
    };
    items.filter_map(of).collect()
}

#[test]
fn no_two_bars_look_the_same_and_names_keep_their_colours() {
    let figure = top();
    let all = painted(&figure);
    let fills: BTreeSet<&String> = all.values().collect();
    assert_eq!((all.len(), fills.len()), (10, 10), "{all:?}");
    // A metacommunity has a key of its own, and its colour by its name.
    let mut named = figure.clone();
    if let Plot::Bars(bars) = &mut named.plot {
        for bar in bars {
            bar.key = format!("key-of-{}", bar.key);
        }
    }
    assert!(painted(&named).values().eq(all.values()));
}

#[test]
fn pictures_are_as_they_were_looked_at() {
    let address = |keys: &[String]| format!("/chart/x?only={}", keys.join(","));
    for (theme, as_theme) in THEMES {
        for (size, width, height) in [("wide", 960, 480), ("narrow", 360, 420)] {
            let look = look(width, height, as_theme);
            for (name, figure, language) in [
                ("growth", growth(), Language::English),
                ("routing", routing(), Language::German),
                ("births", births(), Language::English),
                ("hours", hours(), Language::English),
                ("odd", odd(), Language::English),
                ("top", top(), Language::English),
                ("cloud", cloud(), Language::English),
                ("map", places(false), Language::English),
                ("heat", places(true), Language::German),
                ("catalonia", catalonia(), Language::English),
                ("world", world(), Language::English),
            ] {
                let picture = svg::draw(&figure, name, &look, language, Some(&address));
                golden(&format!("{name}-{size}-{theme}"), &picture);
            }
        }
    }
}
