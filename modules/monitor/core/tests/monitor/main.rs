//! Devices, conversations, names and IPFIX, by recorded and generated traffic.

mod collectors;
mod internet;
mod ipfix_decode;
mod ipfix_tshark;
mod names;
mod pairs;
mod peer;
mod said;
mod traffic;
