//! The search, in simulated air: a few lines of arithmetic. The real test runs in a machine with
//! hwsim.

mod air;
mod bench;
mod compare;
mod cost;
mod each;
mod guards;
mod loud;
mod neighbours;
mod picture;
mod rates;
mod restless;
mod search;
mod shapes;
