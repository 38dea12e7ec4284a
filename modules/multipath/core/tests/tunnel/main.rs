//! The tunnel over paths of all kinds, in virtual time.

mod flows;
mod simulator;

mod failures;
mod hints;
mod hostile;
mod order;
mod proof;
mod sums;
