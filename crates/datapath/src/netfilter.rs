//! BPF programs at netfilter's hooks (`BPF_PROG_TYPE_NETFILTER`, Linux 6.4). They are not rules:
//! nft does not list them, and no event reports a new one.

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use crate::program::{name, object_info};

/// A netfilter program, in any network namespace: the kernel does not report which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetfilterProgram {
    /// Name or number of the program.
    pub name: String,
    /// True for packets of IPv6, not IPv4.
    pub ipv6: bool,
    /// `prerouting`, `forward`, …
    pub hook: &'static str,
    /// Priority among all programs and chains at that hook.
    pub priority: i32,
}

/// Returns all attached programs. Needs CAP_SYS_ADMIN.
///
/// # Errors
/// The kernel refused the query.
pub fn netfilter_programs() -> io::Result<Vec<NetfilterProgram>> {
    let mut programs = Vec::new();
    let mut link = 0;
    while let Some(next) = after(link)? {
        link = next;
        programs.extend(netfilter(link)?);
    }
    Ok(programs)
}

/// The link with the next number.
fn after(link: u32) -> io::Result<Option<u32>> {
    let mut next = 0;
    // SAFETY: the number is written before the call ends.
    match -unsafe { libbpf_sys::bpf_link_get_next_id(link, &raw mut next) } {
        0 => Ok(Some(next)),
        // End of the list; or no support, before kernel 5.8.
        libc::ENOENT | libc::EINVAL => Ok(None),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn netfilter(link: u32) -> io::Result<Option<NetfilterProgram>> {
    // SAFETY: takes a number and gives a descriptor or an error.
    let fd = unsafe { libbpf_sys::bpf_link_get_fd_by_id(link) };
    match -fd {
        ..=0 => {}
        // The link has just gone.
        libc::ENOENT => return Ok(None),
        error => return Err(io::Error::from_raw_os_error(error)),
    }
    // SAFETY: a new descriptor without another owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the struct of a link, all numbers.
    let info: libbpf_sys::bpf_link_info = unsafe { object_info(fd.as_fd())? };
    if info.type_ != libbpf_sys::BPF_LINK_TYPE_NETFILTER {
        return Ok(None);
    }
    // SAFETY: a link of this type has this part of the union; all of it was set to zero before.
    let at = unsafe { info.__bindgen_anon_1.netfilter };
    let known = name(info.prog_id).filter(|name| !name.is_empty());
    Ok(Some(NetfilterProgram {
        name: known.unwrap_or_else(|| format!("number {}", info.prog_id)),
        ipv6: at.pf == libc::NFPROTO_IPV6 as u32,
        hook: match at.hooknum as i32 {
            libc::NF_INET_PRE_ROUTING => "prerouting",
            libc::NF_INET_LOCAL_IN => "input",
            libc::NF_INET_FORWARD => "forward",
            libc::NF_INET_LOCAL_OUT => "output",
            _ => "postrouting",
        },
        priority: at.priority,
    }))
}
