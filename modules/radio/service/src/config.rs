//! `[radio.power]`; `[radio.peering]` stands with what it is for.

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
        /// "watch" tells what stations get; "control" lowers transmit power as long as nobody loses.
        Restart mode: Mode = Mode::Off;
        /// Access points whose power it is; none: all of this machine.
        Restart devices: Vec<DeviceName> = Vec::new();
        /// A lower power is kept where so many hundredths of the greatest power's throughput stay.
        Restart keep: u8 = 95, 10 => 100;
        /// Each station is sent to with a power of its own, where the driver can. Otherwise all are
        /// with what the weakest needs.
        Restart stations: bool = true;
        /// The least power, dBm.
        Restart least: u8 = 1, 0 => 30;
        /// From one power to the next, dB.
        Restart step: u8 = 2, 1 => 10;
        /// What was queued at the former power is given so long to go out.
        Restart settle: Duration = milliseconds(40), milliseconds(0) => HOUR;
        /// How long a power is watched, at least.
        Restart watch: Duration = milliseconds(140), milliseconds(20) => HOUR;
        /// How long it is watched where too little is sent to tell.
        Restart longest: Duration = milliseconds(1500), milliseconds(20) => HOUR;
        /// How long the greatest power is looked at, to compare with.
        Restart reference: Duration = milliseconds(60), milliseconds(20) => HOUR;
        /// That comes after so many watches, and more seldom the longer it finds nothing.
        Restart every: u8 = 10, 1 => 255;
        /// Fewer frames to a station tell nothing of it.
        Restart frames: u8 = 20, 1 => 255;
        /// A power that was not enough is tried again after this, then after twice as long, and so on.
        Restart back_off: Duration = Duration::from_secs(4), milliseconds(100) => HOUR;
        /// A station that just came gets all of the power for so long.
        Restart newcomer: Duration = Duration::from_secs(2), milliseconds(0) => HOUR;
        /// One that is sent to and not heard for so long gets it, too.
        Restart silent: Duration = milliseconds(1500), milliseconds(100) => HOUR;
        /// One whose acknowledgements are fainter gets it, too: so many dB below 0 dBm.
        Restart floor: u8 = 82, 1 => 127;
        /// Where it is kept what was enough at which hour. "auto" is /var/lib/weir/radio in the
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
    /// The word for it.
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
    /// File of the sufficient powers: as configured, else the usual one, if this is the first
    /// namespace.
    pub fn learned(&self) -> Option<PathBuf> {
        let first = api::path::is_first() != Some(false);
        let own = || first.then(|| PathBuf::from(super::power::FILE));
        self.learned.value.clone().or_else(own)
    }

    /// The numbers of the search.
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
