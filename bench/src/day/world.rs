//! World: a router by the kernel alone or with weir, and its hosts.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Barrier;
use std::thread::sleep;
use std::time::{Duration, Instant};

use datapath::Hook;
use lab::gateway::{CLIENT, ROUTER_LAN, SERVER};
use lab::topology::{mac, text};
use lab::transfer::Echo;
use lab::{Arrangement, Ipv6, Lab, Options};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};

use super::schedule::{self, Event, STEP};
use crate::Error;
use crate::daemon::Daemon;

/// Senders of datagrams and their ports: streams that must not end, and those under a rule.
const ASKERS: [(&str, u16); 7] = [
    ("stream 1", 5_010),
    ("stream 2", 5_011),
    ("stream 3", 5_012),
    ("stream 4", 5_013),
    ("gate", 4_001),
    ("banned", 4_002),
    ("metered", 4_003),
];
/// Port of the rule that bans a sender.
const KNOCK: u16 = 9;
/// Port of the TCP connections.
const TCP: u16 = 5_000;
/// Bytes of a question.
const QUESTION: usize = 1_000;
/// MAC address of the client's idle device.
const STRANGER: &str = "02:00:00:00:99:99";
/// Longest wait for an answer by TCP: several retransmissions.
const PATIENCE: Duration = Duration::from_secs(4);
/// Pause between attempts to connect.
const RETRY: Duration = Duration::from_millis(100);
/// Milliseconds between new connections.
const NEW: u64 = 15_000;
/// Every `MORTAL`th connection has an end that dies.
const MORTAL: u64 = 4;
/// Delay after which a step's answers do not count: the world had no processor.
const TOO_LATE: Duration = Duration::from_millis(400);

const RULES: &str = "table inet house {
  set open { type ipv4_addr; flags timeout; }
  set ban { type ipv4_addr; flags dynamic,timeout; timeout 6s; }
  quota metered { over 100 kbytes }
  chain forward {
    type filter hook forward priority 0
    udp dport 4001 ip daddr @open accept
    udp dport 4001 drop
    udp dport 9 add @ban { ip saddr } drop
    udp dport 4002 ip saddr @ban drop
    udp dport 4003 quota name \"metered\" drop
    ct state established,related accept
  }
}";
/// Rules at the server for dead ends.
const DEAD: &str = "table inet dead {
  set ports { type inet_service; }
  chain in { type filter hook input priority 0; tcp sport @ports drop; }
  chain out { type filter hook output priority 0; tcp dport @ports drop; }
}";

/// Conntrack entries by protocol and ports of the client and of the server.
pub type Entries = BTreeMap<(String, u16, u16), Entry>;

/// Conntrack entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// TCP state and flags, such as `[UNREPLIED]` and `[ASSURED]`.
    pub state: String,
    /// Seconds until the time-out.
    pub left: u64,
}

/// Results of a day.
#[derive(Default)]
pub struct Outcome {
    /// Asker and step in milliseconds, and whether an answer arrived.
    pub answers: BTreeMap<(String, u64), bool>,
    /// Connection, number of its rests, and whether it is alive.
    pub woken: Vec<(u64, u64, bool)>,
    pub entries: Entries,
    pub forwarded: u64,
}

struct Connection {
    number: u64,
    stream: TcpStream,
    spoke: u64,
    due: u64,
    mortal: bool,
}

pub struct World {
    weir: Option<Daemon>,
    by: &'static str,
    askers: Vec<UdpSocket>,
    knock: UdpSocket,
    connections: Vec<Connection>,
    /// Index of the client's current device.
    device: usize,
    outcome: Outcome,
    _echoes: Vec<Echo>,
    lab: Lab,
}

fn datagrams(lab: &Lab, own: u16, to: u16) -> Result<UdpSocket, Error> {
    let open = || {
        let socket = UdpSocket::bind(("0.0.0.0", own))?;
        socket.connect((SERVER, to))?;
        socket.set_nonblocking(true)?;
        io::Result::Ok(socket)
    };
    lab.node("client")?
        .enter(open)?
        .map_err(Error::system("open a socket"))
}

/// Connects from a port that is equal in all worlds. Retries while the WAN is still dialling, as on
/// a busy machine.
fn stream(lab: &Lab, own: u16) -> Result<TcpStream, Error> {
    let open = || -> io::Result<TcpStream> {
        let own = SockaddrStorage::from(SocketAddr::new(CLIENT, own));
        let to = SockaddrStorage::from(SocketAddr::new(SERVER, TCP));
        let flags = SockFlag::SOCK_CLOEXEC;
        let made = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
        setsockopt(&made, sockopt::ReuseAddr, &true)?;
        bind(std::os::fd::AsRawFd::as_raw_fd(&made), &own)?;
        connect(std::os::fd::AsRawFd::as_raw_fd(&made), &to)?;
        let stream = TcpStream::from(made);
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    };
    let (client, begun) = (lab.node("client")?, Instant::now());
    loop {
        match client.enter(open)? {
            Err(error) if no_way(&error) && begun.elapsed() < PATIENCE => sleep(RETRY),
            made => return made.map_err(Error::system("connect")),
        }
    }
}

fn no_way(error: &io::Error) -> bool {
    use io::ErrorKind::{HostUnreachable, NetworkUnreachable};
    matches!(error.kind(), HostUnreachable | NetworkUnreachable)
}

/// Echoes, however long a connection rests.
fn answer(listener: &TcpListener) {
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || {
            let _ = stream.set_nodelay(true);
            stream
                .try_clone()
                .and_then(|mut reader| io::copy(&mut reader, &mut &stream))
        });
    }
}

fn speak(mut stream: &TcpStream, times: usize) -> bool {
    let mut octets = [b'w'; QUESTION];
    (0..times).all(|_| {
        stream
            .write_all(&octets)
            .and_then(|()| stream.read_exact(&mut octets))
            .is_ok()
    })
}

impl World {
    pub fn new(by: Option<Hook>, binary: &Path) -> Result<Self, Error> {
        let lab = Lab::gateway(&Options {
            arrangement: Arrangement::BRIDGE,
            // XDP requires it, and conntrack's state of a connection that it picks up in the middle
            // depends on the segments that it sees.
            plain_offloads: true,
            ipv6: Ipv6::Off,
            ..Options::default()
        })?;
        let (router, server) = (lab.node("router")?, lab.node("server")?);
        for (key, seconds) in schedule::clock() {
            router.sysctl(&key, seconds)?;
        }
        router.nft(RULES)?;
        server.nft(DEAD)?;
        let client = lab.node("client")?;
        lab.node("at-lan2")?.run(&format!(
            "ip link set eth0 netns {} name eth1",
            client.name()
        ))?;
        // The other member of the bridge has a foreign address until the client moves there.
        client.ip(&format!("link set eth1 address {STRANGER} up\n"))?;
        let ports = lab.arrangement().ports();
        let daemon = |hook| Daemon::at(router, binary, hook, &ports, "");
        let weir = by.map(daemon).transpose()?;
        let echoes = ASKERS
            .iter()
            .map(|(_, port)| Echo::serve(server, SocketAddr::new(SERVER, *port)))
            .collect::<Result<_, _>>()?;
        let listen = || TcpListener::bind((SERVER, TCP));
        let listener = server.enter(listen)?.map_err(Error::system("listen"))?;
        // This thread waits in `accept` until the process ends.
        drop(server.background(move || answer(&listener))?);
        let open = |(index, (_, port)): (usize, &(&str, u16))| {
            datagrams(&lab, 30_000 + index as u16, *port)
        };
        Ok(Self {
            askers: ASKERS
                .iter()
                .enumerate()
                .map(open)
                .collect::<Result<_, _>>()?,
            knock: datagrams(&lab, 30_100, KNOCK)?,
            by: by.map_or(
                "kernel",
                |hook| if hook == Hook::Xdp { "xdp" } else { "tc" },
            ),
            weir,
            connections: Vec::new(),
            device: 0,
            outcome: Outcome::default(),
            _echoes: echoes,
            lab,
        })
    }

    pub fn run(
        mut self,
        begun: Instant,
        length: Duration,
        together: &Barrier,
        told: &impl Fn(&str),
    ) -> Result<Outcome, Error> {
        let lived = self.live(begun, length, told);
        // Even a failed world must arrive here, as the others wait.
        together.wait();
        lived?;
        self.outcome.entries = self.entries()?;
        if let Some(weir) = &self.weir {
            self.outcome.forwarded = weir.status()?.packets.forwarded();
        }
        Ok(self.outcome)
    }

    fn live(
        &mut self,
        begun: Instant,
        length: Duration,
        told: &impl Fn(&str),
    ) -> Result<(), Error> {
        let steps = length.as_millis() as u64 / STEP;
        for at in (0..steps).map(|step| step * STEP) {
            let due = begun + Duration::from_millis(at);
            sleep(due.saturating_duration_since(Instant::now()));
            self.hear();
            for event in schedule::events(at) {
                self.happens(event)?;
            }
            let late = due.elapsed() > TOO_LATE;
            self.ask(at, late);
            if !schedule::unsettled(at) {
                self.connect(at)?;
                self.wake(at)?;
            }
            if at % 60_000 == 0 {
                let answered = self.outcome.answers.values().filter(|yes| **yes).count();
                let (asked, by) = (self.outcome.answers.len(), self.by);
                told(&format!(
                    "{:>5.0} s, {by}: {answered} of {asked} answered",
                    schedule::seconds(at)
                ));
            }
        }
        // Time for weir to report the last packets to conntrack.
        sleep(Duration::from_secs(5));
        self.hear();
        Ok(())
    }

    fn happens(&mut self, event: Event) -> Result<(), Error> {
        let (router, client) = (self.lab.node("router")?, self.lab.node("client")?);
        match event {
            Event::Open(seconds) => {
                router.run(&format!(
                    "nft add element inet house open {{ {SERVER} timeout {seconds}s }}"
                ))?;
            }
            Event::Knock => {
                let _ = self.knock.send(b"knock");
            }
            Event::Reset => {
                router.run("nft reset quota inet house metered")?;
            }
            Event::Roam => {
                let (from, to) = if self.device == 0 {
                    ("eth0", "eth1")
                } else {
                    ("eth1", "eth0")
                };
                let own = text(mac("client", "eth0"));
                client.ip(&format!(
                    "addr flush dev {from}\nlink set {from} address {STRANGER}\nlink set {to} \
                        address {own}\n\
                     link set {to} up\naddr add {CLIENT}/24 dev {to}\nroute replace default via \
                     {ROUTER_LAN}\n"
                ))?;
                self.device = 1 - self.device;
            }
            Event::HangUp => {
                router.ip("addr del 10.0.0.1/24 dev wan0\nlink set wan0 down\n")?;
            }
            Event::Dial => {
                router.ip("link set wan0 up\naddr add 10.0.0.1/24 dev wan0\n")?;
            }
        }
        Ok(())
    }

    fn ask(&mut self, at: u64, late: bool) {
        for (index, (name, _)) in ASKERS.iter().enumerate() {
            let conversations =
                !name.starts_with("stream") || schedule::conversations(index as u64, at);
            if !conversations {
                continue;
            }
            let mut question = [0; QUESTION];
            question[..8].copy_from_slice(&at.to_be_bytes());
            let sent = self.askers[index].send(&question).is_ok();
            if sent && !late && !schedule::uncertain(name, at) {
                self.outcome.answers.insert(((*name).into(), at), false);
            }
        }
    }

    /// Receives the answers that arrived.
    fn hear(&mut self) {
        for (index, (name, _)) in ASKERS.iter().enumerate() {
            let mut answer = [0; QUESTION];
            loop {
                match self.askers[index].recv(&mut answer) {
                    Ok(_) => {
                        let at = u64::from_be_bytes(std::array::from_fn(|octet| answer[octet]));
                        if let Some(answered) = self.outcome.answers.get_mut(&((*name).into(), at))
                        {
                            *answered = true;
                        }
                    }
                    // ICMP errors of the router end up here.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => {}
                }
            }
        }
    }

    fn connect(&mut self, at: u64) -> Result<(), Error> {
        let number = self.connections.len() as u64;
        if number * NEW > at {
            return Ok(());
        }
        let stream = stream(&self.lab, 20_000 + number as u16)?;
        if !speak(&stream, 30) {
            return Err(Error::Wrong(format!(
                "{}: connection {number} is not answered",
                self.by
            )));
        }
        let mortal = number % MORTAL == MORTAL - 1;
        let due = schedule::rests(number, 0, at);
        self.connections.push(Connection {
            number,
            stream,
            spoke: 0,
            due,
            mortal,
        });
        Ok(())
    }

    fn wake(&mut self, at: u64) -> Result<(), Error> {
        for connection in self.connections.iter_mut().filter(|one| one.due <= at) {
            let number = connection.number;
            connection.spoke += 1;
            connection.due = schedule::rests(number, connection.spoke, at);
            if connection.mortal {
                let port = 20_000 + number;
                let dies = format!("nft add element inet dead ports {{ {port} }}");
                self.lab.node("server")?.run(&dies)?;
                connection.due = u64::MAX;
                let _ = connection.stream.write_all(&[b'w'; QUESTION]);
                continue;
            }
            let lives = speak(&connection.stream, 5);
            self.outcome.woken.push((number, connection.spoke, lives));
        }
        Ok(())
    }

    fn entries(&self) -> Result<Entries, Error> {
        let listed = self
            .lab
            .node("router")?
            .run("conntrack -L -s 192.168.1.2")?;
        Ok(listed.lines().filter_map(entry).collect())
    }
}

/// Parses a line of `conntrack -L`.
fn entry(line: &str) -> Option<((String, u16, u16), Entry)> {
    let words: Vec<_> = line.split_whitespace().collect();
    let protocol = *words.first()?;
    let left = words.get(2)?.parse().ok()?;
    let port = |name: &str| {
        words
            .iter()
            .find_map(|word| word.strip_prefix(name)?.parse().ok())
    };
    let state = words[3..]
        .iter()
        .filter(|word| !word.contains('='))
        .copied();
    let state = Entry {
        state: state.collect::<Vec<_>>().join(" "),
        left,
    };
    Some(((protocol.into(), port("sport=")?, port("dport=")?), state))
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn a_line_of_conntrack() {
        let line = "tcp      6 17990 ESTABLISHED src=192.168.1.2 dst=10.0.0.2 sport=20001 \
            dport=5000 src=10.0.0.2 \
                    dst=10.0.0.1 sport=5000 dport=20001 [ASSURED] mark=0 use=1";
        let (key, entry) = entry(line).expect("an entry");
        assert_eq!(key, ("tcp".into(), 20_001, 5_000));
        assert_eq!(
            (entry.left, &entry.state[..]),
            (17_990, "ESTABLISHED [ASSURED]")
        );
    }
}
