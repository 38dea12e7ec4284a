//! Access points that peer: each is a stock hostapd with a weir. The radios are those of
//! mac80211_hwsim, which receive each other at -30 dBm.

mod apup;
mod bands;
mod bridge;
mod changes;
mod dfs;
mod flood;
mod intruder;
mod links;
mod measures;
mod mesh;
mod pair;
mod scene;
