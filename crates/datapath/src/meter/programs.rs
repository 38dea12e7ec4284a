//! The meter's programs by themselves, for benchmark and tests: run on frames from any thread,
//! beside the meter that reads what they count.

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::error::Error;

type Skb = super::types::__sk_buff;

/// File descriptors of the meter's programs. Unlike the meter they may go to other threads.
#[derive(Debug)]
pub struct Programs {
    /// What counts packets that come in.
    pub(crate) into: OwnedFd,
    /// What counts packets that leave.
    pub(crate) out: OwnedFd,
}

/// Segments of a super-packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// How many.
    pub number: u32,
    /// Bytes of payload in each.
    pub size: u32,
}

impl Programs {
    pub(super) fn of(progs: &super::skel::MeterProgs<'_>) -> Result<Self, Error> {
        let copy = |program: &libbpf_rs::ProgramMut<'_>| {
            let copied = program.as_fd().try_clone_to_owned();
            copied.map_err(|source| Error::System {
                what: "copy a file descriptor".into(),
                source,
            })
        };
        Ok(Self {
            into: copy(&progs.weir_meter_in)?,
            out: copy(&progs.weir_meter_out)?,
        })
    }

    /// Lets a frame come in at (else, with `leaves`, leave by) a device of this thread's network
    /// namespace, so many times (BPF_PROG_TEST_RUN: nothing but the meter sees it). Exactly so
    /// many, or there is an error.
    ///
    /// # Errors
    /// The device is not in this namespace, or the kernel refuses the frame: shorter than an
    /// Ethernet header, or larger than a page.
    pub fn run(
        &self,
        leaves: bool,
        link: u32,
        frame: &[u8],
        segments: Option<Segments>,
        times: u32,
    ) -> Result<(), Error> {
        let mut context = [0u8; size_of::<Skb>()];
        let mut set = |at: usize, value: u32| {
            context[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        };
        set(offset_of!(Skb, ifindex), link);
        if let Some(segments) = segments {
            set(offset_of!(Skb, gso_size), segments.size);
            set(offset_of!(Skb, gso_segs), segments.number);
        }
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
            data_in: frame.as_ptr().cast(),
            data_size_in: frame.len() as u32,
            ctx_in: context.as_ptr().cast(),
            ctx_size_in: context.len() as u32,
            repeat: times as i32,
            ..Default::default()
        };
        let program = if leaves { &self.out } else { &self.into };
        // SAFETY: the options name buffers that live on, with their sizes; what is to come out is
        // not asked for.
        let failed =
            unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) };
        match failed {
            0 => Ok(()),
            code => Err(Error::System {
                what: "run the meter on a frame".into(),
                source: io::Error::from_raw_os_error(-code),
            }),
        }
    }
}
