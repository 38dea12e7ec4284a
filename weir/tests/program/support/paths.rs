//! Paths of the simulated daemon.

use answers::{Candidate, ConnectionCounts, Exposure, Forward, PartnerState, Path, PathUse, Paths};

/// Returns two uplinks, one of them with a name unsafe for a terminal, and one in reserve. `looks`
/// is the number of queries so far.
pub fn paths(looks: u64) -> Paths {
    let path = |device: &str, address: &str, subflows, carried| Path {
        device: device.into(),
        address: address.parse().expect("an address"),
        gateway: None,
        subflows,
        fell_back: 0,
        strips: false,
        used: PathUse::Always,
        in_use: true,
        answers: Some(true),
        rests: false,
        backup: false,
        rtt: Some(23_400),
        sent: carried,
        received: 9 * carried,
        retransmitted: carried / 50,
        tunnel_sent: 0,
        tunnel_received: 0,
    };
    Paths {
        partner: Some("partner.example:9349".into()),
        partners: [
            ("partner.example:9349", Some(true), None),
            (
                "standby.example:9349",
                Some(false),
                Some("it is \u{1b} off"),
            ),
            ("third.example:443", None, None),
        ]
        .map(|(partner, reached, problem)| Candidate {
            partner: partner.into(),
            in_use: problem.is_none() && reached.is_some(),
            reached,
            problem: problem.map(str::to_owned),
        })
        .to_vec(),
        state: PartnerState::Connected,
        version: Some("1.2.3\u{1b}".into()),
        problem: None,
        keyless: Some("/etc/weir/multipath.key: no space left".into()),
        redirects: true,
        tunnel: true,
        connections: ConnectionCounts {
            open: 12,
            all: 3_456,
            direct: 7,
            clear: 2_900,
            refused: 1,
            sent: 1_200_000_000,
            received: 9_000_000_000,
        },
        forwards: [
            ("tcp/8022", "192.168.1.2:22", true),
            ("udp/8000-8099", "192.168.1.3", false),
        ]
        .map(|(ports, to, granted)| Forward {
            ports: ports.into(),
            to: to.into(),
            granted: Some(granted),
        })
        .to_vec(),
        paths: vec![
            path("ppp0", "198.51.100.7", 12, 800_000_000 + looks * 2_500_000),
            Path {
                fell_back: 2,
                strips: false,
                ..path(
                    "wwan\u{1b}0",
                    "203.0.113.9",
                    12,
                    100_000_000 + looks * 1_250_000,
                )
            },
            Path {
                used: PathUse::Backup,
                in_use: false,
                answers: Some(false),
                tunnel_sent: 4_200,
                backup: true,
                rtt: None,
                ..path("usb0", "2001:db8:7::2", 12, 0)
            },
        ],
        unmatched: vec!["wwan9".into()],
        twins: vec![],
        locked: true,
        stops: false,
        exposed: vec![Exposure::OthersIpv6, Exposure::Chosen, Exposure::TlsNames],
    }
}
