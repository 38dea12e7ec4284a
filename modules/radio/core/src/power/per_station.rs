//! A search for each station, if a driver has a power per station.

use std::collections::BTreeMap;

use super::controller::Controller;
use super::levels::{NoPowers, PowerLevels};
use super::log::Entry;
use super::reading::{Mac, Reading};
use super::settings::Settings;

/// A [`Controller`] for each station. The device keeps full power: beacons keep their range, and a
/// driver sends with the lower of the device's and the station's power.
#[derive(Clone, Debug)]
pub struct StationControllers {
    settings: Settings,
    powers: Vec<i32>,
    prior: Option<i32>,
    all: BTreeMap<Mac, Controller>,
}

impl StationControllers {
    /// Creates searches for a radio with these powers, dBm.
    ///
    /// # Errors
    /// The list of powers is empty.
    pub fn new(settings: Settings, powers: Vec<i32>) -> Result<Self, NoPowers> {
        PowerLevels::new(powers.clone())?;
        Ok(Self {
            settings,
            powers,
            prior: None,
            all: BTreeMap::new(),
        })
    }

    /// Sets the earlier sufficient power for this time: each search begins a level above it.
    pub fn expect(&mut self, power: Option<i32>) {
        self.prior = power;
        for controller in self.all.values_mut() {
            controller.expect(power);
        }
    }

    /// Returns the power of each station, dBm.
    pub fn powers(&self) -> impl Iterator<Item = (Mac, i32)> {
        self.all.iter().map(|(mac, it)| (*mac, it.power()))
    }

    /// Returns the power that suffices for all, dBm; `None` while a search of an active station has
    /// no result.
    pub fn enough(&self) -> Option<i32> {
        let busy = self.all.values().filter(|it| !it.is_idle());
        busy.map(Controller::enough)
            .try_fold(None, |most, enough| Some(most.max(Some(enough?))))?
    }

    /// Returns the milliseconds until the next step is due.
    pub fn soon(&self) -> u64 {
        let soon = self.all.values().map(Controller::soon).min();
        soon.unwrap_or(self.settings.watch)
    }

    /// Handles a reading of all stations. Returns the decision for each; the caller sets powers
    /// that differ. New stations start at full power, absent ones are forgotten.
    pub fn step(&mut self, now: u64, reading: &Reading) -> Vec<Entry> {
        self.all
            .retain(|mac, _| reading.stations.iter().any(|it| it.mac == *mac));
        let mut decided = Vec::new();
        for station in &reading.stations {
            let controller = match self.all.entry(station.mac) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(new) => {
                    let fresh = Controller::new(self.settings.clone(), self.powers.clone());
                    let Ok(mut fresh) = fresh else { continue };
                    fresh.expect(self.prior);
                    new.insert(fresh)
                }
            };
            let alone = Reading {
                stations: vec![*station],
            };
            if let Some(entry) = controller.step(now, &alone) {
                let station = Some(station.mac);
                decided.push(Entry { station, ..entry });
            }
        }
        decided
    }
}
