//! What is set of the kernel's MPTCP while weir uses it, and put back.

use std::path::Path;

use kernel::io::Mptcp;
use kernel::mptcp::Limits;
use kernel::sysctls::Sysctls;
use tracing::warn;

/// The most that the kernel takes.
const SUBFLOWS: u32 = 8;
/// One SYN that is lost in an outage would keep MPTCP off for an hour, for all connections.
const BLACKHOLE: &str = "mptcp/blackhole_timeout";
/// File that tells what was changed, for a successor of a weir that was killed.
const NOTE: &str = "settings";

/// Holds the settings; dropped, it puts them back.
#[derive(Debug)]
pub struct Tuned {
    mptcp: Option<Mptcp>,
    before: Option<Limits>,
    _sysctls: Option<Sysctls>,
}

impl Tuned {
    /// Sets what can be set, in the network namespace of this thread; what cannot is told, and
    /// costs some of what several paths are good for. `folder`: where is noted what was changed.
    pub fn new(folder: &Path) -> Self {
        let open = |sysctls: std::io::Result<Sysctls>| {
            let mut sysctls = sysctls?;
            sysctls.set(BLACKHOLE, "0")?;
            Ok::<_, std::io::Error>(sysctls)
        };
        let sysctls = open(Sysctls::open(&folder.join(NOTE)))
            .inspect_err(
                |error| warn!(%error, "an outage may keep the kernel from using MPTCP for an hour"),
            )
            .ok();
        let mut tuned = Self {
            mptcp: None,
            before: None,
            _sysctls: sysctls,
        };
        match Mptcp::open() {
            Ok(Some(mptcp)) => tuned.mptcp = Some(mptcp),
            Ok(None) => warn!("this kernel has no MPTCP: connections use one path each"),
            Err(error) => {
                warn!(%error, "the kernel's MPTCP cannot be steered: connections use one path each")
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
                Err(error) => warn!(%error, "connections may use three paths at most"),
            }
        }
        tuned
    }

    /// The kernel's MPTCP, where it has one.
    pub fn mptcp(&mut self) -> Option<&mut Mptcp> {
        self.mptcp.as_mut()
    }
}

impl Drop for Tuned {
    fn drop(&mut self) {
        if let (Some(mptcp), Some(before)) = (&mut self.mptcp, self.before)
            && let Err(error) = mptcp.set_limits(before)
        {
            warn!(%error, "limits of MPTCP are not as they were");
        }
    }
}
