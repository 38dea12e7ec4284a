//! Chance that a radio decodes a frame, by the ratio of signal to noise and interference.
//!
//! OFDM: bit errors of Gray-coded BPSK, QPSK and QAM in white noise (Proakis, Digital
//! Communications, 4th ed., 5.2), then the union bound of the Viterbi decoder with the distances of
//! the punctured code 133, 171 (Haccoun and Bégin, High-rate punctured convolutional codes for
//! Viterbi and sequential decoding, IEEE Trans. Commun. 37(11), 1989, table II). Pei and Henderson,
//! Validation of OFDM error rate model in ns-3 (2010), confirm this model within 1 dB. DSSS: DBPSK
//! and DQPSK with the gain of 22 MHz over the bit rate (Proakis, 5.2.8); CCK as DQPSK at the CCK
//! bit rate.

use super::rate::{Code, Modulation, Rate};

/// Bandwidth of DSSS, MHz.
const SPREAD: f64 = 22.0;

/// Returns thermal noise over `width` MHz plus the receiver's own noise `figure` in dB, in dBm.
/// Thermal noise is kT at 290 K: -174 dBm per hertz (ITU-R P.372).
pub fn noise(width: u32, figure: f64) -> f64 {
    -174.0 + 60.0 + 10.0 * f64::from(width).log10() + figure
}

/// Converts dBm to milliwatts.
pub fn milliwatts(dbm: f64) -> f64 {
    10f64.powf(dbm / 10.0)
}

/// Converts milliwatts to dBm.
pub fn decibels(milliwatts: f64) -> f64 {
    10.0 * milliwatts.log10()
}

/// Returns the natural logarithm of the chance that one bit is right: multiply by the number of
/// bits. `ratio` is the linear ratio of signal to noise and interference in the rate's bandwidth.
pub fn right(rate: &Rate, ratio: f64) -> f64 {
    // Streams share the power.
    let ratio = ratio / f64::from(rate.streams);
    let wrong = match rate.modulation {
        Modulation::Dsss => spread(rate.megabits(), ratio),
        Modulation::Bpsk => coded(0.5 * erfc(ratio.sqrt()), rate.code),
        Modulation::Qpsk => coded(0.5 * erfc((ratio / 2.0).sqrt()), rate.code),
        Modulation::Qam(bits) => coded(square(bits, ratio), rate.code),
    };
    (-wrong.clamp(0.0, 0.5)).ln_1p()
}

/// Bit error rate of square QAM with this many bits per symbol.
fn square(bits: u32, ratio: f64) -> f64 {
    let points = f64::from(1u32 << bits);
    let argument = (3.0 * ratio / (2.0 * (points - 1.0))).sqrt();
    2.0 / f64::from(bits) * (1.0 - 1.0 / points.sqrt()) * erfc(argument)
}

fn spread(megabits: f64, ratio: f64) -> f64 {
    // Energy per bit over the noise density.
    let energy = ratio * SPREAD / megabits;
    if megabits <= 1.0 {
        return 0.5 * (-energy).exp();
    }
    // DQPSK: the asymptote for high energies; low energies are capped at 0.5.
    let root = std::f64::consts::SQRT_2;
    let factor = (root + 1.0) / (8.0 * std::f64::consts::PI * root).sqrt();
    (factor / energy.sqrt() * (-(2.0 - root) * energy).exp()).min(0.5)
}

/// Returns the bit error rate after the decoder, given the rate before the decoder.
fn coded(wrong: f64, code: Code) -> f64 {
    // Distance of the first error event, distance step between events, wrong bits per event, input
    // bits per code step.
    let (first, step, weights, bits): (i32, i32, &[f64], f64) = match code {
        Code::Half => (
            10,
            2,
            &[36.0, 211.0, 1404.0, 11_633.0, 77_433.0, 502_690.0],
            1.0,
        ),
        Code::TwoThirds => (
            6,
            1,
            &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0, 117_019.0],
            2.0,
        ),
        Code::ThreeQuarters => (
            5,
            1,
            &[42.0, 201.0, 1492.0, 10_469.0, 62_935.0, 379_644.0],
            3.0,
        ),
        Code::FiveSixths => (4, 1, &[92.0, 528.0, 8694.0, 79_453.0, 792_114.0], 5.0),
    };
    let distance = (4.0 * wrong * (1.0 - wrong)).sqrt();
    let events = weights.iter().enumerate().map(|(event, weight)| {
        let exponent = first + step * event as i32;
        weight * distance.powi(exponent)
    });
    (events.sum::<f64>() / (2.0 * bits)).min(0.5)
}

/// Complementary error function for `x` >= 0, within 2e-7 (Abramowitz and Stegun, 7.1.26).
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    polynomial * (-x * x).exp()
}
