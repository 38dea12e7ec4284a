//! Settings of a tunnel and its paths.

use std::net::SocketAddr;

use super::body::Micros;

/// Role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The router owns the paths, and announces them.
    Router,
    /// The partner learns of them.
    Partner,
}

/// Settings of all paths.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Flows that outgrow a path may use several.
    pub stripe: bool,
    /// Small packets of quiet flows go by two paths.
    pub duplicate: bool,
    /// Longest time a packet of a striped flow waits for those before it, microseconds. Paths that
    /// are slower than the fastest by more are not striped over.
    pub longest_wait: Micros,
    /// Random value, so that an attacker cannot choose flows that share a bucket.
    pub seed: u64,
    /// Random secret of 32 bytes, so that challenges are unpredictable.
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

/// Settings of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSettings {
    /// Address of the other end.
    pub remote: SocketAddr,
    /// Longest datagram that passes, bytes: the path's MTU without IP (20 or 40) and UDP (8).
    pub longest: u16,
    /// Share of new flows, in percent of the share that its rate alone would give.
    pub weight: u8,
    /// Used when no other path is up.
    pub backup: bool,
    /// Used if no unmetered path is up; rarely probed while idle.
    pub metered: bool,
    /// Highest rate to the other end, bytes per second, if known.
    pub rate_out: Option<u64>,
    /// Highest rate from the other end, bytes per second, if known.
    pub rate_in: Option<u64>,
}
