//! The web page of the real daemon, in a browser, while a household uses the network.

mod cables;
mod guests;
mod listener_failures;
mod lockout;
mod paths;
mod server_process;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use history_core::{Calendar, Store};
use lab::namespace::wait_until;
use lab::topology::{Offloads, mac, text};
use lab::transfer::Transfer;
use lab::{Error, Lab, Namespace, Options, gateway};
use monitor_core::count::Count;
use monitor_core::{Counts, Traffic};
use testing::Directory;
use weir_tests::{LIMIT, Weir};

/// Hosts at home other than `client`, each at its own port.
const HOSTS: [&str; 3] = ["tv", "phone", "printer"];
/// Names in the Internet, and their addresses at the server.
const SITES: [(&str, &str); 4] = [
    ("video.example", "198.51.100.10"),
    ("news.example", "198.51.100.20"),
    ("backup.example", "198.51.100.30"),
    ("clock.example", "198.51.100.40"),
];
/// Downloads: host, name, port, bytes a second.
const FETCHES: [(&str, usize, u16, u64); 5] = [
    ("tv", 0, 443, 1_200_000),
    ("phone", 1, 443, 160_000),
    ("phone", 0, 443, 350_000),
    ("client", 1, 80, 240_000),
    ("printer", 2, 443, 9_000),
];
/// Password of the browser; set by the page.
const PASSWORD: &str = "a household's own words";
/// Days of history from an earlier run.
const DAYS: i64 = 20;

/// A lab with a household.
struct Household {
    stop: Arc<AtomicBool>,
    _transfer: Transfer,
    weir: Weir,
    lab: Lab,
    folder: Directory,
}

impl Household {
    fn begin() -> Result<Self, Error> {
        let folder = Directory::new();
        let mut lab = Lab::gateway(&Options::default())?;
        for (number, role) in HOSTS.iter().enumerate() {
            let (port, net) = (
                format!("lan{}", number + 1),
                format!("192.168.{}", number + 2),
            );
            lab.host(role)?;
            lab.wire(("router", &port), (role, "eth0"), Offloads::Default)?;
            lab.address("router", &port, &format!("{net}.1/24"))?;
            lab.address(role, "eth0", &format!("{net}.2/24"))?;
            let gateway = format!("{net}.1").parse().expect("an address");
            lab.route(role, "default", gateway)?;
        }
        lab.route("router", "default", gateway::SERVER)?;
        for (_, address) in SITES {
            lab.address("server", "lo", &format!("{address}/32"))?;
        }
        remember(&folder.join("history.db"))?;
        std::fs::write(folder.join("leases"), leases()).map_err(system("write leases"))?;
        let file = |name: &str| folder.join(name);
        let config = format!(
            "[web]\nlisten = [\"127.0.0.1:9347\"]\npassword = {:?}\n[history]\nfile = \
                {:?}\n[monitor]\nleases = [{:?}]\nchoices = {:?}\n[devices.{:?}]\n\
             name = \"phone\"\n[quotas.phone]\nlimit = \"40GB\"\n",
            file("secrets/password"),
            file("history.db"),
            file("leases"),
            file("kept/devices"),
            text(mac("phone", "eth0")),
        );
        let weir = Weir::start(lab.node("router")?, &config, &[])?;
        weir.wait_for_ports(2 + HOSTS.len())?;
        look_up(&lab)?;
        let stop = Arc::new(AtomicBool::new(false));
        for port in [443, 80] {
            serve(lab.node("server")?, port, &stop)?;
        }
        for (role, site, port, rate) in FETCHES {
            let to = format!("{}:{port}", SITES[site].1);
            fetch(
                lab.node(role)?,
                to.parse().expect("an address"),
                rate,
                &stop,
            )?;
        }
        let to = format!("{}:22", SITES[2].1).parse().expect("an address");
        let (client, server) = (lab.node("client")?, lab.node("server")?);
        let household = Self {
            _transfer: Transfer::start(client, server, to, 1, Some(600_000))?,
            stop,
            weir,
            lab,
            folder,
        };
        household.lives()?;
        Ok(household)
    }

    /// Waits until weir knows all hosts by name and all use the network.
    fn lives(&self) -> Result<(), Error> {
        let mut seen = String::new();
        wait_until("the household is seen", LIMIT, || {
            let client = self.weir.client()?;
            let told = client
                .devices()
                .map_err(|error| Error::Unexpected(error.to_string()))?;
            seen = format!("{told:#?}");
            let busy = |role: &str| {
                told.devices.iter().any(|device| {
                    device.name.as_deref() == Some(role) && device.all()[0].bytes > 20_000
                })
            };
            Ok(busy("laptop") && HOSTS.iter().all(|role| busy(role)))
        })
        .map_err(|error| Error::Unexpected(format!("{error}: {seen}; {}", self.weir.log())))
    }
}

impl Drop for Household {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn system(what: &str) -> impl FnOnce(std::io::Error) -> Error {
    Error::system(what.to_owned())
}

fn leases() -> String {
    let lease = |role: &str, name: &str, address: &str| {
        format!(
            "2000000000 {} {address} {name} *\n",
            text(mac(role, "eth0"))
        )
    };
    let mut all = lease("client", "laptop", "192.168.1.2");
    for (number, role) in HOSTS.iter().enumerate() {
        all += &lease(role, role, &format!("192.168.{}.2", number + 2));
    }
    all
}

/// Writes the history of earlier days, of different traffic.
fn remember(file: &Path) -> Result<(), Error> {
    let failed = |error: history_core::Error| Error::Unexpected(error.to_string());
    let now = i64::try_from(net::clock::unix_seconds()).unwrap_or(0);
    let calendar = || Calendar::new(history_core::zone::system().zone);
    let settings = history_core::Settings::default();
    let day = 86_400;
    let first = now - DAYS * day;
    let (mut store, trouble) = Store::open(file, settings, calendar(), first).map_err(failed)?;
    trouble.map_or(Ok(()), |error| Err(failed(error)))?;
    let uses = [
        ("tv", "web", 5_200),
        ("phone", "web", 900),
        ("client", "web", 1_700),
        ("client", "ssh", 450),
        ("printer", "dns", 3),
    ];
    for at in (first..now).step_by(3600) {
        for (number, (role, application, megabytes)) in uses.into_iter().enumerate() {
            // Traffic rises and falls gradually: by week, and by hour.
            let swing = |length: i64| (at / 3600 % length - length / 2).unsigned_abs();
            let week = 20 + swing(7 * 24 + 11 * number as i64);
            let octets = megabytes * 1_000_000 / 24 * week / 60 * (2 + swing(24)) / 8;
            let count = |octets: u64| Count {
                packets: octets / 1200 + 1,
                bytes: octets,
            };
            let both = match application {
                "ssh" => (count(octets / 30), count(octets)),
                _ => (count(octets), count(octets / 12)),
            };
            let (received, sent) = both;
            store.add(
                at,
                Some(mac(role, "eth0")),
                application,
                &Traffic::new(Counts { sent, received }, true),
            );
        }
        store.flush(at).map_err(failed)?;
    }
    store.close(now - 1).map_err(failed)
}

/// Each host looks up all names once, and weir reads the answers.
fn look_up(lab: &Lab) -> Result<(), Error> {
    let mut dnsmasq = std::process::Command::new("dnsmasq");
    // Servers that start at once would share a file.
    dnsmasq.arg("--pid-file=");
    dnsmasq.args([
        "--no-daemon",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--user=root",
    ]);
    for (name, address) in SITES {
        dnsmasq.arg(format!("--address=/{name}/{address}"));
    }
    dnsmasq
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _dnsmasq = lab.node("server")?.start(&mut dnsmasq)?;
    for role in HOSTS.iter().chain(&["client"]) {
        for (name, address) in SITES {
            let asked = format!("dig +short +tries=20 +time=1 @{} {name}", gateway::SERVER);
            assert_eq!(lab.node(role)?.run(&asked)?.trim(), address, "{role}");
        }
    }
    Ok(())
}

/// Sends at the rate that a client requests as a number of 8 bytes, above and below in turn.
fn serve(server: &Namespace, port: u16, stop: &Arc<AtomicBool>) -> Result<(), Error> {
    let listener = server
        .enter(|| TcpListener::bind(("0.0.0.0", port)))?
        .map_err(system("listen"))?;
    listener.set_nonblocking(true).map_err(system("listen"))?;
    let stop = Arc::clone(stop);
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => {
                    let stop = Arc::clone(&stop);
                    // A client may disconnect at any time.
                    thread::spawn(move || send(stream, &stop).ok());
                }
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    });
    Ok(())
}

fn send(mut stream: TcpStream, stop: &AtomicBool) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut rate = [0; 8];
    stream.read_exact(&mut rate)?;
    let rate = u64::from_be_bytes(rate) as f64;
    let (begun, turn) = (Instant::now(), Duration::from_millis(50));
    let block = vec![b'w'; 1 << 20];
    while !stop.load(Ordering::Relaxed) {
        let swing = 0.75 + 0.5 * (begun.elapsed().as_secs_f64() / 6.0 + rate).sin();
        let octets = (rate * swing * turn.as_secs_f64()) as usize;
        stream.write_all(&block[..octets.min(block.len())])?;
        thread::sleep(turn);
    }
    Ok(())
}

fn fetch(from: &Namespace, to: SocketAddr, rate: u64, stop: &Arc<AtomicBool>) -> Result<(), Error> {
    let stop = Arc::clone(stop);
    from.background(move || -> std::io::Result<()> {
        let mut stream = TcpStream::connect(to)?;
        stream.write_all(&rate.to_be_bytes())?;
        let mut room = vec![0; 1 << 16];
        while !stop.load(Ordering::Relaxed) && stream.read(&mut room)? > 0 {}
        Ok(())
    })
    .map(drop)
}

/// Runs the page's own tests in a browser on the router: those of these names, or all, with
/// additional environment variables. Returns the output.
fn browse(
    router: &Namespace,
    weir: &Weir,
    only: &[&str],
    more: &[(&str, &str)],
) -> Result<String, Error> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web");
    assert!(
        web.join("node_modules").is_dir(),
        "the page's tools are not installed: `make web` first"
    );
    let page = router.run("curl -sS --max-time 20 http://127.0.0.1:9347/")?;
    assert!(
        page.contains("<script"),
        "the page is not in the binary: `make web`, then `make compile`. It says: {page}"
    );
    let mut browser = router.command("node");
    browser
        .args(
            only.iter()
                .map(|name| format!("--test-name-pattern={name}")),
        )
        .arg(web.join("test/browser/run.mjs"))
        .current_dir(&web)
        .env("WEIR_WEB_URL", "http://127.0.0.1:9347")
        .env("WEIR_WEB_PASSWORD", PASSWORD)
        .env("WEIR_WEB_FIRST", "yes")
        .envs(more.iter().copied())
        .stdin(Stdio::null());
    let outcome = browser.output().map_err(system("run node"))?;
    let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
    println!("{said}");
    assert!(
        outcome.status.success(),
        "{said}\n{}\n{}",
        String::from_utf8_lossy(&outcome.stderr),
        weir.log()
    );
    Ok(said)
}

/// Sets the first password, logs in, and uses every part; axe finds no problem.
#[test]
fn a_browser_uses_the_page_of_a_router_at_work() -> Result<(), Error> {
    let household = Household::begin()?;
    browse(household.lab.node("router")?, &household.weir, &[], &[])?;
    // The page stores the password in the same form as `weir passwd`.
    let secret = household.folder.join("secrets/password");
    let kept = std::fs::read_to_string(secret).map_err(system("read the password's file"))?;
    assert!(kept.contains("$argon2id$") && !kept.contains(PASSWORD));
    assert!(!household.weir.log().contains(PASSWORD));
    Ok(())
}
