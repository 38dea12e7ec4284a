//! A captive portal: decides which devices may use a network, and until when. Pure: no clock, no
//! socket, no file.
//!
//! - [`account`]: accounts on an external server.
//! - [`attempts`]: allowances for log-in attempts.
//! - [`code`]: voucher codes.
//! - [`voucher`]: vouchers, their terms and use.
//! - [`journal`]: vouchers as lines of a file that may be cut off anywhere.
//! - [`guests`]: vouchers and their devices; `(event, now) → changes of the kernel's sets`.
//! - [`rules`]: the firewall's table, as text for `nft`.
//! - [`rates`]: rate limits of guests.
//! - [`schedule`]: closed and open hours.
//! - `radius`: requests to RADIUS servers, and their replies.
//! - [`form`]: forms of the page.
//! - [`keys`]: keys of nodes, and signatures.
//! - [`signed_voucher`]: a voucher that any node can check alone.
//! - [`pass`]: passes by which browsers are recognised.
//! - [`notes`]: notes of nodes on vouchers, and detection of double use.
//! - [`pirania`]: vouchers of an earlier portal.
//! - [`names`]: DNS answers for devices that have not logged in yet.
//! - [`walled_garden`]: networks and names that every device may reach.
//! - [`upstream`]: queries to a name server for names in the walled garden.
//! - [`page`]: the page for guests.
//! - [`picture`]: the community's picture on the page.
//! - [`statistics`]: statistics per day.
//! - [`text`]: the community's text on the page, in Markdown.

pub mod account;
pub mod attempts;
pub mod code;
pub mod form;
pub mod guests;
pub mod journal;
pub mod keys;
pub mod names;
pub mod notes;
pub mod page;
pub mod pass;
pub mod picture;
pub mod pirania;
#[cfg(feature = "radius")]
pub mod radius;
pub mod rates;
pub mod rules;
pub mod schedule;
pub mod signed_voucher;
pub mod statistics;
pub mod text;
pub mod upstream;
pub mod voucher;
pub mod walled_garden;

/// Milliseconds of a monotonic clock.
pub type Millis = u64;
