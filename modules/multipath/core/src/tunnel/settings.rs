//! What a tunnel and its paths are set to.

use std::net::SocketAddr;

use super::body::Micros;

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Has the paths, and tells of them.
    Router,
    /// Learns of them.
    Partner,
}

/// What is the same for all paths.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Flows that outgrow a path may use several.
    pub stripe: bool,
    /// Small packets of quiet flows go by two paths.
    pub duplicate: bool,
    /// Longest time a packet of a striped flow waits for those before it, microseconds. Paths that
    /// are slower than the fastest by more are not striped over.
    pub longest_wait: Micros,
    /// Something random, so that nobody can choose flows that share a bucket.
    pub seed: u64,
    /// Something random of 32 bytes, so that nobody foresees what the partner has a router answer.
    pub secret: [u8; 32],
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            stripe: true,
            duplicate: true,
            longest_wait: 30_000,
            seed: 0,
            secret: [0; 32],
        }
    }
}

/// A path, as its end is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSettings {
    /// Where the other end is.
    pub remote: SocketAddr,
    /// Longest datagram that passes, bytes: the path's MTU without IP (20 or 40) and UDP (8).
    pub longest: u16,
    /// Share of new flows, percent of what its rate alone would give.
    pub weight: u8,
    /// Used when no other path is up.
    pub backup: bool,
    /// Used when no path that costs nothing is up; hardly probed at rest.
    pub metered: bool,
    /// Most that it carries to the other end, and from there, bytes per second, where that is
    /// known.
    pub rate_out: Option<u64>,
    /// See there.
    pub rate_in: Option<u64>,
}
