//! A router with several uplinks and its partner, both running the real binary.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use answers::{PartnerState, Paths};
use lab::namespace::{Process, wait_until};
use lab::uplinks::{Options, PARTNER, PARTNER6};
use lab::{Error, Namespace, Uplinks};

use crate::{LIMIT, Weir, binary};

/// `weir multipath serve`; stopped when dropped.
pub struct Partner {
    process: Option<Process>,
    folder: PathBuf,
    options: Vec<String>,
    /// Command in front of the partner's program.
    before: Vec<String>,
}

/// User id without privileges other than those that the test gives.
const NOBODY: u32 = 65_534;

impl Partner {
    /// Starts a partner with these additional options.
    pub fn start(namespace: &Namespace, options: &[&str]) -> Result<Self, Error> {
        Self::with(namespace, options, &[])
    }

    /// Starts a partner that may have at most this many descriptors.
    pub fn narrow(namespace: &Namespace, descriptors: u32) -> Result<Self, Error> {
        let number = format!("--nofile={descriptors}");
        // With the capability, the partner would raise its own limit.
        let less = [
            "setpriv",
            "--bounding-set",
            "-sys_resource",
            "--inh-caps",
            "-sys_resource",
        ];
        let before = [&["prlimit", number.as_str()], &less[..]].concat();
        Self::with(namespace, &[], &before)
    }

    /// Starts a partner as an unprivileged user, like its systemd unit.
    pub fn unprivileged(namespace: &Namespace) -> Result<Self, Error> {
        let before = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=+net_admin",
            "--ambient-caps=+net_admin",
        ];
        Self::with(namespace, &[], &before)
    }

    /// Starts a partner through another program with arguments.
    pub fn by(namespace: &Namespace, before: &[&str]) -> Result<Self, Error> {
        Self::with(namespace, &[], before)
    }

    fn with(namespace: &Namespace, options: &[&str], before: &[&str]) -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("{}-partner", namespace.name()));
        let state = folder.join("state");
        std::fs::create_dir_all(&state).map_err(Error::system("make a folder"))?;
        if before.iter().any(|word| word.starts_with("--reuid")) {
            std::os::unix::fs::chown(&state, Some(NOBODY), Some(NOBODY))
                .map_err(Error::system("give a folder away"))?;
        }
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let mut partner = Self {
            process: None,
            folder,
            options: owned(options),
            before: owned(before),
        };
        partner.restart(namespace)?;
        Ok(partner)
    }

    /// Kills the partner, and starts it again with its key.
    pub fn restart(&mut self, namespace: &Namespace) -> Result<(), Error> {
        self.process = None;
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("log"))
            .map_err(Error::system("open a log"))?;
        let again = log.try_clone().map_err(Error::system("open a log"))?;
        let mut command = match self.before.split_first() {
            None => Command::new(binary()),
            Some((first, others)) => {
                let mut command = Command::new(first);
                command.args(others).arg(binary());
                command
            }
        };
        command.args(["multipath", "serve", "-v", "--state"]);
        command.arg(self.folder.join("state")).args(&self.options);
        command.stdin(Stdio::null()).stdout(log).stderr(again);
        let before = self.log().matches("serving routers").count();
        self.process = Some(namespace.start(&mut command)?);
        wait_until("the partner to serve", LIMIT, || {
            Ok(self.log().matches("serving routers").count() > before)
        })
    }

    /// Kills the partner's process.
    pub fn stop(&mut self) {
        self.process = None;
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::id)
    }

    /// Returns the partner's log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Returns a pairing line for another router.
    pub fn pair(&self, address: &str) -> Result<String, Error> {
        self.pair_with(address, &[])
    }

    /// Pairs a router with options.
    pub fn pair_with(&self, address: &str, options: &[&str]) -> Result<String, Error> {
        self.tell(&[&["pair", address, "--name", "home"], options].concat())
    }

    /// Runs `weir multipath` with these arguments on the partner's state.
    pub fn tell(&self, arguments: &[&str]) -> Result<String, Error> {
        let told = Command::new(binary())
            .arg("multipath")
            .args(arguments)
            .arg("--state")
            .arg(self.folder.join("state"))
            .output()
            .map_err(Error::system("run weir multipath"))?;
        let text = String::from_utf8_lossy(&told.stdout).trim().to_owned();
        match told.status.success() {
            true => Ok(text),
            false => Err(Error::Unexpected(
                String::from_utf8_lossy(&told.stderr).into_owned(),
            )),
        }
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.process = None;
        eprintln!("--- the partner's log\n{}", self.log());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A router and its partner.
pub struct Pair {
    /// The router's daemon.
    pub weir: Weir,
    /// The partner's daemon.
    pub partner: Partner,
    /// The lab of both.
    pub uplinks: Uplinks,
}

impl Pair {
    /// Builds the lab and starts both; waits for the connection and all paths.
    pub fn build(options: &Options) -> Result<Self, Error> {
        Self::with(options, "")
    }

    /// Builds a pair with more lines in the router's section `[multipath]`.
    pub fn with(options: &Options, more: &str) -> Result<Self, Error> {
        Self::paired(options, more, &[])
    }

    /// Builds a pair, paired with these options.
    pub fn paired(options: &Options, more: &str, pairing: &[&str]) -> Result<Self, Error> {
        let uplinks = Uplinks::build(options)?;
        let partner = Partner::start(uplinks.partner(), &[])?;
        let address = if options.ipv6 { PARTNER6 } else { PARTNER };
        let address = SocketAddr::new(address, multipath_core::PORT).to_string();
        let line = partner.pair_with(&address, pairing)?;
        let pair = Self::join(uplinks, partner, &line, more)?;
        let count = options.paths.len();
        pair.wait_for("the partner", |told| {
            told.redirects
                && told.state == PartnerState::Connected
                && told
                    .paths
                    .iter()
                    .filter(|p| p.address.is_ipv6() == options.ipv6)
                    .count()
                    == count
        })?;
        Ok(pair)
    }

    /// Starts a router with a partner's line; `more` are lines of its section `[multipath]`. Does
    /// not wait.
    pub fn join(uplinks: Uplinks, partner: Partner, line: &str, more: &str) -> Result<Self, Error> {
        let config = format!("[multipath]\npartner = \"{line}\"\n{more}");
        let weir = Weir::start(uplinks.router(), &config, &["--only", "multipath", "-v"])?;
        Ok(Self {
            weir,
            partner,
            uplinks,
        })
    }

    /// Returns the router's report on its paths.
    pub fn paths(&self) -> Result<Paths, Error> {
        let told = self.weir.client()?.paths();
        told.map_err(|error| Error::Unexpected(error.to_string()))
    }

    /// Waits until the router's report on its paths satisfies `so`.
    pub fn wait_for(&self, what: &str, so: impl Fn(&Paths) -> bool) -> Result<(), Error> {
        wait_until(what, LIMIT, || Ok(so(&self.paths()?)))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // The test framework prints this on failure.
        eprintln!("--- the router's log\n{}", self.weir.log());
    }
}
