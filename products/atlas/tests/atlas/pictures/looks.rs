//! A name has one appearance in every picture, whatever else is in the picture.

use std::collections::BTreeMap;

use atlas::chart_query::{PictureStyle, Theme};
use atlas::figure::{Bar, Figure, Lines, Plot, Series, Style, Table};
use atlas::svg;
use atlas::text::Language;
use atlas::time::Unit;

fn figure(plot: Plot) -> Figure {
    Figure {
        title: "Looks".into(),
        name: "Looks".into(),
        notes: Vec::new(),
        odd: 0,
        from: 400_000,
        to: 400_003,
        by: Unit::Hour,
        plot,
        table: Table::default(),
    }
}

fn lines(names: &[&str], style: Style) -> Figure {
    let series = names.iter().map(|name| Series {
        key: (*name).into(),
        name: (*name).into(),
        values: vec![Some(1.0), Some(2.0), Some(3.0)],
        style,
    });
    figure(Plot::Time(Lines {
        at: (400_000..400_003).collect(),
        series: series.collect(),
        stacked: style != Style::Line,
        unit: "nodes".into(),
        odd: Vec::new(),
    }))
}

fn bars(names: &[&str], plot: fn(Vec<Bar>) -> Plot) -> Figure {
    let bars = names.iter().map(|name| Bar {
        key: (*name).into(),
        name: (*name).into(),
        value: 5.0,
    });
    figure(plot(bars.collect()))
}

/// Returns the values of an attribute, and the names that use them in the picture.
fn values(picture: &str, part: &str, attribute: &str) -> Vec<String> {
    let begin = format!(" {attribute}=\"");
    let values = part.split(begin.as_str()).skip(1);
    let values = values.filter_map(|rest| rest.split('"').next());
    let meant = values.map(|value| match value.strip_prefix("url(#") {
        Some(name) => {
            let name = name.trim_end_matches(')');
            let define = format!("<pattern id=\"{name}\"");
            let found: Vec<&str> = picture.split(&define).skip(1).collect();
            assert_eq!(found.len(), 1, "{name} is there {} times", found.len());
            found[0].split("</pattern>").next().unwrap_or("").to_owned()
        }
        None => value.to_owned(),
    });
    meant.collect()
}

/// Returns the appearances of all names: from the legend, or from the bars themselves.
fn looks(figure: &Figure) -> BTreeMap<String, Vec<String>> {
    let look = PictureStyle {
        width: 1600,
        height: 900,
        theme: Theme::Light,
        ..PictureStyle::default()
    };
    let picture = svg::draw(figure, "looks", &look, Language::English, None);
    let part = match figure.plot {
        Plot::Time(_) => "<g class=\"entry\" data-key=\"",
        _ => "<g class=\"item\" data-key=\"",
    };
    let of = |entry: &str| {
        let (key, rest) = entry.split_once('"').expect("a key");
        let rest = rest.split("</g>").next().unwrap_or("");
        let mut look = Vec::new();
        for attribute in ["fill", "stroke", "stroke-dasharray", "fill-opacity"] {
            look.extend(values(&picture, rest, attribute));
        }
        // Marks, without their place.
        let shapes = values(&picture, rest, "d").into_iter();
        look.extend(shapes.map(|shape| {
            let at = shape.find(char::is_lowercase).unwrap_or(0);
            shape[at..].to_owned()
        }));
        (key.to_owned(), look)
    };
    picture.split(part).skip(1).map(of).collect()
}

const FEW: [&str; 4] = ["aachen", "bremen", "halle", "ulm"];
/// Further keys: one would have halle's colour, others come first, last, or are in every legend.
const MORE: [&str; 9] = [
    "aaa", "berlin", "key42", "zwickau", "live", "other", "DE", "0.4.9", "OLSR",
];

#[test]
fn a_name_looks_the_same_whoever_is_beside_it() {
    for style in [Style::Line, Style::Area, Style::Columns, Style::Hatched] {
        let alone = looks(&lines(&FEW, style));
        assert_eq!(alone.len(), FEW.len());
        for newcomer in MORE {
            let names = [&[newcomer][..], &FEW].concat();
            let together = looks(&lines(&names, style));
            for name in FEW {
                assert_eq!(
                    alone[name], together[name],
                    "{name} beside {newcomer}, {style:?}"
                );
            }
        }
        let many = looks(&lines(&[&FEW[..], &MORE].concat(), style));
        for name in FEW {
            assert_eq!(alone[name], many[name], "{name} beside all, {style:?}");
        }
    }
    for plot in [Plot::Bars, Plot::Words] {
        let alone = looks(&bars(&FEW, plot));
        let many = looks(&bars(&[&FEW[..], &MORE].concat(), plot));
        for name in FEW {
            let fill = |looks: &BTreeMap<String, Vec<String>>| looks[name].first().cloned();
            assert_eq!(fill(&alone), fill(&many), "{name}");
        }
    }
}

/// Names in one chart must have different appearances.
#[test]
fn names_of_one_chart_are_told_apart() {
    let charts: [(&[&str], Style); 5] = [
        (&["live", "stale", "frozen", "elsewhere"], Style::Hatched),
        (
            &[
                "batman-adv",
                "OLSR",
                "OLSRv2",
                "Babel",
                "802.11s",
                "bmx6",
                "bmxd",
                "cjdns",
                "none",
                "unknown",
                "other",
            ],
            Style::Line,
        ),
        (
            &[
                "0.1", "0.2.1", "0.3.0", "0.4.1", "0.4.3", "0.4.4", "0.4.5", "0.4.6", "0.4.8",
                "0.4.9", "0.4.10", "0.4.11", "0.4.12", "0.4.13", "0.4.14", "0.4.16", "0.5.0",
                "0.5.2", "0.5.3", "unknown", "other",
            ],
            Style::Area,
        ),
        (
            &[
                "DE", "AT", "CH", "IT", "FR", "NL", "BE", "ES", "DK", "PL", "CZ", "GB", "unknown",
                "other",
            ],
            Style::Area,
        ),
        (
            &["0", "1-9", "10-49", "50-99", "100-499", "500+"],
            Style::Area,
        ),
    ];
    for (names, style) in charts {
        let looks = looks(&lines(names, style));
        assert_eq!(looks.len(), names.len(), "{names:?}");
        for (name, look) in &looks {
            let alike: Vec<&String> = looks
                .iter()
                .filter(|(other, theirs)| *other != name && *theirs == look)
                .map(|(other, _)| other)
                .collect();
            assert!(alike.is_empty(), "{name} looks as {alike:?}");
        }
    }
}
