//! What a radio's hardware can, where the kernel tells.

use serde::{Deserialize, Serialize};

use super::Config;

/// A radio's channels, as the kernel tells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Air {
    /// Whose rules the kernel keeps to: `DE`; `00` where nobody said; empty where it does not tell.
    pub country: String,
    /// All that the hardware has.
    pub channels: Vec<Channel>,
}

/// A channel of 20 MHz.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// `2g`, `5g`, `6g`.
    pub band: String,
    /// Its number in that band.
    pub number: u16,
    /// Whether access points and meshes may send there, by the rules of that country.
    pub open: bool,
    /// Whether they have to look out for radar there, which a mesh does not.
    pub radar: bool,
}

impl Air {
    /// Whether a radio with these bands can use a channel. What may be sent where is another
    /// matter in another country, and only known for the one whose rules are in force.
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

/// What a radio can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Radio {
    /// Its section in `wireless`: `radio0`.
    pub name: String,
    /// `2g`, `5g`, `6g`.
    pub bands: Vec<String>,
    /// Whether its access points can do WPA3 (SAE).
    pub wpa3: bool,
    /// Whether it can do 802.11s.
    pub mesh: bool,
    /// Whether its access points can peer (`APuP`).
    pub apup: bool,
    /// Its channels, where the kernel tells. It is of no use to a page.
    #[serde(skip)]
    pub air: Option<Air>,
}

impl Radio {
    /// What is told of it. One of 60 GHz has no channel that is told.
    fn told(&self) -> Option<&Air> {
        self.air.as_ref().filter(|air| !air.channels.is_empty())
    }

    /// A band that its section says, and its hardware does not have.
    pub(super) fn lacking_band(&self) -> Option<&str> {
        let air = self.told()?;
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

    /// Where a radio cannot send that is to be at a channel, or at that of its section; as people
    /// say it. `None`: it can, or nobody knows.
    pub(super) fn off_air(
        &self,
        config: &Config,
        channel: Option<u16>,
        mesh: bool,
    ) -> Option<String> {
        let air = self.told()?;
        if let Some(band) = self.lacking_band() {
            return Some(band.to_owned());
        }
        let of = |option: &str| config.get("wireless", &self.name, option);
        let number = channel.or_else(|| of("channel")?.parse().ok())?;
        let can = air.has(&self.bands, number, of("country").as_deref(), mesh);
        (!can).then(|| number.to_string())
    }
}
