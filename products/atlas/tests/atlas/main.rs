//! Tests of the program and its library.

mod engines;
mod http;
mod https;
mod pictures;
mod read;
mod served;
mod site;
