//! Runs a search and sets its result: one power for all stations, or one for each, if the driver
//! has that.

use std::collections::BTreeMap;

use kernel::io::RequestError;
use kernel::nl80211::{Setting, StationPower};
use nix::errno::Errno;
use radio_core::power::{Controller, Entry, Mac, Reading, StationControllers};

/// Hundredths of a dBm in one.
pub const HUNDREDTHS: i32 = 100;
/// Refusals in a row after which a driver is let alone.
const REFUSALS: u32 = 5;

/// Commands to a driver; each method fails if the kernel or the driver refuses.
pub trait Driver {
    /// Sets the power of all frames.
    fn set(&mut self, setting: Setting) -> Result<(), RequestError>;

    /// Sets the power of one station.
    fn set_station(&mut self, mac: Mac, power: StationPower) -> Result<(), RequestError>;
}

/// A search, and the powers that were set last.
pub struct Search {
    of: Of,
    /// The greatest power.
    most: i32,
    /// Power of the device.
    set: i32,
    /// Powers of stations that differ from the device's.
    stations: BTreeMap<Mac, i32>,
    refused: u32,
}

enum Of {
    All(Controller),
    Each(StationControllers),
}

impl Search {
    /// Creates a search for one power of all frames; `most` is set.
    pub fn of_all(controller: Controller, most: i32) -> Self {
        Self::new(Of::All(controller), most)
    }

    /// Creates a search for a power of each station; the device keeps `most`.
    pub fn of_each(each: StationControllers, most: i32) -> Self {
        Self::new(Of::Each(each), most)
    }

    fn new(of: Of, most: i32) -> Self {
        Self {
            of,
            most,
            set: most,
            stations: BTreeMap::new(),
            refused: 0,
        }
    }

    /// Sets the power that sufficed at this time of earlier days.
    pub fn expect(&mut self, power: Option<i32>) {
        match &mut self.of {
            Of::All(controller) => controller.expect(power),
            Of::Each(each) => each.expect(power),
        }
    }

    /// Returns the power that suffices for all.
    pub fn enough(&self) -> Option<i32> {
        match &self.of {
            Of::All(controller) => controller.enough(),
            Of::Each(each) => each.enough(),
        }
    }

    /// Returns the milliseconds until the next step is due.
    pub fn soon(&self) -> u64 {
        match &self.of {
            Of::All(controller) => controller.soon(),
            Of::Each(each) => each.soon(),
        }
    }

    /// Returns the power of the device, dBm.
    pub fn power(&self) -> i32 {
        self.set
    }

    /// Returns the power of a station, dBm.
    pub fn power_of(&self, mac: Mac) -> i32 {
        self.stations.get(&mac).copied().unwrap_or(self.set)
    }

    /// Handles a reading of all stations. Returns the decisions.
    pub fn step(&mut self, now: u64, reading: &Reading) -> Vec<Entry> {
        match &mut self.of {
            Of::All(controller) => controller.step(now, reading).into_iter().collect(),
            Of::Each(each) => each.step(now, reading),
        }
    }

    /// Sets changed powers. Returns true if the device's power was set.
    ///
    /// # Errors
    /// The driver refused for the fifth time.
    pub fn set(&mut self, driver: &mut impl Driver) -> Result<bool, RequestError> {
        let done = match &self.of {
            Of::All(controller) if controller.power() == self.set => return Ok(false),
            Of::All(controller) => {
                let power = controller.power();
                let setting = Setting::Fixed(power * HUNDREDTHS);
                driver.set(setting).map(|()| {
                    self.set = power;
                    true
                })
            }
            Of::Each(each) => {
                let wanted = each.powers().collect();
                self.set_stations(driver, &wanted).map(|()| false)
            }
        };
        match done {
            Ok(done) => {
                self.refused = 0;
                Ok(done)
            }
            Err(error) => {
                self.refused += 1;
                tracing::debug!(%error, "driver refuses a power");
                match self.was_refused() {
                    false => Ok(false),
                    true => Err(error),
                }
            }
        }
    }

    /// Returns true if the driver refused too often.
    pub fn was_refused(&self) -> bool {
        self.refused >= REFUSALS
    }

    fn set_stations(
        &mut self,
        driver: &mut impl Driver,
        wanted: &BTreeMap<Mac, i32>,
    ) -> Result<(), RequestError> {
        self.stations.retain(|mac, _| wanted.contains_key(mac));
        for (&mac, &power) in wanted {
            if self.power_of(mac) == power {
                continue;
            }
            let limit = i16::try_from(power).unwrap_or(i16::MAX);
            let setting = match power < self.most {
                true => StationPower::Limited(limit),
                false => StationPower::Automatic,
            };
            match driver.set_station(mac, setting) {
                Ok(()) if power < self.most => drop(self.stations.insert(mac, power)),
                // The station has the device's power; or it left, and returns with that.
                Ok(())
                | Err(RequestError::Refused {
                    errno: Errno::ENOENT,
                    ..
                }) => drop(self.stations.remove(&mac)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Resets the stations to the device's power.
    pub fn give_back(&mut self, driver: &mut impl Driver) {
        for mac in std::mem::take(&mut self.stations).into_keys() {
            if let Err(error) = driver.set_station(mac, StationPower::Automatic) {
                // The station may be gone.
                tracing::debug!(%error, %mac, "cannot restore a station's power");
            }
        }
    }
}

#[cfg(test)]
mod tests;
