//! Loading the object: sizes and constants are set before, so that the verifier folds them into the
//! code.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{AsRawLibbpf, MapCore, MapFlags, MapMut, OpenObject};

use crate::clock;
use crate::drops;
use crate::error::Error;
use crate::headers;
use crate::mapped::constants;
use crate::port;
use crate::program::keep;
use crate::sizes::Sizes;
use crate::skel::{OpenWeirSkel, WeirSkel, WeirSkelBuilder, types};
use crate::{libbpf_log, probe};

/// True if words can be read at any address. Without CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS the
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

/// Options of the packet path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// True to let the kernel forward, and only compare weir's expected packets with the kernel's.
    pub shadow: bool,
    /// Time without a beat after which all packets go to the kernel, milliseconds.
    pub silence: u32,
    /// After a change nothing is proven for so long, milliseconds.
    pub quiet: u32,
    /// The processor reorders loads: everything but x86 is taken to.
    pub weak_order: bool,
    /// True if BPF_PROG_TEST_RUN runs the witness, which gives every packet a socket: such packets
    /// do not count as local traffic.
    pub rehearsal: bool,
    /// After a FIN, RST or SYN a flow is not proven for so long, milliseconds.
    pub hold: u32,
    /// Learns netfilter's drops, if the kernel can report them.
    pub learn_drops: bool,
    /// True to load the programs that forward between members of a bridge.
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

/// The programs at the hooks.
///
/// The verifier takes most of the time of a start, and checks one program after another if one
/// thread loads them. So several threads load programs, each from an object of its own over the
/// same maps.
pub(crate) struct Programs {
    /// Program at TC ingress.
    pub tc: OwnedFd,
    /// Program at the XDP hook.
    pub xdp: OwnedFd,
    /// Program at TC egress.
    pub witness: OwnedFd,
}

/// Names of the programs, in the order of [`Programs`], sorted by load time. With `bridge` other
/// programs may continue the work of the one at the XDP hook.
const fn at_hooks(bridge: bool) -> [&'static str; 3] {
    let xdp = match bridge {
        true => "weir_xdp_onward",
        false => "weir_xdp",
    };
    ["weir_tc", xdp, "weir_witness"]
}

/// Opens, sizes and loads the objects: one with all maps, and the programs that the verifier checks
/// quickly; and those of the programs at the hooks.
pub(crate) fn load(
    sizes: &Sizes,
    options: &Options,
) -> Result<(WeirSkel<'static>, Programs), Error> {
    libbpf_log::listen();
    // Kernels from 5.18 on let XDP see frames in several buffers; older ones refuse the flag.
    let buffers = probe::takes_buffers();
    // The object lives as long as the process: the daemon loads it once.
    let storage = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = open(storage, sizes, options, buffers)?;
    set_constants(&mut open, sizes, options, buffers)?;
    for mut program in open.open_object_mut().progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let apart = [false, true].map(at_hooks).as_flattened().contains(&&*name);
        program.set_autoload(!apart && (options.bridge || !name.starts_with("weir_bridge")));
    }
    let main = open
        .load()
        .map_err(|e| Error::load("load the packet path", e))?;
    let programs = load_at_hooks(&main, sizes, options, buffers)?;
    link(&main, &programs, options.bridge)?;
    Ok((main, programs))
}

/// Loads the programs at the hooks over the maps of `main`: as many at once as there are
/// processors. More at once would not be faster, and use more memory.
fn load_at_hooks(
    main: &WeirSkel<'_>,
    sizes: &Sizes,
    options: &Options,
    buffers: bool,
) -> Result<Programs, Error> {
    let names = at_hooks(options.bridge);
    let next = AtomicUsize::new(0);
    let loaded = [const { OnceLock::new() }; 3];
    let work = || {
        while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < 3) {
            loaded[at].get_or_init(|| load_apart(main, names[at], sizes, options, buffers));
        }
    };
    thread::scope(|scope| {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        for _ in 1..processors.min(names.len()) {
            // If no thread can be spawned, this one does all the work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let [tc, xdp, witness] = loaded.map(|one| one.into_inner().expect("each was loaded"));
    Ok(Programs {
        tc: tc?,
        xdp: xdp?,
        witness: witness?,
    })
}

/// Loads one program over the maps of another object. The rest of its object is freed again.
fn load_apart(
    main: &WeirSkel<'_>,
    name: &str,
    sizes: &Sizes,
    options: &Options,
    buffers: bool,
) -> Result<OwnedFd, Error> {
    let mut storage = MaybeUninit::uninit();
    let mut open = open(&mut storage, sizes, options, buffers)?;
    for mut program in open.open_object_mut().progs_mut() {
        let wanted = program.name() == name;
        program.set_autoload(wanted);
    }
    for mut map in open.open_object_mut().maps_mut() {
        let own = main.object().maps().find(|own| own.name() == map.name());
        let own = own.ok_or_else(|| Error::Lacks(format!("the map {:?}", map.name())))?;
        map.reuse_fd(own.as_fd())
            .map_err(|e| Error::bpf("share a map", e))?;
    }
    let loaded = open
        .load()
        .map_err(|e| Error::load("load the packet path", e))?;
    let program = loaded
        .object()
        .progs()
        .find(|program| program.name() == name)
        .ok_or_else(|| Error::Lacks(format!("the program {name}")))?;
    keep(&program)
}

/// Opens an object with tables of these sizes.
fn open<'a>(
    storage: &'a mut MaybeUninit<OpenObject>,
    sizes: &Sizes,
    options: &Options,
    buffers: bool,
) -> Result<OpenWeirSkel<'a>, Error> {
    let mut open = WeirSkelBuilder::default()
        .open(storage)
        .map_err(|e| Error::bpf("open the packet path", e))?;
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
    drops::size(&mut open, options.learn_drops)?;
    let xdp_flags = match buffers {
        true => libbpf_sys::BPF_F_XDP_HAS_FRAGS,
        false => 0,
    };
    // The kernel lets one program continue in the other only if both accept such frames.
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
    Ok(open)
}

fn set_constants(
    open: &mut OpenWeirSkel<'_>,
    sizes: &Sizes,
    options: &Options,
    buffers: bool,
) -> Result<(), Error> {
    let constants = constants(&mut open.maps.rodata_data);
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
    constants.buffers = u32::from(buffers);
    constants.bridging = u32::from(options.bridge);
    drops::set_constants(constants, options.learn_drops);
    // 0 and 1 mean "not proven" and "being proven" (bpf/include/witness.h).
    open.maps
        .bss_data
        .as_mut()
        .expect("the object has a .bss")
        .control
        .epoch = 16;
    Ok(())
}

/// Connects programs that continue in others: see `enum part` of bpf/include/sum.h.
fn link(main: &WeirSkel<'_>, programs: &Programs, bridge: bool) -> Result<(), Error> {
    let (progs, maps) = (&main.progs, &main.maps);
    let enter = |map: &MapMut<'_>, slot: u64, program: BorrowedFd<'_>| {
        let number = program.as_raw_fd().to_ne_bytes();
        map.update(&(slot as u32).to_ne_bytes(), &number, MapFlags::ANY)
            .map_err(|e| Error::bpf("link the programs", e))
    };
    enter(&maps.parts, headers::PART_LINK, progs.weir_tc_link.as_fd())?;
    enter(&maps.parts, headers::PART_SUM, progs.weir_sum.as_fd())?;
    enter(&maps.parts, headers::PART_WITNESS, programs.witness.as_fd())?;
    if !bridge {
        return Ok(());
    }
    enter(
        &maps.parts,
        headers::PART_BRIDGE,
        progs.weir_bridge_tc.as_fd(),
    )?;
    let witness = progs.weir_bridge_witness.as_fd();
    enter(&maps.parts, headers::PART_BRIDGE_WITNESS, witness)?;
    enter(&maps.xdp_parts, 0, progs.weir_bridge_xdp.as_fd())
}

/// Three random numbers, the last two odd.
pub(crate) fn random_seed() -> Result<[u64; 3], Error> {
    let mut seed = [0u64; 3];
    // SAFETY: the buffer is owned here, and has the stated length.
    let got = unsafe { libc::getrandom(seed.as_mut_ptr().cast(), size_of_val(&seed), 0) };
    if got != size_of_val(&seed) as isize {
        return Err(Error::last_os("get random numbers"));
    }
    seed[1] |= 1;
    seed[2] |= 1;
    Ok(seed)
}
