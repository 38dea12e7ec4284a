//! A session of one access point, from its appearance until it is gone.

mod announcer;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use answers::{RadioPeer, RadioPeers};
use kernel::Mac;
use kernel::io::{Beacons, MonitorSocket, Peers};
use kernel::nl80211::AccessPoint;
use net::mac::text;
use radio_core::peering::frame::Frame;
use radio_core::peering::metric::{Metric, expected};
use radio_core::peering::{
    Action, Beacon, Event, Machine, PeerReport as Node, Settings, State, WaitReason,
};
use tracing::{debug, info, warn};

use super::super::backoff::Backoff;
use super::attach::Carrier;
use super::devices::PeerDevices;
use super::{Peered, Shown, instance};
use announcer::Announcer;

/// The machine's clock.
const TICK: Duration = Duration::from_millis(50);
/// Interval at which peers are counted, and receive a sign of life.
const LOOK: Duration = Duration::from_secs(1);
/// An access point with its peers.
pub struct Session {
    machine: Machine,
    settings: Settings,
    access_point: AccessPoint,
    link: u32,
    kept: PeerDevices,
    beacons: Beacons,
    ear: Option<MonitorSocket>,
    /// True if action frames are to be received.
    listens: bool,
    again: Backoff,
    /// Reason why action frames are not received.
    deaf: Option<String>,
    carrier: Option<Carrier>,
    /// Reason why a peer's device is not attached, or why the master device does not know the
    /// throughput.
    trouble: Option<String>,
    /// Reason why the last candidate did not become a peer.
    refused: Option<String>,
    announcer: Announcer,
    notices: Vec<String>,
    metrics: BTreeMap<Mac, Metric>,
    begun: Instant,
    looked: Instant,
}

/// Results that the machine has yet to receive.
type Results = VecDeque<(Mac, bool)>;

impl Session {
    /// Opens a session at an access point.
    ///
    /// # Errors
    /// The access point does not exist, hostapd does not answer, or the kernel refused something.
    pub fn open(peered: &Peered) -> io::Result<Self> {
        let device = &peered.device;
        let none = || io::Error::other(format!("{device} is not a running access point"));
        let wifi = || io::Error::other("this kernel lacks Wi-Fi");
        let link = nix::net::if_::if_nametoindex(device.as_str()).map_err(|_| none())?;
        let mut kernel = Peers::open().map_err(io::Error::other)?.ok_or_else(wifi)?;
        let access_point = kernel
            .access_point(link)
            .map_err(io::Error::other)?
            .ok_or_else(none)?;
        let radio = access_point.radio;
        let beacons = Beacons::open(radio)
            .map_err(io::Error::other)?
            .ok_or_else(wifi)?;
        let AccessPoint {
            mac,
            ssid,
            frequency,
            ..
        } = &access_point;
        let mut settings = Settings::new(device, *mac, ssid, *frequency);
        let (most, notice) = peered.most(link);
        settings.most = most;
        settings.allow.clone_from(&peered.allow);
        settings.deny.clone_from(&peered.deny);
        settings.clear.clone_from(&peered.clear);
        let (secret, node) = (peered.secret.clone(), peered.node.clone());
        let machine = Machine::new(settings.clone(), secret, node, instance()?)
            .remembering(peered.proven.borrow().clone());
        let announcer = Announcer::open(peered.hostapd(), &machine).map_err(|error| {
            let text = format!("cannot use hostapd's control socket for {device}: {error}");
            io::Error::other(text)
        })?;
        let now = Instant::now();
        Ok(Self {
            kept: PeerDevices::new(kernel, link, *mac),
            machine,
            settings,
            link,
            beacons,
            ear: None,
            listens: false,
            again: Backoff::new(),
            deaf: None,
            carrier: peered.carrier.clone(),
            trouble: None,
            refused: None,
            announcer,
            notices: notice
                .map(str::to_owned)
                .into_iter()
                .chain(peered.insecure())
                .collect(),
            metrics: BTreeMap::new(),
            access_point,
            begun: now,
            looked: now,
        })
    }

    /// Returns the nodes that have ever proved the secret.
    pub fn proven(&self) -> BTreeSet<Mac> {
        self.machine.proven().clone()
    }

    /// Goes on until the access point is gone: gives why.
    pub async fn run(&mut self, shown: &Shown) -> io::Error {
        let mut clock = tokio::time::interval(TICK);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut heard, mut frames) = (Vec::new(), Vec::new());
        loop {
            let ear = async {
                match &mut self.ear {
                    Some(ear) => ear.recv(&mut frames).await,
                    None => std::future::pending().await,
                }
            };
            let done = tokio::select! {
                done = self.beacons.recv(&mut heard) => done,
                done = ear => {
                    self.hears(done);
                    Ok(())
                }
                _ = clock.tick() => Ok(()),
            };
            if let Err(error) = done {
                return error;
            }
            // Frames of peers come before beacons, and before timers.
            let waits = self.ear.as_mut().map(|ear| ear.take(&mut frames));
            waits.into_iter().for_each(|done| self.hears(done));
            for frame in frames.drain(..) {
                if let Some(Frame { from, kind, .. }) = Frame::read(&frame) {
                    debug!(peer = text(&from), ?kind, "hears");
                }
                self.happen(Event::Frame(&frame));
            }
            for one in heard.drain(..) {
                if one.radio == self.access_point.radio
                    && let Some(beacon) = Beacon::read(&one.frame)
                {
                    self.happen(Event::Beacon(&beacon, one.signal));
                }
            }
            self.happen(Event::Tick);
            self.announcer.deny(&self.machine, false);
            self.hear();
            if self.looked.elapsed() >= LOOK {
                self.looked = Instant::now();
                if let Err(error) = self.look() {
                    return error;
                }
            }
            shown.set(self.shown());
        }
    }

    /// Handles the end of the ear.
    fn hears(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            debug!(%error, "cannot receive frames any longer");
            self.ear = None;
            self.again.failed(Instant::now());
        }
    }

    fn happen(&mut self, event: Event<'_>) {
        let now = self.begun.elapsed().as_millis() as u64;
        let mut results = Results::new();
        let actions = self.machine.handle(now, event);
        self.act(actions, &mut results);
        while let Some((mac, done)) = results.pop_front() {
            let now = self.begun.elapsed().as_millis() as u64;
            let actions = self.machine.handle(now, Event::Installed(mac, done));
            self.act(actions, &mut results);
        }
    }

    fn act(&mut self, actions: Vec<Action>, results: &mut Results) {
        for action in actions {
            match action {
                Action::Send(frame) => {
                    if let Some(Frame { to, kind, .. }) = Frame::read(&frame) {
                        debug!(peer = text(&to), ?kind, "says");
                    }
                    if let Err(error) = self.kept.kernel().send(self.link, &frame) {
                        debug!(%error, "cannot send a frame");
                    }
                }
                Action::Install {
                    mac,
                    name,
                    aid,
                    abilities,
                    key,
                } => {
                    let done = self.kept.install(mac, &name, aid, &abilities, key.as_ref());
                    let refused = done.as_ref().err();
                    self.refused = refused.map(|error| error.of_radio(&name));
                    match &self.refused {
                        None if key.is_none() => warn!(
                            peer = text(&mac),
                            device = name,
                            "peer connected in clear, without proof: INSECURE"
                        ),
                        None => info!(peer = text(&mac), device = name, "peer connected"),
                        Some(why) => warn!(peer = text(&mac), why, "peer refused"),
                    }
                    results.push_back((mac, done.is_ok()));
                    self.carry();
                }
                Action::Rekey(mac, key) => {
                    let done = self.kept.rekey(mac, &key);
                    if let Err(error) = &done {
                        warn!(peer = text(&mac), %error, "cannot change the peer's key: the former key stays");
                    }
                    results.push_back((mac, done.is_ok()));
                }
                Action::Remove(mac, name, why) => {
                    let why = format!("{why:?}").to_lowercase();
                    info!(peer = text(&mac), device = name, %why, "peer removed");
                    self.metrics.remove(&mac);
                    if let Err(error) = self.kept.remove(mac) {
                        debug!(%error, "cannot remove the peer's device");
                    }
                }
                Action::Listen(listens) => {
                    debug!(listens, "action frames");
                    self.listens = listens;
                    self.hear();
                }
                Action::Renew => {
                    if let Ok(instance) = instance() {
                        self.machine.renew(instance);
                        self.announcer.say(&self.machine);
                    }
                }
            }
        }
    }

    /// Opens the monitor socket if needed, as soon as another attempt is permitted.
    fn hear(&mut self) {
        let now = Instant::now();
        if !self.listens {
            self.ear = None;
            self.kept.deafen();
            self.deaf = None;
        } else if self.ear.is_none() && self.again.may(now) {
            match self.kept.listen() {
                Ok(ear) => {
                    self.ear = Some(ear);
                    self.again.done(now);
                    if self.deaf.take().is_some() {
                        info!("receiving frames of unknown senders again");
                    }
                }
                Err(error) => {
                    self.kept.deafen();
                    self.again.failed(now);
                    let why = format!(
                        "cannot receive frames of unknown senders, so no new peers are possible: \
                         {error}; retrying"
                    );
                    if self.deaf.as_ref() != Some(&why) {
                        warn!(why, "new peers are not possible");
                    }
                    self.deaf = Some(why);
                }
            }
        }
    }

    /// Attaches peers' devices to the mesh, also to a later mesh device, and announces their
    /// throughput.
    fn carry(&mut self) {
        let Some(carrier) = &self.carrier else { return };
        let trouble = self.kept.put(carrier, &self.metrics);
        if let Some(why) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            warn!(why, "cannot set up a peer's device");
        }
        self.trouble = trouble;
    }

    /// Checks once a second that nothing has changed.
    fn look(&mut self) -> io::Result<()> {
        let now = self
            .kept
            .kernel()
            .access_point(self.link)
            .map_err(io::Error::other)?;
        let Some(now) = now else {
            return Err(io::Error::other("the access point has disappeared"));
        };
        if (now.mac, &now.ssid, now.radio)
            != (
                self.access_point.mac,
                &self.access_point.ssid,
                self.access_point.radio,
            )
        {
            return Err(io::Error::other("the access point was replaced"));
        }
        if now.frequency != self.settings.frequency {
            self.settings.frequency = now.frequency;
            self.happen(Event::Channel(now.frequency));
        }
        self.kept.kernel().sweep();
        self.carry();
        self.kept.speak();
        for (mac, silence) in self.kept.silences() {
            match self.kept.counted(mac) {
                Ok(told) => {
                    let expected = told.as_ref().and_then(expected);
                    self.metrics.entry(mac).or_default().look(expected);
                    let told = told.map(|station| {
                        let idle = silence.as_millis() as u64;
                        (idle, station.failed.unwrap_or_default())
                    });
                    self.happen(Event::Counted(mac, told));
                }
                Err(error) => debug!(%error, "cannot read the counters of a peer"),
            }
        }
        if self.announcer.is_due() {
            self.announcer.say(&self.machine);
        }
        Ok(())
    }

    /// Reports on all nodes, and on problems.
    fn shown(&self) -> RadioPeers {
        let now = self.begun.elapsed().as_millis() as u64;
        let peers = self.machine.shown().map(|shown| {
            let Node {
                mac,
                name,
                state,
                waits,
                since,
                signal,
                encrypted,
                clear,
            } = shown;
            let expected = self.metrics.get(&mac).and_then(Metric::told);
            RadioPeer {
                address: text(&mac),
                interface: name,
                state: word(state).to_owned(),
                waits: waits.map(|waits| why(waits).to_owned()),
                peer_seconds: since.map(|since| now.saturating_sub(since) / 1000),
                encrypted,
                clear,
                signal,
                expected_mbit: expected.map(|bits| bits as f64 / 1e6),
            }
        });
        let now = [&self.trouble, &self.refused, &self.deaf].map(Option::as_ref);
        let now = now.into_iter().chain([self.announcer.problem()]).flatten();
        let notices = self.notices.iter().chain(now);
        RadioPeers {
            device: String::new(),
            peers: peers.collect(),
            notices: notices.cloned().collect(),
        }
    }
}

fn why(waits: WaitReason) -> &'static str {
    match waits {
        WaitReason::Faint => "faint",
        WaitReason::Full => "full",
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Seen => "seen",
        State::Waiting => "waiting",
        State::Handshake => "handshake",
        State::Installed => "installed",
        State::Alive => "alive",
    }
}
