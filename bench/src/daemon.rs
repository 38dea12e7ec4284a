//! The real daemon, started in a router of the lab and queried through its API.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use answers::{Devices, Flow, FlowList, Paths, Port, Status};
use api::Client;
use datapath::Hook;
use lab::namespace::{Process, wait_until};
use lab::{Error as LabError, Namespace};

use crate::Error;
use crate::port_equation::PortEquation;

/// Longest wait for the daemon to start, or to know flows.
const PATIENCE: Duration = Duration::from_secs(30);

/// Running `weir run`. Stopped when dropped.
pub struct Daemon {
    process: Process,
    socket: PathBuf,
    folder: PathBuf,
}

/// Returns the chosen binary, or by default the one beside this program.
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
            "no weir binary at {}: build it, or name it with --weir",
            path.display()
        ))),
    }
}

impl Daemon {
    /// Starts the daemon with both ports of the gateway at this hook, and waits for the ports.
    pub fn start(router: &Namespace, binary: &Path, hook: Hook) -> Result<Self, Error> {
        Self::with(router, binary, hook, "")
    }

    /// Starts the daemon with more lines at the beginning of its configuration.
    pub fn with(router: &Namespace, binary: &Path, hook: Hook, more: &str) -> Result<Self, Error> {
        Self::at(router, binary, hook, &["lan0", "wan0"], more)
    }

    /// Starts the daemon with these ports only.
    pub fn at(
        router: &Namespace,
        binary: &Path,
        hook: Hook,
        ports: &[&str],
        more: &str,
    ) -> Result<Self, Error> {
        let hook = if hook == Hook::Xdp { "xdp" } else { "tc" };
        let ports: String = ports
            .iter()
            .map(|port| format!("[ports.{port}]\nhook = \"{hook}\"\n"))
            .collect();
        let there = ports.matches("hook").count();
        let daemon = Self::launch(router, binary, &format!("{more}{ports}"), &[])?;
        daemon.ready(|client| {
            let ports: Vec<Port> = client.get("/v1/ports").map_err(failed)?;
            let hooked = ports.iter().filter(|port| port.hook.is_some()).count();
            Ok(hooked == there)
        })?;
        Ok(daemon)
    }

    /// Starts only the monitor (`weir run --only monitor`) with this configuration, and waits until
    /// it counts at `ports` devices.
    pub fn monitor(
        router: &Namespace,
        binary: &Path,
        config: &str,
        ports: usize,
    ) -> Result<Self, Error> {
        let daemon = Self::launch(router, binary, config, &["--only", "monitor"])?;
        daemon.counts(ports)?;
        Ok(daemon)
    }

    /// Starts the whole daemon, and waits until it counts at `ports` devices.
    pub fn whole(
        router: &Namespace,
        binary: &Path,
        config: &str,
        ports: usize,
    ) -> Result<Self, Error> {
        let daemon = Self::launch(router, binary, config, &[])?;
        daemon.counts(ports)?;
        Ok(daemon)
    }

    /// Starts only multipath with this configuration, and waits until it redirects clients'
    /// connections to its partner, with `paths` paths.
    pub fn multipath(
        router: &Namespace,
        binary: &Path,
        config: &str,
        paths: usize,
    ) -> Result<Self, Error> {
        let daemon = Self::launch(router, binary, config, &["--only", "multipath"])?;
        daemon.ready(|client| {
            let told: Paths = client.get("/v1/paths").map_err(failed)?;
            Ok(told.redirects && told.paths.len() >= paths)
        })?;
        Ok(daemon)
    }

    fn counts(&self, ports: usize) -> Result<(), Error> {
        self.ready(|client| {
            let told: Devices = client.get("/v1/devices").map_err(failed)?;
            Ok(told.ports.len() >= ports)
        })
    }

    fn launch(
        router: &Namespace,
        binary: &Path,
        config: &str,
        options: &[&str],
    ) -> Result<Self, Error> {
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
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(out);
        let process = router.start(&mut command)?;
        Ok(Self {
            process,
            socket,
            folder,
        })
    }

    /// Waits until `there` returns true.
    fn ready(&self, there: impl Fn(&Client) -> Result<bool, LabError>) -> Result<(), Error> {
        let said = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let ready = || {
            if self.process.ended()?.is_some() {
                return Err(LabError::Unexpected(format!("weir ended: {}", said())));
            }
            let client = self
                .client()
                .map_err(|error| LabError::Unexpected(error.to_string()))?;
            Ok(there(&client).unwrap_or(false))
        };
        wait_until("weir to have its ports", PATIENCE, ready).map_err(|error| {
            let ports = self
                .client()
                .map(|client| client.get::<Vec<Port>>("/v1/ports"));
            Error::Wrong(format!(
                "{error}: weir printed {:?}, its ports are {ports:?}",
                said()
            ))
        })
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the path of the configuration file.
    pub fn configuration(&self) -> PathBuf {
        self.folder.join("weir.toml")
    }

    /// Returns the path of the API socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    fn client(&self) -> Result<Client, Error> {
        Ok(Client::new(&self.socket)?)
    }

    /// Returns the status.
    pub fn status(&self) -> Result<Status, Error> {
        Ok(self.client()?.get("/v1/status")?)
    }

    /// Returns the monitor's counts, by device and by port.
    pub fn devices(&self) -> Result<Devices, Error> {
        Ok(self.client()?.get("/v1/devices")?)
    }

    /// Returns the packets by the monitor and by the devices.
    pub fn books(&self) -> Result<Vec<PortEquation>, Error> {
        Ok(PortEquation::all(
            &self.devices()?,
            &self.client()?.get::<Vec<Port>>("/v1/ports")?,
        ))
    }

    /// Returns all known flows.
    pub fn flows(&self) -> Result<Vec<Flow>, Error> {
        let list: FlowList = self.client()?.get("/v1/flows")?;
        Ok(list.flows)
    }

    /// Waits until the daemon knows this many flows, a millisecond longer for each.
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
        let limit = PATIENCE + Duration::from_millis(count);
        Ok(wait_until("weir to hear of the flows", limit, enough)?)
    }
}

fn failed(error: impl std::fmt::Display) -> LabError {
    LabError::Unexpected(error.to_string())
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.process.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
