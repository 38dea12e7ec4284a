//! Transmit power that follows throughput.
//!
//! Pure: what the kernel counts of stations and the time go in; a power, and why, come out. It
//! opens no socket and reads no clock. Times are milliseconds of a clock that never goes back;
//! powers are dBm.
//!
//! ```
//! use radio::power::{Controller, Reading, Settings};
//!
//! let mut controller = Controller::new(Settings::default(), vec![5, 10, 15, 20])?;
//! // Nobody is there: all that the radio may.
//! let entry = controller.step(0, &Reading::default());
//! assert_eq!(entry.map(|entry| entry.power), Some(20));
//! # Ok::<(), radio::power::NoLadder>(())
//! ```

pub mod power;
