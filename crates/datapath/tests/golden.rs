//! Packet in, packet out: what the programs do with single frames, through BPF_PROG_TEST_RUN. Needs root.

mod common;

use common::*;
use kernel::Protocol::{Tcp, Udp};

/// What the kernel would send is what weir sends, on both hooks, for every family and protocol.
#[test]
fn a_proven_flow_is_forwarded_as_the_kernel_did_it() {
    for protocol in [Tcp, Udp] {
        for ipv6 in [false, true] {
            let mut bench = Bench::new(protocol, ipv6);
            let frame = bench.outbound();
            bench.prove(&frame);
            let expected = bench.sent(&frame).bytes();
            let (action, out) = bench.xdp(&frame.bytes());
            assert_eq!(
                action,
                XDP_REDIRECT,
                "{protocol} ipv6={ipv6}: {:?}",
                bench.path.totals()
            );
            assert_eq!(out, expected, "{protocol} ipv6={ipv6} at XDP");
            let (action, out) = bench.tc(&frame.bytes());
            assert_eq!(action, TC_REDIRECT);
            assert_eq!(out, expected, "{protocol} ipv6={ipv6} at TC");
            let readings = bench.path.read(1).unwrap();
            assert_eq!(readings[0].packets, 2);
            assert_eq!(readings[0].octets, 2 * (expected.len() as u64 - 14));
        }
    }
}
