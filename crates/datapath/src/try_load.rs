//! Loading the packet path where nothing outside of this process notices.

use crate::error::Error;
use crate::hook::Hook;
use crate::load::Options;
use crate::path::Datapath;
use crate::port::Port;
use crate::probe::{LOOPBACK, in_a_namespace_of_its_own};
use crate::sizes::Sizes;

/// Loads the packet path with tiny tables, lets the verifier judge all of it, runs its heartbeat
/// and, where a network namespace can be made for that, attaches it at TC.
///
/// # Errors
/// Reason of a refusal by the kernel; [`crate::complaints::last`] has the lines of the verifier.
pub fn try_load() -> Result<(), Error> {
    let rehearse = || {
        let mut path = Datapath::load(Sizes::new(4, 4, &[]), Options::default())?;
        path.heartbeat.arm()?;
        path.attach(&Port::new(LOOPBACK, [0; 6], false), "lo", Hook::Tc)
    };
    match in_a_namespace_of_its_own(rehearse) {
        Ok(result) => result,
        // Not without CAP_SYS_ADMIN: then at least what needs no device.
        Err(_) => Datapath::load(Sizes::new(4, 4, &[]), Options::default())
            .and_then(|mut path| path.heartbeat.arm()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_path_is_rehearsed_elsewhere() {
        let before = loopback();
        try_load().unwrap_or_else(|error| panic!("{error}: {:#?}", crate::libbpf_log::last()));
        assert_eq!(loopback(), before, "nothing is left attached here");
    }

    /// The device and what is attached to it.
    fn loopback() -> String {
        let output = std::process::Command::new("ip")
            .args(["-details", "link", "show", "lo"])
            .output()
            .expect("ip runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
