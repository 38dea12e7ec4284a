//! Conversations by the tunnel when the partner is lost: those that live on begin anew, and nothing leaves under the tunnel's addresses.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::Error;
use lab::uplinks::{Options, PARTNER, SERVER};
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::{SECOND, ms};

/// Counts what comes to a provider from the tunnel's network.
const WATCH: &str = "table inet watch {\n\tchain c {\n\t\ttype filter hook prerouting priority raw; policy accept;\n\t\tip saddr 10.93.0.0/16 counter\n\t}\n}\n";

/// A client that asks on, from one port, and a server that says whom it saw.
struct Talk {
    near: UdpSocket,
    far: UdpSocket,
}

impl Talk {
    fn open(pair: &Pair, port: u16) -> Result<Self, Error> {
        let failed = || Error::system("talk to the server");
        let to = SocketAddr::new(SERVER, port);
        let far = pair.uplinks.server().enter(|| UdpSocket::bind(to))?;
        let open = || -> std::io::Result<UdpSocket> {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.connect(to)?;
            socket.set_read_timeout(Some(ms(100)))?;
            Ok(socket)
        };
        let near = pair.uplinks.client().enter(open)?.map_err(failed())?;
        let far = far.map_err(failed())?;
        far.set_read_timeout(Some(ms(100))).map_err(failed())?;
        Ok(Self { near, far })
    }

    /// Whom the server sees, if that gets there, and the answer back.
    fn ask(&self) -> Option<IpAddr> {
        let mut buffer = [0; 100];
        self.near.send(b"who am I?").ok()?;
        let (length, source) = self.far.recv_from(&mut buffer).ok()?;
        self.far.send_to(&buffer[..length], source).ok()?;
        let length = self.near.recv(&mut buffer).ok()?;
        assert_eq!(&buffer[..length], b"who am I?");
        Some(source.ip())
    }

    /// The same, again and again until it is so.
    fn until(&self, what: &str, so: impl Fn(IpAddr) -> bool) -> Duration {
        let begun = Instant::now();
        while !self.ask().is_some_and(&so) {
            assert!(begun.elapsed() < LIMIT, "{what}");
            sleep(ms(20));
        }
        begun.elapsed()
    }
}

#[test]
fn a_conversation_that_lives_on_is_not_stuck() -> Result<(), Error> {
    let mut pair = Pair::build(&Options::mbit(&[100, 100]))?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    for path in 0..2 {
        pair.uplinks.provider(path).nft(WATCH)?;
    }
    let direct = pair.uplinks.address(0);
    // One that is asked all the time, and one that pauses while the partner is lost.
    let talks = [Talk::open(&pair, 5001)?, Talk::open(&pair, 5002)?];
    for talk in &talks {
        talk.until("by the tunnel", |source| source == PARTNER);
    }
    pair.partner.stop();
    let took = talks[0].until("directly", |source| source == direct);
    assert!(took < 15 * SECOND, "{took:?}");
    let entries = pair
        .uplinks
        .router()
        .run("conntrack -L -p udp --mark 0x20000000/0x20000000");
    if let Ok(entries) = entries {
        assert!(!entries.contains("dport=500"), "{entries}");
    }
    talks[1].until("directly", |source| source == direct);

    pair.partner.restart(pair.uplinks.partner())?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    for talk in &talks {
        let source = talk.ask();
        assert_eq!(source, Some(direct), "it stays where it began");
    }
    let fresh = Talk::open(&pair, 5003)?;
    fresh.until("by the tunnel again", |source| source == PARTNER);
    for path in 0..2 {
        let rules = pair
            .uplinks
            .provider(path)
            .run("nft list table inet watch")?;
        assert!(rules.contains("counter packets 0 "), "{path}: {rules}");
    }
    Ok(())
}

/// What is no TCP does not leave either, without a partner, where nothing is to; but what goes directly does.
#[test]
fn with_fallback_stop_datagrams_wait_for_the_partner() -> Result<(), Error> {
    let more = "fallback = \"stop\"\ndirect_ports = [\"udp/5353-5354\"]\n";
    let mut pair = Pair::with(&Options::mbit(&[20, 20]), more)?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    let (talk, direct) = (Talk::open(&pair, 5000)?, Talk::open(&pair, 5353)?);
    talk.until("by the partner", |source| source == PARTNER);
    direct.until("directly", |source| source != PARTNER);
    pair.partner.stop();
    pair.wait_for("the tunnel to be lost", |told| !told.tunnel)?;
    let begun = Instant::now();
    // A conversation that was there, and new ones.
    while begun.elapsed() < 2 * SECOND {
        assert_eq!(talk.ask(), None);
        assert_eq!(Talk::open(&pair, 5001)?.ask(), None);
    }
    direct.until("directly still", |source| source != PARTNER);
    Talk::open(&pair, 5354)?.until("directly anew", |source| source != PARTNER);
    pair.partner.restart(pair.uplinks.partner())?;
    talk.until("by the partner again", |source| source == PARTNER);
    Ok(())
}
