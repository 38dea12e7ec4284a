//! Encryption between router and partner: the bytes on the wire, and the effect of an attacker's
//! changes.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};

use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, SERVER};
use lab::view::View;
use lab::wire::Tap;
use lab::{Error, Namespace};
use multipath_core::frame::Kind;
use multipath_core::{Open, Sealer, Status};
use testing::Directory;
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::raw_frames::{Door, frame_of, open_to};
use crate::multipath::{SECOND, at, ms};

/// Both directions of a wire.
struct Wire(Tap, Tap);

impl Wire {
    fn open(one: (&Namespace, &str), other: (&Namespace, &str)) -> Result<Self, Error> {
        Ok(Self(Tap::open(one.0, one.1)?, Tap::open(other.0, other.1)?))
    }

    /// Returns the payload of all segments so far, up and down.
    fn said(&mut self) -> Result<[Vec<u8>; 2], Error> {
        let of = |tap: &mut Tap| -> Result<Vec<u8>, Error> {
            let frames = tap.drain(ms(300))?;
            Ok(frames
                .iter()
                .flat_map(|frame| payload(frame))
                .copied()
                .collect())
        };
        Ok([of(&mut self.0)?, of(&mut self.1)?])
    }
}

/// Returns the payload of a TCP segment.
fn payload(frame: &[u8]) -> &[u8] {
    let found = View::of(frame)
        .filter(|view| view.protocol == 6)
        .and_then(|view| {
            let header = usize::from(frame.get(view.body + 12)? >> 4) * 4;
            frame.get(view.body + header..view.end)
        });
    found.unwrap_or_default()
}

fn contains(all: &[u8], part: &[u8]) -> bool {
    assert!(!part.is_empty());
    all.windows(part.len()).any(|window| window == part)
}

struct Wires {
    pair: Pair,
    lan: Wire,
    wan: Wire,
}

impl Wires {
    /// Uses one path, so that its wire carries all the data.
    fn build(encrypt: &str) -> Result<Self, Error> {
        let more = format!("encrypt = \"{encrypt}\"\n");
        let pair = Pair::with(&Options::mbit(&[100]), &more)?;
        let (client, router) = (pair.uplinks.client(), pair.uplinks.router());
        let lan = Wire::open((router, "lan0"), (client, "eth0"))?;
        let wan = Wire::open((pair.uplinks.provider(0), "home"), (router, "wan0"))?;
        Ok(Self { pair, lan, wan })
    }
}

const SECRET: &[u8] = b"attack at dawn, and bring cake; ";

#[test]
fn with_all_no_word_of_a_client_is_on_the_wire() -> Result<(), Error> {
    for (encrypt, seen) in [("all", false), ("auto", false), ("none", true)] {
        let mut wires = Wires::build(encrypt)?;
        let _echo = Echo::serve(wires.pair.uplinks.server(), at(SERVER))?;
        let payload = SECRET.repeat(100);
        let answer = ask_tcp(wires.pair.uplinks.client(), at(SERVER), &payload)?;
        assert_eq!(answer, payload);
        for said in wires.lan.said()? {
            assert!(
                contains(&said, SECRET),
                "{encrypt}: it is in the clear here"
            );
        }
        for said in wires.wan.said()? {
            assert!(said.len() > payload.len(), "{encrypt}: all went here");
            assert_eq!(contains(&said, SECRET), seen, "{encrypt}");
            assert_eq!(contains(&said, &SECRET[..8]), seen, "{encrypt}");
        }
    }
    Ok(())
}

/// Runs OpenSSL's server, which reverses each line, and its client. They end with their namespaces.
fn backwards(pair: &Pair, line: &str) -> Result<String, Error> {
    let (client, server) = (pair.uplinks.client(), pair.uplinks.server());
    let folder = Directory::new();
    let (key, certificate) = (folder.join("key"), folder.join("certificate"));
    server.run(&format!(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=example \
            -days 2 -keyout {} -out {}",
        key.display(),
        certificate.display()
    ))?;
    let mut serve = Command::new("openssl");
    serve.args(["s_server", "-quiet", "-rev", "-accept", "5000", "-key"]);
    serve.arg(&key).arg("-cert").arg(&certificate);
    serve
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let serving = server.start(&mut serve)?;
    lab::namespace::wait_until("openssl to listen", LIMIT, || {
        Ok(server.run("ss -Hltn sport = :5000")?.contains("LISTEN"))
    })?;
    // The priority is for busy machines: the router waits 50 ms for the client's first bytes.
    let mut ask = Command::new("nice");
    ask.args(["-n", "-15", "openssl", "s_client", "-quiet"]);
    ask.args(["-servername", NAME, "-connect"]);
    ask.arg(at(SERVER).to_string());
    ask.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let asking = client.start(&mut ask)?;
    let answer = asking.with(|child| -> std::io::Result<String> {
        let mut input = child.stdin.take().expect("piped");
        writeln!(input, "{line}")?;
        let mut answer = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    });
    drop((asking, serving));
    answer.map_err(Error::system("ask by TLS"))
}

const NAME: &str = "cake.example.net";
const TRIES: u32 = 10;

/// Retries on a busy machine: if a client's first bytes come after the router's wait, its stream is
/// encrypted; retransmitted bytes appear on the wire twice.
#[test]
fn tls_is_encrypted_once_with_auto() -> Result<(), Error> {
    let mut tries = 0;
    loop {
        let mut wires = Wires::build("auto")?;
        assert_eq!(backwards(&wires.pair, "stressed")?, "desserts");
        let (lan, wan) = (wires.lan.said()?, wires.wan.said()?);
        tries += 1;
        if lan.iter().zip(&wan).all(|(lan, wan)| contains(wan, lan)) || tries == TRIES {
            for (lan, wan) in lan.iter().zip(&wan) {
                assert!(lan.len() > 200, "a handshake");
                assert!(contains(wan, lan), "all that was said");
            }
            assert!(contains(&lan[0], NAME.as_bytes()), "TLS shows names");
            return Ok(());
        }
    }
}

/// A reader that does not read blocks its sender and loses nothing.
#[test]
fn who_does_not_read_is_waited_for() -> Result<(), Error> {
    let pair = Pair::with(&Options::mbit(&[200]), "encrypt = \"all\"\n")?;
    let listener = pair
        .uplinks
        .server()
        .enter(|| TcpListener::bind(at(SERVER)))?
        .map_err(Error::system("listen"))?;
    let mut near = pair
        .uplinks
        .client()
        .enter(|| TcpStream::connect_timeout(&at(SERVER), LIMIT))?
        .map_err(Error::system("connect"))?;
    let (mut far, _) = listener.accept().map_err(Error::system("accept"))?;
    far.set_write_timeout(Some(SECOND)).expect("set");
    let mut sent = 0u64;
    let held_up = loop {
        match lab::uninterrupted(|| far.write(&[7; 65_536])) {
            Ok(octets) => sent += octets as u64,
            Err(error) => break error,
        }
        assert!(sent < 200_000_000, "nobody reads, and all is taken");
    };
    assert_eq!(held_up.kind(), ErrorKind::WouldBlock);
    drop(far);
    near.set_read_timeout(Some(LIMIT)).expect("set");
    let mut all = Vec::new();
    near.read_to_end(&mut all).expect("the end comes");
    assert!(all.len() as u64 == sent && all.iter().all(|&octet| octet == 7));
    Ok(())
}

/// Ways in which an attacker on the path may end or change a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    InOrder,
    CutOff,
    WithinRecord,
    Changed,
}

#[test]
fn what_is_cut_off_or_changed_is_no_end() -> Result<(), Error> {
    let door = Door::build(&[])?;
    let session = door.session(&door.key()?)?;
    let ends = [End::InOrder, End::CutOff, End::WithinRecord, End::Changed];
    for (port, end) in (5000..).zip(ends) {
        let to = SocketAddr::new(SERVER, port);
        let listener = door
            .uplinks
            .server()
            .enter(|| TcpListener::bind(to))?
            .map_err(Error::system("listen"))?;
        let mut router = door.knock()?;
        let open = Open {
            encrypted: true,
            ..open_to(to)
        };
        let (mut opened, mut frame) = session.open(&open);
        let (mut sealer, mut opener) = opened.stream().expect("encrypted");
        sealer.seal(b"hello", &mut frame);
        router.write_all(&frame).expect("written");
        let (mut server, _) = listener.accept().map_err(Error::system("accept"))?;
        server.set_read_timeout(Some(LIMIT)).expect("set");
        let (kind, body) = frame_of(&mut router);
        assert_eq!(kind, Kind::Status);
        assert_eq!(opened.status(&body), Ok(Status::Connected));
        let mut heard = [0; 5];
        server.read_exact(&mut heard).expect("it comes");
        assert_eq!(&heard, b"hello");
        router.write_all(&last(sealer, end)).expect("written");
        // The partner may have aborted the connection by now.
        let _ = router.shutdown(Shutdown::Write);
        let seen = lab::uninterrupted(|| server.read(&mut [0; 1]));
        if end != End::InOrder {
            let broken = seen.expect_err("no orderly end");
            assert_eq!(broken.kind(), ErrorKind::ConnectionReset, "{end:?}");
            continue;
        }
        assert_eq!(seen.expect("an end"), 0);
        // The other direction is still open.
        server.write_all(b"and you").expect("written");
        drop(server);
        let (mut sealed, mut plain) = (Vec::new(), Vec::new());
        router.read_to_end(&mut sealed).expect("it ends");
        opener.open(&sealed, &mut plain).expect("sealed");
        assert_eq!(
            (plain.as_slice(), opener.finish()),
            (&b"and you"[..], Ok(()))
        );
    }
    Ok(())
}

fn last(mut sealer: Sealer, end: End) -> Vec<u8> {
    let mut octets = Vec::new();
    match end {
        End::InOrder => sealer.end(&mut octets),
        End::CutOff => {}
        End::WithinRecord => {
            sealer.seal(b"not all of it", &mut octets);
            octets.pop();
        }
        End::Changed => {
            sealer.seal(b"other words", &mut octets);
            octets[4] ^= 1;
        }
    }
    octets
}
