//! NetworkManager, a guest with its own detection of portals.

use std::fs;
use std::process::{Command, Stdio};

use lab::Process;

use super::*;

/// The URL of the check is GNOME's, the way of checking NetworkManager's own.
const CONFIG: &str = "[main]
plugins=keyfile
dhcp=internal
rc-manager=file
auth-polkit=false
[connectivity]
uri=http://nmcheck.gnome.org/check_network_status.txt
response=NetworkManager is online
";
const PROFILE: &str = "[connection]
id=wire
type=ethernet
interface-name=eth0
[ipv4]
method=auto
[ipv6]
method=disabled
";
/// Gives NetworkManager its own `/etc`, `/run` and message bus. As in a container, `/sys` is
/// read-only, so that udev is not asked for devices.
const MANAGER: &str = "set -e
mount --make-rprivate /
mount -t tmpfs none /mnt
cp -a /etc/. /mnt
mount --bind /mnt /etc
mount -t tmpfs none /run
mount -t tmpfs none /var/lib/NetworkManager
mount -t sysfs none /sys
mount -o remount,ro,bind /sys
mkdir -p /run/dbus /run/NetworkManager
rm -f /etc/resolv.conf
rm -rf /etc/NetworkManager
mkdir -p /etc/NetworkManager/system-connections
echo \"$0\" > /etc/NetworkManager/NetworkManager.conf
profile=/etc/NetworkManager/system-connections/wire.nmconnection
echo \"$1\" > $profile
chmod 600 $profile
dbus-daemon --system --nopidfile --fork
exec NetworkManager --no-daemon";

/// A running NetworkManager.
struct Manager {
    process: Process,
    log: PathBuf,
}

impl Manager {
    fn start(place: &Place) -> Result<Self, Error> {
        let log = place.folder.join("manager");
        let file = fs::File::create(&log).map_err(unexpected)?;
        let mut command = Command::new("unshare");
        command
            .args(["-m", "-p", "-f", "--kill-child", "--mount-proc"])
            .args(["bash", "-c", MANAGER, CONFIG, PROFILE])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
        let process = place.client()?.start(&mut command)?;
        Ok(Self { process, log })
    }

    /// Returns nmcli's output, empty on failure.
    fn ask(&self, line: &str) -> Result<String, Error> {
        if let Some(status) = self.process.ended()? {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            return Err(unexpected(format!("NetworkManager ended: {status}: {log}")));
        }
        let id = self.process.id();
        let file = format!("/proc/{id}/task/{id}/children");
        let inside = fs::read_to_string(file).map_err(unexpected)?;
        let output = Command::new("nsenter")
            .args(["-t", inside.trim(), "-m", "-p", "nmcli"])
            .args(line.split(' '))
            .output()
            .map_err(unexpected)?;
        let said = String::from_utf8_lossy(&output.stdout);
        Ok(said.trim().to_owned())
    }

    /// Waits until NetworkManager reports this connectivity.
    fn says(&self, wanted: &str) -> Result<(), Error> {
        let mut said = String::new();
        let found = wait_until(wanted, LIMIT, || {
            said = self.ask("networking connectivity check")?;
            Ok(said == wanted)
        });
        found.map_err(|error| {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            unexpected(format!("{error}: it says {said:?}\n{log}"))
        })
    }
}

/// NetworkManager sees the portal before the log-in, full access after it, and the portal again
/// after the voucher's revocation.
#[test]
fn network_manager_sees_the_portal_until_the_log_in() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let (client, router, server) = (
        place.client()?,
        place.lab.node("router")?,
        place.lab.node("server")?,
    );
    client.run("ip addr flush dev eth0")?;
    let mut names = router.command("dnsmasq");
    names
        .args(["-k", "-C", "/dev/null", "-i", "lan0", "--bind-interfaces"])
        .args(["--no-resolv", "--no-hosts", "--dhcp-authoritative"])
        .arg("--dhcp-range=192.168.1.100,192.168.1.120,1h")
        .arg(format!("--address=/nmcheck.gnome.org/{SERVER}"))
        .arg("-x")
        .arg(place.folder.join("dnsmasq"))
        .arg("-l")
        .arg(place.folder.join("leases"));
    let _names = router.start(&mut names)?;
    let site = place.folder.join("site");
    fs::create_dir_all(&site).map_err(unexpected)?;
    let online = "NetworkManager is online\n";
    fs::write(site.join("check_network_status.txt"), online).map_err(unexpected)?;
    let mut web = Command::new("busybox");
    web.args(["httpd", "-f", "-p"]).arg(format!("{SERVER}:80"));
    let _web = server.start(web.arg("-h").arg(&site))?;
    let manager = Manager::start(&place)?;
    wait_until("an address", LIMIT, || {
        let devices = manager.ask("-t -f DEVICE,STATE device")?;
        Ok(devices.contains("eth0:connected"))
    })?;
    manager.says("portal")?;
    let voucher = place.sell("--name guest --duration 1h")?;
    place.log_in(&voucher.code)?;
    manager.says("full")?;
    place.weir(&format!("voucher revoke {}", voucher.id))?;
    manager.says("portal")
}
