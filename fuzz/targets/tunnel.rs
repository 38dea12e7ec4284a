//! Datagrams of a tunnel: raw ones, and properly sealed ones with any body, as a compromised
//! partner might send. Never a panic, no unbounded growth, and no packet passed on that was not in
//! a datagram. The first byte of each step is its kind, the second its length.
#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use multipath_core::tunnel::body::{Body, Kind};
use multipath_core::tunnel::{
    Codec, DatagramKeys, PathSettings, Role, Settings, Tunnel, datagram::LONGEST,
};

const SESSION: u64 = 7;

fn keys(seal: u8, open: u8) -> DatagramKeys {
    DatagramKeys {
        seal: [seal; 32],
        open: [open; 32],
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, mut data)) = data.split_first() else {
        return;
    };
    let role = [Role::Router, Role::Partner][usize::from(first & 1)];
    let mut tunnel = Tunnel::new(role, SESSION, &keys(1, 2), Settings::default());
    let other = Codec::new(SESSION, &keys(2, 1));
    let remote = SocketAddr::from(([192, 0, 2, 1], 9347));
    let elsewhere = SocketAddr::from(([198, 51, 100, 1], 9347));
    let settings = PathSettings {
        remote,
        longest: 1472,
        weight: 100,
        backup: first & 2 != 0,
        metered: first & 4 != 0,
        rate_out: (first & 8 != 0).then_some(1_000_000),
        rate_in: None,
    };
    let (mut now, mut counter, mut given) = (0u64, 0u64, 0usize);
    let mut buffer = [0; LONGEST];
    let mut taken = 0;
    while let Some((&[what, length], rest)) = data.split_first_chunk() {
        let (octets, rest) = rest.split_at(usize::from(length).min(rest.len()));
        data = rest;
        let path = what >> 4 & 3;
        match what & 15 {
            0 => {
                let _ = tunnel.add_path(path, settings, now);
            }
            1 => {
                let _ = tunnel.remove_path(path, now);
            }
            2 => {
                let _ = tunnel.packet_in(octets, now);
            }
            3 => now += u64::from(length) * 5_000,
            4 => {
                let mut raw = octets.to_vec();
                let refused = tunnel.datagram_in(remote, &mut raw, now, &mut |_| given += 1);
                // The codec of the other end has not sealed this datagram.
                assert!(refused.is_err());
            }
            kind => {
                let Some(body) = Kind::of(kind - 4).and_then(|kind| Body::read(kind, octets))
                else {
                    continue;
                };
                let mut again = vec![0; body.length()];
                body.write(&mut again);
                assert_eq!(again, octets);
                taken += usize::from(matches!(body, Body::Packet(..)));
                counter += 1;
                let length = other.seal(path, counter, &body, &mut buffer).unwrap();
                let datagram = &mut buffer[..length];
                // Sometimes from a forged address.
                let from = [remote, elsewhere][usize::from(what >> 6 & 1)];
                let _ = tunnel.datagram_in(from, datagram, now, &mut |_| given += 1);
            }
        }
        tunnel.tick(now, &mut |_| given += 1);
        let mut sent = 0;
        while tunnel.send(now, &mut buffer).is_some() {
            sent += 1;
            assert!(sent < 1000, "it sends for ever");
        }
        while tunnel.event().is_some() {}
        assert!(given <= taken, "{given} packets of {taken} datagrams");
        let _ = tunnel.next(now);
        assert!(tunnel.paths().count() <= 4);
    }
});
