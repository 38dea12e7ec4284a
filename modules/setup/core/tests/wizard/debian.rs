//! Rendering for Debian: expected files, refusals, and that no value can inject a line.
//!
//! `WEIR_UPDATE_GOLDEN=1` rewrites the expected files.

mod cases;
mod hostile;

use std::fmt::Write as _;
use std::path::PathBuf;

use uci::Package;
use weir_setup_core::debian::{
    Access, Content, Fault, Hardware, Packages, Radio, Rendering, render,
};

/// Packages out of one text, as `uci export` writes them.
fn packages(text: &str) -> Packages {
    let mut packages = Packages::new();
    for part in text.split("package ").skip(1) {
        let (name, text) = part.split_once('\n').expect("a name");
        let package = Package::read(name, text.as_bytes());
        packages.insert(name.into(), package.expect("libuci reads it"));
    }
    packages
}

fn facts() -> Hardware {
    let radio = |n: u32| Radio {
        phy: format!("phy{n}"),
        device: format!("wlan{n}"),
        path: format!("/sys/devices/pci0000:00/0000:00:0{}.0", n + 1),
        mac: format!("02:00:00:00:0{n}:00"),
    };
    Hardware {
        radios: vec![radio(0), radio(1)],
    }
}

fn rendered(text: &str) -> Result<Rendering, Vec<Fault>> {
    render(&packages(text), &facts())
}

fn case(name: &str, ending: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/debian");
    folder.join(format!("{name}.{ending}"))
}

/// Returns all files in one text.
fn shown(outcome: &Rendering) -> String {
    let mut text = String::new();
    for file in &outcome.files {
        let access = match file.access {
            Access::All => "all",
            Access::Root => "root",
            Access::Network => "networkd",
        };
        writeln!(text, "==== {} ({access})", file.path).expect("text");
        match &file.content {
            Content::Text(content) => text += content,
            Content::Link(to) => writeln!(text, "-> {to}").expect("text"),
        }
    }
    text += "==== notes\n";
    for note in &outcome.notes {
        writeln!(text, "{note}").expect("text");
    }
    text
}

/// Returns the content of a file.
fn content(outcome: &Rendering, path: &str) -> String {
    let mut files = outcome.files.iter();
    let found = files.find(|file| file.path == path);
    match found.map(|file| &file.content) {
        Some(Content::Text(text)) => text.clone(),
        other => panic!("{path}: {other:?}"),
    }
}
