//! Measures the cost of a cached drop: the closed loop up to the router's port, where all packets
//! are dropped by a bare program, by netfilter, or by weir. Like `bench`, takes turns and reports
//! medians.
//!
//!     drops [--rounds N] [--weir PATH]

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use datapath::bench::{Bench, Program, Target, pin};
use datapath::{Datapath, DropEntry, DropKinds, DropList, Hook, Port, Sizes};
use kernel::Prefix;
use lab::Lab;
use lab::gateway::Options;
use lab::topology::mac;
use weir_bench::daemon::{Daemon, binary};
use weir_bench::machine::{Lock, describe, inside};
use weir_bench::{Error, traffic::Kind};

/// Measure dropped packets per second
#[derive(Parser)]
struct Arguments {
    /// Number of rounds over all rows.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Measure single runs of the program in nanoseconds instead of the loop: for a machine that is
    /// not quiet.
    #[arg(long)]
    programs: bool,
    /// Path of weir's binary [default: the one beside this program].
    #[arg(long)]
    weir: Option<PathBuf>,
}

/// Program or rule that drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Bare,
    Raw,
    Forward,
    Learned,
    Set,
}

impl By {
    const ALL: [Self; 5] = [
        Self::Bare,
        Self::Raw,
        Self::Forward,
        Self::Learned,
        Self::Set,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::Bare => "XDP: only drops",
            Self::Raw => "netfilter, first of prerouting, by a set",
            Self::Forward => "netfilter, in forward, after conntrack",
            Self::Learned => "weir at XDP, learned",
            Self::Set => "weir at XDP, by a set of 1000 prefixes",
        }
    }

    fn rules(self) -> String {
        let chain = |hook: &str, priority: &str, rule: &str| {
            format!(
                "chain c {{ type filter hook {hook} priority {priority}; policy accept;\n{rule}\n}}"
            )
        };
        let prefixes: Vec<String> = (0..1000u32)
            .map(|n| format!("10.{}.{}.0/24", 100 + n / 256, n % 256))
            .collect();
        let set = format!(
            "set s {{ type ipv4_addr; flags interval;\nelements = {{ 192.168.1.2, {} }}\n}}\n",
            prefixes.join(", ")
        );
        match self {
            Self::Bare => String::new(),
            Self::Raw | Self::Set => set + &chain("prerouting", "raw", "ip saddr @s drop"),
            Self::Forward | Self::Learned => chain("forward", "0", "udp dport 443 drop"),
        }
    }

    fn config(self) -> Option<&'static str> {
        match self {
            Self::Learned => Some("[drops]\nlearn = true\n"),
            Self::Set => Some("[drops]\nsets = [\"inet t s\"]\n"),
            _ => None,
        }
    }
}

struct Row {
    by: By,
    bench: Bench,
    daemon: Option<Daemon>,
    rates: Vec<f64>,
    _sink: Option<Bench>,
    lab: Lab,
}

fn row(by: By, arguments: &Arguments) -> Result<Row, Error> {
    let lab = Lab::gateway(&Options {
        raw: true,
        plain_offloads: true,
        ..Options::default()
    })?;
    let router = lab.node("router")?;
    router.nft(&format!("table inet t {{\n{}\n}}\n", by.rules()))?;
    let kind = Kind {
        ipv6: false,
        translated: true,
        length: 60,
        flows: 64,
        servers: false,
    };
    let out = lab.index("client", "eth0")?;
    let traffic = kind.forward();
    let bench = inside(lab.node("client")?, || {
        Bench::load(&traffic, out, &Default::default())
    })??;
    let mut sink = None;
    if by == By::Bare {
        let lan = lab.index("router", "lan0")?;
        let mut other = inside(router, || Bench::load(&traffic, 0, &Default::default()))??;
        inside(router, || other.attach(Program::SinkXdp, lan, "lan0"))??;
        sink = Some(other);
    }
    let daemon = match by.config() {
        Some(config) => Some(Daemon::with(
            router,
            &binary(arguments.weir.as_deref())?,
            Hook::Xdp,
            config,
        )?),
        None => None,
    };
    Ok(Row {
        by,
        bench,
        daemon,
        rates: Vec::new(),
        _sink: sink,
        lab,
    })
}

/// Length of the warm-up: learned drops expire during the turns of other rows.
const LEARNING: Duration = Duration::from_millis(2500);

/// Returns packets a second, by the kernel's own time for them: preparing and freeing a batch takes
/// several times as long.
fn run(row: &mut Row, time: Duration) -> Result<f64, Error> {
    const BATCH: u32 = 65_536;
    let Row { bench, lab, .. } = row;
    inside(lab.node("client")?, || {
        let begun = Instant::now();
        let (mut batches, mut each) = (0u32, 0);
        while begun.elapsed() < time {
            each += bench.generate_timed(BATCH)?;
            batches += 1;
        }
        Ok::<f64, Error>(1e9 * f64::from(batches) / each.max(1) as f64)
    })?
}

/// Prints single runs of the XDP program minus a bare drop; the least of many batches.
fn programs() -> Result<(), Error> {
    const FLOWS: u32 = 64;
    let lab = Lab::gateway(&Options {
        raw: true,
        plain_offloads: true,
        ..Options::default()
    })?;
    let router = lab.node("router")?;
    router.nft(&format!("table inet t {{\n{}\n}}\n", By::Learned.rules()))?;
    let (lan, out) = (lab.index("router", "lan0")?, lab.index("client", "eth0")?);
    let kind = Kind {
        ipv6: false,
        translated: true,
        length: 60,
        flows: FLOWS,
        servers: false,
    };
    let traffic = kind.forward();
    let mut generator = inside(lab.node("client")?, || {
        Bench::load(&traffic, out, &Default::default())
    })??;
    let mut path = inside(router, || {
        let learn = datapath::Options {
            learn_drops: true,
            ..Default::default()
        };
        let mut path = Datapath::load(Sizes::new(1024, 1024, &[lan]), learn)?;
        path.attach(
            &Port::new(lan, mac("router", "lan0"), true),
            "lan0",
            Hook::Xdp,
        )?;
        path.heartbeat.arm()?;
        path.drops.set_kinds(DropKinds {
            learned: true,
            ..DropKinds::default()
        });
        Ok::<_, Error>(path)
    })??;
    let timer = inside(router, || Bench::load(&traffic, 0, &Default::default()))??;
    timer.aim(&path)?;
    let timer = RefCell::new(timer);
    let once = |target| -> Result<u64, Error> {
        Ok(inside(router, || {
            timer.borrow_mut().rotate(target, lan, 20_000)
        })??)
    };
    let least = |target, path: &mut Datapath| -> Result<u64, Error> {
        let mut least = u64::MAX;
        for _ in 0..200 {
            path.heartbeat.beat()?;
            least = least.min(once(target)?);
        }
        Ok(least)
    };
    let bare = least(Target::Bare, &mut path)?;
    println!("drop alone {bare} ns; the others less that:");
    println!(
        "unknown flow, of which nothing was learned: {}",
        least(Target::Weir, &mut path)? - bare
    );
    path.drops.set_kinds(DropKinds::default());
    println!(
        "unknown flow, nothing is dropped early: {}",
        least(Target::Weir, &mut path)? - bare
    );
    path.drops.set_kinds(DropKinds {
        learned: true,
        ..DropKinds::default()
    });
    while path.drops.learned_totals().cached < FLOWS {
        path.heartbeat.beat()?;
        inside(lab.node("client")?, || generator.generate(FLOWS))??;
        std::thread::sleep(Duration::from_millis(1));
    }
    // Repeats while a learned drop lasts.
    let begun = Instant::now();
    let mut own = u64::MAX;
    while begun.elapsed() < Duration::from_secs(5) {
        path.heartbeat.beat()?;
        inside(lab.node("client")?, || generator.generate(FLOWS))??;
        own = own.min(once(Target::Weir)?);
    }
    let totals = path.drops.learned_totals();
    println!("learned drop: {}; {totals:?}", own - bare);
    path.drops.set_kinds(DropKinds {
        sources: true,
        ..DropKinds::default()
    });
    path.drops.set_port(lan, true);
    for count in [1, 1000, 60_000u32] {
        let entry = DropEntry {
            except: false,
            every: 256,
            pause: 1000,
        };
        for n in 0..count {
            let prefix = Prefix {
                address: (0x0a00_0000 + n * 256).to_be_bytes().into(),
                length: 24,
            };
            path.drops.put(DropList::Sources, &prefix, entry)?;
        }
        let client = Prefix {
            address: lab::gateway::CLIENT,
            length: 32,
        };
        path.drops.put(DropList::Sources, &client, entry)?;
        println!(
            "by a list of {count} others: {}",
            least(Target::Weir, &mut path)? - bare
        );
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let _lock = Lock::take()?;
    if arguments.programs {
        return programs();
    }
    let mut rows = Vec::new();
    for by in By::ALL {
        rows.push(row(by, &arguments)?);
    }
    std::thread::sleep(Duration::from_secs(2));
    pin(0)?;
    for round in 0..=arguments.rounds {
        for row in &mut rows {
            // The first round warms up, and lets weir learn drops.
            run(row, LEARNING)?;
            let rate = run(row, Duration::from_secs(1))?;
            if round > 0 {
                row.rates.push(rate);
            }
        }
    }
    println!("{}", describe());
    let middle = |row: &Row| {
        let mut rates = row.rates.clone();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let (bare, netfilter) = (middle(&rows[0]), middle(&rows[1]));
    for row in &rows {
        let rate = middle(row);
        let mut line = format!(
            "{:<42} {:>6.0} k/s {:>6.0} ns  {:.2} of the bare drop, {:.1} of netfilter's",
            row.by.text(),
            rate / 1e3,
            1e9 / rate,
            rate / bare,
            rate / netfilter
        );
        if let Some(daemon) = &row.daemon {
            let drops = daemon.status()?.drops.unwrap_or_default();
            line.push_str(&format!("  {drops:?}"));
        }
        println!("{line}");
    }
    Ok(())
}
