//! Capabilities of a radio's hardware, as far as the kernel reports them.

use serde::{Deserialize, Serialize};

use super::Config;

/// A radio's channels, from the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RadioChannels {
    /// Country of the rules in force: `DE`; `00` if not set; empty if unknown.
    pub country: String,
    /// All channels of the hardware.
    pub channels: Vec<Channel>,
}

/// A channel of 20 MHz.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// `2g`, `5g`, `6g`.
    pub band: String,
    /// Number of the channel in the band.
    pub number: u16,
    /// True if the country's rules permit access points and meshes on the channel.
    pub open: bool,
    /// True if the channel requires radar detection, which a mesh does not do.
    pub radar: bool,
}

impl RadioChannels {
    /// Returns true if a radio with these bands can use a channel. Permissions depend on the
    /// country, and are known only for the country whose rules are in force.
    fn has(&self, bands: &[String], number: u16, country: Option<&str>, mesh: bool) -> bool {
        let known = country.is_none_or(|country| country.eq_ignore_ascii_case(&self.country));
        let judged = known && !self.country.is_empty();
        self.channels.iter().any(|channel| {
            channel.number == number
                && (bands.is_empty() || bands.contains(&channel.band))
                && (!judged || channel.open && !(mesh && channel.radar))
        })
    }
}

/// Abilities of a radio.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Radio {
    /// Section in `wireless`: `radio0`.
    pub name: String,
    /// `2g`, `5g`, `6g`.
    pub bands: Vec<String>,
    /// True if its access points support WPA3 (SAE).
    pub wpa3: bool,
    /// True if it supports 802.11s.
    pub mesh: bool,
    /// True if its access points support peering (`APuP`).
    pub apup: bool,
    /// Channels, if the kernel reports them. Not sent to pages.
    #[serde(skip)]
    pub air: Option<RadioChannels>,
}

impl Radio {
    /// Returns the channels. A radio of 60 GHz reports no channels.
    fn reported_channels(&self) -> Option<&RadioChannels> {
        self.air.as_ref().filter(|air| !air.channels.is_empty())
    }

    /// Returns a band of the radio's section that its hardware lacks.
    pub(super) fn lacking_band(&self) -> Option<&str> {
        let air = self.reported_channels()?;
        let has = |band: &String| air.channels.iter().any(|channel| channel.band == *band);
        self.bands
            .iter()
            .find(|band| !has(band))
            .map(|band| match &**band {
                "2g" => "2.4 GHz",
                "5g" => "5 GHz",
                "6g" => "6 GHz",
                other => other,
            })
    }

    /// Returns the channel or band on which a radio cannot send, at this channel or that of its
    /// section; for people. `None`: the radio can send, or that is unknown.
    pub(super) fn off_air(
        &self,
        config: &Config,
        channel: Option<u16>,
        mesh: bool,
    ) -> Option<String> {
        let air = self.reported_channels()?;
        if let Some(band) = self.lacking_band() {
            return Some(band.to_owned());
        }
        let of = |option: &str| config.get("wireless", &self.name, option);
        let number = channel.or_else(|| of("channel")?.parse().ok())?;
        let can = air.has(&self.bands, number, of("country").as_deref(), mesh);
        (!can).then(|| number.to_string())
    }
}
