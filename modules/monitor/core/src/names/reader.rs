//! Extracts names from copied packets.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use kernel::Mac;

use super::bounded::Bounded;
use super::message::Malformed;
use super::packet::{Packet, UDP};
use super::questions::Questions;
use super::quic::Initials;
use super::reassembly::{LIMIT, Reassembly};
use super::sampling::{DATAGRAMS, Direction, PacketSummary, SEGMENTS, SampleKind, wanted};
use super::{Client, FlowKey, FlowNameSource, Millis, NameObservation, Outcome, Source};
use super::{dhcp, dns, http, mdns, tls};

/// Maximum number of flows in reassembly. Each holds at most [`LIMIT`] bytes.
pub const MOST_FLOWS: usize = 128;
/// Maximum wait for the missing part of a flow's first bytes.
pub const PATIENCE: Millis = 10_000;

/// Place of observation and headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMeta {
    /// Hardware address of the station; for packets to all stations, that of the group.
    pub mac: Mac,
    /// Direction of the packet.
    pub direction: Direction,
    /// The flow.
    pub flow: FlowKey,
    /// For TCP, number of the first byte of the payload ([`Packet::sequence`]).
    pub sequence: u32,
    /// Earlier packets with payload of the flow in this direction; 255 also means more. 0 if the
    /// packet path only passes early packets, because the reader then counts the packets.
    pub before: u8,
}

impl PacketMeta {
    /// Reads the headers of a packet seen at `place` (see [`FlowKey::observation_point`]).
    pub fn new(
        place: u64,
        mac: Mac,
        direction: Direction,
        before: u8,
        packet: &Packet<'_>,
    ) -> Self {
        let source = (packet.source, packet.source_port);
        let destination = (packet.destination, packet.destination_port);
        let ((station, station_port), (far, remote_port)) = match direction {
            Direction::FromStation => (source, destination),
            Direction::ToStation => (destination, source),
        };
        Self {
            mac,
            direction,
            flow: FlowKey {
                observation_point: place,
                protocol: packet.protocol,
                station,
                station_port,
                remote: far,
                remote_port,
            },
            sequence: packet.sequence,
            before,
        }
    }

    /// Returns true for the last of `most` copied packets.
    fn is_last(&self, most: u8) -> bool {
        self.before >= most - 1
    }

    fn sight(&self, payload: &[u8]) -> PacketSummary {
        PacketSummary {
            direction: self.direction,
            protocol: self.flow.protocol,
            station_port: self.flow.station_port,
            remote_port: self.flow.remote_port,
            before: self.before,
            first: payload.first().copied(),
        }
    }
}

/// Number of packets by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderCounters {
    /// Packets without use: they should not have been copied.
    pub unwanted: u64,
    /// Read without finding a name: questions, goodbyes, hellos without a name, flows that are not
    /// TLS or HTTP, packets after the hello of a QUIC flow.
    pub nameless: u64,
    /// Answers of name servers without a query.
    pub unasked: u64,
    /// Packets of another protocol, or damaged.
    pub malformed: u64,
    /// Packets that are incomplete without further ones.
    pub incomplete: u64,
    /// Found names of devices, remote ends and flows.
    pub names: u64,
    /// Flows whose first bytes were given up: they did not arrive, or too many flows waited.
    pub abandoned: u64,
}

/// Parser of packets. Stores only beginnings that span several packets: at most [`MOST_FLOWS`]
/// times slightly more than 4 KB.
#[derive(Debug)]
pub struct Reader {
    begun: Bounded<FlowKey, PendingFlow>,
    questions: Questions,
    /// Finished QUIC flows, and the time of their end: packets after a hello have other keys, or
    /// repeat it.
    done: Bounded<FlowKey, Millis>,
    tally: ReaderCounters,
}

#[derive(Debug)]
struct PendingFlow {
    since: Millis,
    packets: u8,
    what: FlowStart,
}

#[derive(Debug)]
enum FlowStart {
    /// Pieces of a stream, and the number of the first byte.
    Stream(u32, Reassembly),
    Quic(Initials),
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// Creates an empty reader.
    pub fn new() -> Self {
        Self {
            begun: Bounded::new(MOST_FLOWS),
            questions: Questions::new(),
            done: Bounded::new(2 * MOST_FLOWS),
            tally: ReaderCounters::default(),
        }
    }

    /// Returns the number of packets by result.
    pub fn tally(&self) -> ReaderCounters {
        self.tally
    }

    /// Questions that are not answered yet.
    pub fn asked(&self) -> usize {
        self.questions.len()
    }

    /// Returns the number of flows whose first bytes are incomplete.
    pub fn waiting(&self) -> usize {
        self.begun.len()
    }

    /// Reads one packet. `payload` is behind the UDP or TCP header, and may be cut to
    /// [`SampleKind::longest`]. `now` is any clock that does not go back.
    pub fn packet(
        &mut self,
        meta: &PacketMeta,
        payload: &[u8],
        now: Millis,
    ) -> Vec<NameObservation> {
        self.forget(now);
        let Some(kind) = wanted(&meta.sight(payload)) else {
            self.tally.unwanted += 1;
            return Vec::new();
        };
        let learned = match kind {
            SampleKind::Question => self.question(meta, payload, now),
            SampleKind::Dns => self.dns(meta, payload),
            SampleKind::Mdns => self.mdns(meta, payload),
            SampleKind::Dhcp => self.dhcp(meta, payload),
            SampleKind::Stream => self.stream(meta, payload, now),
            SampleKind::Quic => self.quic(meta, payload, now),
        };
        self.tally.names += learned.len() as u64;
        learned
    }

    /// Drops beginnings that were not completed in time.
    fn forget(&mut self, now: Millis) {
        self.questions.forget(now);
        while let Some((key, begun)) = self.begun.oldest()
            && now.saturating_sub(begun.since) > PATIENCE
        {
            self.begun.remove(&key);
            self.tally.abandoned += 1;
        }
        // Ports are used again.
        while let Some((key, since)) = self.done.oldest()
            && now.saturating_sub(*since) > PATIENCE
        {
            self.done.remove(&key);
        }
    }

    fn question(&mut self, meta: &PacketMeta, payload: &[u8], now: Millis) -> Vec<NameObservation> {
        match dns::question(payload) {
            Ok(Some(question)) => self.questions.ask(meta.flow, meta.mac, question, now),
            Ok(None) => self.tally.nameless += 1,
            Err(Malformed) => self.tally.malformed += 1,
        }
        Vec::new()
    }

    fn dns(&mut self, meta: &PacketMeta, payload: &[u8]) -> Vec<NameObservation> {
        let answer = match dns::read(payload) {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                self.tally.nameless += 1;
                return Vec::new();
            }
            Err(Malformed) => {
                self.tally.malformed += 1;
                return Vec::new();
            }
        };
        if !(self.questions).answered(meta.flow, meta.mac, &answer.question) {
            self.tally.unasked += 1;
            return Vec::new();
        }
        self.tally.malformed += u64::from(answer.damaged);
        let name: Arc<str> = answer.name.into();
        let mut seen = HashSet::new();
        let learned = |(address, ttl): (IpAddr, u32)| NameObservation::RemoteName {
            client: Client::new(meta.mac, meta.flow.station),
            address,
            name: name.clone(),
            ttl,
        };
        // Names are blocked by giving them such addresses.
        let real = |address: &IpAddr| {
            !(address.is_unspecified() || address.is_loopback() || address.is_multicast())
        };
        answer
            .addresses
            .into_iter()
            .filter(|(address, _)| real(address) && seen.insert(*address))
            .map(learned)
            .collect()
    }

    fn mdns(&mut self, meta: &PacketMeta, payload: &[u8]) -> Vec<NameObservation> {
        let Ok(told) = mdns::read(payload) else {
            self.tally.malformed += 1;
            return Vec::new();
        };
        self.tally.malformed += u64::from(told.damaged);
        match told.of_sender(meta.flow.station) {
            Some(name) => vec![NameObservation::DeviceName {
                mac: meta.mac,
                name: name.to_owned(),
                source: Source::Mdns,
            }],
            None => {
                self.tally.nameless += 1;
                Vec::new()
            }
        }
    }

    fn dhcp(&mut self, meta: &PacketMeta, payload: &[u8]) -> Vec<NameObservation> {
        let Some(message) = dhcp::read(payload) else {
            self.tally.nameless += 1;
            return Vec::new();
        };
        // A device speaks for itself only.
        let fits = message.kind != dhcp::MessageType::Ack && message.mac == meta.mac;
        match message.name.filter(|_| fits) {
            Some(name) => vec![NameObservation::DeviceName {
                mac: message.mac,
                name,
                source: Source::Dhcp,
            }],
            None => {
                self.tally.nameless += 1;
                Vec::new()
            }
        }
    }

    fn stream(&mut self, meta: &PacketMeta, payload: &[u8], now: Millis) -> Vec<NameObservation> {
        if let Some(begun) = self.begun.get_mut(&meta.flow)
            && let FlowStart::Stream(start, gather) = &mut begun.what
        {
            begun.packets += 1;
            let last = begun.packets >= SEGMENTS || meta.is_last(SEGMENTS);
            let offset = meta.sequence.wrapping_sub(*start);
            if offset < 1 << 31 {
                gather.put(offset as usize, payload);
            } else if offset.wrapping_neg() as usize <= LIMIT {
                // The packet belongs before the first one received.
                gather.shift(offset.wrapping_neg() as usize);
                gather.put(0, payload);
                *start = meta.sequence;
            }
            let outcome = beginning(gather.beginning());
            return self.settle(meta, outcome, last);
        }
        let outcome = beginning(payload);
        // The first packet received need not be the first one sent: that may have been lost on the
        // way. At other ports, too many streams are neither TLS nor HTTP to wait for the first.
        let wait = match outcome {
            Outcome::NeedMore => true,
            Outcome::Foreign => meta.before == 0 && meta.flow.remote_port == 443,
            _ => false,
        };
        if wait && !meta.is_last(SEGMENTS) {
            let mut gather = Reassembly::default();
            gather.put(0, payload);
            self.begin(meta, FlowStart::Stream(meta.sequence, gather), now);
            self.tally.incomplete += 1;
            return Vec::new();
        }
        self.settle(meta, outcome, true)
    }

    fn quic(&mut self, meta: &PacketMeta, payload: &[u8], now: Millis) -> Vec<NameObservation> {
        if self.done.get(&meta.flow).is_some() {
            self.tally.nameless += 1;
            return Vec::new();
        }
        let read = |initials: &mut Initials| {
            initials
                .datagram(payload)
                .map(|hello| (hello.name, FlowNameSource::Quic))
        };
        let (outcome, last) = if let Some(begun) = self.begun.get_mut(&meta.flow)
            && let FlowStart::Quic(initials) = &mut begun.what
        {
            begun.packets += 1;
            (
                read(initials),
                begun.packets >= DATAGRAMS || meta.is_last(DATAGRAMS),
            )
        } else {
            let mut initials = Initials::default();
            let outcome = read(&mut initials);
            if outcome == Outcome::NeedMore && !meta.is_last(DATAGRAMS) {
                self.begin(meta, FlowStart::Quic(initials), now);
                self.tally.incomplete += 1;
                return Vec::new();
            }
            (outcome, true)
        };
        if matches!(outcome, Outcome::Found(_) | Outcome::Nothing) {
            self.done.put(meta.flow, now);
        }
        self.settle(meta, outcome, last)
    }

    fn begin(&mut self, meta: &PacketMeta, what: FlowStart, now: Millis) {
        let begun = PendingFlow {
            since: now,
            packets: 1,
            what,
        };
        if self.begun.put(meta.flow, begun).is_some() {
            self.tally.abandoned += 1;
        }
    }

    /// Handles an outcome; unless more is needed and may come, the flow is finished.
    fn settle(
        &mut self,
        meta: &PacketMeta,
        outcome: Outcome<(String, FlowNameSource)>,
        last: bool,
    ) -> Vec<NameObservation> {
        let wait = matches!(outcome, Outcome::NeedMore | Outcome::Foreign) && !last;
        if !wait
            && self.begun.remove(&meta.flow).is_some()
            && !matches!(outcome, Outcome::Found(_) | Outcome::Nothing)
        {
            self.tally.abandoned += 1;
        }
        match outcome {
            Outcome::Found((name, kind)) => {
                return vec![NameObservation::FlowName {
                    key: meta.flow,
                    mac: meta.mac,
                    name: name.into(),
                    kind,
                }];
            }
            Outcome::NeedMore => self.tally.incomplete += 1,
            Outcome::Nothing => self.tally.nameless += 1,
            // Behind a QUIC client's first packets come others, with other keys. Over TCP, most is
            // neither TLS nor HTTP.
            Outcome::Foreign if meta.flow.protocol == UDP && meta.before == 0 => {
                self.tally.malformed += 1
            }
            Outcome::Foreign => self.tally.nameless += 1,
        }
        Vec::new()
    }
}

/// Returns the name in the first bytes from a TCP client.
fn beginning(octets: &[u8]) -> Outcome<(String, FlowNameSource)> {
    match tls::read(octets) {
        Outcome::Foreign => http::read(octets).map(|name| (name, FlowNameSource::Http)),
        outcome => outcome.map(|hello| (hello.name, FlowNameSource::Tls)),
    }
}
