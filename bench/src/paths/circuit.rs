//! A router in an arrangement, with generators and sinks at both its ends.

use std::collections::BTreeSet;
use std::path::Path;

use datapath::Hook;
use datapath::bench::{Bench, Exit, Program, Sample, Traffic};
use lab::arrangement::{Outlet, outlets};
use lab::generate::Side;
use lab::{Arrangement, Ipv6, Lab, Options};

use crate::Error;
use crate::daemon::Daemon;
use crate::machine::{SoftirqThread, inside};
use crate::traffic::Kind;

use super::Forwarder;

/// Length of a plain frame, octets: the shortest. Headers of an arrangement come on top.
const LENGTH: usize = 60;
/// The processor it all runs on: with `--icount` there is one.
pub(super) const CPU: usize = 0;
/// What fills the generator's frames ([`Kind`]).
const FILLER: u8 = 0x5a;

/// One batch.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Nanoseconds (instructions, where the clock counts those) per packet, from the generator to the sink.
    pub cost: f64,
    /// See [`super::Cost::share`].
    pub share: Option<f64>,
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
    arrangement: Arrangement,
    forwarder: Forwarder,
    kind: Kind,
    weir: Option<Daemon>,
    middle: Option<Bench>,
    client: End,
    server: End,
    /// Where sinks are attached at present.
    listening: Option<Side>,
    helper: SoftirqThread,
    lab: Lab,
}

impl Circuit {
    /// Builds it, with nobody to forward yet.
    pub fn build(arrangement: Arrangement, flows: u32) -> Result<Self, Error> {
        let kind = Kind {
            ipv6: false,
            translated: true,
            length: LENGTH,
            flows,
        };
        let lab = Lab::gateway(&Options {
            arrangement,
            nat: true,
            ipv6: Ipv6::Off,
            plain_offloads: true,
            raw: true,
            ..Options::default()
        })?;
        // A veth tells its peer that it takes XDP frames when GRO is switched on while it is up, and not before.
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
            let outlet = outlets
                .iter()
                .find(|outlet| outlet.side == side)
                .ok_or_else(|| Error::Wrong("a wire without an end".into()))?
                .clone();
            Ok(End {
                generator: generator(&lab, &outlet, &kind)?,
                sink: Bench::load(&kind.forward(), 0, &Exit::default())?,
                outlet,
                port,
            })
        };
        let (client, server) = (end(Side::Client, "lan0")?, end(Side::Server, "wan0")?);
        Ok(Self {
            arrangement,
            forwarder: Forwarder::Nobody,
            kind,
            weir: None,
            middle: None,
            client,
            server,
            listening: None,
            helper: SoftirqThread::of(CPU)?,
            lab,
        })
    }

    /// What is below IP here.
    pub fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// Makes this one forward, and nobody else; lets all flows be seen in both directions.
    pub fn forward_by(&mut self, forwarder: Forwarder, weir: &Path) -> Result<(), Error> {
        self.weir = None;
        self.middle = None;
        self.silence();
        self.forwarder = forwarder;
        let wan = self.arrangement.wan_device();
        let router = self.lab.node("router")?;
        router.nft("flush ruleset")?;
        let translated = forwarder != Forwarder::Kernel;
        if translated {
            self.lab.masquerade("router", wan, true, false)?;
            router.run("conntrack -F")?;
        }
        if self.kind.translated != translated {
            self.kind.translated = translated;
            self.server.generator = generator(&self.lab, &self.server.outlet, &self.kind)?;
        }
        match forwarder {
            Forwarder::Nobody | Forwarder::Kernel | Forwarder::Masquerade => {}
            Forwarder::Flowtable => {
                self.lab.flowtable()?;
            }
            Forwarder::Static => {
                let (lan, wan) = (
                    self.lab.index("router", "lan0")?,
                    self.lab.index("router", "wan0")?,
                );
                let (kind, exit) = (self.kind, self.kind.exit(wan));
                let attach = || -> Result<Bench, Error> {
                    let mut bench = Bench::load(&kind.forward(), 0, &exit)?;
                    bench.attach(Program::Ceiling, lan, "lan0")?;
                    Ok(bench)
                };
                if self.arrangement == Arrangement::PLAIN {
                    self.middle = Some(inside(router, attach)??);
                }
            }
            Forwarder::WeirTc => self.weir = Some(Daemon::start(router, weir, Hook::Tc)?),
            Forwarder::WeirXdp => self.weir = Some(Daemon::start(router, weir, Hook::Xdp)?),
        }
        self.settle()
    }

    /// Lets every flow be seen in both directions, until whoever forwards has taken it over.
    fn settle(&mut self) -> Result<(), Error> {
        self.both_ways()?;
        if let Some(weir) = &self.weir {
            weir.wait_for_flows(self.kind.flows.into())?;
        }
        for _ in 0..3 {
            self.both_ways()?;
        }
        if self.forwarder == Forwarder::Flowtable {
            let shown = self.lab.node("router")?.run("conntrack -L -p udp")?;
            let taken = shown.matches("[OFFLOAD]").count();
            if taken < self.kind.flows as usize {
                return Err(Error::Wrong(format!(
                    "the flowtable has {taken} of {} flows",
                    self.kind.flows
                )));
            }
        }
        Ok(())
    }

    /// Every flow's packet, and every reply.
    fn both_ways(&mut self) -> Result<(), Error> {
        let flows = self.kind.flows;
        for side in [Side::Client, Side::Server] {
            self.send(side, flows)?;
        }
        Ok(())
    }

    /// Sends; returns nanoseconds per packet, with what the kernel's own thread did of the work.
    fn send(&mut self, from: Side, packets: u32) -> Result<f64, Error> {
        let lab = &self.lab;
        let end = match from {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let before = self.helper.ran();
        let cost = inside(lab.node(end.outlet.role)?, || {
            end.generator.generate_timed(packets)
        })??;
        Ok(cost as f64 + (self.helper.ran() - before) as f64 / f64::from(packets))
    }

    fn silence(&mut self) {
        self.client.sink.detach();
        self.server.sink.detach();
        self.listening = None;
    }

    /// Attaches the sink for what one side sends: at the other side's host, or at the router's port where nobody forwards.
    pub fn listen(&mut self, from: Side) -> Result<(), Error> {
        self.silence();
        let (near, far) = match from {
            Side::Client => (&self.client, &mut self.server),
            Side::Server => (&self.server, &mut self.client),
        };
        let (role, device) = match self.forwarder {
            Forwarder::Nobody => ("router", near.port),
            _ => (far.outlet.role, far.outlet.device),
        };
        // Behind skbs at TC, behind frames at XDP: turning one into the other would be measured too.
        let program = match self.forwarder {
            Forwarder::Nobody | Forwarder::Static | Forwarder::WeirXdp => Program::SinkXdp,
            _ => Program::SinkTc,
        };
        let index = self.lab.index(role, device)?;
        inside(self.lab.node(role)?, || {
            far.sink.attach(program, index, device)
        })??;
        self.listening = Some(from);
        Ok(())
    }

    fn sink(&mut self, from: Side) -> Result<&mut Bench, Error> {
        if self.listening != Some(from) {
            return Err(Error::Wrong("nobody listens".into()));
        }
        Ok(match from {
            Side::Client => &mut self.server.sink,
            Side::Server => &mut self.client.sink,
        })
    }

    /// Sends so many packets and counts those that arrived; refuses figures of packets that were lost or went another way.
    pub fn run(&mut self, from: Side, packets: u32) -> Result<Run, Error> {
        let packets = packets.next_multiple_of(64);
        let (taken, before) = (self.taken()?, self.sink(from)?.sunk());
        let cost = self.send(from, packets)?;
        let arrived = self.sink(from)?.sunk() - before;
        if arrived * 100 < u64::from(packets) * 99 {
            return Err(Error::Wrong(format!(
                "{arrived} of {packets} packets arrived"
            )));
        }
        let share = taken
            .zip(self.taken()?)
            .map(|(before, now)| now.abs_diff(before) as f64 / f64::from(packets))
            // The flowtable does not count what it forwards; the rules count what it does not.
            .map(|share| match self.forwarder {
                Forwarder::Flowtable => 1.0 - share,
                _ => share,
            });
        match share {
            Some(share) if share < 0.99 => Err(Error::Wrong(format!(
                "only {:.1} % went that way",
                share * 100.0
            ))),
            share => Ok(Run { cost, share }),
        }
    }

    /// What weir forwarded so far; what the flowtable did not.
    fn taken(&self) -> Result<Option<u64>, Error> {
        if let Some(weir) = &self.weir {
            return Ok(Some(weir.status()?.packets.forwarded()));
        }
        if self.forwarder != Forwarder::Flowtable {
            return Ok(None);
        }
        Ok(Some(self.lab.left_by_flowtable()?))
    }

    /// Checks what arrives: every flow's packet, exactly as the router has to send it.
    pub fn check_wire(&mut self, from: Side) -> Result<(), Error> {
        if self.forwarder == Forwarder::Nobody {
            return Ok(());
        }
        let flows = self.kind.flows.min(64);
        self.sink(from)?.sample(flows);
        self.send(from, self.kind.flows)?;
        let samples = self.sink(from)?.samples();
        let far = match from {
            Side::Client => &self.server.outlet,
            Side::Server => &self.client.outlet,
        };
        let mut expected: BTreeSet<_> = (0..self.kind.flows)
            .map(|n| match from {
                Side::Client => self.kind.sent(n),
                Side::Server => self.kind.sent_back(n),
            })
            .collect();
        for sample in &samples {
            let whole = whole(sample);
            let arrival = far.open(&whole);
            if !far.may_leave(&arrival) || !expected.remove(&arrival.frame) {
                return Err(Error::Wrong(format!(
                    "this is not what should have arrived, or arrived twice:\n{}",
                    lab::view::hex(&whole)
                )));
            }
        }
        match samples.len() as u32 == flows {
            true => Ok(()),
            false => Err(Error::Wrong(format!(
                "{} of {flows} packets arrived",
                samples.len()
            ))),
        }
    }
}

/// A sample may lack the end of the payload, which is all one octet, and its outermost tag.
fn whole(sample: &Sample) -> Vec<u8> {
    let mut frame = sample.head.clone();
    frame.resize(sample.length as usize, FILLER);
    if let Some((tpid, tci)) = sample.tag {
        let tag = [tpid.to_be_bytes(), tci.to_be_bytes()].concat();
        frame.splice(12..12, tag);
    }
    frame
}

/// What one end sends, in its arrangement's headers.
fn generator(lab: &Lab, outlet: &Outlet, kind: &Kind) -> Result<Bench, Error> {
    let plain = match outlet.side {
        Side::Client => kind.forward(),
        Side::Server => kind.reply(),
    };
    let frame = outlet.seal(&plain.frame);
    let traffic = Traffic {
        shift: frame.len() - plain.frame.len(),
        frame,
        ..plain
    };
    let index = lab.index(outlet.role, outlet.device)?;
    Ok(Bench::load(&traffic, index, &Exit::default())?)
}
