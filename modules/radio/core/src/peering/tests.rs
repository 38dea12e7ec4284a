mod air;
mod captured;
mod clear;
mod handshakes;
mod metric;
mod parsers;
mod peers;
