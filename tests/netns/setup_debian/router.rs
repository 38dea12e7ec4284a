//! A router of Debian's own services in its own namespaces: networkd, dnsmasq and the others that a
//! configuration needs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use lab::namespace::{Process, wait_until};
pub use lab::unexpected;
use lab::{Error, Lab, Namespace};
use testing::Directory;
use weir_tests::{LIMIT, binary};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A machine with its own host name, `/etc`, `/run` and processes, which end with it.
pub struct Router {
    _machine: Process,
    folder: Directory,
    /// Id of the machine's first process.
    init: String,
}

/// Creates the namespaces: `/etc` is a copy, and `/sys` shows the machine's network. `/sys` is
/// read-only, so that networkd does not wait for udev (sd-device, `udev_available`).
const INIT: &str = r#"
set -e
mount --make-rprivate /
cp -a /etc "$1/etc"
mount --bind "$1/etc" /etc
# networkd makes MACs of bridges and of bat0 of it: machines that have the same one reach nobody
# behind each other.
echo "$1" | md5sum | cut -c -32 >/etc/machine-id
rm -rf /etc/config /etc/systemd/network /etc/dnsmasq.d /etc/nftables.d /etc/hostapd
mkdir -p /etc/config /etc/systemd/network /etc/weir
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/netif /run/dbus /run/systemd/resolve
chown systemd-network: /run/systemd/netif
umount -l /sys
mount -t sysfs -o ro sysfs /sys
mount -t tmpfs tmpfs /var/lib/misc 2>/dev/null || true
dbus-daemon --system --nofork --nopidfile --nosyslog >/run/log-dbus 2>&1 &
while ! [ -S /run/dbus/system_bus_socket ]; do sleep 0.05; done
touch "$1/ready"
# Whoever starts a service is gone soon; the shell buries what that leaves.
while :; do sleep 1000 & wait; done
"#;

impl Router {
    /// Starts a router in a namespace with the packages to render; nothing is rendered yet.
    pub fn start(node: &Namespace, packages: &[(&str, &str)]) -> Result<Self, Error> {
        let folder = Directory::new();
        let mut unshare = Command::new("unshare");
        unshare
            .args([
                "--mount",
                "--uts",
                "--pid",
                "--fork",
                "--mount-proc",
                "--kill-child",
            ])
            .args(["bash", "-c", INIT, "init"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let machine = node.start(&mut unshare)?;
        let ready = folder.join("ready");
        wait_until("the machine is there", LIMIT, || match machine.ended()? {
            Some(status) => Err(unexpected(format!("it ended: {status}"))),
            None => Ok(ready.exists()),
        })?;
        let of = format!("pgrep -P {}", machine.id());
        let init = node.run(&of)?.trim().to_owned();
        let router = Self {
            _machine: machine,
            folder,
            init,
        };
        router.furnish(packages)?;
        Ok(router)
    }

    fn furnish(&self, packages: &[(&str, &str)]) -> Result<(), Error> {
        for (name, text) in packages {
            self.write(&format!("config/{name}"), text)?;
        }
        let units = repository().join("packaging/debian");
        let units_text = units.display().to_string();
        let script = include_str!("systemd.sh").replace("@UNITS@", &units_text);
        self.write("weir/systemd", &script)?;
        let weir = binary();
        let reload = std::fs::read_to_string(units.join("reload_config"))
            .map_err(Error::system("read reload_config"))?;
        let with = format!(
            "{} setup debian --run /etc/weir/systemd --config /etc/weir/weir.toml",
            weir.display()
        );
        let replaced = reload.replace("weir setup debian", &with);
        if replaced == reload {
            return Err(unexpected("reload_config is another"));
        }
        self.write("weir/reload_config", &replaced)?;
        let text = "[setup]\nroot = \"/etc/config\"\nchanges = \"/run/uci-changes\"\n\
            state = \"/etc/weir/setup\"\nreload = \"/etc/weir/reload_config\"\n";
        self.write("weir/weir.toml", text)?;
        self.run("chmod 755 /etc/weir/systemd /etc/weir/reload_config")?;
        self.run("/etc/weir/systemd systemctl restart systemd-networkd.service")?;
        Ok(())
    }

    /// Writes a file below the router's `/etc`.
    pub fn write(&self, path: &str, text: &str) -> Result<(), Error> {
        let path = self.folder.join("etc").join(path);
        std::fs::write(&path, text).map_err(Error::system(path.display().to_string()))
    }

    /// Returns a file below the router's `/etc`.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.join("etc").join(path)).unwrap_or_default()
    }

    /// Returns the path outside the router's root of a path inside.
    pub fn outside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.init))
    }

    /// Returns a command that runs in the router.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.init, "--mount", "--uts", "--pid", "--net"]);
        command.args(words).stdin(Stdio::null());
        command
    }

    fn output(&self, words: &[&str]) -> Result<Output, Error> {
        let output = self.command(words).output();
        output.map_err(Error::system(words.join(" ")))
    }

    /// Runs a command line, split at white space; returns its output.
    pub fn run(&self, line: &str) -> Result<String, Error> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = self.output(&words)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(unexpected(format!("{line}: {errors}")))
    }

    /// Runs `weir setup …`.
    pub fn setup(&self, words: &str) -> Result<String, Error> {
        let weir = binary();
        let weir = weir.display();
        self.run(&format!(
            "{weir} setup {words} --config /etc/weir/weir.toml"
        ))
    }

    /// Runs `weir uci …`; the change is pending.
    pub fn uci(&self, words: &str) -> Result<(), Error> {
        let weir = binary();
        let weir = weir.display();
        self.run(&format!("{weir} uci -t /run/uci-changes {words}"))
            .map(drop)
    }

    /// Runs the program that reloads services.
    pub fn reload(&self, packages: &str) -> Result<(), Error> {
        self.run(&format!("/etc/weir/reload_config {packages}"))
            .map(drop)
    }

    /// Returns the records since the last call.
    pub fn told(&self) -> Result<Vec<String>, Error> {
        let told = self.run("cat /run/told")?;
        self.run("rm /run/told")?;
        Ok(told.lines().map(str::to_owned).collect())
    }

    /// Returns true if a device has an address.
    pub fn has(&self, device: &str, address: &str) -> Result<bool, Error> {
        let shown = self.run(&format!("ip -brief address show dev {device}"));
        let shown = shown.unwrap_or_default();
        Ok(shown.split_whitespace().any(|word| word == address))
    }

    /// Waits until a device has an address.
    pub fn wait(&self, device: &str, address: &str) -> Result<(), Error> {
        let what = format!("{device} has {address}");
        wait_until(&what, LIMIT, || {
            std::thread::sleep(Duration::from_millis(50));
            self.has(device, address)
        })
        .map_err(|error| unexpected(format!("{error}\n{}", self.logs())))
    }

    /// Returns the services' logs, for the search of a mistake.
    pub fn logs(&self) -> String {
        let words = [
            "sh",
            "-c",
            "tail -n 15 /run/log-* /run/told; ip address; nft list ruleset",
        ];
        let output = self.output(&words);
        output.map_or_else(
            |error| error.to_string(),
            |output| String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    }
}

/// Leases an address by DHCP, as the first client in a network does. Returns the address.
pub fn lease(node: &Namespace, device: &str) -> Result<String, Error> {
    const SCRIPT: &str = "#!/bin/sh\n[ \"$1\" = bound ] || exit 0\nip address flush dev \
        $interface\nip address add $ip/$mask dev $interface\nip route replace default via \
        $router\n";
    let path = std::env::temp_dir().join(format!("weir-lease-{}", node.name()));
    std::fs::write(&path, SCRIPT).map_err(Error::system("write a script"))?;
    let shown = path.display();
    let done = node
        .run(&format!("chmod 755 {shown}"))
        .and_then(|_| node.run(&format!("ip address flush dev {device}")))
        .and_then(|_| {
            node.run(&format!(
                "busybox udhcpc -i {device} -n -q -f -t 60 -T 1 -s {shown}"
            ))
        });
    let _ = std::fs::remove_file(&path);
    done?;
    let shown = node.run(&format!("ip -4 -brief address show dev {device}"))?;
    let address = shown.split_whitespace().nth(2).unwrap_or_default();
    Ok(address.split('/').next().unwrap_or_default().to_owned())
}

/// Returns the answer at a TCP port, if there is a server.
pub fn ask(node: &Namespace, address: &str) -> Result<Option<String>, Error> {
    use std::io::Read;
    use std::net::{SocketAddr, TcpStream};
    let address: SocketAddr = address.parse().map_err(|_| unexpected("an address"))?;
    node.enter(|| {
        let limit = Duration::from_secs(3);
        let mut stream = TcpStream::connect_timeout(&address, limit).ok()?;
        let _ = stream.set_read_timeout(Some(limit));
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        Some(text.trim().to_owned())
    })
}

/// Serves the client's address at a TCP port.
pub fn serve(node: &Namespace, port: u16) -> Result<Process, Error> {
    say(node, port, "echo $SOCAT_PEERADDR")
}

/// Serves a command's output at a TCP port.
pub fn say(node: &Namespace, port: u16, command: &str) -> Result<Process, Error> {
    say_by(node, "TCP", port, command)
}

/// Sends by `TCP` or `TCP6`.
pub fn say_by(
    node: &Namespace,
    protocol: &str,
    port: u16,
    command: &str,
) -> Result<Process, Error> {
    let mut socat = Command::new("socat");
    let listen = format!("{protocol}-LISTEN:{port},reuseaddr,fork");
    socat
        .args([&listen, &format!("SYSTEM:{command}")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let process = node.start(&mut socat)?;
    wait_until("somebody listens", LIMIT, || {
        let shown = node.run(&format!("ss -Hltn sport = :{port}"))?;
        Ok(!shown.trim().is_empty())
    })?;
    Ok(process)
}

/// A provider: DHCP, and a host behind the provider.
pub struct Provider {
    _processes: Vec<Process>,
}

/// The host behind the provider, and its port.
pub const FAR: &str = "198.51.100.1:80";
/// The router's address at the provider.
pub const WAN: &str = "203.0.113.100";

impl Provider {
    pub fn start(node: &Namespace) -> Result<Self, Error> {
        Self::at(node, "eth0")
    }

    /// Serves at another device.
    pub fn at(node: &Namespace, device: &str) -> Result<Self, Error> {
        Self::with(node, device, 1)
    }

    /// Serves this many router addresses, from [`WAN`] on.
    pub fn with(node: &Namespace, device: &str, addresses: u8) -> Result<Self, Error> {
        let last = 99 + addresses;
        node.ip(&format!(
            "address add 203.0.113.1/24 dev {device}\naddress add 198.51.100.1/32 dev lo\n"
        ))?;
        let mut dnsmasq = Command::new("dnsmasq");
        dnsmasq
            .args([
                "--keep-in-foreground",
                "--conf-file=/dev/null",
                "--port=0",
                "--user=root",
            ])
            .args([
                &format!("--interface={device}"),
                &format!("--dhcp-range=203.0.113.100,203.0.113.{last},1h"),
            ])
            .args(["--leasefile-ro", "--dhcp-authoritative", "--pid-file="])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self {
            _processes: vec![node.start(&mut dnsmasq)?, serve(node, 80)?],
        })
    }
}

/// Builds a router with a provider, a client and a guest.
pub fn lab() -> Result<Lab, Error> {
    let mut lab = Lab::new();
    for role in ["router", "client", "guest", "far"] {
        lab.host(role)?;
    }
    for (role, device) in [("far", "eth0"), ("client", "eth1"), ("guest", "eth2")] {
        let port = if role == "far" { "eth0" } else { device };
        lab.wire(
            ("router", port),
            (role, "eth0"),
            lab::topology::Offloads::Default,
        )?;
    }
    Ok(lab)
}
