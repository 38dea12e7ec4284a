//! The packet path as a whole: flows, hops and devices.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use kernel::{Mac, Tuple};
use libbpf_rs::{MapCore, MapFlags};

use crate::bridge::Bridges;
use crate::capture::Captures;
use crate::control::{Control, Word};
use crate::drops::Drops;
use crate::error::Error;
use crate::heartbeat::Heartbeat;
use crate::hook::{self, Hook, Hooks};
use crate::hops::{self, Hop};
use crate::ingress::Ingress;
use crate::load::{self, Options, Programs};
use crate::mapped::Mapped;
use crate::port::{self, Port};
use crate::program;
use crate::run::{self, SkbFields};
use crate::sizes::Sizes;
use crate::skel::{WeirSkel, types};
use crate::table::{PAIRS, Reading, Table};
use crate::timing::{RoundTrip, Timers};
use crate::traffic::{self, TrafficDelta};
use crate::view::{self, Difference, FlowDirection, Totals};

/// Minimum time between two resets of all hops.
const FORGET_PAUSE: Duration = Duration::from_secs(10);

/// The packet path, loaded into the kernel.
pub struct Datapath {
    /// Controls if the packet path forwards, and ends its proofs.
    pub heartbeat: Heartbeat,
    /// Copies of packets.
    pub captures: Captures,
    /// Packets that are dropped early.
    pub drops: Drops,
    /// Forwarding between members of a bridge.
    pub bridges: Bridges,
    pub(crate) skel: WeirSkel<'static>,
    pub(crate) programs: Programs,
    control: Control,
    table: Table,
    trials: Mapped<types::trial>,
    ports: Mapped<types::port>,
    sessions: Mapped<u64>,
    hops: Mapped<types::hop>,
    expectations: Mapped<types::expectation>,
    timing: Timers,
    hooks: Hooks,
    options: Options,
    sizes: Sizes,
    /// Since when hops are being forgotten, and when they last were.
    forgetting: Option<Instant>,
    forgotten: Option<Instant>,
    stacks: HashMap<u32, u32>,
}

impl Datapath {
    /// Loads the programs. Nothing is attached, and nothing forwards until [`Heartbeat::arm`].
    pub fn load(sizes: Sizes, options: Options) -> Result<Self, Error> {
        let (skel, programs) = load::load(&sizes, &options)?;
        let seed = skel.maps.rodata_data.as_ref();
        let seed = seed.map(|rodata| rodata.hash_seed).unwrap_or_default();
        Ok(Self {
            heartbeat: Heartbeat::new(&skel, &options)?,
            captures: Captures::new(&skel)?,
            drops: Drops::new(&skel, &sizes, options.shadow, options.learn_drops)?,
            bridges: Bridges::new(&skel, &options)?,
            control: Control::new(&skel)?,
            table: Table::new(
                Mapped::new(&skel.maps.flows4, sizes.buckets4())?,
                Mapped::new(&skel.maps.flows6, sizes.buckets6())?,
                [
                    Mapped::new(&skel.maps.tags4, sizes.buckets4())?,
                    Mapped::new(&skel.maps.tags6, sizes.buckets6())?,
                ],
                seed,
            ),
            trials: Mapped::new(&skel.maps.trials, sizes.trials())?,
            ports: Mapped::section(&skel.maps.bss_ports, sizes.ports)?,
            sessions: Mapped::new(&skel.maps.sessions, sizes.ports * port::SESSIONS)?,
            hops: Mapped::section(&skel.maps.bss_hops, hops::MAX)?,
            expectations: Mapped::new(
                &skel.maps.expectations,
                if options.shadow { sizes.trials() } else { 1 },
            )?,
            timing: Timers::new(&skel)?,
            hooks: Hooks::default(),
            skel,
            programs,
            options,
            sizes,
            forgetting: None,
            forgotten: None,
            stacks: HashMap::new(),
        })
    }

    /// Sizes of the tables that were loaded.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Hops in use.
    pub fn hops_used(&self) -> u32 {
        self.control.get(Word::Hops).min(hops::MAX)
    }

    /// Options by which the programs were loaded.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Installs both directions of a connection under `flow`, a number of the caller's. No
    /// direction forwards before it is proven.
    ///
    /// # Errors
    /// [`Error::Full`] when no bucket of one of the directions has room.
    pub fn install(&mut self, flow: u32, original: &Tuple, reply: &Tuple) -> Result<(), Error> {
        self.timing.untime(flow, &self.table);
        self.table.install(flow, original, reply, &mut self.trials)
    }

    /// Installs both directions of frames between two stations under `pair`, a number of the
    /// caller's from [`PAIRS`] on. [`Datapath::remove`], [`Datapath::invalidate`],
    /// [`Datapath::read`] and [`Datapath::inspect`] take that number like a flow's: the first
    /// direction is to the first station. Lengths and bytes are those behind the EtherType.
    ///
    /// # Errors
    /// [`Error::Full`] when no bucket of one of the directions has room.
    pub fn install_pair(&mut self, pair: u32, stations: [Mac; 2]) -> Result<(), Error> {
        debug_assert!(pair & PAIRS != 0);
        self.table.install_pair(pair, stations, &mut self.trials)
    }

    /// Drops FINs and RSTs of a TCP flow that neither end can have sent, by their sequence numbers.
    /// `scales`: window scales of the original direction's sender and of the other end. Without
    /// this call, or without known windows, such packets go to the kernel.
    pub fn guard(&mut self, flow: u32, scales: [u8; 2]) {
        let refs = self.table.refs(flow).into_iter().flatten();
        for (reference, scale) in refs.zip(scales) {
            if let Some(trial) = self.trials.at(self.table.trial_of(reference)) {
                // SAFETY: a byte of a live mapping that only the daemon writes.
                unsafe { (&raw mut (*trial).scale).write_volatile(scale.min(14) + 1) };
            }
        }
    }

    /// Forgets a flow. Its packets go to the kernel from now on.
    pub fn remove(&mut self, flow: u32) {
        self.timing.untime(flow, &self.table);
        self.table.remove(flow, Instant::now());
    }

    /// Ends one flow's proof.
    pub fn invalidate(&mut self, flow: u32) {
        // The kernel judged a packet under way before the proof's end: the packet must not prove
        // again.
        for reference in self.table.refs(flow).into_iter().flatten() {
            if let Some(trial) = self.trials.at(self.table.trial_of(reference)) {
                // SAFETY: an aligned word of a live mapping; a packet that comes in now writes the
                // word again, and is judged after this.
                unsafe { (&raw mut (*trial).epoch).write_volatile(0) };
            }
        }
        self.table.end_proof(flow);
    }

    /// Returns a flow's traffic so far, by direction (original, reply). Must be called at least
    /// every two seconds for each flow that forwards: the shared counters are narrow.
    pub fn read(&mut self, flow: u32) -> Option<[Reading; 2]> {
        let (epoch, hops) = (self.control.get(Word::Epoch), &self.hops);
        self.table.read(flow, &self.trials, |record| {
            let hop = hops.get(u32::from(record.hop));
            hop.is_some_and(|h| record.proof == epoch.wrapping_add(h.epoch))
        })
    }

    /// Reports the traffic that a flow forwarded since the last call, if any. Due at least every
    /// two seconds for each flow: the shared counters are narrow. [`Datapath::tidy`] reports the
    /// traffic between the last call and the flow's removal.
    pub fn take_traffic(&mut self, flow: u32, mut each: impl FnMut(TrafficDelta)) {
        let (hops, at_xdp) = (&self.hops, at_xdp(&self.ports, &self.hooks));
        self.table.grown(flow, |record, whose, growth| {
            each(TrafficDelta::of(
                Some(flow),
                record,
                whose,
                growth,
                hops,
                &at_xdp,
            ));
        });
    }

    /// Returns the origins of proven PPPoE sessions, each with the device on which the kernel sees
    /// the session's packets: the PPP device, or its VRF. Some sessions may have ended since, and
    /// their devices may be gone.
    pub fn session_devices(&self) -> Vec<(Ingress, u32)> {
        traffic::session_devices(&self.skel.maps.session_devices)
    }

    /// Returns both directions of a flow in detail.
    pub fn inspect(&self, flow: u32) -> Option<[FlowDirection; 2]> {
        let epoch = self.control.get(Word::Epoch);
        let at_xdp = at_xdp(&self.ports, &self.hooks);
        view::directions(&self.table, &self.trials, &self.hops, epoch, flow, at_xdp)
    }

    /// Returns, in shadow mode, the directions of a flow whose packets the kernel last sent
    /// differently than weir would have.
    pub fn differences(&self, flow: u32) -> Vec<Difference> {
        view::differences(&self.table, &self.expectations, flow)
    }

    /// Times a forwarded TCP connection: [`Datapath::take_round_trips`] reports one round trip of
    /// each direction, if any. Returns true if the connection is timed now; false for any other
    /// connection, or if [`TIMERS`](crate::TIMERS) connections are timed already.
    ///
    /// # Errors
    /// The kernel has no memory.
    pub fn time(&mut self, flow: u32) -> Result<bool, Error> {
        self.timing.time(flow, &self.table)
    }

    /// Connections that are timed.
    pub fn timed(&self) -> usize {
        self.timing.timed()
    }

    /// Reports the round trips measured since the last call. Connections with both round trips, or
    /// without an answer for two seconds, are no longer timed. Due every second.
    pub fn take_round_trips(&mut self, now: Instant, each: impl FnMut(RoundTrip)) {
        self.timing.waits(now, &self.table, each);
    }

    /// Ends all proofs over hops to stations at these addresses, by any port: the kernel may know a
    /// station at a device on top of several ports. One pass over the hops serves all addresses.
    ///
    /// # Errors
    /// The pause after it cannot be set; the proofs have ended all the same.
    pub fn invalidate_hops(&mut self, macs: &HashSet<Mac>) -> Result<u32, Error> {
        let used = self.control.get(Word::Hops);
        let bumped = hops::invalidate(&mut self.hops, used, macs);
        if bumped > 0 {
            // A packet whose header was already built must not prove the old address again. Nor may
            // a packet that proved, or learned a hop, before the pause began.
            self.heartbeat.beat_quietly()?;
            let used = self.control.get(Word::Hops);
            hops::invalidate(&mut self.hops, used, macs);
        }
        Ok(bumped)
    }

    /// Returns the hops learned so far.
    pub fn hops(&self) -> Vec<Hop> {
        let used = self.control.get(Word::Hops);
        hops::list(&self.hops, used)
    }

    /// Reclaims resting records that have no readers, and all hops when few are left. Due every
    /// second. `last` gets the traffic that removed flows forwarded after their last read.
    pub fn tidy(&mut self, now: Instant, mut last: impl FnMut(TrafficDelta)) -> Result<(), Error> {
        let (hops, at_xdp) = (&self.hops, at_xdp(&self.ports, &self.hooks));
        self.table.reclaim(now, |record, whose, growth| {
            last(TrafficDelta::of(None, record, whose, growth, hops, &at_xdp));
        });
        let used = self.control.get(Word::Hops);
        match self.forgetting {
            None if used >= hops::MAX - hops::MAX / 4 => {
                // With more neighbours than hops, hops would be forgotten all the time, and nothing
                // forwarded.
                let recent = |last| now.duration_since(last) < FORGET_PAUSE;
                if self.forgotten.is_some_and(recent) {
                    return Ok(());
                }
                // No packet may prove, or use, a hop while its slot changes hands.
                self.heartbeat.disarm();
                self.heartbeat.invalidate_all()?;
                self.forgetting = Some(now);
            }
            Some(since) if now.duration_since(since) >= Duration::from_millis(100) => {
                hops::forget(&mut self.hops, &self.skel.maps.hop_index)?;
                self.control.set(Word::Hops, 0);
                self.forgetting = None;
                self.forgotten = Some(now);
                self.heartbeat.arm()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns true if the next [`Datapath::tidy`] may forget all hops: read the hops of flows
    /// before that if needed.
    pub fn forgetting(&self) -> bool {
        self.forgetting.is_some()
    }

    /// Attaches the programs to a device and makes it a port.
    pub fn attach(&mut self, port: &Port, name: &str, hook: Hook) -> Result<(), Error> {
        let slot = self.slot(port.link);
        if let Some(known) = self.ports.get(slot)
            && known.ifindex != 0
            && known.ifindex != port.link
        {
            return Err(Error::PortTaken {
                name: name.into(),
                link: port.link,
                other: known.ifindex,
            });
        }
        // Without its XDP program a driver may lack rings for XDP frames: other ports stop sending
        // there before the program is detached.
        if !port.transmit && self.ports.get(slot).is_some_and(|p| p.ifindex == port.link) {
            self.declare(port)?;
        }
        self.hooks.attach(&self.programs, port.link, name, hook)?;
        self.declare(port)?;
        self.control.raise(Word::Paths);
        self.heartbeat.invalidate_all()
    }

    /// Sets the stacks of devices, as `(device, number)`: devices of one stack share a number above
    /// 0. [`crate::STACK_PPP`] is added for a PPP device and for devices above one. Replaces the
    /// former stacks.
    ///
    /// # Errors
    /// There are more devices than the map takes, 16,384: flows through those beyond it are never
    /// proven.
    pub fn set_stacks(&mut self, stacks: &[(u32, u32)]) -> Result<(), Error> {
        let map = &self.skel.maps.stacks;
        let new: HashMap<u32, u32> = stacks.iter().copied().collect();
        for gone in self.stacks.keys().filter(|link| !new.contains_key(link)) {
            // An entry that is gone already is fine.
            let _ = map.delete(&gone.to_ne_bytes());
        }
        let mut outcome = Ok(());
        for (link, stack) in &new {
            if self.stacks.get(link) != Some(stack)
                && let Err(error) =
                    map.update(&link.to_ne_bytes(), &stack.to_ne_bytes(), MapFlags::ANY)
            {
                outcome = Err(Error::bpf("set the lower devices of a device", error));
            }
        }
        self.stacks = new;
        for slot in 0..self.sizes.ports {
            if let Some(port) = self.ports.get(slot).filter(|port| port.ifindex != 0) {
                let stack = self.stacks.get(&port.ifindex).copied().unwrap_or_default();
                self.ports.set(slot, types::port { stack, ..port });
            }
        }
        outcome
    }

    /// Returns the kernel's id of the XDP program, which a device shows while weir is attached to
    /// it.
    pub fn xdp_program(&self) -> Option<u32> {
        program::id(&self.programs.xdp)
    }

    /// Returns the slot of a device among the ports.
    pub fn slot(&self, link: u32) -> u32 {
        self.sizes.slot(link)
    }

    /// Takes the programs off a device. Its flows go back to the kernel.
    pub fn detach(&mut self, link: u32) -> Result<(), Error> {
        let slot = self.slot(link);
        if self.ports.get(slot).is_some_and(|p| p.ifindex == link) {
            self.ports.set(slot, types::port::default());
            // The next device in this slot has its own sessions.
            for place in 0..port::SESSIONS {
                self.sessions.set(slot * port::SESSIONS + place, 0);
            }
        }
        self.control.raise(Word::Paths);
        self.heartbeat.invalidate_all()?;
        self.hooks.detach(link);
        Ok(())
    }

    /// Returns the packets left to the kernel or not proven, by reason, and totals, summed over
    /// CPUs.
    pub fn totals(&self) -> Result<Totals, Error> {
        view::totals(&self.skel.maps.passed, &self.skel.maps.totals)
    }

    /// Runs the XDP program on one frame as if it came in at `link`, an existing port of this
    /// namespace. Returns the action and the resulting frame.
    pub fn test_xdp(&self, frame: &[u8], link: u32) -> Result<(u32, Vec<u8>), Error> {
        run::test_run(&self.programs.xdp, frame, Some(link), 1)
            .map(|(action, out, _)| (action, out))
    }

    /// Runs the TC program, or with `leaves` the egress witness, on one skb with these metadata
    /// fields: see [`Datapath::test_xdp`]. Returns the resulting fields, too.
    pub fn test_skb(
        &self,
        leaves: bool,
        frame: &[u8],
        link: u32,
        fields: &mut SkbFields,
    ) -> Result<(u32, Vec<u8>), Error> {
        let Programs { tc, witness, .. } = &self.programs;
        run::test_run_skb_with(if leaves { witness } else { tc }, frame, link, fields, 1)
            .map(|(action, out, _)| (action, out))
    }

    /// Makes a device a port without attaching anything to it: for runs of a program by
    /// [`Datapath::test_xdp`].
    pub fn declare(&mut self, port: &Port) -> Result<(), Error> {
        let slot = self.slot(port.link);
        if port.transmit {
            hook::allow_transmit(&self.skel.maps.transmit, slot, port.link)?;
        }
        let stack = self.stacks.get(&port.link).copied().unwrap_or_default();
        self.ports.set(slot, port.entry(stack));
        hops::set_transmit(&mut self.hops, port.link, port.transmit);
        Ok(())
    }

    /// Lets this many jiffies elapse for holds by FINs, RSTs and SYNs: the real clock takes 25 days
    /// to wrap. For tests.
    #[doc(hidden)]
    pub fn age_holds(&mut self, jiffies: u32) {
        for index in 0..self.sizes.trials() {
            if let Some(trial) = self.trials.at(index) {
                // SAFETY: a word of a live mapping, which the packet path writes as a whole.
                unsafe {
                    let hold = &raw mut (*trial).hold;
                    hold.write_volatile(hold.read_volatile().wrapping_sub(jiffies));
                }
            }
        }
    }
}

/// Returns a function that reports whether XDP runs on the device of a port's slot.
fn at_xdp(ports: &Mapped<types::port>, hooks: &Hooks) -> impl Fn(u32) -> bool {
    move |slot| ports.get(slot).is_some_and(|p| hooks.at_xdp(p.ifindex))
}
