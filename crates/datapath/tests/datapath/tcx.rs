//! Programs of others at TC, attached by TCX. Needs root and Linux 6.6.

use std::os::fd::{FromRawFd, OwnedFd};

use weir_datapath::{Datapath, Hook, Options, Port, Sizes, foreign_tcx};

const LINK: u32 = 40;

/// A program that lets all packets go on, attached for as long as the descriptors live.
fn stranger(kind: u32) -> [OwnedFd; 2] {
    // r0 = TCX_NEXT; exit.
    let code = [
        libbpf_sys::bpf_insn {
            code: 0xb7,
            imm: -1,
            ..Default::default()
        },
        libbpf_sys::bpf_insn {
            code: 0x95,
            ..Default::default()
        },
    ];
    // SAFETY: names, instructions and all-zero options outlive the calls.
    unsafe {
        let mut options: libbpf_sys::bpf_prog_load_opts = std::mem::zeroed();
        options.sz = size_of_val(&options) as libbpf_sys::size_t;
        let program = libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_SCHED_CLS,
            c"stranger".as_ptr(),
            c"GPL".as_ptr(),
            code.as_ptr(),
            code.len() as libbpf_sys::size_t,
            &raw mut options,
        );
        assert!(program >= 0, "load: {program}");
        let mut options: libbpf_sys::bpf_link_create_opts = std::mem::zeroed();
        options.sz = size_of_val(&options) as libbpf_sys::size_t;
        let link = libbpf_sys::bpf_link_create(program, LINK as i32, kind, &raw const options);
        assert!(link >= 0, "attach: {link}");
        [program, link].map(|fd| OwnedFd::from_raw_fd(fd))
    }
}

#[test]
fn programs_of_others_are_told_from_our_own() {
    // SAFETY: affects this thread only.
    assert_eq!(
        unsafe { libc::unshare(libc::CLONE_NEWNET) },
        0,
        "needs root"
    );
    let line = format!("link add lan0 index {LINK} type veth peer name lan1");
    let status = std::process::Command::new("ip")
        .args(line.split(' '))
        .status();
    assert!(status.expect("ip").success());
    let found = || foreign_tcx(LINK).expect("an answer");
    let none = || (vec![], vec![]);
    assert_eq!(found(), none(), "nothing is attached");

    let mut path = Datapath::load(Sizes::new(4, 4, &[]), Options::default()).expect("loads");
    let port = Port::new(LINK, [2, 0, 0, 0, 0, 1], true);
    path.attach(&port, "lan0", Hook::Tc).expect("attached");
    assert_eq!(found(), none(), "our own");

    let name = vec!["the program stranger".to_owned()];
    let at_ingress = stranger(libbpf_sys::BPF_TCX_INGRESS);
    assert_eq!(found(), (name.clone(), vec![]));
    let at_egress = stranger(libbpf_sys::BPF_TCX_EGRESS);
    assert_eq!(found(), (name.clone(), name.clone()));
    drop(at_ingress);
    assert_eq!(found(), (vec![], name));
    drop(at_egress);
    assert_eq!(found(), none());
    assert_eq!(foreign_tcx(9999).expect("an answer"), none());
}
