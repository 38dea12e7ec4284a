//! shadowsocks-libev over MPTCP, as in common use: `mptcpize run ss-redir` at the router,
//! `ss-server` at the partner.

use std::process::{Command, Stdio};

use lab::namespace::Process;
use lab::uplinks::PARTNER;
use lab::{Namespace, Uplinks};

use super::plain_proxy::lead;
use super::router_and_partner::{AT, listens};
use crate::Error;

/// Port on which `ss-redir` accepts.
const ACCEPT: u16 = 1080;
/// A fixed password is enough inside the lab.
const PASSWORD: &str = "bench";

/// Returns whether the programs are installed.
pub fn is_there() -> bool {
    ["ss-redir", "ss-server", "mptcpize"].iter().all(|program| {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .stdout(Stdio::null())
            .status();
        found.is_ok_and(|status| status.success())
    })
}

/// Running proxy, both sides.
pub struct Shadowsocks {
    processes: [Process; 2],
}

impl Shadowsocks {
    /// Starts both sides, and sets up routes and rules.
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

    /// Returns the process ids of router and partner.
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
