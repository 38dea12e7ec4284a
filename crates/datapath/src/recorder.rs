//! Loads one probe of `bpf/probes.bpf.c`, attaches it, and reads its records (bpf/include/probe.h).
//!
//! The code is the same for all probes. It finds the programs and maps of a probe by their names,
//! which begin with the probe's, and leaves out all others. Each probe is a [`Recorder`] of its
//! own, so a probe that the kernel refuses does not affect the rest.

mod types;

use std::mem::offset_of;

use kernel::Mac;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject};

use crate::drops::own_namespace;
use crate::error::Error;
use crate::libbpf_log;
use crate::view::sum;

pub use types::KernelTypes;

/// Layout of the shared records, generated from the C headers. The generated loader would load all
/// probes or none.
#[allow(clippy::all, dead_code, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/probes.skel.rs"));
}
use skel::types::{probe_histogram, rodata};

/// The object as it was compiled, aligned as an ELF file has to be.
#[repr(C, align(16))]
struct Aligned<T: ?Sized>(T);
static OBJECT: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/probes.bpf.o")));

/// PROBE_BUCKETS of bpf/include/probe.h: bucket n of a histogram counts values below 2^n, the last
/// one all that are larger.
pub const BUCKETS: usize = size_of::<probe_histogram>() / 8 - 1;

/// Subject of a record: struct probe_key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// Index of the port; 0 if unknown.
    pub link: u32,
    /// Label that divides the probe's counts, by the kernel's number; 0 without a label.
    pub label: u32,
    /// Hardware address of the station; all zero if unknown, or if there was no slot for it.
    pub station: Mac,
}

/// A record: a counter's one number, or a histogram's sum and its [`BUCKETS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Subject of the record.
    pub subject: Subject,
    /// The numbers.
    pub words: Vec<u64>,
}

/// Events that a probe could not record since it was loaded: enum probe_missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// No record was free, neither for the station nor for the port.
    pub overflow: u64,
    /// The beginning of what was to be measured was not seen, or is forgotten.
    pub not_measured: u64,
}

/// A probe, loaded into the kernel. It records until this is dropped.
pub struct Recorder {
    name: String,
    object: Object,
    _links: Vec<Link>,
}

impl Recorder {
    /// Loads a probe, and begins to record events of this thread's network namespace. `name`: as in
    /// the names of its maps, with `-` for `_`. Check the kernel's requirements by [`KernelTypes`]
    /// first: the kernel's refusal explains little.
    ///
    /// # Errors
    /// The kernel refuses, or no such probe exists.
    pub fn load(name: &str) -> Result<Self, Error> {
        libbpf_log::listen();
        let prefix = format!("{}__", name.replace('-', "_"));
        let mut open = ObjectBuilder::default()
            .open_memory(&OBJECT.0)
            .map_err(|e| Error::bpf("open the probes", e))?;
        choose(&mut open, &prefix)?;
        let object = open
            .load()
            .map_err(|e| Error::load(format!("load the probe {name}"), e))?;
        let mut links = Vec::new();
        for program in object.progs_mut().filter(|program| program.autoload()) {
            let at = program.section().to_string_lossy();
            let at = at.rsplit('/').next().unwrap_or_default().to_owned();
            links.push(
                program
                    .attach()
                    .map_err(|e| Error::bpf(format!("attach to the tracepoint {at}"), e))?,
            );
        }
        Ok(Self {
            name: prefix,
            object,
            _links: links,
        })
    }

    fn map(&self, name: &str) -> Option<libbpf_rs::Map<'_>> {
        let name = format!("{}{name}", self.name);
        self.object.maps().find(|map| *map.name() == *name)
    }

    /// Room for records.
    pub fn room(&self) -> usize {
        self.map("records")
            .map_or(0, |map| map.max_entries() as usize)
    }

    /// Returns all records, unordered. Some hundred microseconds for a thousand.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn read(&self) -> Result<Vec<Record>, Error> {
        let Some(map) = self.map("records") else {
            return Ok(Vec::new());
        };
        let failed = |e| Error::bpf("read a probe's records", e);
        let found = map
            .lookup_batch(map.max_entries(), MapFlags::ANY, MapFlags::ANY)
            .map_err(failed)?;
        Ok(found
            .filter_map(|(key, words)| {
                Some(Record {
                    subject: Subject::decode(&key)?,
                    words: decode(&words),
                })
            })
            .collect())
    }

    /// Takes records out with their last values, to make room for others. Counts that another
    /// processor adds in that moment are lost.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn take(&mut self, subjects: &[Subject]) -> Result<Vec<Record>, Error> {
        let mut taken = Vec::new();
        let Some(map) = self.map("records") else {
            return Ok(taken);
        };
        for subject in subjects {
            let words = map
                .lookup_and_delete(&subject.encode())
                .map_err(|e| Error::bpf("take a probe's record out", e))?;
            if let Some(words) = words {
                taken.push(Record {
                    subject: *subject,
                    words: decode(&words),
                });
            }
        }
        Ok(taken)
    }

    /// Returns the number of events that could not be recorded.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn missed(&self) -> Result<Missed, Error> {
        let Some(map) = self.map("missed") else {
            return Ok(Missed::default());
        };
        Ok(Missed {
            overflow: sum(&map, 0)?,
            not_measured: sum(&map, 1)?,
        })
    }
}

/// Leaves out all that does not belong to one probe, and sets the probe's network namespace.
fn choose(open: &mut OpenObject, prefix: &str) -> Result<(), Error> {
    let mut found = false;
    for mut program in open.progs_mut() {
        let own = program.name().to_string_lossy().starts_with(prefix);
        program.set_autoload(own);
        found |= own;
    }
    if !found {
        let name = prefix.trim_end_matches('_').replace('_', "-");
        return Err(Error::Lacks(format!(
            "probe {name}: no program of bpf/probes.bpf.c begins with {prefix}"
        )));
    }
    let netns = own_namespace()?.to_ne_bytes();
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        // The compiler's own section (.rodata) has another name.
        if name.contains("__") && !name.starts_with(prefix) {
            map.set_autocreate(false)
                .map_err(|e| Error::bpf("leave a map out", e))?;
        }
        if name.ends_with(".rodata")
            && let Some(constants) = map.initial_value_mut()
        {
            let at = offset_of!(rodata, probe_netns);
            if let Some(place) = constants.get_mut(at..at + netns.len()) {
                place.copy_from_slice(&netns);
            }
        }
    }
    Ok(())
}

/// Words as they lie in memory.
fn decode(octets: &[u8]) -> Vec<u64> {
    let words = octets.as_chunks::<8>().0;
    words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

impl Subject {
    /// struct probe_key as it lies in memory.
    fn encode(&self) -> [u8; 16] {
        let mut key = [0; 16];
        key[..4].copy_from_slice(&self.link.to_ne_bytes());
        key[4..8].copy_from_slice(&self.label.to_ne_bytes());
        key[8..14].copy_from_slice(&self.station);
        key
    }

    fn decode(key: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(key.get(at..at + 4)?.try_into().ok()?));
        Some(Self {
            link: word(0)?,
            label: word(4)?,
            station: key.get(8..14)?.try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive() {
        let subject = Subject {
            link: 7,
            label: 0x1_0002,
            station: [2, 0, 0x5e, 0x10, 0, 1],
        };
        assert_eq!(Subject::decode(&subject.encode()), Some(subject));
        assert_eq!(Subject::decode(&[0; 13]), None);
    }

    #[test]
    fn a_probe_that_is_not_there_is_named() {
        let error = Recorder::load("no-such").err().expect("refused");
        assert_eq!(
            error.to_string(),
            "this kernel has no probe no-such: no program of bpf/probes.bpf.c begins with no_such__"
        );
    }
}
