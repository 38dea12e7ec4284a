mod air;
mod captured;
mod handshakes;
mod metric;
mod parsers;
mod peers;
