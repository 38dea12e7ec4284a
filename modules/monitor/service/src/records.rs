//! Records of the meter: reads their counts, and frees records that are over or silent; more often
//! in a flood.

use std::time::Instant;

use datapath::meter::{Meter, Notification};
use monitor_core::names::Names;
use monitor_core::{Flood, Monitor, UnrecordedPortTraffic, UnrecordedStationTraffic};
use tracing::warn;

use super::clock::Clock;
use super::naming::Naming;
use super::ports::Ports;
use super::reading::{count, counts, reading};

/// Maximum number of notifications per turn: at most some milliseconds.
const NEWS: usize = 4_096;

/// The meter, and the state built from its events.
pub struct Records {
    meter: Meter,
    naming: Naming,
    /// State of a flood that fills the meter's records.
    flood: Flood,
    clock: Clock,
}

impl Records {
    /// Creates the records of a loaded meter.
    pub fn new(meter: Meter, naming: Naming, clock: Clock) -> Self {
        Self {
            meter,
            naming,
            flood: Flood::default(),
            clock,
        }
    }

    pub fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Handles the end of a second: reads changed files of names again.
    pub fn second(&mut self, names: &mut Names) {
        self.naming.second(names);
    }

    /// Reads the kernel's events: new conversations, and packets with names.
    fn read_notifications(&mut self, core: &mut Monitor) {
        let now = self.clock.now();
        let naming = &mut self.naming;
        self.meter.notifications(NEWS, |news| match news {
            Notification::New(_) | Notification::Ended(_) => {}
            Notification::Sample(sample) => {
                for learned in naming.packet(&sample, now) {
                    core.learn(&learned, now);
                }
            }
        });
    }

    /// Reads the kernel's events, and frees records; due at each tick.
    pub fn tick(&mut self, core: &mut Monitor, ports: &Ports) {
        self.read_notifications(core);
        let now = self.clock.now();
        let freed = self.meter.reclaim(Instant::now(), |seen| {
            core.add_reading(&reading(seen), 0, now);
        });
        if let Err(error) = freed {
            warn!(%error, "cannot free records");
        }
        // A flood fills them before the second is over.
        if self.flood.is_active() {
            self.read_due(core, ports);
        }
    }

    /// Reads all records; due every second, and in a flood at each tick.
    pub fn read_due(&mut self, core: &mut Monitor, ports: &Ports) {
        let before = self.pressure();
        self.read(core, ports);
        let (full, resting) = (self.meter.pressure(), self.meter.resting());
        self.flood.read(before, full, resting);
    }

    /// Returns the effective fill level per address family, in 256ths.
    fn pressure(&self) -> [u32; 2] {
        self.flood.pressure(self.meter.pressure())
    }

    /// Reads all records, also before a response.
    pub fn read(&mut self, core: &mut Monitor, ports: &Ports) {
        // Reads events first, so that new conversations are known.
        self.read_notifications(core);
        let now = self.clock.now();
        let pressure = self.pressure();
        let scanned = self
            .meter
            .scan(|seen| {
                let of_family = pressure[usize::from(seen.key.station.is_ipv6())];
                core.add_reading(&reading(seen), of_family, now)
            })
            .and_then(|()| {
                self.meter.scan_stations(|seen| {
                    core.add_unrecorded(
                        &UnrecordedStationTraffic {
                            port: seen.port,
                            vlan: seen.vlan,
                            mac: seen.mac,
                            unplaced: counts(seen.unplaced),
                            other: counts(seen.other),
                        },
                        now,
                    );
                })
            });
        if let Err(error) = scanned {
            warn!(%error, "cannot read records");
        }
        for link in ports.links() {
            if let Some(rest) = self.meter.rest(link) {
                let rest = rest.map(|rest| UnrecordedPortTraffic {
                    unplaced: count(rest.unplaced),
                    other: count(rest.other),
                    link: rest.link,
                });
                core.set_unrecorded(link, rest);
            }
        }
    }
}
