//! Raw frames between the tests and a partner.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use lab::uplinks::{Options, PARTNER};
use lab::{Error, Uplinks};
use multipath_core::frame::{HEADER, Kind};
use multipath_core::{Frame, Identity, Initiator, Key, Open, Pairing, Session, Status};
use weir_tests::LIMIT;
use weir_tests::partner::Partner;

/// A partner without a router: the test speaks to the partner at the router's address.
pub struct Door {
    pub partner: Partner,
    pub uplinks: Uplinks,
}

impl Door {
    pub fn build(options: &[&str]) -> Result<Self, Error> {
        let uplinks = Uplinks::build(&Options::mbit(&[100]))?;
        let partner = Partner::start(uplinks.partner(), options)?;
        Ok(Self { partner, uplinks })
    }

    /// Starts a partner that may have this many descriptors.
    pub fn narrow(descriptors: u32) -> Result<Self, Error> {
        let uplinks = Uplinks::build(&Options::mbit(&[100]))?;
        let partner = Partner::narrow(uplinks.partner(), descriptors)?;
        Ok(Self { partner, uplinks })
    }

    pub fn knock(&self) -> Result<TcpStream, Error> {
        let to = SocketAddr::new(PARTNER, multipath_core::PORT);
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

    /// Returns the partner's answer to these bytes until the connection ends in any way.
    pub fn answer(&self, octets: &[u8]) -> Result<Vec<u8>, Error> {
        let mut stream = self.knock()?;
        stream.write_all(octets).expect("written");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Ok(answer)
    }

    pub fn key(&self) -> Result<Key, Error> {
        let line = self.partner.pair(&PARTNER.to_string())?;
        Ok(line.parse::<Pairing>().expect("a line").key)
    }

    pub fn session(&self, key: &Key) -> Result<Session, Error> {
        let mut stream = self.knock()?;
        let (initiator, frame) = begin(key);
        stream.write_all(&frame).expect("written");
        let (kind, body) = frame_of(&mut stream);
        assert_eq!(kind, Kind::Welcome);
        let (session, welcome) = initiator.end(&body).expect("a welcome");
        assert!(welcome.ipv4 && !welcome.version.is_empty());
        Ok(session)
    }

    /// Opens a connection to the destination and returns its status.
    pub fn open(&self, session: &Session, destination: SocketAddr) -> Result<Status, Error> {
        Ok(self.hold(session, destination)?.0)
    }

    /// Opens a connection; returns its status and its stream.
    pub fn hold(&self, session: &Session, to: SocketAddr) -> Result<(Status, TcpStream), Error> {
        let (opened, frame) = session.open(&open_to(to));
        let mut stream = self.knock()?;
        stream.write_all(&frame).expect("written");
        let (kind, body) = frame_of(&mut stream);
        assert_eq!(kind, Kind::Status);
        Ok((opened.status(&body).expect("of this session"), stream))
    }
}

/// Returns the identity of the router that the tests play.
pub fn own() -> Identity {
    Identity::from([7; 32])
}

/// Begins a handshake of that router.
pub fn begin(key: &Key) -> (Initiator, Vec<u8>) {
    Initiator::begin(key, &own()).expect("random")
}

pub fn open_to(destination: SocketAddr) -> Open {
    Open {
        destination,
        client: "192.168.77.2:40000".parse().expect("an address"),
        encrypted: false,
        after: None,
    }
}

pub fn frame_of(stream: &mut TcpStream) -> (Kind, Vec<u8>) {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).expect("an answer");
    let header = Frame::header(&header).expect("a frame");
    let mut body = vec![0; header.length];
    stream.read_exact(&mut body).expect("all of it");
    (header.kind, body)
}
