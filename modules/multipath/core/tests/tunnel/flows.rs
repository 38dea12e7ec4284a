//! Flows: one that sends at a fixed rate, and one that behaves like TCP.

use std::collections::{BTreeMap, BTreeSet};

use weir_multipath_core::tunnel::Micros;

/// Packets of data, bytes.
pub const SIZE: usize = 1400;
const ACKNOWLEDGES: usize = 60;
/// Acknowledgements of later packets after which a packet counts as lost.
const THRESHOLD: u32 = 3;

/// Content of a packet.
pub struct Packet {
    pub flow: usize,
    pub number: u32,
    pub length: usize,
    pub sent: Micros,
}

impl Packet {
    pub fn read(octets: &[u8]) -> Packet {
        let number = |at: usize, length: usize| {
            octets[at..at + length]
                .iter()
                .fold(0u64, |number, octet| number << 8 | u64::from(*octet))
        };
        Packet {
            flow: number(22, 2) as usize,
            number: number(28, 4) as u32,
            length: octets.len(),
            sent: number(32, 8),
        }
    }

    /// IPv4 and UDP; the flow is the second port, and the way the first.
    fn write(flow: usize, number: u32, way: u16, length: usize, tos: u8, sent: Micros) -> Vec<u8> {
        let mut octets = vec![0; length];
        octets[..2].copy_from_slice(&[0x45, tos]);
        octets[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        octets[8..10].copy_from_slice(&[64, 17]);
        octets[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        octets[20..22].copy_from_slice(&way.to_be_bytes());
        octets[22..24].copy_from_slice(&(flow as u16).to_be_bytes());
        octets[28..32].copy_from_slice(&number.to_be_bytes());
        octets[32..40].copy_from_slice(&sent.to_be_bytes());
        octets
    }
}

/// A window that opens and closes (RFC 5681, with selective acknowledgement).
#[derive(Clone, Debug, Default)]
struct Tcp {
    window: f64,
    threshold: f64,
    /// Time of sending of each packet.
    outstanding: BTreeMap<u32, Micros>,
    recovers: u32,
    heard: Micros,
    patience: Micros,
    trip: Micros,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Packets of so many bytes, one per so many microseconds.
    Constant {
        size: usize,
        each: Micros,
        tos: u8,
    },
    Greedy(Tcp),
}

#[derive(Clone, Debug)]
pub struct Flow {
    kind: Kind,
    pub begins: Micros,
    pub ends: Micros,
    next: u32,
    owed: bool,
    /// Bytes received, by 10 ms.
    received: BTreeMap<u64, u64>,
    seen: BTreeSet<u32>,
    highest: Option<u32>,
    /// Packets behind a later one, and repeated packets.
    pub overtaken: u64,
    pub twice: u64,
    last: Micros,
    pub silence: Micros,
    /// The longest that a packet took.
    pub slowest: Micros,
}

impl Flow {
    fn of(kind: Kind) -> Flow {
        Flow {
            kind,
            begins: 500_000,
            ends: Micros::MAX,
            next: 0,
            owed: false,
            received: BTreeMap::new(),
            seen: BTreeSet::new(),
            highest: None,
            overtaken: 0,
            twice: 0,
            last: 0,
            silence: 0,
            slowest: 0,
        }
    }

    pub fn greedy() -> Flow {
        Flow::of(Kind::Greedy(Tcp {
            window: 10.0,
            threshold: 1e9,
            patience: 1_000_000,
            ..Tcp::default()
        }))
    }

    /// Creates a flow of a fixed rate, bytes per second.
    pub fn constant(size: usize, rate: u64) -> Flow {
        let each = size as u64 * 1_000_000 / rate;
        Flow::of(Kind::Constant { size, each, tos: 0 })
    }

    pub fn marked(mut self, new: u8) -> Flow {
        if let Kind::Constant { tos, .. } = &mut self.kind {
            *tos = new;
        }
        self
    }

    pub fn begins(mut self, at: Micros) -> Flow {
        self.begins = at;
        self
    }

    pub fn ends(mut self, at: Micros) -> Flow {
        self.ends = at;
        self
    }

    pub fn sent(&self) -> u32 {
        self.next
    }

    pub fn distinct(&self) -> usize {
        self.seen.len()
    }

    pub fn goodput(&self, from: Micros, to: Micros) -> u64 {
        let range = from / 10_000..to / 10_000;
        self.received
            .range(range)
            .map(|(_, octets)| octets)
            .sum::<u64>()
            * 1_000_000
            / (to - from)
    }

    /// Handles the passing of time; returns the time of the next call.
    pub fn tick(&mut self, now: Micros) -> Option<Micros> {
        if now >= self.ends {
            return None;
        }
        match &mut self.kind {
            Kind::Constant { each, .. } => {
                self.owed = true;
                Some(now + *each)
            }
            Kind::Greedy(tcp) => {
                // Timeout: begin again (RFC 6298).
                if !tcp.outstanding.is_empty() && now >= tcp.heard + tcp.patience {
                    tcp.threshold = (tcp.window / 2.0).max(2.0);
                    tcp.window = 2.0;
                    tcp.outstanding.clear();
                    tcp.recovers = self.next;
                    tcp.heard = now;
                    tcp.patience *= 2;
                }
                Some(now + 5_000)
            }
        }
    }

    /// Returns the next packet, if one is to be sent now.
    pub fn send(&mut self, flow: usize, now: Micros) -> Option<Vec<u8>> {
        let (size, tos) = match &mut self.kind {
            _ if now >= self.ends => return None,
            Kind::Constant { size, tos, .. } => {
                if !std::mem::take(&mut self.owed) {
                    return None;
                }
                (*size, *tos)
            }
            Kind::Greedy(tcp) => {
                if tcp.outstanding.len() as f64 >= tcp.window {
                    return None;
                }
                if tcp.outstanding.is_empty() {
                    tcp.heard = now;
                }
                tcp.outstanding.insert(self.next, now);
                (SIZE, 0)
            }
        };
        self.next += 1;
        Some(Packet::write(flow, self.next - 1, 1, size, tos, now))
    }

    /// Takes a packet that arrived; returns its acknowledgement.
    pub fn received(&mut self, packet: &Packet, now: Micros) -> Option<Vec<u8>> {
        if !self.seen.insert(packet.number) {
            self.twice += 1;
            return None;
        }
        if self.highest.is_some_and(|highest| packet.number < highest) {
            self.overtaken += 1;
        }
        self.highest = self.highest.max(Some(packet.number));
        *self.received.entry(now / 10_000).or_default() += packet.length as u64;
        if self.last != 0 {
            self.silence = self.silence.max(now - self.last);
        }
        self.last = now;
        self.slowest = self.slowest.max(now - packet.sent);
        let greedy = matches!(self.kind, Kind::Greedy(_));
        greedy.then(|| Packet::write(packet.flow, packet.number, 2, ACKNOWLEDGES, 0, packet.sent))
    }

    pub fn acknowledged(&mut self, packet: &Packet, now: Micros) {
        let Kind::Greedy(tcp) = &mut self.kind else {
            return;
        };
        tcp.heard = now;
        tcp.trip = if tcp.trip == 0 {
            now - packet.sent
        } else {
            (7 * tcp.trip + now - packet.sent) / 8
        };
        tcp.patience = 200_000 + tcp.trip;
        if tcp.outstanding.remove(&packet.number).is_none() {
            return;
        }
        tcp.window += if tcp.window < tcp.threshold {
            1.0
        } else {
            1.0 / tcp.window
        };
        let lost: Vec<u32> = tcp
            .outstanding
            .range(..packet.number.saturating_sub(THRESHOLD))
            .map(|(number, _)| *number)
            .collect();
        for number in lost {
            tcp.outstanding.remove(&number);
            if number >= tcp.recovers {
                tcp.recovers = self.next;
                tcp.window = (tcp.window * 0.7).max(2.0);
                tcp.threshold = tcp.window;
            }
        }
    }
}
