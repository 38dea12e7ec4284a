//! Channels: their frequencies, and how they combine to wider ones (IEEE 802.11, annex E).

/// A band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz.
    Two,
    /// 5 GHz.
    Five,
    /// 6 GHz.
    Six,
}

/// Generation of the frame format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// Before 802.11n.
    Old,
    /// 802.11n.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax.
    He,
}

impl Band {
    /// Returns the frequency of a channel in MHz.
    pub fn frequency(self, channel: u64) -> u64 {
        match (self, channel) {
            (Self::Two, 14) => 2484,
            (Self::Two, _) => 2407 + 5 * channel,
            (Self::Five, _) => 5000 + 5 * channel,
            (Self::Six, _) => 5950 + 5 * channel,
        }
    }

    /// Returns true if the band has this channel, 20 MHz wide.
    pub fn has(self, channel: u64) -> bool {
        match self {
            Self::Two => (1..=14).contains(&channel),
            Self::Five => match channel {
                36..=64 | 100..=144 => channel.is_multiple_of(4),
                149..=177 => channel % 4 == 1,
                _ => false,
            },
            Self::Six => channel <= 233 && channel % 4 == 1,
        }
    }

    /// Returns the first channel of the group, `width` MHz wide, that contains this one.
    fn first(self, channel: u64, width: u64) -> u64 {
        // Channels are 5 MHz apart.
        let step = width / 5;
        let begin = match (self, channel) {
            (Self::Five, 36..=64) => 36,
            (Self::Five, 100..=144) => 100,
            (Self::Five, _) => 149,
            _ => 1,
        };
        begin + channel.saturating_sub(begin) / step * step
    }

    /// Returns the channel in the middle of that group.
    pub fn middle(self, channel: u64, width: u64) -> u64 {
        self.first(channel, width) + width / 10 - 2
    }

    /// Returns true if the second 20 MHz are above the first.
    pub fn above(self, channel: u64) -> bool {
        match self {
            Self::Two => channel <= 7,
            _ => self.first(channel, 40) == channel,
        }
    }
}

/// Parses `option htmode` into generation and width in MHz.
pub fn mode(text: &str) -> Option<(Generation, u64)> {
    let (generation, width) = match text {
        "NONE" | "NOHT" => return Some((Generation::Old, 20)),
        "HT40+" | "HT40-" => return Some((Generation::Ht, 40)),
        _ => {
            let at = text.find(|c: char| c.is_ascii_digit())?;
            text.split_at(at)
        }
    };
    let generation = match generation {
        "HT" => Generation::Ht,
        "VHT" => Generation::Vht,
        "HE" => Generation::He,
        _ => return None,
    };
    let width = match width {
        "20" => 20,
        "40" => 40,
        "80" if generation >= Generation::Vht => 80,
        "160" if generation >= Generation::Vht => 160,
        _ => return None,
    };
    Some((generation, width))
}

#[cfg(test)]
mod tests {
    use super::Band::{Five, Six, Two};

    #[test]
    fn wide_channels_have_their_middle() {
        for (band, channel, width, middle) in [
            (Five, 36, 80, 42),
            (Five, 48, 80, 42),
            (Five, 100, 80, 106),
            (Five, 149, 80, 155),
            (Five, 161, 80, 155),
            (Five, 36, 160, 50),
            (Five, 116, 160, 114),
            (Five, 44, 40, 46),
            (Six, 5, 80, 7),
            (Six, 37, 160, 47),
            (Six, 33, 40, 35),
        ] {
            assert_eq!(band.middle(channel, width), middle, "{band:?} {channel}");
        }
        assert!(Five.above(36) && !Five.above(40) && Two.above(1) && !Two.above(11));
    }
}
