//! Routing of clients' traffic.

use std::time::Duration;

use crate::encrypt::Encrypt;
use crate::traffic_policy::TrafficPolicy;

/// Settings of a router for its clients' traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficSettings {
    /// True if connections go directly while the partner is unreachable; otherwise they are
    /// refused.
    pub fall_back: bool,
    /// Traffic other than TCP that left directly, for want of a tunnel, moves back to the tunnel.
    pub returns: bool,
    /// Encryption on the way to the partner.
    pub encrypt: Encrypt,
    /// Lifetime of a session's keys.
    pub renew: Duration,
    /// Traffic that goes directly, and forwarded ports.
    pub choice: TrafficPolicy,
}
