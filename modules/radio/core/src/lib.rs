//! Transmit power that follows throughput ([`power`]), and access points that find each other,
//! prove a secret and share a key in pairs ([`peering`]).
//!
//! Pure: the kernel's counters of stations, received frames and the time go in; a power, or actions
//! on peers, come out. The crate opens no socket and reads no clock. Times are milliseconds of a
//! clock that never goes back; powers are dBm.
//!
//! ```
//! use radio_core::power::{Controller, Reading, Settings};
//!
//! let mut controller = Controller::new(Settings::default(), vec![5, 10, 15, 20])?;
//! // Without stations: the greatest permitted power.
//! let entry = controller.step(0, &Reading::default());
//! assert_eq!(entry.map(|entry| entry.power), Some(20));
//! # Ok::<(), radio_core::power::NoPowers>(())
//! ```

pub mod peering;
pub mod power;
