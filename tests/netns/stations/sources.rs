//! An attacker knows a flow's addresses and ports, and sends with a source that a locked member
//! refuses: such packets get no further than with the kernel alone.

use std::time::Duration;

use lab::frame::{Body, Mac, Packet};
use lab::gateway::{CLIENT, SERVER};
use lab::namespace::wait_until;
use lab::topology::mac;
use lab::transfer::{Datagrams, Echo};
use lab::{Arrangement, Error, Lab, Options, Tap};
use weir_tests::scene::{Forwarder, WAYS, at_once, lab, weir};
use weir_tests::{LIMIT, Weir};

const PORT: u16 = 7;
const FORGED: &[u8] = b"forged";
/// Another station behind the client's member.
const OTHER: Mac = [2, 0, 0, 0, 0x66, 1];
/// Number of times that each frame is sent.
const TIMES: usize = 20;

/// A client behind a bridge that sends by UDP, and weir if it runs.
struct Conversation {
    weir: Option<Weir>,
    talk: Datagrams,
    _echo: Echo,
    lab: Lab,
}

impl Conversation {
    fn new(by: Forwarder) -> Result<Self, Error> {
        let options = Options {
            arrangement: Arrangement::BRIDGE,
            nat: false,
            ..Options::default()
        };
        let lab = lab(by, &options)?;
        let weir = weir(by, &lab, "")?;
        let to = (SERVER, PORT).into();
        let echo = Echo::serve(lab.node("server")?, to)?;
        let talk = Self {
            talk: Datagrams::open(lab.node("client")?, to)?,
            _echo: echo,
            weir,
            lab,
        };
        talk.forwarded("at first")?;
        Ok(talk)
    }

    /// Waits for answers, and until a running weir forwards the questions.
    fn forwarded(&self, after: &str) -> Result<(), Error> {
        let packets = || -> Result<u64, Error> {
            let Some(weir) = &self.weir else { return Ok(0) };
            let flow = weir.flow_at(PORT)?;
            Ok(flow.map_or(0, |flow| flow.directions.original.packets))
        };
        let before = packets()?;
        wait_until(&format!("{after}: weir forwards it"), LIMIT, || {
            self.asked(after)?;
            Ok(self.weir.is_none() || packets()? > before + 10)
        })
    }

    fn asked(&self, after: &str) -> Result<(), Error> {
        match self.talk.ask(b"question", LIMIT)? {
            true => Ok(()),
            false => Err(Error::Unexpected(format!("{after}: no answer"))),
        }
    }

    /// Returns the packets of the client's flow that arrive from this station.
    fn forge(&self, from: Mac) -> Result<usize, Error> {
        let port = self.talk.local()?.port();
        let body = Body::Udp(port, PORT, FORGED.to_vec());
        let packet = Packet::new((from, CLIENT), (mac("router", "br0"), SERVER), body).bytes();
        let mut far = Tap::open(self.lab.node("server")?, "eth0")?;
        let tap = Tap::open(self.lab.node("client")?, "eth0")?;
        for _ in 0..TIMES {
            self.asked("meanwhile")?;
            tap.send(&packet)?;
        }
        let to = mac("server", "eth0");
        let forged = |frame: &[u8]| frame.starts_with(&to) && frame.windows(6).any(|w| w == FORGED);
        let arrived = far.drain(Duration::from_millis(300))?;
        Ok(arrived.iter().filter(|frame| forged(frame)).count())
    }
}

#[test]
fn a_locked_member_takes_known_stations_only() {
    at_once(&WAYS, |by| {
        let talk = Conversation::new(by)?;
        let router = talk.lab.node("router")?;
        for _ in 0..2 {
            assert_eq!(talk.forge(OTHER)?, TIMES, "{by:?}: not locked");
            // The bridge may have learned the address.
            let _ = router.run("bridge fdb del 02:00:00:00:66:01 dev lan1 master");
            router.run("bridge link set dev lan1 locked on")?;
            std::thread::sleep(Duration::from_secs(1));
            assert_eq!(talk.forge(OTHER)?, 0, "{by:?}: locked");
            router.run("bridge link set dev lan1 locked off")?;
            talk.forwarded("no longer locked")?;
        }
        Ok(())
    });
}
