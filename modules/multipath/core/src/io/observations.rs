//! Observations of a partner about its routers, stored for other commands. Pure.

use std::fmt;

use crate::key::KeyId;
use crate::net::TunnelNet;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observations {
    /// Time of writing, seconds since 1970.
    pub at: u64,
    /// The partner serves, or did when this was written.
    pub serves: bool,
    /// Networks of the tunnel.
    pub net: TunnelNet,
    /// Figures of each router that ever connected.
    pub routers: Vec<(KeyId, RouterCounters)>,
}

/// Figures of a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterCounters {
    /// Time of the last sign of the router, seconds since 1970.
    pub last: u64,
    /// Payload sent to the router, bytes: of connections, and packets of the tunnel.
    pub sent: u64,
    /// Payload received from the router, bytes.
    pub received: u64,
    /// Open connections.
    pub open: u64,
    /// The router was connected at the time of writing.
    pub connected: bool,
}

impl Observations {
    /// Returns the figures of a router; `None`: never connected.
    pub fn of(&self, id: KeyId) -> Option<RouterCounters> {
        let mut routers = self.routers.iter();
        routers.find(|(it, _)| *it == id).map(|(_, seen)| *seen)
    }

    /// Parses the text and skips malformed lines; `None`: the first line is malformed.
    pub fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut front = lines.next()?.split(' ');
        let (at, word) = (front.next()?.parse().ok()?, front.next()?);
        let ipv4 = front.next()?.parse().ok()?;
        let ipv6 = front.next().and_then(|net| net.parse().ok());
        let router = |line: &str| {
            let (id, rest) = line.split_once(' ')?;
            let mut numbers = rest.split(' ').map(|number| number.parse().ok());
            let mut next = || numbers.next().flatten();
            let figures = RouterCounters {
                last: next()?,
                sent: next()?,
                received: next()?,
                open: next()?,
                connected: next()? == 1,
            };
            Some((id.parse().ok()?, figures))
        };
        Some(Self {
            at,
            serves: word == "serves",
            net: TunnelNet { ipv4, ipv6 },
            routers: lines.filter_map(router).collect(),
        })
    }
}

impl fmt::Display for Observations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.serves { "serves" } else { "ended" };
        write!(formatter, "{} {word} {}", self.at, self.net.ipv4)?;
        match self.net.ipv6 {
            Some(ipv6) => writeln!(formatter, " {ipv6}")?,
            None => writeln!(formatter)?,
        }
        self.routers.iter().try_for_each(|(id, seen)| {
            let RouterCounters {
                last,
                sent,
                received,
                open,
                connected,
            } = seen;
            let connected = u8::from(*connected);
            writeln!(
                formatter,
                "{id} {last} {sent} {received} {open} {connected}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read() {
        let figures = RouterCounters {
            last: 1000,
            sent: 5,
            received: u64::MAX,
            open: 2,
            connected: true,
        };
        let seen = Observations {
            at: 1010,
            serves: true,
            net: TunnelNet {
                ipv4: "10.93.0.0/16".parse().expect("a network"),
                ipv6: Some("fd93::/64".parse().expect("a network")),
            },
            routers: vec![
                (KeyId([7; 8]), figures),
                (KeyId([8; 8]), RouterCounters::default()),
            ],
        };
        assert_eq!(Observations::read(&seen.to_string()).as_ref(), Some(&seen));
        assert_eq!(seen.of(KeyId([7; 8])), Some(figures));
        assert_eq!(seen.of(KeyId([9; 8])), None);
        for wrong in ["", "\n", "x serves 10.0.0.0/8", "1 serves", "1"] {
            assert_eq!(Observations::read(wrong), None, "{wrong:?}");
        }
        let half = "1 serves 10.0.0.0/8\n0707070707070707 1 2 3 4\n";
        let half = Observations::read(half).expect("some of it");
        assert!(half.routers.is_empty() && half.net.ipv6.is_none());
    }
}
