//! The page's server, as seen by browsers and attackers.

mod answers;
mod flood;
mod hostile;
mod log;
mod login;
mod page;
mod support;
#[cfg(feature = "tls")]
mod tls;
