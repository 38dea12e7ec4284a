//! Captured packets as a file: pcapng, which Wireshark and tcpdump read. Pure: octets in, octets out.

pub mod blocks;
pub mod bucket;
pub mod pcapng;
