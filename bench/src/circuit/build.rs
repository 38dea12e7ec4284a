//! Builds a circuit: the router, what forwards in it, and generators and sinks at both its ends.

use std::path::Path as File;
use std::time::{Duration, Instant};

use datapath::bench::{Bench, Exit, Program, Traffic};
use lab::arrangement::{Outlet, outlets};
use lab::generate::Side;
use lab::{Ipv6, Lab, Options};

use super::{Circuit, End};
use crate::Error;
use crate::daemon::Daemon;
use crate::load::Load;
use crate::machine::inside;
use crate::path::Path;
use crate::traffic::Kind;

/// How long the daemon may take until it has heard of everything, and what lies between two looks.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);
/// Share of the packets that it then forwards, at least: of very many flows, some always prove
/// anew.
const SETTLED: f64 = 0.985;
/// Flows for which the daemon has room without being told.
const ROOM: u32 = 16_384;

/// What is done in a lab.
pub type Then<'a> = dyn Fn(&Lab) -> Result<(), Error> + 'a;

impl Circuit {
    /// Builds it, and lets all flows be seen in both directions. `weir`: the binary.
    pub fn build(path: Path, load: Load, weir: &File) -> Result<Self, Error> {
        Self::slowed(path, load, weir, 0)
    }

    /// The same, where [`Path::Ceiling`] makes so many turns of a loop for nothing with each
    /// packet.
    pub fn slowed(path: Path, load: Load, weir: &File, spin: u32) -> Result<Self, Error> {
        Self::made(path, load, weir, (spin, "", &|_| Ok(())))
    }

    /// The same, where weir has more lines of configuration; `then`: what is done once it runs,
    /// before any flow is seen.
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
        // A veth tells its peer that it takes XDP frames when GRO is switched on while it is up,
        // and not before.
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

    /// Lets all flows be seen. UDP counts as established, for conntrack and so for weir, when a
    /// reply was seen.
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

    /// Lets the daemon hear of all that the flows' beginning made happen: each event of a
    /// connection ends its proofs. Those that stay unproven are seen by [`Circuit::measure`].
    fn settle(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        let both = 2.0 * f64::from(self.round());
        while begun.elapsed() < PATIENCE {
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
}

/// What one end sends, in its arrangement's headers.
fn generator(
    lab: &Lab,
    outlet: &Outlet,
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

/// Makes the router know where all servers are but the first.
fn more_servers(lab: &Lab, kind: Kind, outlet: &Outlet) -> Result<(), Error> {
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

/// Programs at TC of both of the router's ports, each way, that do nothing; for as long as what is
/// returned lives.
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

/// The program that stands in for weir.
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
