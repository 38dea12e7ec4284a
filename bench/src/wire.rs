//! The check beside the timing: what reached the server must be what a router makes of what the client sent.

use std::collections::BTreeSet;

use datapath::bench::Sample;
use lab::topology::mac;
use lab::view::{View, fold};

use crate::Error;
use crate::traffic::{FIRST_PORT, Kind, SERVICE};

/// Checks sampled packets: MACs, TTL, addresses, ports, length, and both checksums where all octets are at hand.
pub fn check(kind: &Kind, samples: &[Sample]) -> Result<(), Error> {
    if samples.is_empty() {
        return Err(Error::Wrong("no packet reached the server".into()));
    }
    let mut ports = BTreeSet::new();
    for sample in samples {
        let port = check_one(kind, sample).map_err(|what| {
            Error::Wrong(format!(
                "a packet reached the server {what}:\n{}",
                lab::view::hex(&sample.head)
            ))
        })?;
        ports.insert(port);
    }
    let expected = samples.len().min(kind.flows as usize);
    // Packets keep their order on one core, so consecutive ones are of different flows.
    if ports.len() < expected {
        return Err(Error::Wrong(format!(
            "{} ports in {} packets of {} flows",
            ports.len(),
            samples.len(),
            kind.flows
        )));
    }
    Ok(())
}

fn check_one(kind: &Kind, sample: &Sample) -> Result<u16, String> {
    let frame = &sample.head;
    let view = View::of(frame).ok_or("that is not IP")?;
    let (original, reply) = kind.tuples(0);
    if sample.length as usize != kind.length {
        return Err(format!(
            "{} octets long, not {}",
            sample.length, kind.length
        ));
    }
    let ends = [mac("server", "eth0"), mac("router", "wan0")].concat();
    if frame[..12] != ends[..] {
        return Err("with wrong MAC addresses".into());
    }
    if view.ttl != 63 {
        return Err(format!("with TTL {}", view.ttl));
    }
    if (view.from, view.to) != (reply.destination, original.destination) {
        return Err(format!("from {} to {}", view.from, view.to));
    }
    if !kind.ipv6 && fold(0, &frame[14..34]) != 0xffff {
        return Err("with a wrong header checksum".into());
    }
    // A sample may lack the end of the payload, which is all one octet.
    let mut whole = frame.clone();
    whole.resize(sample.length as usize, 0x5a);
    let whole_view = View::of(&whole).ok_or("that is not IP")?;
    if whole_view.residue(&whole) != Some(0xffff) {
        return Err("with a wrong UDP checksum".into());
    }
    match view.ports {
        Some((from, SERVICE)) if (FIRST_PORT..FIRST_PORT + kind.flows as u16).contains(&from) => {
            Ok(from)
        }
        ports => Err(format!("with ports {ports:?}")),
    }
}
