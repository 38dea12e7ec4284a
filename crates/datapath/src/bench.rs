//! The benchmark's hands: traffic, sinks and comparison paths from bpf/bench.bpf.c, and timing of
//! single programs.
//!
//! [`Bench::generate`] feeds frames into a device of the current network namespace as a driver
//! would; [`Bench::rotate`] times one program on the frame of another flow at each run. Built with
//! the feature `bench` only.

use std::mem::{MaybeUninit, offset_of};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use kernel::Tuple;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, ProgramInput, TC_EGRESS, TC_INGRESS, TcAttachPoint};

use crate::cable::Cables;
use crate::error::Error;
use crate::hook;
use crate::mapped::constants;
use crate::meter::Programs;
use crate::path::Datapath;
use crate::run;

mod peers;
mod pin;
mod traffic;
pub mod verified;

pub use peers::Peers;
pub use pin::{pin, unpin};
pub use traffic::{Exit, Marked, PORT_BITS, Program, Sample, Target, Traffic};
use traffic::{Layout, TEMPLATE_MAX, delta, fold, sample_length};

/// The generated loader of bpf/bench.bpf.c.
#[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/bench.skel.rs"));
}

/// A loaded copy of bpf/bench.bpf.c. Its programs are detached when this is dropped.
pub struct Bench {
    skel: skel::BenchSkel<'static>,
    frame: Vec<u8>,
    /// Frames have several lengths.
    mixed: bool,
    links: Vec<hook::Attachment>,
}

/// Priority of a clsact filter: behind weir's first at ingress, before its others at egress.
const PRIORITY: u32 = 0x1000;

/// Attach point of a filter that does the work of a TCX link.
fn point_before_tcx(kind: u32) -> Option<TcAttachPoint> {
    match kind {
        libbpf_sys::BPF_TCX_INGRESS => Some(TC_INGRESS),
        libbpf_sys::BPF_TCX_EGRESS => Some(TC_EGRESS),
        _ => None,
    }
}

impl Bench {
    /// Loads the programs. `out` is the device that [`Bench::generate`] sends by.
    pub fn load(traffic: &Traffic, out: u32, exit: &Exit) -> Result<Self, Error> {
        Self::load_marked(traffic, out, exit, 0)
    }

    /// Loads a copy in which [`Program::SinkMarked`] checks the byte of a frame at this offset.
    pub fn load_marked(
        traffic: &Traffic,
        out: u32,
        exit: &Exit,
        mark_at: u32,
    ) -> Result<Self, Error> {
        libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Warn, |_, t| eprint!("{t}"))));
        let layout = Layout::of(traffic)
            .filter(|_| traffic.flows > 0)
            .unwrap_or(Layout {
                headers: traffic.frame.len().min(TEMPLATE_MAX) & !1,
                ipv6: false,
                port: 0,
                host: 0,
                check: 0,
            });
        let storage = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = skel::BenchSkelBuilder::default()
            .open(storage)
            .map_err(|e| Error::bpf("open the benchmark", e))?;
        let constants = constants(&mut open.maps.rodata_data);
        constants.header = layout.headers as u32;
        constants.ipv6 = u32::from(layout.ipv6);
        constants.port_at = layout.port as u32;
        constants.host_at = layout.host as u32;
        constants.check_at = layout.check as u32;
        constants.flows = traffic.flows;
        constants.port_bits = traffic.bits.min(PORT_BITS);
        constants.burst = traffic.burst.max(1);
        constants.mark_at = mark_at;
        constants.out = out;
        constants.exit_header[..14].copy_from_slice(&exit.header);
        constants.exit_link = exit.link;
        constants.spin = exit.spin.min(4096);
        if let Some((old, new)) = exit.source {
            constants.snat = u32::from_ne_bytes(new.octets());
            constants.snat_delta = delta(old, new);
        }
        let frames = match &traffic.shorter {
            None => vec![&traffic.frame],
            Some([short, middle]) => vec![short, middle, &traffic.frame],
        };
        if frames.len() > 1 {
            for (length, frame) in constants.lengths.iter_mut().zip(&frames) {
                *length = frame.len() as u32;
            }
        }
        let state = open.maps.bss_data.as_mut().expect("the object has a .bss");
        for (template, frame) in state.template.iter_mut().zip(&frames) {
            template[..layout.headers].copy_from_slice(&frame[..layout.headers]);
        }
        let skel = open
            .load()
            .map_err(|e| Error::bpf("load the benchmark", e))?;
        let bench = Self {
            skel,
            frame: traffic.frame.clone(),
            mixed: traffic.shorter.is_some(),
            links: Vec::new(),
        };
        let progs = &bench.skel.progs;
        for (target, program) in [
            (Target::Bare, &progs.bare),
            (Target::Ceiling, &progs.ceiling),
            (Target::HashNat, &progs.hash_nat),
            (Target::BareTc, &progs.bare_tc),
            (Target::CeilingTc, &progs.ceiling_tc),
        ] {
            bench.enter(target, program)?;
        }
        if exit.link != 0 {
            hook::allow_transmit(&bench.skel.maps.transmit, 0, exit.link)?;
        }
        Ok(bench)
    }

    fn enter(&self, target: Target, program: &impl AsFd) -> Result<(), Error> {
        let map = if target.is_tc() {
            &self.skel.maps.targets_tc
        } else {
            &self.skel.maps.targets
        };
        map.update(
            &(target as u32).to_ne_bytes(),
            &program.as_fd().as_raw_fd().to_ne_bytes(),
            MapFlags::ANY,
        )
        .map_err(|e| Error::bpf(format!("enter {target:?} as a target"), e))
    }

    /// Makes weir's programs targets of [`Bench::rotate`].
    pub fn aim(&self, path: &Datapath) -> Result<(), Error> {
        self.enter(Target::Weir, &path.programs.xdp)?;
        self.enter(Target::WeirTc, &path.programs.tc)?;
        self.enter(Target::Witness, &path.programs.witness)
    }

    /// Makes the meter's programs targets of [`Bench::rotate`].
    pub fn aim_meter(&self, programs: &Programs) -> Result<(), Error> {
        self.enter(Target::MeterIn, &programs.into)?;
        self.enter(Target::MeterOut, &programs.out)
    }

    /// Makes the programs of ports targets of [`Bench::rotate`].
    pub fn aim_cables(&self, cables: &Cables) -> Result<(), Error> {
        let [into, out] = cables.programs();
        self.enter(Target::CableIn, into)?;
        self.enter(Target::CableOut, out)
    }

    /// Adds the programs that the meter is compared with to the targets of [`Bench::rotate`].
    pub fn aim_peers(&self, peers: &Peers) -> Result<(), Error> {
        for (target, program) in peers.programs() {
            self.enter(target, program)?;
        }
        Ok(())
    }

    /// Attaches a program to a device of the current namespace, for as long as this lives.
    pub fn attach(&mut self, program: Program, link: u32, name: &str) -> Result<(), Error> {
        let progs = &self.skel.progs;
        let driver = libbpf_sys::XDP_FLAGS_DRV_MODE;
        let (program, kind, flags) = match program {
            Program::SinkXdp => (&progs.sink_xdp, libbpf_sys::BPF_XDP, driver),
            Program::SinkMarked => (&progs.sink_marked, libbpf_sys::BPF_XDP, driver),
            Program::Ceiling => (&progs.ceiling, libbpf_sys::BPF_XDP, driver),
            Program::CeilingGeneric => (
                &progs.ceiling,
                libbpf_sys::BPF_XDP,
                libbpf_sys::XDP_FLAGS_SKB_MODE,
            ),
            Program::HashNat => (&progs.hash_nat, libbpf_sys::BPF_XDP, driver),
            Program::Fib => (&progs.fib, libbpf_sys::BPF_XDP, driver),
            Program::CountTc => (&progs.count_tc, libbpf_sys::BPF_TCX_EGRESS, 0),
            Program::PassIn => (&progs.pass_tc, libbpf_sys::BPF_TCX_INGRESS, 0),
            Program::PassOut => (&progs.pass_tc, libbpf_sys::BPF_TCX_EGRESS, 0),
            Program::SinkTc => (&progs.sink_tc, libbpf_sys::BPF_TCX_INGRESS, 0),
            Program::CeilingTc => (&progs.ceiling_tc, libbpf_sys::BPF_TCX_INGRESS, 0),
        };
        let link = match (
            hook::link_create(program.as_fd(), link, kind, flags),
            point_before_tcx(kind),
        ) {
            (Ok(link), _) => hook::Attachment::Link(link),
            // EINVAL: the kernel lacks TCX.
            (Err(error), Some(point)) if error.raw_os_error() == Some(libc::EINVAL) => {
                hook::attach_filter(program.as_fd(), link, name, point, PRIORITY)?
            }
            (Err(source), _) => {
                let what = format!("attach to {name}");
                return Err(Error::System { what, source });
            }
        };
        self.links.push(link);
        Ok(())
    }

    /// Takes off everything that was attached.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// Sends this many frames, rounded up to 64, from the current namespace, in which the device
    /// `out` is; returns the time. Receivers run on this CPU, within this call, unless their NAPI
    /// is threaded.
    pub fn generate(&mut self, packets: u32) -> Result<Duration, Error> {
        let start = Instant::now();
        self.feed(packets)?;
        Ok(start.elapsed())
    }

    /// Like [`Bench::generate`]; returns nanoseconds per frame as the kernel counts them
    /// (net/bpf/test_run.c, `bpf_test_run_xdp_live`): without preparing, tidying up (at the next
    /// tick of the clock), and other work on this CPU. Whole nanoseconds, rounded down.
    pub fn generate_timed(&mut self, packets: u32) -> Result<u64, Error> {
        Ok(self.feed(packets)?.as_nanos() as u64)
    }

    fn feed(&mut self, packets: u32) -> Result<Duration, Error> {
        // BPF_F_TEST_XDP_LIVE_FRAMES; batches of 64 are the kernel's default.
        let input = ProgramInput {
            data_in: Some(&self.frame),
            repeat: packets.max(1),
            flags: libbpf_sys::BPF_F_TEST_XDP_LIVE_FRAMES,
            ..Default::default()
        };
        let progs = &self.skel.progs;
        let program = match self.mixed {
            true => &progs.generate_mix,
            false => &progs.generate,
        };
        let output = program
            .test_run(input)
            .map_err(|e| Error::bpf("send frames", e))?;
        Ok(output.duration)
    }

    /// Packets that reached this copy's sinks.
    pub fn sunk(&self) -> u64 {
        self.skel.maps.bss_data.as_ref().map_or(0, |bss| {
            // SAFETY: an aligned word of a live mapping, which the kernel changes: hence volatile.
            unsafe { (&raw const bss.state.sunk).read_volatile() }
        })
    }

    /// Returns the counts of [`Program::SinkMarked`].
    pub fn marked(&self) -> Marked {
        let Some(bss) = self.skel.maps.bss_data.as_ref() else {
            return Marked::default();
        };
        // SAFETY: aligned words of a live mapping, which the kernel changes: hence volatile.
        let (packets, last) = unsafe {
            (
                (&raw const bss.marked.packets).read_volatile(),
                (&raw const bss.marked.last).read_volatile(),
            )
        };
        Marked { packets, last }
    }

    /// Makes the sinks keep the next packets, at most 64.
    pub fn sample(&mut self, packets: u32) {
        if let Some(bss) = self.skel.maps.bss_data.as_mut() {
            bss.state.taken = 0;
            bss.state.wanted = packets.min(64);
        }
    }

    /// Returns the samples of the sinks.
    pub fn samples(&self) -> Vec<Sample> {
        let Some(bss) = self.skel.maps.bss_data.as_ref() else {
            return Vec::new();
        };
        let taken = (bss.state.taken as usize).min(bss.samples.len());
        bss.samples[..taken]
            .iter()
            .map(|s| Sample {
                length: s.len,
                head: s.head[..sample_length(s.len)].to_vec(),
                tag: (s.vlan_proto != 0).then(|| (u16::from_be(s.vlan_proto), s.vlan_tci)),
            })
            .collect()
    }

    /// Enters a flow into the hash map of [`Program::HashNat`] and [`Target::HashNat`]: IPv4, its
    /// source translated.
    pub fn translate(&self, original: &Tuple, reply: &Tuple) -> Result<(), Error> {
        let (IpAddr::V4(from), IpAddr::V4(to), IpAddr::V4(source)) =
            (original.source, original.destination, reply.destination)
        else {
            return Err(Error::MixedFamilies);
        };
        let mut key = [0; 16]; // struct flow_key4
        key[..4].copy_from_slice(&from.octets());
        key[4..8].copy_from_slice(&to.octets());
        key[8..10].copy_from_slice(&original.source_port.to_be_bytes());
        key[10..12].copy_from_slice(&original.destination_port.to_be_bytes());
        key[12] = original.protocol.number();
        let mut value = [0; size_of::<skel::types::nat_entry>()];
        let at = (
            offset_of!(skel::types::nat_entry, saddr),
            offset_of!(skel::types::nat_entry, sport),
            offset_of!(skel::types::nat_entry, addr_delta),
            offset_of!(skel::types::nat_entry, port_delta),
        );
        let ports = match (original.source_port, reply.destination_port) {
            (old, new) if old == new => 0,
            (old, new) => fold(u32::from(!old.to_be()) + u32::from(new.to_be())),
        };
        value[at.0..at.0 + 4].copy_from_slice(&source.octets());
        value[at.1..at.1 + 2].copy_from_slice(&reply.destination_port.to_be_bytes());
        value[at.2..at.2 + 2].copy_from_slice(&fold(delta(from, source)).to_ne_bytes());
        value[at.3..at.3 + 2].copy_from_slice(&ports.to_ne_bytes());
        self.skel
            .maps
            .nat_entries
            .update(&key, &value, MapFlags::ANY)
            .map_err(|e| Error::bpf("enter a flow into the hash map", e))
    }

    /// Writes the next flow's frame and runs a program on it, `runs` times, as if it came in at
    /// `link`. Returns the mean time in nanoseconds; [`Target::Bare`] or [`Target::BareTc`]
    /// measures the part that is not the program's own.
    pub fn rotate(&mut self, target: Target, link: u32, runs: u32) -> Result<u64, Error> {
        if let Some(bss) = self.skel.maps.bss_data.as_mut() {
            bss.state.target = target as u32;
            bss.state.start = 0;
        }
        let (frame, progs) = (&self.frame, &self.skel.progs);
        let (_, _, time) = if target.is_tc() {
            run::test_run_skb(&progs.rotate_tc, frame, link, runs)?
        } else {
            run::test_run(&progs.rotate, frame, Some(link), runs)?
        };
        Ok(time)
    }
}
