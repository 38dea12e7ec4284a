//! An uplink for the laboratory: the router's port, a dumb switch, and the peers behind it.

use std::net::Ipv6Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use answers::SetupUplink;
use lab::frame::Frame;
use lab::namespace::{Process, wait_until};
use lab::relay::{Impairment, Relay};
use lab::topology::mac;
use lab::{Error, Lab, Offloads, Tap};
use testing::Directory;
use weir_tests::{LIMIT, binary};

/// The router and its port; the switch and its port for the router.
pub const ROUTER: &str = "router";
pub const WAN: &str = "wan";
pub const LINE: &str = "line";
pub const PORT: &str = "port";
/// Name of every other host's device.
pub const UP: &str = "net";
const BROADCAST: u8 = 1;

/// A router's port, a switch, and the peers behind it. All ends when dropped.
pub struct Scene {
    // The order matters: programs and threads end before their devices go.
    processes: Vec<Process>,
    threads: Vec<Thread>,
    relays: Vec<Relay>,
    pub lab: Lab,
    pub folder: Directory,
    /// Devices at the switch whose link follows the link of the router's port.
    pub ends: Vec<String>,
}

impl Scene {
    /// Builds a router, and a switch without peers.
    pub fn new() -> Result<Self, Error> {
        let mut lab = Lab::new();
        lab.host(ROUTER)?;
        let line = lab.host(LINE)?;
        line.ip("link add sw type bridge mcast_snooping 0\nlink set sw up")?;
        let folder = Directory::new();
        let scene = Self {
            processes: Vec::new(),
            threads: Vec::new(),
            relays: Vec::new(),
            lab,
            folder,
            ends: vec![PORT.to_owned()],
        };
        scene.join((ROUTER, WAN), PORT)?;
        let own = link_local(ROUTER, WAN);
        scene.lab.address(ROUTER, WAN, &format!("{own}/64"))?;
        Ok(scene)
    }

    pub fn join(&self, end: (&str, &str), port: &str) -> Result<(), Error> {
        self.lab.wire(end, (LINE, port), Offloads::Default)?;
        let line = self.lab.node(LINE)?;
        line.run(&format!("ip link set {port} master sw")).map(drop)
    }

    /// Adds a peer with addresses at the switch.
    pub fn peer(&mut self, role: &str, addresses: &[&str]) -> Result<(), Error> {
        self.lab.router(role)?;
        self.join((role, UP), role)?;
        self.addresses(role, addresses)
    }

    /// Adds a peer whose frames have this tag at the switch: the modem adds and removes the tag.
    pub fn tagged(&mut self, role: &str, vlan: u16, addresses: &[&str]) -> Result<(), Error> {
        self.lab.router(role)?;
        let (inside, outside) = (format!("{role}i"), format!("{role}o"));
        self.lab
            .wire((role, UP), (LINE, &inside), Offloads::Plain)?;
        let line = self.lab.node(LINE)?;
        let join = format!("{role}s");
        line.ip(&format!(
            "link add {outside} type veth peer name {join}\nlink set {join} master sw\n\
            link set {outside} up\nlink set {join} up"
        ))?;
        let mut inside = Tap::open(line, &inside)?;
        let mut outside = Tap::open(line, &outside)?;
        let [high, low] = vlan.to_be_bytes();
        let tag = [0x81, 0, high, low];
        self.threads.push(Thread::start(move || {
            while let Some(mut frame) = inside.receive(Duration::from_millis(1))? {
                frame.splice(12..12, tag);
                outside.send(&frame)?;
            }
            while let Some(mut frame) = outside.receive(Duration::from_millis(1))? {
                if frame.get(12..16) == Some(&tag) {
                    frame.drain(12..16);
                    inside.send(&frame)?;
                }
            }
            Ok(())
        }));
        self.addresses(role, addresses)
    }

    fn addresses(&self, role: &str, addresses: &[&str]) -> Result<(), Error> {
        let own = format!("{}/64", link_local(role, UP));
        self.lab.address(role, UP, &own)?;
        addresses
            .iter()
            .try_for_each(|address| self.lab.address(role, UP, address))
    }

    /// Connects two devices of the switch's machine by a relay for all frames, including those for
    /// the nearest bridge. The treatment may delay and lose frames.
    pub fn relay(&mut self, ends: [&str; 2], treatment: Impairment) -> Result<(), Error> {
        let relay = Relay::start(self.lab.node(LINE)?, ends, treatment)?;
        self.relays.push(relay);
        Ok(())
    }

    /// Starts a peer's program, and waits for its listener at the UDP port if given.
    pub fn start(
        &mut self,
        role: &str,
        command: &mut Command,
        port: Option<u16>,
    ) -> Result<(), Error> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let node = self.lab.node(role)?;
        let process = node.start(command)?;
        if let Some(port) = port {
            wait_until(&format!("{command:?} to listen"), LIMIT, || {
                if let Some(status) = process.ended()? {
                    return Err(Error::Unexpected(format!("{command:?}: {status}")));
                }
                Ok(!node.run(&format!("ss -Hlnu sport = :{port}"))?.is_empty())
            })?;
        }
        self.processes.push(process);
        Ok(())
    }

    /// Starts dnsmasq; the options lack their dashes.
    pub fn dnsmasq(&mut self, role: &str, options: &[&str]) -> Result<(), Error> {
        let mut command = Command::new("dnsmasq");
        command.args([
            "--no-daemon",
            "--conf-file=/dev/null",
            "--port=0",
            "--user=root",
        ]);
        command.args([
            "--pid-file=",
            "--interface=net",
            "--dhcp-authoritative",
            "--no-ping",
        ]);
        let leases = self.folder.join(format!("{role}-leases"));
        command.arg(format!("--dhcp-leasefile={}", leases.display()));
        command.args(options.iter().map(|option| format!("--{option}")));
        let six = options
            .iter()
            .any(|option| option.starts_with("dhcp-range=2001"));
        self.start(role, &mut command, Some(if six { 547 } else { 67 }))
    }

    /// Starts a DHCP server at 192.0.2.1, with a router unless there are other options.
    pub fn dhcp(&mut self, role: &str, options: &[&str]) -> Result<(), Error> {
        let range = "dhcp-range=192.0.2.57,192.0.2.99,255.255.255.0,2m";
        self.dnsmasq(role, &[&[range][..], options].concat())
    }

    /// Starts a DHCP server like a modem's for its own page: without router and name server.
    pub fn modem(&mut self) -> Result<(), Error> {
        self.peer("modem", &["192.168.100.1/24"])?;
        let range = "dhcp-range=192.168.100.2,192.168.100.9,255.255.255.0,2m";
        self.dnsmasq("modem", &[range, "dhcp-option=3", "dhcp-option=6"])
    }

    /// Starts radvd with this text in its interface's braces.
    pub fn radvd(&mut self, role: &str, text: &str) -> Result<(), Error> {
        let file = self.folder.join("radvd.conf");
        let text = format!(
            "interface {UP} {{ AdvSendAdvert on; MinRtrAdvInterval 3;\n\
            MaxRtrAdvInterval 4; {text} }};\n"
        );
        std::fs::write(&file, text).map_err(Error::system("write radvd's file"))?;
        let mut command = Command::new("radvd");
        command
            .args(["--nodaemon", "--logmethod=stderr", "-C"])
            .arg(&file);
        command.arg("-p").arg(self.folder.join("radvd.pid"));
        self.start(role, &mut command, None)
    }

    /// Starts a server with a prefix for the router's networks: WIDE's, which identifies DUIDs.
    pub fn delegates(&mut self, role: &str, prefix: &str) -> Result<(), Error> {
        let file = self.folder.join("dhcp6s.conf");
        let text = format!(
            "option domain-name-servers 2001:db8::53;\nhost router {{\n duid 00:03:00:01:{};\n \
            prefix {prefix} 3600;\n}};\n",
            lab::topology::text(mac(ROUTER, WAN))
        );
        std::fs::write(&file, text).map_err(Error::system("write dhcp6s's file"))?;
        let mut command = Command::new("dhcp6s");
        command
            .arg("-f")
            .arg("-c")
            .arg(&file)
            .arg("-P")
            .arg(self.folder.join("dhcp6s.pid"));
        self.start(role, command.arg(UP), Some(547))
    }

    /// Starts a PPPoE server: the real program, of which only the first answer is needed.
    pub fn pppoe(&mut self, role: &str, services: &[&str]) -> Result<(), Error> {
        let mut command = Command::new("pppoe-server");
        command.args(["-F", "-I", UP, "-C", "BRAS1", "-L", "192.0.2.1"]);
        command
            .arg("-X")
            .arg(self.folder.join(format!("{role}-pppoe.pid")));
        for service in services {
            command.args(["-S", service]);
        }
        self.start(role, &mut command, None)
    }

    /// Sends ARP requests repeatedly, like a host with an empty cache.
    pub fn asks(&mut self, role: &str, whom: &str) -> Result<(), Error> {
        let script =
            format!("while :; do ip neigh flush dev {UP}; ping -c 1 -W 1 {whom}; sleep 0.2; done");
        self.start(role, Command::new("sh").args(["-c", &script]), None)
    }

    /// Reflects the router's broadcasts, as a switch with a looped cable does. Each comes back just
    /// once, as the laboratory must survive.
    pub fn reflects(&mut self) -> Result<(), Error> {
        self.lab.host("hub")?;
        self.join(("hub", UP), "hub")?;
        let mut tap = Tap::open(self.lab.node("hub")?, UP)?;
        let own = mac(ROUTER, WAN);
        self.threads.push(Thread::start(move || {
            if let Some(frame) = tap.receive(Duration::from_millis(5))?
                && frame[0] & BROADCAST == 1
                && frame[6..12] == own
            {
                tap.send(&frame)?;
            }
            Ok(())
        }));
        Ok(())
    }

    /// Sends such a frame repeatedly.
    pub fn says(&mut self, role: &str, frame: Frame) -> Result<(), Error> {
        let tap = Tap::open(self.lab.node(role)?, UP)?;
        self.threads.push(Thread::start(move || {
            tap.send(&frame)?;
            sleep(Duration::from_millis(200));
            Ok(())
        }));
        Ok(())
    }

    /// Runs `weir setup detect …` at the router: exit code, output, errors.
    pub fn run(&self, words: &[&str]) -> Result<(Option<i32>, String, String), Error> {
        let mut command = Command::new(binary());
        command
            .args(["setup", "detect"])
            .args(words)
            .stdin(Stdio::null());
        let output = self.lab.node(ROUTER)?.enter(|| command.output())?;
        let output = output.map_err(Error::system("run weir"))?;
        let text = |octets: Vec<u8>| String::from_utf8_lossy(&octets).into_owned();
        Ok((
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        ))
    }

    /// Returns the finding at the router's port, with a LAN of 192.168.1.0/24.
    pub fn found(&self) -> Result<SetupUplink, Error> {
        let (code, out, errors) = self.run(&[WAN, "--json", "--lan", "192.168.1.0/24"])?;
        assert_eq!(code, Some(0), "{errors}");
        println!("{out}");
        serde_json::from_str(&out).map_err(|error| Error::Unexpected(format!("{error}: {out}")))
    }
}

/// Returns the link-local address that a device derives from its hardware address.
pub fn link_local(role: &str, device: &str) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac(role, device).map(u16::from);
    let first = (a ^ 2) << 8 | b;
    Ipv6Addr::new(
        0xfe80,
        0,
        0,
        0,
        first,
        c << 8 | 0xff,
        0xfe00 | d,
        e << 8 | f,
    )
}

/// Repeats an action until dropped.
struct Thread {
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    fn start(mut work: impl FnMut() -> Result<(), Error> + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let handle = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                if let Err(error) = work() {
                    println!("a peer: {error}");
                    sleep(Duration::from_millis(20));
                }
            }
        });
        Self {
            stop,
            handle: Some(handle),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.handle.take().map(JoinHandle::join);
    }
}
