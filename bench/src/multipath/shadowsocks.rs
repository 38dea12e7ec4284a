//! shadowsocks-libev over MPTCP, as people use it today: `mptcpize run ss-redir` at the router,
//! `ss-server` at the partner.

use std::process::{Command, Stdio};

use lab::namespace::Process;
use lab::uplinks::PARTNER;
use lab::{Namespace, Uplinks};

use super::bare::lead;
use super::sides::{AT, listens};
use crate::Error;

/// Where `ss-redir` accepts.
const ACCEPT: u16 = 1080;
/// Nothing else speaks to these two.
const PASSWORD: &str = "bench";

/// Whether the programs are there.
pub fn is_there() -> bool {
    ["ss-redir", "ss-server", "mptcpize"].iter().all(|program| {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .stdout(Stdio::null())
            .status();
        found.is_ok_and(|status| status.success())
    })
}

/// Both, at work.
pub struct Shadowsocks {
    processes: [Process; 2],
}

impl Shadowsocks {
    /// Starts them, with what the kernel has to know.
    pub fn start(uplinks: &Uplinks) -> Result<Self, Error> {
        lead(uplinks)?;
        uplinks.router().nft(&format!(
            "table ip shadowsocks {{\n chain clients {{\n  type nat hook prerouting priority \
                dstnat;\n\
             \x20 iifname \"lan0\" meta l4proto tcp redirect to :{ACCEPT}\n }}\n}}\n"
        ))?;
        let partner = launch(uplinks.partner(), "ss-server", &[])?;
        listens(uplinks.partner(), AT.port())?;
        let local = ["-b", "0.0.0.0", "-l", &ACCEPT.to_string()];
        let router = launch(uplinks.router(), "ss-redir", &local)?;
        listens(uplinks.router(), ACCEPT)?;
        Ok(Self {
            processes: [router, partner],
        })
    }

    /// Their processes: the router's, the partner's.
    pub fn ids(&self) -> [u32; 2] {
        [self.processes[0].id(), self.processes[1].id()]
    }
}

fn launch(namespace: &Namespace, program: &str, more: &[&str]) -> Result<Process, Error> {
    let mut command = Command::new("mptcpize");
    command.args(["run", program, "-s", &PARTNER.to_string()]);
    command.args(["-p", &AT.port().to_string(), "-k", PASSWORD]);
    command.args(["-m", "chacha20-ietf-poly1305"]).args(more);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(namespace.start(&mut command)?)
}
