//! The packet path: loads `bpf/`, owns its maps, and holds all of weir's unsafe code.
//!
//! [`Datapath`] is what the daemon steers: it makes flows known ([`Datapath::install`]), ends their
//! proofs ([`Datapath::bump`], [`Datapath::prove`], [`Datapath::bump_hops`]), attaches programs to
//! devices ([`Datapath::attach`]) and reads counters. Whether a packet is forwarded is decided in
//! `bpf/` alone.

#[cfg(feature = "bench")]
pub mod bench;
mod bridge;
pub mod cable;
mod came_in;
mod capture;
mod clock;
pub mod complaints;
mod drops;
mod error;
mod growth;
mod heartbeat;
mod hook;
mod hops;
mod load;
mod mapped;
pub mod meter;
mod netfilter;
pub mod object;
mod port;
pub mod probe;
pub mod process;
pub mod recorder;
mod run;
mod sizes;
mod table;
mod tcx;
mod timing;
mod translate;
pub mod tun;
mod view;

/// In the number of a device's stack: packets come in there over PPP, too.
pub const STACK_PPP: u32 = headers::STACK_PPP as u32;

/// The generated loader. Its types are the C headers'.
#[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/weir.skel.rs"));
}

/// Numbers of the C headers, by the names that they have there.
#[allow(
    dead_code,
    missing_docs,
    unused_parens,
    reason = "as C has them; which ones Rust needs is seen where it does"
)]
mod headers {
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}

/// Reasons, shared with the C side.
mod reason {
    include!(concat!(env!("OUT_DIR"), "/reason.rs"));
}

pub use came_in::{CameIn, Encapsulation, Tag};
pub use capture::{
    Capture, CaptureCounts, CaptureEnd, CaptureFilter, Captured, OCTETS as CAPTURE_OCTETS, Side,
};
pub use drops::{
    DROP_PREFIXES, DropCount, DropEntry, DropKinds, DropList, Learned, LearnedTotals, ListedTotals,
};
pub use error::Error;
pub use growth::Growth;
pub use hook::{Hook, TC_PROGRAMS};
pub use hops::{Hop, MAX as HOPS};
pub use load::Options;
pub use netfilter::{NetfilterProgram, netfilter_programs};
pub use port::{Port, Tagger, VLAN_MACS};
pub use reason::Reason;
pub use run::SkbFields;
pub use sizes::Sizes;
pub use table::{PAIRS, Reading};
pub use tcx::foreign_tcx;
pub use timing::{TIMERS, Wait};
pub use translate::Who;
pub use view::{Difference, Direction, Totals};

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use kernel::{Mac, Tuple};
use libbpf_rs::{MapCore, MapFlags};
use mapped::Mapped;
use skel::types;
use table::Table;

/// Least time between two times of forgetting all hops.
const FORGET_PAUSE: Duration = Duration::from_secs(10);

/// The packet path, loaded into the kernel.
pub struct Datapath {
    skel: skel::WeirSkel<'static>,
    programs: load::Programs,
    table: Table,
    trials: Mapped<types::trial>,
    ports: Mapped<types::port>,
    sessions: Mapped<u64>,
    hops: Mapped<types::hop>,
    expectations: Mapped<types::expectation>,
    timing: timing::Timers,
    hooks: hook::Hooks,
    drops: drops::Drops,
    options: Options,
    sizes: Sizes,
    /// Since when hops are being forgotten, and when they last were.
    forgetting: Option<Instant>,
    forgotten: Option<Instant>,
    stacks: HashMap<u32, u32>,
    /// Armed by us: the packet path may have disarmed itself since.
    wanted: bool,
    /// From then on no proof holds.
    end: Option<Instant>,
    /// Until when nothing is to be proven.
    paused: Option<Instant>,
}

impl Datapath {
    /// Loads the programs. Nothing is attached, and nothing forwards until [`Datapath::arm`].
    pub fn load(sizes: Sizes, options: Options) -> Result<Self, Error> {
        let (skel, programs) = load::load(&sizes, &options)?;
        let seed = skel
            .maps
            .rodata_data
            .as_ref()
            .map(|r| r.hash_seed)
            .unwrap_or_default();
        let mut path = Self {
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
            timing: timing::Timers::new(Mapped::new(&skel.maps.timers, timing::TIMERS)?),
            hooks: hook::Hooks::default(),
            drops: drops::Drops::new(&skel, options.learn_drops)?,
            skel,
            programs,
            options,
            sizes,
            forgetting: None,
            forgotten: None,
            stacks: HashMap::new(),
            wanted: false,
            end: None,
            paused: None,
        };
        // The kernel's clock begins five minutes before it turns round: the end of a pause that
        // never was would seem to lie ahead.
        path.run_beat(0, 0)?;
        let now = path.control().now;
        path.control().quiet_until = now;
        Ok(path)
    }

    /// What was loaded.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The current global epoch.
    pub fn epoch(&mut self) -> u32 {
        self.control().epoch
    }

    /// Whether packets may be forwarded, as long as the heartbeat is not overdue.
    pub fn armed(&mut self) -> bool {
        self.control().armed != 0
    }

    /// Hops in use.
    pub fn hops_used(&mut self) -> u32 {
        self.control().hops.min(hops::MAX)
    }

    /// How it was loaded.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn control(&mut self) -> &mut types::control {
        &mut self
            .skel
            .maps
            .bss_data
            .as_mut()
            .expect("the object has a .bss")
            .control
    }

    /// Makes both directions of a connection known under `flow`, a number of the caller's. Neither
    /// forwards before it is proven.
    ///
    /// # Errors
    /// [`Error::Full`] when no bucket of one of the directions has room.
    pub fn install(&mut self, flow: u32, original: &Tuple, reply: &Tuple) -> Result<(), Error> {
        self.untime(flow);
        self.table.install(flow, original, reply, &mut self.trials)
    }

    /// Has FINs and RSTs of a TCP flow dropped that neither end can have sent, by their sequence
    /// numbers; `scales`: of the windows that the original direction's sender and the other one
    /// announce. Before that, or where it cannot be told, they go to the kernel.
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
        self.untime(flow);
        self.table.remove(flow, Instant::now());
    }

    /// Ends one flow's proof.
    pub fn prove(&mut self, flow: u32) {
        // A packet under way was judged before what ends the proof: it must not prove anew.
        for reference in self.table.refs(flow).into_iter().flatten() {
            if let Some(trial) = self.trials.at(self.table.trial_of(reference)) {
                // SAFETY: an aligned word of a live mapping; a packet that comes in now writes it
                // anew, and is judged after this.
                unsafe { (&raw mut (*trial).epoch).write_volatile(0) };
            }
        }
        self.table.end_proof(flow);
    }

    /// What went through a flow so far, by direction (original, reply). Must be called at least
    /// every two seconds for each flow that forwards: the shared counters are narrow.
    pub fn read(&mut self, flow: u32) -> Option<[Reading; 2]> {
        let (epoch, hops) = (self.control().epoch, &self.hops);
        self.table.read(flow, &self.trials, |record| {
            let hop = hops.get(u32::from(record.hop));
            hop.is_some_and(|h| record.proof == epoch.wrapping_add(h.epoch))
        })
    }

    /// Both directions of a flow in detail.
    pub fn inspect(&mut self, flow: u32) -> Option<[Direction; 2]> {
        let epoch = self.control().epoch;
        let at_xdp = |slot| {
            self.ports
                .get(slot)
                .is_some_and(|port| self.hooks.at_xdp(port.ifindex))
        };
        view::directions(&self.table, &self.trials, &self.hops, epoch, flow, at_xdp)
    }

    /// Shadow mode: directions of a flow whose packets the kernel last sent otherwise than weir
    /// would have.
    pub fn differences(&self, flow: u32) -> Vec<Difference> {
        view::differences(&self.table, &self.expectations, flow)
    }

    /// Ends all proofs over hops to stations at these addresses, whatever port they leave by: the
    /// device where the kernel knows one may be one that stands on several ports. One pass over the
    /// hops, however many addresses there are.
    ///
    /// # Errors
    /// The pause after it cannot be made; the proofs have ended all the same.
    pub fn bump_hops(&mut self, macs: &HashSet<Mac>) -> Result<u32, Error> {
        let used = self.control().hops;
        let bumped = hops::bump(&mut self.hops, used, macs);
        if bumped > 0 {
            // A packet whose header was already built must not prove the old address anew; nor must
            // one that proved, or learned a hop, before there was a pause.
            self.run_beat(self.quiet(), 0)?;
            let used = self.control().hops;
            hops::bump(&mut self.hops, used, macs);
        }
        Ok(bumped)
    }

    /// The hops learned so far.
    pub fn hops(&mut self) -> Vec<Hop> {
        let used = self.control().hops;
        hops::list(&self.hops, used)
    }

    /// Reclaims what rests: records that nobody can be reading any more, and all hops when nearly
    /// none is left. Due every second. `last` gets what removed flows forwarded after they were
    /// last asked.
    pub fn tidy(&mut self, now: Instant, last: impl FnMut(Growth)) -> Result<(), Error> {
        self.reclaim(now, last);
        let used = self.control().hops;
        match self.forgetting {
            None if used >= hops::MAX - hops::MAX / 4 => {
                // Where there are more neighbours than hops, they would be forgotten all the time,
                // and nothing would be forwarded.
                if self
                    .forgotten
                    .is_some_and(|last| now.duration_since(last) < FORGET_PAUSE)
                {
                    return Ok(());
                }
                // Nothing may prove, or use, a hop while its slot changes hands.
                self.disarm();
                self.bump()?;
                self.forgetting = Some(now);
            }
            Some(since) if now.duration_since(since) >= Duration::from_millis(100) => {
                hops::forget(&mut self.hops, &self.skel.maps.hop_index)?;
                self.control().hops = 0;
                self.forgetting = None;
                self.forgotten = Some(now);
                self.arm()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The next [`Datapath::tidy`] may forget all hops: whoever wants to know by which one a flow
    /// went asks before.
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
        // Without its program a driver may have no rings for XDP frames: other ports stop sending
        // any before it goes.
        if !port.transmit && self.ports.get(slot).is_some_and(|p| p.ifindex == port.link) {
            self.declare(port)?;
        }
        self.hooks.attach(&self.programs, port.link, name, hook)?;
        self.declare(port)?;
        self.control().paths += 1;
        self.bump()
    }

    /// Which devices stand on one another, as `(device, number)`: those that do share a number,
    /// above 0. [`STACK_PPP`] is added where a PPP device is among what it stands on, or it is one.
    /// Replaces what was said before.
    ///
    /// # Errors
    /// There are more devices than the map takes, 16,384: flows through those beyond it are never
    /// proven.
    pub fn set_stacks(&mut self, stacks: &[(u32, u32)]) -> Result<(), Error> {
        let map = &self.skel.maps.stacks;
        let new: HashMap<u32, u32> = stacks.iter().copied().collect();
        for gone in self.stacks.keys().filter(|link| !new.contains_key(link)) {
            // One that is not there is what is wanted.
            let _ = map.delete(&gone.to_ne_bytes());
        }
        let mut outcome = Ok(());
        for (link, stack) in &new {
            if self.stacks.get(link) != Some(stack)
                && let Err(error) =
                    map.update(&link.to_ne_bytes(), &stack.to_ne_bytes(), MapFlags::ANY)
            {
                outcome = Err(Error::bpf("tell what a device stands on", error));
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

    /// The kernel's number of the XDP program: what a device shows when weir is attached to it.
    pub fn xdp_program(&self) -> Option<u32> {
        hook::program_id(&self.programs.xdp)
    }

    /// Where a device is among the ports.
    pub fn slot(&self, link: u32) -> u32 {
        link & (self.sizes.ports - 1)
    }

    /// Takes the programs off a device. Its flows go back to the kernel.
    pub fn detach(&mut self, link: u32) -> Result<(), Error> {
        let slot = self.slot(link);
        if self.ports.get(slot).is_some_and(|p| p.ifindex == link) {
            self.ports.set(slot, types::port::default());
            // The next device here has sessions of its own.
            for place in 0..port::SESSIONS {
                self.sessions.set(slot * port::SESSIONS + place, 0);
            }
        }
        self.control().paths += 1;
        self.bump()?;
        self.hooks.detach(link)
    }

    /// Packets given to the kernel or not proven, by reason, and totals, summed over CPUs.
    pub fn totals(&self) -> Result<Totals, Error> {
        view::totals(&self.skel.maps.passed, &self.skel.maps.totals)
    }

    /// Runs the XDP program on one frame as if it came in at `link`, which must be a port of this
    /// namespace and exist: `(action, frame out, nanoseconds per run)`.
    pub fn test_xdp(
        &self,
        frame: &[u8],
        link: u32,
        repeat: u32,
    ) -> Result<(u32, Vec<u8>, u64), Error> {
        run::test_run(&self.programs.xdp, frame, Some(link), repeat)
    }

    /// Runs the TC program on one frame: see [`Datapath::test_xdp`].
    pub fn test_tc(
        &self,
        frame: &[u8],
        link: u32,
        repeat: u32,
    ) -> Result<(u32, Vec<u8>, u64), Error> {
        run::test_run_skb(&self.programs.tc, frame, link, repeat)
    }

    /// Runs the TC program on one skb, with what it carries beside its bytes; the fields are given
    /// back as they came out.
    pub fn test_tc_skb(
        &self,
        frame: &[u8],
        link: u32,
        fields: &mut SkbFields,
    ) -> Result<(u32, Vec<u8>), Error> {
        run::test_run_skb_with(&self.programs.tc, frame, link, fields, 1)
            .map(|(action, out, _)| (action, out))
    }

    /// Runs the egress witness on one skb: see [`Datapath::test_tc_skb`].
    pub fn test_witness_skb(
        &self,
        frame: &[u8],
        link: u32,
        fields: &mut SkbFields,
    ) -> Result<(u32, Vec<u8>), Error> {
        run::test_run_skb_with(&self.programs.witness, frame, link, fields, 1)
            .map(|(action, out, _)| (action, out))
    }

    /// Runs the egress witness on one frame.
    pub fn test_witness(&self, frame: &[u8], link: u32) -> Result<(u32, Vec<u8>, u64), Error> {
        run::test_run_skb(&self.programs.witness, frame, link, 1)
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
}
