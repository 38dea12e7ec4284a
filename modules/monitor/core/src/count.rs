//! Packets and bytes.

use std::ops::AddAssign;

/// Packets and bytes one way. Bytes are those of IP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// IP packets, as on the wire.
    pub packets: u64,
    /// Bytes, from the first one of the IP header.
    pub bytes: u64,
}

impl Count {
    /// Returns true if nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, more: Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }
}

/// Traffic in both directions, as the station sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Traffic from the station, which entered the router.
    pub sent: Count,
    /// Traffic to the station: went out.
    pub received: Count,
}

impl Counts {
    /// Returns the sum of both directions.
    pub fn sum(&self) -> Count {
        let mut sum = self.sent;
        sum += self.received;
        sum
    }

    /// Returns the growth since an earlier count.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let since = |now: Count, before: Count| Count {
            packets: now.packets.saturating_sub(before.packets),
            bytes: now.bytes.saturating_sub(before.bytes),
        };
        Self {
            sent: since(self.sent, before.sent),
            received: since(self.received, before.received),
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.sent += more.sent;
        self.received += more.received;
    }
}

/// Traffic of a station, by where it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Traffic that crossed an uplink.
    pub internet: Counts,
    /// Traffic that did not: with other stations, the router itself, groups.
    pub lan: Counts,
}

impl Traffic {
    /// Creates Internet traffic, or LAN traffic.
    pub fn new(more: Counts, crosses: bool) -> Self {
        let mut traffic = Self::default();
        *traffic.side(crosses) = more;
        traffic
    }

    /// Returns the part that crossed an uplink, or the other part.
    pub fn side(&mut self, crosses: bool) -> &mut Counts {
        match crosses {
            true => &mut self.internet,
            false => &mut self.lan,
        }
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, more: Self) {
        self.internet += more.internet;
        self.lan += more.lan;
    }
}
