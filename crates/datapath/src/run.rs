//! Runs of programs on frames of the caller's, by BPF_PROG_TEST_RUN.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::error::Error;

/// BPF_PROG_TEST_RUN of an XDP program.
pub fn test_run(
    program: &impl AsFd,
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
    program: &impl AsFd,
    frame: &[u8],
    link: u32,
    repeat: u32,
) -> Result<(u32, Vec<u8>, u64), Error> {
    test_run_skb_with(program, frame, link, &mut SkbFields::default(), repeat)
}

/// Metadata of an skb: the fields of `struct __sk_buff` that BPF_PROG_TEST_RUN takes and gives back
/// (net/bpf/test_run.c, `convert___skb_to_skb`; VLAN tags are not among them).
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
    /// `skb->skb_iif`: the ingress device; 0 without one.
    pub ingress: u32,
}

/// Runs a program on an skb with metadata.
pub fn test_run_skb_with(
    program: &impl AsFd,
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

/// BPF_PROG_TEST_RUN of a SYSCALL program, which may change its context.
pub fn test_run_call(program: &impl AsFd, context: &mut [u8]) -> Result<(), libbpf_rs::Error> {
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
        ctx_in: context.as_mut_ptr().cast(),
        ctx_size_in: context.len() as u32,
        ..Default::default()
    };
    let program = program.as_fd().as_raw_fd();
    // SAFETY: the options name a buffer that lives on, with its size.
    match unsafe { libbpf_sys::bpf_prog_test_run_opts(program, &raw mut options) } {
        0 => Ok(()),
        failed => Err(libbpf_rs::Error::from_raw_os_error(-failed)),
    }
}

fn run(
    program: &impl AsFd,
    frame: &[u8],
    context: &mut [u8],
    repeat: u32,
) -> Result<(u32, Vec<u8>, u64), Error> {
    let mut out = vec![0; frame.len() + 256];
    let context_in = context.to_vec();
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
        ctx_in: context_in.as_ptr().cast(),
        ctx_size_in: context_in.len() as u32,
        ctx_out: context.as_mut_ptr().cast(),
        ctx_size_out: context.len() as u32,
        data_in: frame.as_ptr().cast(),
        data_size_in: frame.len() as u32,
        data_out: out.as_mut_ptr().cast(),
        data_size_out: out.len() as u32,
        repeat: repeat as i32,
        ..Default::default()
    };
    let program = program.as_fd().as_raw_fd();
    // SAFETY: the options name buffers that live on, with their sizes.
    let failed = unsafe { libbpf_sys::bpf_prog_test_run_opts(program, &raw mut options) };
    if failed != 0 {
        return Err(Error::System {
            what: "run a program on a frame".into(),
            source: io::Error::from_raw_os_error(-failed),
        });
    }
    out.truncate(options.data_size_out as usize);
    Ok((options.retval, out, u64::from(options.duration)))
}
