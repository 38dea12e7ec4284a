//! Kernel counters of a namespace.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Error, Namespace};

/// Extended counters of a namespace (`/proc/net/netstat`), named as in nstat:
/// `MPTcpExtMPJoinSynRx`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<String, i64>);

impl Counters {
    /// Reads the counters of a namespace.
    pub fn of(namespace: &Namespace) -> Result<Self, Error> {
        parse(&read(namespace, "netstat")?)
    }

    /// Returns a counter.
    ///
    /// # Errors
    /// Fails if the kernel lacks the counter: a default of 0 would hide this.
    pub fn get(&self, name: &str) -> Result<i64, Error> {
        self.0
            .get(name)
            .copied()
            .ok_or_else(|| Error::Unexpected(format!("this kernel has no counter {name}")))
    }

    /// Returns the change of each counter that changed since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let change = |(name, value): (&String, &i64)| {
            let change = value - before.0.get(name).unwrap_or(&0);
            (change != 0).then(|| (name.clone(), change))
        };
        Self(self.0.iter().filter_map(change).collect())
    }

    /// Returns the names and values of counters with this prefix.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, i64)> {
        let matches = self
            .0
            .iter()
            .filter(move |(name, _)| name.starts_with(prefix));
        matches.map(|(name, value)| (name.as_str(), *value))
    }
}

/// Bytes that a device received and sent, link headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Received bytes.
    pub received: u64,
    /// Sent bytes.
    pub sent: u64,
}

impl Bytes {
    /// Reads the counters of a device.
    pub fn of(namespace: &Namespace, device: &str) -> Result<Self, Error> {
        let text = read(namespace, "dev")?;
        find(&text, device)
            .ok_or_else(|| Error::Unexpected(format!("no device {}:{device}", namespace.role())))
    }
}

/// Returns the processor time of a process so far (proc(5): utime and stime, in hundredths of a
/// second).
pub fn processor_time(process: u32) -> Result<Duration, Error> {
    let [user, system, ..] = ticks(process)?;
    Ok(Duration::from_millis((user + system) * 10))
}

/// Returns the processor time of a process and its waited-for children (cutime and cstime).
pub fn processor_time_with_children(process: u32) -> Result<Duration, Error> {
    let all: u64 = ticks(process)?.iter().sum();
    Ok(Duration::from_millis(all * 10))
}

/// Index of utime among the fields behind the process's name.
const FIRST_TIME: usize = 11;

/// Returns user and system time of the process and of its children.
fn ticks(process: u32) -> Result<[u64; 4], Error> {
    let file = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&file).map_err(Error::system(format!("read {file}")))?;
    // The name in brackets may contain any characters.
    let fields = text.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let mut all = [0; 4];
    for (place, one) in all.iter_mut().enumerate() {
        let field = fields.get(FIRST_TIME + place);
        let read = field.and_then(|field| field.parse().ok());
        *one = read.ok_or_else(|| Error::Unexpected(format!("no times in {file}: {text}")))?;
    }
    Ok(all)
}

/// Reads a file of `thread-self`: `/proc/net` shows the namespace of the first thread.
fn read(namespace: &Namespace, file: &str) -> Result<String, Error> {
    let path = format!("/proc/thread-self/net/{file}");
    namespace
        .enter(|| std::fs::read_to_string(&path))?
        .map_err(Error::system(format!("read {path}")))
}

/// Parses pairs of lines: a prefix with names, then the prefix with values.
fn parse(text: &str) -> Result<Counters, Error> {
    let lines: Vec<_> = text.lines().collect();
    let mut counters = BTreeMap::new();
    for pair in lines.chunks(2) {
        let wrong = || Error::Unexpected(format!("netstat has lines that do not match: {pair:?}"));
        let [names, values] = pair else {
            return Err(wrong());
        };
        let (prefix, names) = names.split_once(':').ok_or_else(wrong)?;
        let values = values
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix(':'))
            .ok_or_else(wrong)?;
        if names.split_whitespace().count() != values.split_whitespace().count() {
            return Err(wrong());
        }
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            let value = value.parse().map_err(|_| wrong())?;
            counters.insert(format!("{prefix}{name}"), value);
        }
    }
    Ok(Counters(counters))
}

fn find(text: &str, device: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| {
        let (name, rest) = line.trim().split_once(':')?;
        (name == device).then_some(rest)
    })?;
    let numbers: Vec<u64> = line
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    Some(Bytes {
        received: *numbers.first()?,
        sent: *numbers.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_spends_time() {
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {}
        let spent = processor_time(std::process::id()).expect("it runs");
        assert!(
            spent > Duration::ZERO && spent < Duration::from_secs(3600),
            "{spent:?}"
        );
        assert!(processor_time(0).is_err(), "there is none");
        let all = processor_time_with_children(std::process::id()).expect("it runs");
        assert!(all >= spent, "{all:?} with children, {spent:?} without");
    }

    #[test]
    fn counters_have_the_names_of_nstat() {
        let before = parse("TcpExt: A B\nTcpExt: 1 -1\nMPTcpExt: B C\nMPTcpExt: 5 7\n");
        let before = before.expect("counters");
        assert_eq!(before.get("TcpExtB").ok(), Some(-1));
        assert_eq!(before.get("MPTcpExtC").ok(), Some(7));
        assert!(before.get("C").is_err());
        let after = parse("TcpExt: A B\nTcpExt: 1 -1\nMPTcpExt: B C\nMPTcpExt: 6 7\n");
        let change = after.expect("counters").since(&before);
        let changed: Vec<_> = change.under("MPTcpExt").collect();
        assert_eq!(changed, [("MPTcpExtB", 1)]);
        assert!(change.under("TcpExt").next().is_none());
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for text in [
            "A: B\n",
            "A: B\nC: 1\n",
            "A: B\nA: 1 2\n",
            "A: B\nA: x\n",
            "A\nA\n",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn octets_are_in_the_first_and_the_ninth_column() {
        let text = "Inter-|   Receive\n face |bytes\n  wan0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 \
            16\n wan01:0 0 0 0 0 0 0 0 0\n";
        let octets = Bytes {
            received: 1,
            sent: 9,
        };
        assert_eq!(find(text, "wan0"), Some(octets));
        assert_eq!(find(text, "wan"), None);
    }
}
