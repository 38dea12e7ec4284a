//! The history, on disks that fill, fail and move.

mod common;
mod confined;
mod crash;
mod cut;
mod disk;
mod file;
mod keeper;
mod moved;
mod periods;
mod quota;
mod store;
