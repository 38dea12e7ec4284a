//! Router with very many flows, to measure a change: when the last packet takes the old path, and
//! when weir forwards again.
//!
//! Generators on both sides send a packet of each flow in turn, without a pause, in pieces.
//! Meanwhile another thread makes the change. Sinks see by a byte of a frame if it took the old
//! path, and note the time. Counters at the ports count the packets that the kernel sends; weir
//! forwarded all others that arrive.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use datapath::Hook;
use datapath::bench::{Bench, Exit, Marked, PORT_BITS, Program, Traffic, pin, unpin};
use lab::arrangement::Arrangement;
use lab::topology::mac;
use lab::{Ipv6, Lab, Options};
use nix::time::{ClockId, clock_gettime};

use crate::Error;
use crate::daemon::Daemon;
use crate::machine::inside;
use crate::traffic::Kind;

/// Processor of the generators, which have priority on it.
const GENERATOR: usize = 1;
/// Frames of each direction in a piece: many, as each call waits for the kernel at its end.
const PIECE: u32 = 16_384;
/// Share of the arriving packets that weir has to forward to count as working again.
const SHARE: f64 = 0.99;
/// Longest wait before a step counts as failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// New flows at once, few enough that the kernel drops no events.
const BURST: u32 = 4096;

/// Number of flows.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Hosts of the LAN, each with its own address; at least 2.
    pub hosts: u32,
    /// Flows of each host: a power of two.
    pub each: u32,
}

impl Size {
    /// Returns a size with this many hosts, and at least this many flows in all.
    pub fn of(hosts: u32, flows: u32) -> Self {
        let each = flows
            .div_ceil(hosts.max(1))
            .next_power_of_two()
            .clamp(1, 1 << PORT_BITS);
        Self {
            hosts: hosts.max(2),
            each,
        }
    }

    /// Returns the number of all flows.
    pub fn flows(self) -> u32 {
        self.hosts * self.each
    }
}

/// Feature that distinguishes packets to the LAN on the old path from those on the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMark {
    /// Lowest bit of the frame's byte at this offset: packets of kind 0 and 1.
    Octet(u32),
    /// Member of a bridge: the client's is kind 0, all others are kind 1.
    Member,
}

/// Outcome of a change. Times are in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Duration of the command that makes the change.
    pub command: f64,
    /// Time from the command's start to the last packet on the old path; 0 without one.
    pub last_since_begin: f64,
    /// Time from the command's end to that packet; 0 if none came later.
    pub last_since_end: f64,
    /// Time from the command's start until weir forwards 99 % of a round over all flows.
    pub back: f64,
    /// Packets that the kernel sent meanwhile, per flow and direction: the cost of the change,
    /// however busy the machine is.
    pub by_kernel: f64,
}

/// Router, daemon and traffic. Field order drops programs before namespaces.
pub struct ManyFlows {
    weir: Daemon,
    size: Size,
    way: PathMark,
    forward: Bench,
    replies: Bench,
    /// Sinks at the LAN's far ends, the client's first.
    sinks: Vec<Bench>,
    /// Sink at the server.
    server_sink: Bench,
    /// Counters of the packets that the kernel sends at the router's ports.
    by_kernel: Vec<Bench>,
    lab: Lab,
}

/// Sums over sinks and counters.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Packets to the LAN, by kind.
    marked: Marked,
    /// Packets to LAN and server.
    arrived: u64,
    by_kernel: u64,
}

/// Piece of the traffic: its start, packets that arrived, and packets that weir forwarded.
#[derive(Clone, Copy, Debug)]
struct Piece {
    begun: u64,
    arrived: u64,
    by_weir: u64,
}

impl ManyFlows {
    /// Builds the flows, and proves all of them. `prepare` runs at the router before weir starts.
    pub fn build(
        binary: &Path,
        arrangement: Arrangement,
        size: Size,
        way: PathMark,
        prepare: impl FnOnce(&Lab) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        // Processes started here must be able to use all processors.
        unpin()?;
        let lab = Lab::gateway(&Options {
            arrangement,
            nat: false,
            ipv6: Ipv6::Off,
            plain_offloads: true,
            raw: true,
            ..Options::default()
        })?;
        let (router, server) = (lab.node("router")?, lab.node("server")?);
        let device = arrangement.lan_device();
        router.run(&format!("ip route add 192.168.0.0/16 dev {device}"))?;
        prepare(&lab)?;
        let kind = Kind {
            ipv6: false,
            translated: false,
            length: 60,
            flows: size.flows(),
            servers: false,
        };
        let bits = size.each.trailing_zeros();
        let mark_at = match way {
            PathMark::Octet(at) => at,
            PathMark::Member => 0,
        };
        let load = |traffic: Traffic, role: &str| -> Result<Bench, Error> {
            let traffic = Traffic { bits, ..traffic };
            let out = lab.index(role, "eth0")?;
            Ok(Bench::load_marked(
                &traffic,
                out,
                &Exit::default(),
                mark_at,
            )?)
        };
        let mut traffic = kind.forward();
        traffic.frame[..6].copy_from_slice(&mac("router", device));
        let forward = load(traffic, "client")?;
        let replies = load(kind.reply(), "server")?;
        let mut server_sink = load(kind.forward(), "server")?;
        let end = lab.index("server", "eth0")?;
        inside(server, || server_sink.attach(Program::SinkXdp, end, "eth0"))??;
        let mut sinks = Vec::new();
        // The client is the first of all nodes.
        for host in lab.nodes().iter().filter(|node| {
            let role = node.role();
            role == "client" || role.starts_with("at-")
        }) {
            let mut sink = load(kind.forward(), host.role())?;
            let end = lab.index(host.role(), "eth0")?;
            inside(host, || sink.attach(Program::SinkMarked, end, "eth0"))??;
            sinks.push(sink);
        }
        let ports = arrangement.ports();
        let more = format!(
            "[offload]\nflows = {}\nreprove = \"10m\"\n",
            size.flows() + 1024
        );
        let weir = Daemon::at(router, binary, Hook::Xdp, &ports, &more)?;
        // weir's systemd unit sets this nice level, too.
        Command::new("renice")
            .args(["-n", "-10", "-p", &weir.id().to_string()])
            .stdout(Stdio::null())
            .status()
            .map_err(Error::system("raise weir's priority"))?;
        let mut by_kernel = Vec::new();
        for port in &ports {
            let mut counter = load(kind.forward(), "server")?;
            let link = lab.index("router", port)?;
            inside(router, || counter.attach(Program::CountTc, link, port))??;
            by_kernel.push(counter);
        }
        let mut crowd = Self {
            weir,
            size,
            way,
            forward,
            replies,
            sinks,
            server_sink,
            by_kernel,
            lab,
        };
        pin(GENERATOR)?;
        crowd.open()?;
        Ok(crowd)
    }

    /// Returns the lab.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Returns the daemon.
    pub fn weir(&self) -> &Daemon {
        &self.weir
    }

    /// Starts all flows, and waits until weir forwards them.
    fn open(&mut self) -> Result<(), Error> {
        let flows = self.size.flows();
        self.gently()?;
        // After two seconds (net/netfilter/nf_conntrack_proto_udp.c) the kernel sends another event
        // per flow, which needs equally gentle traffic.
        sleep(Duration::from_secs(2));
        self.gently()?;
        self.gently()?;
        let begun = Instant::now();
        loop {
            let status = self.weir.status()?;
            // A few flows may find both buckets full.
            if status.flows.ipv4.known >= u64::from(flows - flows / 1000) {
                return self.settle();
            }
            if begun.elapsed() > PATIENCE {
                let said = format!("weir does not see all {flows} flows: {status:?}");
                return Err(Error::Wrong(said));
            }
            sleep(Duration::from_millis(100));
        }
    }

    /// Sends a packet of each flow and direction, slowly.
    fn gently(&mut self) -> Result<(), Error> {
        let flows = self.size.flows();
        let mut sent = 0;
        while sent < flows {
            let burst = BURST.min(flows - sent).next_multiple_of(64);
            self.send(burst)?;
            sent += burst;
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Sends this many packets of each direction.
    fn send(&mut self, packets: u32) -> Result<(), Error> {
        let Self {
            lab,
            forward,
            replies,
            ..
        } = self;
        inside(lab.node("client")?, || forward.generate(packets))??;
        inside(lab.node("server")?, || replies.generate(packets))??;
        Ok(())
    }

    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for (index, sink) in self.sinks.iter().enumerate() {
            let marked = sink.marked();
            for of_octet in 0..2 {
                let kind = match self.way {
                    PathMark::Octet(_) => of_octet,
                    PathMark::Member => index.min(1),
                };
                seen.marked.packets[kind] += marked.packets[of_octet];
                seen.marked.last[kind] = seen.marked.last[kind].max(marked.last[of_octet]);
            }
        }
        seen.arrived = seen.marked.packets.iter().sum::<u64>() + self.server_sink.sunk();
        seen.by_kernel = self.by_kernel.iter().map(Bench::sunk).sum();
        seen
    }

    fn piece(&mut self) -> Result<Piece, Error> {
        let (begun, before) = (now()?, self.seen());
        self.send(PIECE)?;
        let after = self.seen();
        let arrived = after.arrived - before.arrived;
        Ok(Piece {
            begun,
            arrived,
            by_weir: arrived.saturating_sub(after.by_kernel - before.by_kernel),
        })
    }

    /// Returns the number of pieces of a round over all flows.
    fn round(&self) -> usize {
        self.size.flows().div_ceil(PIECE) as usize
    }

    /// Sends until weir forwards.
    pub fn settle(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        let mut pieces = Vec::new();
        while !at_work(&pieces, self.round()) {
            if begun.elapsed() > PATIENCE {
                return Err(self.stuck(&pieces));
            }
            pieces.push(self.piece()?);
        }
        Ok(())
    }

    fn stuck(&self, pieces: &[Piece]) -> Error {
        let last = &pieces[pieces.len().saturating_sub(self.round())..];
        Error::Wrong(format!(
            "weir forwards only {:.3} of a round of {} flows: {:?}",
            share(last),
            self.size.flows(),
            self.weir.status()
        ))
    }

    /// Runs a command in the router while traffic goes on, with `input` on its standard input.
    /// `old` is the kind of packets on the old path, 0 or 1.
    pub fn change(&mut self, line: &str, input: String, old: usize) -> Result<Outcome, Error> {
        let before = self.seen();
        let router = self.lab.node("router")?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let program = words.next().unwrap_or_default();
        let arguments: Vec<String> = words.collect();
        let work = router.background(move || run(&program, &arguments, &input))?;
        let mut pieces = Vec::new();
        while !work.is_finished() {
            pieces.push(self.piece()?);
        }
        let joined = work
            .join()
            .map_err(|_| Error::Wrong("the thread that changes panicked".into()))?;
        let (begun, ended) = joined??;
        let limit = Instant::now();
        // Packets sent before the change show nothing of its outcome.
        let mut after: Vec<Piece> = Vec::new();
        while !at_work(&after, 2 * self.round()) {
            if limit.elapsed() > PATIENCE {
                return Err(self.stuck(&after));
            }
            after.push(self.piece()?);
        }
        pieces.extend(after);
        let seen = self.seen();
        let last = seen.marked.last[old];
        let since = |then: u64| match seen.marked.packets[old] > before.marked.packets[old] {
            true => last.saturating_sub(then) as f64 / 1e6,
            false => 0.0,
        };
        let by_kernel = (seen.by_kernel - before.by_kernel) as f64;
        Ok(Outcome {
            command: (ended - begun) as f64 / 1e6,
            last_since_begin: since(begun),
            last_since_end: since(ended),
            back: back(&pieces, self.round(), begun) as f64 / 1e6,
            by_kernel: by_kernel / f64::from(2 * self.size.flows()),
        })
    }

    /// Returns the packets of both kinds that arrive in a round over all flows.
    pub fn arrives(&mut self) -> Result<[u64; 2], Error> {
        let before = self.seen();
        for _ in 0..self.round() {
            self.piece()?;
        }
        let after = self.seen();
        Ok([0, 1].map(|kind| after.marked.packets[kind] - before.marked.packets[kind]))
    }
}

/// Returns nanoseconds of the clock that the sinks use.
fn now() -> Result<u64, Error> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(Error::system("read the clock"))?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Runs a command to its end; returns its start and end.
fn run(program: &str, arguments: &[String], input: &str) -> Result<(u64, u64), Error> {
    use std::io::Write;
    let doing = || format!("run {program}");
    // This thread inherited the pin of the generator's thread.
    unpin()?;
    let begun = now()?;
    let mut child = Command::new("nice")
        .args(["-n", "20", program])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::system(doing()))?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes())
            .map_err(Error::system(doing()))?;
    }
    let output = child.wait_with_output().map_err(Error::system(doing()))?;
    let ended = now()?;
    match output.status.success() {
        true => Ok((begun, ended)),
        false => Err(Error::Wrong(format!(
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

/// Returns the share of the arrived packets that weir forwarded.
fn share(pieces: &[Piece]) -> f64 {
    let (arrived, by_weir) = pieces.iter().fold((0, 0), |(arrived, by_weir), piece| {
        (arrived + piece.arrived, by_weir + piece.by_weir)
    });
    by_weir as f64 / arrived.max(1) as f64
}

/// Returns whether weir forwarded enough of the last `round` pieces.
fn at_work(pieces: &[Piece], round: usize) -> bool {
    pieces.len() >= round && share(&pieces[pieces.len() - round..]) >= SHARE
}

/// Returns the start of the first round with enough packets by weir, in nanoseconds after `begun`.
fn back(pieces: &[Piece], round: usize, begun: u64) -> u64 {
    let first = pieces
        .windows(round)
        .find(|round| round[0].begun >= begun && share(round) >= SHARE);
    first.map_or(u64::MAX, |round| round[0].begun - begun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_share_the_flows() {
        let size = Size::of(1000, 100_000);
        assert_eq!((size.each, size.flows()), (128, 128_000));
        assert_eq!(Size::of(3000, 100_000).each, 64);
        assert_eq!(Size::of(2, 100_000).each, 1 << PORT_BITS, "no more ports");
    }

    #[test]
    fn back_is_when_the_first_good_round_begins() {
        let piece = |begun, by_weir| Piece {
            begun,
            arrived: 100,
            by_weir,
        };
        let pieces = [
            piece(5, 100),
            piece(6, 100),
            piece(10, 0),
            piece(20, 60),
            piece(30, 99),
            piece(40, 100),
        ];
        assert_eq!(back(&pieces, 2, 8), 22);
        assert!(at_work(&pieces, 2) && !at_work(&pieces, 3));
        assert_eq!(back(&pieces[..4], 2, 8), u64::MAX, "not yet");
    }
}
