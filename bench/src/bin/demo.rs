//! Shows weir in under a minute, with a client, a masquerading router and a server: traffic without
//! weir and with weir, a connection that a firewall rule cuts while weir forwards it, and the
//! monitor's view. All runs in network namespaces, which are removed at the end.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use datapath::Hook;
use lab::gateway::SERVER;
use lab::iperf::{Iperf, Load};
use lab::namespace::wait_until;
use lab::topology::{mac, text};
use lab::transfer::Transfer;
use lab::{Lab, Namespace, Options};
use weir_bench::daemon::{self, Daemon};
use weir_bench::port_equation::PortEquation;
use weir_bench::{Error, machine, report};

/// Demonstrates weir on client, router and server in network namespaces: traffic without weir and
/// with weir, a firewall change, and the traffic of each device.
#[derive(Debug, Parser)]
struct Arguments {
    /// Daemon to demonstrate [default: the one beside this binary]
    #[arg(long, value_name = "PATH")]
    weir: Option<PathBuf>,
    /// Hook at which weir takes packets
    #[arg(long, value_enum, default_value_t = Choice::Xdp)]
    hook: Choice,
    /// Seconds for each kind of traffic
    #[arg(long, default_value_t = 4)]
    seconds: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Choice {
    Xdp,
    Tc,
}

const IPERF: u16 = 5201;
const TRANSFER: u16 = 5001;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let binary = daemon::binary(arguments.weir.as_deref())?;
    let _lock = machine::Lock::take()?;
    lab::sweep()?;
    println!("client 192.168.1.2 ── lan0 router wan0 ── server 10.0.0.2, the router masquerades.");
    println!("All on this machine: {}.\n", machine::describe());
    let lab = Lab::gateway(&Options {
        plain_offloads: true,
        ..Options::default()
    })?;
    // The default route makes wan0 the uplink.
    lab.route("router", "default", SERVER)?;
    let iperf = Iperf::serve(lab.node("server")?, IPERF)?;
    let mut lines = Vec::new();
    for (name, load) in loads(arguments.seconds) {
        println!("{name} through the kernel …");
        lines.push(measure(&lab, &iperf, &load, None)?.line(&format!("{name}, kernel")));
    }
    let hook = match arguments.hook {
        Choice::Xdp => Hook::Xdp,
        Choice::Tc => Hook::Tc,
    };
    println!("starting weir …");
    let leases = Leases::write(lab.node("router")?)?;
    let settings = format!("[monitor]\nleases = [{:?}]\n", leases.0);
    let weir = Daemon::with(lab.node("router")?, &binary, hook, &settings)?;
    let before = weir.books()?;
    for (name, load) in loads(arguments.seconds) {
        println!("{name} with weir …");
        lines.push(measure(&lab, &iperf, &load, Some(&weir))?.line(&format!("{name}, weir")));
    }
    println!();
    let headings = [
        "traffic",
        "Mbit/s",
        "packets/s",
        "kernel CPU µs/packet",
        "forwarded by weir",
    ];
    println!("{}", report::table(&headings, &lines));
    let to = SocketAddr::new(SERVER, TRANSFER);
    let (client, server) = (lab.node("client")?, lab.node("server")?);
    let transfer = Transfer::start(client, server, to, 1, Some(20 << 20))?;
    transfer.advance(20 << 20, Duration::from_secs(20))?;
    firewall(&lab, &weir, &binary, &transfer)?;
    println!("\nThe transfer goes on. The monitor's view:");
    monitor(&weir, &binary)?;
    transfer.stop()?;
    balance(&weir, &before)
}

/// Lease of the client, as the router's DHCP server would write it. Removed when dropped.
struct Leases(PathBuf);

impl Leases {
    fn write(router: &Namespace) -> Result<Self, Error> {
        let file = std::env::temp_dir().join(format!("{}-leases", router.name()));
        let line = format!(
            "2000000000 {} 192.168.1.2 laptop *\n",
            text(mac("client", "eth0"))
        );
        fs::write(&file, line).map_err(Error::system("write the leases"))?;
        Ok(Self(file))
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn loads(seconds: u32) -> [(&'static str, Load); 2] {
    let tcp = Load::tcp(SERVER, seconds);
    let udp = Load {
        udp: Some(0),
        length: Some(200),
        ..tcp.clone()
    };
    [("TCP", tcp), ("UDP, 200 bytes", udp)]
}

/// Result for a kind of traffic.
struct Shown {
    bits_per_second: f64,
    packets_per_second: f64,
    micros_per_packet: f64,
    share: Option<f64>,
}

impl Shown {
    fn line(&self, name: &str) -> Vec<String> {
        vec![
            name.to_owned(),
            format!("{:.0}", self.bits_per_second / 1e6),
            format!("{:.0}", self.packets_per_second),
            format!("{:.2}", self.micros_per_packet),
            self.share
                .map_or("–".into(), |share| format!("{:.1} %", share * 100.0)),
        ]
    }
}

fn measure(lab: &Lab, iperf: &Iperf, load: &Load, weir: Option<&Daemon>) -> Result<Shown, Error> {
    let router = lab.node("router")?;
    let forwarded = || {
        weir.map(|weir| Ok::<_, Error>(weir.status()?.packets.forwarded()))
            .transpose()
    };
    let (packets, busy, by_weir, start) =
        (received(router)?, busy()?, forwarded()?, Instant::now());
    let throughput = iperf.run(lab.node("client")?, load)?;
    let seconds = start.elapsed().as_secs_f64();
    let packets = (received(router)? - packets).max(1) as f64;
    let share = forwarded()?
        .zip(by_weir)
        .map(|(after, before)| (after - before) as f64 / packets);
    Ok(Shown {
        bits_per_second: throughput.bits_per_second,
        packets_per_second: packets / seconds,
        micros_per_packet: (self::busy()? - busy) * 1e6 / packets,
        share,
    })
}

/// Returns the packets received by the router's ports.
fn received(router: &Namespace) -> Result<u64, Error> {
    let both =
        || -> Result<u64, Error> { Ok(machine::received("lan0")? + machine::received("wan0")?) };
    machine::inside(router, both)?
}

/// Returns the seconds that all processors spent in the kernel so far (proc(5): system, irq and
/// softirq, in hundredths).
fn busy() -> Result<f64, Error> {
    let text = fs::read_to_string("/proc/stat").map_err(Error::system("read /proc/stat"))?;
    let words: Vec<f64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .flat_map(str::parse)
        .collect();
    Ok([2, 5, 6]
        .iter()
        .filter_map(|at| words.get(*at))
        .sum::<f64>()
        / 100.0)
}

/// Shows a transfer that weir forwards, a rule that drops it, and the rule's removal.
fn firewall(lab: &Lab, weir: &Daemon, binary: &Path, transfer: &Transfer) -> Result<(), Error> {
    let router = lab.node("router")?;
    println!("A TCP transfer runs. Connections that weir sees:");
    let flows = ["flows", "--sort", "packets", "--limit", "8"];
    show(binary, weir, &flows)?;
    println!("\nnft add rule inet demo forward tcp dport {TRANSFER} drop");
    router
        .nft("table inet demo { chain forward { type filter hook forward priority filter; }; }")?;
    transfer.advance(4 << 20, Duration::from_secs(20))?;
    let before = Instant::now();
    router.nft(&format!(
        "add rule inet demo forward tcp dport {TRANSFER} drop"
    ))?;
    let done = before.elapsed();
    // The last byte to arrive marks the time when the rule took effect.
    let (mut last, mut octets) = (Duration::ZERO, transfer.progress());
    while before.elapsed() < Duration::from_secs(1) {
        let now = transfer.progress();
        if now != octets {
            (last, octets) = (before.elapsed(), now);
        }
        sleep(Duration::from_micros(200));
    }
    let after = last.saturating_sub(done).as_secs_f64() * 1e3;
    println!("  no data arrives from {after:.1} ms after nft had finished.");
    router.nft("delete table inet demo")?;
    transfer.advance(4 << 20, Duration::from_secs(30))?;
    println!(
        "nft delete table inet demo\n  the same connection goes on; {} MiB arrived, without a \
            wrong byte.",
        transfer.progress() >> 20
    );
    Ok(())
}

/// Time for rates to settle: they are averages over some seconds.
const SETTLED: Duration = Duration::from_secs(6);

/// Shows who uses the network, and for what.
fn monitor(weir: &Daemon, binary: &Path) -> Result<(), Error> {
    sleep(SETTLED);
    show(binary, weir, &["devices"])?;
    show(binary, weir, &["conversations", "--limit", "4"])?;
    println!("\nOn your router `weir top` shows this live, and a page draws it:");
    println!("ssh -L 9347:localhost:9347 root@ROUTER, then open http://localhost:9347");
    Ok(())
}

/// Checks that the monitor counted all packets that the devices counted since `before`.
fn balance(weir: &Daemon, before: &[PortEquation]) -> Result<(), Error> {
    let mut grown = Vec::new();
    // The last packets arrive a moment after the transfer, and the counters are read in turn.
    let even = wait_until("both counts to agree", Duration::from_secs(5), || {
        let now = weir
            .books()
            .map_err(|error| lab::Error::Unexpected(error.to_string()))?;
        grown = now
            .iter()
            .zip(before)
            .map(|(now, then)| now.since(then))
            .collect();
        Ok(grown
            .iter()
            .all(|book: &PortEquation| book.counted() == book.device))
    })
    .is_ok();
    println!("\nAll packets since weir began to count (`weir devices --equation`):\n");
    let lines: Vec<Vec<String>> = grown.iter().map(PortEquation::line).collect();
    let headings = [
        "port",
        "way",
        "in conversations",
        "unplaced",
        "not IP",
        "together",
        "by the device",
    ];
    println!("{}", report::table(&headings, &lines));
    if even {
        println!("No packet is missing.");
        return Ok(());
    }
    Err(Error::Wrong(
        "the counts of monitor and devices differ".into(),
    ))
}

/// Prints the answer of a `weir` command.
fn show(binary: &Path, weir: &Daemon, words: &[&str]) -> Result<(), Error> {
    println!("\nweir {}", words.join(" "));
    let output = Command::new(binary)
        .args(words)
        .arg("--socket")
        .arg(weir.socket())
        .output()
        .map_err(Error::system("run weir"))?;
    print!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
