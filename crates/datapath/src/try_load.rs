//! Loads the packet path without effect outside this process.

use crate::error::Error;
use crate::hook::Hook;
use crate::load::Options;
use crate::path::Datapath;
use crate::port::Port;
use crate::probe::{LOOPBACK, in_a_namespace_of_its_own};
use crate::sizes::Sizes;

/// Loads the packet path with tiny tables, has the verifier check all programs, and runs the
/// heartbeat. Attaches the programs at TC if a network namespace can be made for them.
///
/// # Errors
/// Reason of a refusal by the kernel; [`crate::libbpf_log::last`] returns the lines of the
/// verifier.
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

    /// Returns the loopback device and its attachments.
    fn loopback() -> String {
        let output = std::process::Command::new("ip")
            .args(["-details", "link", "show", "lo"])
            .output()
            .expect("ip runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
