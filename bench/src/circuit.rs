//! The rows of the table: each a closed loop of its own – client, router, server – that stays for the whole run.
//!
//! The generator feeds the client's device as a driver would; the router's and the server's receive paths run in the same call,
//! on the same core. Nothing waits, so packets per second are the reciprocal of the cost of a packet.

use std::path::PathBuf;
use std::time::Instant;

use datapath::Hook;
use datapath::bench::{Bench, Exit, Program};
use lab::{Ipv6, Lab, Options};

use crate::Error;
use crate::daemon::Daemon;
use crate::direct::Direct;
use crate::machine::{busy, inside, waited};
use crate::traffic::Kind;
use crate::wire;

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
}

impl Path {
    /// In the order of the table.
    pub const ALL: [Path; 12] = [
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
            Self::WeirXdp6 => "weir at XDP, IPv6 routed",
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
            Self::HashNat | Self::Ceiling | Self::WeirXdp | Self::WeirXdp6
        )
    }

    fn hook(self) -> Option<Hook> {
        match self {
            Self::WeirTc => Some(Hook::Tc),
            Self::WeirXdp | Self::WeirXdp6 => Some(Hook::Xdp),
            _ => None,
        }
    }

    fn kind(self, length: usize, flows: u32) -> Kind {
        let ipv6 = matches!(self, Self::Conntrack6 | Self::WeirXdp6);
        let translated = !ipv6 && !matches!(self, Self::Kernel | Self::Conntrack);
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
    /// Time it took, ns, less what the thread waited for its processor.
    pub nanoseconds: u64,
    /// Share of the packets that weir forwarded; `None` for other paths.
    pub share: Option<f64>,
    /// Processors that were busy meanwhile.
    pub busy: f64,
}

impl Run {
    /// Packets per second.
    pub fn rate(&self) -> f64 {
        self.packets as f64 * 1e9 / self.nanoseconds as f64
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
    lab: Lab,
}

impl Circuit {
    /// Builds it, and lets all flows be seen in both directions.
    pub fn build(path: Path, length: usize, flows: u32, driver: &Driver) -> Result<Self, Error> {
        let kind = path.kind(length, flows);
        let lab = Lab::gateway(&Options {
            nat: kind.translated,
            ipv6: if kind.ipv6 { Ipv6::Routed } else { Ipv6::Off },
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
        let middle = compared(path, &kind, &lab)?;
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
        Ok(circuit)
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

    /// See [`nothing`].
    pub fn nothing(&self) -> Result<Bench, Error> {
        nothing(&self.lab)
    }

    /// What forwards here.
    pub fn path(&self) -> Path {
        self.path
    }

    fn send(&mut self, packets: u32) -> Result<u64, Error> {
        let client = self.lab.node("client")?;
        let (before, idle) = (self.sink.sunk(), waited());
        let spent = inside(client, || self.forward.generate(packets))??;
        let spent = (spent.as_nanos() as u64)
            .saturating_sub(waited() - idle)
            .max(1);
        let arrived = self.sink.sunk() - before;
        if arrived > 0 {
            self.guess = arrived as f64 * 1e9 / spent as f64;
        }
        Ok(spent)
    }

    /// Sends for about so long, in pieces of at most a quarter of a second.
    fn send_for(&mut self, seconds: f64) -> Result<(u64, u64), Error> {
        let (mut sent, mut spent) = (0, 0);
        while (spent as f64) < seconds * 1e9 {
            let left = seconds - spent as f64 / 1e9;
            let packets = (self.guess * left.min(0.25))
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

    /// Warms up, then measures.
    pub fn measure(&mut self, warm: f64, seconds: f64) -> Result<Run, Error> {
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
fn compared(path: Path, kind: &Kind, lab: &Lab) -> Result<Option<Bench>, Error> {
    let program = match path {
        Path::StaticTc => Program::CeilingTc,
        Path::HashNat => Program::HashNat,
        Path::Ceiling => Program::Ceiling,
        _ => return Ok(None),
    };
    let (lan, wan) = (lab.index("router", "lan0")?, lab.index("router", "wan0")?);
    inside(lab.node("router")?, || {
        let mut bench = Bench::load(&kind.forward(), 0, &kind.exit(wan))?;
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
