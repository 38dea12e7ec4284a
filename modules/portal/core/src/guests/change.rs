//! Changes that follow from an event, and reasons to refuse one.

use std::net::IpAddr;

use kernel::Mac;

use crate::Millis;
use crate::voucher::Voucher;

/// Action that follows from an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Admit a device for a time in milliseconds; `None`: for ever.
    Admit(Mac, Option<Millis>),
    /// The device has this address.
    AddAddress(Mac, IpAddr, Option<Millis>),
    /// The device no longer has this address.
    RemoveAddress(Mac, IpAddr),
    /// Stop admitting a device.
    Block(Mac),
    /// Connections of this address end.
    EndConnections(IpAddr),
    /// Persist the present state of a voucher.
    Persist(Box<Voucher>),
}

/// Reason to refuse a log-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The text is not a code: no voucher here has a code of this form.
    InvalidCode,
    /// The voucher is unknown.
    Unknown,
    /// The voucher's time is over.
    Expired,
    /// The voucher was revoked.
    Revoked,
}
