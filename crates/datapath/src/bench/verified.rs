//! What the verifier had to do for each program: a weak router waits for it at the start, and
//! beyond a million instructions a program is refused.

use std::os::fd::AsFd;

use libbpf_rs::Object;
use libbpf_rs::skel::Skel;

use crate::Datapath;
use crate::cable::Cables;
use crate::error::Error;
use crate::hook;
use crate::meter::{Meter, MeterSizes};

/// Name of a program, and how many instructions the verifier looked at (`verified_insns` of
/// `bpf_prog_info`: Linux 5.16; 0 before).
pub type Verified = (String, u32);

fn all(object: &Object) -> Result<Vec<Verified>, Error> {
    let loaded = object.progs().filter(|program| program.autoload());
    let looked = loaded.map(|program| {
        let name = program.name().to_string_lossy().into_owned();
        let info = hook::info(program.as_fd()).map_err(|source| Error::System {
            what: format!("ask for {name}"),
            source,
        })?;
        Ok((name, info.verified_insns))
    });
    looked.collect()
}

impl Datapath {
    /// Of all programs that are loaded.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn verified(&self) -> Result<Vec<Verified>, Error> {
        all(self.skel.object())
    }
}

/// Of the monitor's programs.
///
/// # Errors
/// The kernel refuses them.
pub fn of_the_meter() -> Result<Vec<Verified>, Error> {
    all(Meter::load(MeterSizes::new(4096, &[]), true)?.object())
}

/// Of the classifier of cables.
///
/// # Errors
/// The kernel refuses them.
pub fn of_the_cables() -> Result<Vec<Verified>, Error> {
    all(Cables::load()?.object())
}
