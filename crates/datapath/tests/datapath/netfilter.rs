//! BPF programs at netfilter's hooks. Needs root and Linux 6.4.

use std::os::fd::{FromRawFd, OwnedFd};

use weir_datapath::{NetfilterProgram, netfilter_programs};

/// NFPROTO_IPV6 and NF_INET_FORWARD.
const IPV6: u32 = 10;
const FORWARD: u32 = 2;

/// A program that accepts all packets, attached for as long as the descriptors live.
fn stranger() -> [OwnedFd; 2] {
    // r0 = NF_ACCEPT; exit.
    let code = [(0xb7, 1), (0x95, 0)].map(|(code, imm)| libbpf_sys::bpf_insn {
        code,
        imm,
        ..Default::default()
    });
    // SAFETY: names, instructions and options outlive the calls; all-zero options are valid.
    unsafe {
        let mut options: libbpf_sys::bpf_prog_load_opts = std::mem::zeroed();
        options.sz = size_of_val(&options) as libbpf_sys::size_t;
        options.expected_attach_type = libbpf_sys::BPF_NETFILTER;
        let program = libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_NETFILTER,
            c"at_forward".as_ptr(),
            c"GPL".as_ptr(),
            code.as_ptr(),
            code.len() as libbpf_sys::size_t,
            &raw mut options,
        );
        assert!(program >= 0, "load: {program}");
        let mut options: libbpf_sys::bpf_link_create_opts = std::mem::zeroed();
        options.sz = size_of_val(&options) as libbpf_sys::size_t;
        options.__bindgen_anon_1.netfilter.pf = IPV6;
        options.__bindgen_anon_1.netfilter.hooknum = FORWARD;
        options.__bindgen_anon_1.netfilter.priority = -5;
        let at = libbpf_sys::BPF_NETFILTER;
        let link = libbpf_sys::bpf_link_create(program, 0, at, &raw const options);
        assert!(link >= 0, "attach: {link}");
        [program, link].map(|fd| OwnedFd::from_raw_fd(fd))
    }
}

#[test]
fn programs_at_netfilter_are_listed() {
    // SAFETY: affects this thread only.
    assert_eq!(
        unsafe { libc::unshare(libc::CLONE_NEWNET) },
        0,
        "needs root"
    );
    let expected = NetfilterProgram {
        name: "at_forward".to_owned(),
        ipv6: true,
        hook: "forward",
        priority: -5,
    };
    // Others may have some of their own.
    let found = || netfilter_programs().expect("an answer").contains(&expected);
    assert!(!found(), "nothing is attached");
    let attached = stranger();
    assert!(found());
    drop(attached);
    assert!(!found());
}
