//! Verifier's work for each program: a weak router waits for the verifier at the start, and the
//! verifier refuses a program beyond a million instructions.

use std::os::fd::{AsFd, BorrowedFd};

use libbpf_rs::Object;
use libbpf_rs::skel::Skel;

use crate::cable::Cables;
use crate::error::Error;
use crate::load::Programs;
use crate::meter::{Meter, MeterSizes};
use crate::path::Datapath;
use crate::program;

/// Name of a program, and the number of instructions that the verifier processed (`verified_insns`
/// of `bpf_prog_info`: Linux 5.16; 0 before).
pub type Verified = (String, u32);

fn all(object: &Object) -> Result<Vec<Verified>, Error> {
    let loaded = object.progs().filter(|program| program.autoload());
    let looked = loaded.map(|program| {
        let name = program.name().to_string_lossy().into_owned();
        Ok((name, info(program.as_fd())?.verified_insns))
    });
    looked.collect()
}

fn info(program: BorrowedFd<'_>) -> Result<libbpf_sys::bpf_prog_info, Error> {
    program::info(program).map_err(|source| Error::System {
        what: "ask for a program".into(),
        source,
    })
}

/// Reports all loaded programs of a packet path.
///
/// # Errors
/// The kernel refuses.
pub fn of_the_path(path: &Datapath) -> Result<Vec<Verified>, Error> {
    let mut found = all(path.skel.object())?;
    let Programs { tc, xdp, witness } = &path.programs;
    for program in [tc, xdp, witness] {
        let info = info(program.as_fd())?;
        found.push((program::name_of(&info), info.verified_insns));
    }
    Ok(found)
}

/// Reports the monitor's programs.
///
/// # Errors
/// The kernel refuses them.
pub fn of_the_meter() -> Result<Vec<Verified>, Error> {
    all(Meter::load(MeterSizes::new(4096, &[]), true)?.object())
}

/// Reports the classifier of cables.
///
/// # Errors
/// The kernel refuses them.
pub fn of_the_cables() -> Result<Vec<Verified>, Error> {
    all(Cables::load()?.object())
}
