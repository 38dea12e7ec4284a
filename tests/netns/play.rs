//! Plays a script with the kernel alone and with weir at each hook, and compares what comes out
//! where.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use answers::{FlowQuery, FlowState};
use lab::transfer::Echo;
use lab::view::{View, word};
use lab::{Error, Lab, Tap};
use nix::sys::socket::{setsockopt, sockopt};
use weir_tests::scene::{self, By, WAYS, at_once};
use weir_tests::{LIMIT, Weir};

/// Events must do it: no proof ends of its own accord while a test runs.
pub const NO_REPROOF: &str = "[offload]\nreprove = \"10m\"\n";
/// A change has taken effect by then, however busy the machine.
const SETTLED: Duration = Duration::from_secs(1);
/// Number of requests on an answered flow for one picture.
const ROUNDS: usize = 30;
/// Number of requests on an unanswered flow, to see if any packet arrives at all.
const VAIN: usize = 5;

/// A tap: a device of a host, and the place's name in [`Act::seen`].
pub type Place = (&'static str, &'static str, &'static str);

/// A step of a script.
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
    /// Weir is to forward nothing of it, and to say why of each flow that it knows.
    pub fn left(mut self) -> Self {
        self.duty = Duty::Leave;
        self
    }

    /// Weir may forward some.
    pub fn any(mut self) -> Self {
        self.duty = Duty::Any;
        self
    }
}

/// A UDP flow that its payload identifies.
pub struct Caller {
    /// Payload of the packets.
    pub name: String,
    /// The types of service of its packets, in turn.
    pub tos: [u8; 2],
    /// True if weir must forward the flow at every step with an answer.
    pub taken: bool,
    socket: UdpSocket,
    to: SocketAddr,
}

impl Caller {
    /// Opens a flow between two addresses. Its own port follows from its name, so that it is the
    /// same in every lab.
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
        // Not connected: such a socket would give its packets a random hash, which they keep over a
        // veth and by which several paths are told apart (fib_multipath_hash in net/ipv4/route.c).
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

    /// Its own port.
    pub fn port(&self) -> u16 {
        self.socket.local_addr().map_or(0, |address| address.port())
    }

    /// Sends its name, the `round`th time; whether it came back within `limit`.
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
    /// The lab.
    pub lab: Lab,
    /// Its flows.
    pub callers: Vec<Caller>,
    /// When weir proves anew.
    pub reprove: &'static str,
    /// Weir may leave all of this to the kernel, if it says of which device, and why.
    pub may_be_left_out: bool,
    by: By,
    watch: &'static [Place],
    ports: Vec<&'static str>,
    echoes: Vec<Echo>,
}

impl Stage {
    /// Of a lab whose router has `lan0`, `wan0` and these other ports.
    pub fn new(
        by: By,
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

    /// Answers there.
    pub fn echo(&mut self, role: &str, at: SocketAddr) -> Result<(), Error> {
        self.echoes.push(Echo::serve(self.lab.node(role)?, at)?);
        Ok(())
    }

    /// A flow from `role` to the server, who answers there from now on.
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

    /// All flows are asked, again and again, for so long, answered or not.
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

    /// Goes on while weir lets a change settle. Not for ever, as a flow without packets stays as it
    /// is.
    fn talk_while_quiet(&self, weir: &Weir) -> Result<(), Error> {
        for _ in 0..10 {
            if !weir.is_settling()? {
                break;
            }
            self.talk(SETTLED)?;
        }
        Ok(())
    }

    /// Starts weir, where it is to run.
    pub fn start(&self) -> Result<Option<Weir>, Error> {
        let By::Weir(hook) = self.by else {
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

    /// Asks every flow, and returns what arrived.
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
                    // The type of service of IPv6 begins in the first byte.
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
    /// As [`act`] has it.
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

    /// Returns true if the picture matches the step's words.
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

/// A stage, and what happens on it.
pub struct Script<'a> {
    build: &'a (dyn Fn(By) -> Result<Stage, Error> + Sync),
    acts: &'a [Act],
}

impl<'a> Script<'a> {
    /// Of how the stage is built, and the steps.
    pub fn new(build: &'a (dyn Fn(By) -> Result<Stage, Error> + Sync), acts: &'a [Act]) -> Self {
        Self { build, acts }
    }

    fn run(&self, by: By) -> Result<Vec<Picture>, Error> {
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

/// Weir forwarded what was answered: half of the packets at least, as each flow takes one or two to
/// prove each way.
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

/// Weir forwarded nothing, and says why of each flow it knows.
fn left(weir: &Weir, before: u64) -> Result<(), Error> {
    let forwarded = weir.forwarded()? - before;
    let client = weir.client()?;
    for flow in weir.flows()? {
        // A proof of the way back stays, where no packet comes any more that it would fit.
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

/// Plays it in all ways at once; the pictures of the kernel, which weir's equal. Panics with all
/// that differs.
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
    let kernel = pictures.iter().find(|(by, _)| *by == scene::By::Kernel);
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
