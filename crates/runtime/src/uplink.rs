//! Probes a port: the socket, the clock and the device of a [`Detection`].

mod port;
mod raised;
mod socket;

use std::thread::sleep;
use std::time::{Duration, Instant};

use ::detect::{Detection, Evidence, Network, Options, Suggestion};
use nix::errno::Errno;

use port::Port;
pub use port::{devices, inside};
use raised::Raised;
use socket::Socket;
pub use socket::speaker;

use crate::Error;

/// Longest wait for a link: for a device that is up already, and for one that was just brought up,
/// which must first agree on a speed.
const LINK: Duration = Duration::from_millis(1500);
const NEW_LINK: Duration = Duration::from_secs(5);
/// Interval at which the link is checked.
const LOOK: Duration = Duration::from_millis(100);
/// Frames that are read in a row before anything is sent.
const IN_A_ROW: usize = 256;

/// Result of the probe of a port.
#[derive(Clone, Debug)]
pub struct Found {
    /// The port.
    pub port: String,
    /// Evidence in order of arrival.
    pub evidence: Vec<Evidence>,
    /// Conclusion from the evidence.
    pub suggestion: Suggestion,
}

/// Parameters of a probe.
#[derive(Clone, Copy, Debug)]
pub struct ProbeOptions<'a> {
    /// The port.
    pub port: &'a str,
    /// The router's own networks.
    pub lans: &'a [Network],
    /// For how long it is listened, from the link on.
    pub seconds: u64,
    /// True to send nothing in a VLAN without received frames.
    pub untagged: bool,
}

/// Probes a port: sends requests and listens for the given seconds after the link is up, or less if
/// all evidence is in. Reports evidence as it arrives.
/// Needs CAP_NET_RAW, and CAP_NET_ADMIN where the port is down. Waits; not to be called from within
/// an event loop.
///
/// # Errors
/// The port does not exist or has no hardware address, or this process lacks the rights.
pub fn run(look: ProbeOptions<'_>, told: &mut dyn FnMut(&Evidence)) -> Result<Found, Error> {
    let port = Port::find(look.port)?;
    let mut seed = [0; 8];
    let random = getrandom::fill(&mut seed);
    random.map_err(|error| Error::with_cause("cannot get random numbers", &error, "try again"))?;
    let socket = Socket::open(&port)?;
    let raised = (!port.up).then(|| Raised::new(&port)).transpose()?;
    let mut run = Run {
        detection: Detection::new(Options {
            mac: port.mac,
            others: port.others.clone(),
            link_local: port.link_local(),
            lans: look.lans.to_vec(),
            seed: u64::from_ne_bytes(seed),
            untagged: look.untagged,
        }),
        begin: Instant::now(),
        evidence: Vec::new(),
        told,
    };
    for how in &port.uses {
        run.detection.in_use(how, 0);
    }
    if port.leads_out {
        run.detection.leads_out();
    }
    run.listen(
        &port,
        socket,
        raised.as_ref(),
        Duration::from_secs(look.seconds),
    )?;
    let suggestion = run.detection.suggestion();
    Ok(Found {
        port: port.name,
        evidence: run.evidence,
        suggestion,
    })
}

struct Run<'a> {
    detection: Detection,
    begin: Instant,
    evidence: Vec<Evidence>,
    told: &'a mut dyn FnMut(&Evidence),
}

impl Run<'_> {
    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn tell(&mut self) {
        for one in self.detection.take_evidence() {
            (self.told)(&one);
            self.evidence.push(one);
        }
    }

    fn listen(
        &mut self,
        port: &Port,
        mut socket: Socket,
        raised: Option<&Raised>,
        limit: Duration,
    ) -> Result<(), Error> {
        let patience = if raised.is_some() { NEW_LINK } else { LINK };
        let mut end = self.begin + patience;
        let mut linked = false;
        let mut ear = None;
        let mut look = self.begin;
        while Instant::now() < end {
            if raised.is_some_and(Raised::is_interrupted) {
                return Err(Error::Code(130));
            }
            if Instant::now() >= look {
                look = Instant::now() + LOOK;
                let there = port.has_link();
                if there && !linked {
                    end = Instant::now() + limit;
                }
                linked |= there;
                if linked {
                    // On a device that was down, it comes with the link.
                    if let Some(address) = port.link_local() {
                        self.detection.link_local(address);
                        ear = ear.or_else(|| port.ear(address));
                    }
                    self.detection.link(there, self.now());
                }
            }
            self.tell();
            for frame in self.detection.passed(self.now()) {
                send(&socket, &frame, port)?;
            }
            for _ in 0..IN_A_ROW {
                match socket.next() {
                    Ok(Some(frame)) => self.detection.receive(frame, self.now()),
                    Ok(None) => continue,
                    Err(Errno::EAGAIN) => break,
                    // The device went down; the link check reports it as a lost link.
                    Err(Errno::ENETDOWN) => sleep(LOOK),
                    Err(Errno::EINTR) => {}
                    Err(error) => return Err(port.failed("listen on", error)),
                }
            }
            self.tell();
            if self.detection.is_settled(self.now()) {
                break;
            }
            let wait = self
                .detection
                .next_due(self.now())
                .map(Duration::from_millis);
            let left = end.saturating_duration_since(Instant::now());
            socket.wait(wait.unwrap_or(LOOK).min(LOOK).min(left));
        }
        if !linked {
            self.detection.link(false, self.now());
        }
        self.tell();
        Ok(())
    }
}

/// Sends a frame. A probe that the device does not accept now is repeated anyway.
fn send(socket: &Socket, frame: &[u8], port: &Port) -> Result<(), Error> {
    match socket.send(frame) {
        Ok(()) | Err(Errno::EINTR | Errno::EAGAIN | Errno::ENOBUFS | Errno::ENETDOWN) => Ok(()),
        Err(error) => Err(port.failed("send on", error)),
    }
}
