//! A carried connection behaves like a direct one: which end closes, how, and which end speaks
//! first.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, SERVER};
use lab::{Error, Namespace};
use nix::sys::signal::Signal;
use socket2::SockRef;
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::{SECOND, at, ms};

/// Opens a connection and returns the client's end and the server's end.
fn ends(pair: &Pair, to: SocketAddr) -> Result<(TcpStream, TcpStream), Error> {
    let (client, server) = (pair.uplinks.client(), pair.uplinks.server());
    let listener = server
        .enter(|| TcpListener::bind(to))?
        .map_err(Error::system("listen"))?;
    let near = connect(client, to)?;
    let (far, _) = listener.accept().map_err(Error::system("accept"))?;
    for end in [&near, &far] {
        end.set_read_timeout(Some(LIMIT))
            .map_err(Error::system("set a time-out"))?;
    }
    Ok((near, far))
}

fn connect(client: &Namespace, to: SocketAddr) -> Result<TcpStream, Error> {
    client
        .enter(|| TcpStream::connect_timeout(&to, LIMIT))?
        .map_err(Error::system(format!("connect to {to}")))
}

fn read(mut stream: &TcpStream, octets: usize) -> Vec<u8> {
    let mut buffer = vec![0; octets];
    stream.read_exact(&mut buffer).expect("they come");
    buffer
}

/// Reads first: bytes (1), the end (0) or an error.
fn first(stream: &mut TcpStream) -> std::io::Result<usize> {
    lab::uninterrupted(|| stream.read(&mut [0; 1]))
}

/// Each case must hold with and without encrypted streams.
#[test]
fn a_connection_ends_as_its_ends_end_it() -> Result<(), Error> {
    for encrypt in ["all", "none"] {
        eprintln!("encrypt = {encrypt}");
        let more = format!("encrypt = \"{encrypt}\"\n");
        let pair = Pair::with(&Options::mbit(&[100, 100]), &more)?;
        many_at_once(&pair)?;
        either_end_speaks_and_ends_first(&pair)?;
        resets_are_resets(&pair)?;
        refused_is_refused(&pair)?;
    }
    Ok(())
}

fn either_end_speaks_and_ends_first(pair: &Pair) -> Result<(), Error> {
    let (mut near, mut far) = ends(pair, SocketAddr::new(SERVER, 5001))?;
    // The server sends a banner to a waiting client.
    far.write_all(b"220 ready").expect("written");
    assert_eq!(read(&near, 9), b"220 ready");
    // The client closes its side, and the server keeps sending.
    near.write_all(b"last words").expect("written");
    near.shutdown(Shutdown::Write).expect("shut down");
    let mut all = Vec::new();
    far.read_to_end(&mut all).expect("the end comes");
    assert_eq!(all, b"last words");
    far.write_all(&[7; 100_000]).expect("written");
    assert_eq!(read(&near, 100_000), [7; 100_000]);
    drop(far);
    assert_eq!(first(&mut near).expect("the end comes"), 0);

    // The server closes first.
    let (mut near, far) = ends(pair, SocketAddr::new(SERVER, 5002))?;
    far.shutdown(Shutdown::Write).expect("shut down");
    assert_eq!(first(&mut near).expect("the end comes"), 0);
    near.write_all(&[8; 100_000]).expect("written");
    assert_eq!(read(&far, 100_000), [8; 100_000]);
    Ok(())
}

fn resets_are_resets(pair: &Pair) -> Result<(), Error> {
    for (port, client_breaks) in [(5003, true), (5004, false)] {
        let (mut near, mut far) = ends(pair, SocketAddr::new(SERVER, port))?;
        near.write_all(b"x").expect("written");
        assert_eq!(read(&far, 1), b"x");
        far.write_all(b"y").expect("written");
        assert_eq!(read(&near, 1), b"y");
        let (breaks, mut sees) = if client_breaks {
            (near, far)
        } else {
            (far, near)
        };
        let linger = SockRef::from(&breaks).set_linger(Some(ms(0)));
        linger.expect("lingers");
        drop(breaks);
        let seen = first(&mut sees).expect_err("no orderly end");
        assert_eq!(
            seen.kind(),
            ErrorKind::ConnectionReset,
            "client breaks: {client_breaks}"
        );
    }
    Ok(())
}

fn refused_is_refused(pair: &Pair) -> Result<(), Error> {
    // weir accepts for the server and aborts as soon as the server refuses: on a busy machine,
    // before the client reads.
    let seen = match connect(pair.uplinks.client(), SocketAddr::new(SERVER, 5005)) {
        Ok(mut near) => {
            near.set_read_timeout(Some(10 * SECOND)).expect("set");
            first(&mut near).expect_err("nobody is there")
        }
        Err(Error::System { source, .. }) => source,
        Err(error) => return Err(error),
    };
    assert_eq!(seen.kind(), ErrorKind::ConnectionReset);
    Ok(())
}

fn many_at_once(pair: &Pair) -> Result<(), Error> {
    let _echo = Echo::serve(pair.uplinks.server(), at(SERVER))?;
    std::thread::scope(|scope| {
        let ask = |number: usize| {
            let payload = vec![number as u8; 20_000];
            let answer = ask_tcp(pair.uplinks.client(), at(SERVER), &payload);
            assert_eq!(answer.expect("an answer"), payload, "{number}");
        };
        for group in 0..8 {
            scope.spawn(move || (0..25).for_each(|number| ask(group * 25 + number)));
        }
    });
    let told = pair.paths()?.connections;
    assert_eq!((told.all, told.direct, told.refused), (200, 0, 0));
    pair.wait_for("all to end", |told| told.connections.open == 0)?;
    let octets = pair.paths()?.connections;
    assert!(octets.received >= 200 * 20_000, "{octets:?}");
    Ok(())
}

/// Direct connections stay direct. When weir is killed, connections follow the routes.
#[test]
fn weir_comes_and_goes() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[100, 100]))?;
    let (uplinks, weir) = (&pair.uplinks, &pair.weir);
    let _echo = Echo::serve(uplinks.server(), at(SERVER))?;
    let rules = uplinks.router().run("ip rule list")?;
    assert!(rules.contains("proto 119"), "{rules}");
    // Linux before 6.12 lacks this setting.
    let hole = |router: &Namespace| {
        let text = router.run("cat /proc/sys/net/mptcp/blackhole_timeout");
        text.ok().map(|text| text.trim().to_owned())
    };
    let had = hole(uplinks.router());
    assert!(matches!(had.as_deref(), None | Some("0")), "{had:?}");
    weir.end(Signal::SIGKILL)?;
    assert_eq!(ask_tcp(uplinks.client(), at(SERVER), b"killed")?, b"killed");

    // A connection begins while weir is stopped. The connection continues when weir returns, finds
    // its own rules and adds more.
    let mut direct = connect(uplinks.client(), at(SERVER))?;
    direct.write_all(b"one").expect("written");
    assert_eq!(read(&direct, 3), b"one");
    let mut pair = pair;
    pair.weir
        .restart_with(pair.uplinks.router(), &["--only", "multipath", "-v"])?;
    pair.wait_for("the partner", |told| told.redirects)?;
    direct.write_all(b"two").expect("written");
    assert_eq!(read(&direct, 3), b"two");
    assert_eq!(
        ask_tcp(pair.uplinks.client(), at(SERVER), b"back")?,
        b"back"
    );
    assert_eq!(
        pair.paths()?.connections.all,
        1,
        "the direct one is none of weir's"
    );

    // An orderly end leaves nothing.
    assert!(pair.weir.end(Signal::SIGTERM)?.success());
    let router = pair.uplinks.router();
    for family in ["-4", "-6"] {
        let rules = router.run(&format!("ip {family} rule list"))?;
        assert!(!rules.contains("119"), "{rules}");
    }
    assert_eq!(router.run("ip route list table all protocol 119")?, "");
    assert_eq!(router.run("ip mptcp endpoint show")?, "");
    assert_ne!(
        hole(router).as_deref(),
        Some("0"),
        "found and put back, though it was killed in between"
    );
    let tables = router.run("nft list tables")?;
    assert!(!tables.contains("weir_multipath"), "{tables}");
    Ok(())
}
