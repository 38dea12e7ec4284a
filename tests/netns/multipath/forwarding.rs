//! Ports of the partner lead to hosts of the LAN; other ports and hosts stay closed.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use lab::transfer::{Datagrams, Echo, ask_tcp};
use lab::uplinks::{CLIENT, Cut, Options, PARTNER, SERVER};
use lab::{Error, Namespace};
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::{SECOND, octets};

/// The requested ports and their targets differ from the ports that the partner grants.
const FORWARD: &str = "forward = [\"tcp/8022 = 192.168.77.2:22\", \"udp/51820 = \
    192.168.77.2\", \"tcp/8100-8101 = 192.168.77.2\"]\n";
const GIVEN: [&str; 8] = [
    "--forward",
    "tcp/8022",
    "--forward",
    "udp/51820",
    "--forward",
    "tcp/8200-8201",
    "--forward",
    "tcp/2222",
];

fn build() -> Result<Pair, Error> {
    let pair = Pair::paired(&Options::mbit(&[20, 20]), FORWARD, &GIVEN)?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    // The router was paired while the partner ran; the partner rereads its list now and then.
    lab::namespace::wait_until("the partner's rules", LIMIT, || {
        Ok(pair
            .partner
            .log()
            .contains("ports forwarded to routers changed"))
    })?;
    Ok(pair)
}

fn failed() -> impl FnOnce(std::io::Error) -> Error {
    Error::system("reach a host of the LAN")
}

/// Connects to a port, with time enough for an answer.
fn knock(from: &Namespace, to: SocketAddr) -> Result<Result<TcpStream, ErrorKind>, Error> {
    let stream = from.enter(|| TcpStream::connect_timeout(&to, 2 * SECOND))?;
    Ok(stream.map_err(|error| error.kind()))
}

fn partner(port: u16) -> SocketAddr {
    SocketAddr::new(PARTNER, port)
}

/// A connection from the Internet while a path fails: all bytes arrive both ways, and the host sees
/// the client's address.
#[test]
fn a_port_leads_to_a_host() -> Result<(), Error> {
    let pair = build()?;
    let uplinks = &pair.uplinks;
    let at = SocketAddr::new(CLIENT, 22);
    let listener = uplinks.client().enter(|| TcpListener::bind(at))?;
    let listener = listener.map_err(failed())?;
    let mut near = knock(uplinks.server(), partner(8022))?.expect("it is let in");
    let (mut far, source) = listener.accept().map_err(failed())?;
    assert_eq!(source.ip(), SERVER, "the host sees who comes");

    const ALL: usize = 12_000_000;
    let (up, down) = (octets(1, ALL), octets(2, ALL));
    for end in [&near, &far] {
        end.set_read_timeout(Some(LIMIT)).map_err(failed())?;
    }
    thread::scope(|scope| -> Result<(), Error> {
        let mut near_writes = near.try_clone().map_err(failed())?;
        let mut far_writes = far.try_clone().map_err(failed())?;
        scope.spawn(move || near_writes.write_all(&octets(1, ALL)).expect("written"));
        scope.spawn(move || far_writes.write_all(&octets(2, ALL)).expect("written"));
        let came = scope.spawn(move || {
            let mut all = vec![0; ALL];
            far.read_exact(&mut all).expect("it comes");
            all
        });
        let mut all = vec![0; ALL];
        near.read_exact(&mut all[..ALL / 4]).expect("it comes");
        uplinks.cut(0, Cut::Hole)?;
        near.read_exact(&mut all[ALL / 4..ALL / 2])
            .expect("it goes on");
        uplinks.heal(0)?;
        near.read_exact(&mut all[ALL / 2..]).expect("all comes");
        assert!(all == down, "what came is what was sent");
        assert!(came.join().expect("no panic") == up, "and back");
        Ok(())
    })?;
    datagrams_come_in_too(&pair)
}

fn datagrams_come_in_too(pair: &Pair) -> Result<(), Error> {
    let uplinks = &pair.uplinks;
    let at = SocketAddr::new(CLIENT, 51820);
    let socket = uplinks.client().enter(|| UdpSocket::bind(at))?;
    let socket = socket.map_err(failed())?;
    let talk = Datagrams::open(uplinks.server(), partner(51820))?;
    let own = talk.local()?;
    socket.set_read_timeout(Some(LIMIT)).map_err(failed())?;
    let far = thread::spawn(move || {
        let mut buffer = [0; 2000];
        let mut sources = Vec::new();
        while let Ok((length, source)) = lab::uninterrupted(|| socket.recv_from(&mut buffer)) {
            sources.push(source);
            if &buffer[..length] == b"end" {
                break;
            }
            let _ = socket.send_to(&buffer[..length], source);
        }
        sources
    });
    for number in 0..40 {
        // A failing path may lose datagrams, as any path may.
        let asked = octets(number + 1, 1000);
        lab::namespace::wait_until("an answer", LIMIT, || talk.ask(&asked, SECOND))?;
        match number {
            10 => uplinks.cut(1, Cut::Hole)?,
            30 => uplinks.heal(1)?,
            _ => {}
        }
    }
    talk.ask(b"end", crate::multipath::ms(1))?;
    let sources = far.join().expect("no panic");
    assert!(sources.len() > 40 && sources.iter().all(|source| source.ip() == SERVER));
    assert_eq!(sources[0].port(), own.port(), "its port, too");
    Ok(())
}

/// Ports without a grant or without a request stay closed; the partner can revoke granted ports.
#[test]
fn nothing_else_comes_in() -> Result<(), Error> {
    let pair = build()?;
    let uplinks = &pair.uplinks;
    let told = pair.paths()?.forwards;
    let told: Vec<_> = told
        .iter()
        .map(|forward| (&*forward.ports, &*forward.to, forward.granted))
        .collect();
    assert_eq!(
        told,
        [
            ("tcp/8022", "192.168.77.2:22", Some(true)),
            ("udp/51820", "192.168.77.2", Some(true)),
            ("tcp/8100-8101", "192.168.77.2", Some(false)),
        ]
    );
    assert!(
        pair.weir.log().contains("does not grant these ports"),
        "it is reported"
    );
    let server = uplinks.server();
    let _echoes: Vec<_> = [22, 8100, 8101, 8200]
        .map(|port| Echo::serve(uplinks.client(), SocketAddr::new(CLIENT, port)))
        .into_iter()
        .collect::<Result<_, _>>()?;
    let _own = Echo::serve(uplinks.router(), "0.0.0.0:2222".parse().expect("one"))?;
    assert_eq!(ask_tcp(server, partner(8022), b"open")?, b"open");

    // The router requested this port without a grant: it is closed.
    let refused = knock(server, partner(8100))?.expect_err("not given");
    assert_eq!(refused, ErrorKind::ConnectionRefused);
    // Granted ports without a request, and the router's own port.
    for port in [8200, 2222] {
        let silent = knock(server, partner(port))?.expect_err("not asked for");
        assert_eq!(silent, ErrorKind::TimedOut, "{port}");
    }
    // Attackers know the router's address in the tunnel, or route to the LAN; the partner itself
    // tries too.
    let router = |port| SocketAddr::new("10.93.0.2".parse().expect("one"), port);
    let lan = |port| SocketAddr::new(CLIENT, port);
    uplinks.lab().node("internet")?.ip(&format!(
        "route add 10.93.0.0/16 via {PARTNER}\nroute add 192.168.77.0/24 via {PARTNER}\n"
    ))?;
    uplinks
        .partner()
        .ip("route add 192.168.77.0/24 dev weir-partner\n")?;
    for to in [router(8022), router(8100), router(2222), lan(22)] {
        knock(server, to)?.expect_err("by way of the partner");
    }
    for to in [router(8100).port(), 1]
        .map(lan)
        .into_iter()
        .chain([router(2222)])
    {
        knock(uplinks.partner(), to)?.expect_err("from the partner");
    }

    pair.partner.tell(&["forward", "home", "tcp/8101"])?;
    lab::namespace::wait_until("the other port", LIMIT, || {
        Ok(knock(server, partner(8101))?.is_ok())
    })?;
    assert_eq!(ask_tcp(server, partner(8101), b"then")?, b"then");
    let refused = knock(server, partner(8022))?.expect_err("taken away");
    assert_eq!(refused, ErrorKind::ConnectionRefused);
    Ok(())
}
