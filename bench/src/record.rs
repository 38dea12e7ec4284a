//! Puts results into the documentation: tables into docs/performance.md, picture and report beside
//! it.

use std::fs;
use std::path::Path as File;

use serde_json::Value;

use crate::Error;
use crate::circuit::Path;
use crate::local::bulk::{Bulk, Transfer};
use crate::local::{Report, Series, chart, page};
use crate::report::{SCHEMA, StoredResult, Table, table};

/// Returns the lines before and after a table, by name.
fn marks(name: &str) -> [String; 2] {
    [
        format!("<!-- {name}: made by `make bench` -->\n"),
        format!("<!-- {name}: end -->\n"),
    ]
}

/// Replaces the text between a pair of marks.
fn replaced(text: &str, name: &str, with: &str) -> Result<String, Error> {
    let [begin, end] = marks(name);
    let missing = |mark: &str| Error::Wrong(format!("no line {}", mark.trim_end()));
    let (before, rest) = text.split_once(&begin).ok_or_else(|| missing(&begin))?;
    let (_, after) = rest.split_once(&end).ok_or_else(|| missing(&end))?;
    Ok(format!("{before}{begin}{with}{end}{after}"))
}

/// Puts the results of this file, by the laboratory or another benchmark, into the folder `docs`.
///
/// # Errors
/// The file cannot be read, is not a valid result, or a table has no marks.
pub fn file(from: &File, docs: &File) -> Result<(), Error> {
    let text = read(from)?;
    let wrong = |error: serde_json::Error| Error::Wrong(format!("{}: {error}", from.display()));
    let found: Value = serde_json::from_str(&text).map_err(wrong)?;
    match found.get("scenarios") {
        Some(_) => lab(&serde_json::from_value(found).map_err(wrong)?, docs),
        None => measured(&serde_json::from_value(found).map_err(wrong)?, docs),
    }
}

fn read(file: &File) -> Result<String, Error> {
    fs::read_to_string(file).map_err(Error::system(format!("read {}", file.display())))
}

/// Puts the tables of a benchmark between their marks; the first one names the machine.
fn measured(measured: &StoredResult, docs: &File) -> Result<(), Error> {
    if measured.schema != SCHEMA {
        let schema = measured.schema;
        return Err(Error::Wrong(format!(
            "written by another version of bench: schema {schema}, not {SCHEMA}"
        )));
    }
    let file = docs.join("performance.md");
    let mut text = read(&file)?;
    for (nth, (name, table)) in measured.tables.iter().enumerate() {
        let machine = match nth {
            0 => format!("{}:\n\n", measured.machine),
            _ => String::new(),
        };
        text = replaced(&text, name, &format!("{machine}{table}"))?;
    }
    fs::write(&file, text).map_err(Error::system(format!("write {}", file.display())))
}

/// Writes tables, picture and report of the laboratory into the folder `docs`.
fn lab(report: &Report, docs: &File) -> Result<(), Error> {
    let file = docs.join("performance.md");
    let text = replaced(&read(&file)?, "laboratory", &tables(report))?;
    let report = [
        (file, text),
        (docs.join("pictures/lab.svg"), chart::draw(report)),
        (docs.join("lab.html"), page::page(report)),
        (
            docs.join("lab.json"),
            serde_json::to_string_pretty(report)
                .map_err(|error| Error::Wrong(error.to_string()))?
                + "\n",
        ),
    ];
    for (file, text) in report {
        fs::write(&file, text).map_err(Error::system(format!("write {}", file.display())))?;
    }
    Ok(())
}

/// Formats the tables as Markdown.
fn tables(report: &Report) -> String {
    let median = |path| report.find(path).map(|one| one.pps.median);
    let ceiling = median(Path::Ceiling);
    let bare = report
        .find(Path::Nothing)
        .map(|one| one.ns_per_packet.median);
    let of = |rate: f64, other: Option<f64>| {
        other.map_or("–".into(), |other| format!("{:.2}", rate / other))
    };
    let lines: Vec<_> = report
        .scenarios
        .iter()
        .map(|one| {
            let (rate, took) = (one.pps.median, one.ns_per_packet.median);
            vec![
                one.text.clone(),
                format!("{:.0}", rate / 1e3),
                format!("{:.0}–{:.0}", one.pps.min / 1e3, one.pps.max / 1e3),
                format!("{took:.0}"),
                bare.map_or("–".into(), |bare| format!("{:.0}", took - bare)),
                of(rate, report.against(one).map(|kernel| kernel.pps.median)),
                match one.drops() {
                    true => "–".into(),
                    false => of(rate, ceiling),
                },
                one.forwarded
                    .map_or("–".into(), |share| format!("{:.2} %", share * 100.0)),
            ]
        })
        .collect();
    let headings = [
        "path",
        "k packets/s",
        "min–max",
        "ns",
        "router ns",
        "of kernel's",
        "of ceiling",
        "forwarded by weir",
    ];
    let mut text = format!(
        "{}; {} (with IPv6, at least 62 bytes), {} rounds of {} s; differences up to {:.1} % may \
            be noise; *of kernel's* is against its NAT, and where packets are dropped, against \
            its drop by a rule:\n\n{}",
        report.machine,
        report.load,
        report.rounds,
        report.seconds,
        report.noise * 100.0,
        table(&headings, &lines)
    );
    for series in &report.series {
        text.push_str(&format!(
            "\nBy {}, k packets/s:\n\n{}",
            series.by.text(),
            by(series)
        ));
    }
    if let Some(tcp) = &report.tcp {
        let head = format!(
            "\n{} TCP connections between whole hosts, all processors:\n\n",
            tcp.connections
        );
        text.push_str(&format!("{head}{}", downloads(tcp)));
    }
    text
}

fn downloads(tcp: &Bulk) -> Table {
    let line = |one: &Transfer| {
        let rate = one.bits_per_second;
        vec![
            one.text.clone(),
            format!("{:.0}", rate.median / 1e6),
            format!("{:.0}–{:.0}", rate.min / 1e6, rate.max / 1e6),
            format!("{:.1}", one.cpu.median),
            one.forwarded
                .map_or("–".into(), |share| format!("{:.1} %", share * 100.0)),
        ]
    };
    let headings = [
        "path",
        "Mbit/s",
        "min–max",
        "processors busy",
        "forwarded by weir",
    ];
    let lines: Vec<_> = tcp.scenarios.iter().map(line).collect();
    table(&headings, &lines)
}

fn by(series: &Series) -> Table {
    let with: Vec<_> = series
        .points
        .iter()
        .map(|point| series.with(&point.at))
        .collect();
    let mut headings = vec!["path"];
    headings.extend(with.iter().map(String::as_str));
    let line = |(name, text): (&str, &str)| {
        let rates = series.of(name);
        let rates = rates
            .iter()
            .map(|one| format!("{:.0}", one.pps.median / 1e3));
        [text.to_owned()].into_iter().chain(rates).collect()
    };
    let lines: Vec<Vec<String>> = series.names().into_iter().map(line).collect();
    table(&headings, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_its_place() {
        let docs = File::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
        let text = read(&docs).expect("the documentation");
        let beside = fs::read_to_string(File::new(env!("CARGO_MANIFEST_DIR")).join("../Makefile"))
            .expect("the Makefile");
        let names: Vec<_> = text
            .lines()
            .filter_map(|line| line.strip_prefix("<!-- ")?.split_once(": made by"))
            .map(|(name, _)| name)
            .collect();
        assert!(names.len() > 10, "{names:?}");
        for name in names {
            replaced(&text, name, "").expect("its end");
            let part = name.split('-').next().unwrap_or(name);
            let makes = [format!("\t$(BENCH)/{part}"), format!("bench {part}")];
            assert!(
                part == "laboratory" || makes.iter().any(|line| beside.contains(line.as_str())),
                "nothing makes {name}"
            );
        }
    }

    #[test]
    fn what_was_measured_is_put_in() {
        let folder = std::env::temp_dir().join(format!("weir-record-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let [begin, end] = marks("x-two");
        let place = |name| marks(name).concat();
        fs::write(
            folder.join("performance.md"),
            format!("a\n{}b\n{begin}old\n{end}", place("x")),
        )
        .expect("written");
        let one = table(&["ns"], &[vec!["17".into()]]);
        let mut found =
            StoredResult::here(&[("x", one.clone()), ("x-two", one)], &17).expect("JSON");
        let from = folder.join("x.json");
        let write = |found: &StoredResult| {
            fs::write(&from, serde_json::to_string(found).expect("JSON")).expect("written");
        };
        write(&found);
        file(&from, &folder).expect("recorded");
        let text = read(&folder.join("performance.md")).expect("read");
        let wanted = format!(
            "a\n{}\n\n| ns |\n| -- |\n| 17 |\n{}b\n{begin}| ns |\n| -- |\n| 17 |\n{end}",
            marks("x")[0].clone() + &found.machine + ":",
            marks("x")[1],
        );
        assert_eq!(text, wanted);
        found.tables[1].0 = "y".into();
        write(&found);
        let why = file(&from, &folder).expect_err("no place").to_string();
        assert!(why.contains("<!-- y: made by"), "{why}");
        found.schema = 7;
        write(&found);
        let why = file(&from, &folder)
            .expect_err("another version")
            .to_string();
        assert!(why.contains("schema 7, not 1"), "{why}");
        fs::write(&from, "{}").expect("written");
        let why = file(&from, &folder).expect_err("nothing").to_string();
        assert!(why.contains("x.json: missing field"), "{why}");
        assert_eq!(read(&folder.join("performance.md")).expect("read"), wanted);
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn what_lies_between_marks_is_replaced() {
        let [begin, end] = marks("x");
        let text = format!("before\n{begin}old\n{end}after\n");
        let found = replaced(&text, "x", "new\n").expect("marks");
        assert_eq!(found, format!("before\n{begin}new\n{end}after\n"));
        assert!(replaced(&text, "y", "").is_err());
        assert!(replaced("before", "x", "").is_err());
    }
}
