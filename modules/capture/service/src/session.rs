//! A capture: from the ring of the packet path to a client's pipe, in small batches.
//!
//! A capture ends by its own limits, on request, or when its client disconnects. Only sending
//! detects the disconnection, hence the statistics without packets. A slow client loses packets,
//! and receives their number.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use answers::capture::SUMMARY_TRAILER;
use answers::{CaptureQuery, CaptureSide, CaptureSummary, FlowQuery};
use api::{Problem, Query, StreamReceiver, StreamSender};
use datapath::{CaptureEnd, CaptureFilter, CapturedPacket, Side};
use tracing::{info, warn};

use super::bucket::TokenBucket;
use super::pcapng;
use runtime::daemon::Router;

/// Interval of emptying the ring during a capture.
const TURN: Duration = Duration::from_millis(50);
/// Records handled in one turn: the daemon has other work.
const RECORDS: usize = 8192;
/// Largest number of bytes that wait for the client.
const WAITING: usize = 1024 * 1024;
/// Time without packets after which statistics are sent, which detects a disconnected client.
const SILENCE: Duration = Duration::from_secs(2);

/// A running capture.
pub struct CaptureSession {
    capture: datapath::Capture,
    feed: StreamSender,
    bucket: TokenBucket,
    interfaces: Interfaces,
    summary: CaptureSummary,
    /// Number of records after which the capture ends.
    count: Option<u64>,
    /// Time at which the capture ends.
    end: Option<Instant>,
    /// Time of the last grant of tokens.
    turned: Instant,
    /// Time of the last output.
    last_output: Instant,
    /// Buffer, reused for each block.
    block: Vec<u8>,
}

impl CaptureSession {
    /// Begins a capture.
    ///
    /// # Errors
    /// The requested flow or device does not exist; the kernel has no room for a ring.
    pub fn start(
        router: &mut Router,
        asked: &CaptureQuery,
    ) -> Result<(Self, StreamReceiver), Problem> {
        let filter = filter(router, asked)?;
        let mut bucket = TokenBucket::new(asked.rate);
        let mut capture = router
            .path
            .captures
            .begin(&filter, bucket.burst())
            .map_err(|error| {
                let detail = format!("cannot start the capture: {error}");
                let hint = "use a smaller rate or snaplen";
                Problem::new(500, "no_ring", detail, hint)
            })?;
        let (mut feed, drain) = api::feed(WAITING);
        let mut block = Vec::new();
        pcapng::section(&mut block, &origin(asked));
        let mut interfaces = Interfaces::new(asked.snaplen);
        for port in router.core.ports().filter(|port| is_port(port)) {
            interfaces.describe(router, port.link, &mut block);
        }
        // The pipe is empty: there is room.
        feed.offer(&block);
        let now = Instant::now();
        capture.give(bucket.grant(Duration::ZERO, 0));
        info!(what = asked.to_query(), "a capture begins");
        let running = Self {
            capture,
            feed,
            bucket,
            interfaces,
            summary: CaptureSummary::default(),
            count: asked.count,
            end: asked.time_limit().map(|time| now + time),
            turned: now,
            last_output: now,
            block,
        };
        Ok((running, drain))
    }

    /// Returns the time of the next turn.
    pub fn turn_at(&self) -> Instant {
        self.turned + TURN
    }

    /// Takes new packets. Returns true if the capture is over.
    pub fn poll(&mut self, router: &mut Router) -> bool {
        self.read(router);
        let now = Instant::now();
        let over = self.end.is_some_and(|end| now >= end)
            || (self.count).is_some_and(|count| self.summary.captured >= count);
        if over || self.feed.is_gone() {
            return true;
        }
        let left = self.capture.left();
        let granted = self.bucket.grant(now - self.turned, left);
        self.turned = now;
        self.capture.give(granted);
        if now - self.last_output >= SILENCE {
            // A single interface is enough to produce output.
            self.statistics(router, 1);
        }
        false
    }

    fn read(&mut self, router: &Router) {
        let Self {
            capture,
            feed,
            interfaces,
            summary,
            count,
            block,
            last_output: spoke,
            ..
        } = self;
        capture.read(RECORDS, |captured| {
            if count.is_some_and(|count| summary.captured >= count) {
                return;
            }
            block.clear();
            let interface = interfaces.describe(router, captured.link, block);
            packet(block, interface, &captured);
            if feed.offer(block) {
                summary.captured += 1;
                interfaces.delivered(interface);
                *spoke = Instant::now();
            } else {
                summary.client_lost += 1;
                interfaces.not_described(captured.link);
            }
        });
    }

    fn statistics(&mut self, router: &Router, interfaces: usize) {
        self.missed(router);
        self.block.clear();
        self.interfaces
            .statistics(&self.summary, interfaces, &mut self.block);
        self.feed.offer(&self.block);
        self.last_output = Instant::now();
    }

    fn missed(&mut self, router: &Router) {
        match router.path.captures.missed(&self.capture) {
            Ok(missed) => {
                self.summary.ring_lost = missed.lost;
                self.summary.over_rate = missed.over;
            }
            Err(error) => warn!(%error, "cannot read the number of packets that a capture missed"),
        }
    }

    /// Stops the capture; packets on their way still arrive.
    pub fn finish(mut self, router: &mut Router) -> CaptureSummary {
        router.path.captures.end(&mut self.capture);
        self.read(router);
        self.statistics(router, usize::MAX);
        let summary = self.summary;
        // A few numbers: serializing cannot fail.
        let text = serde_json::to_string(&summary).unwrap_or_default();
        info!(summary = %text, "a capture ends");
        self.feed.finish(SUMMARY_TRAILER, &text);
        summary
    }
}

/// Devices of a capture, numbered in the order of description.
struct Interfaces {
    snap_length: u32,
    /// Numbers by device index.
    numbers: HashMap<u32, u32>,
    delivered: Vec<u64>,
    /// Device whose description is only in the present block.
    fresh: Option<u32>,
    started: u64,
}

impl Interfaces {
    fn new(snap_length: u32) -> Self {
        Self {
            snap_length,
            numbers: HashMap::new(),
            delivered: Vec::new(),
            fresh: None,
            started: unix_nanoseconds(),
        }
    }

    /// Returns the number of a device; describes a new device first.
    fn describe(&mut self, router: &Router, link: u32, out: &mut Vec<u8>) -> u32 {
        self.fresh = None;
        if let Some(number) = self.numbers.get(&link) {
            return *number;
        }
        let number = self.delivered.len() as u32;
        let plan = router.core.ports().find(|plan| plan.link == link);
        let interface = pcapng::Interface {
            name: plan.map_or_else(|| format!("#{link}"), |plan| plan.name.clone()),
            description: match plan.map(|plan| plan.hook) {
                Some(offload_core::Hook::Xdp) => "forwarded by weir at XDP, or at TC".to_owned(),
                _ => "forwarded by weir at TC".to_owned(),
            },
            mac: plan.map(|plan| plan.mac).filter(|mac| *mac != [0; 6]),
            snap_length: self.snap_length,
        };
        pcapng::interface(out, &interface);
        self.numbers.insert(link, number);
        self.delivered.push(0);
        self.fresh = Some(link);
        number
    }

    /// Undoes the description of a device whose block did not reach the client.
    fn not_described(&mut self, link: u32) {
        if self.fresh.take() == Some(link) {
            self.numbers.remove(&link);
            self.delivered.pop();
        }
    }

    fn delivered(&mut self, number: u32) {
        if let Some(delivered) = self.delivered.get_mut(number as usize) {
            *delivered += 1;
        }
    }

    /// Writes statistics of the first interfaces; missed packets are known only in total.
    fn statistics(&self, summary: &CaptureSummary, most: usize, out: &mut Vec<u8>) {
        let comment = format!(
            "all interfaces: {} records lost because weir was too busy, {} because the client \
                was too slow, {} packets over the rate",
            summary.ring_lost, summary.client_lost, summary.over_rate
        );
        for (interface, delivered) in (0..).zip(&self.delivered).take(most) {
            let statistics = pcapng::Statistics {
                interface,
                start: self.started,
                end: unix_nanoseconds(),
                delivered: *delivered,
                comment: Some(&comment),
            };
            pcapng::statistics(out, &statistics);
        }
    }
}

/// Bytes of the two hardware addresses; a VLAN tag follows them.
const ADDRESSES: usize = 12;

fn packet(out: &mut Vec<u8>, interface: u32, captured: &CapturedPacket<'_>) {
    let mut tag = Vec::new();
    let (addresses, rest) = captured.bytes.split_at(captured.bytes.len().min(ADDRESSES));
    if let Some((kind, tci)) = captured.tag.filter(|_| addresses.len() == ADDRESSES) {
        tag.extend(kind.to_be_bytes());
        tag.extend(tci.to_be_bytes());
    }
    let comment = captured.segments.map(|(segments, octets)| {
        format!("{segments} segments of up to {octets} bytes of payload")
    });
    let packet = pcapng::Packet {
        interface,
        timestamp: captured.when,
        direction: match captured.side {
            Side::In => pcapng::Direction::Inbound,
            Side::Out => pcapng::Direction::Outbound,
        },
        id: captured.packet,
        length: captured.length + tag.len() as u32,
        data: [addresses, &tag, rest],
        comment: comment.as_deref(),
    };
    pcapng::packet(out, &packet);
}

fn is_port(plan: &offload_core::PortPlan) -> bool {
    matches!(plan.hook, offload_core::Hook::Xdp | offload_core::Hook::Tc)
}

/// Converts the query to the packet path's filter.
fn filter(router: &Router, asked: &CaptureQuery) -> Result<CaptureFilter, Problem> {
    let ports: Vec<_> = router.core.ports().filter(|plan| is_port(plan)).collect();
    if ports.is_empty() {
        let detail = "weir forwards nothing at the moment: no device is a port";
        return Err(Problem::new(
            409,
            "no_ports",
            detail,
            "see `weir ports` for the reasons",
        ));
    }
    let link = match &asked.filter.device {
        None => None,
        Some(name) => match ports.iter().find(|plan| plan.name == *name) {
            Some(plan) => Some(plan.link),
            None => {
                let names: Vec<_> = ports.iter().map(|plan| plan.name.as_str()).collect();
                let detail = format!("{name} is not a port of weir");
                let hint = format!(
                    "name one of these, of stacked devices the lowest: {}",
                    names.join(", ")
                );
                return Err(Problem::new(400, "not_a_port", detail, hint));
            }
        },
    };
    let mut ends = [CaptureEnd::default(); 2];
    ends[0].prefix = asked
        .filter
        .address
        .map(|prefix| (prefix.address(), prefix.length()));
    let mut protocol = asked.filter.protocol.map(|protocol| match protocol {
        answers::Protocol::Tcp => kernel::Protocol::Tcp,
        answers::Protocol::Udp => kernel::Protocol::Udp,
    });
    let end = |address: IpAddr, port| CaptureEnd {
        prefix: Some((address, if address.is_ipv4() { 32 } else { 128 })),
        port: Some(port),
    };
    match &asked.flow {
        None => {}
        Some(FlowQuery::Id(id)) => {
            let found = router.core.flow(offload_core::FlowId(id.0 as u32));
            // The conntrack id distinguishes flows that reuse a number.
            let found = found.filter(|flow| u64::from(flow.id.id) == id.0 >> 32);
            let Some(flow) = found else {
                let detail = format!("there is no flow {id}");
                let hint = "take an id from `weir flows`, or name the flow by addresses and ports";
                return Err(Problem::new(404, "no_such_flow", detail, hint));
            };
            let tuple = flow.original();
            protocol = Some(tuple.protocol);
            ends = [
                end(tuple.source, tuple.source_port),
                end(tuple.destination, tuple.destination_port),
            ];
        }
        Some(FlowQuery::Tuple {
            protocol: given,
            endpoints,
        }) => {
            protocol = given.map(|protocol| match protocol {
                answers::Protocol::Tcp => kernel::Protocol::Tcp,
                answers::Protocol::Udp => kernel::Protocol::Udp,
            });
            ends = [
                end(endpoints.source, endpoints.source_port),
                end(endpoints.destination, endpoints.destination_port),
            ];
        }
    }
    Ok(CaptureFilter {
        link,
        protocol,
        ends,
        port: asked.filter.port,
        side: asked.side.map(|side| match side {
            CaptureSide::In => Side::In,
            CaptureSide::Out => Side::Out,
        }),
        snaplen: asked.snaplen,
    })
}

fn origin(asked: &CaptureQuery) -> pcapng::Origin {
    let release = kernel::release::release();
    let query = asked.to_query();
    pcapng::Origin {
        os: format!("Linux {}", release.trim()).trim().to_owned(),
        application: format!("weir {}", env!("CARGO_PKG_VERSION")),
        comment: (!query.is_empty()).then(|| format!("packets that weir forwards, with {query}")),
    }
}

fn unix_nanoseconds() -> u64 {
    u64::try_from(net::clock::unix().as_nanos()).unwrap_or(u64::MAX)
}
