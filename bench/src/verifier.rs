//! The gate against programs that the verifier has ever more work with, by kernel and compiler:
//! bench/verifier.json.

use std::collections::BTreeMap;
use std::path::Path;

use datapath::bench::verified;
use datapath::{Datapath, Options, Sizes};

use crate::Error;
use crate::report::{Table, table};

/// Instructions that the verifier looked at, by program.
pub type Programs = BTreeMap<String, u32>;

/// What one kernel's verifier did, by the C compiler of the programs: see
/// [`machine::compiler`](crate::machine::compiler).
pub type Work = BTreeMap<String, Programs>;

/// By the first two numbers of the kernel's version.
pub type Record = BTreeMap<String, Work>;

/// `6.12` of `6.12.107-amd64`.
pub fn series(kernel: &str) -> String {
    kernel.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// Loads everything that weir may load, with every feature on, and asks.
///
/// # Errors
/// The kernel refuses a program, or is older than 5.16 and does not tell.
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
    // Bridging adds to programs that are there without it too.
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
            "this kernel does not tell what its verifier did: 5.16 and later do".into(),
        )),
    }
}

/// Reads the record; nothing where there is none yet.
///
/// # Errors
/// It cannot be read, or is none.
pub fn read(file: &Path) -> Result<Record, Error> {
    match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Record::new()),
        Err(error) => Err(Error::system(format!("read {}", file.display()))(error)),
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| Error::Wrong(format!("{}: {error}", file.display()))),
    }
}

/// Half of what a kernel allows a program (BPF_COMPLEXITY_LIMIT_INSNS, a million): another kernel's
/// verifier may have more to look at.
const LIMIT: u32 = 500_000;

/// 3 % more, and a hundred instructions, so that a short program does not fail for a few.
fn grown(before: u32, now: u32) -> bool {
    f64::from(now) > f64::from(before) * 1.03 && now > before + 100
}

/// Both side by side, and the names of the programs that grew, are new, are gone or are near the
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
