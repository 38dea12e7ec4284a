//! Errors of the packet path.

use std::io;

use crate::{libbpf_log, object};

/// An error of the packet path; its text names the thing, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused the programs or maps.
    #[error("the kernel refused to {what}: {source}{hint}")]
    Bpf {
        /// Attempted operation.
        what: String,
        /// The kernel's answer.
        source: libbpf_rs::Error,
        /// Hint.
        hint: &'static str,
    },
    /// The kernel's verifier refused a program.
    #[error(
        "the verifier of Linux {kernel} refuses the program {program}, built by {compiler}: \
         {}\n(rebuild weir with another compiler, as in `CLANG=clang-14 make build`; please \
         report this, with these lines)",
        lines.join("\n    ")
    )]
    Refused {
        /// The program's name.
        program: String,
        /// Version of the running kernel.
        kernel: String,
        /// Compiler of the program, `clang 14.0.6`.
        compiler: String,
        /// Last lines of the verifier.
        lines: Vec<String>,
    },
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// Attempted operation.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// No room for a flow.
    #[error("no room in the flow table (raise `flows` under [offload])")]
    Full,
    /// Two devices share a port slot.
    #[error(
        "device {name} (index {link}) shares its slot with device index {other}: restart weir, \
            which then makes more slots"
    )]
    PortTaken {
        /// The device that cannot be a port.
        name: String,
        /// Index of the device.
        link: u32,
        /// The device that has the slot.
        other: u32,
    },
    /// No slot is left for another watched port.
    #[error("cannot watch {name}: {most} devices are watched already, which is the maximum")]
    TooManyCables {
        /// Devices that can be watched at a time.
        most: u32,
        /// The device that cannot be watched.
        name: String,
    },
    /// The kernel was built without something.
    #[error("this kernel has no {0}")]
    Lacks(String),
    /// The two tuples of a connection are not of one family.
    #[error("cannot forward a connection between IPv4 and IPv6")]
    MixedFamilies,
}

impl Error {
    pub(crate) fn bpf(what: impl Into<String>, source: libbpf_rs::Error) -> Self {
        let hint = match source.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => forbidden(is_root()),
            libbpf_rs::ErrorKind::OutOfMemory => " (not enough memory)",
            _ => "",
        };
        Self::Bpf {
            what: what.into(),
            source,
            hint,
        }
    }

    /// Returns true if memory was short.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Bpf { source, .. } => source.kind() == libbpf_rs::ErrorKind::OutOfMemory,
            Self::System { source, .. } => source.kind() == io::ErrorKind::OutOfMemory,
            _ => false,
        }
    }

    /// Creates the error for an object that failed to load. The kernel answers a rejected program
    /// like a lack of rights; libbpf's messages tell them apart.
    pub(crate) fn load(what: impl Into<String>, source: libbpf_rs::Error) -> Self {
        match refusal(&libbpf_log::last()) {
            Some((program, lines)) => Self::Refused {
                program,
                kernel: kernel::release::release(),
                compiler: object::compiler().into(),
                lines,
            },
            None => Self::bpf(what, source),
        }
    }

    pub(crate) fn last_os(what: impl Into<String>) -> Self {
        Self::System {
            what: what.into(),
            source: io::Error::last_os_error(),
        }
    }
}

fn is_root() -> bool {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Returns a hint for an operation that the kernel does not permit.
fn forbidden(root: bool) -> &'static str {
    match root {
        true => {
            " (root lacks CAP_BPF or CAP_NET_ADMIN here, as in a container, or the kernel is \
                locked down)"
        }
        false => " (weir needs to start as root, or with CAP_BPF and CAP_NET_ADMIN)",
    }
}

/// Number of the verifier's lines to report: the reason is among the last.
const TOLD: usize = 8;

/// Finds the program that the verifier refused, with its last lines, in libbpf's messages.
fn refusal(complaints: &[String]) -> Option<(String, Vec<String>)> {
    let end = complaints
        .iter()
        .rposition(|line| line.contains("-- END PROG LOAD LOG --"))?;
    let after = &complaints[end + 1..];
    let program = after
        .iter()
        .find_map(|line| line.split('\'').nth(1))?
        .to_owned();
    let log = complaints[..end]
        .iter()
        .rev()
        .take_while(|line| !line.contains("-- BEGIN PROG LOAD LOG --"))
        .filter(|line| !line.starts_with("processed "))
        .take(TOLD);
    let mut lines: Vec<String> = log.cloned().collect();
    lines.reverse();
    Some((program, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_the_verifier_refuses_is_told_from_a_lack_of_rights() {
        let text = "libbpf: prog 'weir_witness': BPF program load failed: Permission denied\n\
            libbpf: prog 'weir_witness': -- BEGIN PROG LOAD LOG --\n\
            70: (69) r1 = *(u16 *)(r3 +0)\n\
            invalid access to packet, off=0 size=2, R3(id=0,off=0,r=0)\n\
            R3 offset is outside of the packet\n\
            processed 70 insns (limit 1000000) max_states_per_insn 0 total_states 9\n\
            -- END PROG LOAD LOG --\n\
            libbpf: prog 'weir_witness': failed to load: -13\n\
            libbpf: failed to load object 'weir_bpf'";
        let (program, lines) = refusal(&said(text)).expect("a refusal");
        assert_eq!(program, "weir_witness");
        assert_eq!(lines.len(), 3, "{lines:#?}");
        assert_eq!(lines[2], "R3 offset is outside of the packet");
        let rights = "libbpf: Error in bpf_object__probe_loading(): Operation not permitted(1).";
        assert_eq!(refusal(&said(rights)), None);
    }

    #[test]
    fn root_is_not_told_to_be_root() {
        assert!(!forbidden(true).contains("as root"));
        assert!(forbidden(false).contains("start as root"));
    }
}
