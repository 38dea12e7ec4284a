//! Sums by interface: three collectors' sums of weir's IPFIX equal the cards' counters.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use answers::Count;
use lab::gateway::{
    CLIENT, CLIENT6, ROUTER_LAN, ROUTER_LAN6, ROUTER_WAN, ROUTER_WAN6, SERVER, SERVER6,
};
use lab::namespace::{Process, wait_until};
use lab::transfer::{Datagrams, Echo, Transfer, ask_tcp};
use lab::{Error, Lab, Namespace, Options, topology};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use testing::Directory;
use weir_tests::LIMIT;
use weir_tests::scene::{self, Forwarder, PORT};

use crate::parity::peers::{self, COLLECTOR, Collector};
use crate::parity::{at_rest, devices, sums};

/// Port that weir exports to, and ports of the other collectors.
const ALL: u16 = 4738;
const GOFLOW2: u16 = 4740;
const NFACCTD: u16 = 4741;
const ECHO: u16 = 7;
/// A closed port.
const CLOSED: u16 = 9;
/// A port that the router's firewall drops.
const FORBIDDEN: u16 = 13;
/// The router's port that forwards to the client's echo.
const LED: u16 = 8080;
const PORTS: [&str; 2] = ["lan0", "wan0"];

/// Forwards each datagram for [`ALL`] to all three collectors.
struct Relay(Arc<AtomicBool>);

impl Relay {
    fn begin(node: &Namespace) -> Result<Self, Error> {
        let bind = |port: u16| UdpSocket::bind(("127.0.0.1", port));
        let socket = node
            .enter(|| bind(ALL))?
            .map_err(Error::system("listen for IPFIX"))?;
        let tick = Some(Duration::from_millis(100));
        socket
            .set_read_timeout(tick)
            .map_err(Error::system("set a time"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        thread::spawn(move || {
            let mut datagram = [0; 65_536];
            while !seen.load(Ordering::Relaxed) {
                let Ok(length) = socket.recv(&mut datagram) else {
                    continue;
                };
                for port in [COLLECTOR, GOFLOW2, NFACCTD] {
                    let _ = socket.send_to(&datagram[..length], ("127.0.0.1", port));
                }
            }
        });
        Ok(Self(stop))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A collector that writes lines of JSON.
struct Lines {
    process: Process,
    port: u16,
    file: PathBuf,
}

impl Lines {
    fn begin(
        node: &Namespace,
        mut command: Command,
        port: u16,
        file: PathBuf,
    ) -> Result<Self, Error> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        let process = node.start(&mut command)?;
        wait_until("a collector listens", LIMIT, || {
            Ok(peers::queue(node, port)?.is_some())
        })?;
        Ok(Self {
            process,
            port,
            file,
        })
    }

    /// Ends the collector once it has read and written all.
    fn end(self, node: &Namespace) -> Result<Vec<Value>, Error> {
        peers::drained(node, self.port)?;
        let records = at_rest(|| Ok(objects(&self.file)))?;
        let id = i32::try_from(self.process.id()).unwrap_or(0);
        kill(Pid::from_raw(id), Signal::SIGINT).map_err(Error::system("end a collector"))?;
        Ok(records)
    }
}

fn objects(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let objects = serde_json::Deserializer::from_str(&text).into_iter();
    objects.map_while(Result::ok).collect()
}

fn goflow2(node: &Namespace, folder: &Path) -> Result<Lines, Error> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let tools = target.unwrap_or(Path::new("/")).join("tools");
    let script = include_str!("../../../scripts/setup");
    let version = script
        .lines()
        .find_map(|line| line.strip_prefix("goflow2="));
    let program = tools.join(format!("goflow2-{}", version.unwrap_or_default()));
    let file = folder.join("goflow2.json");
    let mut command = Command::new(program);
    command.args(["-addr", "", "-listen"]);
    command.arg(format!("netflow://127.0.0.1:{GOFLOW2}?workers=1"));
    command.arg("-transport.file").arg(&file);
    Lines::begin(node, command, GOFLOW2, file)
}

fn nfacctd(node: &Namespace, folder: &Path) -> Result<Lines, Error> {
    let file = folder.join("nfacctd.json");
    let text = format!(
        "daemonize: false\nnfacctd_ip: 127.0.0.1\nnfacctd_port: {NFACCTD}\nplugins: print[flows]\n\
         aggregate[flows]: in_iface, out_iface\nprint_output[flows]: json\n\
         print_output_file[flows]: {}\nprint_output_file_append[flows]: true\n\
         print_refresh_time[flows]: 1\n",
        file.display()
    );
    let configuration = folder.join("nfacctd.conf");
    std::fs::write(&configuration, text).map_err(Error::system("write a file"))?;
    let mut command = Command::new("nfacctd");
    command.arg("-f").arg(configuration);
    let nfacctd = Lines::begin(node, command, NFACCTD, file)?;
    // nfacctd's second process starts a moment later; earlier records are lost.
    thread::sleep(Duration::from_secs(2));
    Ok(nfacctd)
}

/// Returns sums by direction and interface, from JSON with these field names.
fn by_interface(records: &[Value], names: [&str; 2]) -> BTreeMap<(usize, u64), Count> {
    let mut sums = BTreeMap::<_, Count>::new();
    for record in records {
        for (direction, name) in names.iter().enumerate() {
            let interface = record[name].as_u64().unwrap_or(0);
            let sum = sums.entry((direction, interface)).or_default();
            sum.bytes += record["bytes"].as_u64().unwrap_or(0);
            sum.packets += record["packets"].as_u64().unwrap_or(0);
        }
    }
    sums
}

/// A card's own counters of sent packets.
struct Card<'a> {
    node: &'a Namespace,
    name: &'a str,
    /// Bytes that the card counts for each packet beyond IP: veth counts them or not, depending on
    /// the kernel.
    header: u64,
}

impl<'a> Card<'a> {
    /// Measures the size of a counted packet to `neighbour`.
    fn new(node: &'a Namespace, name: &'a str, neighbour: IpAddr) -> Result<Self, Error> {
        let mut card = Self {
            node,
            name,
            header: 0,
        };
        for _ in 0..10 {
            let before = card.sent()?;
            node.run(&format!("ping -n -c 1 -s 1000 {neighbour}"))?;
            let one = minus(card.sent()?, before);
            if one.packets == 1 {
                card.header = one.bytes - 1028;
                assert!([0, 14].contains(&card.header), "{one:?}");
                return Ok(card);
            }
        }
        Err(Error::Unexpected(format!("{name} is never quiet")))
    }

    /// Returns the sent IP packets.
    fn sent(&self) -> Result<Count, Error> {
        let text = self
            .node
            .run(&format!("ip -j -s link show dev {}", self.name))?;
        let told: Value = serde_json::from_str(&text)
            .map_err(|error| Error::Unexpected(format!("{error}: {text}")))?;
        let field = |name: &str| told[0]["stats64"]["tx"][name].as_u64().unwrap_or(0);
        let packets = field("packets");
        Ok(Count {
            bytes: field("bytes") - packets * self.header,
            packets,
        })
    }
}

fn minus(more: Count, less: Count) -> Count {
    Count {
        bytes: more.bytes - less.bytes,
        packets: more.packets - less.packets,
    }
}

/// Builds a gateway with known neighbours, a forwarded port, and a firewall.
fn gateway() -> Result<Lab, Error> {
    let lab = Lab::gateway(&Options {
        plain_offloads: true,
        ..Options::default()
    })?;
    lab.route("router", "default", SERVER)?;
    for (a, b, ends) in [
        (
            ("router", "lan0"),
            ("client", "eth0"),
            [(ROUTER_LAN, CLIENT), (ROUTER_LAN6, CLIENT6)],
        ),
        (
            ("router", "wan0"),
            ("server", "eth0"),
            [(ROUTER_WAN, SERVER), (ROUTER_WAN6, SERVER6)],
        ),
    ] {
        for (own, far) in ends {
            lab.neighbour(a.0, a.1, far, topology::mac(b.0, b.1))?;
            lab.neighbour(b.0, b.1, own, topology::mac(a.0, a.1))?;
        }
    }
    let router = lab.node("router")?;
    // conntrack forgets ended connections before the collector gets their records.
    for state in ["close", "close_wait", "last_ack", "time_wait", "fin_wait"] {
        router.sysctl(
            &format!("net.netfilter.nf_conntrack_tcp_timeout_{state}"),
            1,
        )?;
    }
    router.nft(&format!(
        "table ip led {{\nchain prerouting {{\ntype nat hook prerouting priority dstnat;\n\
         ip daddr {ROUTER_WAN} tcp dport {LED} dnat to {CLIENT}:{ECHO}\n}}\n}}\n\
         table inet barred {{\nchain forward {{\ntype filter hook forward priority 0;\n\
         meta l4proto {{ tcp, udp }} th dport {FORBIDDEN} drop\n}}\n}}\n"
    ))?;
    Ok(lab)
}

/// Makes short connections of each kind, from inside and outside.
fn short(lab: &Lab) -> Result<(), Error> {
    let (client, server) = (lab.node("client")?, lab.node("server")?);
    for address in [SERVER, SERVER6] {
        let to = SocketAddr::new(address, ECHO);
        for number in 0..20 {
            ask_tcp(client, to, &vec![b'w'; 100 + 3000 * number])?;
        }
        for _ in 0..5 {
            let one = Datagrams::open(client, to)?;
            one.ask(b"one", LIMIT)?;
            Datagrams::open(client, SocketAddr::new(address, FORBIDDEN))?
                .ask(b"lost", Duration::from_millis(10))?;
        }
        let refused = SocketAddr::new(address, CLOSED);
        let refused = client.enter(|| TcpStream::connect(refused))?;
        assert!(refused.is_err());
        client.run(&format!("ping -n -c 3 -i 0.2 {address}"))?;
    }
    for _ in 0..10 {
        ask_tcp(server, SocketAddr::new(ROUTER_WAN, LED), b"from outside")?;
    }
    Ok(())
}

/// Short and long connections, forwarded by the kernel and by weir, refused and dropped: each
/// collector's sums per interface equal the card's counters, and forwarded packets have both
/// interfaces.
#[test]
fn sums_by_interface_are_those_of_the_cards() -> Result<(), Error> {
    let lab = gateway()?;
    let (router, client, server) = (
        lab.node("router")?,
        lab.node("client")?,
        lab.node("server")?,
    );
    let echoes = [(server, SERVER), (server, SERVER6), (client, CLIENT)];
    let echoes = echoes.map(|(node, at)| Echo::serve(node, SocketAddr::new(at, ECHO)));
    let _echoes = echoes.into_iter().collect::<Result<Vec<_>, Error>>()?;
    // Packets that a port received, its neighbour sent.
    let ends = [
        [
            Card::new(client, "eth0", ROUTER_LAN)?,
            Card::new(router, "lan0", CLIENT)?,
        ],
        [
            Card::new(server, "eth0", ROUTER_WAN)?,
            Card::new(router, "wan0", SERVER)?,
        ],
    ];
    let folder = Directory::new();
    let nfcapd = Collector::begin(router, peers::make(&folder, "nfcapd")?)?;
    let others = peers::make(&folder, "others")?;
    let (goflow2, nfacctd) = (goflow2(router, &others)?, nfacctd(router, &others)?);
    let _relay = Relay::begin(router)?;
    let more = format!("[monitor.ipfix]\ncollector = \"127.0.0.1:{ALL}\"\nactive = \"2s\"\n");
    let weir = scene::weir(Forwarder::Weir("tc"), &lab, &more)?;
    let weir = weir.ok_or_else(|| Error::Unexpected("no weir".into()))?;
    wait_until("both ports are counted", LIMIT, || {
        Ok(devices(&weir)?.ports.len() == 2)
    })?;

    let quiet = || at_rest(|| devices(&weir).map(|told| sums(&told)));
    let cards = || -> Result<Vec<[Count; 2]>, Error> {
        let ports = devices(&weir)?.ports;
        let port = |name: &str| ports.iter().find(|port| port.name == name);
        let port = |name: &str| port(name).ok_or_else(|| Error::Unexpected(format!("no {name}")));
        let cards = PORTS.iter().zip(&ends).map(|(name, [comes, goes])| {
            let port = port(name)?;
            Ok([
                minus(comes.sent()?, port.incoming.other),
                minus(goes.sent()?, port.outgoing.other),
            ])
        });
        cards.collect()
    };
    let at_first = quiet()?;
    let before = cards()?;
    let to = SocketAddr::new(SERVER, PORT);
    let long = Transfer::start(client, server, to, 1, Some(1 << 20))?;
    short(&lab)?;
    long.advance(4 << 20, LIMIT)?;
    weir.wait_for_forwarding(PORT)?;
    long.stop()?;
    quiet()?;
    // weir exports an ended conversation without a request.
    thread::sleep(Duration::from_secs(5));
    let after = cards()?;
    weir.end(Signal::SIGTERM)?;
    let directory = nfcapd.end(router)?;
    let goflow2 = by_interface(&goflow2.end(router)?, ["in_if", "out_if"]);
    let nfacctd = by_interface(&nfacctd.end(router)?, ["iface_in", "iface_out"]);

    for (place, name) in PORTS.iter().enumerate() {
        let index = lab.index("router", name)?;
        let counted = at_first.iter().find(|(port, _)| port == name);
        for (way, filter) in ["in if", "out if"].into_iter().enumerate() {
            let table = peers::nfdump(router, &directory, &format!("{filter} {index}"))?;
            let told = [
                peers::sum(&table, |_| true),
                goflow2
                    .get(&(way, index.into()))
                    .copied()
                    .unwrap_or_default(),
                nfacctd
                    .get(&(way, index.into()))
                    .copied()
                    .unwrap_or_default(),
            ];
            let mut wanted = minus(after[place][way], before[place][way]);
            let began = counted.map_or_else(Count::default, |(_, counts)| counts[way]);
            wanted.bytes += began.bytes;
            wanted.packets += began.packets;
            println!("{name} {filter}: {wanted:?} {told:?}");
            assert_eq!(told, [wanted; 3], "{name} {filter}: {at_first:?}");
        }
    }
    // Only dropped or refused packets lack an interface.
    let zero = |filter: &str| peers::nfdump(router, &directory, filter);
    for way in ["in if 0", "out if 0"] {
        let forwarded = format!("{way} and (port {ECHO} or port {PORT} or port {CLOSED})");
        assert_eq!(zero(&forwarded)?, Default::default(), "{way}");
    }
    let dropped = zero(&format!("out if 0 and dst port {FORBIDDEN}"))?;
    assert_eq!(peers::sum(&dropped, |_| true).packets, 10);
    Ok(())
}
