//! Router and partner, both the real binary.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use answers::Paths;
use api::Client;
use lab::counters::processor_time;
use lab::namespace::{Process, wait_until};
use lab::uplinks::PARTNER;
use lab::{Error as LabError, Namespace, Uplinks};

use crate::Error;
use crate::daemon::Daemon;

/// How long a program may take to begin, and an answer to come.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Where partners are, weir's and others.
pub const AT: SocketAddr = SocketAddr::new(PARTNER, multipath_core::PORT);

/// Waits until somebody listens on the partner's port there.
pub fn listens(namespace: &Namespace, port: u16) -> Result<(), Error> {
    wait_until("a partner to listen", PATIENCE, || {
        let listening = namespace.run(&format!("ss -Hltn sport = :{port}"))?;
        Ok(listening.contains("LISTEN"))
    })?;
    Ok(())
}

/// `weir multipath serve`.
struct Partner {
    process: Process,
    folder: PathBuf,
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.process.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Partner {
    fn start(namespace: &Namespace, binary: &Path, options: &[&str]) -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("{}-partner", namespace.name()));
        let mut command = Command::new(binary);
        command.args(["multipath", "serve", "--state"]).arg(&folder);
        command
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = namespace.start(&mut command)?;
        let partner = Self { process, folder };
        listens(namespace, multipath_core::PORT)?;
        Ok(partner)
    }

    /// The line for a router that reaches it at this address.
    fn pair(&self, binary: &Path, address: IpAddr) -> Result<String, Error> {
        let told = Command::new(binary)
            .args(["multipath", "pair", &address.to_string(), "--state"])
            .arg(&self.folder)
            .output()
            .map_err(Error::system("pair"))?;
        match told.status.success() {
            true => Ok(String::from_utf8_lossy(&told.stdout).trim().to_owned()),
            false => Err(Error::Wrong(
                String::from_utf8_lossy(&told.stderr).into_owned(),
            )),
        }
    }
}

/// What encrypts, where anything does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypted {
    /// Nothing of TCP.
    None,
    /// All, by what the processor does best: as it is where nothing else is said.
    All,
    /// All, as a processor without instructions for AES does.
    ChaCha,
}

/// How the partner is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// At its only address.
    Plainly,
    /// At an address that its `lo` has, while it would send from another by itself.
    OnLo,
    /// Behind a translation of the destination's address.
    Translated,
    /// By IPv6, at the second of its addresses.
    ByIpv6,
}

impl Reached {
    /// Makes it so: the address for the line.
    fn make(self, uplinks: &Uplinks) -> Result<IpAddr, Error> {
        let (partner, internet) = (uplinks.partner(), uplinks.lab().node("internet")?);
        let address = match self {
            Self::Plainly => return Ok(PARTNER),
            Self::OnLo => {
                partner.ip("address add 192.0.2.10/32 dev lo")?;
                internet.ip(&format!("route add 192.0.2.10/32 via {PARTNER}"))?;
                "192.0.2.10"
            }
            Self::Translated => {
                internet.nft(&format!(
                    "table ip partner {{\n chain c {{\n type nat hook prerouting priority -100\n \
                        ip daddr 203.0.113.1 meta l4proto {{ tcp, udp }} th dport {} \
                        dnat to {PARTNER}\n }}\n }}\n",
                    multipath_core::PORT
                ))?;
                "203.0.113.1"
            }
            Self::ByIpv6 => {
                partner.ip("address add 2001:db8:113::11/64 dev eth0 nodad")?;
                "2001:db8:113::11"
            }
        };
        Ok(address.parse().expect("an address"))
    }
}

/// Both, connected.
pub struct Sides {
    router: Daemon,
    partner: Partner,
}

impl Sides {
    /// Starts them, and waits until clients' connections are brought to the partner by all paths,
    /// and the rest by the tunnel.
    pub fn start(uplinks: &Uplinks, binary: &Path, encrypted: Encrypted) -> Result<Self, Error> {
        Self::reached(uplinks, binary, encrypted, Reached::Plainly)
    }

    /// The same, with a partner that is reached so.
    pub fn reached(
        uplinks: &Uplinks,
        binary: &Path,
        encrypted: Encrypted,
        reached: Reached,
    ) -> Result<Self, Error> {
        let (encrypt, options): (_, &[&str]) = match encrypted {
            Encrypted::None => ("none", &[]),
            Encrypted::All => ("all", &[]),
            Encrypted::ChaCha => ("all", &["--no-aes"]),
        };
        let partner = Partner::start(uplinks.partner(), binary, options)?;
        let line = partner.pair(binary, reached.make(uplinks)?)?;
        let config = format!("[multipath]\npartner = \"{line}\"\nencrypt = \"{encrypt}\"\n");
        let router = Daemon::multipath(uplinks.router(), binary, &config, uplinks.paths())?;
        let client = Client::new(router.socket())?;
        wait_until("the tunnel", PATIENCE, || {
            let told = client.get::<Paths>("/v1/paths");
            let told = told.map_err(|error| LabError::Unexpected(error.to_string()))?;
            Ok(told.tunnel)
        })?;
        Ok(Self { router, partner })
    }

    /// Their processes: the router's, the partner's.
    pub fn ids(&self) -> [u32; 2] {
        [self.router.id(), self.partner.process.id()]
    }
}

/// Processor seconds of processes so far.
pub fn spent(processes: [u32; 2]) -> Result<[f64; 2], Error> {
    let of = |process| processor_time(process).map(|time| time.as_secs_f64());
    Ok([of(processes[0])?, of(processes[1])?])
}
