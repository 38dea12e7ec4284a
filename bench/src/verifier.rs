//! Gate against programs that take the verifier ever more work, by kernel and compiler:
//! bench/verifier.json.

use std::collections::BTreeMap;
use std::path::Path;

use datapath::bench::verified;
use datapath::{Datapath, Options, Sizes};

use crate::Error;
use crate::report::{Table, table};

/// Instructions that the verifier processed, by program.
pub type Programs = BTreeMap<String, u32>;

/// Work of a kernel's verifier, by the C compiler of the programs: see
/// [`machine::compiler`](crate::machine::compiler).
pub type Work = BTreeMap<String, Programs>;

/// Work by the first two numbers of the kernel's version.
pub type Record = BTreeMap<String, Work>;

/// Returns `6.12` for `6.12.107-amd64`.
pub fn series(kernel: &str) -> String {
    kernel.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// Loads all programs of weir with all features, and returns the verifier's work.
///
/// # Errors
/// The kernel refuses a program, or is older than 5.16 and does not report the work.
pub fn ask() -> Result<Programs, Error> {
    let sizes = || Sizes::new(4096, 4096, &[]);
    let plain = Options {
        learn_drops: true,
        ..Options::default()
    };
    let bridging = Options {
        bridge: true,
        ..plain
    };
    let path = Datapath::load(sizes(), plain)?;
    let mut found: Programs = verified::of_the_path(&path)?.into_iter().collect();
    let with_bridging = verified::of_the_path(&Datapath::load(sizes(), bridging)?)?;
    // With bridging, programs that exist without it grow, too.
    found.extend(
        with_bridging
            .into_iter()
            .map(|(name, work)| (format!("{name}, bridging"), work)),
    );
    found.extend(verified::of_the_meter()?);
    found.extend(verified::of_the_cables()?);
    match found.values().all(|work| *work > 0) {
        true => Ok(found),
        false => Err(Error::Wrong(
            "this kernel does not report its verifier's work: use 5.16 or later".into(),
        )),
    }
}

/// Reads the record; empty if the file does not exist.
///
/// # Errors
/// The file cannot be read, or is not a valid record.
pub fn read(file: &Path) -> Result<Record, Error> {
    match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Record::new()),
        Err(error) => Err(Error::system(format!("read {}", file.display()))(error)),
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| Error::Wrong(format!("{}: {error}", file.display()))),
    }
}

/// Half of the kernel's limit for a program (BPF_COMPLEXITY_LIMIT_INSNS, a million): other kernels'
/// verifiers may need more.
const LIMIT: u32 = 500_000;

/// Returns whether the work grew by over 3 %, and by over a hundred, for short programs.
fn grown(before: u32, now: u32) -> bool {
    f64::from(now) > f64::from(before) * 1.03 && now > before + 100
}

/// Compares both; returns the names of programs that grew, are new, are gone or are near the
/// kernel's limit.
pub fn compare(recorded: &Programs, now: &Programs) -> (Table, Vec<String>) {
    let mut failed = Vec::new();
    let mut lines = Vec::new();
    for (name, work) in now {
        let before = recorded.get(name);
        if *work > LIMIT || before.is_none_or(|before| grown(*before, *work)) {
            failed.push(name.clone());
        }
        lines.push(vec![
            name.clone(),
            before.map_or("–".into(), u32::to_string),
            work.to_string(),
            before.map_or("new".into(), |before| {
                format!(
                    "{:+.1} %",
                    (f64::from(*work) / f64::from(*before) - 1.0) * 100.0
                )
            }),
        ]);
    }
    let gone = recorded.keys().filter(|name| !now.contains_key(*name));
    failed.extend(gone.cloned());
    (
        table(
            &["the verifier's work", "recorded", "now", "change"],
            &lines,
        ),
        failed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(all: &[(&str, u32)]) -> Programs {
        all.iter()
            .map(|(name, work)| ((*name).to_owned(), *work))
            .collect()
    }

    #[test]
    fn only_what_grew_fails() {
        let old = programs(&[
            ("a", 10_000),
            ("b", 10_000),
            ("gone", 5),
            ("large", 499_000),
            ("short", 50),
        ]);
        let new = programs(&[
            ("a", 10_200),
            ("b", 10_400),
            ("large", 501_000),
            ("new", 7),
            ("short", 90),
        ]);
        let (text, failed) = compare(&old, &new);
        assert_eq!(failed, ["b", "large", "new", "gone"]);
        let text = text.to_string();
        assert!(text.contains("+4.0 %"), "{text}");
    }

    #[test]
    fn kernels_are_told_apart_by_two_numbers() {
        assert_eq!(series("6.12.107+deb13-amd64"), "6.12");
        assert_eq!(series("6.1.0-50-amd64"), "6.1");
    }
}
