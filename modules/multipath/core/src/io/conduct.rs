//! What goes where.

use std::time::Duration;

use crate::choice::Choice;
use crate::encrypt::Encrypt;

/// What goes where, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conduct {
    /// While the partner is not reached, connections go directly; else they are refused.
    pub fall_back: bool,
    /// What is not TCP, and went directly while there was no tunnel, goes by it when it is back.
    pub returns: bool,
    /// What is encrypted on its way to the partner.
    pub encrypt: Encrypt,
    /// How long the keys of a session are used.
    pub renew: Duration,
    /// What goes directly, and what comes in.
    pub choice: Choice,
}
