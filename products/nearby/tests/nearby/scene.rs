//! A bus and the air, for all tests of this program; BlueZ, adapters, programs and peers for each.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use lab::Error;
use lab::namespace::wait_until;
pub use lab::unexpected;
use serde_json::{Value, json};

use crate::teller::{LIMIT, Teller, Told, ended, fits};

/// Folder of the air's programs.
const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab");
/// Port at which Python peers reach the air.
const PORT: u16 = 7300;
/// Socket at which programs reach the bus.
const BUS: &str = "/run/dbus/system_bus_socket";
const CONFIGURATION: &str = "[General]
ControllerMode = le
ReverseServiceDiscovery = false
NameResolving = false
[GATT]
Cache = no
Channels = 1
ExchangeMTU = 517
[Policy]
AutoEnable = true
";

/// The binary under test: WEIR_NEARBY, or the one built with this test.
pub fn program() -> PathBuf {
    let built = || env!("CARGO_BIN_EXE_weir-nearby").into();
    std::env::var_os("WEIR_NEARBY").map_or_else(built, PathBuf::from)
}

/// A program of the lab's.
fn python(name: &str) -> Command {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let mut command = Command::new(target.with_file_name("tools/bumble/bin/python"));
    command.arg(Path::new(LAB).join(name));
    command
}

/// Starts a service with its output in a file.
fn service(log: &Path, command: &[&str]) -> Result<Teller, Error> {
    let mut service = Command::new(command[0]);
    service.args(&command[1..]);
    Teller::start(&mut ended(&service), log)
}

/// Services that all tests share, because they start slowly.
struct Shared {
    bluez: Option<Teller>,
    _bus: Teller,
    air: Teller,
    control: BufReader<UnixStream>,
    folder: PathBuf,
}

static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

impl Shared {
    fn start() -> Result<Self, Error> {
        let folder = PathBuf::from("/run/weir-nearby-tests");
        let system = |path: &Path| Error::system(format!("make {}", path.display()));
        for path in [&folder, Path::new("/run/dbus")] {
            fs::create_dir_all(path).map_err(system(path))?;
        }
        let settings = folder.join("main.conf");
        fs::write(&settings, CONFIGURATION).map_err(system(&settings))?;
        let loaded = Command::new("modprobe").arg("hci_vhci").status();
        if !loaded.map_err(Error::system("run modprobe"))?.success() {
            return Err(unexpected("there is no module hci_vhci"));
        }
        // A failed test program ends before its services.
        wait_until("another test program's bus and air to end", LIMIT, || {
            Ok(UnixStream::connect(BUS).is_err() && TcpListener::bind(("127.0.0.1", PORT)).is_ok())
        })?;
        let bus = ["dbus-daemon", "--system", "--nofork", "--nopidfile"];
        let bus = service(&folder.join("dbus"), &bus)?;
        wait_until("the bus", LIMIT, || Ok(UnixStream::connect(BUS).is_ok()))?;
        let socket = folder.join("air.sock");
        let mut air = python("air.py");
        air.args(["--tcp", &PORT.to_string(), "--control"])
            .arg(&socket);
        let air = Teller::start(&mut ended(&air), &folder.join("air"))?;
        air.told.wait_for(&json!({"event": "ready"}))?;
        let control = UnixStream::connect(&socket).map_err(Error::system("reach the air"))?;
        Ok(Self {
            bluez: None,
            _bus: bus,
            air,
            control: BufReader::new(control),
            folder,
        })
    }

    fn bluez(folder: &Path) -> Result<Teller, Error> {
        let settings = folder.join("main.conf").display().to_string();
        let daemon = ["/usr/libexec/bluetooth/bluetoothd", "-n", "-f", &settings];
        service(&folder.join("bluetoothd"), &daemon)
    }

    fn command(&mut self, command: &Value) -> Result<Value, Error> {
        let wrong = || Error::system("speak to the air");
        writeln!(self.control.get_mut(), "{command}").map_err(wrong())?;
        let mut line = String::new();
        self.control.read_line(&mut line).map_err(wrong())?;
        let answer: Value = serde_json::from_str(&line)
            .map_err(|error| unexpected(format!("the air says {line:?}: {error}")))?;
        match answer.get("error") {
            Some(error) => Err(unexpected(format!("the air: {command}: {error}"))),
            None => Ok(answer),
        }
    }
}

/// An adapter that is BlueZ's.
#[derive(Clone, Debug)]
pub struct Adapter {
    pub name: String,
    pub address: String,
    index: u64,
}

/// Part of one test.
pub struct Scene<'a> {
    shared: &'a mut Shared,
    folder: PathBuf,
    adapters: Vec<Adapter>,
}

/// Runs a test with the air to itself. Where it fails, the logs are shown.
pub fn tried(name: &str, test: impl FnOnce(&mut Scene) -> Result<(), Error>) -> Result<(), Error> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.as_mut().is_none_or(|it| it.air.is_over()) {
        // Bus and air exist only once: end the old ones first.
        *shared = None;
        *shared = Some(Shared::start()?);
    }
    let Some(shared) = shared.as_mut() else {
        return Err(unexpected("no air"));
    };
    shared.bluez = Some(Shared::bluez(&shared.folder)?);
    let folder = shared.folder.join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(Error::system(folder.display().to_string()))?;
    let mut scene = Scene {
        shared,
        folder,
        adapters: Vec::new(),
    };
    let done = test(&mut scene);
    if done.is_err() {
        scene.show();
    }
    done
}

impl Scene<'_> {
    /// A folder of its own.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds an adapter that BlueZ has switched on.
    pub fn adapter(&mut self) -> Result<Adapter, Error> {
        let before = self.shared.air.told.count();
        self.air(&json!({"cmd": "add"}))?;
        let made = self.shared.air.told.wait("an adapter", |all| {
            let mut new = all[before.min(all.len())..].iter();
            new.find(|it| fits(it, &json!({"event": "vhci"}))).cloned()
        })?;
        let adapter = Adapter {
            name: format!("hci{}", made["hci"]),
            address: made["address"].as_str().unwrap_or_default().to_owned(),
            index: made["index"].as_u64().unwrap_or_default(),
        };
        self.adapters.push(adapter.clone());
        known(&adapter)?;
        Ok(adapter)
    }

    /// Starts a program with an adapter of its own, which uses these formats.
    pub fn node(&mut self, format: &str) -> Result<Node, Error> {
        self.node_with(format, &[])
    }

    /// Starts a node with options of `run`.
    pub fn node_with(&mut self, format: &str, options: &[&str]) -> Result<Node, Error> {
        let adapter = self.adapter()?;
        let folder = self.folder.join(&adapter.name);
        fs::create_dir_all(&folder).map_err(Error::system(folder.display().to_string()))?;
        Node::start(adapter, format, options, &folder)
    }

    /// Starts a peer that is not weir, with this id.
    pub fn peer(&mut self, id: &str, options: &[&str]) -> Result<Peer, Error> {
        let transport = format!("tcp-client:127.0.0.1:{PORT}");
        let mut command = python("peer.py");
        command.args(["--transport", &transport, "--id", id]);
        command.args(options);
        let program = Teller::start(&mut command, &self.folder.join(format!("peer-{id}")))?;
        let ready = program.told.wait_for(&json!({"event": "ready"}))?;
        Ok(Peer {
            program,
            id: id.to_owned(),
            address: ready["address"].as_str().unwrap_or_default().to_owned(),
        })
    }

    /// Sends a command to the air.
    pub fn air(&mut self, command: &Value) -> Result<Value, Error> {
        self.shared.command(command)
    }

    /// Events of the air.
    pub fn air_told(&self) -> &Told {
        &self.shared.air.told
    }

    /// BlueZ dies, and another one begins.
    pub fn bluez_again(&mut self) -> Result<(), Error> {
        self.shared.bluez = None;
        self.shared.bluez = Some(Shared::bluez(&self.shared.folder)?);
        self.adapters.iter().try_for_each(known)
    }

    fn show(&self) {
        let logs = |folder: &Path| {
            let all = fs::read_dir(folder).into_iter().flatten().flatten();
            all.map(|it| it.path()).collect::<Vec<_>>()
        };
        let mut all = logs(&self.shared.folder);
        for path in logs(&self.folder) {
            all.extend(logs(&path));
            all.push(path);
        }
        for path in all.iter().filter(|it| it.is_file()) {
            let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            let last = &lines[lines.len().saturating_sub(60)..];
            println!("-- {}\n{}", path.display(), last.join("\n"));
        }
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        let _ = self.air(&json!({"cmd": "clear"}));
        // BlueZ 5.66 crashed when adapters were removed while in use.
        self.shared.bluez = None;
        for adapter in std::mem::take(&mut self.adapters) {
            let _ = self.air(&json!({"cmd": "remove", "index": adapter.index}));
        }
    }
}

/// Waits until BlueZ has an adapter, and has switched it on.
fn known(adapter: &Adapter) -> Result<(), Error> {
    wait_until(&format!("{} at BlueZ", adapter.name), LIMIT, || {
        let asked = Command::new("dbus-send")
            .args(["--system", "--print-reply=literal", "--dest=org.bluez"])
            .arg(format!("/org/bluez/{}", adapter.name))
            .args([
                "org.freedesktop.DBus.Properties.GetAll",
                "string:org.bluez.Adapter1",
            ])
            .output()
            .map_err(Error::system("run dbus-send"))?;
        let text = String::from_utf8_lossy(&asked.stdout);
        let words: Vec<&str> = text.split_whitespace().collect();
        let has = |wanted: &[&str]| words.windows(wanted.len()).any(|it| it == wanted);
        Ok(has(&["Address", "variant", &adapter.address])
            && has(&["Powered", "variant", "boolean", "true"]))
    })
}

/// A running weir-nearby, and its events.
pub struct Node {
    program: Teller,
    pub adapter: Adapter,
    pub id: String,
    pub told: Told,
    pub socket: PathBuf,
}

impl Node {
    fn start(
        adapter: Adapter,
        format: &str,
        options: &[&str],
        folder: &Path,
    ) -> Result<Self, Error> {
        let (socket, log) = (folder.join("socket"), folder.join("log"));
        let mut command = Command::new(program());
        command.arg("--socket").arg(&socket);
        command.args(["run", "--adapter", &adapter.name, "--format", format]);
        command
            .arg("--state")
            .arg(folder.join("state"))
            .args(options);
        command.env("WEIR_LOG", "debug");
        let mut program = Teller::start(&mut ended(&command), &log)?;
        let mut id = None;
        wait_until("weir-nearby to say who it is", LIMIT, || {
            if program.is_over() {
                let said = fs::read_to_string(&log).unwrap_or_default();
                return Err(unexpected(format!("weir-nearby ended: {said}")));
            }
            let said = fs::read_to_string(&log).unwrap_or_default();
            let own = said.split_once("own=").and_then(|(_, it)| it.get(..16));
            id = own.map(str::to_owned);
            Ok(id.is_some())
        })?;
        let told = listen(&socket)?;
        Ok(Self {
            program,
            adapter,
            id: id.unwrap_or_default(),
            told,
            socket,
        })
    }

    /// Asks it.
    pub fn ask<T>(
        &self,
        ask: impl FnOnce(&api::Client) -> Result<T, api::ClientError>,
    ) -> Result<T, Error> {
        let told = api::Client::new(&self.socket).and_then(|it| ask(&it));
        told.map_err(|error| unexpected(format!("{}: {error}", self.adapter.name)))
    }

    /// Sends a message to a peer, or to all.
    pub fn say(&self, to: &str, text: &str) -> Result<(), Error> {
        let message = json!({"to": to, "text": text});
        let _: Value =
            self.ask(|client| client.send(api::Method::POST, "/v1/messages", &message))?;
        Ok(())
    }

    /// Returns the peers nearby.
    pub fn peers(&self) -> Result<Vec<Value>, Error> {
        let told: Value = self.ask(|client| client.get("/v1/peers"))?;
        Ok(told["peers"].as_array().cloned().unwrap_or_default())
    }

    /// Waits until these are near.
    pub fn near(&self, ids: &[&str]) -> Result<(), Error> {
        let text = format!("{ids:?} near {}", self.id);
        wait_until(&text, LIMIT, || {
            let peers = self.peers()?;
            let near = |id: &&str| peers.iter().any(|it| it["id"] == **id);
            Ok(ids.iter().all(near))
        })
    }

    /// Waits until a peer is connected by this format.
    pub fn linked(&self, id: &str, format: &str) -> Result<(), Error> {
        wait_until(&format!("{id} linked with {}", self.id), LIMIT, || {
            let linked = |it: &Value| {
                it["id"] == id
                    && it["linked"]
                        .as_array()
                        .is_some_and(|it| it.contains(&format.into()))
            };
            Ok(self.peers()?.iter().any(linked))
        })
    }

    /// Returns the received texts, in order.
    pub fn texts(&self) -> Vec<String> {
        let all = self.told.all();
        let messages = all.iter().filter(|it| it["event"] == "message");
        let texts = messages.filter_map(|it| it["text"].as_str());
        texts.map(str::to_owned).collect()
    }

    /// Returns true if the program has ended.
    pub fn is_over(&mut self) -> bool {
        self.program.is_over()
    }
}

/// Subscribes to the events of a program.
fn listen(socket: &Path) -> Result<Told, Error> {
    let (told, socket) = (Told::default(), socket.to_owned());
    let taker = told.clone();
    let (ready, is_ready) = mpsc::channel();
    std::thread::spawn(move || {
        let client = match api::Client::new(&socket) {
            Ok(client) => client,
            Err(error) => return ready.send(Err(error.to_string())),
        };
        match client.open("/v1/messages") {
            Ok(lines) => {
                let sent = ready.send(Ok(()));
                taker.take(lines);
                sent
            }
            Err(error) => ready.send(Err(error.to_string())),
        }
    });
    let begun = is_ready.recv_timeout(LIMIT + Duration::from_secs(1));
    begun
        .map_err(|_| Error::Timeout("weir-nearby to be listened to".to_owned()))?
        .map_err(unexpected)?;
    Ok(told)
}

/// A peer that is not weir.
pub struct Peer {
    pub program: Teller,
    pub id: String,
    pub address: String,
}

impl Peer {
    /// Sends a command to the peer.
    pub fn ask(&mut self, command: &str) -> Result<(), Error> {
        self.program.ask(command)
    }

    /// Returns the events.
    pub fn told(&self) -> &Told {
        &self.program.told
    }
}
