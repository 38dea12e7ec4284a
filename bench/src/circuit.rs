//! Closed loop of client, router and server, for a scenario.
//!
//! A generator at each end feeds its host's device as a driver would. The receive paths of the
//! router and the other end run in the same call, on the same core. Nothing waits, so packets per
//! second are the reciprocal of the cost of a packet.

use std::collections::BTreeSet;
use std::path::Path as File;
use std::time::{Duration, Instant};

use datapath::bench::{Bench, Exit, Program, Sample, Traffic};
use lab::generate::Side;
use lab::test_port::{TestPort, outlets};
use lab::{Ipv6, Lab, Namespace, Options};

use crate::Error;
use crate::daemon::Daemon;
use crate::load::Load;
use crate::machine::{Processor, SoftirqThread, inside, processor_times};
pub use crate::path::Path;
use crate::traffic::{FILLER, Kind};

/// Longest wait until the daemon has processed all events, and pause between checks.
const SETTLING: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);
/// Share of the packets that weir has to forward after that: with very many flows, some are always
/// proving anew.
const SETTLED: f64 = 0.985;
/// Flows that the daemon has room for by default.
const ROOM: u32 = 16_384;

/// Action in a lab.
pub type Then<'a> = dyn Fn(&Lab) -> Result<(), Error> + 'a;
/// Most frames that a sink keeps.
const SAMPLES: u32 = 64;
/// Longest wait for these frames.
const ARRIVAL: Duration = Duration::from_secs(2);

/// Result of a measurement.
#[derive(Clone, Debug)]
pub struct Run {
    /// Packets that reached the sink, or were dropped as intended.
    pub packets: u64,
    /// Nanoseconds, or instructions if the clock counts those, without preparation and without
    /// other programs on the processor.
    pub nanoseconds: f64,
    /// Seconds of wall-clock time, including preparation.
    pub seconds: f64,
    /// Share of the packets that weir forwarded or dropped; `None` for other paths.
    pub share: Option<f64>,
    /// Shares of time of each processor.
    pub processors: Vec<Processor>,
}

impl Run {
    /// Returns packets per second.
    pub fn rate(&self) -> f64 {
        self.packets as f64 * 1e9 / self.nanoseconds
    }

    /// Returns nanoseconds, or instructions, per packet.
    pub fn cost(&self) -> f64 {
        self.nanoseconds / self.packets as f64
    }

    /// Returns the busy processors, all of them together.
    pub fn busy(&self) -> f64 {
        self.processors.iter().map(|one| one.busy).sum()
    }
}

/// Client or server: the router's port, and the host at the other end of its wire.
struct End {
    outlet: TestPort,
    /// Lowest device of the router at this end.
    port: &'static str,
    /// Generator of the frames of all flows, as this host sends them.
    generator: Bench,
    /// Sink that drops the frames that arrive here.
    sink: Bench,
}

/// Running router. Field order drops programs before namespaces.
pub struct Circuit {
    path: Path,
    kind: Kind,
    load: Load,
    /// Possible frame lengths, without headers that the wires add.
    lengths: Vec<usize>,
    weir: Option<Daemon>,
    #[allow(dead_code)] // keeps its program attached in the router
    middle: Option<Bench>,
    client: End,
    server: End,
    /// Side that sends the measured packets.
    from: Side,
    /// Latest packets per second, to choose the size of the next piece.
    guess: f64,
    /// Softirq thread that takes over packets when this thread's processor has too many.
    helper: Option<SoftirqThread>,
    lab: Lab,
}

/// Counters before a run.
struct Before {
    sunk: u64,
    by_weir: Option<u64>,
    left_to_rules: u64,
    processors: Vec<Processor>,
    begun: Instant,
}

impl Circuit {
    /// Builds the circuit, and sends all flows in both directions. `weir` is the binary.
    pub fn build(path: Path, load: Load, weir: &File) -> Result<Self, Error> {
        Self::slowed(path, load, weir, 0)
    }

    /// Builds a circuit in which [`Path::Ceiling`] runs `spin` turns of an empty loop per packet.
    pub fn slowed(path: Path, load: Load, weir: &File, spin: u32) -> Result<Self, Error> {
        Self::made(path, load, weir, (spin, "", &|_| Ok(())))
    }

    /// Builds a circuit with more lines in weir's configuration. `then` runs once weir is up,
    /// before any packet is sent.
    pub fn configured(
        path: Path,
        load: Load,
        weir: &File,
        (more, then): (&str, &Then),
    ) -> Result<Self, Error> {
        Self::made(path, load, weir, (0, more, then))
    }

    fn made(
        path: Path,
        load: Load,
        weir: &File,
        (spin, more, then): (u32, &str, &Then),
    ) -> Result<Self, Error> {
        let kind = path.kind(&load);
        let lengths = load.length.octets(kind.shortest(), load.wires);
        let lab = Lab::gateway(&Options {
            arrangement: load.wires.arrangement(),
            nat: kind.translated,
            ipv6: match (kind.ipv6, kind.translated) {
                (false, _) => Ipv6::Off,
                (true, false) => Ipv6::Routed,
                (true, true) => Ipv6::Nat66,
            },
            plain_offloads: true,
            raw: true,
            ..Options::default()
        })?;
        let router = lab.node("router")?;
        match path {
            Path::Kernel | Path::Fib => drop(router.nft("flush ruleset")?),
            Path::Flowtable => lab.flowtable()?,
            _ => {}
        }
        if let Some(rules) = path.rules() {
            router.nft(&rules)?;
        }
        // A veth announces XDP support to its peer only when GRO is switched on while the veth is
        // up.
        for (role, device) in [
            ("router", "lan0"),
            ("router", "wan0"),
            ("server", "eth0"),
            ("client", "eth0"),
        ] {
            let node = lab.node(role)?;
            node.run(&format!("ethtool -K {device} gro off"))?;
            node.run(&format!("ethtool -K {device} gro on"))?;
        }
        let outlets = outlets(&lab)?;
        let end = |side, port| -> Result<End, Error> {
            let found = outlets.iter().find(|outlet| outlet.side == side);
            let outlet = found.ok_or_else(|| Error::Wrong("a wire without an end".into()))?;
            Ok(End {
                generator: generator(&lab, outlet, kind, &load, &lengths)?,
                sink: Bench::load(&kind.forward(), 0, &Exit::default())?,
                outlet: outlet.clone(),
                port,
            })
        };
        let (client, server) = (end(Side::Client, "lan0")?, end(Side::Server, "wan0")?);
        more_servers(&lab, kind, &server.outlet)?;
        let middle = compared(path, kind, &lab, spin)?;
        let weir = path
            .hook()
            .map(|hook| {
                let room = match load.flows > ROOM {
                    true => format!("[offload]\nflows = {}\n", load.flows + load.flows / 4),
                    false => String::new(),
                };
                let config = format!("{}{room}{more}", path.config());
                Daemon::with(router, weir, hook, &config)
            })
            .transpose()?;
        then(&lab)?;
        let mut circuit = Self {
            path,
            kind,
            load,
            lengths,
            weir,
            middle,
            client,
            server,
            from: Side::Client,
            guess: 100_000.0,
            helper: None,
            lab,
        };
        circuit.listen(Side::Client)?;
        if !path.drops() {
            circuit.open()?;
        }
        Ok(circuit)
    }

    /// Sends all flows. For conntrack, and so for weir, a UDP flow counts as established once it
    /// has a reply.
    fn open(&mut self) -> Result<(), Error> {
        self.both_ways()?;
        if let Some(weir) = &self.weir {
            weir.wait_for_flows(self.kind.flows.into())?;
        }
        for _ in 0..3 {
            self.both_ways()?;
        }
        self.settle()
    }

    /// Waits until the daemon has processed the events of new flows: each event of a flow ends its
    /// proofs. [`Circuit::measure`] notices flows that stay unproven.
    fn settle(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        let both = 2.0 * f64::from(self.round());
        while begun.elapsed() < SETTLING {
            let Some(before) = self.by_weir()? else {
                break;
            };
            self.both_ways()?;
            let forwarded = self.by_weir()?.unwrap_or(before) - before;
            if forwarded as f64 >= SETTLED * both {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Measures packets from this side from now on. Their sink is at the other side's host, or at
    /// the router's port on a path that does not forward.
    pub fn listen(&mut self, from: Side) -> Result<(), Error> {
        self.client.sink.detach();
        self.server.sink.detach();
        let (near, far) = match from {
            Side::Client => (&self.client, &mut self.server),
            Side::Server => (&self.server, &mut self.client),
        };
        let (role, device) = match self.path {
            Path::Nothing => ("router", near.port),
            _ => (far.outlet.role, far.outlet.device),
        };
        // Sinks take skbs behind TC, and frames behind XDP: a conversion would be measured, too.
        let program = match self.path.frames() {
            true => Program::SinkXdp,
            false => Program::SinkTc,
        };
        let index = self.lab.index(role, device)?;
        inside(self.lab.node(role)?, || {
            far.sink.attach(program, index, device)
        })??;
        self.from = from;
        Ok(())
    }

    fn sink(&mut self) -> &mut Bench {
        match self.from {
            Side::Client => &mut self.server.sink,
            Side::Server => &mut self.client.sink,
        }
    }

    /// Returns the packets that weir forwarded or dropped by a set; `None` without weir.
    fn by_weir(&self) -> Result<Option<u64>, Error> {
        let status = self.weir.as_ref().map(Daemon::status).transpose()?;
        Ok(status.map(|status| {
            let dropped = status.drops.map_or(0, |drops| drops.sets);
            status.packets.forwarded() + dropped
        }))
    }

    /// Describes the packets that weir left to the kernel.
    fn passed(&self) -> Result<String, Error> {
        let status = self.weir.as_ref().map(Daemon::status).transpose()?;
        let passed = status.map(|status| status.packets.passed);
        let words = passed.into_iter().flatten();
        let words: Vec<_> = words.map(|(why, n)| format!("{why} {n}")).collect();
        Ok(words.join(", "))
    }

    /// Returns the packets of a direction in which each flow has its turn.
    fn round(&self) -> u32 {
        self.load.flows * self.load.burst
    }

    /// Sends packets of all flows, and their replies.
    fn both_ways(&mut self) -> Result<(), Error> {
        for side in [Side::Client, Side::Server] {
            self.feed(side, self.round())?;
        }
        Ok(())
    }

    /// Returns weir's daemon.
    pub fn weir(&self) -> Result<&Daemon, Error> {
        let none = || Error::Wrong("this path does not use weir".into());
        self.weir.as_ref().ok_or_else(none)
    }

    /// Sends a packet of each flow each way per second, in tenths of a second.
    pub fn trickle(&mut self, seconds: u32) -> Result<(), Error> {
        let begun = Instant::now();
        for tenth in 1..=seconds * 10 {
            let packets = (self.round() / 10).max(1).next_multiple_of(64);
            for side in [Side::Client, Side::Server] {
                self.feed(side, packets)?;
            }
            let due = begun + Duration::from_millis(100) * tenth;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// Returns the router, for observers.
    pub fn router(&self) -> Result<&Namespace, Error> {
        Ok(self.lab.node("router")?)
    }

    /// Returns the server's host.
    pub fn server(&self) -> Result<&Namespace, Error> {
        Ok(self.lab.node("server")?)
    }

    /// See [`nothing`].
    pub fn nothing(&self) -> Result<Bench, Error> {
        nothing(&self.lab)
    }

    /// Returns the path.
    pub fn path(&self) -> Path {
        self.path
    }

    /// Sends packets and returns the nanoseconds by the kernel's own clock, plus the work of the
    /// kernel's softirq thread. Preparation and cleanup take 16 to 32 ms, most of it waiting, and
    /// do not count. The kernel reports whole nanoseconds per packet, so half of one is added to
    /// each.
    fn feed(&mut self, from: Side, packets: u32) -> Result<f64, Error> {
        let end = match from {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let helped = |helper: &Option<SoftirqThread>| helper.as_ref().map_or(0, SoftirqThread::ran);
        let ran = helped(&self.helper);
        let each = inside(self.lab.node(end.outlet.role)?, || {
            end.generator.generate_timed(packets)
        })??;
        let helped = helped(&self.helper).saturating_sub(ran);
        let spent = (each as f64 + 0.5) * f64::from(packets) + helped as f64;
        self.guess = f64::from(packets) * 1e9 / spent;
        Ok(spent)
    }

    /// Sends for about this many seconds, in pieces of at most a second.
    fn send_for(&mut self, seconds: f64) -> Result<(u64, f64), Error> {
        let (mut sent, mut spent) = (0, 0.0);
        while spent < seconds * 1e9 {
            let left = seconds - spent / 1e9;
            let packets = (self.guess * left.min(1.0))
                .max(f64::from(self.round()))
                .max(6400.0) as u32;
            let packets = packets.next_multiple_of(64);
            spent += self.feed(self.from, packets)?;
            sent += u64::from(packets);
        }
        Ok((sent, spent))
    }

    /// Returns the packets that the flowtable has not handled so far.
    fn left_to_rules(&self) -> Result<u64, Error> {
        match self.path {
            Path::Flowtable => Ok(self.lab.left_by_flowtable()?),
            _ => Ok(0),
        }
    }

    /// Starts to follow the kernel's softirq thread of this processor. Must be called on the
    /// processor that runs the measurement.
    fn stay(&mut self) -> Result<(), Error> {
        if self.helper.is_none() {
            let cpu = nix::sched::sched_getcpu().map_err(Error::system("ask for the processor"))?;
            self.helper = Some(SoftirqThread::of(cpu)?);
        }
        Ok(())
    }

    /// Warms up, then measures. Must be called by a thread that stays on its processor.
    pub fn measure(&mut self, warm: f64, seconds: f64) -> Result<Run, Error> {
        self.stay()?;
        self.send_for(warm)?;
        let before = self.before()?;
        let (sent, nanoseconds) = self.send_for(seconds)?;
        self.after(&before, sent, nanoseconds)
    }

    /// Measures this many packets, rounded up to 64.
    pub fn batch(&mut self, packets: u32) -> Result<Run, Error> {
        self.stay()?;
        let packets = packets.next_multiple_of(64);
        let before = self.before()?;
        let nanoseconds = self.feed(self.from, packets)?;
        self.after(&before, packets.into(), nanoseconds)
    }

    fn before(&mut self) -> Result<Before, Error> {
        Ok(Before {
            by_weir: self.by_weir()?,
            left_to_rules: self.left_to_rules()?,
            sunk: self.sink().sunk(),
            processors: processor_times(),
            begun: Instant::now(),
        })
    }

    fn after(&mut self, before: &Before, sent: u64, nanoseconds: f64) -> Result<Run, Error> {
        let seconds = before.begun.elapsed().as_secs_f64();
        let processors = processor_times()
            .iter()
            .zip(&before.processors)
            .map(|(now, then)| now.since(then, seconds))
            .collect();
        let arrived = self.sink().sunk() - before.sunk;
        let packets = self.counted(sent, arrived)?;
        let left = self.left_to_rules()? - before.left_to_rules;
        if left * 100 > packets {
            return Err(Error::Wrong(format!(
                "flowtable: it left {left} of {packets} packets to the rules"
            )));
        }
        let taken = before.by_weir.zip(self.by_weir()?);
        let share = taken.map(|(then, now)| (now - then) as f64 / packets as f64);
        match share {
            Some(share) if share < self.path.least() => Err(Error::Wrong(format!(
                "{}: only {:.1} % by weir ({})",
                self.path.name(),
                share * 100.0,
                self.passed()?
            ))),
            share => Ok(Run {
                packets,
                nanoseconds,
                seconds,
                share,
                processors,
            }),
        }
    }

    /// Returns the packets that met their intended end; fails if too many did not.
    fn counted(&self, sent: u64, arrived: u64) -> Result<u64, Error> {
        let path = self.path.name();
        match self.path.drops() {
            true if arrived > 0 => Err(Error::Wrong(format!(
                "{path}: {arrived} of {sent} packets reached the sink, but all should be dropped"
            ))),
            true => Ok(sent),
            false if arrived * 100 < sent * 99 => Err(Error::Wrong(format!(
                "{path}: {} of {sent} packets never reached the sink",
                sent - arrived
            ))),
            false => Ok(arrived),
        }
    }

    /// Checks arriving packets of as many flows as the sink keeps: they must be exactly the packets
    /// that the router has to send.
    pub fn check_wire(&mut self) -> Result<(), Error> {
        if self.path == Path::Nothing || self.path.drops() {
            return Ok(());
        }
        self.sink().sample(SAMPLES);
        self.feed(self.from, self.round().max(SAMPLES))?;
        let samples = self.samples();
        let named = |what: String| Error::Wrong(format!("{}: {what}", self.path.name()));
        let (mut flows, mut lengths) = (BTreeSet::new(), BTreeSet::new());
        for sample in &samples {
            let (flow, length) = self.check(sample).map_err(named)?;
            flows.insert(flow);
            lengths.insert(length);
        }
        // Packets keep their order on one core.
        let expected = SAMPLES.div_ceil(self.load.burst).min(self.load.flows);
        let all = samples.len() == SAMPLES as usize && flows.len() >= expected as usize;
        match all && lengths.len() == self.lengths.len() {
            true => Ok(()),
            false => Err(named(format!(
                "{} packets of {} flows and {} lengths arrived where {SAMPLES} of {expected} and \
                    {} were expected",
                samples.len(),
                flows.len(),
                lengths.len(),
                self.lengths.len()
            ))),
        }
    }

    /// Returns the sink's frames once complete: the kernel's softirq thread may still process the
    /// last packets.
    fn samples(&mut self) -> Vec<Sample> {
        let begun = Instant::now();
        loop {
            let samples = self.sink().samples();
            if samples.len() == SAMPLES as usize || begun.elapsed() > ARRIVAL {
                return samples;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Checks a packet, and returns its flow and length.
    fn check(&self, sample: &Sample) -> Result<(u32, usize), String> {
        let whole = whole(sample);
        let far = match self.from {
            Side::Client => &self.server.outlet,
            Side::Server => &self.client.outlet,
        };
        let arrival = far.open(&whole);
        let wrong = |what: &str| format!("{what} arrived:\n{}", lab::view::hex(&whole));
        if !far.may_leave(&arrival) {
            return Err(wrong("a packet in other headers"));
        }
        let length = arrival.frame.len();
        if !self.lengths.contains(&length) {
            return Err(wrong(&format!("a packet of {length} bytes")));
        }
        let flow = self.kind.flow_of(&arrival.frame);
        let flow = flow.ok_or_else(|| wrong("a packet of no flow"))?;
        let kind = Kind {
            length,
            ..self.kind
        };
        let sent = match self.from {
            Side::Client => kind.sent(flow),
            Side::Server => kind.sent_back(flow),
        };
        match sent == arrival.frame {
            true => Ok((flow, length)),
            false => Err(wrong(&format!(
                "instead of\n{}a packet",
                lab::view::hex(&sent)
            ))),
        }
    }
}

/// Loads the generator of an end, with the headers of its arrangement.
fn generator(
    lab: &Lab,
    outlet: &TestPort,
    kind: Kind,
    load: &Load,
    lengths: &[usize],
) -> Result<Bench, Error> {
    let plain = |length| {
        let kind = Kind { length, ..kind };
        match outlet.side {
            Side::Client => kind.forward(),
            Side::Server => kind.reply(),
        }
    };
    let sealed = |length| outlet.seal(&plain(length).frame);
    let whole = plain(kind.length);
    let frame = outlet.seal(&whole.frame);
    let traffic = Traffic {
        shift: frame.len() - whole.frame.len(),
        frame,
        burst: load.burst,
        shorter: match lengths {
            [short, middle, _] => Some([*short, *middle].map(sealed)),
            _ => None,
        },
        ..whole
    };
    let index = lab.index(outlet.role, outlet.device)?;
    Ok(Bench::load(&traffic, index, &Exit::default())?)
}

/// Gives the router routes or neighbours for all servers but the first.
fn more_servers(lab: &Lab, kind: Kind, outlet: &TestPort) -> Result<(), Error> {
    let router = lab.node("router")?;
    let device = lab.arrangement().wan_device();
    for server in kind.destinations().skip(1) {
        match lab.arrangement().wan.dials() {
            true => router.run(&format!("ip route add {server} dev {device}"))?,
            false => router.run(&format!(
                "ip neigh replace {server} lladdr {} dev {device} nud permanent",
                lab::topology::text(outlet.host)
            ))?,
        };
    }
    Ok(())
}

/// Attaches programs that do nothing at TC, on both router ports and in both directions, while the
/// returned value lives.
pub fn nothing(lab: &Lab) -> Result<Bench, Error> {
    let kind = Kind {
        ipv6: false,
        translated: false,
        length: 60,
        flows: 1,
        servers: false,
    };
    inside(lab.node("router")?, || {
        let mut bench = Bench::load(&kind.forward(), 0, &Exit::default())?;
        for port in ["lan0", "wan0"] {
            let link = lab.index("router", port)?;
            bench.attach(Program::PassIn, link, port)?;
            bench.attach(Program::PassOut, link, port)?;
        }
        Ok(bench)
    })?
}

/// Attaches the program that replaces weir on this path.
fn compared(path: Path, kind: Kind, lab: &Lab, spin: u32) -> Result<Option<Bench>, Error> {
    let program = match path {
        Path::StaticTc => Program::CeilingTc,
        Path::StaticGeneric => Program::CeilingGeneric,
        Path::Fib => Program::Fib,
        Path::HashNat => Program::HashNat,
        Path::Ceiling => Program::Ceiling,
        _ => return Ok(None),
    };
    let (lan, wan) = (lab.index("router", "lan0")?, lab.index("router", "wan0")?);
    inside(lab.node("router")?, || {
        let exit = Exit {
            spin,
            ..kind.exit(wan)
        };
        let mut bench = Bench::load(&kind.forward(), 0, &exit)?;
        if program == Program::HashNat {
            for n in 0..kind.flows {
                let (original, reply) = kind.tuples(n);
                bench.translate(&original, &reply)?;
            }
        }
        bench.attach(program, lan, "lan0")?;
        Ok(Some(bench))
    })?
}

/// Restores the end of the payload, all one byte, and the outermost tag: a sample may lack both.
fn whole(sample: &Sample) -> Vec<u8> {
    let mut frame = sample.head.clone();
    frame.resize(sample.length as usize, FILLER);
    if let Some((tpid, tci)) = sample.tag {
        let tag = [tpid.to_be_bytes(), tci.to_be_bytes()].concat();
        frame.splice(12..12, tag);
    }
    frame
}
