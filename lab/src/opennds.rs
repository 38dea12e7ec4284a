//! Runs openNDS, another captive portal, in a namespace, as packaged by Debian.

use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use crate::{Error, Namespace, Process};

/// Starts openNDS with its own `/etc`, `/run` and `/tmp`, since openNDS writes there, and with an
/// idle systemctl, since openNDS restarts dnsmasq. openNDS 9.10 of Debian 12 also gets no nft. With
/// nft it renames iptables' INPUT and FORWARD chains and adds ones of another priority; Debian's
/// iptables (1.8.9) refuses those, and openNDS exits. With iptables alone the rules are the same.
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

/// Serves lan0 and checks each second for ended sessions.
const CONFIG: &str = "GatewayInterface lan0
GatewayAddress 192.168.1.1
MaxClients 1000
CheckInterval 1
FirewallRuleSet authenticated-users {
FirewallRule allow all
}
";

/// A running openNDS. Stopped when dropped.
#[derive(Debug)]
pub struct OpenNds {
    process: Process,
}

impl OpenNds {
    /// Starts openNDS on the router of [`crate::gateway`], with DHCP leases for `guests` only.
    /// openNDS is ready after some seconds.
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

    /// Returns the process id of openNDS.
    pub fn id(&self) -> Result<u32, Error> {
        if let Some(status) = self.process.ended()? {
            return Err(Error::Unexpected(format!("openNDS ended: {status}")));
        }
        let own = self.process.id();
        let file = format!("/proc/{own}/task/{own}/children");
        let inside = fs::read_to_string(&file).map_err(Error::system(format!("read {file}")))?;
        let inside = inside.trim().parse();
        inside.map_err(|_| Error::Unexpected("openNDS is not running yet".into()))
    }

    /// Runs ndsctl and returns its output.
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
