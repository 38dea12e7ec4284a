mod air;
mod handshakes;
mod parsers;
mod peers;
