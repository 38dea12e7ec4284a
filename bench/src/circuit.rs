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
use crate::traffic::Kind;
use crate::wire;

/// How long the daemon may take until it has heard of everything, and what lies between two looks.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(20);

/// What forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The generator and a drop at the router's port: what is not the router.
    Nothing,
    /// The kernel, conntrack not in use.
    Kernel,
    /// The kernel with conntrack.
    Conntrack,
    /// The kernel with conntrack and masquerading.
    Masquerade,
    /// The same with nftables' flowtable, in software.
    Flowtable,
    /// A static rewrite at TC ingress.
    StaticTc,
    /// Weir at TC, translating.
    WeirTc,
    /// A hash map and source translation at XDP.
    HashNat,
    /// A static rewrite at XDP.
    Ceiling,
    /// Weir at XDP, translating.
    WeirXdp,
    /// The kernel with conntrack, IPv6.
    Conntrack6,
    /// Weir at XDP, IPv6, not translating.
    WeirXdp6,
    /// The kernel with conntrack and masquerading, IPv6.
    Masquerade6,
    /// Weir at XDP, IPv6, translating.
    WeirXdpNat6,
}

impl Path {
    /// In the order of the table.
    pub const ALL: [Path; 14] = [
        Self::Nothing,
        Self::Kernel,
        Self::Conntrack,
        Self::Masquerade,
        Self::Flowtable,
        Self::StaticTc,
        Self::WeirTc,
        Self::HashNat,
        Self::Ceiling,
        Self::WeirXdp,
        Self::Conntrack6,
        Self::WeirXdp6,
        Self::Masquerade6,
        Self::WeirXdpNat6,
    ];

    /// Short name, for `--only` and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "direct",
            Self::Kernel => "kernel",
            Self::Conntrack => "kernel-conntrack",
            Self::Masquerade => "kernel-nat",
            Self::Flowtable => "flowtable",
            Self::StaticTc => "tc-static",
            Self::WeirTc => "weir-tc",
            Self::HashNat => "xdp-hash",
            Self::Ceiling => "xdp-static",
            Self::WeirXdp => "weir-xdp",
            Self::Conntrack6 => "kernel6-conntrack",
            Self::WeirXdp6 => "weir6-xdp",
            Self::Masquerade6 => "kernel6-nat",
            Self::WeirXdpNat6 => "weir6-xdp-nat",
        }
    }

    /// For the table.
    pub fn text(self) -> &'static str {
        match self {
            Self::Nothing => "no router: dropped at its port",
            Self::Kernel => "kernel, no conntrack",
            Self::Conntrack => "kernel, conntrack",
            Self::Masquerade => "kernel, conntrack and NAT",
            Self::Flowtable => "kernel, nftables' flowtable and NAT",
            Self::StaticTc => "TC, static rewrite",
            Self::WeirTc => "weir at TC, NAT",
            Self::HashNat => "XDP, hash map and NAT",
            Self::Ceiling => "XDP, static rewrite: the ceiling",
            Self::WeirXdp => "weir at XDP, NAT",
            Self::Conntrack6 => "kernel, conntrack, IPv6",
            Self::WeirXdp6 => "weir at XDP, IPv6",
            Self::Masquerade6 => "kernel, conntrack and NAT, IPv6",
            Self::WeirXdpNat6 => "weir at XDP, NAT, IPv6",
        }
    }

    /// Why this machine cannot do it.
    pub fn lacks(self) -> Option<String> {
        let tried = || Lab::gateway(&Options::default()).and_then(|lab| lab.flowtable());
        match self {
            Self::Flowtable => tried()
                .err()
                .map(|_| "this kernel has no flowtable for nftables (CONFIG_NF_FLOW_TABLE)".into()),
            _ => None,
        }
    }

    /// Whether frames reach the server without an skb, so that its sink is an XDP one.
    fn frames(self) -> bool {
        matches!(
            self,
            Self::HashNat | Self::Ceiling | Self::WeirXdp | Self::WeirXdp6 | Self::WeirXdpNat6
        )
    }

    fn hook(self) -> Option<Hook> {
        match self {
            Self::WeirTc => Some(Hook::Tc),
            Self::WeirXdp | Self::WeirXdp6 | Self::WeirXdpNat6 => Some(Hook::Xdp),
            _ => None,
        }
    }

    fn kind(self, length: usize, flows: u32) -> Kind {
        let translated6 = matches!(self, Self::Masquerade6 | Self::WeirXdpNat6);
        let ipv6 = translated6 || matches!(self, Self::Conntrack6 | Self::WeirXdp6);
        let translated = match ipv6 {
            true => translated6,
            false => !matches!(self, Self::Kernel | Self::Conntrack),
        };
        Kind {
            ipv6,
            translated,
            length: length.max(if ipv6 { 62 } else { 60 }),
            flows,
        }
    }
}

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
    fn start(driver: &Driver, lab: &Lab, kind: Kind, hook: Hook) -> Result<Self, Error> {
        match driver {
            Driver::Daemon(binary) => Ok(Self::Daemon(Daemon::start(
                lab.node("router")?,
                binary,
                hook,
            )?)),
            Driver::Direct => Ok(Self::Direct(Direct::start(lab, kind, hook)?)),
        }
    }

    /// Packets forwarded so far, and in words what was not.
    fn forwarded(&self) -> Result<(u64, String), Error> {
        match self {
            Self::Direct(direct) => direct.forwarded(),
            Self::Daemon(daemon) => {
                let packets = daemon.status()?.packets;
                let passed: Vec<_> = packets
                    .passed
                    .iter()
                    .map(|(reason, n)| format!("{reason} {n}"))
                    .collect();
                Ok((packets.forwarded(), passed.join(", ")))
            }
        }
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Packets that reached the sink.
    pub packets: u64,
    /// Time it took, ns, without preparing it and without what others did on the processor.
    pub nanoseconds: f64,
    /// Share of the packets that weir forwarded; `None` for other paths.
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
            .map(|hook| Weir::start(driver, &lab, kind, hook))
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
            if forwarded as f64 >= 1.99 * f64::from(self.kind.flows) {
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
        let (sunk, ran) = (self.sink.sunk(), helped(&self.helper));
        let each = inside(client, || self.forward.generate_timed(packets))??;
        let helped = helped(&self.helper).saturating_sub(ran);
        let spent = (each as f64 + 0.5) * f64::from(packets) + helped as f64;
        let arrived = self.sink.sunk() - sunk;
        if arrived > 0 {
            self.guess = arrived as f64 * 1e9 / spent;
        }
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
        let packets = self.sink.sunk() - before;
        let left = self.left_to_rules()? - left_before;
        if left * 100 > packets {
            return Err(Error::Wrong(format!(
                "flowtable: it left {left} of {packets} packets to the rules"
            )));
        }
        if packets * 100 < sent * 99 {
            let (path, lost) = (self.path.name(), sent - packets);
            return Err(Error::Wrong(format!(
                "{path}: {lost} of {sent} packets never reached the sink"
            )));
        }
        let share = match (weir, &self.weir) {
            (Some((before, _)), Some(weir)) => {
                let (after, passed) = weir.forwarded()?;
                let share = (after - before) as f64 / packets as f64;
                if share < 0.99 {
                    let path = self.path.name();
                    return Err(Error::Wrong(format!(
                        "{path}: only {:.1} % forwarded by weir ({passed})",
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

    /// Checks what arrives at the server.
    pub fn check_wire(&mut self) -> Result<(), Error> {
        if self.path == Path::Nothing {
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
