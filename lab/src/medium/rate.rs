//! Rates: modulation, code and time on the air. From IEEE 802.11-2020: DSSS and CCK (clauses 15,
//! 16), OFDM (17), HT (19), VHT (21).

use kernel::hwsim;

/// Upper bound of the 2.4 GHz band, MHz.
const FIVE_GHZ: u32 = 4000;
/// 2.4 GHz rates as numbered by mac80211_hwsim (`hwsim_rates`), 100 kbit/s. The 5 GHz rates lack
/// the first four.
const LEGACY: [u32; 12] = [10, 20, 55, 110, 60, 90, 120, 180, 240, 360, 480, 540];
/// Leading entries of `LEGACY` that are not OFDM.
const DSSS: usize = 4;
/// Service and tail of an OFDM frame, bits (17.3.5.2).
const FRAMING: u32 = 16 + 6;
/// Bytes of the check sum that mac80211 leaves to the radio.
pub(super) const CHECK_SUM: usize = 4;

/// Modulation of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Modulation {
    /// Barker and CCK.
    Dsss,
    /// A single bit per subcarrier and symbol.
    Bpsk,
    /// Two bits per subcarrier and symbol.
    Qpsk,
    /// Four or more bits: 16-QAM and beyond.
    Qam(u32),
}

/// Share of data bits in the convolutional code of 17.3.5.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// 1/2.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
    /// 5/6.
    FiveSixths,
}

impl Code {
    fn share(self) -> (u32, u32) {
        match self {
            Self::Half => (1, 2),
            Self::TwoThirds => (2, 3),
            Self::ThreeQuarters => (3, 4),
            Self::FiveSixths => (5, 6),
        }
    }
}

/// A rate with all its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Modulation of the data.
    pub modulation: Modulation,
    /// Convolutional code. Ignored for DSSS.
    pub code: Code,
    /// Spatial streams.
    pub streams: u32,
    /// Bandwidth, MHz.
    pub width: u32,
    /// Data bits per OFDM symbol; for DSSS, bits per microsecond times ten.
    bits: u32,
    /// Length of an OFDM symbol, ns.
    symbol: u64,
    /// Length of the preamble, ns.
    preamble: u64,
    /// Signal extension of 2.4 GHz after the data, ns (18.3.2.4).
    extension: u64,
    /// Allows A-MPDUs.
    pub aggregates: bool,
}

impl Rate {
    /// Returns the rate for the kernel's index and flags at this frequency in MHz. Returns `None`
    /// for an invalid index.
    pub fn of(told: &hwsim::Rate, frequency: u32) -> Option<Self> {
        let index = u32::try_from(told.index).ok()?;
        if told.flags & hwsim::VHT != 0 {
            let width = match told.flags {
                flags if flags & hwsim::WIDTH_160 != 0 => 160,
                flags if flags & hwsim::WIDTH_80 != 0 => 80,
                flags if flags & hwsim::WIDTH_40 != 0 => 40,
                _ => 20,
            };
            // 21.3.8.2: legacy training 16 µs, L-SIG 4, VHT-SIG-A 8, VHT-STF 4, VHT-LTF 4 for each
            // stream, VHT-SIG-B 4.
            let training = 36_000;
            return Self::mcs(
                index & 15,
                (index >> 4) + 1,
                width,
                training,
                told,
                frequency,
            );
        }
        if told.flags & hwsim::HT != 0 {
            let width = match told.flags & hwsim::WIDTH_40 {
                0 => 20,
                _ => 40,
            };
            // 19.3.9.1, mixed format: legacy training 16 µs, L-SIG 4, HT-SIG 8, HT-STF 4, HT-LTF 4
            // for each stream.
            let training = 32_000;
            return Self::mcs(index % 8, index / 8 + 1, width, training, told, frequency);
        }
        Self::legacy(index as usize, frequency)
    }

    /// Returns a DSSS, CCK or OFDM rate by its index in the band of this frequency in MHz.
    pub fn legacy(index: usize, frequency: u32) -> Option<Self> {
        let index = match frequency < FIVE_GHZ {
            true => index,
            false => index + DSSS,
        };
        let speed = *LEGACY.get(index)?;
        if index < DSSS {
            return Some(Self {
                modulation: Modulation::Dsss,
                code: Code::Half,
                streams: 1,
                width: 20,
                bits: speed,
                symbol: 0,
                // The long preamble (15.2.2.2, 16.2.2.2).
                preamble: 192_000,
                extension: 0,
                aggregates: false,
            });
        }
        // Table 17-4.
        let (modulation, code) = match speed {
            60 => (Modulation::Bpsk, Code::Half),
            90 => (Modulation::Bpsk, Code::ThreeQuarters),
            120 => (Modulation::Qpsk, Code::Half),
            180 => (Modulation::Qpsk, Code::ThreeQuarters),
            240 => (Modulation::Qam(4), Code::Half),
            360 => (Modulation::Qam(4), Code::ThreeQuarters),
            480 => (Modulation::Qam(6), Code::TwoThirds),
            _ => (Modulation::Qam(6), Code::ThreeQuarters),
        };
        Some(Self {
            modulation,
            code,
            streams: 1,
            width: 20,
            // 100 kbit/s in 4 µs.
            bits: speed * 4 / 10,
            symbol: 4000,
            preamble: 20_000,
            extension: extension(frequency),
            aggregates: false,
        })
    }

    fn mcs(
        number: u32,
        streams: u32,
        width: u32,
        training: u64,
        told: &hwsim::Rate,
        frequency: u32,
    ) -> Option<Self> {
        // Tables 19-27 and 21-30 and those after them.
        let (modulation, each, code) = match number {
            0 => (Modulation::Bpsk, 1, Code::Half),
            1 => (Modulation::Qpsk, 2, Code::Half),
            2 => (Modulation::Qpsk, 2, Code::ThreeQuarters),
            3 => (Modulation::Qam(4), 4, Code::Half),
            4 => (Modulation::Qam(4), 4, Code::ThreeQuarters),
            5 => (Modulation::Qam(6), 6, Code::TwoThirds),
            6 => (Modulation::Qam(6), 6, Code::ThreeQuarters),
            7 => (Modulation::Qam(6), 6, Code::FiveSixths),
            8 => (Modulation::Qam(8), 8, Code::ThreeQuarters),
            9 => (Modulation::Qam(8), 8, Code::FiveSixths),
            _ => return None,
        };
        let subcarriers = match width {
            20 => 52,
            40 => 108,
            80 => 234,
            _ => 468,
        };
        let (data, of) = code.share();
        let short = told.flags & hwsim::SHORT_GUARD != 0;
        Some(Self {
            modulation,
            code,
            streams,
            width,
            bits: subcarriers * each * streams * data / of,
            symbol: if short { 3600 } else { 4000 },
            preamble: training + u64::from(streams) * 4000,
            extension: extension(frequency),
            aggregates: true,
        })
    }

    /// Returns the rate of answers (CTS, acknowledgements) to a frame of this rate: the fastest
    /// mandatory rate that is not faster (10.6.6.5.2).
    pub fn of_answers(&self, frequency: u32) -> Self {
        let speed = self.megabits();
        let fits = |index: &usize| {
            let rate = Self::legacy(*index, frequency);
            rate.is_some_and(|rate| rate.megabits() <= speed)
        };
        // By speed: 24, 12, 6 Mbit/s; for DSSS frames 2, 1 Mbit/s.
        let choices: &[usize] = match (self.modulation, frequency < FIVE_GHZ) {
            (Modulation::Dsss, _) => &[1, 0],
            (_, true) => &[8, 6, 4],
            (_, false) => &[4, 2, 0],
        };
        let index = choices.iter().copied().find(fits);
        let index = index.unwrap_or(choices[choices.len() - 1]);
        Self::legacy(index, frequency).unwrap_or(*self)
    }

    /// Returns the rate of the preamble: the slowest of this kind, over the whole width.
    pub fn of_preamble(&self, frequency: u32) -> Self {
        let index = match (self.modulation, frequency < FIVE_GHZ) {
            (Modulation::Dsss, _) | (_, false) => 0,
            (_, true) => DSSS,
        };
        let width = self.width;
        Self::legacy(index, frequency).map_or(*self, |rate| Self { width, ..rate })
    }

    /// Returns the index to report to the kernel: the fastest legacy rate that is not faster.
    pub fn shown(&self, frequency: u32) -> u32 {
        let speed = self.megabits();
        let rates = (0..LEGACY.len()).filter_map(|index| {
            let rate = Self::legacy(index, frequency)?.megabits();
            (rate <= speed).then_some((index as u32, rate))
        });
        let best = rates.max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.map_or(0, |(index, _)| index)
    }

    /// Returns the speed, Mbit/s.
    pub fn megabits(&self) -> f64 {
        match self.modulation {
            Modulation::Dsss => f64::from(self.bits) / 10.0,
            _ => f64::from(self.bits) * 1000.0 / self.symbol as f64,
        }
    }

    /// Returns the time on the air of this many bytes, check sums included, ns.
    pub fn airtime(&self, octets: usize) -> u64 {
        let bits = octets as u64 * 8;
        let data = match self.modulation {
            Modulation::Dsss => (bits * 10_000).div_ceil(u64::from(self.bits)),
            _ => (bits + u64::from(FRAMING)).div_ceil(u64::from(self.bits)) * self.symbol,
        };
        self.preamble + data + self.extension
    }

    /// Returns the length of the preamble, ns. The preamble uses the slowest rate.
    pub fn preamble(&self) -> u64 {
        self.preamble
    }
}

fn extension(frequency: u32) -> u64 {
    match frequency < FIVE_GHZ {
        true => 6000,
        false => 0,
    }
}
