//! A port of a router with weir, and a cable that can be plugged in and pulled out.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use answers::Cable;
use lab::namespace::{Process, wait_until};
use lab::{Error, Offloads, unexpected};
use nix::sys::signal::Signal;
use testing::Directory;
use weir_tests::{Weir, binary};

use crate::cables::peers::{LAN2, SECRET, config};
use crate::cables::scene::{LINE, ROUTER, Scene, UP, WAN};

/// Longest time of a decision.
const DECIDED: Duration = Duration::from_secs(20);
/// The LAN's own address, which differs from its ports' addresses.
pub const LAN_MAC: &str = "02:6c:61:6e:00:01";
/// A host of the LAN, and the router's port for it.
pub const DESK: &str = "desk";
const LAN1: &str = "lan1";

/// Use of the port when the cable comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// The port has no use.
    Not,
    /// The port is a member of the LAN's bridge.
    Lan,
    /// The port is in the LAN's bridge, and this router serves addresses there.
    Serves,
    /// A served LAN with another host; nothing may pass before the decision.
    Apart,
    /// The port is in a LAN with a host and without a server; foreign servers are kept out.
    Guarded,
}

/// A port, a cable, and the peers at its other end.
pub struct Plug {
    // The order matters: weir ends before its devices go.
    weir: Weir,
    server: Option<Process>,
    pub scene: Scene,
    choices: Directory,
}

/// Returns commands that set all cable ends at the switch up or down.
fn links(scene: &Scene, state: &str) -> String {
    let set = |end: &String| format!("link set {end} {state}\n");
    scene.ends.iter().map(set).collect()
}

impl Plug {
    /// Starts weir while nothing is plugged in.
    pub fn of(mut scene: Scene, used: Used) -> Result<Self, Error> {
        let line = scene.lab.node(LINE)?;
        line.ip(&links(&scene, "down"))?;
        if matches!(used, Used::Apart | Used::Guarded) {
            scene.lab.host(DESK)?;
            let ends = ((ROUTER, LAN1), (DESK, UP));
            scene.lab.wire(ends.0, ends.1, Offloads::Plain)?;
        }
        let router = scene.lab.node(ROUTER)?;
        if used != Used::Not {
            router.ip(&format!(
                "link add br-lan address {LAN_MAC} type bridge\n\
                address add 192.168.1.1/24 dev br-lan\n\
                link set br-lan up\nlink set {WAN} master br-lan"
            ))?;
            for port in [LAN1, LAN2] {
                if scene.lab.index(ROUTER, port).is_ok() {
                    router.ip(&format!("link set {port} master br-lan"))?;
                }
            }
        }
        let choices = Directory::new();
        std::fs::write(choices.join("mesh"), SECRET).map_err(Error::system("write a secret"))?;
        let mode = match used {
            Used::Apart => "auto",
            Used::Not | Used::Lan | Used::Serves | Used::Guarded => "suggest",
        };
        let mut config = config(mode, &[WAN, LAN2], &choices);
        if used == Used::Guarded {
            config += "servers = \"shut\"\n";
        }
        let weir = Weir::start(router, &config, &[])?;
        let mut plug = Self {
            weir,
            server: None,
            scene,
            choices,
        };
        if matches!(used, Used::Serves | Used::Apart) {
            plug.serves()?;
        }
        plug.wait("the port to be there", |cable| !cable.link)?;
        Ok(plug)
    }

    /// Starts the router's DHCP server for its LAN.
    fn serves(&mut self) -> Result<(), Error> {
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

    /// Opens an idle connection to the router's SSH port.
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
        line.ip(&links(&self.scene, "up"))?;
        let begin = Instant::now();
        let cable = self.decided()?;
        println!("{} after {:?}: {cable:#?}", cable.role, begin.elapsed());
        Ok(cable)
    }

    /// Pulls the cable out.
    pub fn unplug(&mut self) -> Result<(), Error> {
        let line = self.scene.lab.node(LINE)?;
        line.ip(&links(&self.scene, "down")).map(drop)
    }

    /// Waits for the decision on the port.
    pub fn decided(&self) -> Result<Cable, Error> {
        self.wait("a decision", |cable| {
            cable.link && (cable.decided.is_some() || cable.held_by.is_some())
        })
    }

    /// Waits until the port's report satisfies `so`.
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

    /// Returns the report on the port.
    pub fn cable(&self) -> Result<Option<Cable>, Error> {
        let all = self.weir.client()?.cables().map_err(unexpected)?;
        // For a cable between two own ports, weir may report the loop at either port.
        let of = |device: &str| all.cables.iter().find(|cable| cable.device == device);
        let other = of(LAN2).filter(|cable| cable.link && cable.role == "loop");
        Ok(other.or(of(WAN)).cloned())
    }

    /// Returns the keys of the reported conditions.
    pub fn conditions(&self) -> Result<Vec<String>, Error> {
        let all = self.weir.client()?.conditions().map_err(unexpected)?;
        Ok(all.conditions.into_iter().map(|it| it.key).collect())
    }

    /// Restarts weir with the same configuration.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.end()?;
        self.weir.restart(self.scene.lab.node(ROUTER)?)
    }

    pub fn id(&self) -> u32 {
        self.weir.id()
    }

    pub fn end(&self) -> Result<(), Error> {
        self.weir.end(Signal::SIGTERM).map(drop)
    }

    /// Runs `weir …`: exit code, output, errors.
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

#[track_caller]
pub fn is(cable: &Cable, role: &str) {
    assert_eq!(cable.role, role, "{cable:#?}");
    assert!(!cable.why.is_empty(), "{cable:#?}");
}

#[track_caller]
pub fn heard(cable: &Cable, kind: &str) {
    let kinds = cable.evidence.iter().map(|heard| &*heard.kind);
    assert!(kinds.into_iter().any(|it| it == kind), "{cable:#?}");
}
