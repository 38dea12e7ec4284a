//! The rows of the table: each a closed loop of its own – client, router, server – that stays for the whole run.
//!
//! The generator feeds the client's device as a driver would; the router's and the server's receive paths run in the same call,
//! on the same core. Nothing waits, so packets per second are the reciprocal of the cost of a packet.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use datapath::Hook;
use datapath::bench::{Bench, Exit, Program};
use lab::{Ipv6, Lab, Options};

use crate::Error;
use crate::daemon::Daemon;
use crate::direct::Direct;
use crate::machine::{SoftirqThread, busy, inside};
pub use crate::path::Path;
use crate::traffic::Kind;
use crate::wire;

/// How long the daemon may take until it has heard of everything, and what lies between two looks.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);
/// Share of the packets that it then forwards, at least: of very many flows, some always prove anew.
const SETTLED: f64 = 0.985;

/// What steers weir's packet path.
#[derive(Clone, Debug)]
pub enum Driver {
    /// The daemon, this binary.
    Daemon(PathBuf),
    /// This process: no daemon needed.
    Direct,
}

enum Weir {
    Daemon(Daemon),
    Direct(Direct),
}

impl Weir {
    fn start(
        driver: &Driver,
        lab: &Lab,
        kind: Kind,
        hook: Hook,
        config: &str,
    ) -> Result<Self, Error> {
        match driver {
            Driver::Daemon(binary) => Ok(Self::Daemon(Daemon::with(
                lab.node("router")?,
                binary,
                hook,
                config,
            )?)),
            Driver::Direct => Ok(Self::Direct(Direct::start(lab, kind, hook)?)),
        }
    }

    /// Packets forwarded or dropped so far, and in words what was left to the kernel.
    fn forwarded(&self) -> Result<(u64, String), Error> {
        match self {
            Self::Direct(direct) => direct.forwarded(),
            Self::Daemon(daemon) => {
                let status = daemon.status()?;
                let packets = status.packets;
                let passed: Vec<_> = packets
                    .passed
                    .iter()
                    .map(|(reason, n)| format!("{reason} {n}"))
                    .collect();
                let dropped = status.drops.map_or(0, |drops| drops.sets);
                Ok((packets.forwarded() + dropped, passed.join(", ")))
            }
        }
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Packets that reached the sink, or were dropped where they were to be.
    pub packets: u64,
    /// Time it took, ns, without preparing it and without what others did on the processor.
    pub nanoseconds: f64,
    /// Share of the packets that weir forwarded or dropped; `None` for other paths.
    pub share: Option<f64>,
    /// Processors that were busy meanwhile.
    pub busy: f64,
}

impl Run {
    /// Packets per second.
    pub fn rate(&self) -> f64 {
        self.packets as f64 * 1e9 / self.nanoseconds
    }
}

/// A closed loop. Dropped in the order of the fields: programs before namespaces.
pub struct Circuit {
    path: Path,
    kind: Kind,
    weir: Option<Weir>,
    #[allow(dead_code)] // holds what is attached in the router
    middle: Option<Bench>,
    forward: Bench,
    replies: Bench,
    sink: Bench,
    /// Packets per second as last seen: how many to ask for at once.
    guess: f64,
    /// Goes on with packets where this thread's processor has too many.
    helper: Option<SoftirqThread>,
    lab: Lab,
}

impl Circuit {
    /// Builds it, and lets all flows be seen in both directions.
    pub fn build(path: Path, length: usize, flows: u32, driver: &Driver) -> Result<Self, Error> {
        Self::slowed(path, length, flows, driver, 0)
    }

    /// The same, where [`Path::Ceiling`] makes so many turns of a loop for nothing with each packet.
    pub fn slowed(
        path: Path,
        length: usize,
        flows: u32,
        driver: &Driver,
        spin: u32,
    ) -> Result<Self, Error> {
        let kind = path.kind(length, flows);
        let lab = Lab::gateway(&Options {
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
        match path {
            Path::Kernel => drop(lab.node("router")?.nft("flush ruleset")?),
            Path::Flowtable => lab.flowtable()?,
            _ => {}
        }
        if let Some(rules) = path.rules() {
            lab.node("router")?.nft(&rules)?;
        }
        let (router, server) = (lab.node("router")?, lab.node("server")?);
        // A veth tells its peer that it takes XDP frames when GRO is switched on while it is up, and not before.
        for (node, device) in [
            (router, "lan0"),
            (router, "wan0"),
            (server, "eth0"),
            (lab.node("client")?, "eth0"),
        ] {
            node.run(&format!("ethtool -K {device} gro off"))?;
            node.run(&format!("ethtool -K {device} gro on"))?;
        }
        let load = |traffic, role, device| -> Result<Bench, Error> {
            Ok(Bench::load(
                &traffic,
                lab.index(role, device)?,
                &Exit::default(),
            )?)
        };
        let forward = load(kind.forward(), "client", "eth0")?;
        let replies = load(kind.reply(), "server", "eth0")?;
        let mut sink = load(kind.forward(), "server", "eth0")?;
        let end = lab.index("server", "eth0")?;
        let program = if path.frames() {
            Program::SinkXdp
        } else {
            Program::SinkTc
        };
        if path == Path::Nothing {
            let port = lab.index("router", "lan0")?;
            inside(router, || sink.attach(Program::SinkXdp, port, "lan0"))??;
        } else {
            inside(server, || sink.attach(program, end, "eth0"))??;
        }
        let middle = compared(path, &kind, &lab, spin)?;
        let weir = path
            .hook()
            .map(|hook| Weir::start(driver, &lab, kind, hook, path.config()))
            .transpose()?;
        let mut circuit = Self {
            path,
            kind,
            weir,
            middle,
            forward,
            replies,
            sink,
            guess: 100_000.0,
            helper: None,
            lab,
        };
        if path.drops() {
            return Ok(circuit);
        }
        // UDP counts as established, for conntrack and so for weir, when a reply was seen.
        circuit.both_ways()?;
        if let Some(Weir::Daemon(daemon)) = &circuit.weir {
            daemon.wait_for_flows(flows.into())?;
        }
        for _ in 0..3 {
            circuit.both_ways()?;
        }
        circuit.settle()?;
        Ok(circuit)
    }

    /// Lets the daemon hear of all that the flows' beginning made happen: each event of a connection ends its proofs. Those that stay unproven are seen by
    /// [`Circuit::measure`].
    fn settle(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let Some(before) = self.by_weir()? else {
                break;
            };
            self.both_ways()?;
            let forwarded = self.by_weir()?.unwrap_or(before) - before;
            if forwarded as f64 >= SETTLED * 2.0 * f64::from(self.kind.flows) {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Packets that weir forwarded, where it is there.
    fn by_weir(&self) -> Result<Option<u64>, Error> {
        let weir = self.weir.as_ref().map(Weir::forwarded).transpose()?;
        Ok(weir.map(|(packets, _)| packets))
    }

    /// Every flow's packet, and every reply.
    fn both_ways(&mut self) -> Result<(), Error> {
        self.send(self.kind.flows)?;
        let server = self.lab.node("server")?;
        inside(server, || self.replies.generate(self.kind.flows))??;
        Ok(())
    }

    /// The router, for whoever is to look on.
    pub fn router(&self) -> Result<&lab::Namespace, Error> {
        Ok(self.lab.node("router")?)
    }

    /// Where packets end.
    pub fn server(&self) -> Result<&lab::Namespace, Error> {
        Ok(self.lab.node("server")?)
    }

    /// See [`nothing`].
    pub fn nothing(&self) -> Result<Bench, Error> {
        nothing(&self.lab)
    }

    /// What forwards here.
    pub fn path(&self) -> Path {
        self.path
    }

    /// Nanoseconds that it took, as the kernel counts them: it takes 16 to 32 ms to prepare and to tidy up, most of it waiting, which are none of the router's. The
    /// work that the kernel's own thread did is added. Whole nanoseconds per packet are all that is told, so half of one is added to each.
    fn send(&mut self, packets: u32) -> Result<f64, Error> {
        let client = self.lab.node("client")?;
        let helped = |helper: &Option<SoftirqThread>| helper.as_ref().map_or(0, SoftirqThread::ran);
        let ran = helped(&self.helper);
        let each = inside(client, || self.forward.generate_timed(packets))??;
        let helped = helped(&self.helper).saturating_sub(ran);
        let spent = (each as f64 + 0.5) * f64::from(packets) + helped as f64;
        self.guess = f64::from(packets) * 1e9 / spent;
        Ok(spent)
    }

    /// Sends for about so long, in pieces of at most a second.
    fn send_for(&mut self, seconds: f64) -> Result<(u64, f64), Error> {
        let (mut sent, mut spent) = (0, 0.0);
        while spent < seconds * 1e9 {
            let left = seconds - spent / 1e9;
            let packets = (self.guess * left.min(1.0))
                .max(f64::from(self.kind.flows))
                .max(6400.0) as u32;
            let packets = packets.next_multiple_of(64);
            spent += self.send(packets)?;
            sent += u64::from(packets);
        }
        Ok((sent, spent))
    }

    /// Packets that a flowtable did not take so far.
    fn left_to_rules(&self) -> Result<u64, Error> {
        match self.path {
            Path::Flowtable => Ok(self.lab.left_by_flowtable()?),
            _ => Ok(0),
        }
    }

    /// Warms up, then measures. To be called by a thread that stays on its processor.
    pub fn measure(&mut self, warm: f64, seconds: f64) -> Result<Run, Error> {
        if self.helper.is_none() {
            let cpu = nix::sched::sched_getcpu().map_err(Error::system("ask for the processor"))?;
            self.helper = Some(SoftirqThread::of(cpu)?);
        }
        self.send_for(warm)?;
        let weir = self.weir.as_ref().map(Weir::forwarded).transpose()?;
        let (before, left_before) = (self.sink.sunk(), self.left_to_rules()?);
        let (begun, worked) = (Instant::now(), busy());
        let (sent, nanoseconds) = self.send_for(seconds)?;
        let busy = (busy() - worked) / begun.elapsed().as_secs_f64();
        let arrived = self.sink.sunk() - before;
        let packets = self.counted(sent, arrived)?;
        let left = self.left_to_rules()? - left_before;
        if left * 100 > packets {
            return Err(Error::Wrong(format!(
                "flowtable: it left {left} of {packets} packets to the rules"
            )));
        }
        let share = match (weir, &self.weir) {
            (Some((before, _)), Some(weir)) => {
                let (after, passed) = weir.forwarded()?;
                let share = (after - before) as f64 / packets as f64;
                if share < self.path.least() {
                    let path = self.path.name();
                    return Err(Error::Wrong(format!(
                        "{path}: only {:.1} % by weir ({passed})",
                        share * 100.0
                    )));
                }
                Some(share)
            }
            _ => None,
        };
        Ok(Run {
            packets,
            nanoseconds,
            share,
            busy,
        })
    }

    /// Packets that met the end they were to meet, of those that were sent.
    fn counted(&self, sent: u64, arrived: u64) -> Result<u64, Error> {
        let path = self.path.name();
        match self.path.drops() {
            true if arrived > 0 => Err(Error::Wrong(format!(
                "{path}: {arrived} of {sent} packets reached the sink, and all were to be dropped"
            ))),
            true => Ok(sent),
            false if arrived * 100 < sent * 99 => Err(Error::Wrong(format!(
                "{path}: {} of {sent} packets never reached the sink",
                sent - arrived
            ))),
            false => Ok(arrived),
        }
    }

    /// Checks what arrives at the server.
    pub fn check_wire(&mut self) -> Result<(), Error> {
        if self.path == Path::Nothing || self.path.drops() {
            return Ok(());
        }
        self.sink.sample(64);
        self.send(self.kind.flows.max(64))?;
        let samples = self.sink.samples();
        let named = |error| Error::Wrong(format!("{}: {error}", self.path.name()));
        wire::check(&self.kind, &samples).map_err(named)
    }
}

/// Programs at TC of both of the router's ports, each way, that do nothing; for as long as what is returned lives.
pub fn nothing(lab: &Lab) -> Result<Bench, Error> {
    let kind = Kind {
        ipv6: false,
        translated: false,
        length: 60,
        flows: 1,
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

/// The program that stands in for weir.
fn compared(path: Path, kind: &Kind, lab: &Lab, spin: u32) -> Result<Option<Bench>, Error> {
    let program = match path {
        Path::StaticTc => Program::CeilingTc,
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
