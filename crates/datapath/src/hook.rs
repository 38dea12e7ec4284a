//! Attaching the programs to devices. Links (XDP, TCX) end with the process; where the kernel has
//! no TCX (before 6.6), clsact filters stay behind after a kill: harmless, since the heartbeat
//! stops them from forwarding, and replaced at the next start.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_rs::{
    MapCore, MapFlags, MapMut, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook, TcHookBuilder,
};

use crate::error::Error;
use crate::load::Programs;
use crate::program::{TC_PROGRAMS, info, name_of};
use crate::tcx;

/// Hook where weir takes over packets of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// XDP in the driver, and TC for packets that XDP passes.
    Xdp,
    /// TC ingress only.
    Tc,
    /// No port: the witness inspects what leaves here, as copies of it may have left by ports.
    Watch,
}

/// Handle of weir's own filters on clsact.
const HANDLE: u32 = 0x7765;

/// Position of a program among those at TC of a device. The gate of a cable comes first: it drops
/// frames before they are forwarded or counted. At ingress the packet path precedes the meter, at
/// egress the meter the witness: so the meter sees packets that weir does not forward itself.
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

/// Handle that keeps one program attached to one device.
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
    /// Attaches the programs of `hook`, unless they are attached already.
    pub fn attach(
        &mut self,
        programs: &Programs,
        link: u32,
        name: &str,
        hook: Hook,
    ) -> Result<(), Error> {
        if self.is_at(link, hook) {
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

    /// Returns true if XDP runs on a device.
    pub fn at_xdp(&self, link: u32) -> bool {
        self.is_at(link, Hook::Xdp)
    }

    fn is_at(&self, link: u32, hook: Hook) -> bool {
        let attached = self.by_link.get(&link);
        attached.is_some_and(|(attached, _)| *attached == hook)
    }

    /// Takes everything off a device.
    pub fn detach(&mut self, link: u32) {
        self.by_link.remove(&link);
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
    // A program that would go first goes right behind a gate.
    let gate = match place {
        Place::FirstIn | Place::FirstOut => tcx::gate(link, kind),
        _ => None,
    };
    let behind = gate.and_then(|gate| link_create_behind(program, link, kind, gate).ok());
    match behind.map_or_else(|| link_create(program, link, kind, place.flags()), Ok) {
        Ok(fd) => Ok(Attachment::Link(fd)),
        // EINVAL: the kernel lacks TCX.
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) => Err(Error::System {
            what: format!("attach TC to {name}"),
            source: error,
        }),
        Err(_) => attach_filter(program, link, name, point, place.priority()),
    }
}

/// Attaches a program as a filter of clsact, for kernels before Linux 6.6, which has TCX.
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
    let options = libbpf_sys::bpf_link_create_opts {
        flags,
        ..Default::default()
    };
    link_create_with(program, link, kind, options)
}

/// A TCX link right behind another program, by its number.
fn link_create_behind(
    program: BorrowedFd<'_>,
    link: u32,
    kind: u32,
    other: u32,
) -> Result<OwnedFd, std::io::Error> {
    let mut options = libbpf_sys::bpf_link_create_opts {
        flags: libbpf_sys::BPF_F_AFTER,
        ..Default::default()
    };
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
    // Size of the struct as weir uses it.
    options.sz = size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t;
    // SAFETY: the descriptors and the options outlive the call.
    let fd =
        unsafe { libbpf_sys::bpf_link_create(program.as_raw_fd(), link as i32, kind, &options) };
    if fd < 0 {
        return Err(std::io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: a new descriptor without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Allows XDP to send by a device.
pub fn allow_transmit(transmit: &MapMut<'_>, slot: u32, link: u32) -> Result<(), Error> {
    transmit
        .update(&slot.to_ne_bytes(), &link.to_ne_bytes(), MapFlags::ANY)
        .map_err(|e| Error::bpf("let XDP send out of a device", e))
}
