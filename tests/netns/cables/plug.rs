//! A port of a router with weir, and a cable that can be plugged in and pulled out.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use answers::Cable;
use lab::Error;
use lab::namespace::{Process, wait_until};
use lab::topology::mac;
use lab::wire::Frame;
use nix::sys::signal::Signal;
use weir_tests::{Weir, binary};

use crate::scene::{LINE, PORT, ROUTER, Scene, UP, WAN};

/// No decision takes longer.
const DECIDED: Duration = Duration::from_secs(20);

/// What the port is used for when the cable comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// Nothing.
    Not,
    /// It is a member of the LAN's bridge.
    Lan,
}

/// The port, the cable, and who is at its other end.
pub struct Plug {
    // In this order: weir ends before its devices go.
    weir: Weir,
    server: Option<Process>,
    pub scene: Scene,
    choices: PathBuf,
}

impl Drop for Plug {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.choices);
    }
}

impl Plug {
    /// Starts weir while nothing is plugged in.
    pub fn of(scene: Scene, used: Used) -> Result<Self, Error> {
        scene
            .lab
            .node(LINE)?
            .run(&format!("ip link set {PORT} down"))?;
        let router = scene.lab.node(ROUTER)?;
        if used == Used::Lan {
            router.ip(&format!(
                "link add br-lan type bridge\naddress add 192.168.1.1/24 dev br-lan\n\
                link set br-lan up\nlink set {WAN} master br-lan"
            ))?;
        }
        let choices = std::env::temp_dir().join(format!("{}-cables", router.name()));
        std::fs::create_dir_all(&choices).map_err(Error::system("make a folder"))?;
        let file = choices.join("cables");
        let config = format!(
            "[offload]\nenabled = false\n[web]\nenabled = false\n\
            [cables]\nmode = \"suggest\"\nports = [\"{WAN}\"]\nchoices = {file:?}\n"
        );
        let weir = Weir::start(router, &config, &[])?;
        let plug = Self {
            weir,
            server: None,
            scene,
            choices,
        };
        plug.wait("the port to be there", |cable| !cable.link)?;
        Ok(plug)
    }

    /// The router serves addresses in its LAN.
    pub fn serves(&mut self) -> Result<(), Error> {
        let mut command = Command::new("dnsmasq");
        command.args([
            "--no-daemon",
            "--conf-file=/dev/null",
            "--port=0",
            "--user=root",
        ]);
        command.args(["--pid-file=", "--interface=br-lan", "--bind-dynamic"]);
        command.arg(format!(
            "--dhcp-leasefile={}/leases",
            self.choices.display()
        ));
        command.arg("--dhcp-range=192.168.1.100,192.168.1.150,2m");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let router = self.scene.lab.node(ROUTER)?;
        self.server = Some(router.start(&mut command)?);
        wait_until("dnsmasq to listen", DECIDED, || {
            Ok(!router.run("ss -Hlnu sport = :67")?.is_empty())
        })
    }

    /// Somebody has a connection to the router's SSH, and says nothing.
    pub fn logs_in(&mut self, role: &str, address: &str) -> Result<(), Error> {
        let socat = |what: &[&str]| {
            let mut command = Command::new("socat");
            command.args(what);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command
        };
        let router = self.scene.lab.node(ROUTER)?;
        let mut serves = socat(&["TCP-LISTEN:22,fork", "EXEC:sleep 60"]);
        self.server = Some(router.start(&mut serves)?);
        wait_until("socat to listen", DECIDED, || {
            Ok(!router.run("ss -Hlnt sport = :22")?.is_empty())
        })?;
        let connects = format!("TCP:{address}:22");
        let mut asks = socat(&["EXEC:sleep 60", &connects]);
        self.scene.start(role, &mut asks, None)
    }

    /// Plugs the cable in, and waits for the decision.
    pub fn plugged(&mut self) -> Result<Cable, Error> {
        let line = self.scene.lab.node(LINE)?;
        line.run(&format!("ip link set {PORT} up"))?;
        let begin = Instant::now();
        let cable = self.decided()?;
        println!("{} after {:?}: {cable:#?}", cable.role, begin.elapsed());
        Ok(cable)
    }

    /// Pulls it out.
    pub fn unplug(&mut self) -> Result<(), Error> {
        let line = self.scene.lab.node(LINE)?;
        line.run(&format!("ip link set {PORT} down")).map(drop)
    }

    /// What is decided.
    pub fn decided(&self) -> Result<Cable, Error> {
        self.wait("a decision", |cable| {
            cable.link && (cable.decided.is_some() || cable.held_by.is_some())
        })
    }

    /// Waits until so much is known of the port.
    pub fn wait(&self, what: &str, so: impl Fn(&Cable) -> bool) -> Result<Cable, Error> {
        let mut found = None;
        let waited = wait_until(what, DECIDED, || {
            found = self.cable()?;
            Ok(found.as_ref().is_some_and(&so))
        });
        let log = || format!("{found:#?}\n{}", self.weir.log());
        waited.map_err(|error| Error::Unexpected(format!("{error}: {}", log())))?;
        found.ok_or_else(|| Error::Unexpected("no port".into()))
    }

    fn cable(&self) -> Result<Option<Cable>, Error> {
        let unexpected = |error| Error::Unexpected(format!("{error}"));
        let all = self.weir.client()?.cables().map_err(unexpected)?;
        Ok(all.cables.into_iter().find(|cable| cable.device == WAN))
    }

    /// Another weir, with the same configuration.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.end()?;
        self.weir.restart(self.scene.lab.node(ROUTER)?)
    }

    /// Ends weir.
    pub fn end(&self) -> Result<(), Error> {
        self.weir.end(Signal::SIGTERM).map(drop)
    }

    /// `weir …`: exit code, what it prints, and its errors.
    pub fn weir(&self, words: &[&str]) -> Result<(Option<i32>, String, String), Error> {
        let mut command = Command::new(binary());
        command.args(words).arg("--socket").arg(self.weir.socket());
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(Error::system("run weir"))?;
        let text = |octets: Vec<u8>| String::from_utf8_lossy(&octets).into_owned();
        Ok((
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        ))
    }
}

impl Scene {
    /// A computer that asks for an address and takes none.
    pub fn asks_for_an_address(&mut self, role: &str) -> Result<(), Error> {
        let mut command = Command::new("busybox");
        command.args([
            "udhcpc",
            "-f",
            "-i",
            UP,
            "-t",
            "100",
            "-T",
            "1",
            "-s",
            "/bin/true",
        ]);
        self.start(role, &mut command, None)
    }

    /// A peer that says by LLDP what it is.
    pub fn lldp(&mut self, role: &str, device: &str) -> Result<(), Error> {
        let folder = std::env::temp_dir().join(self.lab.node(role)?.name());
        let mut command = Command::new("lldpd");
        command.args(["-d", "-I", device, "-c", "-u"]);
        command.arg(folder.join("lldpd.socket"));
        self.start(role, &mut command, None)
    }

    /// A peer that speaks Babel.
    pub fn babel(&mut self, role: &str) -> Result<(), Error> {
        let folder = std::env::temp_dir().join(self.lab.node(LINE)?.name());
        let file = |name: &str| folder.join(format!("{role}-{name}"));
        let mut command = Command::new("babeld");
        command
            .args(["-h", "1", "-H", "1", "-I"])
            .arg(file("babeld.pid"));
        command.arg("-S").arg(file("babeld.state"));
        self.start(role, command.arg(UP), None)
    }
}

/// LLDP of an access point with this description (IEEE 802.1AB).
pub fn announced(role: &str, description: &str) -> Frame {
    let own = mac(role, UP);
    let mut frame = [&[1, 0x80, 0xc2, 0, 0, 0x0e][..], &own, &[0x88, 0xcc]].concat();
    let mut part = |kind: u16, value: &[u8]| {
        let length = u16::try_from(value.len()).unwrap_or(0);
        frame.extend((kind << 9 | length).to_be_bytes());
        frame.extend(value);
    };
    part(1, &[&[4], &own[..]].concat());
    part(2, &[&[3], &own[..]].concat());
    part(3, &[0, 120]);
    part(6, description.as_bytes());
    // It can bridge and be an access point, and is both.
    part(7, &[0, 0b1100, 0, 0b1100]);
    part(0, &[]);
    frame
}

#[track_caller]
pub fn is(cable: &Cable, role: &str) {
    assert_eq!(cable.role, role, "{cable:#?}");
    assert!(!cable.why.is_empty(), "{cable:#?}");
}

#[track_caller]
pub fn one_of(cable: &Cable, roles: &[&str]) {
    assert!(roles.contains(&&*cable.role), "{cable:#?}");
}

#[track_caller]
pub fn heard(cable: &Cable, kind: &str) {
    let kinds = cable.evidence.iter().map(|heard| &*heard.kind);
    assert!(kinds.into_iter().any(|it| it == kind), "{cable:#?}");
}
