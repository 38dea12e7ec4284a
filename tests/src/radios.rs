//! Radios of mac80211_hwsim, as the laboratory makes them.

pub use lab::radios::{RADIO, country, outside, radios, radios_of_medium};
