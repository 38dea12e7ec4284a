//! Probes: the active ones, their records, and their form in the API. The description of a probe
//! alone determines how its records are shown.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use datapath::recorder::{BUCKETS, KernelTypes, Missed, Record, Recorder, Subject};
use kernel::Mac;
use monitor_core::probes::{self, Ledger, Measure, PROBES, Probe};
use tracing::{debug, info, warn};

/// Interval of checks for full tables.
const TIDY: Duration = Duration::from_secs(60);

/// Active probes, and errors of the others.
pub struct Probes {
    active: BTreeMap<&'static str, Active>,
    unable: BTreeMap<&'static str, String>,
    tidied: Instant,
}

/// A probe that records.
struct Active {
    recorder: Recorder,
    ledger: Ledger,
    /// Words of its label, by number.
    words: BTreeMap<u32, String>,
}

impl Probes {
    /// Creates the state without active probes.
    pub fn new() -> Self {
        Self {
            active: BTreeMap::new(),
            unable: BTreeMap::new(),
            tidied: Instant::now(),
        }
    }

    /// Activates these probes and stops all others; active ones keep their records. A probe that
    /// this kernel does not support is logged, and listed by [`Probes::shown`]; the others work all
    /// the same. Probes record events in the network namespace of the calling thread.
    pub fn choose(&mut self, wanted: &[&'static Probe]) {
        let is_wanted = |name: &str| wanted.iter().any(|probe| probe.name == name);
        self.active.retain(|name, _| is_wanted(name));
        self.unable.clear();
        let fresh: Vec<_> = wanted
            .iter()
            .filter(|probe| !self.active.contains_key(probe.name))
            .collect();
        if fresh.is_empty() {
            return;
        }
        let types = KernelTypes::read();
        for probe in fresh {
            if self.active.contains_key(probe.name) {
                continue; // named twice
            }
            let begun = match &types {
                Ok(types) => begin(probe, types),
                Err(error) => Err(error.to_string()),
            };
            match begun {
                Ok(active) => {
                    info!(probe = probe.name, "records");
                    self.active.insert(probe.name, active);
                }
                Err(reason) => {
                    warn!(probe = probe.name, reason, "cannot start the probe");
                    self.unable.insert(probe.name, reason);
                }
            }
        }
    }

    /// Makes room in full tables; due every second, and checks every minute.
    pub fn turn(&mut self) {
        if self.tidied.elapsed() < TIDY {
            return;
        }
        self.tidied = Instant::now();
        for (name, active) in &mut self.active {
            if let Err(error) = active.tidy() {
                warn!(probe = name, %error, "cannot free records of the probe");
            }
        }
    }

    /// Returns every probe, for the API. `port`: the name of a device, by index; `own`: hardware
    /// addresses of this router.
    pub fn report(
        &self,
        port: impl Fn(u32) -> Option<String>,
        own: &HashSet<Mac>,
    ) -> answers::Probes {
        let probes = PROBES.iter().map(|probe| {
            let mut shown = described(probe);
            match self.active.get(probe.name) {
                Some(active) => active.fill(probe, &mut shown, &port, own),
                None => {
                    let reason = self.unable.get(probe.name).cloned();
                    shown.reason = Some(reason.unwrap_or_else(not_asked));
                }
            }
            shown
        });
        answers::Probes {
            probes: probes.collect(),
        }
    }
}

fn not_asked() -> String {
    "not enabled: add it to `probes` under [monitor]".to_owned()
}

fn begin(probe: &'static Probe, types: &KernelTypes) -> Result<Active, String> {
    let lacks = probe.lacks(
        |name| types.has_tracepoint(name),
        |name| types.has_enumeration(name),
    );
    if let Some(lacks) = lacks {
        return Err(lacks);
    }
    let recorder = Recorder::load(probe.name).map_err(|error| {
        for line in datapath::libbpf_log::last() {
            debug!(probe = probe.name, line);
        }
        error.to_string()
    })?;
    Ok(Active {
        ledger: Ledger::new(recorder.room()),
        words: probe.label.map_or_else(BTreeMap::new, |label| {
            label.words(|name, prefix| types.words(name, prefix))
        }),
        recorder,
    })
}

impl Active {
    fn tidy(&mut self) -> Result<(), datapath::Error> {
        let records = self.recorder.read()?.into_iter().map(brought);
        let stale = self.ledger.stale(records.collect());
        let stale: Vec<_> = stale.into_iter().map(asked).collect();
        let taken = self.recorder.take(&stale)?;
        self.ledger.keep(taken.into_iter().map(brought).collect());
        Ok(())
    }

    /// Adds the records to the API's form of the probe.
    fn fill(
        &self,
        probe: &Probe,
        shown: &mut answers::Probe,
        port: &impl Fn(u32) -> Option<String>,
        own: &HashSet<Mac>,
    ) {
        let read = || -> Result<(Vec<Record>, Missed), datapath::Error> {
            Ok((self.recorder.read()?, self.recorder.missed()?))
        };
        let (records, missed) = match read() {
            Ok(read) => read,
            Err(error) => {
                shown.reason = Some(error.to_string());
                return;
            }
        };
        shown.active = true;
        shown.overflow = missed.overflow;
        shown.not_measured = missed.not_measured;
        let records = records.into_iter().map(brought).collect();
        let records = self.ledger.sum(records, own).into_iter();
        let mut records: Vec<_> = records
            .map(|record| {
                let at = record.subject;
                let word = || self.words.get(&at.label).cloned();
                let label = probe
                    .label
                    .map(|_| word().unwrap_or_else(|| at.label.to_string()));
                let known = (at.link != 0).then_some(at.link);
                answers::ProbeRecord {
                    port: known.map(|link| port(link).unwrap_or_else(|| format!("#{link}"))),
                    device: (at.station != Mac::default()).then(|| net::mac::text(&at.station)),
                    label,
                    ..numbers(probe.measure, &record.words)
                }
            })
            .collect();
        records.sort_by(|a, b| {
            let whose = |record: &answers::ProbeRecord| {
                let answers::ProbeRecord {
                    port,
                    device,
                    label,
                    ..
                } = record.clone();
                (port, label, device)
            };
            whose(a).cmp(&whose(b))
        });
        shown.records = records;
    }
}

/// Converts a record's numbers.
fn numbers(measure: Measure, words: &[u64]) -> answers::ProbeRecord {
    let (first, rest) = match words {
        [first, rest @ ..] => (*first, rest),
        [] => (0, words),
    };
    match measure {
        Measure::Counter => answers::ProbeRecord {
            count: first,
            ..Default::default()
        },
        Measure::Histogram => answers::ProbeRecord {
            count: rest.iter().fold(0, |sum, n| n.saturating_add(sum)),
            sum: Some(first),
            buckets: rest.to_vec(),
            ..Default::default()
        },
    }
}

/// Returns the description of a probe, without records.
fn described(probe: &Probe) -> answers::Probe {
    answers::Probe {
        name: probe.name.to_owned(),
        help: probe.help.to_owned(),
        kind: match probe.measure {
            Measure::Counter => answers::ProbeKind::Counter,
            Measure::Histogram => answers::ProbeKind::Histogram,
        },
        unit: probe.unit.as_str().to_owned(),
        label: probe.label.map(|label| label.name.to_owned()),
        tracepoints: probe
            .needs
            .tracepoints
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        linux: probe.needs.linux.to_owned(),
        below: match probe.measure {
            Measure::Counter => Vec::new(),
            Measure::Histogram => (0..BUCKETS - 1).map(|bucket| 1 << bucket).collect(),
        },
        ..Default::default()
    }
}

fn brought(Record { subject, words }: Record) -> probes::Record {
    probes::Record {
        subject: probes::Subject {
            link: subject.link,
            label: subject.label,
            station: subject.station,
        },
        words,
    }
}

fn asked(subject: probes::Subject) -> Subject {
    Subject {
        link: subject.link,
        label: subject.label,
        station: subject.station,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_is_described_and_says_why_it_does_not_record() {
        let shown = Probes::new().report(|_| None, &HashSet::new());
        assert_eq!(shown.probes.len(), PROBES.len());
        for (probe, shown) in PROBES.iter().zip(shown.probes) {
            assert_eq!(shown.name, probe.name);
            assert!(!shown.active);
            assert_eq!(shown.reason, Some(not_asked()));
            let histogram = probe.measure == Measure::Histogram;
            assert_eq!(shown.below.len(), if histogram { BUCKETS - 1 } else { 0 });
        }
    }

    #[test]
    fn numbers_are_as_the_measure_says() {
        let counter = numbers(Measure::Counter, &[7]);
        assert_eq!((counter.count, counter.sum), (7, None));
        let histogram = numbers(Measure::Histogram, &[1000, 1, 2]);
        assert_eq!((histogram.count, histogram.sum), (3, Some(1000)));
        assert_eq!(histogram.buckets, [1, 2]);
        assert_eq!(numbers(Measure::Histogram, &[]).count, 0);
    }
}
