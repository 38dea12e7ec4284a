//! Measures the daemon in daily use: how soon it forwards a flow, how soon it stops, and its memory
//! and processor time.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use datapath::Hook;
use datapath::bench::{Bench, Exit, Program};
use lab::counters::processor_time;
use lab::frame::{Body, Packet};
use lab::topology::mac;
use lab::{Ipv6, Lab, Options, Tap};
use serde::Serialize;

use crate::Error;
use crate::daemon::Daemon;
use crate::machine::inside;
use crate::traffic::{FIRST_PORT, Kind, SERVICE};

/// Longest wait before a step counts as failed.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time without a packet by weir after which a flow counts as revoked.
const SILENCE: Duration = Duration::from_millis(30);

/// Router with the daemon at XDP, single packets, and two counters. Packets that XDP forwards reach
/// the server without leaving the router as an skb.
struct Scene {
    weir: Daemon,
    arrived: Bench,
    by_kernel: Bench,
    client: Tap,
    server: Tap,
    kind: Kind,
    lab: Lab,
}

impl Scene {
    fn new(binary: &Path) -> Result<Self, Error> {
        let kind = Kind {
            ipv6: false,
            translated: true,
            length: 60,
            flows: 1,
            servers: false,
        };
        let lab = gateway(true)?;
        let weir = Daemon::start(lab.node("router")?, binary, Hook::Xdp)?;
        let load = || Bench::load(&kind.forward(), 0, &Exit::default());
        let (mut arrived, mut by_kernel) = (load()?, load()?);
        let (end, wan) = (lab.index("server", "eth0")?, lab.index("router", "wan0")?);
        inside(lab.node("server")?, || {
            arrived.attach(Program::SinkXdp, end, "eth0")
        })??;
        inside(lab.node("router")?, || {
            by_kernel.attach(Program::CountTc, wan, "wan0")
        })??;
        let client = Tap::open(lab.node("client")?, "eth0")?;
        let server = Tap::open(lab.node("server")?, "eth0")?;
        Ok(Self {
            weir,
            arrived,
            by_kernel,
            client,
            server,
            kind,
            lab,
        })
    }

    /// Sends a packet, and returns whether weir forwarded it.
    fn forwarded(&self, frame: &[u8]) -> Result<bool, Error> {
        let (arrived, by_kernel) = (self.arrived.sunk(), self.by_kernel.sunk());
        self.client.send(frame)?;
        // Usually delivered within the call; a moment later if another core takes the packet.
        for _ in 0..100 {
            if self.by_kernel.sunk() != by_kernel {
                return Ok(false);
            }
            if self.arrived.sunk() != arrived {
                return Ok(self.by_kernel.sunk() == by_kernel);
            }
            std::hint::spin_loop();
        }
        Ok(false)
    }

    /// Returns the milliseconds from the reply that makes a flow eligible to the first packet that
    /// weir forwards.
    fn install(&self, n: u32) -> Result<f64, Error> {
        let frame = self.kind.received(n).bytes();
        self.client.send(&frame)?;
        let (original, reply) = self.kind.tuples(n);
        let ends = (
            (mac("server", "eth0"), reply.source),
            (mac("router", "wan0"), reply.destination),
        );
        let back = Packet::new(
            ends.0,
            ends.1,
            Body::Udp(SERVICE, original.source_port, vec![0; 18]),
        );
        let start = Instant::now();
        self.server.send(&back.bytes())?;
        while !self.forwarded(&frame)? {
            if start.elapsed() > PATIENCE {
                return Err(Error::Wrong(format!(
                    "weir does not take over flow {n}: {:?}",
                    self.weir.status()?
                )));
            }
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    /// Checks weir's own counters against the two here, over a packet of each flow.
    fn confirm(&self, flows: u32) -> Result<(), Error> {
        let before = self.weir.status()?.packets.forwarded();
        let mut seen = 0u64;
        for n in 0..flows {
            seen += u64::from(self.forwarded(&self.kind.received(n).bytes())?);
        }
        let forwarded = self.weir.status()?.packets.forwarded() - before;
        // A packet that another core delivers late may be counted for the next one.
        match seen.abs_diff(forwarded) * 100 <= u64::from(flows) && forwarded > 0 {
            true => Ok(()),
            false => Err(Error::Wrong(format!(
                "of {flows} packets, weir counted {forwarded} as forwarded, and {seen} were seen"
            ))),
        }
    }

    /// Runs a command in the router while packets of a flow go on. Returns the milliseconds for
    /// which weir still forwarded after the command's end; 0 if it stopped before.
    fn revoke(&self, n: u32, line: &str) -> Result<f64, Error> {
        let frame = self.kind.received(n).bytes();
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        command
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = self.lab.node("router")?.start(&mut command)?;
        let start = Instant::now();
        let (mut last, mut ended) = (start, None);
        loop {
            if self.forwarded(&frame)? {
                last = Instant::now();
            }
            if ended.is_none() && process.ended()?.is_some() {
                ended = Some(Instant::now());
            }
            match ended {
                Some(ended) if ended.max(last).elapsed() > SILENCE => {
                    return Ok(last.saturating_duration_since(ended).as_secs_f64() * 1e3);
                }
                _ if start.elapsed() > PATIENCE => {
                    return Err(Error::Wrong(format!(
                        "weir keeps forwarding after `{line}`"
                    )));
                }
                _ => {}
            }
        }
    }
}

fn gateway(nat: bool) -> Result<Lab, Error> {
    let options = Options {
        nat,
        ipv6: Ipv6::Off,
        plain_offloads: true,
        raw: true,
        ..Options::default()
    };
    Ok(Lab::gateway(&options)?)
}

/// Latencies of many flows, milliseconds, sorted.
#[derive(Clone, Debug, Serialize)]
pub struct Latencies {
    /// Name of the measurement.
    pub name: &'static str,
    /// Values.
    pub sorted: Vec<f64>,
}

impl Latencies {
    fn of(name: &'static str, mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            name,
            sorted: values,
        }
    }

    /// Formats a line of the table: median, 99th percentile, largest.
    pub fn line(&self) -> Vec<String> {
        let at = |share: f64| {
            let last = self.sorted.len().saturating_sub(1);
            self.sorted
                .get((last as f64 * share).round() as usize)
                .map_or("–".into(), |v| format!("{v:.2}"))
        };
        vec![
            self.name.to_owned(),
            self.sorted.len().to_string(),
            at(0.5),
            at(0.99),
            at(1.0),
        ]
    }
}

/// Measures install and revoke with this many flows; changes of rules and routes with a tenth.
pub fn latencies(binary: &Path, flows: u32, cpu: usize) -> Result<Vec<Latencies>, Error> {
    let scene = Scene::new(binary)?;
    // The pin comes after the start of the daemon, which must be able to use all processors.
    datapath::bench::pin(cpu)?;
    let mut all = Vec::new();
    let installs: Result<Vec<_>, _> = (0..flows).map(|n| scene.install(n)).collect();
    all.push(Latencies::of(
        "first reply → first packet forwarded",
        installs?,
    ));
    scene.confirm(flows)?;
    let last = flows;
    scene.install(last)?;
    let mut rule = Vec::new();
    let mut route = Vec::new();
    let router = scene.lab.node("router")?;
    router.nft(
        "table inet bench { chain forward { type filter hook forward priority filter; \
        policy accept; }; }",
    )?;
    for _ in 0..flows.div_ceil(10) {
        let ready = scene.kind.received(last).bytes();
        let proven = || -> Result<(), Error> {
            let start = Instant::now();
            while !scene.forwarded(&ready)? {
                if start.elapsed() > PATIENCE {
                    return Err(Error::Wrong(
                        "weir does not take over the flow again".into(),
                    ));
                }
            }
            Ok(())
        };
        proven()?;
        rule.push(scene.revoke(last, "nft add rule inet bench forward udp dport 443 drop")?);
        router.nft("flush chain inet bench forward")?;
        proven()?;
        route.push(scene.revoke(last, "ip route add blackhole 10.0.0.2/32")?);
        router.run("ip route del blackhole 10.0.0.2/32")?;
    }
    all.push(Latencies::of(
        "drop rule added → last packet forwarded",
        rule,
    ));
    all.push(Latencies::of(
        "route changed → last packet forwarded",
        route,
    ));
    let mut deleted = Vec::new();
    for n in 0..flows {
        scene.forwarded(&scene.kind.received(n).bytes())?;
        scene.forwarded(&scene.kind.received(n).bytes())?;
        let line = format!(
            "conntrack -D -p udp --orig-port-src {}",
            FIRST_PORT + n as u16
        );
        deleted.push(scene.revoke(n, &line)?);
    }
    all.push(Latencies::of(
        "conntrack -D → last packet forwarded",
        deleted,
    ));
    Ok(all)
}

/// Measures memory and processor time of the daemon.
pub fn burden(binary: &Path, per_second: u32, seconds: u32) -> Result<Vec<Vec<String>>, Error> {
    let flows = per_second * seconds;
    let kind = Kind {
        ipv6: false,
        translated: false,
        length: 60,
        flows,
        servers: false,
    };
    let lab = gateway(false)?;
    let more = format!("[offload]\nflows = {flows}\n");
    let weir = Daemon::with(lab.node("router")?, binary, Hook::Xdp, &more)?;
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| lines.push(vec![name.to_owned(), value]);
    let size = fs::metadata(binary)
        .map_err(Error::system("look at the binary"))?
        .len();
    line("binary", format!("{:.1} MB", size as f64 / 1e6));
    line("resident, idle", resident(weir.id())?);
    let before = processor_time(weir.id())?.as_secs_f64();
    sleep(Duration::from_secs(5));
    line(
        "processor, idle",
        format!(
            "{:.2} %",
            (processor_time(weir.id())?.as_secs_f64() - before) / 5.0 * 100.0
        ),
    );

    let out = |role| lab.index(role, "eth0");
    let mut forward = Bench::load(&kind.forward(), out("client")?, &Exit::default())?;
    let mut reply = Bench::load(&kind.reply(), out("server")?, &Exit::default())?;
    // Sends 20 bursts per second, each of new flows, in both directions.
    let burst = per_second.div_ceil(20).next_multiple_of(64);
    let (before, start) = (processor_time(weir.id())?.as_secs_f64(), Instant::now());
    let mut made = 0;
    while made + burst <= flows {
        inside(lab.node("client")?, || forward.generate(burst))??;
        inside(lab.node("server")?, || reply.generate(burst))??;
        made += burst;
        let due = start + Duration::from_secs_f64(f64::from(made) / f64::from(per_second));
        sleep(due.saturating_duration_since(Instant::now()));
    }
    let took = start.elapsed().as_secs_f64();
    let asked = Instant::now();
    let known = || weir.status().map(|s| s.flows.ipv4.known);
    let mut settled = known()?;
    while settled < u64::from(made) && asked.elapsed() < PATIENCE {
        sleep(Duration::from_millis(100));
        settled = known()?;
    }
    let status = weir.status()?;
    line("new flows", format!("{made} in {took:.1} s"));
    line(
        "of these known in the end",
        format!(
            "{settled} ({:.2} %), {:.1} s later",
            settled as f64 / f64::from(made) * 100.0,
            asked.elapsed().as_secs_f64()
        ),
    );
    line("refused", format!("{:?}", status.refused));
    line("events lost by the kernel", status.lost_events.to_string());
    line(
        "processor per new flow",
        format!(
            "{:.0} µs",
            (processor_time(weir.id())?.as_secs_f64() - before) * 1e6 / f64::from(made)
        ),
    );
    line("resident with them", resident(weir.id())?);
    Ok(lines)
}

pub(crate) fn resident(id: u32) -> Result<String, Error> {
    let text = fs::read_to_string(format!("/proc/{id}/status"))
        .map_err(Error::system("read the daemon's status"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().split(' ').next()?.parse::<f64>().ok())
            .unwrap_or(f64::NAN)
            / 1e3
    };
    Ok(format!(
        "{:.1} MB, of which {:.1} shared tables and files",
        field("VmRSS:"),
        field("RssFile:") + field("RssShmem:")
    ))
}
