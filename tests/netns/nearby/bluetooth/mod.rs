//! What is said between those who are near.

mod pair;
