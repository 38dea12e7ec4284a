//! The page has a text for each word of a plan, and for no other.
#![allow(missing_docs)]

use std::collections::BTreeSet;
use std::path::Path;

use weir_setup_core::plan::{PROBLEMS, SENTENCES};

fn words(kind: &str) -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/text/en.ts");
    let text = std::fs::read_to_string(file).unwrap();
    let begin = format!("  \"{kind}.");
    text.lines()
        .filter_map(|line| {
            line.strip_prefix(&begin)?
                .split('"')
                .next()
                .map(str::to_owned)
        })
        .collect()
}

#[test]
fn the_page_says_all_that_a_plan_says() {
    let of = |words: &[&str]| {
        words
            .iter()
            .map(|&word| word.to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(words("sentence"), of(SENTENCES));
    assert_eq!(words("problem"), of(PROBLEMS));
}
