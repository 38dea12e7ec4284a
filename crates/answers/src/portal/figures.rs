//! How many guests came by day.

use serde::{Deserialize, Serialize};

/// `GET /v1/portal/figures`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalFigures {
    /// Days on which the portal was open, the oldest first.
    pub days: Vec<PortalDay>,
}

/// A day, by the router's zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalDay {
    /// Such as "2026-11-24".
    pub day: String,
    /// Devices that were in.
    pub guests: u64,
    /// How often somebody was let in.
    pub log_ins: u64,
    /// Seconds in which they moved anything, of all devices together: to the minute.
    pub seconds: u64,
    /// Bytes that they sent and received.
    pub bytes: u64,
    /// Vouchers that were sold.
    pub sold: u64,
}
