//! openNDS, another portal, in a namespace: as Debian has it.

use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use crate::{Error, Namespace, Process};

/// It sees an `/etc`, a `/run` and a `/tmp` of its own, as it writes there, and a systemctl that
/// does nothing, as it starts dnsmasq anew. That of Debian 12 (9.10) also has no nft: with that it
/// renames the chains INPUT and FORWARD of iptables and puts others of another priority in their
/// place, which Debian's iptables (1.8.9) refuses to use, so that it ends. By iptables alone its
/// rules are the same.
const SCRIPT: &str = "set -e
mount --make-rprivate /
mount -t tmpfs none /mnt
cp -a /etc/. /mnt
mount --bind /mnt /etc
mount -t tmpfs none /run
mkdir /run/tmpfiles.d
mount -t tmpfs none /tmp
mount --bind /bin/true \"$(command -v systemctl)\"
case $(opennds -v) in *\" 9.\"*) mount --bind /bin/false \"$(command -v nft)\" ;; esac
echo \"$0\" > /tmp/dhcp.leases
echo \"$1\" > /run/conf
exec opennds -f -d 1 -c /run/conf";

/// Behind lan0; it looks each second whether a session is over.
const CONFIG: &str = "GatewayInterface lan0
GatewayAddress 192.168.1.1
MaxClients 1000
CheckInterval 1
FirewallRuleSet authenticated-users {
FirewallRule allow all
}
";

/// A running one. Stopped when dropped.
#[derive(Debug)]
pub struct OpenNds {
    process: Process,
}

impl OpenNds {
    /// Starts it at the router of [`crate::gateway`]; it takes these for guests that have an address by
    /// DHCP, and nobody else. It is ready some seconds later.
    pub fn start(router: &Namespace, guests: &[(String, IpAddr)]) -> Result<Self, Error> {
        let mut leases = String::new();
        for (mac, address) in guests {
            let _ = writeln!(leases, "4000000000 {mac} {address} * *");
        }
        let mut command = Command::new("unshare");
        command
            .args(["-m", "-p", "-f", "--kill-child", "--mount-proc"])
            .args(["bash", "-c", SCRIPT, &leases, CONFIG])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = router.start(&mut command)?;
        Ok(Self { process })
    }

    /// Its process id.
    pub fn id(&self) -> Result<u32, Error> {
        if let Some(status) = self.process.ended()? {
            return Err(Error::Unexpected(format!("openNDS ended: {status}")));
        }
        let own = self.process.id();
        let file = format!("/proc/{own}/task/{own}/children");
        let inside = fs::read_to_string(&file).map_err(Error::system(format!("read {file}")))?;
        let inside = inside.trim().parse();
        inside.map_err(|_| Error::Unexpected("openNDS is not there yet".into()))
    }

    /// Tells it something by ndsctl: what it says.
    pub fn tell(&self, line: &str) -> Result<String, Error> {
        let output = Command::new("nsenter")
            .args(["-t", &self.id()?.to_string(), "-m", "-p", "ndsctl"])
            .args(line.split(' '))
            .output()
            .map_err(Error::system("run nsenter"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.success() {
            true => Ok(said),
            false => Err(Error::Unexpected(format!("ndsctl {line}: {said}"))),
        }
    }
}
