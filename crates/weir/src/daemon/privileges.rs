//! After set-up the daemon keeps what it needs and no more: to attach to new devices and talk netlink (CAP_NET_ADMIN), and to load
//! nothing but use its maps (CAP_BPF, CAP_PERFMON where the kernel asks for it).

use caps::{CapSet, Capability, CapsHashSet};
use tracing::{debug, warn};

/// What is kept.
const KEPT: [Capability; 3] = [
    Capability::CAP_NET_ADMIN,
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
];

/// Gives up all other capabilities, for this process and what it starts. A failure is told and not fatal: the daemon works as before.
pub fn drop_privileges() {
    let had = caps::read(None, CapSet::Permitted).unwrap_or_default();
    let kept: CapsHashSet = KEPT.into_iter().filter(|c| had.contains(c)).collect();
    for (set, what) in [
        (CapSet::Bounding, "bounding"),
        (CapSet::Effective, "effective"),
        (CapSet::Permitted, "permitted"),
        (CapSet::Inheritable, "inheritable"),
    ] {
        let result = match set {
            // Dropping from the bounding set needs CAP_SETPCAP, hence first.
            CapSet::Bounding => had
                .iter()
                .filter(|c| !kept.contains(c))
                .try_for_each(|c| caps::drop(None, set, *c)),
            // nft is started with the same rights.
            CapSet::Inheritable => caps::set(None, set, &kept),
            _ => caps::set(None, set, &kept),
        };
        if let Err(error) = result {
            warn!(%error, set = what, "cannot give up capabilities");
        }
    }
    if let Err(error) = nix::sys::prctl::set_no_new_privs() {
        warn!(%error, "cannot set no-new-privileges");
    }
    debug!("privileges dropped");
}
