//! Measures the cost of a portal: many guests who log in at once, the page, and its rules.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use answers::{NewVouchers, PortalClients, PortalState, PortalVouchers, Reloaded};
use api::{Client, Method};
use lab::counters::processor_time;
use lab::namespace::wait_until;
use lab::{Lab, Namespace, Options};
use serde::Serialize;
use socket2::{Domain, Socket, Type};

use crate::Error;
use crate::circuit::{self, Circuit};
use crate::daemon::Daemon;
use crate::load::Load;
use crate::report::{Table, table};
use crate::rounds::{Plan, Spread};

/// Address of the page.
const PAGE: &str = "192.168.1.1:2080";
/// Guests that log in at the same time.
const TOGETHER: usize = 64;
/// Pages to fetch.
const PAGES: u32 = 1000;
/// Number of times that the table is written anew.
const REFRESHES: u32 = 9;

/// Result of the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct PortalResult {
    /// Number of guests' devices.
    pub guests: u32,
    /// Seconds until all guests are logged in.
    pub logged_in: f64,
    /// Processor seconds for all log-ins.
    pub log_in_time: f64,
    /// Processor time of a page, milliseconds.
    pub page_time: f64,
    /// Milliseconds until changed rules apply, with all guests in the sets.
    pub changes: Vec<f64>,
    /// Milliseconds until changed rules apply, with all guests added again.
    pub refreshes: Vec<f64>,
    /// Resident memory after that, kB: the daemon, the page's process.
    pub memory: [u64; 2],
}

/// Throughput of an admitted guest at XDP with a portal, compared with none.
#[derive(Clone, Debug, Serialize)]
pub struct ThroughputResult {
    /// Guests besides the measured one.
    pub guests: u32,
    /// Ratio of packets with a portal to packets without, in each round.
    pub with: Spread,
    /// Ratio of two measurements without a portal: the noise.
    pub noise: Spread,
    /// Share of the packets that weir forwarded with a portal.
    pub forwarded: f64,
}

/// Measures packets of a guest among `guests` others, at XDP with NAT, in the closed loop.
///
/// # Errors
/// The lab cannot be built, or the guest is not admitted.
pub fn kept(binary: &Path, guests: u32, plan: Plan, cpu: usize) -> Result<ThroughputResult, Error> {
    let way = circuit::Path::WeirXdp;
    let folder = std::env::temp_dir().join(format!("weir-bench-kept-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(Error::system("make a folder"))?;
    let client = lab::topology::text(lab::topology::mac("client", "eth0"));
    let more = format!(
        "[portal]\ndevices = [\"lan0\"]\nexempt = [\"{client}\"]\nvouchers = {:?}\n",
        folder.join("vouchers")
    );
    // The kernel's sets of other guests do not depend on how those guests logged in.
    let then = |lab: &Lab| -> Result<(), Error> {
        let router = lab.node("router")?;
        let listed = "nft list set inet weir_portal pairs4";
        wait_until("the guest to be let in", Duration::from_secs(20), || {
            Ok(router.run(listed).is_ok_and(|set| set.contains(&client)))
        })?;
        let mut text = String::new();
        for number in 0..guests {
            let (address, mac) = (address(number), hardware(number));
            for (set, element) in [
                ("pairs4", format!("{mac} . {address}")),
                ("guests4", address.to_string()),
                ("macs", mac),
            ] {
                text += &format!("add element inet weir_portal {set} {{ {element} timeout 1d }}\n");
            }
        }
        router.nft(&text)?;
        Ok(())
    };
    datapath::bench::unpin()?;
    let mut without = Circuit::build(way, Load::default(), binary)?;
    let mut with = Circuit::configured(way, Load::default(), binary, (&more, &then))?;
    datapath::bench::pin(cpu)?;
    let (mut kept, mut noise, mut forwarded) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..plan.rounds {
        let measure = |circuit: &mut Circuit| circuit.measure(plan.warm, plan.seconds);
        let before = measure(&mut without)?.rate();
        // The two circuits take turns after the first measurement.
        let (portal, again) = match round % 2 {
            0 => (measure(&mut with)?, measure(&mut without)?),
            _ => {
                let again = measure(&mut without)?;
                (measure(&mut with)?, again)
            }
        };
        kept.push(portal.rate() / before);
        noise.push(again.rate() / before);
        forwarded.push(portal.share.unwrap_or(0.0));
    }
    let _ = fs::remove_dir_all(&folder);
    let spread = |all: &[f64]| Spread::of(all).ok_or_else(|| Error::Wrong("no round".to_owned()));
    Ok(ThroughputResult {
        guests,
        with: spread(&kept)?,
        noise: spread(&noise)?,
        forwarded: spread(&forwarded)?.median,
    })
}

/// Measures log-ins, pages and changed rules with this many guests at a router.
///
/// # Errors
/// The lab cannot be built, or a guest is not admitted.
pub fn measure(binary: &Path, guests: u32) -> Result<PortalResult, Error> {
    let lab = Lab::gateway(&Options::default())?;
    let (router, client) = (lab.node("router")?, lab.node("client")?);
    people(router, client, guests)?;
    let folder = std::env::temp_dir().join(format!("weir-bench-portal-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(Error::system("make a folder"))?;
    let config = |more: &str| {
        let vouchers = folder.join("vouchers");
        format!("[portal]\ndevices = [\"lan0\"]\nvouchers = {vouchers:?}\n{more}")
    };
    let daemon = Daemon::whole(router, binary, &config(""), 2)?;
    let found = at(&daemon, (router, client), guests, &|more| {
        fs::write(daemon.configuration(), config(more)).map_err(Error::system("write"))
    });
    drop(daemon);
    let _ = fs::remove_dir_all(&folder);
    found
}

fn at(
    daemon: &Daemon,
    (router, client): (&Namespace, &Namespace),
    guests: u32,
    write: &dyn Fn(&str) -> Result<(), Error>,
) -> Result<PortalResult, Error> {
    let api = Client::new(daemon.socket())?;
    let codes = sell(&api, guests)?;
    let server = child(daemon.id())?;
    let spent = || {
        let all = processor_time(daemon.id())? + processor_time(server)?;
        Ok::<_, Error>(all.as_secs_f64())
    };
    let (began, before) = (Instant::now(), spent()?);
    let waiting: VecDeque<_> = (0..guests).map(address).zip(codes).collect();
    let waiting = Mutex::new(waiting);
    client
        .enter(|| all_log_in(&waiting))?
        .map_err(Error::system("log in"))?;
    let (logged_in, log_in_time) = (began.elapsed().as_secs_f64(), spent()? - before);
    let told: PortalClients = api.get("/v1/portal/clients")?;
    let inside = told.clients.iter();
    let inside = inside
        .filter(|one| one.state == PortalState::Admitted)
        .count();
    if inside != guests as usize {
        return Err(Error::Wrong(format!("{inside} of {guests} are let in")));
    }
    let before = spent()?;
    let fetch = || -> io::Result<()> {
        for number in 0..PAGES {
            let told = ask(
                address(number % guests),
                "GET / HTTP/1.1\r\nHost: 192.168.1.1:2080\r\n\r\n",
            )?;
            if !told.starts_with("HTTP/1.1 200") {
                return Err(io::Error::other(told));
            }
        }
        Ok(())
    };
    client
        .enter(fetch)?
        .map_err(Error::system("fetch the page"))?;
    let page_time = (spent()? - before) * 1000.0 / f64::from(PAGES);
    let refresh = |number: u32, more: &str| -> Result<f64, Error> {
        let garden = format!("198.51.100.{number}");
        write(&format!("garden = [\"{garden}/32\"]\n{more}"))?;
        let began = Instant::now();
        let _: Reloaded = api.post("/v1/reload")?;
        let list = "nft list set inet weir_portal garden4";
        while !router.run(list)?.contains(&garden) {
            if began.elapsed() > Duration::from_secs(30) {
                return Err(Error::Wrong("the table does not change".to_owned()));
            }
        }
        Ok(began.elapsed().as_secs_f64() * 1000.0)
    };
    let (mut changes, mut refreshes) = (Vec::new(), Vec::new());
    for number in 0..REFRESHES {
        changes.push(refresh(2 * number, &hours(number))?);
        refreshes.push(refresh(2 * number + 1, &hours(number + 1))?);
    }
    Ok(PortalResult {
        guests,
        logged_in,
        log_in_time,
        page_time,
        changes,
        refreshes,
        memory: [memory(daemon.id())?, memory(server)?],
    })
}

/// Returns new opening hours each time, so that all guests are added again. They do not begin now.
fn hours(number: u32) -> String {
    format!("open = [\"Mon 03:{number:02}-03:{:02}\"]\n", number + 1)
}

pub(crate) fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a4d_0100 + number)
}

pub(crate) fn hardware(number: u32) -> String {
    let [_, high, middle, low] = number.to_be_bytes();
    format!("02:77:00:{high:02x}:{middle:02x}:{low:02x}")
}

/// Makes a device act for many guests: each address has its own hardware address, and packets to
/// all of them arrive.
pub(crate) fn people(router: &Namespace, client: &Namespace, guests: u32) -> Result<(), Error> {
    client.ip("route add local 10.77.0.0/16 dev lo\n")?;
    client.nft(
        "table netdev people { chain come { type filter hook ingress device \"eth0\" priority 0; \
         meta pkttype set host; }; }",
    )?;
    let mut lines = "route add 10.77.0.0/16 dev lan0\n".to_owned();
    for number in 0..guests {
        let (address, mac) = (address(number), hardware(number));
        lines += &format!("neigh replace {address} lladdr {mac} nud permanent dev lan0\n");
    }
    router.ip(&lines)?;
    Ok(())
}

fn sell(api: &Client, guests: u32) -> Result<Vec<String>, Error> {
    let mut codes = Vec::new();
    while codes.len() < guests as usize {
        let asked = NewVouchers {
            name: "crowd".to_owned(),
            duration: Some(86_400),
            bytes: None,
            rate: None,
            online: false,
            count: (guests - codes.len() as u32).min(1000),
            devices: 1,
            until: None,
        };
        let made: PortalVouchers = api.send(Method::POST, "/v1/portal/vouchers", &asked)?;
        codes.extend(made.vouchers.into_iter().map(|voucher| voucher.code));
    }
    Ok(codes)
}

fn all_log_in(waiting: &Mutex<VecDeque<(Ipv4Addr, String)>>) -> io::Result<()> {
    let next = || waiting.lock().ok()?.pop_front();
    let some = || -> io::Result<()> {
        while let Some((address, code)) = next() {
            let body = format!("code={code}");
            let said = format!(
                "POST /login HTTP/1.1\r\nHost: {PAGE}\r\nContent-Length: {}\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}",
                body.len()
            );
            let told = ask(address, &said)?;
            if !told.starts_with("HTTP/1.1 303") {
                return Err(io::Error::other(told));
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..TOGETHER).map(|_| scope.spawn(some)).collect();
        let ended = all.into_iter().map(|one| match one.join() {
            Ok(ended) => ended,
            Err(_) => Err(io::Error::other("a thread panicked")),
        });
        ended.collect()
    })
}

/// Sends a request from an address, on a new connection; returns the head of the answer.
fn ask(from: Ipv4Addr, said: &str) -> io::Result<String> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(IpAddr::V4(from), 0).into())?;
    let to: SocketAddr = PAGE.parse().map_err(io::Error::other)?;
    socket.connect_timeout(&to.into(), Duration::from_secs(20))?;
    socket.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut stream = TcpStream::from(socket);
    stream.write_all(said.as_bytes())?;
    let mut answer = vec![0; 16 * 1024];
    let length = stream.read(&mut answer)?;
    answer.truncate(length);
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Returns the process that serves the portal.
pub(crate) fn child(daemon: u32) -> Result<u32, Error> {
    let read = |file: &str| fs::read_to_string(file).map_err(Error::system(format!("read {file}")));
    let children = read(&format!("/proc/{daemon}/task/{daemon}/children"))?;
    for id in children.split_whitespace().filter_map(|id| id.parse().ok()) {
        if read(&format!("/proc/{id}/comm"))?.trim() == "weir-portal" {
            return Ok(id);
        }
    }
    Err(Error::Wrong("no process serves the portal".to_owned()))
}

/// Returns the resident memory in kB.
pub(crate) fn memory(id: u32) -> Result<u64, Error> {
    let file = format!("/proc/{id}/status");
    let text = fs::read_to_string(&file).map_err(Error::system(format!("read {file}")))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| Error::Wrong(format!("{file} has no memory figure")))
}

/// Formats the results as a table.
pub fn report(found: &PortalResult, kept: &ThroughputResult) -> Table {
    let spread = |all: &[f64]| {
        let mut all = all.to_vec();
        all.sort_by(f64::total_cmp);
        let median = all.get(all.len() / 2).copied().unwrap_or(0.0);
        let most = all.last().copied().unwrap_or(0.0);
        format!("{median:.0} ms ({most:.0} ms)")
    };
    let share = |all: &Spread| format!("{:.3} ({:.3} to {:.3})", all.median, all.min, all.max);
    let line = |what: &str, value: String| vec![what.to_owned(), value];
    let each = found.log_in_time * 1000.0 / f64::from(found.guests);
    table(
        &["a portal", "found"],
        &[
            line("guests", found.guests.to_string()),
            line(
                "all of them logged in, 64 at a time",
                format!("{:.1} s", found.logged_in),
            ),
            line("processor time of a log-in", format!("{each:.2} ms")),
            line("of a page", format!("{:.2} ms", found.page_time)),
            line(
                "rules that changed hold, with all guests in the sets: median (largest)",
                spread(&found.changes),
            ),
            line(
                "the same, with all guests added again",
                spread(&found.refreshes),
            ),
            line(
                &format!(
                    "packets at XDP with {} guests, of those without a portal: median (range)",
                    kept.guests
                ),
                share(&kept.with),
            ),
            line("the same without a portal: the noise", share(&kept.noise)),
            line(
                "forwarded by weir meanwhile",
                format!("{:.2} %", kept.forwarded * 100.0),
            ),
            line(
                "memory: the daemon, the page's process",
                format!("{} kB, {} kB", found.memory[0], found.memory[1]),
            ),
        ],
    )
}
