//! Packet in, verdict, packet out: the behaviour of the programs for single packets, through
//! BPF_PROG_TEST_RUN. Needs root. docs/limits.md lists the traps with their tests.

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
