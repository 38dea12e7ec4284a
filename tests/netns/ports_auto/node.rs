//! A node of Debian's services, with weir and the process that changes its configuration.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use answers::Cables;
use lab::Error;
use lab::namespace::wait_until;
use weir_tests::binary;
use weir_tests::client::Client;

use crate::ports_auto::panel::Panel;
use crate::ports_auto::router::{Router, unexpected};

/// Longest wait for a request, a change, a start of services or DHCP, in an emulated machine.
pub const LONG: Duration = Duration::from_secs(150);

/// Configuration of a new node: only a LAN without a port.
const NETWORK: &str = "
config device
	option name 'br-lan'
	option type 'bridge'
	option bridge_empty '1'

config interface 'lan'
	option device 'br-lan'
	option proto 'static'
	option ipaddr '192.168.1.1'
	option netmask '255.255.255.0'
";

const DHCP: &str = "
config dnsmasq
	option authoritative '1'

config dhcp 'lan'
	option interface 'lan'
	option start '100'
	option limit '50'
";

const FIREWALL: &str = "
config defaults
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'

config zone
	option name 'lan'
	list network 'lan'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'ACCEPT'

config zone
	option name 'wan'
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'
	option masq '1'

config forwarding
	option src 'lan'
	option dest 'wan'
";

/// A running node.
pub struct Node {
    processes: Vec<Child>,
    pub router: Router,
}

impl Drop for Node {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Node {
    /// Starts a node; `more` is added to its `[cables]`.
    pub fn start(panel: &Panel, role: &str, more: &str) -> Result<Self, Error> {
        Self::with(
            panel,
            role,
            more,
            None,
            &[("network", NETWORK), ("dhcp", DHCP), ("firewall", FIREWALL)],
        )
    }

    fn with(
        panel: &Panel,
        role: &str,
        more: &str,
        secret: Option<&str>,
        packages: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let router = Router::start(panel.node(role)?, packages)?;
        router.reload("network dhcp firewall")?;
        if let Some(secret) = secret {
            router.write("weir/mesh.secret", secret)?;
            router.run("chmod 600 /etc/weir/mesh.secret")?;
        }
        let known = router.read("weir/weir.toml");
        router.write(
            "weir/weir.toml",
            &format!(
                "{known}[web]\nenabled = false\n[cables]\nmode = \"auto\"\n\
                 ports = [\"eth0\", \"eth1\"]\nchoices = \"/etc/weir/cables\"\n{more}"
            ),
        )?;
        let mut node = Self {
            processes: Vec::new(),
            router,
        };
        node.begin(&["setup", "serve"], "/run/log-setup")?;
        node.begin(&["run"], "/run/log-weir")?;
        wait_until("weir to answer", LONG, || Ok(node.cables().is_ok()))
            .map_err(|error| node.told(&error))?;
        Ok(node)
    }

    /// Starts a node of a mesh: the node with the uplink serves addresses for the whole mesh.
    pub fn in_mesh(
        panel: &Panel,
        role: &str,
        more: &str,
        secret: &str,
        serves: bool,
    ) -> Result<Self, Error> {
        let (address, ignore) = match serves {
            true => ("192.168.1.1", ""),
            false => ("192.168.1.2", "\toption ignore '1'\n"),
        };
        let network = NETWORK.replace("192.168.1.1", address);
        let dhcp = format!("{DHCP}{ignore}");
        let packages = [
            ("network", &*network),
            ("dhcp", &*dhcp),
            ("firewall", FIREWALL),
        ];
        Self::with(panel, role, more, Some(secret), &packages)
    }

    fn begin(&mut self, words: &[&str], log: &str) -> Result<(), Error> {
        let weir = binary().display().to_string();
        let line = format!(
            "exec {weir} {} --config /etc/weir/weir.toml >{log} 2>&1",
            words.join(" ")
        );
        let mut command: Command = self.router.command(&["sh", "-c", &line]);
        command.stdin(Stdio::null());
        let child = command.spawn().map_err(Error::system("start weir"))?;
        self.processes.push(child);
        Ok(())
    }

    /// Returns weir's report on its ports: by the socket, as each command loads a slow machine.
    pub fn cables(&self) -> Result<Cables, Error> {
        let socket = self.router.outside("/run/weir/weir.sock");
        let told = Client::new(&socket).and_then(|client| client.cables());
        told.map_err(|error| unexpected(error.to_string()))
    }

    /// Waits until a port has this use and is open.
    pub fn is_used(&self, device: &str, so: &str) -> Result<(), Error> {
        wait_until(&format!("{device} is {so}"), LONG, || {
            let cables = self.cables()?.cables;
            let port = cables.iter().find(|cable| cable.device == device);
            Ok(port.is_some_and(|port| port.now == so && !port.shut))
        })
        .map_err(|error| self.told(&error))
    }

    pub fn told(&self, error: &Error) -> Error {
        unexpected(format!("{error}\n{:#?}\n{}", self.cables(), self.logs()))
    }

    pub fn logs(&self) -> String {
        self.router.logs()
    }
}
