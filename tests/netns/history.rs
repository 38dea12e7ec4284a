//! History and quotas of the daemon: the history survives weir's end, and a device with a used-up
//! quota is cut off.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

use answers::{Count, Device, HistoryQuery};
use lab::gateway::{CLIENT, Ipv6, ROUTER_LAN, ROUTER_LAN6, SERVER, SERVER6};
use lab::namespace::wait_until;
use lab::topology::{Offloads, mac, text};
use lab::transfer::{Datagrams, Echo, Transfer, ask_tcp};
use lab::{Error, Lab, Options, unexpected};
use nix::sys::signal::Signal;
use serde_json::Value;
use testing::Directory;
use weir_tests::scene::{self, ENOUGH, Forwarder, PORT};
use weir_tests::{LIMIT, Weir, binary, hooked_at};

/// Port of echo servers.
const ECHO: u16 = 7;
/// Bytes per second of a transfer.
const RATE: u64 = 4 << 20;
/// The client's quota: some seconds of a transfer.
const QUOTA: u64 = 60_000_000;

fn system(what: &str) -> impl FnOnce(std::io::Error) -> Error {
    Error::system(what.to_owned())
}

/// Counts of both directions: received, sent.
type Both = (Count, Count);

fn sum(parts: impl Iterator<Item = Both>) -> Both {
    let add = |a: Count, b: Count| Count {
        bytes: a.bytes + b.bytes,
        packets: a.packets + b.packets,
    };
    parts.fold(Both::default(), |a, b| (add(a.0, b.0), add(a.1, b.1)))
}

/// Two clients on the LAN, a router, a server; and weir with a history.
struct Scene {
    weir: Weir,
    lab: Lab,
    folder: Directory,
    hook: &'static str,
    /// Addresses of the server, and of the router in the LAN, for each family in use.
    far: Vec<(IpAddr, IpAddr)>,
    _echoes: Vec<Echo>,
}

impl Scene {
    fn begin(hook: &'static str, quotas: &str, ipv6: Ipv6) -> Result<Self, Error> {
        let folder = Directory::new();
        let options = Options {
            ipv6,
            ..Options::default()
        };
        let mut lab = scene::lab(Forwarder::Weir(hook), &options)?;
        lab.host("other")?;
        lab.wire(("router", "lan1"), ("other", "eth0"), Offloads::Plain)?;
        lab.address("router", "lan1", "192.168.2.1/24")?;
        lab.address("other", "eth0", "192.168.2.2/24")?;
        lab.route("other", "default", "192.168.2.1".parse().unwrap())?;
        // The default route leads to the Internet, which quotas and the history count.
        lab.route("router", "default", SERVER)?;
        let mut far = vec![(SERVER, ROUTER_LAN)];
        if ipv6 == Ipv6::Off {
            // Otherwise hosts would send router solicitations at any time.
            for node in lab.nodes() {
                node.sysctl("net.ipv6.conf.all.disable_ipv6", 1)?;
            }
        } else {
            far.push((SERVER6, ROUTER_LAN6));
            lab.route("router", "default", SERVER6)?;
        }
        let all = far
            .iter()
            .flat_map(|(server, router)| [("server", *server), ("router", *router)]);
        let echoes = all.map(|(role, at)| Echo::serve(lab.node(role)?, SocketAddr::new(at, ECHO)));
        let _echoes = echoes.collect::<Result<_, Error>>()?;
        let weir = Weir::start(lab.node("router")?, &config(hook, &folder, quotas), &[])?;
        let scene = Self {
            weir,
            lab,
            folder,
            hook,
            far,
            _echoes,
        };
        scene.ready()?;
        Ok(scene)
    }

    /// Waits until weir forwards and counts at all ports.
    fn ready(&self) -> Result<(), Error> {
        self.weir.wait_for_ports(3)?;
        wait_until("ports are counted", LIMIT, || {
            let told = self.weir.client()?.devices().map_err(unexpected)?;
            Ok(told.ports.len() >= 3)
        })
    }

    fn configure(&self, quotas: &str) -> Result<(), Error> {
        let config = config(self.hook, &self.folder, quotas);
        std::fs::write(self.weir.config_file(), config).map_err(system("write a configuration"))
    }

    fn reload(&self, quotas: &str) -> Result<(), Error> {
        self.configure(quotas)?;
        self.weir.signal(Signal::SIGHUP)
    }

    fn restart(&mut self, by: Signal) -> Result<(), Error> {
        self.weir.end(by)?;
        self.weir.restart(self.lab.node("router")?)?;
        self.ready()
    }

    fn transfer(&self, role: &str, port: u16) -> Result<Transfer, Error> {
        self.transfer_to(role, SocketAddr::new(SERVER, port))
    }

    fn transfer_to(&self, role: &str, to: SocketAddr) -> Result<Transfer, Error> {
        let (from, server) = (self.lab.node(role)?, self.lab.node("server")?);
        Transfer::start(from, server, to, 1, Some(RATE))
    }

    /// Returns the client from `GET /v1/devices`.
    fn client(&self) -> Result<Device, Error> {
        let told = self.weir.client()?.devices().map_err(unexpected)?;
        let found = told.devices.into_iter().find(|d| d.mac == client());
        Ok(found.unwrap_or_default())
    }

    /// Returns the client's sums from `GET /v1/history`. Midnight may pass meanwhile.
    fn past(&self) -> Result<Both, Error> {
        let asked = HistoryQuery {
            device: Some(client()),
            ..Default::default()
        };
        let told = self.weir.client()?.history(&asked).map_err(unexpected)?;
        Ok(sum(told.periods.iter().map(|p| (p.received, p.sent))))
    }

    /// Devices copy more than a quota among themselves and from the router: none of this is
    /// Internet traffic, and the history has it once for each direction.
    fn copies(&self) -> Result<(), Error> {
        let (client, other) = (self.lab.node("client")?, self.lab.node("other")?);
        let router = self.lab.node("router")?;
        let to = SocketAddr::new("192.168.2.2".parse().unwrap(), PORT + 7);
        let copy = Transfer::start(client, other, to, 1, None)?;
        let to = SocketAddr::new(ROUTER_LAN, PORT + 8);
        let upload = Transfer::start(client, router, to, 1, None)?;
        copy.advance(QUOTA + QUOTA / 2, LIMIT)?;
        upload.advance(QUOTA / 2, LIMIT)?;
        let (copied, uploaded) = (copy.stop()?, upload.stop()?);
        let all = QUOTA + QUOTA / 2;
        assert!(
            copied >= all && uploaded >= QUOTA / 2,
            "{copied} {uploaded}"
        );
        let mut seen = String::new();
        let inside = wait_until("copies are LAN traffic", LIMIT, || {
            let told = self.weir.client()?.history(&HistoryQuery::default());
            let periods = told.map_err(unexpected)?.periods;
            let sum = |of: fn(&answers::Period) -> Count| periods.iter().map(|p| of(p).bytes).sum();
            let (sent, received): (u64, u64) = (sum(|p| p.lan.sent), sum(|p| p.lan.received));
            let internet: u64 = sum(|p| p.sent) + sum(|p| p.received);
            let client = self.client()?;
            seen = format!("{sent} {received} {internet} {client:#?}");
            assert!(internet < all / 10, "{seen}");
            Ok(sent > copied + uploaded && received > copied && client.lan.sent.bytes > copied)
        });
        inside.map_err(|error| Error::Unexpected(format!("{error}: {seen}")))?;
        let quota = self.client()?.quota.unwrap_or_default();
        assert!(
            quota.used < QUOTA / 10 && quota.state == "within",
            "{quota:?}"
        );
        Ok(())
    }

    /// A neighbour sends the client half of a quota from a forged Internet address. No byte of it
    /// crosses the uplink.
    fn forges(&self) -> Result<(), Error> {
        let other = self.lab.node("other")?;
        other.run("ip address add 198.51.100.77/32 dev eth0")?;
        let before = self.client()?;
        let send = || -> std::io::Result<()> {
            let socket = UdpSocket::bind("198.51.100.77:0")?;
            socket.connect((CLIENT, ECHO))?;
            for number in 0..QUOTA / 2 / 1400 {
                // The client refuses the datagram by ICMP.
                let _ = socket.send(&[b'f'; 1372]);
                if number % 64 == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Ok(())
        };
        other.enter(send)?.map_err(system("send datagrams"))?;
        let mut seen = String::new();
        let inside = wait_until("what a neighbour sends is LAN traffic", LIMIT, || {
            let client = self.client()?;
            let grown = |of: fn(&Device) -> u64| of(&client) - of(&before);
            let internet = grown(|device| device.received.bytes);
            let lan = grown(|device| device.lan.received.bytes);
            seen = format!("Internet {internet}, LAN {lan}");
            assert!(internet < QUOTA / 50, "{seen}");
            Ok(lan > QUOTA / 3)
        });
        inside.map_err(|error| Error::Unexpected(format!("{error}: {seen}")))
    }

    /// Returns the JSON of a command.
    fn told(&self, arguments: &[&str]) -> Result<Value, Error> {
        let outcome = Command::new(binary())
            .args(arguments)
            .args(["--json", "--socket"])
            .arg(self.weir.socket())
            .output()
            .map_err(system("run weir"))?;
        serde_json::from_slice(&outcome.stdout).map_err(|error| {
            let said = String::from_utf8_lossy(&outcome.stderr);
            Error::Unexpected(format!("weir {arguments:?}: {error}: {said}"))
        })
    }

    /// Waits until the history has the client's use in this run of weir, plus `before` from earlier
    /// runs.
    fn agrees(&self, before: Both) -> Result<Both, Error> {
        let mut seen = String::new();
        let mut both = Both::default();
        let agrees = wait_until("the history has it all", LIMIT, || {
            let device = self.client()?;
            both = self.past()?;
            let wanted = sum([before, (device.received, device.sent)].into_iter());
            seen = format!("history {both:?}, devices {wanted:?}");
            Ok(both == wanted && device.sent.packets > 0)
        });
        agrees.map_err(|error| Error::Unexpected(format!("{error}: {seen}")))?;
        Ok(both)
    }

    /// Returns true if the table of quotas exists.
    fn has_table(&self) -> Result<bool, Error> {
        let tables = self.lab.node("router")?.run("nft list tables")?;
        Ok(tables.lines().any(|line| line == "table inet weir_quota"))
    }

    /// Waits until the client is cut off, or admitted again, and nothing else is affected.
    fn expect(&self, cut: bool, when: &str) -> Result<(), Error> {
        let what = if cut { "is cut off" } else { "is let through" };
        let node = self.lab.node("client")?;
        for (server, router) in &self.far {
            let to = SocketAddr::new(*server, ECHO);
            let mut seen = String::new();
            wait_until(&format!("{when}: the client {what}"), LIMIT, || {
                let table = self.has_table()?;
                let answered =
                    Datagrams::open(node, to)?.ask(b"through?", Duration::from_millis(700))?;
                seen = format!("{to}: table {table}, answered {answered}");
                Ok(table == cut && answered != cut)
            })
            .map_err(|error| Error::Unexpected(format!("{error}: {seen}; {}", self.weir.log())))?;
            // The router itself still answers.
            ask_tcp(node, SocketAddr::new(*router, ECHO), b"there?")?;
        }
        // The other client is not affected.
        let to = SocketAddr::new(SERVER, ECHO);
        ask_tcp(self.lab.node("other")?, to, b"there?").map(drop)
    }
}

fn client() -> String {
    text(mac("client", "eth0"))
}

fn config(hook: &str, folder: &std::path::Path, quotas: &str) -> String {
    let ports = hooked_at(hook, &["lan0", "lan1", "wan0"]);
    let file = folder.join("history.db");
    format!("{ports}[web]\nenabled = false\n[history]\nfile = {file:?}\nflush = \"1s\"\n{quotas}")
}

fn quota() -> String {
    format!(
        "[quotas.\"{}\"]\nlimit = {QUOTA}\nper = \"month\"\nwarn = 40\naction = \"cut\"\n",
        client()
    )
}

fn count(told: &Value) -> Count {
    Count {
        bytes: told["bytes"].as_u64().unwrap_or(0),
        packets: told["packets"].as_u64().unwrap_or(0),
    }
}

fn both(told: &Value) -> Both {
    (count(&told["received"]), count(&told["sent"]))
}

/// The history is exact to the byte and packet, in the API and the commands, after an orderly end
/// and after a kill.
#[test]
fn the_history_has_what_devices_used() -> Result<(), Error> {
    let mut scene = Scene::begin("tc", "", Ipv6::Off)?;
    let mut before = Both::default();
    // The kernel still knows the previous run's connection, so each run has its own port.
    for (by, port) in [Signal::SIGTERM, Signal::SIGKILL, Signal::SIGTERM]
        .into_iter()
        .zip(PORT..)
    {
        let transfer = scene.transfer("client", port)?;
        scene.weir.wait_for_forwarding(port)?;
        let sent = transfer.stop()?;
        let all = scene.agrees(before)?;
        assert!(all.1.bytes >= before.1.bytes + sent, "{all:?}, {sent}");

        let device = client();
        let told = scene.told(&["history", "--device", &device])?;
        let periods = told["periods"].as_array().cloned().unwrap_or_default();
        assert_eq!(sum(periods.iter().map(both)), all, "{told:#}");
        let told = scene.told(&["devices"])?;
        let devices = told["devices"].as_array().cloned().unwrap_or_default();
        let found = devices.iter().find(|d| d["mac"] == device.as_str());
        let now = found.map(both).unwrap_or_default();
        assert_eq!(sum([before, now].into_iter()), all, "{told:#}");

        if by == Signal::SIGKILL {
            // Two flushes, a second apart.
            thread::sleep(Duration::from_secs(3));
        }
        scene.restart(by)?;
        assert_eq!(scene.past()?, all, "after {by}");
        before = all;
    }

    // For the sandbox a recreated folder is another folder: weir must still write again.
    let file = scene.folder.join("history.db");
    let to = SocketAddr::new(SERVER, ECHO);
    let use_some = || ask_tcp(scene.lab.node("client")?, to, &[b'w'; 1000]).map(drop);
    let problems = || -> Result<Vec<String>, Error> {
        let problems = scene.weir.status()?.problems.into_iter();
        Ok(problems.map(|one| one.part).collect())
    };
    assert_eq!(problems()?, Vec::<String>::new());
    std::fs::remove_dir_all(scene.folder.path()).map_err(system("remove a folder"))?;
    wait_until("it is reported", LIMIT, || {
        use_some()?;
        Ok(problems()? == ["history"])
    })?;
    std::fs::create_dir(scene.folder.path()).map_err(system("make a folder"))?;
    wait_until("it is written again", LIMIT, || {
        use_some()?;
        Ok(problems()?.is_empty() && file.exists())
    })
}

/// A client is warned, then cut off until the quota is lifted or weir ends, also after a kill.
#[test]
fn who_used_up_a_quota_is_cut_off() -> Result<(), Error> {
    let hook = "xdp";
    let quota = quota();
    let mut scene = Scene::begin(hook, &quota, Ipv6::Routed)?;
    scene.copies()?;
    scene.forges()?;
    let cut = scene.transfer("client", PORT)?;
    let cut6 = scene.transfer_to("client", SocketAddr::new(SERVER6, PORT + 2))?;
    let spared = scene.transfer("other", PORT + 1)?;
    scene.weir.wait_for_forwarding(PORT)?;
    scene.weir.wait_for_forwarding(PORT + 2)?;
    scene.weir.wait_for_forwarding(PORT + 1)?;

    let mut states: Vec<String> = Vec::new();
    let ends = wait_until("the quota is used up", LIMIT, || {
        let Some(quota) = scene.client()?.quota else {
            return Ok(false);
        };
        let ended = quota.state == "cut" && quota.used >= QUOTA && quota.limit == QUOTA;
        if states.last() != Some(&quota.state) {
            states.push(quota.state);
        }
        Ok(ended)
    });
    ends.map_err(|error| Error::Unexpected(format!("{error}: {states:?}")))?;
    let order: Vec<_> = states.iter().map(String::as_str).collect();
    assert!(order.ends_with(&["warned", "cut"]), "{order:?}");
    let log = scene.weir.log();
    for state in ["warned", "cut"] {
        assert!(log.contains(&format!("state=\"{state}\"")), "{log}");
    }
    wait_until("the rules are there", LIMIT, || scene.has_table())?;
    // Packets under way arrive.
    let mut had = (cut.progress(), cut6.progress());
    wait_until("what is on its way arrived", LIMIT, || {
        thread::sleep(Duration::from_millis(500));
        let before = std::mem::replace(&mut had, (cut.progress(), cut6.progress()));
        Ok(before == had)
    })?;
    spared.advance(ENOUGH, LIMIT)?;
    scene.weir.wait_for_forwarding(PORT + 1)?;
    let has = (cut.progress(), cut6.progress());
    assert_eq!(has, had, "a transfer goes on");
    drop((cut, cut6));
    scene.expect(true, "used up")?;
    let other = scene.weir.flow_at(PORT + 1)?;
    assert!(other.is_some(), "the other transfer is not known any more");

    scene
        .lab
        .node("router")?
        .run("nft delete table inet weir_quota")?;
    scene.expect(true, "somebody removed the table")?;

    scene.weir.end(Signal::SIGKILL)?;
    scene.expect(true, "weir is killed")?;
    scene.weir.restart(scene.lab.node("router")?)?;
    scene.ready()?;
    scene.expect(true, "weir is there again")?;
    let state = scene.client()?.quota.map(|quota| quota.state);
    assert_eq!(state.as_deref(), Some("cut"));

    scene.configure("")?;
    scene.restart(Signal::SIGKILL)?;
    scene.expect(false, "killed, and started without quotas")?;
    scene.reload(&quota)?;
    scene.expect(true, "a quota is set meanwhile")?;
    scene.reload("")?;
    scene.expect(false, "it is lifted")?;
    assert!(scene.client()?.quota.is_none());
    scene.reload(&quota)?;
    scene.expect(true, "it is set again")?;
    scene.weir.end(Signal::SIGTERM)?;
    assert!(
        !scene.has_table()?,
        "the table is left: {}",
        scene.weir.log()
    );
    scene.expect(false, "weir has ended")?;

    // A weir without a history removes the rules of a killed one.
    scene.weir.restart(scene.lab.node("router")?)?;
    scene.expect(true, "weir runs")?;
    scene.weir.end(Signal::SIGKILL)?;
    let none = format!(
        "{}[web]\nenabled = false\n",
        hooked_at(hook, &["lan0", "lan1", "wan0"])
    );
    std::fs::write(scene.weir.config_file(), none).map_err(system("write a configuration"))?;
    scene.weir.restart(scene.lab.node("router")?)?;
    scene.expect(false, "no history is kept")
}
