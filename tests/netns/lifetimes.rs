//! Lifetimes of conntrack entries: as long as without weir, idle, with a dead peer, and under a
//! timeout policy.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use lab::gateway::SERVER;
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, Namespace, Options};
use weir_tests::conntrack::{ASSURED, Entry, entry_to};
use weir_tests::scene::{self, Forwarder, PORT, WAYS, at_once};
use weir_tests::{LIMIT, Weir};

/// Bytes of one download.
const DOWNLOAD: usize = 1_200_000;
/// Interval at which each connection shows the kernel a packet.
const REPROOF: &str = "[offload]\nreprove = \"1s\"\n";

/// Names of the sysctls.
fn tcp(established: u64, unacknowledged: u64) -> [(&'static str, u64); 2] {
    [
        ("tcp_timeout_established", established),
        ("tcp_timeout_unacknowledged", unacknowledged),
    ]
}

fn set(lab: &Lab, timeouts: &[(&str, u64)]) -> Result<(), Error> {
    let router = lab.node("router")?;
    timeouts.iter().try_for_each(|(key, seconds)| {
        router.sysctl(&format!("net.netfilter.nf_conntrack_{key}"), seconds)
    })
}

/// Builds a router whose sysctls are set before weir starts.
fn router(by: Forwarder, timeouts: &[(&str, u64)]) -> Result<(Lab, Option<Weir>), Error> {
    let lab = scene::lab(by, &Options::default())?;
    set(&lab, timeouts)?;
    let weir = scene::weir(by, &lab, REPROOF)?;
    Ok((lab, weir))
}

/// Connects to a server that answers each byte with a download.
fn connect(lab: &Lab) -> Result<TcpStream, Error> {
    connect_for(lab, DOWNLOAD)
}

/// Connects; each answer has this many bytes.
fn connect_for(lab: &Lab, octets: usize) -> Result<TcpStream, Error> {
    let at = SocketAddr::new(SERVER, PORT);
    let (client, server) = (lab.node("client")?, lab.node("server")?);
    let failed = || Error::system(format!("connect to {at}"));
    let listener = server.enter(|| TcpListener::bind(at))?.map_err(failed())?;
    server.background(move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let (mut octet, answer) = ([0], vec![7; octets]);
        while stream.read(&mut octet)? == 1 {
            stream.write_all(&answer)?;
        }
        Ok(())
    })?;
    let stream = client.enter(|| TcpStream::connect(at))?.map_err(failed())?;
    stream
        .set_read_timeout(Some(LIMIT))
        .and_then(|()| stream.set_nodelay(true))
        .map_err(failed())?;
    Ok(stream)
}

/// Downloads a few times, with pauses.
fn download(stream: &mut TcpStream) -> Result<(), Error> {
    let mut octets = vec![0; DOWNLOAD];
    for _ in 0..4 {
        stream
            .write_all(&[1])
            .and_then(|()| stream.read_exact(&mut octets))
            .map_err(Error::system("download"))?;
        thread::sleep(Duration::from_millis(1_200));
    }
    Ok(())
}

fn entry(router: &Namespace, port: u16) -> Result<Entry, Error> {
    entry_to(router, port)?
        .ok_or_else(|| Error::Unexpected(format!("the entry of port {port} is gone")))
}

fn forwarded(weir: Option<&Weir>, port: u16, least: u64) -> Result<(), Error> {
    let Some(weir) = weir else { return Ok(()) };
    let flow = weir.flow_at(port)?;
    let packets = flow.as_ref().map_or(0, |flow| flow.packets());
    assert!(packets >= least, "{packets} forwarded of {flow:?}");
    Ok(())
}

/// After downloads and a silence longer than the time-out of unacknowledged data, the entry lives.
/// Then the server stops answering: data sent to it keeps the entry only for the time-out of
/// unacknowledged data.
#[test]
fn an_idle_connection_lives_and_a_dead_peer_is_not_kept_for_days() {
    at_once(&WAYS, |by| {
        let (lab, weir) = router(by, &tcp(60, 5))?;
        let (client, server) = (lab.node("client")?, lab.node("server")?);
        let router = lab.node("router")?;
        let mut stream = connect(&lab)?;
        download(&mut stream)?;
        forwarded(weir.as_ref(), PORT, 100)?;
        let rest = Instant::now();
        thread::sleep(Duration::from_secs(8));
        let left = u64::from(entry(router, PORT)?.timeout);
        let passed = rest.elapsed().as_secs();
        // The pause after the last download adds to the time.
        assert!(
            left + passed + 3 >= 60,
            "{by:?}: {left} s are left after {passed} s"
        );
        assert!(left <= 60, "{by:?}: {left} s are left");

        download(&mut stream)?;
        server.nft(
            "table inet dead { chain in { type filter hook input priority 0; policy drop; }; }",
        )?;
        stream
            .write_all(&[1; 1_000])
            .map_err(Error::system("send"))?;
        // Retransmitted after 0.2, 0.6, 1.4, 3.0 and 6.2 s: two visits must have seen some.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            let left = entry(router, PORT)?.timeout;
            let known = begun.elapsed() > Duration::from_secs(5);
            assert!(left <= 6 || !known, "{by:?}: the peer is dead: {left} s");
            thread::sleep(Duration::from_millis(100));
        }
        client.nft(
            "table inet dead { chain out { type filter hook output priority 0; policy drop; }; }",
        )?;
        wait_until("the entry ends", Duration::from_secs(10), || {
            Ok(entry_to(router, PORT)?.is_none())
        })
    });
}

/// A short connection loses its entry while idle, for example after a redial of the WAN or a flush
/// of conntrack. A few packets create a new entry in the middle of the connection. Later the entry
/// has the remainder of a minute.
#[test]
fn a_connection_that_is_picked_up_lives_as_long_as_with_the_kernel_alone() {
    at_once(&WAYS, |by| {
        let lab = scene::lab(by, &Options::default())?;
        set(&lab, &tcp(60, 12))?;
        let _weir = scene::weir(by, &lab, "")?;
        let mut stream = connect_for(&lab, 1_000)?;
        let mut speak = |times: usize| {
            let mut octets = [0; 1_000];
            (0..times)
                .try_for_each(|_| {
                    stream.write_all(&[1])?;
                    stream.read_exact(&mut octets)
                })
                .map_err(Error::system("speak"))
        };
        speak(30)?;
        thread::sleep(Duration::from_secs(3));
        lab.node("router")?.run("conntrack -F")?;
        thread::sleep(Duration::from_secs(2));
        speak(5)?;
        let rest = Instant::now();
        thread::sleep(Duration::from_secs(8));
        let left = u64::from(entry(lab.node("router")?, PORT)?.timeout);
        let passed = rest.elapsed().as_secs();
        assert!(
            left + passed + 3 >= 60 && left <= 60,
            "{by:?}: {left} s are left after {passed} s"
        );
        Ok(())
    });
}

/// During a download a per-packet rule appears: the kernel takes over the connection, and knows
/// little of its data.
#[test]
fn a_connection_that_is_given_back_has_five_days() {
    at_once(&WAYS, |by| {
        let (lab, weir) = router(by, &[])?;
        let mut stream = connect(&lab)?;
        download(&mut stream)?;
        forwarded(weir.as_ref(), PORT, 100)?;
        let failed = || Error::system("download");
        stream.write_all(&[1; 20]).map_err(failed())?;
        let mut octets = vec![0; DOWNLOAD];
        let rule = "table inet each { chain forward { type filter hook forward priority 1; meta \
            length > 65000 drop; }; }";
        for round in 0..20 {
            if round == 10 {
                lab.node("router")?.nft(rule)?;
            }
            stream.read_exact(&mut octets).map_err(failed())?;
        }
        if let Some(weir) = &weir {
            wait_until("weir leaves it to the kernel", LIMIT, || {
                Ok(weir
                    .flow_at(PORT)?
                    .is_some_and(|flow| flow.state == answers::FlowState::Declined))
            })?;
        }
        stream.write_all(&[1]).map_err(failed())?;
        stream.read_exact(&mut octets).map_err(failed())?;
        thread::sleep(Duration::from_secs(1));
        let left = entry(lab.node("router")?, PORT)?.timeout;
        assert!(left > 300, "{by:?}: {left} s are left");
        Ok(())
    });
}

/// Conntrack timeout policies for some connections.
const POLICIES: &str = "table ip given {
  ct timeout fast {
    protocol tcp
    l3proto ip
    policy = { established: 10 }
  }
  ct timeout quick {
    protocol udp
    l3proto ip
    policy = { unreplied: 6, replied: 6 }
  }
  chain first {
    type filter hook prerouting priority -10
    tcp dport 5001 ct timeout set \"fast\"
    udp dport 7 ct timeout set \"quick\"
  }
}";

/// An entry keeps its policy: it does not end under live traffic, never gets more time than the
/// policy's, and ends in that time.
#[test]
fn a_policy_of_the_entry_is_kept() {
    at_once(&WAYS, |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        router.nft(POLICIES)?;
        let weir = scene::weir(by, &lab, "")?;
        let to = SocketAddr::new(SERVER, 7);
        let _echo = Echo::serve(lab.node("server")?, to)?;
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        assert!(datagrams.ask(b"first", LIMIT)?);
        let mut stream = connect(&lab)?;
        download(&mut stream)?;
        let first = (entry(router, PORT)?, entry(router, 7)?);
        let begun = Instant::now();
        let mut octets = vec![0; DOWNLOAD];
        // Times of the last packets, of UDP and TCP.
        let mut last = [begun; 2];
        while begun.elapsed() < Duration::from_secs(13) {
            stream
                .write_all(&[1])
                .and_then(|()| stream.read_exact(&mut octets))
                .map_err(Error::system("download"))?;
            last[1] = Instant::now();
            for _ in 0..10 {
                assert!(datagrams.ask(b"again", LIMIT)?);
                last[0] = Instant::now();
                thread::sleep(Duration::from_millis(20));
            }
            let now = (entry(router, PORT)?, entry(router, 7)?);
            assert_eq!((first.0.id, first.1.id), (now.0.id, now.1.id), "{by:?}");
            assert!(now.0.timeout <= 10 && now.1.timeout <= 6, "{by:?}: {now:?}");
        }
        forwarded(weir.as_ref(), PORT, 1_000)?;
        forwarded(weir.as_ref(), 7, 100)?;
        assert!(entry(router, 7)?.status & ASSURED != 0, "{by:?}: a stream");
        for (port, seconds, last) in [(7, 6, last[0]), (PORT, 10, last[1])] {
            wait_until("an idle entry ends", LIMIT, || {
                Ok(entry_to(router, port)?.is_none())
            })?;
            let lived = last.elapsed().as_millis();
            assert!(lived >= seconds * 1_000 - 500, "{by:?}: {port}, {lived} ms");
        }
        if let Some(weir) = &weir {
            wait_until("weir forgets it", LIMIT, || Ok(weir.flow_at(7)?.is_none()))?;
        }
        Ok(())
    });
}
