//! Whoever knocks at a partner and is none of its routers, or one that wants too much.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

use lab::transfer::Echo;
use lab::uplinks::{Options, PARTNER, SERVER};
use lab::{Error, Uplinks};
use multipath::frame::{HEADER, Kind};
use multipath::{Frame, Initiator, Key, Open, Pairing, Session, Status};
use weir_tests::LIMIT;
use weir_tests::partner::Partner;

use crate::{at, ms};

/// A partner without a router: what speaks to it here is the test, from the router's place.
struct Door {
    partner: Partner,
    uplinks: Uplinks,
}

impl Door {
    fn build(options: &[&str]) -> Result<Self, Error> {
        let uplinks = Uplinks::build(&Options::mbit(&[100]))?;
        let partner = Partner::start(uplinks.partner(), options)?;
        Ok(Self { partner, uplinks })
    }

    fn knock(&self) -> Result<TcpStream, Error> {
        let to = SocketAddr::new(PARTNER, multipath::PORT);
        let stream = self
            .uplinks
            .router()
            .enter(|| TcpStream::connect_timeout(&to, LIMIT))?
            .map_err(Error::system("connect to the partner"))?;
        stream
            .set_read_timeout(Some(LIMIT))
            .map_err(Error::system("set a time-out"))?;
        Ok(stream)
    }

    /// What is answered to these octets until the connection ends, in whatever way.
    fn answer(&self, octets: &[u8]) -> Result<Vec<u8>, Error> {
        let mut stream = self.knock()?;
        stream.write_all(octets).expect("written");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Ok(answer)
    }

    fn key(&self) -> Result<Key, Error> {
        let line = self.partner.pair(&PARTNER.to_string())?;
        Ok(line.parse::<Pairing>().expect("a line").key)
    }

    fn session(&self, key: &Key) -> Result<Session, Error> {
        let mut stream = self.knock()?;
        let (initiator, frame) = Initiator::begin(key).expect("random");
        stream.write_all(&frame).expect("written");
        let (kind, body) = frame_of(&mut stream);
        assert_eq!(kind, Kind::Welcome);
        let (session, welcome) = initiator.end(&body).expect("a welcome");
        assert!(welcome.ipv4 && !welcome.version.is_empty());
        Ok(session)
    }

    /// What becomes of a connection to there.
    fn open(&self, session: &Session, destination: SocketAddr) -> Result<Status, Error> {
        let (opened, frame) = session.open(&open_to(destination));
        let mut stream = self.knock()?;
        stream.write_all(&frame).expect("written");
        let (kind, body) = frame_of(&mut stream);
        assert_eq!(kind, Kind::Status);
        Ok(opened.status(&body).expect("of this session"))
    }
}

fn open_to(destination: SocketAddr) -> Open {
    Open {
        destination,
        client: "192.168.77.2:40000".parse().expect("an address"),
        encrypted: false,
    }
}

fn frame_of(stream: &mut TcpStream) -> (Kind, Vec<u8>) {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).expect("an answer");
    let header = Frame::header(&header).expect("a frame");
    let mut body = vec![0; header.length];
    stream.read_exact(&mut body).expect("all of it");
    (header.kind, body)
}

#[test]
fn strangers_get_nothing() -> Result<(), Error> {
    let door = Door::build(&[])?;
    for garbage in [
        &[][..],
        b"\x01",
        &[1, 3, 0, 0],
        &[1, 1, 0, 4, 0, 0, 0, 0],
        &[1, 4, 0, 1, 0],
        &[1, 1, 0xff, 0xff],
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
    // Another version is told which there are: the one answer that strangers get, as they may be friends of another age.
    for other in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[9, 1, 0, 2, 1, 2]] {
        assert_eq!(door.answer(other)?, multipath::frame::other_version());
    }
    // A key that was never given away, with the id of one that was.
    let key = door.key()?;
    let wrong = Key::new(key.id(), [7; 32]);
    let (_, frame) = Initiator::begin(&wrong).expect("random");
    assert!(door.answer(&frame)?.is_empty());
    let unknown = Key::new(multipath::KeyId([9; 8]), *key.secret());
    let (_, frame) = Initiator::begin(&unknown).expect("random");
    assert!(door.answer(&frame)?.is_empty());
    // And the right one is welcome all the same.
    door.session(&key)?;
    Ok(())
}

#[test]
fn what_was_heard_cannot_be_said_again() -> Result<(), Error> {
    let door = Door::build(&[])?;
    let _echo = Echo::serve(door.uplinks.server(), at(SERVER))?;
    let session = door.session(&door.key()?)?;
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
    *changed.last_mut().expect("octets") ^= 1;
    assert!(door.answer(&changed)?.is_empty(), "one bit is another");
    Ok(())
}

#[test]
fn a_partner_is_no_way_into_its_own_networks() -> Result<(), Error> {
    let door = Door::build(&["--allow", "10.0.0.0/8"])?;
    let session = door.session(&door.key()?)?;
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
        // Nobody listens there, and it was tried.
        ("198.51.100.20", Status::Refused),
    ] {
        let address: IpAddr = address.parse().expect("an address");
        let found = door.open(&session, SocketAddr::new(address, 5001))?;
        assert_eq!(found, status, "{address}");
    }
    // What the operator allows: the providers' networks are of 10/8 here, and reached.
    let modem = SocketAddr::new(door.uplinks.gateway(0), 5001);
    let _modem = Echo::serve(door.uplinks.provider(0), modem)?;
    assert_eq!(door.open(&session, modem)?, Status::Connected);
    Ok(())
}

/// Connections that say nothing are ended after a while, and do not keep routers out.
#[test]
fn silence_is_no_way_to_keep_others_out() -> Result<(), Error> {
    let door = Door::build(&[])?;
    let key = door.key()?;
    // Those for whom there is no place are turned away at once.
    let silent: Vec<_> = (0..200).filter_map(|_| door.knock().ok()).collect();
    assert!(silent.len() >= 64, "{}", silent.len());
    std::thread::sleep(ms(200));
    // From the same address there is no place left: others are not kept out by it.
    let server = door.uplinks.server();
    let to = SocketAddr::new(PARTNER, multipath::PORT);
    let mut other = server
        .enter(|| TcpStream::connect_timeout(&to, LIMIT))?
        .map_err(Error::system("connect"))?;
    let (initiator, frame) = Initiator::begin(&key).expect("random");
    other.write_all(&frame).expect("written");
    let (_, body) = frame_of(&mut other);
    initiator.end(&body).expect("a welcome");
    // All of them are ended, the last after ten seconds.
    for mut stream in silent {
        let _ = stream.read_to_end(&mut Vec::new());
    }
    door.session(&key)?;
    Ok(())
}
