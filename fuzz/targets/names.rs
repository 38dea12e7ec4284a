//! Messages of stations and name servers, and files of leases: harmless names, or none; never a
//! panic, and bounded state. The first byte chooses the reader; for whole packets, an input has
//! several, each behind its length, its direction, and its number in the flow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_core::names::quic::Initials;
use monitor_core::names::{
    Direction, LIMIT, MOST_FLOWS, MOST_QUESTIONS, NameEntry, NameObservation, Names, Outcome,
    Packet, PacketMeta, Reader, Source, dhcp, dns, hosts, http, leases, mdns, tls,
};

fn plain(name: &str) {
    assert!(!name.is_empty() && name.len() <= 253, "{name:?}");
    assert!(!name.chars().any(char::is_control), "{name:?}");
    let steers = |char| matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert!(!name.chars().any(steers), "{name:?}");
}

fn host(name: &str) {
    plain(name);
    let fits =
        |octet: u8| octet.is_ascii_lowercase() || octet.is_ascii_digit() || b".-_".contains(&octet);
    assert!(name.bytes().all(fits), "{name:?}");
}

/// Checks that a result from a prefix is the result for every continuation.
fn beginning<T: PartialEq + std::fmt::Debug>(
    octets: &[u8],
    read: impl Fn(&[u8]) -> Outcome<T>,
    name: impl Fn(&T) -> &str,
) {
    let whole = read(octets);
    if let Outcome::Found(found) = &whole {
        host(name(found));
    }
    let half = read(&octets[..octets.len() / 2]);
    match (&half, &whole) {
        (Outcome::NeedMore, _) => {}
        (Outcome::Found(half), Outcome::Found(whole)) => assert_eq!(name(half), name(whole)),
        (half, whole) => assert_eq!(half, whole),
    }
}

fn packets(mut data: &[u8]) {
    let mut reader = Reader::new();
    let mut names = Names::new(64);
    let mut now = 0;
    while let Some((&[high, low, how], rest)) = data.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
        let (octets, rest) = rest.split_at(length);
        data = rest;
        // Seven bits: time and number.
        now += u64::from(how >> 4) * 1000;
        let direction = if how & 1 == 0 {
            Direction::FromStation
        } else {
            Direction::ToStation
        };
        let Some(packet) = Packet::read(octets) else {
            continue;
        };
        let meta = PacketMeta::new(
            0,
            [2, 0, 0x5e, 0x10, 0, 1],
            direction,
            how >> 1 & 7,
            &packet,
        );
        for learned in reader.packet(&meta, packet.payload, now) {
            match &learned {
                NameObservation::DeviceName { name, .. } => plain(name),
                NameObservation::RemoteName { name, .. }
                | NameObservation::FlowName { name, .. } => host(name),
            }
            names.learn(&learned, now);
        }
        assert!(reader.waiting() <= MOST_FLOWS && names.far_ends() <= 64);
        assert!(reader.asked() <= MOST_QUESTIONS);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, data)) = data.split_first() else {
        return;
    };
    match kind % 10 {
        0 => {
            let _ = dns::question(data);
            if let Ok(Some(answer)) = dns::read(data) {
                host(&answer.name);
            }
        }
        1 => {
            if let Ok(told) = mdns::read(data) {
                told.hosts.iter().for_each(|(name, _)| plain(name));
                told.servers.iter().for_each(|name| plain(name));
            }
        }
        2 => {
            if let Some(name) = dhcp::read(data).and_then(|message| message.name) {
                plain(&name);
            }
        }
        3 => beginning(data, tls::read, |hello| &hello.name),
        4 => beginning(data, http::read, |name| name),
        5 => {
            let mut initials = Initials::default();
            for datagram in data.chunks(1500) {
                if let Outcome::Found(hello) = initials.datagram(datagram) {
                    host(&hello.name);
                }
            }
        }
        6 => beginning(&data[..data.len().min(LIMIT)], tls::hello, |hello| {
            &hello.name
        }),
        7 | 8 => {
            let files = match kind % 10 {
                7 => [leases::dnsmasq(data), leases::odhcpd(data)],
                _ => [hosts::hosts(data), hosts::ethers(data)],
            };
            let mut names = Names::default();
            for file in files {
                for NameEntry { mac, address, name } in &file.entries {
                    assert!(
                        [mac.is_some(), address.is_some(), name.is_some()]
                            .iter()
                            .filter(|&&there| there)
                            .count()
                            >= 2
                    );
                    name.iter().for_each(|name| plain(name));
                }
                names.replace(Source::Hosts, file.entries);
            }
        }
        _ => packets(data),
    }
});
