//! The atlas as files: every link leads to an existing file, wherever the folder is.

mod folders;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::Directory;

use crate::served::{self, PROGRAM};

fn write(out: &Path, more: &[&str]) -> String {
    let data = served::data();
    let mut command = Command::new(PROGRAM);
    command
        .arg("site")
        .arg(out)
        .arg("--data")
        .arg(data.path())
        .args(more);
    let done = command.output().expect("the program");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout).expect("text")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => all.push(path),
        }
    }
    all
}

/// Returns all values of `name="…"` in a text.
fn values<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!(" {name}=\"");
    let parts = text.split(begin.as_str()).skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

#[test]
fn every_link_leads_to_a_file() {
    let out = Directory::new();
    let told = write(out.path(), &[]);
    assert!(told.contains("index.html"), "{told}");
    let mut seen = BTreeSet::new();
    for file in files(out.path()) {
        let name = file.to_string_lossy().into_owned();
        assert!(!name.ends_with(".new"), "{name} was left behind");
        let Ok(text) = fs::read_to_string(&file) else {
            panic!("{name} is no text");
        };
        if !name.ends_with(".html") {
            continue;
        }
        assert!(!text.contains("<form"), "{name}: nobody answers forms");
        assert!(!text.contains("<script>alert"), "{name}");
        for attribute in ["href", "src"] {
            for link in values(&text, attribute) {
                if link.starts_with('#') {
                    continue;
                }
                assert!(
                    !link.starts_with('/') && !link.contains(':'),
                    "{name}: {link}"
                );
                let link = link.split('?').next().unwrap_or_default();
                let to = file.parent().expect("a folder").join(link);
                assert!(to.is_file(), "{name} links to {link}");
                seen.insert(to.canonicalize().expect("a file"));
            }
        }
    }
    for page in [
        "communities.html",
        "chart/growth-2019.html",
        "chart/top-2020.svg",
        "atlas.css",
    ] {
        let page = out.path().join(page).canonicalize().expect("a file");
        assert!(seen.contains(&page), "nothing links to {}", page.display());
    }
    let growth = fs::read_to_string(out.path().join("chart/growth-2019.json")).expect("JSON");
    let growth: serde_json::Value = serde_json::from_str(&growth).expect("JSON");
    assert_eq!(growth["series"][0]["nodes"], 150);
}

#[test]
fn in_german_and_again() {
    let out = Directory::new();
    let first = write(out.path(), &["--lang", "de"]);
    let index = fs::read_to_string(out.path().join("index.html")).expect("a page");
    assert!(index.contains("<html lang=\"de\">"));
    // A second run writes as many files of the same size.
    assert_eq!(write(out.path(), &["--lang", "de"]), first);
}

#[test]
fn each_page_leads_to_itself_in_the_other_language() {
    let out = Directory::new();
    write(out.path(), &[]);
    let mut pages = 0;
    for file in files(out.path()) {
        if file.extension().is_none_or(|ending| ending != "html") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a page");
        let inner = file.strip_prefix(out.path()).expect("within");
        let (own, other) = match inner.strip_prefix("de") {
            Ok(same) => ("de", out.path().join(same)),
            Err(_) => ("en", out.path().join("de").join(inner)),
        };
        let name = inner.display();
        assert!(text.contains(&format!("<html lang=\"{own}\"")), "{name}");
        let links: Vec<PathBuf> = text
            .split("<a href=\"")
            .filter(|part| part.contains(" hreflang=\""))
            .filter_map(|part| part.split('"').next())
            .map(|link| file.parent().expect("a folder").join(link))
            .map(|link| link.canonicalize().expect("a file"))
            .collect();
        let real = |path: &Path| path.canonicalize().expect("a file");
        let mut both = [real(&file), real(&other)];
        if own == "de" {
            both.reverse();
        }
        assert_eq!(links, both, "{name}");
        pages += 1;
    }
    assert!(pages > 50, "{pages} pages");
}

#[test]
fn what_others_wrote_stays() {
    let data = served::data();
    let out = Directory::new();
    let index = out.path().join("index.html");
    fs::write(&index, "My page").expect("written");
    let site = |more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("site").arg(out.path()).arg("--data");
        command.arg(data.path()).args(more);
        command.output().expect("the program")
    };
    let refused = site(&[]);
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    let name = out.path().display().to_string();
    assert!(told.contains(&name) && told.contains("--force"), "{told}");
    assert_eq!(files(out.path()), std::slice::from_ref(&index));
    assert_eq!(fs::read_to_string(&index).expect("a page"), "My page");

    assert!(site(&["--force"]).status.success());
    let text = fs::read_to_string(&index).expect("a page");
    assert!(text.contains("<html lang=\"en\""));
    // Now it is one of this program's.
    assert!(site(&[]).status.success());
}

#[test]
fn what_is_no_longer_written_goes_and_nothing_else() {
    let out = Directory::new();
    write(out.path(), &[]);
    let own = out.path().join("de/about.html");
    let (changed, foreign) = ("de/index.html", "de/chart/mine.html");
    for name in [changed, foreign] {
        fs::write(out.path().join(name), "My page").expect("written");
    }
    // A list with names outside, or of a folder, removes neither.
    let outside = Directory::new();
    let kept = outside.path().join("kept");
    fs::write(&kept, "My page").expect("written");
    let list = out.path().join(".weir-atlas-site");
    let mut text = fs::read_to_string(&list).expect("a list");
    let tag = blake3::hash(b"My page").to_hex().to_string();
    let name = outside.path().file_name().expect("a name");
    for path in [
        format!("../{}/kept", name.display()),
        kept.display().to_string(),
        "de/chart".to_owned(),
        String::new(),
    ] {
        text.push_str(&format!("{} {path}\n", &tag[..16]));
    }
    fs::write(&list, text).expect("written");

    let told = write(out.path(), &["--lang", "en"]);
    assert!(told.contains("removed"), "{told}");
    assert!(!own.exists(), "{} was left behind", own.display());
    let left: BTreeSet<String> = files(&out.path().join("de"))
        .iter()
        .map(|path| path.strip_prefix(out.path()).expect("within"))
        .map(|path| path.display().to_string())
        .collect();
    assert_eq!(left, [foreign, changed].map(String::from).into());
    assert!(!out.path().join("de/community").exists(), "an empty folder");
    assert!(kept.exists());
    // Nothing more to remove, so nothing is reported.
    let again = write(out.path(), &["--lang", "en"]);
    assert!(!again.contains("removed"), "{again}");
    assert!(out.path().join("index.html").exists());
}

#[test]
fn what_an_interrupted_one_wrote_goes_too() {
    let out = Directory::new();
    write(out.path(), &["--lang", "en"]);
    let list = out.path().join(".weir-atlas-site");
    // State of an interrupted run that was also writing German: its page is in the list before the
    // file exists.
    let page = out.path().join("de/index.html");
    fs::create_dir_all(page.parent().expect("a folder")).expect("made");
    fs::write(&page, "A page").expect("written");
    let tag = blake3::hash(b"A page").to_hex().to_string();
    let mut text = fs::read_to_string(&list).expect("a list");
    for name in ["de/index.html", "de/about.html"] {
        text.push_str(&format!("{} {name}\n", &tag[..16]));
    }
    text.push_str(&tag[..9]);
    fs::write(&list, text).expect("written");
    write(out.path(), &["--lang", "en"]);
    assert!(!page.exists());
    assert!(!page.parent().expect("a folder").exists());
}
