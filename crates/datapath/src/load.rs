//! Loading the object: sizes and constants are set before, so that the verifier folds them into the
//! code.

use std::mem::MaybeUninit;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{AsRawLibbpf, ErrorKind, ProgramInput, ProgramMut};

use crate::clock;
use crate::drops;
use crate::error::Error;
use crate::headers;
use crate::port;
use crate::probe;
use crate::skel::{WeirSkel, WeirSkelBuilder, types};

/// Words can be read at any address. Where CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS is not set, the
/// verifier is strict about alignment.
pub const UNALIGNED: bool = !cfg!(any(
    target_arch = "mips",
    target_arch = "mips64",
    target_arch = "riscv64",
    target_arch = "sparc64"
));

/// Processors may read memory in another order than the program does.
pub const WEAK_ORDER: bool = !cfg!(any(target_arch = "x86", target_arch = "x86_64"));

/// Packets may take this long from ingress to egress through the kernel and still be proof,
/// milliseconds.
const PATIENCE: u32 = 50;

/// Most port slots.
pub(crate) const PORTS_MAX: u32 = 1 << headers::PORT_SLOT_BITS;

/// How large the tables are. All numbers are rounded up to powers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// IPv4 records: two for each connection.
    pub flows4: u32,
    /// IPv6 records.
    pub flows6: u32,
    /// Port slots: device indices must differ modulo this.
    pub ports: u32,
}

impl Sizes {
    /// Sizes for so many connections of each family, and for these devices.
    pub fn new(connections4: u32, connections6: u32, links: &[u32]) -> Self {
        // Buckets of four fill unevenly: at half load less than 1 in 1000 finds neither of its
        // buckets free.
        let records = |n: u32| n.clamp(4, 1 << 22).saturating_mul(4).next_power_of_two();
        let mut ports = 64;
        while ports < PORTS_MAX && collide(links, ports) {
            ports *= 2;
        }
        Self {
            flows4: records(connections4),
            flows6: records(connections6),
            ports,
        }
    }

    pub(crate) fn buckets4(&self) -> u32 {
        self.flows4 / 4
    }

    pub(crate) fn buckets6(&self) -> u32 {
        self.flows6 / 4
    }

    pub(crate) fn trials(&self) -> u32 {
        self.flows4 + self.flows6
    }

    /// Memory the kernel sets aside for the tables, bytes.
    pub fn octets(&self) -> u64 {
        u64::from(self.flows4) * (64 + 48 + 2) + u64::from(self.flows6) * (128 + 48 + 2)
    }
}

pub(crate) fn collide(links: &[u32], slots: u32) -> bool {
    let mut taken = vec![false; slots as usize];
    links
        .iter()
        .any(|link| std::mem::replace(&mut taken[(link & (slots - 1)) as usize], true))
}

/// How the packet path behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Let the kernel forward; compare what weir would have sent with what it sends.
    pub shadow: bool,
    /// Without a beat for so long, everything goes to the kernel, milliseconds.
    pub silence: u32,
    /// After a change nothing is proven for so long, milliseconds.
    pub quiet: u32,
    /// The processor reorders loads: everything but x86 is taken to.
    pub weak_order: bool,
    /// The witness is run by BPF_PROG_TEST_RUN, which gives every packet a socket: do not take that
    /// for local traffic.
    pub rehearsal: bool,
    /// After a FIN, RST or SYN a flow is not proven for so long, milliseconds.
    pub hold: u32,
    /// Learn what netfilter drops, where the kernel tells.
    pub learn_drops: bool,
    /// Load what forwards frames between members of a bridge.
    pub bridge: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            shadow: false,
            silence: 2000,
            quiet: 10,
            hold: 60,
            learn_drops: false,
            bridge: false,
            rehearsal: false,
            weak_order: WEAK_ORDER,
        }
    }
}

impl Options {
    pub(crate) fn quiet_jiffies(&self) -> u32 {
        clock::jiffies(self.quiet)
    }
}

/// Opens, sizes and loads the object. Kernels from 5.18 on let XDP see frames in several buffers;
/// older ones refuse the flag.
pub fn load(sizes: &Sizes, options: &Options) -> Result<WeirSkel<'static>, Error> {
    match try_load(sizes, options, libbpf_sys::BPF_F_XDP_HAS_FRAGS) {
        Err(Error::Bpf { source, .. }) if source.kind() == ErrorKind::InvalidInput => {
            try_load(sizes, options, 0)
        }
        other => other,
    }
}

fn try_load(sizes: &Sizes, options: &Options, xdp_flags: u32) -> Result<WeirSkel<'static>, Error> {
    probe::listen();
    // The object lives as long as the process: the daemon loads it once.
    let storage = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = WeirSkelBuilder::default()
        .open(storage)
        .map_err(|e| Error::bpf("open the packet path", e))?;

    let constants = open
        .maps
        .rodata_data
        .as_mut()
        .expect("the object has a .rodata");
    constants.hash_seed = random_seed()?;
    constants.flows4_mask = sizes.buckets4() - 1;
    constants.flows6_mask = sizes.buckets6() - 1;
    constants.ports_mask = sizes.ports - 1;
    constants.patience = clock::jiffies(PATIENCE);
    constants.hold = clock::jiffies(options.hold);
    constants.silence = clock::jiffies(options.silence);
    constants.rehearsal = u32::from(options.rehearsal);
    constants.weak_order = u32::from(options.weak_order);
    constants.unaligned = u32::from(UNALIGNED);
    constants.ipsec = u32::from(probe::tells_decrypted());
    constants.shadow = u32::from(options.shadow);
    constants.buffers = u32::from(xdp_flags & libbpf_sys::BPF_F_XDP_HAS_FRAGS != 0);
    constants.bridging = u32::from(options.bridge);
    drops::configure(&mut open, options.learn_drops)?;
    // 0 and 1 mean "not proven" and "being proven" (bpf/include/witness.h).
    open.maps
        .bss_data
        .as_mut()
        .expect("the object has a .bss")
        .control
        .epoch = 16;

    for (map, entries) in [
        (&mut open.maps.flows4, sizes.buckets4()),
        (&mut open.maps.flows6, sizes.buckets6()),
        (&mut open.maps.tags4, sizes.buckets4()),
        (&mut open.maps.tags6, sizes.buckets6()),
        (&mut open.maps.trials, sizes.trials()),
        (
            &mut open.maps.expectations,
            if options.shadow { sizes.trials() } else { 1 },
        ),
        (&mut open.maps.transmit, sizes.ports),
        (&mut open.maps.sessions, sizes.ports * port::SESSIONS),
    ] {
        map.set_max_entries(entries)
            .map_err(|e| Error::bpf("size a map", e))?;
    }
    open.maps
        .bss_ports
        .set_value_size(sizes.ports * size_of::<types::port>() as u32)
        .map_err(|e| Error::bpf("size the ports", e))?;
    open.progs.weir_xdp.set_autoload(!options.bridge);
    open.progs.weir_xdp_onward.set_autoload(options.bridge);
    open.progs.weir_bridge_tc.set_autoload(options.bridge);
    open.progs.weir_bridge_xdp.set_autoload(options.bridge);
    open.progs.weir_bridge_witness.set_autoload(options.bridge);
    // The kernel lets one go on with the other only if both see such frames.
    for program in [
        &open.progs.weir_xdp,
        &open.progs.weir_xdp_onward,
        &open.progs.weir_bridge_xdp,
    ] {
        // SAFETY: a program of an open object that is not loaded yet.
        let refused = unsafe {
            libbpf_sys::bpf_program__set_flags(program.as_libbpf_object().as_ptr(), xdp_flags)
        };
        debug_assert_eq!(refused, 0);
    }
    open.load()
        .map_err(|e| Error::load("load the packet path", e))
}

/// The program at the XDP hook: with `bridge` it is one that others may take over from.
pub(crate) fn at_xdp<'a>(skel: &'a WeirSkel<'_>) -> &'a ProgramMut<'a> {
    let constants = skel.maps.rodata_data.as_ref();
    match constants.is_some_and(|constants| constants.bridging != 0) {
        true => &skel.progs.weir_xdp_onward,
        false => &skel.progs.weir_xdp,
    }
}

/// Three random numbers, the last two odd.
pub(crate) fn random_seed() -> Result<[u64; 3], Error> {
    let mut seed = [0u64; 3];
    // SAFETY: the buffer is ours and as long as said.
    let got = unsafe { libc::getrandom(seed.as_mut_ptr().cast(), size_of_val(&seed), 0) };
    if got != size_of_val(&seed) as isize {
        return Err(Error::last_os("get random numbers"));
    }
    seed[1] |= 1;
    seed[2] |= 1;
    Ok(seed)
}

/// BPF_PROG_TEST_RUN of an XDP program.
pub fn test_run(
    program: &libbpf_rs::ProgramMut<'_>,
    frame: &[u8],
    link: Option<u32>,
    repeat: u32,
) -> Result<(u32, Vec<u8>, u64), Error> {
    let mut context = [0u8; 24]; // struct xdp_md: data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex
    context[4..8].copy_from_slice(&(frame.len() as u32).to_ne_bytes());
    context[12..16].copy_from_slice(&link.unwrap_or(0).to_ne_bytes());
    run(program, frame, &mut context, repeat)
}

/// BPF_PROG_TEST_RUN of a TC program.
pub fn test_run_skb(
    program: &libbpf_rs::ProgramMut<'_>,
    frame: &[u8],
    link: u32,
    repeat: u32,
) -> Result<(u32, Vec<u8>, u64), Error> {
    test_run_skb_with(program, frame, link, &mut SkbFields::default(), repeat)
}

/// What an skb carries beside its bytes: the fields of `struct __sk_buff` that BPF_PROG_TEST_RUN
/// takes and gives back (net/bpf/test_run.c, `convert___skb_to_skb`; VLAN tags are not among them).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkbFields {
    /// `skb->mark`.
    pub mark: u32,
    /// `skb->priority`.
    pub priority: u32,
    /// Payload of one segment of a super-packet, bytes; 0 for an ordinary packet.
    pub gso_size: u32,
    /// Number of segments of a super-packet.
    pub gso_segs: u32,
    /// Control block: the first two words mark what weir sent itself.
    pub cb: [u32; 5],
    /// `skb->skb_iif`: the device it came in at; 0 for none.
    pub ingress: u32,
}

/// The same with more than bytes.
pub fn test_run_skb_with(
    program: &libbpf_rs::ProgramMut<'_>,
    frame: &[u8],
    link: u32,
    fields: &mut SkbFields,
    repeat: u32,
) -> Result<(u32, Vec<u8>, u64), Error> {
    use std::mem::offset_of;
    type Skb = crate::skel::types::__sk_buff;

    let mut context = [0u8; size_of::<Skb>()];
    let mut words = [
        (offset_of!(Skb, ifindex), link),
        (offset_of!(Skb, mark), fields.mark),
        (offset_of!(Skb, priority), fields.priority),
        (offset_of!(Skb, gso_size), fields.gso_size),
        (offset_of!(Skb, gso_segs), fields.gso_segs),
        (offset_of!(Skb, cb), fields.cb[0]),
        (offset_of!(Skb, cb) + 4, fields.cb[1]),
        (offset_of!(Skb, cb) + 8, fields.cb[2]),
        (offset_of!(Skb, cb) + 12, fields.cb[3]),
        (offset_of!(Skb, cb) + 16, fields.cb[4]),
        (offset_of!(Skb, ingress_ifindex), fields.ingress),
    ];
    for (at, value) in words {
        context[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    let result = run(program, frame, &mut context, repeat)?;
    for (at, value) in &mut words {
        let octets = context[*at..*at + 4].try_into().expect("four bytes");
        *value = u32::from_ne_bytes(octets);
    }
    *fields = SkbFields {
        mark: words[1].1,
        priority: words[2].1,
        gso_size: words[3].1,
        gso_segs: words[4].1,
        cb: [5, 6, 7, 8, 9].map(|i| words[i].1),
        ingress: words[10].1,
    };
    Ok(result)
}

fn run(
    program: &libbpf_rs::ProgramMut<'_>,
    frame: &[u8],
    context: &mut [u8],
    repeat: u32,
) -> Result<(u32, Vec<u8>, u64), Error> {
    let mut out = vec![0; frame.len() + 256];
    let mut context_in = context.to_vec();
    let input = ProgramInput {
        context_in: Some(&mut context_in),
        context_out: Some(context),
        data_in: Some(frame),
        data_out: Some(&mut out),
        repeat,
        ..Default::default()
    };
    let result = program
        .test_run(input)
        .map_err(|e| Error::bpf("run a program on a frame", e))?;
    let (action, spent) = (result.return_value, result.duration);
    let length = result.data.map_or(0, |d| d.len());
    out.truncate(length);
    Ok((action, out, spent.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_slots_grow_until_devices_differ() {
        assert_eq!(Sizes::new(100, 100, &[1, 2, 3]).ports, 64);
        assert_eq!(Sizes::new(100, 100, &[1, 65]).ports, 128);
        assert_eq!(Sizes::new(100, 100, &[1, 1 + 1024]).ports, 2048);
        assert_eq!(Sizes::new(100, 100, &[1, 1 + 4096]).ports, PORTS_MAX);
    }

    #[test]
    fn tables_are_powers_of_two() {
        let sizes = Sizes::new(1000, 3, &[]);
        assert_eq!((sizes.flows4, sizes.flows6), (4096, 16));
    }
}
