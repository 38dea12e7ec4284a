//! Peers at the other end of a cable: programs, radios, other nodes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lab::frame::Mac;
use lab::namespace::wait_until;
use lab::relay::Impairment;
use lab::topology::mac;
use lab::{Error, Offloads};
use weir_tests::{LIMIT, binary};

use crate::cables::frames;
use crate::cables::scene::{LINE, PORT, ROUTER, Scene, UP, WAN};

/// The router's other port, and the switch's port for it.
pub const LAN2: &str = "lan2";
pub const PORT2: &str = "port2";
/// Secrets of the mesh and of another mesh.
pub const SECRET: &str = "the valley's long secret";
pub const OTHER_SECRET: &str = "the mountain's long secret";
/// Treatment of frames by a radio, each way.
const BY_RADIO: Impairment = Impairment {
    delay: Duration::from_millis(15),
    loss: 0.05,
    strip: false,
    hush: false,
};
/// Delay that replaces a switch's forwarding time where frames circle for ever.
const ROUND: Duration = Duration::from_millis(20);

impl Scene {
    /// Starts a client that requests an address and accepts none.
    pub fn asks_for_an_address(&mut self, role: &str) -> Result<(), Error> {
        let mut command = Command::new("busybox");
        command.args(["udhcpc", "-f", "-i", UP, "-t", "100", "-T", "1"]);
        self.start(role, command.args(["-s", "/bin/true"]), None)
    }

    /// Starts LLDP on a peer.
    pub fn lldp(&mut self, role: &str, device: &str) -> Result<(), Error> {
        let mut command = Command::new("lldpd");
        command.args(["-d", "-I", device, "-c", "-u"]);
        command.arg(self.folder.join(format!("{role}-lldpd.socket")));
        self.start(role, &mut command, None)
    }

    /// Starts Babel on a peer.
    pub fn babel(&mut self, role: &str) -> Result<(), Error> {
        let file = |name: &str| self.folder.join(format!("{role}-{name}"));
        let (pid, state) = (file("babeld.pid"), file("babeld.state"));
        let mut command = Command::new("babeld");
        command.args(["-h", "1", "-H", "1", "-I"]).arg(pid);
        self.start(role, command.arg("-S").arg(state).arg(UP), None)
    }

    /// Starts BIRD with this protocol on a peer; the device is `net`.
    pub fn bird(&mut self, role: &str, protocol: &str) -> Result<(), Error> {
        let file = |name: &str| self.folder.join(format!("{role}-{name}"));
        let text = format!(
            "router id 192.0.2.9;\nprotocol device {{}}\nprotocol static {{ ipv4; route \
            198.51.100.0/24 blackhole; }}\n{protocol}\n"
        );
        let config = file("bird.conf");
        std::fs::write(&config, text).map_err(Error::system("write bird's file"))?;
        let mut command = Command::new("bird");
        command.arg("-f").arg("-c").arg(config);
        command.arg("-s").arg(file("bird.socket"));
        self.start(role, command.arg("-P").arg(file("bird.pid")), None)
    }

    /// Starts a node with weir and this secret, which probes its port.
    pub fn weir(&mut self, role: &str, secret: &str) -> Result<(), Error> {
        let folder = self.folder.join(role);
        let write = |name: &str, text: &str| {
            let written = std::fs::write(folder.join(name), text);
            written.map_err(Error::system("write a node's file"))
        };
        std::fs::create_dir_all(&folder).map_err(Error::system("make a folder"))?;
        write("mesh", secret)?;
        let config = config("suggest", &[UP], &folder);
        write("weir.toml", &config)?;
        let socket = folder.join("socket");
        let mut command = Command::new(binary());
        command.arg("run").arg("--socket").arg(&socket);
        command.arg("--config").arg(folder.join("weir.toml"));
        self.start(role, &mut command, None)?;
        wait_until("a node to answer", LIMIT, || Ok(socket.exists()))
    }

    /// Makes the switch forward frames for the nearest bridge, as simple switches may.
    pub fn passes_all(&self) -> Result<(), Error> {
        let line = self.lab.node(LINE)?;
        line.ip("link set sw type bridge group_fwd_mask 0x4000")
            .map(drop)
    }

    /// Connects the router's port directly to a peer, without a switch.
    pub fn directly(&mut self, role: &str) -> Result<(), Error> {
        self.finished((ROUTER, WAN))?;
        self.finished((role, UP))?;
        let line = self.lab.node(LINE)?;
        line.ip(&format!(
            "link set {PORT} nomaster\nlink set {role} nomaster"
        ))?;
        self.plugged_together(role);
        self.relay([PORT, role], Impairment::default())
    }

    /// Gives this device at the switch its link together with the router's port.
    pub fn plugged_together(&mut self, device: &str) {
        self.ends.push(device.to_owned());
    }

    /// Makes the sender compute checksums, as a frame redirection does not.
    fn finished(&self, (role, device): (&str, &str)) -> Result<(), Error> {
        let node = self.lab.node(role)?;
        node.run(&format!("ethtool -K {device} tx off")).map(drop)
    }

    /// Adds two more ports of the switch's machine, with a relay between them.
    fn between(&mut self, names: [&str; 2], treatment: Impairment) -> Result<(), Error> {
        let inner = names.map(|name| format!("{name}x"));
        for (name, inner) in names.iter().zip(&inner) {
            self.lab
                .wire((LINE, name), (LINE, inner), Offloads::Plain)?;
        }
        self.relay([&inner[0], &inner[1]], treatment)
    }

    /// Adds another switch, for example the remote end of a radio link.
    fn switch(&self, name: &str, ports: &[&str]) -> Result<(), Error> {
        let line = self.lab.node(LINE)?;
        line.ip(&format!(
            "link add {name} type bridge mcast_snooping 0 group_fwd_mask 0x4000\n\
            link set {name} up"
        ))?;
        self.members(name, ports)
    }

    fn members(&self, switch: &str, ports: &[&str]) -> Result<(), Error> {
        let set = |port: &&str| format!("link set {port} master {switch}\n");
        let lines: String = ports.iter().map(set).collect();
        self.lab.node(LINE)?.ip(&lines).map(drop)
    }

    /// Adds a bridge of two radios, slow and lossy: the switch, and the remote end.
    pub fn radio_bridge(&mut self) -> Result<(), Error> {
        self.passes_all()?;
        self.between(["near", "distant"], BY_RADIO)?;
        self.members("sw", &["near"])?;
        self.switch("far", &["distant"])
    }

    /// Adds a peer at the remote end of the radios.
    pub fn behind(&mut self, role: &str, addresses: &[&str]) -> Result<(), Error> {
        self.peer(role, addresses)?;
        self.members("far", &[role])
    }

    /// Connects the router's other port to the switch too.
    pub fn second_port(&mut self) -> Result<(), Error> {
        self.plugged_together(PORT2);
        self.join((ROUTER, LAN2), PORT2)
    }

    /// Connects one of the router's ports to the other.
    pub fn short(&mut self) -> Result<(), Error> {
        self.lab
            .wire((ROUTER, LAN2), (LINE, PORT2), Offloads::Plain)?;
        self.finished((ROUTER, WAN))?;
        self.lab
            .node(LINE)?
            .ip(&format!("link set {PORT} nomaster"))?;
        self.plugged_together(PORT2);
        self.relay([PORT, PORT2], Impairment::delay(ROUND))
    }

    /// Builds a ring of three switches: broadcasts circle, slowly enough for the laboratory.
    pub fn ring(&mut self) -> Result<(), Error> {
        self.between(["r0", "r1"], Impairment::delay(ROUND))?;
        let line = self.lab.node(LINE)?;
        line.ip(
            "link add r2 type veth peer name r3\nlink set r2 up\nlink set r3 up\n\
            link add r4 type veth peer name r5\nlink set r4 up\nlink set r5 up",
        )?;
        self.members("sw", &["r0", "r2"])?;
        self.switch("sw2", &["r3", "r4"])?;
        self.switch("sw3", &["r5", "r1"])
    }

    /// Repeats a frame that needs the sender's hardware address.
    pub fn speaks(&mut self, role: &str, frame: impl Fn(Mac) -> Vec<u8>) -> Result<(), Error> {
        self.says(role, frame(mac(role, UP)))
    }

    /// Adds a radio at the switch that announces itself by LLDP.
    pub fn dish(&mut self) -> Result<(), Error> {
        self.passes_all()?;
        self.peer("dish", &[])?;
        let access_point = |own| frames::lldp(own, "NanoStation loco M5", 0b1100);
        self.speaks("dish", access_point)
    }
}

/// Returns weir's configuration for these ports. The folder holds the mesh's secret, and choices.
pub fn config(mode: &str, ports: &[&str], folder: &Path) -> String {
    let (mesh, choices) = (folder.join("mesh"), folder.join("cables"));
    format!(
        "[offload]\nenabled = false\n[web]\nenabled = false\n[cables]\nmode = \"{mode}\"\n\
        ports = {ports:?}\nchoices = {choices:?}\nmesh = {mesh:?}\n"
    )
}
