//! Traffic through a router: number of flows, length of frames, and headers below IP.

use std::fmt;
use std::str::FromStr;

use lab::Arrangement;
use serde::{Deserialize, Serialize};

/// IMIX in its common form: seven short frames, four of middle length and a long one; bytes without
/// checksum.
pub const IMIX: [usize; 3] = [60, 590, 1514];
/// Bytes of Ethernet's header.
const HEADER: usize = 14;

/// Frames, and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Flows, which take turns.
    pub flows: u32,
    /// Packets of a flow in a row.
    #[serde(default = "one")]
    pub burst: u32,
    /// Length of the frames, without headers that [`Load::wires`] adds.
    pub length: Length,
    /// Headers below IP.
    #[serde(default)]
    pub wires: Encapsulation,
}

fn one() -> u32 {
    1
}

impl Default for Load {
    /// Returns plain frames of the shortest length, of 64 flows.
    fn default() -> Self {
        Self {
            flows: 64,
            burst: 1,
            length: Length::Octets(60),
            wires: Encapsulation::Plain,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            flows,
            burst,
            length,
            wires,
        } = self;
        let each = if *flows == 1 { "flow" } else { "flows" };
        write!(f, "{flows} UDP {each}, ")?;
        match length {
            Length::Octets(octets) => write!(f, "frames of {octets} bytes")?,
            Length::Mixed(_) => f.write_str("frames of 60, 590 and 1514 bytes (IMIX)")?,
        }
        if *burst > 1 {
            write!(f, ", {burst} of a flow in a row")?;
        }
        match wires {
            Encapsulation::Plain => Ok(()),
            wires => write!(f, ", {}", wires.text()),
        }
    }
}

/// Length of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Length {
    /// Equal frames of this many bytes, without checksum.
    Octets(u16),
    /// Frames of several lengths.
    Mixed(Mix),
}

/// Mix of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// [`IMIX`].
    Imix,
}

impl Length {
    /// Returns the lengths, the longest last; at least `least`, at most what the wires take.
    pub fn octets(self, least: usize, wires: Encapsulation) -> Vec<usize> {
        let fit = |octets: usize| octets.clamp(least, wires.longest());
        match self {
            Self::Octets(octets) => vec![fit(octets.into())],
            Self::Mixed(Mix::Imix) => IMIX.map(fit).to_vec(),
        }
    }
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let octets = || {
            text.parse()
                .ok()
                .filter(|octets| (60..=1514).contains(octets))
        };
        match text {
            "imix" => Ok(Self::Mixed(Mix::Imix)),
            _ => octets()
                .map(Self::Octets)
                .ok_or_else(|| "must be a number from 60 to 1514, or imix".into()),
        }
    }
}

/// Headers below IP on the router's wires: at the LAN, then at the WAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    /// Ethernet.
    #[default]
    Plain,
    /// VLAN on both.
    Vlan,
    /// Two tags on the WAN.
    Qinq,
    /// PPPoE on the WAN.
    Pppoe,
    /// PPPoE over a VLAN on the WAN.
    PppoeOverVlan,
}

impl Encapsulation {
    /// All wires.
    pub const ALL: [Self; 5] = [
        Self::Plain,
        Self::Vlan,
        Self::Qinq,
        Self::Pppoe,
        Self::PppoeOverVlan,
    ];

    /// Returns the short name, for the command line and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Vlan => "vlan",
            Self::Qinq => "qinq",
            Self::Pppoe => "pppoe",
            Self::PppoeOverVlan => "pppoe-over-vlan",
        }
    }

    /// Returns the description, for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Plain => "plain Ethernet",
            Self::Vlan => "VLAN to VLAN",
            Self::Qinq => "QinQ uplink",
            Self::Pppoe => "PPPoE uplink",
            Self::PppoeOverVlan => "PPPoE over VLAN",
        }
    }

    /// Returns the requirements on the kernel, and on programs in user space.
    pub fn takes(self) -> &'static str {
        match self {
            Self::Plain => "veth",
            Self::Vlan | Self::Qinq => "CONFIG_VLAN_8021Q",
            Self::Pppoe => "CONFIG_PPPOE and pppd",
            Self::PppoeOverVlan => "CONFIG_PPPOE, CONFIG_VLAN_8021Q and pppd",
        }
    }

    /// Returns the arrangement in the laboratory.
    pub fn arrangement(self) -> Arrangement {
        match self {
            Self::Plain => Arrangement::PLAIN,
            Self::Vlan => Arrangement::VLAN,
            Self::Qinq => Arrangement::QINQ,
            Self::Pppoe => Arrangement::PPPOE,
            Self::PppoeOverVlan => Arrangement::PPPOE_OVER_VLAN,
        }
    }

    /// Returns the bytes of the longest frame that fits, before headers are added (RFC 2516,
    /// section 7: 1492 with PPPoE).
    pub fn longest(self) -> usize {
        HEADER
            + match self.arrangement().wan.dials() {
                true => 1492,
                false => 1500,
            }
    }
}

impl FromStr for Encapsulation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|wires| wires.name() == text);
        found.ok_or_else(|| format!("must be one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_as_it_is_said() {
        let load = Load {
            flows: 1,
            burst: 1024,
            length: "imix".parse().expect("a length"),
            wires: "pppoe-over-vlan".parse().expect("wires"),
        };
        let json = serde_json::to_string(&load).expect("JSON");
        assert_eq!(
            json,
            r#"{"flows":1,"burst":1024,"length":"imix","wires":"pppoe-over-vlan"}"#
        );
        assert_eq!(
            load.to_string(),
            "1 UDP flow, frames of 60, 590 and 1514 bytes (IMIX), 1024 of a flow in a row, PPPoE \
                over VLAN"
        );
        assert_eq!(serde_json::from_str::<Load>(&json).expect("a load"), load);
        let old = r#"{"flows":64,"length":60}"#;
        assert_eq!(
            serde_json::from_str::<Load>(old).expect("a load"),
            Load::default()
        );
    }

    #[test]
    fn frames_fit_the_wires() {
        let long = Length::Octets(1514);
        assert_eq!(long.octets(60, Encapsulation::Vlan), [1514]);
        assert_eq!(long.octets(60, Encapsulation::Pppoe), [1506]);
        let mix = Length::Mixed(Mix::Imix);
        assert_eq!(
            mix.octets(62, Encapsulation::PppoeOverVlan),
            [62, 590, 1506]
        );
        for wrong in ["59", "1515", "", "IMIX"] {
            assert!(wrong.parse::<Length>().is_err(), "{wrong}");
        }
    }
}
