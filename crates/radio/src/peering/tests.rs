mod air;
mod captured;
mod handshakes;
mod parsers;
mod peers;
