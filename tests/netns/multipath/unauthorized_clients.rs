//! Clients that are not one of a partner's routers, and a router that requests too much.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Instant;

use lab::Error;
use lab::counters::processor_time;
use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER};
use multipath_core::{Key, Session, Status, VERSION};
use socket2::{Domain, Socket, Type};
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::raw_frames::{Door, begin, frame_of, open_to};
use crate::multipath::{SECOND, at, ms};

#[test]
fn strangers_get_nothing() -> Result<(), Error> {
    let door = Door::build(&[])?;
    for garbage in [
        &[][..],
        &[VERSION],
        &[VERSION, 3, 0, 0],
        &[VERSION, 1, 0, 4, 0, 0, 0, 0],
        &[VERSION, 4, 0, 1, 0],
        &[VERSION, 1, 0xff, 0xff],
    ] {
        let mut stream = door.knock()?;
        stream.write_all(garbage).expect("written");
        stream
            .shutdown(std::net::Shutdown::Write)
            .expect("shut down");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{garbage:?}: {answer:?}");
    }
    // Another version gets the list of versions: the only answer to unauthenticated clients, as
    // they may run another release.
    for other in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[9, 1, 0, 2, 1, 2]] {
        assert_eq!(door.answer(other)?, multipath_core::frame::other_version());
    }
    // A key that was never issued, with the id of an issued key.
    let key = door.key()?;
    let wrong = Key::new(key.id(), [7; 32], key.partner());
    let (_, frame) = begin(&wrong);
    assert!(door.answer(&frame)?.is_empty());
    let unknown = Key::new(multipath_core::KeyId([9; 8]), *key.secret(), key.partner());
    let (_, frame) = begin(&unknown);
    assert!(door.answer(&frame)?.is_empty());
    // The right key still works.
    let session = door.session(&key)?;
    what_was_heard_cannot_be_said_again(&door, &session)?;
    a_frame_must_be_whole_in_time(&door)
}

fn what_was_heard_cannot_be_said_again(door: &Door, session: &Session) -> Result<(), Error> {
    let _echo = Echo::serve(door.uplinks.server(), at(SERVER))?;
    let (opened, frame) = session.open(&open_to(at(SERVER)));
    let mut stream = door.knock()?;
    stream.write_all(&frame).expect("written");
    let (_, body) = frame_of(&mut stream);
    assert_eq!(opened.status(&body).expect("sealed"), Status::Connected);
    stream.write_all(b"hello").expect("written");
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).expect("an echo");
    assert_eq!(&answer, b"hello");
    assert!(door.answer(&frame)?.is_empty(), "the same again");
    let (_, mut changed) = session.open(&open_to(at(SERVER)));
    *changed.last_mut().expect("bytes") ^= 1;
    assert!(door.answer(&changed)?.is_empty(), "one bit is another");
    Ok(())
}

#[test]
fn a_partner_is_no_way_into_its_own_networks() -> Result<(), Error> {
    let door = Door::build(&["--allow", "10.0.0.0/8", "--smtp"])?;
    let session = door.session(&door.key()?)?;
    // The operator allows mail here, but the port is closed.
    let mail = SocketAddr::new(SERVER, 25);
    assert_eq!(door.open(&session, mail)?, Status::Refused);
    let _local = Echo::serve(
        door.uplinks.partner(),
        SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 5001),
    )?;
    for (address, status) in [
        ("127.0.0.1", Status::Forbidden),
        ("::1", Status::Forbidden),
        ("::ffff:127.0.0.1", Status::Forbidden),
        ("0.0.0.0", Status::Forbidden),
        ("169.254.169.254", Status::Forbidden),
        ("192.168.1.1", Status::Forbidden),
        ("224.0.0.1", Status::Forbidden),
        ("203.0.113.10", Status::Forbidden),
        // The partner tried this closed port.
        ("198.51.100.20", Status::Refused),
    ] {
        let address: IpAddr = address.parse().expect("an address");
        let found = door.open(&session, SocketAddr::new(address, 5001))?;
        assert_eq!(found, status, "{address}");
    }
    // The operator allows 10/8, which holds the providers' networks.
    let modem = SocketAddr::new(door.uplinks.gateway(0), 5001);
    let _modem = Echo::serve(door.uplinks.provider(0), modem)?;
    assert_eq!(door.open(&session, modem)?, Status::Connected);
    // The partner's own addresses in 10/8 stay forbidden, old and new ones.
    let partner = door.uplinks.partner();
    for own in ["10.200.0.1", "198.51.100.99"] {
        partner.ip(&format!("address add {own}/32 dev eth0"))?;
        let own = SocketAddr::new(own.parse().expect("an address"), 5001);
        let _own = Echo::serve(partner, own)?;
        wait_until("its own address to be known", LIMIT, || {
            Ok(door.open(&session, own)? == Status::Forbidden)
        })?;
    }
    let tunnel = SocketAddr::new("10.93.0.1".parse().expect("an address"), 5001);
    assert_eq!(door.open(&session, tunnel)?, Status::Forbidden);
    Ok(())
}

/// Mail servers are closed to open requests and to the tunnel, unless the operator allows them.
#[test]
fn mail_servers_are_reached_where_the_operator_says_so() -> Result<(), Error> {
    let mail = SocketAddr::new(SERVER, 25);
    let pair = Pair::build(&Options::mbit(&[20]))?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    let (client, router) = (pair.uplinks.client(), pair.uplinks.router());
    let server = pair.uplinks.server();
    let submission = SocketAddr::new(SERVER, 587);
    let (_mail, _submission) = (Echo::serve(server, mail)?, Echo::serve(server, submission)?);
    assert!(ask_tcp(client, mail, b"HELO").is_err());
    assert_eq!(ask_tcp(client, submission, b"EHLO")?, b"EHLO");
    // A router that ignores the rules.
    router.ip(&format!("route add {SERVER}/32 dev weir-tunnel\n"))?;
    assert!(ask_tcp(router, mail, b"HELO").is_err());
    assert_eq!(ask_tcp(router, submission, b"EHLO")?, b"EHLO");
    Ok(())
}

/// Returns true if no byte and no end has arrived yet.
fn is_open(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let found = stream.peek(&mut [0; 1]);
    stream.set_nonblocking(false).expect("a socket");
    matches!(found, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

/// A client that trickles bytes gets no more time than a silent client; both are disconnected.
fn a_frame_must_be_whole_in_time(door: &Door) -> Result<(), Error> {
    let (mut stream, mut silent) = (door.knock()?, door.knock()?);
    let begun = Instant::now();
    for octet in [VERSION, 1, 0, 56].into_iter().chain([0; 30]) {
        if stream.write_all(&[octet]).is_err() {
            break;
        }
        std::thread::sleep(ms(500));
    }
    let took = begun.elapsed();
    assert!((9 * SECOND..16 * SECOND).contains(&took), "{took:?}");
    assert_eq!(silent.read_to_end(&mut Vec::new()).unwrap_or(0), 0);
    let took = begun.elapsed();
    assert!(took < 20 * SECOND, "{took:?} of silence");
    Ok(())
}

/// Twelve addresses fill the partner: without a bound per address, other clients would stay out.
#[test]
fn many_addresses_keep_nobody_out() -> Result<(), Error> {
    let door = Door::build(&[])?;
    let key = door.key()?;
    let server = door.uplinks.server();
    // The test's own process holds these sockets.
    server.run(&format!(
        "prlimit --pid {} --nofile=4096:",
        std::process::id()
    ))?;
    let to = SocketAddr::new(PARTNER, multipath_core::PORT);
    let mut silent = Vec::new();
    for host in 101..113 {
        let from = Ipv4Addr::new(198, 51, 100, host);
        server.ip(&format!("address add {from}/32 dev eth0"))?;
        let streams = server.enter(|| {
            let each = || {
                let stream = Socket::new(Domain::IPV4, Type::STREAM, None)?;
                stream.bind(&SocketAddr::new(from.into(), 0).into())?;
                match stream.connect_timeout(&to.into(), LIMIT) {
                    Ok(()) => Ok(Some(TcpStream::from(stream))),
                    // The partner evicted this connection for a later one of the same address.
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(None),
                    Err(error) => Err(error),
                }
            };
            (0..110).map(|_| each()).collect::<Result<Vec<_>, _>>()
        })?;
        silent.extend(
            streams
                .map_err(Error::system("connect"))?
                .into_iter()
                .flatten(),
        );
    }
    let warned = || {
        let log = door.partner.log();
        log.matches("too many unauthenticated connections, the latest")
            .count()
    };
    // The partner's threads accept with some delay.
    wait_until("the partner to be full", LIMIT, || Ok(warned() > 0))?;
    let begun = Instant::now();
    door.session(&key)?;
    assert!(begun.elapsed() < 5 * SECOND, "{:?}", begun.elapsed());
    let staying = silent.iter().filter(|stream| is_open(stream)).count();
    assert!(staying > 512, "{staying} stay: they were waited for");
    assert_eq!(warned(), 1, "once for all of them");
    Ok(())
}

/// A partner has room for at least 64 connections; one router gets half of it, and gets an error
/// for more.
#[test]
fn one_router_does_not_take_all_the_room() -> Result<(), Error> {
    let door = Door::narrow(600)?;
    let _echo = Echo::serve(door.uplinks.server(), at(SERVER))?;
    let greedy = door.session(&door.key()?)?;
    let mut held = Vec::new();
    for _ in 0..32 {
        let (status, stream) = door.hold(&greedy, at(SERVER))?;
        assert_eq!(status, Status::Connected);
        held.push(stream);
    }
    assert_eq!(door.open(&greedy, at(SERVER))?, Status::Busy);
    let key = door.key()?;
    let modest = door.session(&key)?;
    assert_eq!(door.open(&modest, at(SERVER))?, Status::Connected);
    // The operator may set a lower limit.
    let (_, one) = door.hold(&modest, at(SERVER))?;
    let id = key.id().to_string();
    for (most, status) in [("1", Status::Busy), ("none", Status::Connected)] {
        door.partner.tell(&["limit", &id, most])?;
        wait_until("the limit", LIMIT, || {
            Ok(door.open(&modest, at(SERVER))? == status)
        })?;
    }
    drop(one);
    drop(held);
    wait_until("places to be free", LIMIT, || {
        Ok(door.open(&greedy, at(SERVER))? == Status::Connected)
    })
}

/// Without descriptors the partner waits for free ones, and does not spin.
#[test]
fn a_partner_without_descriptors_waits_for_some() -> Result<(), Error> {
    let door = Door::build(&[])?;
    let key = door.key()?;
    door.session(&key)?;
    let process = door.partner.id();
    let limit = |most: &str| {
        let command = format!("prlimit --pid {process} --nofile={most}:");
        door.uplinks.partner().run(&command)
    };
    let most = door.uplinks.partner().run(&format!(
        "prlimit --pid {process} --nofile --noheadings --output SOFT"
    ))?;
    limit("3")?;
    let waiting: Vec<_> = (0..10).filter_map(|_| door.knock().ok()).collect();
    assert_eq!(waiting.len(), 10, "the kernel takes them");
    let before = processor_time(process)?;
    std::thread::sleep(2 * SECOND);
    // Twenty tries a second by each thread cost less than 1/100 s.
    let spent = processor_time(process)? - before;
    assert!(spent < ms(400), "{spent:?}");
    limit(most.trim())?;
    door.session(&key)?;
    drop(waiting);
    Ok(())
}
