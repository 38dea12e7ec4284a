//! The search, in air that is made up: a few lines of arithmetic. The real test is in a machine
//! with hwsim.

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
