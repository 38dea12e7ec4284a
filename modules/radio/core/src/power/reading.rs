//! The kernel's counters of stations.

use std::fmt;

/// The address of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&net::mac::text(&self.0))
    }
}

/// Counters of frames to a station since it associated. The kernel's counters have 32 bits, and
/// wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that were sent, whether they arrived or not (`NL80211_STA_INFO_TX_PACKETS`).
    pub frames: u32,
    /// Number of retries (`_TX_RETRIES`).
    pub retries: u32,
    /// Frames that were given up (`_TX_FAILED`).
    pub failed: u32,
}

impl Counters {
    /// Returns the growth since `before`. `None`: the difference is impossible, so the station has
    /// associated again.
    pub fn since(self, before: Self) -> Option<Self> {
        let later = |now: u32, then: u32| {
            let more = now.wrapping_sub(then);
            // A difference of more than half the range is impossible between two readings.
            (more < 1 << 31).then_some(more)
        };
        Some(Self {
            frames: later(self.frames, before.frames)?,
            retries: later(self.retries, before.retries)?,
            failed: later(self.failed, before.failed)?,
        })
    }
}

/// A station, as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Station {
    /// Address of the station.
    pub mac: Mac,
    /// Counters of frames to the station.
    pub counters: Counters,
    /// The rate that it is sent to at, kbit/s (`_TX_BITRATE`).
    pub rate: Option<u32>,
    /// Signal of the station's last acknowledgement, dBm (`_ACK_SIGNAL`).
    pub ack_signal: Option<i8>,
    /// Milliseconds since its last frame (`_INACTIVE_TIME`).
    pub silent: u32,
    /// Seconds since it associated (`_CONNECTED_TIME`).
    pub connected: u32,
}

/// All stations of a radio at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// In any order.
    pub stations: Vec<Station>,
}

/// A station without driver counters gets the power that others need, and all of it if it is alone.
impl From<&kernel::nl80211::Station> for Station {
    fn from(told: &kernel::nl80211::Station) -> Self {
        let kilobits = |rate: u64| u32::try_from(rate / 1000).unwrap_or(u32::MAX);
        Self {
            mac: Mac(told.mac),
            counters: Counters {
                frames: told.frames.unwrap_or(0),
                retries: told.retries.unwrap_or(0),
                failed: told.failed.unwrap_or(0),
            },
            rate: told.rate_to.map(kilobits),
            ack_signal: told.ack_signal,
            silent: told.inactive.unwrap_or(0),
            connected: told.connected.unwrap_or(0),
        }
    }
}

impl Reading {
    /// Converts the kernel's station records.
    pub fn of(stations: &[kernel::nl80211::Station]) -> Self {
        Self {
            stations: stations.iter().map(Station::from).collect(),
        }
    }

    /// Returns the transmit rate to a station, kbit/s, if its driver reports the rate.
    pub fn rate(&self, mac: Mac) -> Option<f64> {
        let station = self.stations.iter().find(|station| station.mac == mac);
        station?.rate.map(f64::from)
    }
}
