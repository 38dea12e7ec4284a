//! A router, with weir or without, and a transfer through the router for tests to disturb.

use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use lab::transfer::Transfer;
use lab::view::View;
use lab::{Error, Lab, Namespace, Options, Tap};

use crate::{LIMIT, Weir, hooked_at};

/// Port of transfers.
pub const PORT: u16 = 5001;
/// Bytes that must arrive for a transfer to count as alive.
pub const ENOUGH: u64 = 2 << 20;
/// Bytes per second: thousands of packets, and still little work for a slow machine.
const RATE: u64 = 8 << 20;

/// Forwarder of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarder {
    /// The kernel alone.
    Kernel,
    /// weir at this hook.
    Weir(&'static str),
}

/// All forwarders. XDP needs complete checksums, so the hosts of such a lab compute them.
pub const WAYS: [Forwarder; 3] = [
    Forwarder::Kernel,
    Forwarder::Weir("tc"),
    Forwarder::Weir("xdp"),
];

/// Runs the same with each forwarder at once, as a run mostly waits. In an emulated machine with
/// one slow processor (scripts/vm sets VM) the runs are in sequence. Panics with all errors.
pub fn at_once(ways: &[Forwarder], run: impl Fn(Forwarder) -> Result<(), Error> + Sync) {
    let at_a_time = match std::env::var_os("VM") {
        Some(_) => 1,
        None => ways.len().max(1),
    };
    for part in ways.chunks(at_a_time) {
        together(part, &run);
    }
}

fn together(ways: &[Forwarder], run: &(impl Fn(Forwarder) -> Result<(), Error> + Sync)) {
    let wrong: Vec<String> = thread::scope(|scope| {
        let all: Vec<_> = ways
            .iter()
            .map(|by| (by, scope.spawn(move || run(*by))))
            .collect();
        all.into_iter()
            .filter_map(|(by, one)| match one.join() {
                Ok(outcome) => outcome.err().map(|error| format!("{by:?}: {error}")),
                Err(_) => Some(format!("{by:?}: panicked, see above")),
            })
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A lab with a running transfer.
pub struct Scene {
    /// weir on the router, if it runs.
    pub weir: Option<Weir>,
    /// The running transfer from client to server.
    pub transfer: Transfer,
    /// The lab with client, router and server.
    pub lab: Lab,
}

impl Scene {
    /// Builds the lab, lets a transfer run to `to`, and waits until weir forwards the transfer.
    /// `more` is added to weir's configuration.
    ///
    /// # Errors
    /// A program does not start.
    pub fn new(by: Forwarder, options: &Options, to: IpAddr, more: &str) -> Result<Self, Error> {
        let lab = lab(by, options)?;
        let weir = weir(by, &lab, more)?;
        let to = SocketAddr::new(to, PORT);
        let transfer =
            Transfer::start(lab.node("client")?, lab.node("server")?, to, 1, Some(RATE))?;
        let scene = Self {
            weir,
            transfer,
            lab,
        };
        scene.lives("from the start")?;
        Ok(scene)
    }

    /// Returns the router.
    ///
    /// # Errors
    /// Never fails in a gateway.
    pub fn router(&self) -> Result<&Namespace, Error> {
        self.lab.node("router")
    }

    /// Asserts that the transfer continues, and that a running weir forwards it.
    ///
    /// # Errors
    /// The transfer does not continue; the error names the step before.
    pub fn lives(&self, after: &str) -> Result<(), Error> {
        let alive = || {
            self.transfer.advance(ENOUGH, LIMIT)?;
            match &self.weir {
                Some(weir) => weir.wait_for_forwarding(PORT),
                None => Ok(()),
            }
        };
        alive().map_err(|error| Error::Unexpected(format!("{after}: {error}")))
    }

    /// Asserts that no packet of the transfer reaches the remote device of a wire for a second,
    /// after `settle`.
    ///
    /// # Errors
    /// Packets arrived; the error contains their number.
    pub fn cut(
        &self,
        after: &str,
        (role, device): (&str, &str),
        settle: Duration,
    ) -> Result<(), Error> {
        let mut tap = Tap::open(self.lab.node(role)?, device)?;
        count(&mut tap, settle, of_transfer)?;
        // Earlier packets may still wait in the receiver's queue: only the wire counts.
        let leaked = count(&mut tap, Duration::from_secs(1), of_transfer)?;
        if leaked > 0 {
            return Err(Error::Unexpected(format!(
                "{after}: {leaked} packets still arrive at {role}:{device}; {:#?}",
                self.weir.as_ref().map(|weir| weir.flow_at(PORT)),
            )));
        }
        Ok(())
    }
}

/// The gateway for this way of forwarding.
///
/// # Errors
/// The lab cannot be built.
pub fn lab(by: Forwarder, options: &Options) -> Result<Lab, Error> {
    let lab = Lab::gateway(&Options {
        // A super-packet does not fit into PPPoE: the kernel would handle it, and weir would have
        // little to do.
        plain_offloads: by == Forwarder::Weir("xdp") || options.arrangement.wan.dials(),
        ..options.clone()
    })?;
    // A blocked connection retries within a second, which saves minutes. Kernels before 6.15 lack
    // the setting.
    let _ = lab.node("client")?.sysctl("net.ipv4.tcp_rto_max_ms", 1000);
    Ok(lab)
}

/// Starts weir on the router of a lab, with the lowest devices of its arrangement as ports; `more`
/// precedes the remaining configuration.
///
/// # Errors
/// weir does not start.
pub fn weir(by: Forwarder, lab: &Lab, more: &str) -> Result<Option<Weir>, Error> {
    let Forwarder::Weir(hook) = by else {
        return Ok(None);
    };
    let ports = lab.arrangement().ports();
    let config = format!("{more}{}", hooked_at(hook, &ports));
    let weir = Weir::start(lab.node("router")?, &config, &[])?;
    weir.wait_for_ports(ports.len())?;
    Ok(Some(weir))
}

fn of_transfer(from: u16, to: u16) -> bool {
    from == PORT || to == PORT
}

/// Returns the packets that arrive during `time` and whose ports `is` accepts.
///
/// # Errors
/// The tap does not receive.
pub fn count(tap: &mut Tap, time: Duration, is: fn(u16, u16) -> bool) -> Result<usize, Error> {
    let end = Instant::now() + time;
    let mut count = 0;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(count);
        }
        if let Some(frame) = tap.receive(left)? {
            let ports = View::of(&frame).and_then(|view| view.ports);
            count += usize::from(ports.is_some_and(|(from, to)| is(from, to)));
        }
    }
}
