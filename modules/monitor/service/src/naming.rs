//! Names: from copies of packets, and from files of this router.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use datapath::meter::Sample;
use monitor_core::names::{
    Direction, FlowKey, NameObservation, Names, PacketMeta, Reader, Source, hosts, leases,
    name_file,
};
use monitor_core::{Millis, core};
use tracing::debug;

/// Longest file that is read, bytes: hosts with some 100,000 blocked names.
const LONGEST: u64 = 8 << 20;
/// Parses a file.
type Reads = fn(&[u8]) -> name_file::NameFile;
/// The router's own files, with their parsers.
const OWN: [(&str, Source, Reads); 2] = [
    ("/etc/hosts", Source::Hosts, hosts::hosts),
    ("/etc/ethers", Source::Ethers, hosts::ethers),
];
/// Seconds between two checks of the files.
const EVERY: u32 = 10;

/// Sources of names.
pub struct Naming {
    reader: Reader,
    leases: Vec<PathBuf>,
    /// Modification times of the files at the last reading.
    read: HashMap<PathBuf, SystemTime>,
    seconds: u32,
}

impl Naming {
    /// Creates the reader of names with these files of leases.
    pub fn new(leases: Vec<PathBuf>) -> Self {
        Self {
            reader: Reader::new(),
            leases,
            read: HashMap::new(),
            seconds: 0,
        }
    }

    /// Reads a packet.
    pub fn packet(&mut self, sample: &Sample<'_>, now: Millis) -> Vec<NameObservation> {
        let key = &sample.key;
        let meta = PacketMeta {
            mac: sample.mac,
            direction: match sample.sent {
                true => Direction::FromStation,
                false => Direction::ToStation,
            },
            flow: FlowKey {
                observation_point: core::observation_point(key.port, key.vlan),
                protocol: key.protocol,
                station: key.station,
                station_port: key.station_port,
                remote: key.remote,
                remote_port: key.remote_port,
            },
            sequence: sample.sequence,
            // The packet path chose it: it was early enough.
            before: 0,
        };
        self.reader.packet(&meta, sample.payload, now)
    }

    /// Handles the end of a second: reads changed files again.
    pub fn second(&mut self, names: &mut Names) {
        self.seconds += 1;
        if self.seconds % EVERY != 1 {
            return;
        }
        let changed = |read: &mut HashMap<PathBuf, SystemTime>, path: &Path| {
            let when = std::fs::metadata(path)
                .and_then(|data| data.modified())
                .ok();
            let before = match when {
                Some(when) => read.insert(path.to_owned(), when),
                None => read.remove(path),
            };
            before != when
        };
        let mut found = false;
        for path in &self.leases {
            found |= changed(&mut self.read, path);
        }
        if found {
            let all = self.leases.iter().flat_map(|path| {
                let file = leases::any(&content(path));
                if file.bad > 0 || file.more {
                    debug!(
                        path = %path.display(),
                        bad = file.bad,
                        more = file.more,
                        "cannot parse all leases"
                    );
                }
                file.entries
            });
            names.replace(Source::Lease, all.collect::<Vec<_>>());
        }
        for (path, source, read) in OWN {
            let path = Path::new(path);
            if changed(&mut self.read, path) {
                names.replace(source, read(&content(path)).entries);
            }
        }
    }
}

/// Returns a file's bytes; empty if the file is unreadable, or not a regular file.
fn content(path: &Path) -> Vec<u8> {
    let short = std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() <= LONGEST);
    match short {
        true => std::fs::read(path).unwrap_or_default(),
        false => Vec::new(),
    }
}
