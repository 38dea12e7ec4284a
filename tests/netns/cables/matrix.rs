//! docs/reference/cables-arrangements.md: weir's report on each arrangement, and its delay.
//!
//! `WEIR_ARRANGEMENTS=5 … --test routers cables::matrix` builds each five times for a new page.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use lab::Error;

use crate::cables::topology::{Arrangement, Said};
use crate::cables::{clients, neighbours, uplinks};

/// Arrangements at once, as they sleep most of the time.
pub const AT_ONCE: usize = 8;
const ROLES: [&str; 8] = [
    "uplink", "mesh", "radio", "client", "border", "switch", "loop", "unknown",
];
const HEAD: &str = "\
# Arrangements

Each row shows what is at the other end of a cable, what weir reports, and how long it takes. The peers are dnsmasq,
pppoe-server, radvd, dhcp6s, lldpd, babeld, BIRD, udhcpc and nodes with weir, or crafted frames. Switches are Linux
bridges. Two radios are two bridges, with 15 ms and 5 % loss between them.

`WEIR_ARRANGEMENTS=5 scripts/cargo test --test routers cables::matrix`, as root, builds each arrangement five times and
rewrites this page. Eight run at a time, on a machine with other work.

- `unknown` is right if no evidence exists: a provider in a VLAN sends nothing, and weir probes without a tag.
- A mesh node beside a provider makes a mesh port: only the node has a proof.
- Other nodes get their link together with the port, except for the resting node.
";

pub fn all() -> Vec<&'static Arrangement> {
    let lists = [uplinks::ALL, clients::ALL, neighbours::ALL];
    lists.into_iter().flatten().collect()
}

fn page() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/reference/cables-arrangements.md"
    ))
}

/// Runs the work this many times for each, this many at once; returns the results in order.
pub fn each<T: Clone + Send>(
    all: &[&Arrangement],
    times: usize,
    at_once: usize,
    work: impl Fn(&Arrangement) -> Result<T, Error> + Sync,
) -> Result<Vec<Vec<T>>, Error> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![Vec::new(); all.len()]);
    let errors = Mutex::new(Vec::new());
    let turns = || {
        loop {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            if turn >= times * all.len() {
                break;
            }
            let number = turn % all.len();
            match (work(all[number]), done.lock(), errors.lock()) {
                (Ok(it), Ok(mut done), _) => done[number].push(it),
                (Err(error), _, Ok(mut errors)) => {
                    errors.push(format!("{}: {error}", all[number].name));
                }
                _ => break,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(turns);
        }
    });
    let errors = errors.into_inner().unwrap_or_default();
    match errors.is_empty() {
        true => Ok(done.into_inner().unwrap_or_default()),
        false => Err(Error::Unexpected(errors.join("\n"))),
    }
}

fn cells(columns: impl IntoIterator<Item = impl ToString>) -> String {
    let columns = columns.into_iter().map(|it| it.to_string());
    format!("| {} |\n", columns.collect::<Vec<_>>().join(" | "))
}

/// Returns the different roles in the order of their first appearance.
fn roles<'a>(said: impl Iterator<Item = &'a str>) -> String {
    let mut roles: Vec<&str> = Vec::new();
    for role in said {
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    roles.join(", ")
}

/// Returns `least, median, 90 %, most`, in seconds.
fn spread(mut millis: Vec<u64>) -> Vec<String> {
    millis.sort_unstable();
    let at = |share: usize| millis.get((millis.len().saturating_sub(1)) * share / 100);
    let shown = |it: Option<&u64>| it.map_or("-".into(), |it| format!("{:.1}", *it as f64 / 1e3));
    [0, 50, 90, 100].map(at).map(shown).to_vec()
}

fn confusion(said: &[Vec<Said>]) -> String {
    let mut matrix: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (arrangement, runs) in all().into_iter().zip(said) {
        for run in runs {
            let role = ROLES.iter().find(|role| **role == run.last.role);
            *matrix
                .entry((arrangement.is, role.unwrap_or(&"")))
                .or_default() += 1;
        }
    }
    let mut text = cells(["expected", "reported"]) + "|---|---|\n";
    for is in ROLES {
        let counts = ROLES.iter().filter_map(|role| {
            let count = matrix.get(&(is, *role))?;
            Some(format!("{role} {count}"))
        });
        let counts: Vec<String> = counts.collect();
        text += &cells([is.to_owned(), counts.join(", ")]);
    }
    text
}

fn written(said: &[Vec<Said>]) -> Result<String, std::fmt::Error> {
    let times = said.first().map_or(0, Vec::len);
    let mut text = String::from(HEAD);
    let wrong: usize = all()
        .iter()
        .zip(said)
        .map(|(it, runs)| runs.iter().filter(|run| !it.allows(&run.last.role)).count())
        .sum();
    write!(
        text,
        "\n## Confusion matrix\n\n{} arrangements, each {times} times. Wrong: {wrong}.\n\n{}",
        said.len(),
        confusion(said)
    )?;
    writeln!(text, "\n## Time from the link to the decision\n")?;
    text += &cells(["seconds", "least", "median", "90 %", "most", "decisions"]);
    text += "|---|---|---|---|---|---|\n";
    for (name, asked) in [
        ("before the end of a probe (goal: 3 s)", false),
        ("after a probe (goal: 10 s)", true),
    ] {
        let runs = said.iter().flatten().filter(|run| run.asked() == asked);
        let millis: Vec<u64> = runs.filter_map(|run| run.first.decided).collect();
        let count = millis.len().to_string();
        text += &cells(
            [name.to_owned()]
                .into_iter()
                .chain(spread(millis))
                .chain([count]),
        );
    }
    writeln!(text, "\n## All arrangements\n")?;
    text += &cells([
        "arrangement",
        "expected",
        "reported",
        "confidence",
        "most, s",
    ]);
    text += "|---|---|---|---|---|\n";
    for (arrangement, runs) in all().into_iter().zip(said) {
        let right = [&[arrangement.is], arrangement.or].concat().join(", ");
        let last = roles(runs.iter().map(|run| &*run.last.role));
        let sure = runs.iter().map(|run| run.last.confidence);
        let sure = [sure.clone().min(), sure.max()].map(Option::unwrap_or_default);
        let sure = match sure[0] == sure[1] {
            true => sure[0].to_string(),
            false => format!("{} to {}", sure[0], sure[1]),
        };
        let times = spread(runs.iter().filter_map(|run| run.first.decided).collect());
        let name = arrangement.text.to_owned();
        text += &cells([name, right, last, sure, times[3].clone()]);
    }
    Ok(text)
}

#[test]
fn the_matrix_has_all_arrangements_and_none_is_wrong() -> Result<(), Error> {
    let times = std::env::var("WEIR_ARRANGEMENTS").ok();
    if let Some(times) = times.and_then(|it| it.parse().ok()) {
        let said = each(&all(), times, AT_ONCE, Arrangement::run)?;
        for (arrangement, run) in all().iter().zip(&said) {
            for it in run {
                let (name, wall) = (arrangement.name, it.wall.as_millis());
                let (first, last) = (&it.first, &it.last);
                println!(
                    "{name}: {} {} {:?} ms, {wall} ms by the wall; at last {} {}: {}",
                    first.role,
                    first.confidence,
                    first.decided,
                    last.role,
                    last.confidence,
                    last.why
                );
            }
        }
        let text = written(&said).map_err(|error| Error::Unexpected(error.to_string()))?;
        std::fs::write(page(), text).map_err(Error::system("write the page"))?;
    }
    let text = std::fs::read_to_string(page()).map_err(Error::system("read the page"))?;
    let rows = text.split("## All arrangements").nth(1).unwrap_or_default();
    for arrangement in all() {
        let right = [&[arrangement.is], arrangement.or].concat();
        let begin = format!("| {} | {} | ", arrangement.text, right.join(", "));
        let row = rows.lines().find_map(|row| row.strip_prefix(&begin));
        let row = row.unwrap_or_else(|| panic!("no row {begin:?}: WEIR_ARRANGEMENTS=5 writes it"));
        let mut said = row.split('|').next().unwrap_or_default().split(',');
        assert!(said.all(|role| right.contains(&role.trim())), "{row}");
    }
    let count = rows.lines().filter(|row| row.starts_with("| ")).count();
    assert_eq!(count, all().len() + 1, "rows of what is not there any more");
    assert!(text.contains("Wrong: 0."), "{text}");
    Ok(())
}
