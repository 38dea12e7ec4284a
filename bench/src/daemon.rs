//! The real daemon, started in a router of the lab and asked through its API.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use api::{Client, Flow, FlowFilter, Status};
use datapath::Hook;
use lab::namespace::{Process, wait_until};
use lab::{Error as LabError, Namespace};

use crate::Error;

/// How long it may take to start, or to hear of flows.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running `weir run`. Stopped when dropped.
pub struct Daemon {
    process: Process,
    socket: PathBuf,
    folder: PathBuf,
}

/// The binary built beside this one, where nothing else is said.
pub fn binary(chosen: Option<&Path>) -> Result<PathBuf, Error> {
    let beside = || {
        std::env::current_exe()
            .ok()
            .map(|own| own.with_file_name("weir"))
    };
    let path = chosen
        .map(Path::to_owned)
        .or_else(beside)
        .unwrap_or_default();
    match path.is_file() {
        true => Ok(path),
        false => Err(Error::Wrong(format!(
            "no weir at {}: build it, or name it with --weir",
            path.display()
        ))),
    }
}

impl Daemon {
    /// Starts it with both ports of the gateway at this hook, and waits until they are.
    pub fn start(router: &Namespace, binary: &Path, hook: Hook) -> Result<Self, Error> {
        Self::with(router, binary, hook, "")
    }

    /// The same, with more lines at the beginning of its configuration.
    pub fn with(router: &Namespace, binary: &Path, hook: Hook, more: &str) -> Result<Self, Error> {
        Self::at(router, binary, hook, &["lan0", "wan0"], more)
    }

    /// The same with these ports, which are to be all there are.
    pub fn at(
        router: &Namespace,
        binary: &Path,
        hook: Hook,
        ports: &[&str],
        more: &str,
    ) -> Result<Self, Error> {
        let hook = if hook == Hook::Xdp { "xdp" } else { "tc" };
        let ports_there = ports.len();
        let ports: String = ports
            .iter()
            .map(|port| format!("[ports.{port}]\nhook = \"{hook}\"\n"))
            .collect();
        let config = format!("{more}{ports}");
        let folder = std::env::temp_dir().join(router.name());
        let (file, socket, log) = (
            folder.join("weir.toml"),
            folder.join("socket"),
            folder.join("log"),
        );
        let prepare = || -> std::io::Result<std::fs::File> {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(&file, config)?;
            std::fs::File::create(&log)
        };
        let out = prepare().map_err(Error::system(format!("prepare {}", folder.display())))?;
        let mut command = Command::new(binary);
        command
            .arg("run")
            .arg("--config")
            .arg(&file)
            .arg("--socket")
            .arg(&socket);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(out);
        let process = router.start(&mut command)?;
        let daemon = Self {
            process,
            socket,
            folder,
        };
        let ready = || {
            if daemon.process.ended()?.is_some() {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(LabError::Unexpected(format!("weir ended: {said}")));
            }
            let ports = daemon.client().and_then(|client| Ok(client.ports()?));
            Ok(ports.is_ok_and(|ports| {
                ports.iter().filter(|port| port.hook.is_some()).count() == ports_there
            }))
        };
        wait_until("weir to have its ports", PATIENCE, ready).map_err(|error| {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let ports = daemon.client().map(|client| client.ports());
            Error::Wrong(format!(
                "{error}: it said {said:?}, its ports are {ports:?}"
            ))
        })?;
        Ok(daemon)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The socket of its API.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    fn client(&self) -> Result<Client, Error> {
        Ok(Client::new(&self.socket)?)
    }

    /// How it is doing.
    pub fn status(&self) -> Result<Status, Error> {
        Ok(self.client()?.status()?)
    }

    /// What it knows of all flows.
    pub fn flows(&self) -> Result<Vec<Flow>, Error> {
        let mut flows = Vec::new();
        let take = |flow| {
            flows.push(flow);
            Ok(())
        };
        self.client()?.flows(&FlowFilter::default(), take)?;
        Ok(flows)
    }

    /// Waits until it has heard of so many flows.
    pub fn wait_for_flows(&self, count: u64) -> Result<(), Error> {
        let known = || -> Result<u64, Error> {
            let flows = self.status()?.flows;
            Ok(flows.ipv4.known + flows.ipv6.known)
        };
        let enough = || {
            known()
                .map(|known| known >= count)
                .map_err(|error| LabError::Unexpected(error.to_string()))
        };
        Ok(wait_until("weir to hear of the flows", PATIENCE, enough)?)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.process.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
