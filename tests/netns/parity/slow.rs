//! A host whose packets are delayed, with any kernel: a real host behind a relay that holds its
//! packets for a while.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lab::gateway::{CLIENT, CLIENT6, ROUTER_LAN, ROUTER_LAN6, ROUTER_WAN, ROUTER_WAN6};
use lab::gateway::{SERVER, SERVER6};
use lab::generate::Side;
use lab::{Error, Lab, Namespace, Tap, topology};

/// A relay waits this long for a frame before the next check of the clock.
const LOOK: Duration = Duration::from_micros(500);

/// The host at one end of a lab for frames ([`lab::Options::raw`]).
pub struct Slow {
    pub host: Namespace,
    micros: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    relays: Vec<JoinHandle<Result<(), Error>>>,
}

impl Slow {
    /// Starts the host with the addresses that the router expects.
    pub fn begin(lab: &Lab, side: Side, delay: Duration) -> Result<Self, Error> {
        let (role, own, router) = match side {
            Side::Client => ("client", [CLIENT, CLIENT6], [ROUTER_LAN, ROUTER_LAN6]),
            Side::Server => ("server", [SERVER, SERVER6], [ROUTER_WAN, ROUTER_WAN6]),
        };
        let (outer, host) = (lab.node(role)?, Namespace::new(role)?);
        outer.run(&format!(
            "ip link add inner type veth peer name eth0 netns {} address {}",
            host.name(),
            topology::text(side.host_mac())
        ))?;
        outer.run("ip link set inner up")?;
        // Offloads are off, so that a relay reads frames as on the wire.
        host.run("ethtool -K eth0 tx off tso off gso off gro off")?;
        host.run("ip link set eth0 up")?;
        for (own, router) in own.into_iter().zip(router) {
            let (length, nodad) = if own.is_ipv6() {
                (64, " nodad")
            } else {
                (24, "")
            };
            let mac = topology::text(side.router_mac());
            host.run(&format!("ip addr add {own}/{length} dev eth0{nodad}"))?;
            host.run(&format!(
                "ip neigh replace {router} lladdr {mac} dev eth0 nud permanent"
            ))?;
            host.run(&format!("ip route add default via {router}"))?;
        }
        let mut slow = Self {
            host,
            micros: Arc::default(),
            stop: Arc::default(),
            relays: Vec::new(),
        };
        slow.delay(delay);
        let at_once = Arc::new(AtomicU64::new(0));
        for (from, to, micros) in [("eth0", "inner", &at_once), ("inner", "eth0", &slow.micros)] {
            let (from, to) = (Tap::open(outer, from)?, Tap::open(outer, to)?);
            let (micros, stop) = (Arc::clone(micros), Arc::clone(&slow.stop));
            let relay = std::thread::spawn(move || relay(from, &to, &micros, &stop));
            slow.relays.push(relay);
        }
        Ok(slow)
    }

    /// Sets the delay of all frames from now on.
    pub fn delay(&self, delay: Duration) {
        let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        self.micros.store(micros, Ordering::Relaxed);
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for relay in self.relays.drain(..) {
            if let Ok(Err(error)) = relay.join() {
                eprintln!("a relay: {error}");
            }
        }
    }
}

fn relay(mut from: Tap, to: &Tap, micros: &AtomicU64, stop: &AtomicBool) -> Result<(), Error> {
    let mut kept: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    while !stop.load(Ordering::Relaxed) {
        let wait = match kept.front() {
            Some((due, _)) => due.saturating_duration_since(Instant::now()).min(LOOK),
            None => Duration::from_millis(20),
        };
        if let Some(frame) = from.receive(wait)? {
            let due = Instant::now() + Duration::from_micros(micros.load(Ordering::Relaxed));
            kept.push_back((due, frame));
        }
        while let Some((due, _)) = kept.front()
            && *due <= Instant::now()
        {
            if let Some((_, frame)) = kept.pop_front() {
                to.send(&frame)?;
            }
        }
    }
    Ok(())
}
