//! Frames for the classifier of ports, and what it is compared with.

pub mod build;
pub mod model;
pub mod sorts;
