//! The meter's programs for benchmark and tests: they run on frames from any thread, while the
//! meter reads the counts.

use std::os::fd::OwnedFd;

use crate::error::Error;
use crate::program::keep;
use crate::run::{self, SkbFields};

/// File descriptors of the meter's programs. Unlike the meter they may go to other threads.
#[derive(Debug)]
pub struct Programs {
    /// Program that counts incoming packets.
    pub(crate) into: OwnedFd,
    /// Program that counts outgoing packets.
    pub(crate) out: OwnedFd,
}

/// Segments of a super-packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Number of entries.
    pub number: u32,
    /// Bytes of payload in each.
    pub size: u32,
}

impl Programs {
    pub(super) fn of(progs: &super::skel::MeterProgs<'_>) -> Result<Self, Error> {
        Ok(Self {
            into: keep(&progs.weir_meter_in)?,
            out: keep(&progs.weir_meter_out)?,
        })
    }

    /// Passes a frame into (or, with `leaves`, out of) a device of this thread's network namespace,
    /// this many times (BPF_PROG_TEST_RUN: only the meter sees it). Exactly this many times, or
    /// returns an error.
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
        let segments = segments.unwrap_or(Segments { size: 0, number: 0 });
        let mut fields = SkbFields {
            gso_size: segments.size,
            gso_segs: segments.number,
            ..SkbFields::default()
        };
        let program = if leaves { &self.out } else { &self.into };
        run::test_run_skb_with(program, frame, link, &mut fields, times).map(drop)
    }
}
