//! The generic netlink family `MAC80211_HWSIM` (`drivers/net/wireless/virtual/mac80211_hwsim.h`): a
//! process that registers with it is the medium between radios that exist in software only. The
//! kernel reports each frame that a radio sends ([`decode_sent`]), and keeps the frame until the
//! process reports its fate ([`Replies::report_status`]). The process delivers frames to a radio by
//! [`Replies::deliver`].

use crate::encode::{Encoder, NLM_F_ACK, NLM_F_REQUEST};
use crate::event::Mac;
use crate::message::{DecodeError, Message, Problem};

const CMD_REGISTER: u8 = 1;
const CMD_FRAME: u8 = 2;
const CMD_TX_INFO_FRAME: u8 = 3;
const CMD_NEW_RADIO: u8 = 4;

const ATTR_ADDR_RECEIVER: u16 = 1;
const ATTR_ADDR_TRANSMITTER: u16 = 2;
const ATTR_FRAME: u16 = 3;
const ATTR_FLAGS: u16 = 4;
const ATTR_RX_RATE: u16 = 5;
const ATTR_SIGNAL: u16 = 6;
const ATTR_TX_INFO: u16 = 7;
const ATTR_COOKIE: u16 = 8;
const ATTR_REG_CUSTOM_REG: u16 = 12;
const ATTR_USE_CHANCTX: u16 = 15;
const ATTR_FREQ: u16 = 19;
const ATTR_TX_INFO_FLAGS: u16 = 21;

/// `HWSIM_TX_CTL_NO_ACK`: no receiver will acknowledge the frame.
pub const NO_ACK: u32 = 1 << 1;
/// `HWSIM_TX_STAT_ACK`: it was acknowledged.
pub const ACKNOWLEDGED: u32 = 1 << 2;

/// `MAC80211_HWSIM_TX_RC_USE_RTS_CTS`: the sender reserves the medium first.
pub const USE_RTS: u16 = 1 << 0;
/// `MAC80211_HWSIM_TX_RC_MCS`: the rate is an MCS of HT.
pub const HT: u16 = 1 << 3;
/// `MAC80211_HWSIM_TX_RC_40_MHZ_WIDTH`.
pub const WIDTH_40: u16 = 1 << 5;
/// `MAC80211_HWSIM_TX_RC_SHORT_GI`: a guard interval of 400 ns.
pub const SHORT_GUARD: u16 = 1 << 7;
/// `MAC80211_HWSIM_TX_RC_VHT_MCS`: the rate is an MCS of VHT, in its low four bits; above them is
/// the number of streams less one.
pub const VHT: u16 = 1 << 8;
/// `MAC80211_HWSIM_TX_RC_80_MHZ_WIDTH`.
pub const WIDTH_80: u16 = 1 << 9;
/// `MAC80211_HWSIM_TX_RC_160_MHZ_WIDTH`.
pub const WIDTH_160: u16 = 1 << 10;

/// Rates that a frame is tried with, one after another (`IEEE80211_TX_MAX_RATES`).
pub const RATES: usize = 4;

/// A rate to try a frame with, or that it was tried with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rate {
    /// Index in the rates of the band, or an MCS (see `flags`). Less than zero: no more rates.
    pub index: i8,
    /// [`USE_RTS`], [`HT`] and so on.
    pub flags: u16,
    /// Tries.
    pub count: u8,
}

/// A frame that a radio sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransmittedFrame {
    /// The radio, by its second address: the first octet is 0x42 where its devices have 0x02.
    pub radio: Mac,
    /// Identity of the frame in the kernel.
    pub cookie: u64,
    /// [`NO_ACK`] and others, to be returned.
    pub flags: u32,
    /// Centre of the channel, MHz.
    pub frequency: u32,
    /// Rates to try.
    pub rates: [Rate; RATES],
    /// The frame from its IEEE 802.11 header on, encrypted, without its check sum.
    pub frame: Vec<u8>,
}

/// Decodes a frame that a radio of `family` sends. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_sent(
    message: &Message<'_>,
    family: u16,
) -> Result<Option<TransmittedFrame>, DecodeError> {
    let Some(attributes) = message.generic(family, CMD_FRAME)? else {
        return Ok(None);
    };
    let (mut radio, mut cookie, mut flags, mut frequency) = (None, None, None, None);
    let (mut rates, mut frame) = ([Rate::default(); RATES], None);
    let mut tried = false;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            ATTR_ADDR_TRANSMITTER => {
                radio = Some(attribute.array("HWSIM_ATTR_ADDR_TRANSMITTER")?);
            }
            ATTR_FRAME => frame = Some(attribute.value.to_vec()),
            ATTR_FLAGS => flags = Some(attribute.u32_native("HWSIM_ATTR_FLAGS")?),
            ATTR_FREQ => frequency = Some(attribute.u32_native("HWSIM_ATTR_FREQ")?),
            ATTR_COOKIE => {
                cookie = Some(u64::from_ne_bytes(attribute.array("HWSIM_ATTR_COOKIE")?));
            }
            ATTR_TX_INFO => {
                // struct hwsim_tx_rate, packed: index and count.
                let told: [u8; 2 * RATES] = attribute.array("HWSIM_ATTR_TX_INFO")?;
                for (rate, told) in rates.iter_mut().zip(told.chunks_exact(2)) {
                    (rate.index, rate.count) = (told[0] as i8, told[1]);
                }
                tried = true;
            }
            ATTR_TX_INFO_FLAGS => {
                // struct hwsim_tx_rate_flag, packed: the index again, and flags.
                let told: [u8; 3 * RATES] = attribute.array("HWSIM_ATTR_TX_INFO_FLAGS")?;
                for (rate, told) in rates.iter_mut().zip(told.chunks_exact(3)) {
                    rate.flags = u16::from_ne_bytes([told[1], told[2]]);
                }
            }
            _ => {}
        }
    }
    if !tried {
        return Err(DecodeError::missing("HWSIM_ATTR_TX_INFO"));
    }
    let frame: Vec<u8> = frame.ok_or(DecodeError::missing("HWSIM_ATTR_FRAME"))?;
    // An acknowledgement is the shortest: control, duration, one address (IEEE 802.11-2020, 9.3.1).
    if frame.len() < 10 {
        return Err(DecodeError::new("HWSIM_ATTR_FRAME", Problem::CutShort));
    }
    Ok(Some(TransmittedFrame {
        radio: radio.ok_or(DecodeError::missing("HWSIM_ATTR_ADDR_TRANSMITTER"))?,
        cookie: cookie.ok_or(DecodeError::missing("HWSIM_ATTR_COOKIE"))?,
        flags: flags.ok_or(DecodeError::missing("HWSIM_ATTR_FLAGS"))?,
        frequency: frequency.ok_or(DecodeError::missing("HWSIM_ATTR_FREQ"))?,
        rates,
        frame,
    }))
}

/// Messages to the kernel, in one datagram.
#[derive(Debug)]
pub struct Replies {
    family: u16,
    encoder: Encoder,
    length: usize,
}

impl Replies {
    /// Starts without messages, for the family's number.
    pub(crate) fn new(family: u16) -> Self {
        Self {
            family,
            encoder: Encoder::default(),
            length: 0,
        }
    }

    /// The datagram.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.encoder.finish()
    }

    /// About how long the datagram is, bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns true if there are no messages.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reports the fate of a frame: the flags it came with, plus [`ACKNOWLEDGED`] if it was; the
    /// rates that were tried, each with its tries; signal of the acknowledgement, dBm.
    pub fn report_status(
        &mut self,
        radio: &Mac,
        cookie: u64,
        flags: u32,
        rates: &[Rate; RATES],
        signal: i32,
    ) {
        let mut tries = [0; 2 * RATES];
        for (rate, told) in rates.iter().zip(tries.chunks_exact_mut(2)) {
            told.copy_from_slice(&[rate.index as u8, rate.count]);
        }
        self.length += 96;
        self.encoder.message(self.family, NLM_F_REQUEST, 0, |e| {
            e.fixed(&[CMD_TX_INFO_FRAME, 1, 0, 0]);
            e.attribute(ATTR_ADDR_TRANSMITTER, radio);
            e.attribute(ATTR_FLAGS, &flags.to_ne_bytes());
            e.attribute(ATTR_SIGNAL, &signal.to_ne_bytes());
            e.attribute(ATTR_TX_INFO, &tries);
            e.attribute(ATTR_COOKIE, &cookie.to_ne_bytes());
        });
    }

    /// Delivers a frame to a radio: with this rate (an index in those of the band: HT rates have no
    /// index) and signal, dBm, on this frequency, MHz. The kernel ignores the frame if the radio is
    /// on another channel.
    pub fn deliver(&mut self, radio: &Mac, frame: &[u8], rate: u32, signal: i32, frequency: u32) {
        self.length += 64 + frame.len();
        self.encoder.message(self.family, NLM_F_REQUEST, 0, |e| {
            e.fixed(&[CMD_FRAME, 1, 0, 0]);
            e.attribute(ATTR_ADDR_RECEIVER, radio);
            e.attribute(ATTR_FRAME, frame);
            e.attribute(ATTR_RX_RATE, &rate.to_ne_bytes());
            e.attribute(ATTR_SIGNAL, &signal.to_ne_bytes());
            e.attribute(ATTR_FREQ, &frequency.to_ne_bytes());
        });
    }
}

/// Requests the role of the medium, and an answer.
pub(crate) fn register(family: u16) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST | NLM_F_ACK, 1, |e| {
        e.fixed(&[CMD_REGISTER, 1, 0, 0]);
    })
}

/// Requests a radio with channel contexts and with the third of the driver's own regulatory
/// domains. Other radios report only the power that the channel allows (`ieee80211_get_tx_power`),
/// and the medium does not support radios of several channels. By that domain access points may use
/// channels of 5 and 6 GHz.
pub(crate) fn new_radio(family: u16) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST | NLM_F_ACK, 1, |e| {
        e.fixed(&[CMD_NEW_RADIO, 1, 0, 0]);
        e.attribute(ATTR_USE_CHANCTX, &[]);
        e.attribute(ATTR_REG_CUSTOM_REG, &2u32.to_ne_bytes());
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::first;
    use crate::message::Messages;

    const FAMILY: u16 = 40;
    const RADIO: Mac = [0x42, 0, 0, 0, 1, 0];

    fn only(bytes: &[u8]) -> Result<Option<TransmittedFrame>, DecodeError> {
        decode_sent(&first(bytes), FAMILY)
    }

    /// Builds a frame as `mac80211_hwsim_tx_frame_nl` does, without the attribute `left_out`.
    fn sent(sent: &TransmittedFrame, left_out: u16) -> Vec<u8> {
        Encoder::single(FAMILY, 0, 0, |e| {
            e.fixed(&[CMD_FRAME, 1, 0, 0]);
            let (mut tries, mut flags) = (Vec::new(), Vec::new());
            for rate in &sent.rates {
                tries.extend([rate.index as u8, rate.count]);
                flags.push(rate.index as u8);
                flags.extend(rate.flags.to_ne_bytes());
            }
            for (kind, value) in [
                (ATTR_ADDR_TRANSMITTER, sent.radio.to_vec()),
                (ATTR_FRAME, sent.frame.clone()),
                (ATTR_FLAGS, sent.flags.to_ne_bytes().to_vec()),
                (ATTR_FREQ, sent.frequency.to_ne_bytes().to_vec()),
                (ATTR_TX_INFO, tries),
                (ATTR_TX_INFO_FLAGS, flags),
                (ATTR_COOKIE, sent.cookie.to_ne_bytes().to_vec()),
            ] {
                if kind != left_out {
                    e.attribute(kind, &value);
                }
            }
        })
    }

    fn example() -> TransmittedFrame {
        let rate = |index, flags, count| Rate {
            index,
            flags,
            count,
        };
        TransmittedFrame {
            radio: RADIO,
            cookie: 0x1_0000_0007,
            flags: 1,
            frequency: 5180,
            rates: [
                rate(0x19, VHT | WIDTH_80, 2),
                rate(7, HT | SHORT_GUARD, 3),
                rate(-1, 0, 0),
                rate(-1, 0, 0),
            ],
            frame: vec![8; 30],
        }
    }

    #[test]
    fn a_frame_that_a_radio_sends() {
        assert_eq!(only(&sent(&example(), 0)), Ok(Some(example())));
        let name = |left_out| only(&sent(&example(), left_out)).unwrap_err().to_string();
        assert_eq!(name(ATTR_FREQ), "HWSIM_ATTR_FREQ is missing");
        assert_eq!(name(ATTR_COOKIE), "HWSIM_ATTR_COOKIE is missing");
        assert_eq!(name(ATTR_TX_INFO), "HWSIM_ATTR_TX_INFO is missing");
        // Kernels before 5.12 did not report flags.
        let plain = only(&sent(&example(), ATTR_TX_INFO_FLAGS)).expect("valid");
        assert_eq!(plain.expect("a frame").rates[1].flags, 0);
        let short = TransmittedFrame {
            frame: vec![0; 9],
            ..example()
        };
        let error = only(&sent(&short, 0)).unwrap_err().to_string();
        assert_eq!(error, "HWSIM_ATTR_FRAME is truncated");
    }

    #[test]
    fn answers_are_as_the_kernel_reads_them() {
        let mut answers = Replies::new(FAMILY);
        assert!(answers.is_empty());
        answers.report_status(&RADIO, 7, ACKNOWLEDGED | 1, &example().rates, -61);
        answers.deliver(&RADIO, &[8; 30], 3, -60, 5180);
        assert!(answers.len() > 30);
        let bytes = answers.finish();
        let read: Vec<_> = Messages::new(&bytes).map(|m| m.expect("whole")).collect();
        assert_eq!(read.len(), 2);
        let values = |message: &Message<'_>| {
            let (fixed, attributes) = message.split::<4>("genlmsghdr").expect("a header");
            let all: Vec<_> = attributes
                .map(|attribute| attribute.expect("whole"))
                .map(|attribute| (attribute.kind, attribute.value.to_vec()))
                .collect();
            (fixed[0], all)
        };
        let (command, told) = values(&read[0]);
        assert_eq!(command, CMD_TX_INFO_FRAME);
        assert_eq!(told[1], (ATTR_FLAGS, 5u32.to_ne_bytes().to_vec()));
        assert_eq!(told[2], (ATTR_SIGNAL, (-61i32).to_ne_bytes().to_vec()));
        let tries = vec![0x19, 2, 7, 3, 0xff, 0, 0xff, 0];
        assert_eq!(told[3], (ATTR_TX_INFO, tries));
        let (command, heard) = values(&read[1]);
        assert_eq!(command, CMD_FRAME);
        assert_eq!(heard[0], (ATTR_ADDR_RECEIVER, RADIO.to_vec()));
        assert_eq!(heard[2], (ATTR_RX_RATE, 3u32.to_ne_bytes().to_vec()));
    }

    proptest! {
        #[test]
        fn any_frame_reads_as_it_was_written(
            cookie: u64, flags: u32, frequency: u32,
            frame in prop::collection::vec(any::<u8>(), 10..400),
            rates: [(i8, u16, u8); RATES],
        ) {
            let rates = rates.map(|(index, flags, count)| Rate { index, flags, count });
            let wanted = TransmittedFrame { radio: RADIO, cookie, flags, frequency, rates, frame };
            prop_assert_eq!(only(&sent(&wanted, 0)), Ok(Some(wanted)));
        }

        #[test]
        fn any_octets_are_a_frame_or_an_error(
            octets in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let bytes = Encoder::single(FAMILY, 0, 0, |e| {
                e.fixed(&[CMD_FRAME, 1, 0, 0]);
                e.fixed(&octets);
            });
            let _ = only(&bytes);
        }
    }
}
