//! Attaching the programs to devices. Links (XDP, TCX) end with the process; where the kernel has
//! no TCX (before 6.6), clsact filters stay behind after a kill: harmless, since the heartbeat
//! stops them from forwarding, and replaced at the next start.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_rs::{
    MapCore, MapFlags, MapMut, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook, TcHookBuilder,
};

use crate::error::Error;
use crate::load::Programs;
use crate::tcx;

/// Where packets of a port are taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// XDP in the driver, and TC for what XDP leaves.
    Xdp,
    /// TC ingress only.
    Tc,
    /// Nowhere: what leaves here is looked at, as copies of it may have left by ports.
    Watch,
}

/// Filters of ours on clsact: a handle of our own.
const HANDLE: u32 = 0x7765;

/// Names of the programs that are attached at TC. Before Linux 6.6 they are filters, which libbpf
/// names `weir_tc:[17]`.
pub const TC_PROGRAMS: [&str; 6] = [
    "weir_tc",
    "weir_witness",
    "weir_meter_in",
    "weir_meter_out",
    "weir_cable_in",
    "weir_cable_out",
];

/// Where a program stands among those at TC of a device. The gate of a cable comes before all: what
/// it drops is neither forwarded nor counted. At ingress the packet path comes before the meter, at
/// egress the meter before the witness: so the meter sees what weir does not forward itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The gate, before all.
    GateIn,
    /// The gate, before all.
    GateOut,
    /// The packet path.
    FirstIn,
    /// The meter, behind it.
    LastIn,
    /// The meter, before the witness.
    FirstOut,
    /// The witness.
    LastOut,
}

impl Place {
    fn point(self) -> TcAttachPoint {
        match self {
            Self::GateIn | Self::FirstIn | Self::LastIn => TC_INGRESS,
            Self::GateOut | Self::FirstOut | Self::LastOut => TC_EGRESS,
        }
    }

    /// Priority of a clsact filter.
    fn priority(self) -> u32 {
        match self {
            Self::GateIn | Self::GateOut => 1,
            Self::FirstIn => 2,
            Self::LastIn => 3,
            Self::FirstOut => 0xffef,
            Self::LastOut => 0xfff0,
        }
    }

    /// Flags of a TCX link: before or after all that is there.
    fn flags(self) -> u32 {
        match self {
            Self::GateIn | Self::GateOut | Self::FirstIn | Self::FirstOut => {
                libbpf_sys::BPF_F_BEFORE
            }
            Self::LastIn | Self::LastOut => libbpf_sys::BPF_F_AFTER,
        }
    }

    fn is_gate(self) -> bool {
        matches!(self, Self::GateIn | Self::GateOut)
    }
}

/// What holds one program on one device.
pub(crate) enum Attachment {
    /// Ends when the descriptor closes.
    Link(#[allow(dead_code)] OwnedFd),
    /// A clsact filter, to be taken off by hand.
    Filter(TcHook),
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Self::Filter(hook) = self {
            // The device may be gone; then so is the filter.
            let _ = hook.detach();
        }
    }
}

/// All attachments, by device.
#[derive(Default)]
pub struct Hooks {
    by_link: HashMap<u32, (Hook, Vec<Attachment>)>,
}

impl Hooks {
    /// Attaches what `hook` needs, where it is not attached already.
    pub fn attach(
        &mut self,
        programs: &Programs,
        link: u32,
        name: &str,
        hook: Hook,
    ) -> Result<(), Error> {
        if self
            .by_link
            .get(&link)
            .is_some_and(|(attached, _)| *attached == hook)
        {
            return Ok(());
        }
        self.by_link.remove(&link);
        let mut made = Vec::with_capacity(3);
        // The witness first: no packet may be taken over before it can be proven.
        made.push(attach_tc(&programs.witness, link, name, Place::LastOut)?);
        if hook != Hook::Watch {
            made.push(attach_tc(&programs.tc, link, name, Place::FirstIn)?);
        }
        if hook == Hook::Xdp {
            let flags = libbpf_sys::XDP_FLAGS_DRV_MODE;
            made.push(Attachment::Link(
                link_create(programs.xdp.as_fd(), link, libbpf_sys::BPF_XDP, flags).map_err(
                    |source| Error::System {
                        what: format!("attach XDP to {name} (`hook = \"tc\"` avoids it)"),
                        source,
                    },
                )?,
            ));
        }
        self.by_link.insert(link, (hook, made));
        Ok(())
    }

    /// Whether XDP runs on a device.
    pub fn at_xdp(&self, link: u32) -> bool {
        self.by_link
            .get(&link)
            .is_some_and(|(hook, _)| *hook == Hook::Xdp)
    }

    /// Takes everything off a device.
    pub fn detach(&mut self, link: u32) -> Result<(), Error> {
        self.by_link.remove(&link);
        Ok(())
    }
}

/// Attaches a program at TC of the device `name`.
pub(crate) fn attach_tc(
    program: &impl AsFd,
    link: u32,
    name: &str,
    place: Place,
) -> Result<Attachment, Error> {
    let program = program.as_fd();
    if let Ok(own) = info(program) {
        debug_assert!(
            TC_PROGRAMS.contains(&&*name_of(&own)),
            "{:?} is missing in TC_PROGRAMS",
            name_of(&own)
        );
        tcx::is_ours(own.id, place.is_gate());
    }
    let point = place.point();
    let kind = if point == TC_INGRESS {
        libbpf_sys::BPF_TCX_INGRESS
    } else {
        libbpf_sys::BPF_TCX_EGRESS
    };
    // Whoever comes first otherwise comes right behind a gate.
    let gate = match place {
        Place::FirstIn | Place::FirstOut => tcx::gate(link, kind),
        _ => None,
    };
    let behind = gate.and_then(|gate| link_create_behind(program, link, kind, gate).ok());
    match behind.map_or_else(|| link_create(program, link, kind, place.flags()), Ok) {
        Ok(fd) => Ok(Attachment::Link(fd)),
        // EINVAL: the kernel knows no TCX.
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) => Err(Error::System {
            what: format!("attach TC to {name}"),
            source: error,
        }),
        Err(_) => attach_filter(program, link, name, point, place.priority()),
    }
}

/// Attaches a program as a filter of clsact, as before Linux 6.6, which has TCX.
pub(crate) fn attach_filter(
    program: BorrowedFd<'_>,
    link: u32,
    name: &str,
    point: TcAttachPoint,
    priority: u32,
) -> Result<Attachment, Error> {
    let mut hook = TcHookBuilder::new(program)
        .ifindex(link as i32)
        .replace(true)
        .handle(HANDLE)
        .priority(priority)
        .hook(point);
    hook.create()
        .map_err(|e| Error::bpf(format!("make clsact on {name}"), e))?;
    hook.attach()
        .map(Attachment::Filter)
        .map_err(|e| Error::bpf(format!("attach TC to {name}"), e))
}

pub(crate) fn link_create(
    program: BorrowedFd<'_>,
    link: u32,
    kind: u32,
    flags: u32,
) -> Result<OwnedFd, std::io::Error> {
    // SAFETY: all-zero options are valid.
    let mut options: libbpf_sys::bpf_link_create_opts = unsafe { std::mem::zeroed() };
    options.flags = flags;
    link_create_with(program, link, kind, options)
}

/// A TCX link right behind another program, by its number.
fn link_create_behind(
    program: BorrowedFd<'_>,
    link: u32,
    kind: u32,
    other: u32,
) -> Result<OwnedFd, std::io::Error> {
    // SAFETY: all-zero options are valid.
    let mut options: libbpf_sys::bpf_link_create_opts = unsafe { std::mem::zeroed() };
    options.flags = libbpf_sys::BPF_F_AFTER;
    options.__bindgen_anon_1.tcx = libbpf_sys::bpf_link_create_opts__bindgen_ty_1__bindgen_ty_6 {
        relative_id: other,
        ..Default::default()
    };
    link_create_with(program, link, kind, options)
}

fn link_create_with(
    program: BorrowedFd<'_>,
    link: u32,
    kind: u32,
    mut options: libbpf_sys::bpf_link_create_opts,
) -> Result<OwnedFd, std::io::Error> {
    // How much of the struct we know.
    options.sz = size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t;
    // SAFETY: the descriptors and the options outlive the call.
    let fd =
        unsafe { libbpf_sys::bpf_link_create(program.as_raw_fd(), link as i32, kind, &options) };
    if fd < 0 {
        return Err(std::io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: a descriptor just made, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What the kernel tells of a loaded program.
pub fn info(program: BorrowedFd<'_>) -> io::Result<libbpf_sys::bpf_prog_info> {
    // SAFETY: all-zero is a valid value of this plain struct.
    let mut info: libbpf_sys::bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as u32;
    // SAFETY: the buffer is ours and as long as said.
    let failed = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(program.as_raw_fd(), (&raw mut info).cast(), &mut length)
    };
    match failed {
        0 => Ok(info),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// A program's name: 15 bytes at most (BPF_OBJ_NAME_LEN).
pub fn name_of(info: &libbpf_sys::bpf_prog_info) -> String {
    let octets = info.name.iter().map(|octet| *octet as u8);
    let name: Vec<u8> = octets.take_while(|octet| *octet != 0).collect();
    String::from_utf8_lossy(&name).into_owned()
}

/// The kernel's number of a loaded program.
pub fn program_id(program: &impl AsFd) -> Option<u32> {
    info(program.as_fd()).ok().map(|info| info.id)
}

/// Lets XDP send out of a device.
pub fn allow_transmit(transmit: &MapMut<'_>, slot: u32, link: u32) -> Result<(), Error> {
    transmit
        .update(&slot.to_ne_bytes(), &link.to_ne_bytes(), MapFlags::ANY)
        .map_err(|e| Error::bpf("let XDP send out of a device", e))
}
