//! Packet in, verdict, packet out: what the programs do with single packets, through
//! BPF_PROG_TEST_RUN. Needs root. docs/limits.md says which trap is tested where.

// The tables have one line a case.
#[rustfmt::skip]
mod bridged;
mod bridges;
mod checksums;
mod disturbance;
// The tables have one line a case.
#[rustfmt::skip]
mod dsa;
mod encapsulations;
mod forwarding;
// The tables have one line a case.
#[rustfmt::skip]
mod packets;
mod ports;
mod proof;
mod segments;
mod table;
mod timing;
mod window;
mod witness;
