//! PPPoE with real programs: `pppoe-server` on the server, `pppd` with the kernel's PPPoE on the
//! router.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::addresses::{ROUTER_WAN, ROUTER_WAN6};
use crate::arrangement::Wan;
use crate::namespace::wait_until;
use crate::topology::Topology;
use crate::{Error, Namespace, Process};

use super::options::{Ipv6, Options};

/// Longest wait for a link to come up or go down, on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The provider's end of the link. The address belongs to no other host: packets to the server's
/// addresses are not for pppd.
const EXCHANGE: &str = "100.64.0.1";
/// Offset of session numbers: the first session is this plus one.
const OFFSET: u16 = 0x1233;
/// MTU of PPPoE: PPPoE takes 6 bytes, PPP 2 (RFC 2516 section 7).
const LARGEST: u16 = 1492;

/// A line that can be dialled. Dropping the line stops both ends.
#[derive(Debug)]
pub(super) struct PppoeLine {
    // Drop order: the router terminates the session, which the other end acknowledges.
    router: Option<Process>,
    another: Option<Process>,
    _server: Process,
    files: Files,
    device: &'static str,
    mtu: u16,
    ipv6: bool,
    raw: bool,
}

/// Folder of the programs' files; removed when dropped.
#[derive(Debug)]
struct Files(PathBuf);

impl Files {
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl PppoeLine {
    /// Starts the PPPoE server.
    pub(super) fn lay(topology: &Topology, options: &Options) -> Result<Self, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("weir-line-{}-{number}", std::process::id()));
        let mtu = options.wan_mtu.min(LARGEST);
        let failed = |error| Error::system::<std::io::Error>(folder.display().to_string())(error);
        fs::create_dir_all(&folder).map_err(failed)?;
        let files = Files(folder.clone());
        let settings = folder.join("options");
        let text = format!(
            "{}\nipcp-accept-remote\nipv6 ::2,::1\nlogfile {}\n",
            common(mtu),
            folder.join("server").display()
        );
        fs::write(&settings, text).map_err(failed)?;
        let server = topology.node("server")?;
        if options.raw {
            // The server must ignore test packets; the packet socket sees them before this rule.
            server.nft(
                "table inet deaf { chain in { type filter hook prerouting priority raw; \
                policy drop; }\n}\n",
            )?;
        }
        let (device, far) = match options.arrangement.wan {
            Wan::PppoeOverVlan => ("wan0.7", "eth0.7"),
            _ => ("wan0", "eth0"),
        };
        let mut command = Command::new("pppoe-server");
        command
            .args(["-F", "-C", "isp", "-L", EXCHANGE])
            .args(["-I", far, "-o", &OFFSET.to_string(), "-O"])
            .arg(&settings);
        Ok(Self {
            router: None,
            another: None,
            _server: server.start(silent(&mut command))?,
            files,
            device,
            mtu,
            ipv6: options.ipv6 != Ipv6::Off,
            raw: options.raw,
        })
    }

    /// Returns the dialler with the options of all sessions.
    fn dialler(&self, log: &str) -> Command {
        let mut command = Command::new("pppd");
        command
            .args(["plugin", "pppoe.so", &format!("nic-{}", self.device)])
            .args(["nodetach", "user", "weir"])
            .args(["ipv6", "::1,::2", "logfile"])
            .arg(self.files.0.join(log))
            .args(common(self.mtu).split_whitespace());
        command
    }

    pub(super) fn dial(&mut self, topology: &Topology) -> Result<(), Error> {
        let (router, server) = (topology.node("router")?, topology.node("server")?);
        let mut command = self.dialler("router");
        // Requests a fixed address for each session: the server accepts the client's address.
        command.arg(format!("{}:", ROUTER_WAN));
        let process = router.start(silent(&mut command))?;
        let ready = || -> Result<bool, Error> {
            if let Some(status) = process.ended()? {
                return Err(Error::Unexpected(format!("pppd ended: {status}")));
            }
            Ok(has_address(router, "10.0.0.1", self.ipv6)
                && has_address(server, EXCHANGE, self.ipv6))
        };
        wait_until("PPPoE to come up", PATIENCE, ready).map_err(|error| {
            Error::Unexpected(format!(
                "{error}\nthe router: {}\nthe server: {}",
                self.files.text("router"),
                self.files.text("server")
            ))
        })?;
        self.router = Some(process);
        self.equip(router, server)
    }

    /// Adds addresses and routes to a link that has just come up.
    fn equip(&self, router: &Namespace, server: &Namespace) -> Result<(), Error> {
        router.run("ip -4 route replace default dev ppp0")?;
        if self.ipv6 {
            let line = format!("ip addr add {}/64 dev ppp0 nodad", ROUTER_WAN6);
            router.run(&line)?;
            router.run("ip -6 route replace default dev ppp0")?;
        }
        if !self.raw {
            server.run("ip -4 route replace 192.168.1.0/24 dev ppp0")?;
            if self.ipv6 {
                for to in ["2001:db8:1::/64", "2001:db8:2::/64"] {
                    server.run(&format!("ip -6 route replace {to} dev ppp0"))?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn dial_another(&mut self, topology: &Topology) -> Result<(), Error> {
        let mut command = self.dialler("another");
        command.args(["unit", "7", "noip"]);
        let router = topology.node("router")?;
        let process = router.start(silent(&mut command));
        let up = || {
            Ok(router
                .run("ip -6 addr show dev ppp7 up")
                .is_ok_and(|text| text.contains("inet6")))
        };
        let waited = wait_until("a second session", PATIENCE, up)
            .map_err(|error| Error::Unexpected(format!("{error}\n{}", self.files.text("another"))));
        self.another = process.ok();
        waited
    }

    pub(super) fn hang_up(&mut self, topology: &Topology) -> Result<(), Error> {
        drop(self.router.take());
        let (router, server) = (topology.node("router")?, topology.node("server")?);
        wait_until("PPPoE to go down", PATIENCE, || {
            let gone = |node: &Namespace| node.run("ip link show dev ppp0").is_err();
            Ok(gone(router) && gone(server))
        })
    }
}

/// Returns the kernel's PPPoE session, if any.
pub(super) fn session(router: &Namespace) -> Result<Option<u16>, Error> {
    let table = router.run("cat /proc/net/pppoe")?;
    // Skips the heading.
    let first = table
        .lines()
        .skip(1)
        .find_map(|line| line.split_whitespace().next());
    // The kernel prints the 16 bits as in memory (`pppoe_seq_show`): network order.
    Ok(first
        .and_then(|id| u32::from_str_radix(id, 16).ok())
        .map(|id| u16::from_be_bytes((id as u16).to_ne_bytes())))
}

/// Returns the settings of both ends. Without echoes and compression, an idle link carries nothing.
fn common(mtu: u16) -> String {
    let fixed = "noauth\nnodefaultroute\nlcp-echo-interval 0\nnoccp\nnovj\n+ipv6\ndebug";
    format!("{fixed}\nmtu {mtu}\nmru {mtu}")
}

fn silent(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

/// Returns true if `ppp0` is up with this address and, with IPv6, a link-local address.
fn has_address(node: &Namespace, address: &str, ipv6: bool) -> bool {
    node.run("ip addr show dev ppp0 up").is_ok_and(|shown| {
        shown.contains(&format!("inet {address} ")) && (!ipv6 || shown.contains("inet6 fe80:"))
    })
}
