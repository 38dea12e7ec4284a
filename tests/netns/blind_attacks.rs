//! An attacker who knows a connection's addresses and ports, but not its sequence numbers, ends
//! nothing; the connection's own ends can.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use lab::frame::{Body, Mac, Packet, Tcp, flag};
use lab::gateway::{CLIENT, ROUTER_WAN, SERVER};
use lab::namespace::wait_until;
use lab::view::View;
use lab::{Error, Lab, Namespace, Options, Tap};
use weir_tests::conntrack::{CLOSE, CLOSE_WAIT, ESTABLISHED, Entry, TIME_WAIT, entry_to};
use weir_tests::scene::{self, Forwarder, PORT, WAYS};
use weir_tests::{LIMIT, Weir};

const WEIR: [Forwarder; 2] = [Forwarder::Weir("tc"), Forwarder::Weir("xdp")];

/// A TCP connection between client and server, of which the test has both ends.
struct Conversation {
    weir: Option<Weir>,
    client: TcpStream,
    server: TcpStream,
    lab: Lab,
}

impl Conversation {
    /// Builds a connection that a running weir forwards.
    fn new(by: Forwarder) -> Result<Self, Error> {
        Self::through(scene::lab(by, &Options::default())?, by)
    }

    fn through(lab: Lab, by: Forwarder) -> Result<Self, Error> {
        let weir = scene::weir(by, &lab, "")?;
        let to = SocketAddr::new(SERVER, PORT);
        let system = |error| Error::system("talk")(error);
        let listener = lab
            .node("server")?
            .enter(|| TcpListener::bind(to))?
            .map_err(system)?;
        let client = lab
            .node("client")?
            .enter(|| TcpStream::connect(to))?
            .map_err(system)?;
        let (server, _) = listener.accept().map_err(system)?;
        for end in [&client, &server] {
            end.set_nodelay(true).map_err(system)?;
            end.set_read_timeout(Some(LIMIT)).map_err(system)?;
        }
        let mut talk = Self {
            weir,
            client,
            server,
            lab,
        };
        talk.goes_on("at first")?;
        Ok(talk)
    }

    /// Exchanges data both ways until weir forwards it.
    fn goes_on(&mut self, after: &str) -> Result<(), Error> {
        let forwarded = |weir: &Option<Weir>| match weir {
            Some(weir) => Ok(weir
                .flow_at(PORT)?
                .map(|flow| flow.directions)
                .map(|both| both.original.packets.min(both.reply.packets))),
            None => Ok(None),
        };
        let before = forwarded(&self.weir)?.unwrap_or(0);
        wait_until(&format!("{after}: weir forwards it"), LIMIT, || {
            for _ in 0..20 {
                self.say()
                    .map_err(|error| Error::Unexpected(format!("{after}: {error}")))?;
            }
            let more = forwarded(&self.weir)?.is_some_and(|now| now > before + 10);
            Ok(more || self.weir.is_none())
        })
    }

    /// Sends a word from each end to the other.
    fn say(&mut self) -> std::io::Result<()> {
        let mut word = [0; 64];
        self.client.write_all(&[1; 64])?;
        self.server.read_exact(&mut word)?;
        self.server.write_all(&[2; 64])?;
        self.client.read_exact(&mut word)
    }

    /// Returns the kernel's entry.
    fn entry(&self) -> Result<Option<Entry>, Error> {
        entry_to(self.lab.node("router")?, PORT)
    }

    /// Waits until the kernel's entry is `right`.
    fn becomes(&self, what: &str, right: impl Fn(&Entry) -> bool) -> Result<(), Error> {
        wait_until(what, LIMIT, || Ok(self.entry()?.is_some_and(|e| right(&e))))
            .map_err(|error| Error::Unexpected(format!("{error}: {:?}", self.entry())))
    }

    /// Sends a segment with one end's addresses, from a host at either wire. `numbers`: positions
    /// of the client's and the server's stream.
    fn forge(
        &self,
        at: &str,
        from_client: bool,
        flags: u16,
        numbers: [u32; 2],
    ) -> Result<(), Error> {
        let port = self
            .client
            .local_addr()
            .map_err(Error::system("a port"))?
            .port();
        let (host, router) = match at {
            "client" => ("client", "lan0"),
            _ => ("server", "wan0"),
        };
        let from_mac = mac(self.lab.node(host)?, "eth0")?;
        let to_mac = mac(self.lab.node("router")?, router)?;
        let [own, other] = numbers;
        let (from, to, ports, numbers) = if from_client {
            (CLIENT, SERVER, (port, PORT), [own, other])
        } else {
            // Masquerading keeps the port.
            (SERVER, ROUTER_WAN, (PORT, port), [other, own])
        };
        let segment = Tcp {
            from: ports.0,
            to: ports.1,
            sequence: numbers[0],
            acknowledgement: numbers[1],
            flags,
            window: 500,
            ..Tcp::default()
        };
        let packet = Packet::new((from_mac, from), (to_mac, to), Body::Tcp(segment));
        Tap::open(self.lab.node(host)?, "eth0")?.send(&packet.bytes())
    }

    /// Returns sequence numbers far from the connection's own: half the range away.
    fn elsewhere(&mut self) -> Result<[u32; 2], Error> {
        let mut tap = Tap::open(self.lab.node("server")?, "eth0")?;
        self.say().map_err(Error::system("talk"))?;
        while let Some(frame) = tap.receive(LIMIT)? {
            let is_ours = View::of(&frame)
                .and_then(|v| v.ports)
                .is_some_and(|p| p.1 == PORT);
            if is_ours {
                let word = |at: usize| {
                    let octets = frame[at..at + 4].try_into().unwrap_or_default();
                    u32::from_be_bytes(octets).wrapping_add(1 << 31)
                };
                return Ok([word(14 + 20 + 4), word(14 + 20 + 8)]);
            }
        }
        Err(Error::Unexpected("nothing arrives".into()))
    }
}

fn mac(node: &Namespace, device: &str) -> Result<Mac, Error> {
    let text = node.run(&format!("ip -o link show dev {device}"))?;
    let mut words = text.split_whitespace().skip_while(|w| *w != "link/ether");
    let mac = words.nth(1).and_then(net::mac::parse);
    mac.ok_or_else(|| Error::Unexpected(format!("an address: {text}")))
}

/// The kernel alone treats forged FINs from both sides, a RST, and a FIN at the wrong port as
/// invalid. Then one end closes its half; the other half continues, and closes later.
#[test]
fn a_strangers_farewell_ends_nothing_and_that_of_both_ends_does() {
    scene::at_once(&WAYS, |by| {
        let mut talk = Conversation::new(by)?;
        let wild = talk.elsewhere()?;
        let before = talk.entry()?.expect("is tracked");
        let fin = flag::FIN | flag::ACK;
        for (at, from_client, flags) in [
            ("client", true, fin),
            ("server", false, fin),
            ("server", false, flag::RST),
            ("client", true, flag::RST | flag::ACK),
            ("server", true, fin),
            ("server", true, flag::RST),
            ("client", false, fin),
        ] {
            talk.forge(at, from_client, flags, wild)?;
        }
        // Long enough for any effect.
        thread::sleep(Duration::from_secs(1));
        let after = talk.entry()?.expect("is tracked");
        assert_eq!((after.id, after.state), (before.id, ESTABLISHED), "{by:?}");
        assert!(after.timeout > 60, "{by:?}: ends soon: {after:?}");
        talk.goes_on("after seven farewells of strangers")?;
        let still = talk.entry()?.expect("is tracked");
        assert_eq!((still.id, still.state), (before.id, ESTABLISHED), "{by:?}");
        if let Some(weir) = &talk.weir {
            // Forged segments at the right port pass, so that the ends judge them.
            let dropped = weir.status()?.packets.passed.get("window").copied();
            assert!(dropped >= Some(3), "{by:?}: {dropped:?}");
        }

        thread::sleep(Duration::from_secs(1));
        let system = |error| Error::system("say farewell")(error);
        talk.client.shutdown(Shutdown::Write).map_err(system)?;
        let mut rest = Vec::new();
        talk.server.read_to_end(&mut rest).map_err(system)?;
        talk.becomes("half of it is closed", |e| e.state == CLOSE_WAIT)?;
        talk.server.write_all(&[3; 100_000]).map_err(system)?;
        talk.server.shutdown(Shutdown::Write).map_err(system)?;
        talk.client.read_to_end(&mut rest).map_err(system)?;
        assert_eq!(rest.len(), 100_000, "{by:?}");
        talk.becomes("all of it is closed", |e| e.state == TIME_WAIT)
    });
}

/// An end aborts: the other end gets the RST, and the entry ends within seconds. Before that little
/// data passed, or more than conntrack's own numbers can distinguish.
#[test]
fn an_abort_arrives() {
    scene::at_once(&WAYS, |by| {
        aborts(Conversation::new(by)?, by == Forwarder::Weir("xdp"), by)
    });
}

/// Uses TC, where packets that arrive together are forwarded as one.
#[test]
fn an_abort_after_more_than_two_gibioctets_arrives() -> Result<(), Error> {
    let by = Forwarder::Weir("tc");
    let mut talk = Conversation::new(by)?;
    let mut to = talk.client.try_clone().map_err(Error::system("a stream"))?;
    let octets = (2 << 30) + (300 << 20);
    let sender = thread::spawn(move || {
        let chunk = vec![0; 1 << 20];
        (0..octets >> 20).try_for_each(|_| to.write_all(&chunk))
    });
    let mut buffer = vec![0; 1 << 20];
    let mut got = 0;
    while got < octets {
        got +=
            lab::uninterrupted(|| talk.server.read(&mut buffer)).map_err(Error::system("read"))?;
    }
    sender
        .join()
        .expect("sends")
        .map_err(Error::system("write"))?;
    // The next tick after the counters are read proves the flow again.
    thread::sleep(Duration::from_millis(1500));
    let wild = talk.elsewhere()?;
    talk.forge("client", true, flag::FIN | flag::ACK, wild)?;
    talk.goes_on("after a stream, and a stranger")?;
    let entry = talk.entry()?.expect("is tracked");
    assert_eq!(entry.state, ESTABLISHED);
    aborts(talk, true, by)
}

/// The other end has not acknowledged for long, because its packets were lost: an abort then is
/// genuine.
#[test]
fn an_abort_far_beyond_what_was_acknowledged_is_no_strangers() {
    scene::at_once(&WEIR, |by| {
        let lab = scene::lab(by, &Options::default())?;
        // Keeps as much data in flight as the window allows, at any speed of the path.
        lab.node("client")?
            .sysctl("net.ipv4.tcp_congestion_control", "reno")?;
        let mut talk = Conversation::through(lab, by)?;
        let server = talk.lab.node("server")?;
        let stream = |end: &TcpStream| end.try_clone().map_err(Error::system("a stream"));
        let (mut to, mut from) = (stream(&talk.client)?, stream(&talk.server)?);
        to.set_write_timeout(Some(Duration::from_secs(1)))
            .map_err(Error::system("a limit"))?;
        let sender = thread::spawn(move || {
            let chunk = vec![0; 1 << 20];
            while to.write_all(&chunk).is_ok() {}
        });
        let got = Arc::new(AtomicUsize::new(0));
        let count = got.clone();
        let receiver = thread::spawn(move || {
            let mut buffer = vec![0; 1 << 20];
            while let Ok(read @ 1..) = lab::uninterrupted(|| from.read(&mut buffer)) {
                count.fetch_add(read, Ordering::Relaxed);
            }
        });
        // Waits until much data is in flight.
        wait_until("a stream", LIMIT, || {
            Ok(got.load(Ordering::Relaxed) > 64 << 20)
        })?;
        let lost = || -> Result<Option<u64>, Error> {
            let told = server.run("nft list table ip lost")?;
            let octets = told.split("bytes ").nth(1);
            Ok(octets.and_then(|t| t.split(' ').next()?.parse().ok()))
        };
        // Little data may be in flight, as a busy machine pauses.
        wait_until("much to be lost at once", LIMIT, || {
            server.nft(&format!(
                "table ip lost {{ chain in {{ type filter hook prerouting priority -400; tcp \
                    dport {PORT} meta length > 1000 counter drop; }}; }}"
            ))?;
            thread::sleep(Duration::from_millis(100));
            let much = lost()? > Some(300_000);
            if !much {
                server.run("nft delete table ip lost")?;
                thread::sleep(Duration::from_millis(500));
            }
            Ok(much)
        })?;
        // The server sends data meanwhile, and the kernel sees some of it with each proof.
        for _ in 0..30 {
            talk.server
                .write_all(&[2; 64])
                .map_err(Error::system("talk"))?;
            thread::sleep(Duration::from_millis(100));
        }
        socket2::SockRef::from(&talk.client)
            .set_linger(Some(Duration::ZERO))
            .map_err(Error::system("linger"))?;
        sender.join().expect("sends");
        drop(talk.client);
        thread::sleep(Duration::from_secs(1));
        // The receiver ends, after a reset or without.
        let _ = talk.server.shutdown(Shutdown::Both);
        receiver.join().expect("receives");
        let weir = talk.weir.as_ref().expect("weir runs");
        let status = weir.status()?;
        assert_eq!(
            status.packets.passed.get("window"),
            None,
            "{by:?}: {:?}",
            status.packets
        );
        Ok(())
    });
}

/// An end aborts with a RST.
fn aborts(talk: Conversation, from_client: bool, by: Forwarder) -> Result<(), Error> {
    let Conversation {
        weir: _weir,
        client,
        server,
        lab,
    } = talk;
    let (one, mut other) = match from_client {
        true => (client, server),
        false => (server, client),
    };
    socket2::SockRef::from(&one)
        .set_linger(Some(Duration::ZERO))
        .map_err(Error::system("linger"))?;
    drop(one);
    let heard = other.read(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(heard, Err(ErrorKind::ConnectionReset), "{by:?}");
    let entry = || entry_to(lab.node("router")?, PORT);
    wait_until("the entry ends soon", LIMIT, || {
        Ok(entry()?.is_none_or(|e| e.state == CLOSE || e.timeout <= 10))
    })
    .map_err(|error| Error::Unexpected(format!("{error}: {:?}", entry())))
}
