//! `[radio.power]`; `[radio.peering]` is in its own file.

use std::path::PathBuf;
use std::time::Duration;

use super::peering::config::Peering;
use runtime::config::{DeviceName, Section, table, words};

/// Sections of this module.
pub const SECTIONS: [Section; 2] = [
    Section::of::<Power>("radio.power"),
    Section::of::<Peering>("radio.peering"),
];

const fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// The longest time there is here.
const HOUR: Duration = Duration::from_secs(3600);

table! {
    /// `[radio.power]`: transmit power that follows throughput.
    Power {
        /// "watch" reports the throughput of stations; "control" lowers transmit power as long as
        /// no station loses throughput.
        Restart mode: Mode = Mode::Off;
        /// Access points to watch or control; empty: all of this machine.
        Restart devices: Vec<DeviceName> = Vec::new();
        /// Percentage of the throughput at the greatest power that a lower power must keep.
        Restart keep: u8 = 95, 10 => 100;
        /// Send to each station with a power of its own, if the driver can. Otherwise all stations
        /// get the power that the weakest needs.
        Restart stations: bool = true;
        /// Lowest power, dBm.
        Restart least: u8 = 1, 0 => 30;
        /// Step between two powers, dB.
        Restart step: u8 = 2, 1 => 10;
        /// Time for frames that were queued at the former power to leave.
        Restart settle: Duration = milliseconds(40), milliseconds(0) => HOUR;
        /// Shortest observation of a power.
        Restart watch: Duration = milliseconds(140), milliseconds(20) => HOUR;
        /// Longest observation, if too little is sent for a decision.
        Restart longest: Duration = milliseconds(1500), milliseconds(20) => HOUR;
        /// Duration of an observation of the greatest power, for comparison.
        Restart reference: Duration = milliseconds(60), milliseconds(20) => HOUR;
        /// Number of observations between two comparisons; comparisons become rarer the longer they
        /// find nothing.
        Restart every: u8 = 10, 1 => 255;
        /// Least number of frames to a station for a conclusion about it.
        Restart frames: u8 = 20, 1 => 255;
        /// Time before a power that was not enough is tried again; doubles with each failure.
        Restart back_off: Duration = Duration::from_secs(4), milliseconds(100) => HOUR;
        /// Time for which a new station gets the greatest power.
        Restart newcomer: Duration = Duration::from_secs(2), milliseconds(0) => HOUR;
        /// Time without an answer after which a station gets the greatest power.
        Restart silent: Duration = milliseconds(1500), milliseconds(100) => HOUR;
        /// Signal of acknowledgements below which a station gets the greatest power: so many dB
        /// below 0 dBm.
        Restart floor: u8 = 82, 1 => 127;
        /// File of the powers that were enough at each hour. "auto" is /var/lib/weir/radio in the
        /// first network namespace, and nowhere in any other.
        Restart learned: Option<PathBuf> = None;
    }
}

/// Mode of power control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Power is ignored.
    #[default]
    Off,
    /// Power is watched and not changed.
    Watch,
    /// Power is changed.
    Control,
}

impl Mode {
    /// Returns the mode's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Watch => "watch",
            Self::Control => "control",
        }
    }
}

words!(Mode, "\"off\", \"watch\" or \"control\"",
    "off" => Self::Off, "watch" => Self::Watch, "control" => Self::Control);

impl Power {
    /// Returns the file of the sufficient powers: as configured, otherwise the default file, if
    /// this is the first namespace.
    pub fn learned(&self) -> Option<PathBuf> {
        let first = api::path::is_first() != Some(false);
        let own = || first.then(|| PathBuf::from(super::power::FILE));
        self.learned.value.clone().or_else(own)
    }

    /// Returns the settings of the search.
    pub fn settings(&self) -> radio_core::power::Settings {
        let time = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        let defaults = radio_core::power::Settings::default();
        radio_core::power::Settings {
            keep: f64::from(*self.keep) / 100.0,
            settle: time(*self.settle),
            watch: time(*self.watch),
            longest: time((*self.longest).max(*self.watch)),
            reference: time(*self.reference),
            every: u32::from(*self.every),
            frames: u32::from(*self.frames),
            back_off: time(*self.back_off),
            back_off_most: defaults.back_off_most.max(time(*self.back_off)),
            newcomer: time(*self.newcomer),
            silent: time(*self.silent),
            floor: -i8::try_from(*self.floor).unwrap_or(i8::MAX),
            ..defaults
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_search() {
        assert_eq!(
            Power::default().settings(),
            radio_core::power::Settings::default()
        );
    }
}
