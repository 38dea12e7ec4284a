//! A router with very many flows, and what a change does to them: when the last packet went the old
//! way, and when weir forwards again.
//!
//! Generators on both sides send one packet of each flow in turn, without a pause, and in pieces:
//! between two of them the change is made by another thread. Sinks tell by one byte of a frame
//! whether it went the old way, and when. What the kernel sends at the ports is counted; the rest
//! of what arrives was forwarded by weir.

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

/// Processor of the generators, which go before all else there.
const GENERATOR: usize = 1;
/// Frames of each direction between two looks: as each call has to wait for the kernel at its end,
/// not few.
const PIECE: u32 = 16_384;
/// So much of what arrives has to be forwarded by weir for it to be at work again.
const SHARE: f64 = 0.99;
/// What anything may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// New flows at once, so that the kernel need not drop events of them.
const BURST: u32 = 4096;

/// What there is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Hosts of the LAN, each with an address of its own; 2 at least.
    pub hosts: u32,
    /// Flows of each host: a power of two.
    pub each: u32,
}

impl Size {
    /// So many hosts with at least so many flows in all.
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

    /// All flows.
    pub fn flows(self) -> u32 {
        self.hosts * self.each
    }
}

/// What tells packets to the LAN that went the way of before a change from those that did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The lowest bit of the byte of the frame at this offset: packets of kind 0 and 1.
    Octet(u32),
    /// The member of a bridge: the client's is kind 0, all others are kind 1.
    Member,
}

/// What a change did. Times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The command that changed it took so long.
    pub command: f64,
    /// From its begin to the last packet that went the old way; 0 where none did.
    pub last_since_begin: f64,
    /// From its end to that packet; 0 where none came later.
    pub last_since_end: f64,
    /// From its begin until weir forwards 99 % of a round over all flows.
    pub back: f64,
    /// Packets that the kernel sent meanwhile, for each flow and direction: what the change costs,
    /// however busy the machine is.
    pub by_kernel: f64,
}

/// The router, its daemon and its traffic. Dropped in the order of the fields: programs before
/// namespaces.
pub struct Crowd {
    weir: Daemon,
    size: Size,
    way: Way,
    forward: Bench,
    replies: Bench,
    /// At the LAN's far ends, the client's first.
    sinks: Vec<Bench>,
    /// At the server.
    server_sink: Bench,
    /// What the kernel sends at the router's ports.
    by_kernel: Vec<Bench>,
    lab: Lab,
}

/// Sums over sinks and counters.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// To the LAN, by kind.
    marked: Marked,
    /// To LAN and server.
    arrived: u64,
    by_kernel: u64,
}

/// One piece of the traffic: when it began, packets that arrived, and how many of them weir
/// forwarded.
#[derive(Clone, Copy, Debug)]
struct Piece {
    begun: u64,
    arrived: u64,
    by_weir: u64,
}

impl Crowd {
    /// Builds it and proves all flows. `prepare` is done at the router before weir starts.
    pub fn build(
        binary: &Path,
        arrangement: Arrangement,
        size: Size,
        way: Way,
        prepare: impl FnOnce(&Lab) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        // What is started here is to have all processors.
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
            Way::Octet(at) => at,
            Way::Member => 0,
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
        // As its unit for systemd starts it.
        Command::new("renice")
            .args(["-n", "-10", "-p", &weir.id().to_string()])
            .stdout(Stdio::null())
            .status()
            .map_err(Error::system("let weir go before others"))?;
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

    /// The lab.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The daemon.
    pub fn weir(&self) -> &Daemon {
        &self.weir
    }

    /// Makes all flows, and waits until weir forwards them.
    fn open(&mut self) -> Result<(), Error> {
        let flows = self.size.flows();
        self.gently()?;
        // From two seconds on (net/netfilter/nf_conntrack_proto_udp.c) the kernel tells once more
        // of each: as gently as before.
        sleep(Duration::from_secs(2));
        self.gently()?;
        self.gently()?;
        let begun = Instant::now();
        loop {
            let status = self.weir.status()?;
            // Both buckets of very few flows are full.
            if status.flows.ipv4.known >= u64::from(flows - flows / 1000) {
                return self.settle();
            }
            if begun.elapsed() > PATIENCE {
                let said = format!("weir does not hear of all {flows} flows: {status:?}");
                return Err(Error::Wrong(said));
            }
            sleep(Duration::from_millis(100));
        }
    }

    /// One packet of each flow and direction, slowly.
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

    /// So many packets of each direction.
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
                    Way::Octet(_) => of_octet,
                    Way::Member => index.min(1),
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

    /// Pieces of a round over all flows.
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

    /// Runs a command in the router, `input` on its standard input, while traffic goes on; `old`:
    /// which kind of packet went the way of before, 0 or 1.
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
        // What was sent before the change says nothing about what came of it.
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

    /// Packets of both kinds that arrive in one round over all flows.
    pub fn arrives(&mut self) -> Result<[u64; 2], Error> {
        let before = self.seen();
        for _ in 0..self.round() {
            self.piece()?;
        }
        let after = self.seen();
        Ok([0, 1].map(|kind| after.marked.packets[kind] - before.marked.packets[kind]))
    }
}

/// Nanoseconds of the clock that the sinks go by.
fn now() -> Result<u64, Error> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(Error::system("read the clock"))?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Runs a command to its end; when it began and ended.
fn run(program: &str, arguments: &[String], input: &str) -> Result<(u64, u64), Error> {
    use std::io::Write;
    let doing = || format!("run {program}");
    // Not as the generator's thread, which this one comes from.
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

/// Share of what arrived that weir forwarded.
fn share(pieces: &[Piece]) -> f64 {
    let (arrived, by_weir) = pieces.iter().fold((0, 0), |(arrived, by_weir), piece| {
        (arrived + piece.arrived, by_weir + piece.by_weir)
    });
    by_weir as f64 / arrived.max(1) as f64
}

/// Whether the last pieces show weir at work, over so many.
fn at_work(pieces: &[Piece], round: usize) -> bool {
    pieces.len() >= round && share(&pieces[pieces.len() - round..]) >= SHARE
}

/// When the first round began of which weir forwarded its share; nanoseconds from `begun`.
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
