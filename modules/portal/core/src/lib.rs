//! A captive portal: who may use a network, until when. Pure: no clock, no socket, no file.
//!
//! - [`account`]: who has an account elsewhere, and what is said of it.
//! - [`attempts`]: which log-in attempts share an allowance.
//! - [`code`]: what people type.
//! - [`voucher`]: what was sold, and what became of it.
//! - [`journal`]: vouchers as lines of a file that may be cut off anywhere.
//! - [`guests`]: vouchers and the devices that came with them; `(what happened, now) → changes of
//!   the kernel's sets`.
//! - [`rules`]: the firewall's table, as text for `nft`.
//! - [`rates`]: how fast guests are.
//! - [`schedule`]: hours in which nobody gets in, or everybody.
//! - `radius`: what a RADIUS server is asked of an account, and what it says.
//! - [`form`]: what a form of the page sends.
//! - [`keys`]: keys of nodes, and what is signed by them.
//! - [`signed`]: a voucher that any node can check alone.
//! - [`pass`]: what a browser keeps, so that its device is known again.
//! - [`notes`]: what nodes tell each other of vouchers, and who used one twice.
//! - [`pirania`]: vouchers of a former portal.
//! - [`names`]: DNS answers for devices that have not logged in yet.
//! - [`garden`]: what everybody may reach, by network or by name.
//! - [`upstream`]: what a name server says of a name of the garden.
//! - [`page`]: what it is shown.
//! - [`picture`]: a community's picture there.
//! - [`figures`]: how many came by day, for how long.
//! - [`text`]: what a community says there, in Markdown.

pub mod account;
pub mod attempts;
pub mod code;
pub mod figures;
pub mod form;
pub mod garden;
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
pub mod signed;
pub mod text;
pub mod upstream;
pub mod voucher;

/// Milliseconds of a clock that only goes forward, since some beginning.
pub type Millis = u64;
