//! What can go wrong with the packet path.

use std::io;

/// An error of the packet path; its text names the thing and the mend.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused the programs or maps.
    #[error("the kernel refuses to {what}: {source}{hint}")]
    Bpf {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        source: libbpf_rs::Error,
        /// What helps.
        hint: &'static str,
    },
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// No room for a flow.
    #[error("no room in the flow table (raise `flows` under [offload])")]
    Full,
    /// Two devices share a port slot.
    #[error(
        "device {name} (index {link}) shares its slot with device index {other}: restart weir, which then makes more slots"
    )]
    PortTaken {
        /// The device that cannot be a port.
        name: String,
        /// Its index.
        link: u32,
        /// The device that has the slot.
        other: u32,
    },
    /// The kernel was built without something.
    #[error("this kernel has no {0}")]
    Lacks(String),
    /// The two tuples of a connection are not of one family.
    #[error("a connection between IPv4 and IPv6 cannot be forwarded")]
    MixedFamilies,
}

impl Error {
    pub(crate) fn bpf(what: impl Into<String>, source: libbpf_rs::Error) -> Self {
        let hint = match source.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => {
                " (weir needs to start as root, or with CAP_BPF and CAP_NET_ADMIN)"
            }
            libbpf_rs::ErrorKind::OutOfMemory => " (not enough memory)",
            _ => "",
        };
        Self::Bpf {
            what: what.into(),
            source,
            hint,
        }
    }

    /// Whether there was too little memory for it.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Bpf { source, .. } => source.kind() == libbpf_rs::ErrorKind::OutOfMemory,
            Self::System { source, .. } => source.kind() == io::ErrorKind::OutOfMemory,
            _ => false,
        }
    }

    pub(crate) fn last_os(what: impl Into<String>) -> Self {
        Self::System {
            what: what.into(),
            source: io::Error::last_os_error(),
        }
    }
}
