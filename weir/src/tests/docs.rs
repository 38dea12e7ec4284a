//! Tests of the documentation: its commands exist, and its links lead somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::registry;

/// Returns the Markdown files of the router, with their texts.
fn pages() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let books = ["", "decisions", "how-to", "reference", "tutorials"];
    let mut folders: Vec<_> = books.map(|it| root.join("docs").join(it)).into();
    folders.extend([root.clone(), root.join("web")]);
    let modules = fs::read_dir(root.join("modules")).expect("modules");
    folders.extend(modules.map(|module| module.expect("a module").path()));
    let files = folders
        .iter()
        .flat_map(|it| fs::read_dir(it).expect("a folder"));
    let files = files.map(|file| file.expect("a file").path());
    let pages = files.filter(|it| it.extension().is_some_and(|end| end == "md"));
    pages
        .map(|page| (page.clone(), fs::read_to_string(page).expect("a page")))
        .collect()
}

/// Returns the lines of a page with true for those in code blocks.
fn lines(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut code = false;
    text.lines().map(move |line| {
        code ^= line.trim_start().starts_with("```");
        (code, line)
    })
}

/// Splits a line of a shell at its first command's end, and that command into words.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in line.chars().chain([' ']) {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '#') if word.is_empty() => break,
            (None, '|' | '>' | ';' | '&') => break,
            (None, ' ') if word.is_empty() => {}
            (None, ' ') => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words
}

#[test]
fn commands_of_the_documentation_exist() {
    let (tree, mut count) = (registry().tree(), 0);
    for (page, text) in pages() {
        for (_, line) in lines(&text).filter(|(code, _)| *code) {
            let prompt = line
                .split_once("$ ")
                .map(|(prompt, rest)| (prompt.trim(), rest));
            let Some((_, rest)) = prompt.filter(|(prompt, _)| !prompt.contains(' ')) else {
                continue;
            };
            let mut typed = words(rest);
            typed.retain(|word| word != "sudo");
            if typed.first().is_none_or(|command| command != "weir") {
                continue;
            }
            count += 1;
            if let Err(error) = tree.clone().try_get_matches_from(&typed) {
                assert!(!error.use_stderr(), "{}: {line}\n{error}", page.display());
            }
        }
    }
    assert!(count > 50, "{count} commands");
}

/// Returns the anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let letter = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    let heading = heading.trim().to_lowercase();
    let letters = heading.chars().filter(letter);
    letters.map(|it| if it == ' ' { '-' } else { it }).collect()
}

/// Returns the targets of a line's links, without those in backticks.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let prose = line.split('`').step_by(2);
    prose.flat_map(|text| {
        text.split("](")
            .skip(1)
            .filter_map(|it| it.split(')').next())
    })
}

#[test]
fn links_of_the_documentation_lead_somewhere() {
    let (pages, mut broken) = (pages(), Vec::new());
    let anchors = |page: &Path| -> BTreeSet<String> {
        let text = fs::read_to_string(page).expect("a page");
        let headings = lines(&text).filter(|(code, line)| !code && line.starts_with('#'));
        let headings = headings.map(|(_, line)| anchor(line.trim_start_matches('#')));
        headings.collect()
    };
    for (page, text) in &pages {
        let prose = lines(text).filter(|(code, _)| !code);
        for link in prose.flat_map(|(_, line)| links(line)) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                _ => page.parent().unwrap_or(page).join(path),
            };
            let is_page = target.extension().is_some_and(|end| end == "md");
            let leads = link.contains("://")
                || target.exists()
                    && (heading.is_empty() || !is_page || anchors(&target).contains(heading));
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
