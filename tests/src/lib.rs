//! A running weir for tests: the real binary, started in a namespace of the lab and queried through
//! its real API.

pub mod client;
pub mod conntrack;
pub mod cost;
pub mod differential;
pub mod partner;
pub mod radios;
pub mod scene;
pub mod tree;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use answers::{Flow, FlowState, Status};
use client::Client;
use lab::namespace::{Namespace, Process, wait_until};
use lab::{Error, Lab};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testing::Directory;

/// Returns true if the kernel is at least of this version: `[6, 3]`.
pub use kernel::release::is_at_least as kernel_has;

/// Time limit of tests for an expected event. The limit is long for emulated and busy machines.
pub const LIMIT: Duration = Duration::from_secs(90);

/// Repeats a run that a signal cut short, for example on a paused machine. The kernel then stops
/// running a program on frames and does not report the number of frames. Such a run proves nothing.
pub fn undisturbed<T>(mut run: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let interrupted = std::io::Error::from_raw_os_error(nix::libc::EINTR).to_string();
    for _ in 0..4 {
        match run() {
            Err(error) if error.to_string().contains(&interrupted) => println!("again: {error}"),
            done => return done,
        }
    }
    run()
}

/// Returns the binary under test: WEIR_BIN, or the one built with this test.
pub fn binary() -> PathBuf {
    match std::env::var_os("WEIR_BIN") {
        Some(path) => path.into(),
        None => built("weir"),
    }
}

/// Returns a program built with this test.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let built = test
        .parent()
        .and_then(Path::parent)
        .map(|folder| folder.join(name))
        .unwrap_or_default();
    assert!(
        built.exists(),
        "{} is not built: `cargo build --bins` first, or set WEIR_BIN",
        built.display()
    );
    built
}

/// Starts the binary with a folder's `weir.toml`; weir creates `socket` and `log` there.
fn launch(
    program: &Path,
    namespace: &Namespace,
    folder: &Path,
    options: &[&str],
) -> Result<Process, Error> {
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .map_err(Error::system("open a log"))?;
    let again = log.try_clone().map_err(Error::system("open a log"))?;
    let mut command = Command::new(program);
    command
        .arg("run")
        .arg("--config")
        .arg(folder.join("weir.toml"))
        .arg("--socket")
        .arg(folder.join("socket"))
        .args(options);
    command.stdin(Stdio::null()).stdout(log).stderr(again);
    namespace.start(&mut command)
}

/// A weir in a namespace; stopped when dropped.
pub struct Weir {
    /// The daemon's process.
    pub process: Process,
    program: PathBuf,
    socket: PathBuf,
    folder: Directory,
}

impl Weir {
    /// Starts weir with a configuration and waits until it answers.
    ///
    /// # Errors
    /// weir ended, or did not answer in time; the error holds weir's output.
    pub fn start(namespace: &Namespace, config: &str, options: &[&str]) -> Result<Self, Error> {
        Self::start_as(&binary(), namespace, config, options)
    }

    /// Starts another program than the one under test.
    ///
    /// # Errors
    /// As for [`Weir::start`].
    pub fn start_as(
        program: &Path,
        namespace: &Namespace,
        config: &str,
        options: &[&str],
    ) -> Result<Self, Error> {
        let folder = Directory::new();
        let failed =
            |error: std::io::Error| Error::Unexpected(format!("{}: {error}", folder.display()));
        std::fs::write(folder.join("weir.toml"), config).map_err(failed)?;
        let process = launch(program, namespace, &folder, options)?;
        let weir = Self {
            process,
            program: program.to_owned(),
            socket: folder.join("socket"),
            folder,
        };
        weir.wait_for_answer()?;
        Ok(weir)
    }

    /// Starts weir again after its end, with the same configuration and socket.
    ///
    /// # Errors
    /// As for [`Weir::start`].
    pub fn restart(&mut self, namespace: &Namespace) -> Result<(), Error> {
        self.restart_with(namespace, &[])
    }

    /// Starts weir again with options.
    ///
    /// # Errors
    /// As for [`Weir::start`].
    pub fn restart_with(&mut self, namespace: &Namespace, options: &[&str]) -> Result<(), Error> {
        self.process = launch(&self.program, namespace, &self.folder, options)?;
        self.wait_for_answer()
    }

    fn wait_for_answer(&self) -> Result<(), Error> {
        wait_until("weir answers", LIMIT, || {
            if self.process.ended()?.is_some() {
                return Err(Error::Unexpected(format!("weir ended: {}", self.log())));
            }
            Ok(self.client().is_ok_and(|c| c.status().is_ok()))
        })
        .map_err(|error| Error::Unexpected(format!("{error}: {}", self.log())))
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// weir is gone.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        let id = i32::try_from(self.process.id()).unwrap_or(0);
        kill(Pid::from_raw(id), signal).map_err(Error::system(format!("send {signal}")))
    }

    /// Ends it by a signal, and waits until it is gone.
    ///
    /// # Errors
    /// weir does not end.
    pub fn end(&self, signal: Signal) -> Result<std::process::ExitStatus, Error> {
        self.signal(signal)?;
        self.process.wait(LIMIT)
    }

    /// Returns weir's output.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Returns the path of the API's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the path of the configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.folder.join("weir.toml")
    }

    /// Returns a client of the API.
    ///
    /// # Errors
    /// The runtime cannot be built.
    pub fn client(&self) -> Result<Client, Error> {
        Client::new(&self.socket).map_err(|e| Error::Unexpected(e.to_string()))
    }

    /// Returns weir's status.
    ///
    /// # Errors
    /// weir does not answer.
    pub fn status(&self) -> Result<Status, Error> {
        self.client()?
            .status()
            .map_err(|e| Error::Unexpected(e.to_string()))
    }

    /// Its flows.
    ///
    /// # Errors
    /// weir does not answer.
    pub fn flows(&self) -> Result<Vec<Flow>, Error> {
        self.client()?
            .flows()
            .map_err(|e| Error::Unexpected(e.to_string()))
    }

    /// Returns true while weir waits for a change to settle, according to flows with a packet
    /// since. A slow machine takes a while to read the rules.
    ///
    /// # Errors
    /// weir does not answer.
    pub fn is_settling(&self) -> Result<bool, Error> {
        let quiet = |flow: &Flow| flow.reason.as_ref().is_some_and(|r| r.code == "quiet");
        Ok(self.flows()?.iter().any(quiet))
    }

    /// Returns the hook that sends at a port for this hook: TC if XDP cannot send to the port.
    /// Before 6.3 no kernel reports whether a veth accepts frames from XDP.
    ///
    /// # Errors
    /// weir does not answer.
    pub fn way_out(&self, port: &str, hook: &'static str) -> Result<&'static str, Error> {
        let ports = self.client()?.ports();
        let ports = ports.map_err(|error| Error::Unexpected(error.to_string()))?;
        let takes = ports.iter().any(|p| p.name == port && p.xdp_transmit);
        Ok(if takes { hook } else { "tc" })
    }

    /// Waits until this many devices are ports.
    ///
    /// # Errors
    /// They do not become ports.
    pub fn wait_for_ports(&self, count: usize) -> Result<(), Error> {
        wait_until("devices become ports", LIMIT, || {
            let ports = self
                .client()?
                .ports()
                .map_err(|e| Error::Unexpected(e.to_string()))?;
            Ok(ports.iter().filter(|p| p.hook.is_some()).count() >= count)
        })
    }

    /// Waits until weir knows this many flows.
    ///
    /// # Errors
    /// Fewer flows became known; the error contains weir's flows and log.
    pub fn wait_for_known(&self, count: usize) -> Result<(), Error> {
        let known = || -> Result<usize, Error> {
            Ok(self
                .flows()?
                .iter()
                .filter(|f| f.state != FlowState::Declined)
                .count())
        };
        wait_until("flows become known", LIMIT, || Ok(known()? >= count)).map_err(|error| {
            let declined: Vec<_> = self
                .flows()
                .unwrap_or_default()
                .into_iter()
                .filter(|f| f.state == FlowState::Declined)
                .map(|f| {
                    format!(
                        "{} {}: {:?}",
                        f.protocol,
                        f.original,
                        f.reason.map(|r| r.code)
                    )
                })
                .collect();
            Error::Unexpected(format!(
                "{error}: {:?} of {count}; {declined:?}; {}",
                known(),
                self.log()
            ))
        })
    }

    /// The flow from or to this port, where it knows one.
    ///
    /// # Errors
    /// weir does not answer.
    pub fn flow_at(&self, port: u16) -> Result<Option<Flow>, Error> {
        let found =
            |f: &Flow| port == f.original.destination_port || port == f.original.source_port;
        Ok(self.flows()?.into_iter().find(found))
    }

    /// Waits until it forwards the flow of this port, in both directions, from now on.
    ///
    /// # Errors
    /// weir does not forward it; the error holds weir's record of the flow.
    pub fn wait_for_forwarding(&self, port: u16) -> Result<(), Error> {
        // Proofs end now and then and are renewed: growing counters count.
        let mut begin: Option<Flow> = None;
        let grows = || -> Result<bool, Error> {
            let Some(flow) = self.flow_at(port)? else {
                return Ok(false);
            };
            let base = begin.get_or_insert_with(|| flow.clone());
            if base.id != flow.id {
                begin = Some(flow);
                return Ok(false);
            }
            let more = |now: u64, then: u64| now > then + 10;
            Ok(more(
                flow.directions.original.packets,
                base.directions.original.packets,
            ) && more(flow.directions.reply.packets, base.directions.reply.packets))
        };
        wait_until("weir forwards the flow", LIMIT, grows).map_err(|error| {
            Error::Unexpected(format!(
                "{error}: {:#?}; {}",
                self.flow_at(port),
                self.log()
            ))
        })
    }

    /// Returns the number of packets that weir has forwarded.
    ///
    /// # Errors
    /// weir does not answer.
    pub fn forwarded(&self) -> Result<u64, Error> {
        Ok(self.status()?.packets.forwarded())
    }
}

/// Returns the configuration with both ports of the gateway at this hook.
pub fn hooked(hook: &str) -> String {
    hooked_at(hook, &["lan0", "wan0"])
}

/// Returns the configuration with these ports at this hook.
pub fn hooked_at(hook: &str, ports: &[&str]) -> String {
    let mut config: String = ports
        .iter()
        .map(|port| format!("[ports.{port}]\nhook = \"{hook}\"\n"))
        .collect();
    config += "[log]\nlevel = \"debug\"\n";
    config
}

/// Starts weir on a lab's router.
///
/// # Errors
/// weir does not start there.
pub fn gateway_weir(lab: &Lab, hook: &str) -> Result<Weir, Error> {
    let weir = Weir::start(lab.node("router")?, &hooked(hook), &[])?;
    weir.wait_for_ports(2)?;
    Ok(weir)
}
