//! The generic netlink family `nl80211` (`include/uapi/linux/nl80211.h`): radio devices, their
//! stations, and the radios' capabilities.

mod access_point;
mod beacon;
mod interface;
mod numbers;
mod peer;
mod power;
mod wiphy;

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::event::Mac;
use crate::message::{Attribute, DecodeError, Message};
use numbers::{ATTR_IFINDEX, ATTR_MAC, CMD_DEL_STATION, CMD_GET_STATION, CMD_NEW_STATION};

pub use access_point::{AccessPoint, decode_access_point};
pub use beacon::{HeardBeacon, decode_beacon};
pub(crate) use interface::dump_interfaces;
pub use interface::{Wireless, WirelessKind, decode_interface};
pub use peer::{Abilities, NewDevice, PairwiseKey};
pub(crate) use peer::{
    authorize, get_station, move_station, new_device, new_key, new_station, register_beacons,
    remove_device, remove_station, send_frame, set_abilities,
};
pub use power::{Power, Setting, StationPower, decode_power};
pub(crate) use power::{get_power, set_power, set_station_power};
pub use wiphy::{Band, Channel, RegulatoryDomain, Wiphy, decode_rules, decode_wiphy};
pub(crate) use wiphy::{dump_rules, dump_wiphys};

const ATTR_STA_INFO: u16 = 21;

const STA_INFO_INACTIVE_TIME: u16 = 1;
const STA_INFO_SIGNAL: u16 = 7;
const STA_INFO_TX_BITRATE: u16 = 8;
const STA_INFO_TX_PACKETS: u16 = 10;
const STA_INFO_TX_RETRIES: u16 = 11;
const STA_INFO_TX_FAILED: u16 = 12;
const STA_INFO_SIGNAL_AVG: u16 = 13;
const STA_INFO_RX_BITRATE: u16 = 14;
const STA_INFO_CONNECTED_TIME: u16 = 16;
const STA_INFO_EXPECTED_THROUGHPUT: u16 = 27;
const STA_INFO_RX_DURATION: u16 = 32;
const STA_INFO_ACK_SIGNAL: u16 = 34;
const STA_INFO_TX_DURATION: u16 = 39;

const RATE_INFO_BITRATE: u16 = 1;
const RATE_INFO_BITRATE32: u16 = 5;
/// Bits a second in a unit of both.
const RATE_UNIT: u64 = 100_000;

/// Other side of a wireless link: a station of an access point, or the access point of a station.
/// Values that the driver does not report are `None`; all numbers restart when the station joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Station {
    /// Index of the wireless device.
    pub link: u32,
    /// Hardware address of the station.
    pub mac: Mac,
    /// Signal of the last frame from it, dBm.
    pub signal: Option<i8>,
    /// Averaged signal, dBm.
    pub signal_average: Option<i8>,
    /// Rate of the last frame to it, bits a second.
    pub rate_to: Option<u64>,
    /// Rate of the last frame from it, bits a second.
    pub rate_from: Option<u64>,
    /// Signal of its last acknowledgement, dBm.
    pub ack_signal: Option<i8>,
    /// Frames to it, including abandoned ones.
    pub frames: Option<u32>,
    /// Number of retries of frames to the station.
    pub retries: Option<u32>,
    /// Abandoned frames to it.
    pub failed: Option<u32>,
    /// Time on the air of frames to it, microseconds.
    pub airtime_to: Option<u64>,
    /// Time on the air of frames from it, microseconds.
    pub airtime_from: Option<u64>,
    /// Time since the last frame from the station, milliseconds.
    pub inactive: Option<u32>,
    /// Time since the station joined, seconds.
    pub connected: Option<u32>,
    /// Throughput that rate control expects to the station, bits a second.
    pub expected: Option<u64>,
}

/// Returns true if a message of `family` reports that a station came or went. The message has few
/// counters, and with some drivers none: query the station.
pub fn is_station_change(message: &Message<'_>, family: u16) -> bool {
    let header = message.split::<4>("genlmsghdr");
    message.kind == family
        && header.is_ok_and(|(fixed, _)| matches!(fixed[0], CMD_NEW_STATION | CMD_DEL_STATION))
}

/// Decodes a station of a dump of `family`. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_station(message: &Message<'_>, family: u16) -> Result<Option<Station>, DecodeError> {
    let Some(attributes) = message.generic(family, CMD_NEW_STATION)? else {
        return Ok(None);
    };
    let mut link = None;
    let mut mac = None;
    let mut told = None;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            ATTR_IFINDEX => link = Some(attribute.u32_native("NL80211_ATTR_IFINDEX")?),
            ATTR_MAC => mac = Some(attribute.array("NL80211_ATTR_MAC")?),
            ATTR_STA_INFO => told = Some(attribute),
            _ => {}
        }
    }
    let mut station = Station {
        link: link.ok_or(DecodeError::missing("NL80211_ATTR_IFINDEX"))?,
        mac: mac.ok_or(DecodeError::missing("NL80211_ATTR_MAC"))?,
        ..Station::default()
    };
    information(
        &told.ok_or(DecodeError::missing("NL80211_ATTR_STA_INFO"))?,
        &mut station,
    )?;
    Ok(Some(station))
}

fn information(told: &Attribute<'_>, station: &mut Station) -> Result<(), DecodeError> {
    for attribute in told.nested("NL80211_ATTR_STA_INFO") {
        let attribute = attribute?;
        let dbm = |part| attribute.array(part).map(i8::from_ne_bytes).map(Some);
        let number = |part| attribute.u32_native(part).map(Some);
        let time = |part| attribute.array(part).map(u64::from_ne_bytes).map(Some);
        match attribute.kind {
            STA_INFO_SIGNAL => station.signal = dbm("NL80211_STA_INFO_SIGNAL")?,
            STA_INFO_SIGNAL_AVG => station.signal_average = dbm("NL80211_STA_INFO_SIGNAL_AVG")?,
            STA_INFO_TX_BITRATE => {
                station.rate_to = rate(&attribute, "NL80211_STA_INFO_TX_BITRATE")?;
            }
            STA_INFO_RX_BITRATE => {
                station.rate_from = rate(&attribute, "NL80211_STA_INFO_RX_BITRATE")?;
            }
            STA_INFO_ACK_SIGNAL => station.ack_signal = dbm("NL80211_STA_INFO_ACK_SIGNAL")?,
            STA_INFO_TX_PACKETS => station.frames = number("NL80211_STA_INFO_TX_PACKETS")?,
            STA_INFO_TX_RETRIES => station.retries = number("NL80211_STA_INFO_TX_RETRIES")?,
            STA_INFO_TX_FAILED => station.failed = number("NL80211_STA_INFO_TX_FAILED")?,
            STA_INFO_TX_DURATION => station.airtime_to = time("NL80211_STA_INFO_TX_DURATION")?,
            STA_INFO_RX_DURATION => station.airtime_from = time("NL80211_STA_INFO_RX_DURATION")?,
            STA_INFO_INACTIVE_TIME => {
                station.inactive = number("NL80211_STA_INFO_INACTIVE_TIME")?;
            }
            STA_INFO_CONNECTED_TIME => {
                station.connected = number("NL80211_STA_INFO_CONNECTED_TIME")?;
            }
            STA_INFO_EXPECTED_THROUGHPUT => {
                let kilobits = attribute.u32_native("NL80211_STA_INFO_EXPECTED_THROUGHPUT")?;
                station.expected = Some(u64::from(kilobits) * 1000);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Decodes a rate in bits a second. A rate beyond 16 bits (6.5 Gbit/s) comes in 32 bits only; old
/// kernels send 16 bits only.
fn rate(told: &Attribute<'_>, part: &'static str) -> Result<Option<u64>, DecodeError> {
    let mut narrow = None;
    let mut wide = None;
    for attribute in told.nested(part) {
        let attribute = attribute?;
        match attribute.kind {
            RATE_INFO_BITRATE => {
                let units = attribute.array("NL80211_RATE_INFO_BITRATE")?;
                narrow = Some(u64::from(u16::from_ne_bytes(units)));
            }
            RATE_INFO_BITRATE32 => {
                wide = Some(u64::from(
                    attribute.u32_native("NL80211_RATE_INFO_BITRATE32")?,
                ));
            }
            _ => {}
        }
    }
    Ok(wide.or(narrow).map(|units| units * RATE_UNIT))
}

/// Requests all stations of one device.
pub(crate) fn dump_stations(family: u16, link: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST | NLM_F_DUMP, sequence, |e| {
        e.fixed(&[CMD_GET_STATION, 0, 0, 0]);
        e.attribute(ATTR_IFINDEX, &link.to_ne_bytes());
    })
}

#[cfg(test)]
mod tests {
    use super::numbers::{ATTR_IFTYPE, CMD_NEW_INTERFACE};
    use super::*;
    use crate::fixture::{datagram, first};

    /// Family of the fixtures.
    const FAMILY: u16 = 35;

    fn only<T>(bytes: &[u8], decode: impl Fn(&Message<'_>, u16) -> T) -> T {
        decode(&first(bytes), FAMILY)
    }

    fn station(information: impl FnOnce(&mut Encoder)) -> Result<Station, DecodeError> {
        let bytes = Encoder::single(FAMILY, 0, 0, |e| {
            e.fixed(&[CMD_NEW_STATION, 1, 0, 0]);
            e.attribute(ATTR_IFINDEX, &7u32.to_ne_bytes());
            e.attribute(ATTR_MAC, &[2, 0, 0, 0, 1, 0]);
            e.nested(ATTR_STA_INFO, information);
        });
        only(&bytes, decode_station).map(|found| found.expect("a station"))
    }

    #[test]
    fn a_station_that_comes_or_goes_is_a_change() {
        let change = |command, family| {
            let bytes = Encoder::single(family, 0, 0, |e| e.fixed(&[command, 1, 0, 0]));
            only(&bytes, is_station_change)
        };
        assert!(change(CMD_NEW_STATION, FAMILY) && change(CMD_DEL_STATION, FAMILY));
        // NL80211_CMD_DEAUTHENTICATE; another family; without a header.
        assert!(!change(39, FAMILY) && !change(CMD_NEW_STATION, FAMILY + 1));
        let bytes = Encoder::single(FAMILY, 0, 0, |_| {});
        assert!(!only(&bytes, is_station_change));
    }

    #[test]
    fn a_station_of_an_access_point() {
        let found = only(&datagram("nl80211-station"), decode_station);
        let expected = Station {
            link: 2,
            mac: [2, 0, 0, 0, 1, 0],
            signal: Some(-30),
            signal_average: Some(-30),
            rate_to: Some(54_000_000),
            rate_from: Some(54_000_000),
            ack_signal: None,
            frames: Some(23),
            retries: Some(0),
            failed: Some(0),
            airtime_to: Some(0),
            airtime_from: Some(0),
            inactive: Some(3076),
            connected: Some(4),
            expected: Some(19_593_000),
        };
        assert_eq!(found, Ok(Some(expected)));
    }

    #[test]
    fn devices_and_what_they_are() {
        let bytes = datagram("nl80211-interface");
        let access_point = Wireless {
            link: 2,
            kind: WirelessKind::AccessPoint,
        };
        assert_eq!(only(&bytes, decode_interface), Ok(Some(access_point)));
        assert_eq!(only(&bytes, decode_station), Ok(None));
        assert_eq!(only(&bytes, |m, _| decode_interface(m, 21)), Ok(None));
        let of = |link: bool, kind: Option<u32>| {
            let bytes = Encoder::single(FAMILY, 0, 0, |e| {
                e.fixed(&[CMD_NEW_INTERFACE, 1, 0, 0]);
                if link {
                    e.attribute(ATTR_IFINDEX, &7u32.to_ne_bytes());
                }
                if let Some(kind) = kind {
                    e.attribute(ATTR_IFTYPE, &kind.to_ne_bytes());
                }
            });
            only(&bytes, decode_interface)
        };
        assert_eq!(of(false, Some(10)), Ok(None), "a P2P device has no link");
        let error = of(true, None).unwrap_err();
        assert_eq!(error.to_string(), "NL80211_ATTR_IFTYPE is missing");
        let kinds = [2, 4, 6, 7, 1, 99].map(|kind| of(true, Some(kind)));
        let kinds = kinds.map(|found| found.expect("valid").expect("a device").kind);
        use WirelessKind::{AccessPointVlan, Mesh, NoStations, Other, Station};
        let expected = [
            Station,
            AccessPointVlan,
            NoStations,
            Mesh,
            Other(1),
            Other(99),
        ];
        assert_eq!(kinds, expected);
    }

    /// The radio of the fixture leaves much at zero.
    #[test]
    fn each_figure_has_its_place() {
        let found = station(|e| {
            e.attribute(STA_INFO_SIGNAL, &[0xc1]);
            e.attribute(STA_INFO_SIGNAL_AVG, &[0xc2]);
            e.attribute(34, &[0xc0]);
            for (kind, value) in [(1, 1u32), (10, 10), (11, 11), (12, 12), (16, 16), (27, 27)] {
                e.attribute(kind, &value.to_ne_bytes());
            }
            for (kind, value) in [(32, 32u64), (39, u64::MAX)] {
                e.attribute(kind, &value.to_ne_bytes());
            }
            for (kind, units) in [(8, 8u16), (14, 14)] {
                e.nested(kind, |e| e.attribute(1, &units.to_ne_bytes()));
            }
        });
        let expected = Station {
            link: 7,
            mac: [2, 0, 0, 0, 1, 0],
            signal: Some(-63),
            signal_average: Some(-62),
            rate_to: Some(800_000),
            rate_from: Some(1_400_000),
            ack_signal: Some(-64),
            frames: Some(10),
            retries: Some(11),
            failed: Some(12),
            airtime_to: Some(u64::MAX),
            airtime_from: Some(32),
            inactive: Some(1),
            connected: Some(16),
            expected: Some(27_000),
        };
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn rates_of_both_widths() {
        let of = |narrow: Option<u16>, wide: Option<u32>| {
            station(|e| {
                e.nested(STA_INFO_RX_BITRATE, |e| {
                    if let Some(units) = wide {
                        e.attribute(RATE_INFO_BITRATE32, &units.to_ne_bytes());
                    }
                    if let Some(units) = narrow {
                        e.attribute(RATE_INFO_BITRATE, &units.to_ne_bytes());
                    }
                });
            })
        };
        let rate = |narrow, wide| of(narrow, wide).expect("valid").rate_from;
        assert_eq!(rate(None, None), None);
        assert_eq!(rate(Some(65), None), Some(6_500_000));
        assert_eq!(rate(None, Some(115_294)), Some(11_529_400_000));
        assert_eq!(rate(Some(1), Some(u32::MAX)), Some(429_496_729_500_000));
    }

    #[test]
    fn what_is_not_told_is_not_zero() {
        let bare = station(|_| {}).expect("valid");
        let told = (bare.signal, bare.rate_to, bare.retries, bare.airtime_to);
        assert_eq!(told, (None, None, None, None));
        let signal = station(|e| e.attribute(STA_INFO_SIGNAL, &[0xbb])).expect("valid");
        assert_eq!(signal.signal, Some(-69));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |kind, value: &'static [u8]| {
            let found = station(|e| e.attribute(kind, value));
            found.unwrap_err().to_string()
        };
        let length = |part| format!("NL80211_STA_INFO_{part} has a wrong length");
        assert_eq!(wrong(STA_INFO_SIGNAL, &[1, 2]), length("SIGNAL"));
        assert_eq!(wrong(STA_INFO_TX_RETRIES, &[]), length("TX_RETRIES"));
        assert_eq!(wrong(STA_INFO_RX_DURATION, &[0; 4]), length("RX_DURATION"));
        let cut = "NL80211_STA_INFO_TX_BITRATE is truncated";
        assert_eq!(wrong(STA_INFO_TX_BITRATE, &[6, 0, 1, 0, 9]), cut);
    }

    /// A truncated answer gives nothing, or an error that names the problem.
    #[test]
    fn cut_short_anywhere() {
        for (name, least) in [("nl80211-station", 2_300), ("nl80211-interface", 40)] {
            let whole = datagram(name);
            for length in 16..whole.len() {
                let mut cut = whole[..length].to_vec();
                cut[..4].copy_from_slice(&(length as u32).to_ne_bytes());
                let taken = match name {
                    "nl80211-station" => only(&cut, decode_station).map(|found| found.is_some()),
                    _ => only(&cut, decode_interface).map(|found| found.is_some()),
                };
                assert!(taken != Ok(true) || length > least, "{name} at {length}");
            }
        }
    }
}
