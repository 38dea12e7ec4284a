//! Abilities of radios (`NL80211_CMD_GET_WIPHY`), and the country of their rules (`_GET_REG`).

use super::numbers::ATTR_WIPHY;
use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{Attribute, DecodeError, Message};

const CMD_GET_WIPHY: u8 = 1;
const CMD_NEW_WIPHY: u8 = 3;
const CMD_GET_REG: u8 = 31;

const ATTR_WIPHY_NAME: u16 = 2;
const ATTR_WIPHY_BANDS: u16 = 22;
const ATTR_SUPPORTED_IFTYPES: u16 = 32;
const ATTR_REG_ALPHA2: u16 = 33;
const ATTR_CIPHER_SUITES: u16 = 57;
const ATTR_RX_FRAME_TYPES: u16 = 100;
const ATTR_FRAME_TYPE: u16 = 101;
const ATTR_DEVICE_AP_SME: u16 = 141;
const ATTR_SPLIT_WIPHY_DUMP: u16 = 174;
const ATTR_EXT_FEATURES: u16 = 217;

const IFTYPE_STATION: u16 = 2;
const IFTYPE_AP: u16 = 3;
const IFTYPE_MESH_POINT: u16 = 7;

const BAND_ATTR_FREQS: u16 = 1;
const FREQUENCY_ATTR_FREQ: u16 = 1;
const FREQUENCY_ATTR_DISABLED: u16 = 2;
const FREQUENCY_ATTR_NO_IR: u16 = 3;
const FREQUENCY_ATTR_RADAR: u16 = 5;
const FREQUENCY_ATTR_MAX_TX_POWER: u16 = 6;

/// BIP-CMAC-128, 00-0f-ac:6, in the kernel's byte order: without it, management frames cannot be
/// protected. mac80211 omits it if a driver lacks `MFP_CAPABLE`.
const CIPHER_BIP_CMAC_128: u32 = 0x000f_ac06;
const EXT_FEATURE_STA_TX_PWR: usize = 37;
const EXT_FEATURE_SAE_OFFLOAD_AP: usize = 51;
/// Type and subtype of an authentication frame (IEEE 802.11, 9.2.4.1.3), where SAE begins.
const FRAME_AUTHENTICATION: u16 = 0x00b0;

/// Maximum number of radios in a list. No real machine has as many; hwsim makes up to 100.
const MOST_RADIOS: usize = 128;
/// Maximum number of channels of a radio; the three bands have some 110.
const MOST_CHANNELS: usize = 512;

/// A band: `enum nl80211_band`, without those that routers lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Band {
    /// 2.4 GHz.
    Two,
    /// 5 GHz.
    Five,
    /// 6 GHz.
    Six,
}

/// A channel of 20 MHz, with the current regulatory limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Band of the channel.
    pub band: Band,
    /// Centre of the channel, MHz.
    pub frequency: u32,
    /// True if the rules forbid the channel.
    pub disabled: bool,
    /// True if no device may send there first: neither access points nor a mesh.
    pub no_ir: bool,
    /// True if senders must detect radar.
    pub radar: bool,
    /// The greatest power there, hundredths of a dBm, by the rules in force and the radio.
    pub most: Option<u32>,
}

impl Channel {
    /// Returns the number (IEEE 802.11, annex E). `None`: not a number in use.
    pub fn number(&self) -> Option<u16> {
        let number = match (self.band, self.frequency) {
            (Band::Two, 2484) => 14,
            (Band::Two, f @ 2412..=2472) => (f - 2407) / 5,
            (Band::Five, f @ 5005..=5925) => (f - 5000) / 5,
            (Band::Six, 5935) => 2,
            (Band::Six, f @ 5955..=7115) => (f - 5950) / 5,
            _ => return None,
        };
        u16::try_from(number).ok()
    }
}

/// A radio. Values that the driver does not report are false, or `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wiphy {
    /// The kernel's number of it.
    pub index: u32,
    /// `phy0`.
    pub name: String,
    /// Channels, in the order of bands.
    pub channels: Vec<Channel>,
    /// True if the radio can be a station.
    pub station: bool,
    /// True if the radio can be an access point.
    pub access_point: bool,
    /// True if the radio can be a point of a mesh.
    pub mesh: bool,
    /// Protection of management frames (BIP-CMAC-128), if known.
    pub protects: Option<bool>,
    /// True if firmware admits stations to its access points, not hostapd.
    pub admits: bool,
    /// True if firmware does SAE for its access points.
    pub sae_offload: bool,
    /// True if the radio can send to single stations with a power of their own.
    pub station_power: bool,
    /// True if its access points show authentication frames to hostapd, which can do SAE then.
    pub shows_authentication: bool,
    /// Country of the radio's rules: `DE`; `00` if not set. Empty: the kernel does not report it.
    pub country: String,
}

impl Wiphy {
    /// Returns true if its access points certainly cannot do WPA3, which needs protected management
    /// frames, and SAE by firmware, or by a hostapd that sees the frames. `NL80211_FEATURE_SAE`
    /// does not count: that is for stations.
    pub fn lacks_wpa3(&self) -> bool {
        let nobody = self.admits && !self.sae_offload && !self.shows_authentication;
        self.protects == Some(false) || nobody
    }

    /// Returns the bands of its channels.
    pub fn bands(&self) -> Vec<Band> {
        let mut bands: Vec<Band> = self.channels.iter().map(|channel| channel.band).collect();
        bands.sort_unstable();
        bands.dedup();
        bands
    }
}

/// Country of the rules in force: of one radio that has its own, or of all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegulatoryDomain {
    /// The radio's number.
    pub wiphy: Option<u32>,
    /// Two letters; `00`: of the world, `99`: of a driver, `98`: of several countries.
    pub country: String,
}

/// Decodes a part of a dump of `family` into the radios that were read before: the kernel describes
/// a radio in many messages. Other messages are left.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_wiphy(
    message: &Message<'_>,
    family: u16,
    radios: &mut Vec<Wiphy>,
) -> Result<(), DecodeError> {
    let Some(attributes) = message.generic(family, CMD_NEW_WIPHY)? else {
        return Ok(());
    };
    let mut index = None;
    for attribute in attributes.clone() {
        let attribute = attribute?;
        if attribute.kind == ATTR_WIPHY {
            index = Some(attribute.u32_native("NL80211_ATTR_WIPHY")?);
        }
    }
    let index = index.ok_or(DecodeError::missing("NL80211_ATTR_WIPHY"))?;
    let known = radios.iter().position(|radio| radio.index == index);
    let known = known.unwrap_or(radios.len());
    if known == radios.len() {
        if known == MOST_RADIOS {
            return Ok(());
        }
        radios.push(Wiphy {
            index,
            ..Wiphy::default()
        });
    }
    let radio = &mut radios[known];
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            ATTR_WIPHY_NAME => radio.name = attribute.text(),
            ATTR_WIPHY_BANDS => bands(&attribute, &mut radio.channels)?,
            ATTR_SUPPORTED_IFTYPES => {
                for kind in attribute.nested("NL80211_ATTR_SUPPORTED_IFTYPES") {
                    match kind?.kind {
                        IFTYPE_STATION => radio.station = true,
                        IFTYPE_AP => radio.access_point = true,
                        IFTYPE_MESH_POINT => radio.mesh = true,
                        _ => {}
                    }
                }
            }
            ATTR_CIPHER_SUITES => {
                let wanted = CIPHER_BIP_CMAC_128.to_ne_bytes();
                let found = attribute.value.chunks_exact(4).any(|suite| suite == wanted);
                radio.protects = Some(found);
            }
            ATTR_RX_FRAME_TYPES => {
                radio.shows_authentication |= authentication(&attribute)?;
            }
            ATTR_DEVICE_AP_SME => radio.admits = true,
            ATTR_EXT_FEATURES => {
                let has = |bit: usize| {
                    let octet = attribute.value.get(bit / 8);
                    octet.is_some_and(|octet| octet & (1 << (bit % 8)) != 0)
                };
                radio.sae_offload = has(EXT_FEATURE_SAE_OFFLOAD_AP);
                radio.station_power = has(EXT_FEATURE_STA_TX_PWR);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns true if access points show authentication frames.
fn authentication(told: &Attribute<'_>) -> Result<bool, DecodeError> {
    let mut found = false;
    for kind in told.nested("NL80211_ATTR_RX_FRAME_TYPES") {
        let kind = kind?;
        if kind.kind != IFTYPE_AP {
            continue;
        }
        for frame in kind.nested("NL80211_ATTR_RX_FRAME_TYPES") {
            let frame = frame?;
            if frame.kind == ATTR_FRAME_TYPE {
                let number = frame.array("NL80211_ATTR_FRAME_TYPE")?;
                found |= u16::from_ne_bytes(number) == FRAME_AUTHENTICATION;
            }
        }
    }
    Ok(found)
}

fn bands(told: &Attribute<'_>, channels: &mut Vec<Channel>) -> Result<(), DecodeError> {
    for band in told.nested("NL80211_ATTR_WIPHY_BANDS") {
        let band = band?;
        let number = match band.kind {
            0 => Band::Two,
            1 => Band::Five,
            3 => Band::Six,
            _ => continue,
        };
        for part in band.nested("NL80211_ATTR_WIPHY_BANDS") {
            let part = part?;
            if part.kind != BAND_ATTR_FREQS {
                continue;
            }
            for channel in part.nested("NL80211_BAND_ATTR_FREQS") {
                let channel = channel_of(number, &channel?)?;
                if channels.len() < MOST_CHANNELS {
                    channels.push(channel);
                }
            }
        }
    }
    Ok(())
}

fn channel_of(band: Band, told: &Attribute<'_>) -> Result<Channel, DecodeError> {
    let mut frequency = None;
    let (mut disabled, mut no_ir, mut radar, mut most) = (false, false, false, None);
    for attribute in told.nested("NL80211_BAND_ATTR_FREQS") {
        let attribute = attribute?;
        match attribute.kind {
            FREQUENCY_ATTR_FREQ => {
                frequency = Some(attribute.u32_native("NL80211_FREQUENCY_ATTR_FREQ")?);
            }
            FREQUENCY_ATTR_DISABLED => disabled = true,
            FREQUENCY_ATTR_NO_IR => no_ir = true,
            FREQUENCY_ATTR_RADAR => radar = true,
            FREQUENCY_ATTR_MAX_TX_POWER => {
                most = Some(attribute.u32_native("NL80211_FREQUENCY_ATTR_MAX_TX_POWER")?);
            }
            _ => {}
        }
    }
    Ok(Channel {
        band,
        frequency: frequency.ok_or(DecodeError::missing("NL80211_FREQUENCY_ATTR_FREQ"))?,
        disabled,
        no_ir,
        radar,
        most,
    })
}

/// Decodes the country of the current rules. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_rules(
    message: &Message<'_>,
    family: u16,
) -> Result<Option<RegulatoryDomain>, DecodeError> {
    let Some(attributes) = message.generic(family, CMD_GET_REG)? else {
        return Ok(None);
    };
    let mut wiphy = None;
    let mut country = None;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            ATTR_WIPHY => wiphy = Some(attribute.u32_native("NL80211_ATTR_WIPHY")?),
            ATTR_REG_ALPHA2 => country = Some(attribute.text()),
            _ => {}
        }
    }
    let country = country.ok_or(DecodeError::missing("NL80211_ATTR_REG_ALPHA2"))?;
    Ok(Some(RegulatoryDomain { wiphy, country }))
}

/// Requests all radios, in many messages: in a single one, the kernel omits newer attributes (since
/// 2013).
pub(crate) fn dump_wiphys(family: u16, sequence: u32) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST | NLM_F_DUMP, sequence, |e| {
        e.fixed(&[CMD_GET_WIPHY, 0, 0, 0]);
        e.attribute(ATTR_SPLIT_WIPHY_DUMP, &[]);
    })
}

/// Requests the current rules.
pub(crate) fn dump_rules(family: u16, sequence: u32) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST | NLM_F_DUMP, sequence, |e| {
        e.fixed(&[CMD_GET_REG, 0, 0, 0]);
    })
}

#[cfg(test)]
mod tests;
