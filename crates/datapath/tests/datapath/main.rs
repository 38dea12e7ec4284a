//! The packet path's programs, frame by frame.

mod cable;
mod capture;
mod drops;
mod golden;
mod netfilter;
mod parser;
mod recorder;
mod refused;
mod tcx;
