//! What is measured: a closed loop – client, router, server – for one scenario.
//!
//! A generator at each end feeds its host's device as a driver would; the router's and the other
//! end's receive paths run in the same call, on the same core. Nothing waits, so packets per second
//! are the reciprocal of the cost of a packet.

mod build;
mod check;

use std::time::{Duration, Instant};

use datapath::bench::{Bench, Program};
use lab::arrangement::Outlet;
use lab::generate::Side;
use lab::{Lab, Namespace};

use crate::Error;
use crate::daemon::Daemon;
use crate::load::Load;
use crate::machine::{Processor, SoftirqThread, inside, processor_times};
pub use crate::path::Path;
use crate::traffic::Kind;
pub use build::{Then, nothing};

/// One measurement.
#[derive(Clone, Debug)]
pub struct Run {
    /// Packets that reached the sink, or were dropped where they were to be.
    pub packets: u64,
    /// Time it took, ns (instructions, where the clock counts those), without preparing it and
    /// without what others did on the processor.
    pub nanoseconds: f64,
    /// The same on the clock on the wall, s: with all that it takes to prepare.
    pub seconds: f64,
    /// Share of the packets that weir forwarded or dropped; `None` for other paths.
    pub share: Option<f64>,
    /// What each processor did meanwhile, as shares of the time.
    pub processors: Vec<Processor>,
}

impl Run {
    /// Packets per second.
    pub fn rate(&self) -> f64 {
        self.packets as f64 * 1e9 / self.nanoseconds
    }

    /// Nanoseconds, or instructions, per packet.
    pub fn cost(&self) -> f64 {
        self.nanoseconds / self.packets as f64
    }

    /// Processors that were busy, all of them together.
    pub fn busy(&self) -> f64 {
        self.processors.iter().map(|one| one.busy).sum()
    }
}

/// A client or a server: the router's port and what is at the other end of its wire.
struct End {
    outlet: Outlet,
    /// The router's lowest device there.
    port: &'static str,
    /// Feeds the frames of all flows, as this host sends them.
    generator: Bench,
    /// Drops what arrives here.
    sink: Bench,
}

/// A running router. Dropped in the order of the fields: programs before namespaces.
pub struct Circuit {
    path: Path,
    kind: Kind,
    load: Load,
    /// Lengths that frames may have, without what the wires add.
    lengths: Vec<usize>,
    weir: Option<Daemon>,
    #[allow(dead_code)] // holds what is attached in the router
    middle: Option<Bench>,
    client: End,
    server: End,
    /// Whose packets are measured.
    from: Side,
    /// Packets per second as last seen: how many to ask for at once.
    guess: f64,
    /// Goes on with packets where this thread's processor has too many.
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
    /// Measures what this side sends from now on. The sink for it is at the other side's host, or
    /// at the router's port where nobody forwards.
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
        // Behind skbs at TC, behind frames at XDP: turning one into the other would be measured
        // too.
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

    /// Packets that weir forwarded or dropped by a set, where it is there.
    fn by_weir(&self) -> Result<Option<u64>, Error> {
        let status = self.weir.as_ref().map(Daemon::status).transpose()?;
        Ok(status.map(|status| {
            let dropped = status.drops.map_or(0, |drops| drops.sets);
            status.packets.forwarded() + dropped
        }))
    }

    /// What weir left to the kernel, in words.
    fn passed(&self) -> Result<String, Error> {
        let status = self.weir.as_ref().map(Daemon::status).transpose()?;
        let passed = status.map(|status| status.packets.passed);
        let words = passed.into_iter().flatten();
        let words: Vec<_> = words.map(|(why, n)| format!("{why} {n}")).collect();
        Ok(words.join(", "))
    }

    /// Packets of one direction in which each flow has its turn.
    fn round(&self) -> u32 {
        self.load.flows * self.load.burst
    }

    /// Every flow's packets, and every reply.
    fn both_ways(&mut self) -> Result<(), Error> {
        for side in [Side::Client, Side::Server] {
            self.feed(side, self.round())?;
        }
        Ok(())
    }

    /// Weir, where it is there.
    pub fn weir(&self) -> Result<&Daemon, Error> {
        let none = || Error::Wrong("there is no weir on this path".into());
        self.weir.as_ref().ok_or_else(none)
    }

    /// For so many seconds a packet of each flow each way in a second, in tenths of it.
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

    /// The router, for whoever is to look on.
    pub fn router(&self) -> Result<&Namespace, Error> {
        Ok(self.lab.node("router")?)
    }

    /// Where packets end.
    pub fn server(&self) -> Result<&Namespace, Error> {
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

    /// Nanoseconds that it took, as the kernel counts them: it takes 16 to 32 ms to prepare and to
    /// tidy up, most of it waiting, which are none of the router's. The work that the kernel's own
    /// thread did is added. Whole nanoseconds per packet are all that is told, so half of one is
    /// added to each.
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

    /// Sends for about so long, in pieces of at most a second.
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

    /// Packets that a flowtable did not take so far.
    fn left_to_rules(&self) -> Result<u64, Error> {
        match self.path {
            Path::Flowtable => Ok(self.lab.left_by_flowtable()?),
            _ => Ok(0),
        }
    }

    /// The work that the kernel's own thread does for received packets is known from here on. To be
    /// called where everything will run.
    fn stay(&mut self) -> Result<(), Error> {
        if self.helper.is_none() {
            let cpu = nix::sched::sched_getcpu().map_err(Error::system("ask for the processor"))?;
            self.helper = Some(SoftirqThread::of(cpu)?);
        }
        Ok(())
    }

    /// Warms up, then measures. To be called by a thread that stays on its processor.
    pub fn measure(&mut self, warm: f64, seconds: f64) -> Result<Run, Error> {
        self.stay()?;
        self.send_for(warm)?;
        let before = self.before()?;
        let (sent, nanoseconds) = self.send_for(seconds)?;
        self.after(&before, sent, nanoseconds)
    }

    /// Measures so many packets, rounded up to 64.
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
}
