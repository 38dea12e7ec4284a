//! Number of guests by day.

use serde::{Deserialize, Serialize};

/// Answer to `GET /v1/portal/figures`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalFigures {
    /// Days on which the portal was open, the oldest first.
    pub days: Vec<PortalDay>,
}

/// A day, by the router's zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalDay {
    /// Date, such as "2026-11-24".
    pub day: String,
    /// Devices that had access.
    pub guests: u64,
    /// Number of logins.
    pub log_ins: u64,
    /// Seconds with traffic, summed over all devices: to the minute.
    pub seconds: u64,
    /// Bytes that guests sent and received.
    pub bytes: u64,
    /// Vouchers sold.
    pub sold: u64,
}
