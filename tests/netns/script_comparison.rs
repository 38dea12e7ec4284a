//! Plays a script with the kernel alone and with weir at each hook, and compares the packets at
//! each place.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use answers::{FlowQuery, FlowState};
use lab::transfer::Echo;
use lab::view::{View, word};
use lab::{Error, Lab, Tap};
use nix::sys::socket::{setsockopt, sockopt};
use weir_tests::scene::{self, Forwarder, WAYS, at_once};
use weir_tests::{LIMIT, Weir};

/// No proof expires during a test, so events must end it.
pub const NO_REPROOF: &str = "[offload]\nreprove = \"10m\"\n";
/// Time after which a change has taken effect, even on a busy machine.
const SETTLED: Duration = Duration::from_secs(1);
/// Number of requests on an answered flow for one snapshot.
const ROUNDS: usize = 30;
/// Number of requests on an unanswered flow, to see if any packet arrives at all.
const VAIN: usize = 5;

/// A tap: a device of a host, and the place's name in [`Act::seen`].
pub type Place = (&'static str, &'static str, &'static str);

pub struct Act {
    what: &'static str,
    act: fn(&Stage) -> Result<(), Error>,
    seen: &'static str,
    duty: Duty,
}

/// weir's duty towards answered flows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duty {
    Take,
    Leave,
    Any,
}

/// Makes a step, and the places that see each caller's packets, answers too if those pass there.
/// Each caller has a word, in order: the place, `a+b` for several, `a!` without an answer, `-` for
/// neither, `hidden` for an answer without a seen packet. `all` and such a word covers all callers;
/// `*` means as the kernel does. weir must forward answered flows.
pub fn act(what: &'static str, act: fn(&Stage) -> Result<(), Error>, seen: &'static str) -> Act {
    Act {
        what,
        act,
        seen,
        duty: Duty::Take,
    }
}

impl Act {
    /// Demands that weir forwards nothing, and gives a reason for each known flow.
    pub fn left(mut self) -> Self {
        self.duty = Duty::Leave;
        self
    }

    /// Allows weir to forward some.
    pub fn any(mut self) -> Self {
        self.duty = Duty::Any;
        self
    }
}

/// A UDP flow that its payload identifies.
pub struct Caller {
    /// Payload of the packets.
    pub name: String,
    /// Types of service of the packets, in turn.
    pub tos: [u8; 2],
    /// True if weir must forward the flow at every step with an answer.
    pub taken: bool,
    socket: UdpSocket,
    to: SocketAddr,
}

impl Caller {
    /// Opens a flow between two addresses. The port follows from the flow's name, so it is equal in
    /// every lab.
    pub fn open(
        lab: &Lab,
        name: &str,
        role: &str,
        from: IpAddr,
        to: (IpAddr, u16),
    ) -> Result<Self, Error> {
        let number = name.bytes().fold(0u16, |sum, octet| {
            sum.wrapping_mul(31).wrapping_add(octet.into())
        });
        let from = SocketAddr::new(from, 20_000 + number % 10_000);
        // The socket is not connected: such a socket gives its packets a random hash, which a veth
        // keeps and multipath routes use (fib_multipath_hash in net/ipv4/route.c).
        let socket = lab
            .node(role)?
            .enter(|| UdpSocket::bind(from))?
            .map_err(Error::system(format!("{name}: open a socket at {from}")))?;
        Ok(Self {
            name: name.to_owned(),
            tos: [0; 2],
            taken: true,
            socket,
            to: SocketAddr::new(to.0, to.1),
        })
    }

    /// Returns the local port.
    pub fn port(&self) -> u16 {
        self.socket.local_addr().map_or(0, |address| address.port())
    }

    /// Sends the name for the `round`th time; returns true for an echo within `limit`.
    fn ask(&self, round: usize, limit: Duration) -> Result<bool, Error> {
        let failed = || Error::system("set the type of service");
        let tos = i32::from(self.tos[round % 2]);
        match self.to.is_ipv6() {
            true => setsockopt(&self.socket, sockopt::Ipv6TClass, &tos).map_err(failed())?,
            false => setsockopt(&self.socket, sockopt::Ipv4Tos, &tos).map_err(failed())?,
        }
        let end = Instant::now() + limit;
        self.socket
            .send_to(self.name.as_bytes(), self.to)
            .map_err(Error::system(format!("{}: send to {}", self.name, self.to)))?;
        let mut buffer = [0; 64];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let wait = Error::system("wait for an answer");
            self.socket.set_read_timeout(Some(left)).map_err(wait)?;
            match self.socket.recv(&mut buffer) {
                Ok(length) if buffer[..length] == *self.name.as_bytes() => return Ok(true),
                _ => {}
            }
        }
    }
}

/// A lab with flows through its router.
pub struct Stage {
    pub lab: Lab,
    pub callers: Vec<Caller>,
    /// Interval of weir's proofs.
    pub reprove: &'static str,
    /// Allows weir to leave everything to the kernel, if it reports the device and the reason.
    pub may_be_left_out: bool,
    by: Forwarder,
    watch: &'static [Place],
    ports: Vec<&'static str>,
    echoes: Vec<Echo>,
}

impl Stage {
    /// Builds a stage on a lab whose router has `lan0`, `wan0` and these other ports.
    pub fn new(
        by: Forwarder,
        lab: Lab,
        watch: &'static [Place],
        ports: &[&'static str],
    ) -> Result<Self, Error> {
        Ok(Self {
            lab,
            callers: Vec::new(),
            reprove: "10m",
            may_be_left_out: false,
            by,
            watch,
            ports: ports.to_vec(),
            echoes: Vec::new(),
        })
    }

    /// Adds a port.
    pub fn port(&mut self, name: &'static str) {
        self.ports.push(name);
    }

    /// Starts an echo server.
    pub fn echo(&mut self, role: &str, at: SocketAddr) -> Result<(), Error> {
        self.echoes.push(Echo::serve(self.lab.node(role)?, at)?);
        Ok(())
    }

    /// Adds a flow from `role` to the server, with an echo there.
    pub fn call(
        &mut self,
        name: &str,
        role: &str,
        from: IpAddr,
        to: (IpAddr, u16),
    ) -> Result<(), Error> {
        let caller = Caller::open(&self.lab, name, role, from, to)?;
        if self.callers.iter().all(|other| other.to != caller.to) {
            self.echo("server", SocketAddr::new(to.0, to.1))?;
        }
        self.callers.push(caller);
        Ok(())
    }

    /// Sends on all flows repeatedly for this time, answered or not.
    pub fn talk(&self, time: Duration) -> Result<(), Error> {
        let end = Instant::now() + time;
        let mut round = 0;
        while Instant::now() < end {
            for caller in &self.callers {
                caller.ask(round, Duration::from_millis(20))?;
            }
            round += 1;
        }
        Ok(())
    }

    /// Goes on while weir lets a change settle. The time is bounded, as a flow without packets
    /// keeps its state.
    fn talk_while_quiet(&self, weir: &Weir) -> Result<(), Error> {
        for _ in 0..10 {
            if !weir.is_settling()? {
                break;
            }
            self.talk(SETTLED)?;
        }
        Ok(())
    }

    /// Starts weir if the stage needs it.
    pub fn start(&self) -> Result<Option<Weir>, Error> {
        let Forwarder::Weir(hook) = self.by else {
            return Ok(None);
        };
        let mut config = format!("[offload]\nreprove = \"{}\"\n", self.reprove);
        for port in ["lan0", "wan0"].iter().chain(&self.ports) {
            config += &format!("[ports.{port}]\nhook = \"{hook}\"\n");
        }
        config += "[log]\nlevel = \"debug\"\n";
        let weir = Weir::start(self.lab.node("router")?, &config, &[])?;
        if !self.may_be_left_out {
            weir.wait_for_ports(2 + self.ports.len())?;
        }
        Ok(Some(weir))
    }

    /// Asks on every flow, and returns the arrived packets.
    fn picture(&self) -> Result<Picture, Error> {
        let mut taps = Vec::new();
        for (role, device, place) in self.watch {
            taps.push((*place, Tap::open(self.lab.node(role)?, device)?));
        }
        let mut picture = Picture::default();
        for caller in &self.callers {
            let seen = picture.0.entry(caller.name.clone()).or_default();
            seen.answered = caller.ask(0, SETTLED)?;
            let (rounds, limit) = match seen.answered {
                true => (ROUNDS, LIMIT),
                false => (VAIN, Duration::from_millis(50)),
            };
            for round in 1..=rounds {
                let answered = caller.ask(round, limit)?;
                if answered != seen.answered {
                    let name = &caller.name;
                    return Err(Error::Unexpected(format!(
                        "{name}: answered, and not, in one state of things (round {round})"
                    )));
                }
            }
        }
        for (place, tap) in &mut taps {
            for frame in tap.drain(Duration::from_millis(100))? {
                let Some(view) = View::of(&frame).filter(|view| view.protocol == 17) else {
                    continue;
                };
                let payload = frame.get(view.body + 8..view.end).unwrap_or_default();
                let found = picture.0.iter_mut().find(|(n, _)| n.as_bytes() == payload);
                if let (Some((_, seen)), Some(ports)) = (found, view.ports) {
                    // IPv6's traffic class begins in the first byte.
                    let tos = match view.to.is_ipv6() {
                        true => word(&frame, 14).map_or(0, |w| w >> 4 & 0xff),
                        false => word(&frame, 14).map_or(0, |w| w & 0xff),
                    };
                    seen.arrived.insert(Arrived {
                        place,
                        from: view.from,
                        to: SocketAddr::new(view.to, ports.1),
                        ttl: view.ttl,
                        tos,
                    });
                }
            }
        }
        Ok(picture)
    }
}

/// A kind of packet as it arrived, without its source port: if the wanted source port is taken,
/// translation picks another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrived {
    place: &'static str,
    from: IpAddr,
    to: SocketAddr,
    ttl: u8,
    tos: u16,
}

/// Observation of a single flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    answered: bool,
    arrived: BTreeSet<Arrived>,
}

impl Seen {
    /// Returns the word in the syntax of [`act`].
    fn word(&self) -> String {
        let places: BTreeSet<&str> = self.arrived.iter().map(|a| a.place).collect();
        let places = places.into_iter().collect::<Vec<_>>().join("+");
        match (places.is_empty(), self.answered) {
            (true, true) => "hidden".into(),
            (true, false) => "-".into(),
            (false, true) => places,
            (false, false) => format!("{places}!"),
        }
    }
}

/// Observations of all flows after a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture(BTreeMap<String, Seen>);

impl Picture {
    /// Returns all places that saw a packet.
    pub fn places(&self) -> BTreeSet<&'static str> {
        let arrived = self.0.values().flat_map(|seen| &seen.arrived);
        arrived.map(|arrived| arrived.place).collect()
    }

    /// Returns true if this flow was answered.
    pub fn answered(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|seen| seen.answered)
    }

    /// Returns true if the snapshot matches the step's words.
    fn fits(&self, callers: &[Caller], expected: &str) -> bool {
        let words: Vec<String> = callers
            .iter()
            .filter_map(|caller| Some(self.0.get(&caller.name)?.word()))
            .collect();
        match expected.strip_prefix("all ") {
            _ if expected == "*" => true,
            Some(wanted) => words.iter().all(|word| word == wanted),
            None => words.join(" ") == expected,
        }
    }
}

/// A stage, and its steps.
pub struct Script<'a> {
    build: &'a (dyn Fn(Forwarder) -> Result<Stage, Error> + Sync),
    acts: &'a [Act],
}

impl<'a> Script<'a> {
    /// Combines a builder of the stage and the steps.
    pub fn new(
        build: &'a (dyn Fn(Forwarder) -> Result<Stage, Error> + Sync),
        acts: &'a [Act],
    ) -> Self {
        Self { build, acts }
    }

    fn run(&self, by: Forwarder) -> Result<Vec<Picture>, Error> {
        let stage = (self.build)(by)?;
        let weir = stage.start()?;
        let mut pictures = Vec::new();
        for act in self.acts {
            let say = |error: Error| Error::Unexpected(format!("{}: {error}", act.what));
            (act.act)(&stage).map_err(say)?;
            stage.talk(SETTLED).map_err(say)?;
            if let (Some(weir), Duty::Take) = (&weir, act.duty) {
                stage.talk_while_quiet(weir).map_err(say)?;
            }
            let before = weir.as_ref().map(Weir::forwarded).transpose()?;
            let picture = stage.picture().map_err(say)?;
            if !picture.fits(&stage.callers, act.seen) {
                let wanted = act.seen;
                let found = format!("not {wanted:?} but {picture:?}");
                return Err(say(Error::Unexpected(found)));
            }
            if let Some((weir, before)) = weir.as_ref().zip(before) {
                match act.duty {
                    Duty::Take => taken(weir, &stage, &picture, before),
                    Duty::Leave => left(weir, before),
                    Duty::Any => Ok(()),
                }
                .map_err(say)?;
            }
            pictures.push(picture);
        }
        Ok(pictures)
    }
}

/// Asserts that weir forwarded at least half of the answered packets, as each flow needs one or two
/// to prove each direction.
fn taken(weir: &Weir, stage: &Stage, picture: &Picture, before: u64) -> Result<(), Error> {
    let answered = |caller: &&Caller| caller.taken && picture.answered(&caller.name);
    let least = stage.callers.iter().filter(answered).count() * ROUNDS;
    let forwarded = weir.forwarded()? - before;
    if forwarded >= least as u64 {
        return Ok(());
    }
    if stage.may_be_left_out {
        let ports = weir.client()?.ports();
        let ports = ports.map_err(|error| Error::Unexpected(error.to_string()))?;
        let mut left_out = ports.iter().filter(|port| port.hook.is_none());
        if left_out.any(|port| port.name != "lo" && port.reason.is_some()) {
            return Ok(());
        }
    }
    Err(Error::Unexpected(format!(
        "weir forwarded {forwarded} packets, not {least}: {:#?}; {}",
        weir.flows()?,
        weir.log()
    )))
}

/// Asserts that weir forwarded nothing, and gives a reason for each known flow.
fn left(weir: &Weir, before: u64) -> Result<(), Error> {
    let forwarded = weir.forwarded()? - before;
    let client = weir.client()?;
    for flow in weir.flows()? {
        // A proof of the return direction stays while no packet arrives for it.
        let says = flow.state == FlowState::Forwarded
            || flow.reason.as_ref().is_some_and(|r| !r.text.is_empty());
        let explained = client.explain(&FlowQuery::Id(flow.id));
        let explained = explained.map_err(|error| Error::Unexpected(error.to_string()))?;
        let refused = explained.witnesses.iter().any(|witness| !witness.ok);
        if !says || !refused || explained.change.is_empty() {
            return Err(Error::Unexpected(format!("no reason: {explained:#?}")));
        }
    }
    match forwarded {
        0 => Ok(()),
        _ => Err(Error::Unexpected(format!(
            "weir forwarded {forwarded} packets: {:#?}",
            weir.flows()?
        ))),
    }
}

/// Plays the script with all forwarders at once; returns the kernel's snapshots, which weir's must
/// equal. Panics with all differences.
pub fn play(script: &Script<'_>) -> Vec<Picture> {
    let pictures = Mutex::new(Vec::new());
    at_once(&WAYS, |by| {
        let found = script.run(by)?;
        pictures
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push((by, found));
        Ok(())
    });
    let pictures = pictures.into_inner().unwrap_or_default();
    let kernel = pictures
        .iter()
        .find(|(by, _)| *by == scene::Forwarder::Kernel);
    let kernel = kernel.map(|(_, found)| found.clone()).unwrap_or_default();
    assert_eq!(kernel.len(), script.acts.len());
    for (by, found) in &pictures {
        for (index, act) in script.acts.iter().enumerate() {
            let what = act.what;
            assert_eq!(
                found[index], kernel[index],
                "{by:?}, {what}: not as the kernel"
            );
        }
    }
    kernel
}
