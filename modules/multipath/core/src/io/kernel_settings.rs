//! Kernel settings of MPTCP that weir changes while running, and restores.

use std::path::Path;

use kernel::io::Mptcp;
use kernel::mptcp::Limits;
use kernel::sysctls::Sysctls;
use tracing::warn;

/// The kernel's maximum of subflows.
const SUBFLOWS: u32 = 8;
/// Blackhole detection: a single SYN lost in an outage would disable MPTCP for an hour, for all.
const BLACKHOLE: &str = "mptcp/blackhole_timeout";
/// File that records changes, for a successor of a weir that was killed.
const NOTE: &str = "settings";

/// Changed settings; restored when dropped.
#[derive(Debug)]
pub struct KernelSettings {
    mptcp: Option<Mptcp>,
    before: Option<Limits>,
    _sysctls: Option<Sysctls>,
}

impl KernelSettings {
    /// Changes settings as far as possible, in the network namespace of this thread. Failures are
    /// logged, and cost some of the benefit of several paths. `folder`: folder of the record of
    /// changes.
    pub fn new(folder: &Path) -> Self {
        let open = |sysctls: std::io::Result<Sysctls>| {
            let mut sysctls = sysctls?;
            sysctls.set(BLACKHOLE, "0")?;
            Ok::<_, std::io::Error>(sysctls)
        };
        let sysctls = open(Sysctls::open(&folder.join(NOTE)))
            .inspect_err(
                |error| warn!(%error, "cannot set the kernel's MPTCP timeout: after an outage, MPTCP may stay off for an hour"),
            )
            .ok();
        let mut tuned = Self {
            mptcp: None,
            before: None,
            _sysctls: sysctls,
        };
        match Mptcp::open() {
            Ok(Some(mptcp)) => tuned.mptcp = Some(mptcp),
            Ok(None) => warn!("this kernel lacks MPTCP: connections use one path each"),
            Err(error) => {
                warn!(%error, "cannot configure the kernel's MPTCP: connections use one path each")
            }
        }
        if let Some(mptcp) = &mut tuned.mptcp {
            let set = mptcp.limits().and_then(|before| {
                let subflows = SUBFLOWS;
                mptcp.set_limits(Limits { subflows, ..before })?;
                Ok(before)
            });
            match set {
                Ok(before) => tuned.before = Some(before),
                Err(error) => {
                    warn!(%error, "cannot raise the limits of MPTCP: connections use at most three paths")
                }
            }
        }
        tuned
    }

    /// Returns the kernel's MPTCP, if there is one.
    pub fn mptcp(&mut self) -> Option<&mut Mptcp> {
        self.mptcp.as_mut()
    }
}

impl Drop for KernelSettings {
    fn drop(&mut self) {
        if let (Some(mptcp), Some(before)) = (&mut self.mptcp, self.before)
            && let Err(error) = mptcp.set_limits(before)
        {
            warn!(%error, "cannot restore the limits of MPTCP");
        }
    }
}
