//! The page's server, as browsers and attackers meet it.

mod answers;
mod flood;
mod hostile;
mod log;
mod login;
mod page;
mod support;
#[cfg(feature = "tls")]
mod tls;
