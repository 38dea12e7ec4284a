//! Router and partner, both running the real `weir` binary.

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

/// Longest wait for a program to start, and for an answer.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Address of the partner, weir's or another.
pub const AT: SocketAddr = SocketAddr::new(PARTNER, multipath_core::PORT);

/// Waits until a process listens on the port.
pub fn listens(namespace: &Namespace, port: u16) -> Result<(), Error> {
    wait_until("a partner to listen", PATIENCE, || {
        let listening = namespace.run(&format!("ss -Hltn sport = :{port}"))?;
        Ok(listening.contains("LISTEN"))
    })?;
    Ok(())
}

/// Running `weir multipath serve`.
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

    /// Returns the pairing line for a router that reaches the partner at this address.
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

/// Encryption of TCP by the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// No encryption.
    None,
    /// Default: the cipher that suits the processor best.
    All,
    /// Cipher of a processor without AES instructions.
    ChaCha,
}

/// Address of the partner, as the router sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartnerAddress {
    /// The only address of the partner.
    Plainly,
    /// Address on `lo`, which is not the partner's default source address.
    OnLo,
    /// Address that DNAT translates to the partner's.
    Translated,
    /// Second IPv6 address of the partner.
    ByIpv6,
}

impl PartnerAddress {
    /// Sets the address up, and returns it for the pairing line.
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

/// Router and partner, connected.
pub struct Sides {
    router: Daemon,
    partner: Partner,
}

impl Sides {
    /// Starts both, and waits until all paths carry clients' connections to the partner, and the
    /// tunnel is up.
    pub fn start(uplinks: &Uplinks, binary: &Path, encrypted: Encryption) -> Result<Self, Error> {
        Self::reached(uplinks, binary, encrypted, PartnerAddress::Plainly)
    }

    /// Starts both, with a partner that is reached at another address.
    pub fn reached(
        uplinks: &Uplinks,
        binary: &Path,
        encrypted: Encryption,
        reached: PartnerAddress,
    ) -> Result<Self, Error> {
        let (encrypt, options): (_, &[&str]) = match encrypted {
            Encryption::None => ("none", &[]),
            Encryption::All => ("all", &[]),
            Encryption::ChaCha => ("all", &["--no-aes"]),
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

    /// Returns the process ids of router and partner.
    pub fn ids(&self) -> [u32; 2] {
        [self.router.id(), self.partner.process.id()]
    }
}

/// Returns the processor seconds of processes so far.
pub fn spent(processes: [u32; 2]) -> Result<[f64; 2], Error> {
    let of = |process| processor_time(process).map(|time| time.as_secs_f64());
    Ok([of(processes[0])?, of(processes[1])?])
}
