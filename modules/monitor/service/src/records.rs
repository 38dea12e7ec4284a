//! Records of the meter: what they counted is taken, and those that are over or silent are freed;
//! more often in a flood.

use std::time::Instant;

use datapath::meter::News;
use monitor_core::{Loose, Rest};
use tracing::warn;

use super::keeper::Keeper;
use super::reading::{both, count, reading};

/// Pieces of news taken in one turn: some milliseconds at most.
const NEWS: usize = 4_096;

impl Keeper {
    /// Takes what the kernel side told: new conversations, and packets that tell names.
    fn hear(&mut self) {
        let now = self.now();
        let (core, naming) = (&mut self.core, &mut self.naming);
        self.meter.news(NEWS, |news| match news {
            News::New(_) | News::Ended(_) => {}
            News::Sample(sample) => {
                for learned in naming.packet(&sample, now) {
                    core.learn(&learned, now);
                }
            }
        });
    }

    /// Takes what the kernel side told, and frees records; due at each tick.
    pub fn tick(&mut self) {
        self.hear();
        let now = self.now();
        let core = &mut self.core;
        let freed = self.meter.reclaim(Instant::now(), |seen| {
            core.reading(&reading(seen), 0, now);
        });
        if let Err(error) = freed {
            warn!(%error, "records cannot be freed");
        }
        // A flood fills them before the second is over.
        if self.flood.goes_on() {
            self.read_due();
        }
        if let Some(export) = &mut self.export {
            export.tick(now);
        }
    }

    /// Reads all records; due every second, and in a flood at each tick.
    pub fn read_due(&mut self) {
        let before = self.pressure();
        self.read();
        let (full, resting) = (self.meter.pressure(), self.meter.resting());
        self.flood.read(before, full, resting);
    }

    /// How full the records of each family count as, in 256ths.
    fn pressure(&self) -> [u32; 2] {
        self.flood.pressure(self.meter.pressure())
    }

    /// Reads all records, also for who asks.
    pub fn read(&mut self) {
        // Just before, so that those that began are known.
        self.hear();
        let now = self.now();
        let pressure = self.pressure();
        let core = &mut self.core;
        let scanned = self
            .meter
            .scan(|seen| {
                let of_family = pressure[usize::from(seen.key.station.is_ipv6())];
                core.reading(&reading(seen), of_family, now)
            })
            .and_then(|()| {
                self.meter.scan_stations(|seen| {
                    core.loose(
                        &Loose {
                            port: seen.port,
                            vlan: seen.vlan,
                            mac: seen.mac,
                            unplaced: both(seen.unplaced),
                            other: both(seen.other),
                        },
                        now,
                    );
                })
            });
        if let Err(error) = scanned {
            warn!(%error, "records cannot be read");
        }
        for link in self.metered.keys() {
            if let Some(rest) = self.meter.rest(*link) {
                let rest = rest.map(|rest| Rest {
                    unplaced: count(rest.unplaced),
                    other: count(rest.other),
                    link: rest.link,
                });
                self.core.rest(*link, rest);
            }
        }
    }
}
