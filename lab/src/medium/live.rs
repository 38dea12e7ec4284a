//! The live medium: one thread between the kernel's radios and the model.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kernel::Mac;
use kernel::hwsim::TransmittedFrame;
use kernel::io::{Hwsim, HwsimCounts, Nl80211};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Action, Counts, MediumModel, Position, Scene, Wall};
use crate::{Error, Namespace};

/// Maximum age of a radio's power reading while the radio sends, and while idle.
const FRESH: Duration = Duration::from_millis(20);
const STALE: Duration = Duration::from_millis(200);
/// The kernel accepts some 200 KB of answers at once.
const DATAGRAM: usize = 64 * 1024;

type Order = Box<dyn FnOnce(&mut Engine) + Send>;

/// Counters of the medium.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Time since the medium began.
    pub time: Duration,
    /// Counters of each radio, by name.
    pub radios: BTreeMap<String, Counts>,
    /// Counters of the netlink socket.
    pub socket: HwsimCounts,
    /// Failed power readings; the last known power stays in use.
    pub unread: u64,
}

impl Report {
    /// Returns a radio's mean radiated power since another report, mW.
    pub fn mean_power(&self, radio: &str, since: &Self) -> f64 {
        let energy = |report: &Self| report.radios.get(radio).map_or(0.0, |of| of.energy);
        let time = self.time.saturating_sub(since.time).as_secs_f64();
        (energy(self) - energy(since)) / time.max(f64::MIN_POSITIVE)
    }
}

/// A medium between radios. Dropping it restores the kernel's own, in which all radios receive all
/// frames.
#[derive(Debug)]
pub struct Medium {
    orders: Option<UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Medium {
    /// Starts the medium in the calling thread's network namespace, which must be the one in which
    /// the radios were made. `radios` lists scene name, namespace and device; other radios receive
    /// nothing. Equal seeds give equal random choices. Needs root.
    ///
    /// # Errors
    /// Fails without mac80211_hwsim, if a medium exists, or if a device is not a hwsim radio.
    pub fn start(
        radios: &[(&str, &Namespace, &str)],
        scene: Scene,
        seed: u64,
    ) -> Result<Self, Error> {
        let runtime = runtime()?;
        let entered = runtime.enter();
        let hwsim = Hwsim::register().map_err(refused)?;
        let hwsim = hwsim.ok_or_else(|| Error::Unexpected("no mac80211_hwsim is loaded".into()))?;
        let mut air = MediumModel::new(scene, seed);
        let mut found = Vec::new();
        for (name, node, device) in radios {
            let radio = KernelRadio::find(node, device, runtime.handle())?;
            air.join(name, radio.mac);
            found.push(radio);
        }
        drop(entered);
        let mut engine = Engine {
            air,
            hwsim,
            radios: found,
            begun: Instant::now(),
            unread: 0,
        };
        let (orders, received) = unbounded_channel();
        let thread = std::thread::Builder::new().name("medium".into());
        let thread = thread
            .spawn(move || runtime.block_on(engine.run(received)))
            .map_err(Error::system("start the medium"))?;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    /// Moves a radio; coordinates in metres.
    ///
    /// # Errors
    /// The medium has ended.
    pub fn place(&self, radio: &str, x: f64, y: f64) -> Result<(), Error> {
        let radio = radio.to_owned();
        self.change(move |scene| {
            scene.places.insert(radio, Position::new(x, y));
        })
    }

    /// Adds or replaces the wall of this name; `None` removes the wall.
    ///
    /// # Errors
    /// The medium has ended.
    pub fn wall(&self, name: &str, wall: Option<Wall>) -> Result<(), Error> {
        let name = name.to_owned();
        self.change(move |scene| {
            scene.walls.remove(&name);
            scene.walls.extend(wall.map(|wall| (name, wall)));
        })
    }

    /// Changes the scene and waits until the change is in effect.
    ///
    /// # Errors
    /// The medium has ended.
    pub fn change(&self, change: impl FnOnce(&mut Scene) + Send + 'static) -> Result<(), Error> {
        self.order(|engine| engine.air.change(change))
    }

    /// Returns the counters so far.
    ///
    /// # Errors
    /// The medium has ended.
    pub fn told(&self) -> Result<Report, Error> {
        self.order(|engine| engine.report())
    }

    fn order<T: Send + 'static>(
        &self,
        order: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = mpsc::sync_channel(1);
        let order: Order = Box::new(move |engine| drop(answer.send(order(engine))));
        let sent = self
            .orders
            .as_ref()
            .is_some_and(|orders| orders.send(order).is_ok());
        let ended = || Error::Unexpected("the medium ended".into());
        match sent {
            true => answered.recv().map_err(|_| ended()),
            false => Err(ended()),
        }
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Adds radios that report their power, unlike the module's first ones, in the calling thread's
/// network namespace. Needs the loaded module; the radios stay until its removal.
///
/// # Errors
/// Fails if the kernel refuses. Needs root.
pub fn add_radios(count: usize) -> Result<(), Error> {
    let runtime = runtime()?;
    let _entered = runtime.enter();
    (0..count).try_for_each(|_| Hwsim::add_radio().map_err(refused))
}

fn runtime() -> Result<Runtime, Error> {
    let mut builder = Builder::new_current_thread();
    let built = builder.enable_all().build();
    built.map_err(Error::system("start the medium"))
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::Unexpected(error.to_string())
}

/// A radio of the kernel (mac80211_hwsim).
#[derive(Debug)]
struct KernelRadio {
    /// Address of the radio's device.
    mac: Mac,
    /// Address in the medium: the second one that mac80211_hwsim gives to a radio.
    address: Mac,
    link: u32,
    told: Nl80211,
    read: Option<Instant>,
}

impl KernelRadio {
    fn find(node: &Namespace, device: &str, runtime: &Handle) -> Result<Self, Error> {
        let line = format!("ip -json link show {device}");
        let text = node.run(&line)?;
        let unexpected = || Error::Unexpected(format!("{line}: {text}"));
        let shown: serde_json::Value = serde_json::from_str(&text).map_err(|_| unexpected())?;
        let address = |key: &str| shown[0][key].as_str().and_then(net::mac::parse);
        let mac = address("address").ok_or_else(unexpected)?;
        let mut second = address("permaddr").unwrap_or(mac);
        second[0] |= 0x40;
        let link = shown[0]["ifindex"]
            .as_u64()
            .and_then(|link| u32::try_from(link).ok());
        let told = node.enter(|| {
            let _entered = runtime.enter();
            Nl80211::open()
        })?;
        Ok(Self {
            mac,
            address: second,
            link: link.ok_or_else(unexpected)?,
            told: told.map_err(refused)?.ok_or_else(unexpected)?,
            read: None,
        })
    }
}

#[derive(Debug)]
struct Engine {
    air: MediumModel,
    hwsim: Hwsim,
    radios: Vec<KernelRadio>,
    begun: Instant,
    unread: u64,
}

impl Engine {
    /// Runs until all senders of orders are dropped.
    async fn run(&mut self, mut orders: UnboundedReceiver<Order>) {
        let (mut sent, mut actions) = (Vec::new(), Vec::new());
        loop {
            let wakes = self.air.next().map(Duration::from_nanos);
            let wakes = wakes.and_then(|next| self.begun.checked_add(next));
            // Power readings continue while the air is idle.
            let wakes = wakes.unwrap_or_else(|| Instant::now() + STALE);
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => {
                        self.air.advance(self.now(), &mut actions);
                        order(self);
                    }
                    None => return,
                },
                received = self.hwsim.receive(&mut sent) => if received.is_err() { return },
                () = tokio::time::sleep_until(wakes.into()) => {}
            }
            self.take(&mut sent, &mut actions);
            self.air.advance(self.now(), &mut actions);
            if self.say(&mut actions).is_err() {
                return;
            }
        }
    }

    /// Returns the ns since the medium began.
    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Passes sent frames to the model. Frames of radios outside the scene are dropped.
    fn take(&mut self, sent: &mut Vec<TransmittedFrame>, actions: &mut Vec<Action>) {
        for sent in sent.drain(..) {
            let found = self
                .radios
                .iter()
                .position(|radio| radio.address == sent.radio);
            if let Some(radio) = found {
                self.read(radio, FRESH);
                let now = self.now();
                self.air.send(radio, sent, now, actions);
            }
        }
        for radio in 0..self.radios.len() {
            self.read(radio, STALE);
        }
    }

    /// Reads a radio's power if the last reading is older than `age`.
    fn read(&mut self, radio: usize, age: Duration) {
        let this = &mut self.radios[radio];
        if this.read.is_some_and(|read| read.elapsed() < age) {
            return;
        }
        this.read = Some(Instant::now());
        match this.told.power(this.link).map(|power| power.level) {
            Ok(Some(level)) => self.air.set_power(radio, f64::from(level) / 100.0),
            // A device that is down reports no power.
            Ok(None) => {}
            Err(_) => self.unread += 1,
        }
    }

    fn say(&mut self, actions: &mut Vec<Action>) -> std::io::Result<()> {
        let mut answers = self.hwsim.answers();
        for action in actions.drain(..) {
            match action {
                Action::Told {
                    radio,
                    cookie,
                    flags,
                    rates,
                    signal,
                } => answers.report_status(
                    &self.radios[radio].address,
                    cookie,
                    flags,
                    &rates,
                    signal,
                ),
                Action::Heard {
                    hearers,
                    frame,
                    rate,
                    frequency,
                } => {
                    for (radio, signal) in hearers {
                        let address = &self.radios[radio].address;
                        answers.deliver(address, &frame, rate, signal, frequency);
                    }
                }
            }
            if answers.len() > DATAGRAM {
                let full = std::mem::replace(&mut answers, self.hwsim.answers());
                self.hwsim.send(full)?;
            }
        }
        match answers.is_empty() {
            true => Ok(()),
            false => self.hwsim.send(answers),
        }
    }

    fn report(&self) -> Report {
        let counts = self.air.counts();
        Report {
            time: self.begun.elapsed(),
            radios: counts
                .map(|(name, counts)| (name.to_owned(), counts))
                .collect(),
            socket: self.hwsim.counts(),
            unread: self.unread,
        }
    }
}
