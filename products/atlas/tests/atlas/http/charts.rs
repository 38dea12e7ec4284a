//! Charts: in all forms, with the numbers that were imported.

use std::process::Command;

use super::common::server;
use crate::served::PROGRAM;

/// All there are, by name.
fn charts() -> Vec<String> {
    let listed = Command::new(PROGRAM).arg("charts").output();
    let listed = String::from_utf8(listed.expect("the program").stdout).expect("text");
    let lines = listed.lines().filter(|line| !line.starts_with(' '));
    let names = lines.filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn each_chart_in_each_form() {
    let server = server();
    let charts = charts();
    assert!(charts.len() >= 12, "{charts:?}");
    for name in charts {
        let query = if name == "community" { "?key=jena" } else { "" };
        for (path, media) in [
            (format!("/chart/{name}{query}"), "text/html; charset=utf-8"),
            (format!("/chart/{name}.svg{query}"), "image/svg+xml"),
            (format!("/chart/{name}.json{query}"), "application/json"),
            (
                format!("/chart/{name}.csv{query}"),
                "text/csv; charset=utf-8",
            ),
            (format!("/embed/{name}{query}"), "text/html; charset=utf-8"),
        ] {
            let answer = server.get(&path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            assert_eq!(answer.header("content-type"), Some(media), "{path}");
            let text = answer.text();
            let markup = media.contains("html") || media.contains("svg");
            assert!(
                !markup || !text.contains("<script>alert"),
                "{path} has a name as markup"
            );
            for forbidden in [" style=", " onload=", " onclick=", "javascript:"] {
                assert!(!text.contains(forbidden), "{forbidden} in {path}");
            }
            if media.starts_with("text/html") {
                assert!(!text.contains("<style"), "{path}");
                for script in text.split("<script").skip(1) {
                    assert!(script.starts_with(" type=\"module\" src=\"/"), "{path}");
                }
            }
        }
    }
}

#[test]
fn where_nothing_is_the_nearest_snapshot_is() {
    let server = server();
    for (asked, leads) in [
        (
            "growth?from=2019-01-20&amp;to=2019-01-25",
            "from=2019-01-15&amp;to=2019-01-15\"",
        ),
        (
            "growth?from=2019-02-14&amp;to=2019-02-14",
            "from=2019-02-15&amp;to=2019-02-15\"",
        ),
        ("growth?from=2022", "from=2020-03-15&amp;to=2020-03-15\""),
        ("heat?at=2019-06", "at=2019-02-15\""),
        (
            "community?key=jena&amp;to=2018",
            "from=2019-01-15&amp;to=2019-01-15&amp;key=jena\"",
        ),
    ] {
        let page = server.get(&format!("/chart/{}", asked.replace("&amp;", "&")));
        let text = page.text();
        let part = text.split("data-part=\"nearest\"").nth(1);
        let part = part.and_then(|rest| rest.split("</p>").next());
        let part = part.unwrap_or_default();
        assert!(part.contains(leads), "{asked}: {part}");
    }
    let full = server.get("/chart/growth?from=2019").text().to_owned();
    assert!(!full.contains("data-part=\"nearest\"><a"), "{full}");
}

#[test]
fn what_is_said_beside_a_picture_is_said_once() {
    let server = server();
    // The note of a disbelieved number.
    let says = "not believed (below 0";
    let page = server.get("/chart/community?key=odd").text().to_owned();
    let (picture, list) = page.split_once("<ul class=\"notes\"").expect("a list");
    assert!(list.contains(says), "{list}");
    // The description has the note for readers who cannot see it; the drawing has not.
    let drawn = |text: &str| {
        let texts = text.split("<text").skip(1);
        let mut texts = texts.filter_map(|text| text.split("</text>").next());
        texts.any(|text| text.contains(says))
    };
    assert!(!drawn(picture), "{picture}");
    let alone = server.get("/chart/community.svg?key=odd").text().to_owned();
    assert!(drawn(&alone), "{alone}");
    let rows = server.get("/chart/community.json?key=odd&by=month").json();
    let row = &rows["series"][0];
    assert_eq!(
        (&row["odd"], &row["odd_nodes"]),
        (&1.into(), &(-1).into()),
        "{row}"
    );
    assert!(picture.contains("class=\"odd"), "{picture}");
}

#[test]
fn numbers_are_what_was_imported() {
    let server = server();
    let growth = server
        .get("/chart/growth.json?from=2019-01&to=2019-12&by=month")
        .json();
    let series = growth["series"].as_array().expect("rows");
    let at = |t: &str| {
        series
            .iter()
            .find(|row| row["t"] == t)
            .map(|row| row["nodes"].clone())
    };
    assert_eq!(at("2019-01-01T00:00:00Z"), Some(150.into()), "{growth}");
    assert_eq!(at("2019-02-01T00:00:00Z"), Some(250.into()), "{growth}");
    let top = server.get("/chart/top.json?at=2019-02&n=10").json();
    assert_eq!(top["communities"][0]["key"], "jena");
    assert_eq!(top["communities"][0]["name"], "Freifunk Jena");
    assert_eq!(top["communities"][0]["nodes"], 200);
}
