//! Access points, each with a station, and the air between them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{Medium, Scene};
use crate::goodput::{Demand, Goodput, Transport};
use crate::namespace::{Process, wait_until};
use crate::radios::{RADIO, radios_of_medium};
use crate::{Error, Lab, Namespace};

/// Longest wait for a station to join: an emulated machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// Gives each instance in a process its own folder.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// hostapd access points in a simulated medium, each with a joined station.
#[derive(Debug)]
pub struct Cells {
    // Declared in drop order.
    medium: Medium,
    hostapds: Vec<Process>,
    lab: Lab,
    folder: PathBuf,
}

impl Cells {
    /// Starts an access point and its station for each pair of names. Every hostapd gets `settings`
    /// and works on `frequency`, MHz. All nodes send with 20 dBm. Existing mac80211_hwsim radios
    /// are removed. Needs root, hostapd and iw.
    ///
    /// # Errors
    /// Fails if mac80211_hwsim is missing or a station does not join.
    pub fn begin(
        pairs: &[[&str; 2]],
        scene: Scene,
        seed: u64,
        frequency: u32,
        settings: &str,
    ) -> Result<Self, Error> {
        let mut lab = Lab::new();
        for role in pairs.iter().flatten() {
            lab.host(role)?;
        }
        let nodes = pairs.iter().flatten().map(|role| lab.node(role));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        radios_of_medium(&nodes)?;
        let radios: Vec<_> = (pairs.iter().flatten().zip(&nodes))
            .map(|(role, node)| (*role, *node, RADIO))
            .collect();
        let medium = Medium::start(&radios, scene, seed)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-cells-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).map_err(Error::system("make a folder"))?;
        let mut cells = Self {
            medium,
            hostapds: Vec::new(),
            lab,
            folder,
        };
        for pair in pairs {
            let hostapd = cells.join(*pair, frequency, settings)?;
            cells.hostapds.push(hostapd);
        }
        for role in pairs.iter().flatten() {
            cells.set_power(role, 20)?;
        }
        Ok(cells)
    }

    fn join(
        &self,
        [access_point, station]: [&str; 2],
        frequency: u32,
        settings: &str,
    ) -> Result<Process, Error> {
        let node = self.node(access_point)?;
        let file = self.folder.join(access_point);
        let text =
            format!("interface={RADIO}\nssid={access_point}\ndisassoc_low_ack=0\n{settings}\n");
        std::fs::write(&file, text).map_err(Error::system("write a file of hostapd"))?;
        let mut hostapd = Command::new("hostapd");
        let hostapd = hostapd
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let hostapd = node.start(hostapd)?;
        node.ip(&format!("address add 192.0.2.1/24 dev {RADIO}\n"))?;
        let client = self.node(station)?;
        client.ip(&format!(
            "link set {RADIO} up\naddress add 192.0.2.2/24 dev {RADIO}\n"
        ))?;
        wait_until("the station joins", PATIENCE, || {
            let line = format!("iw dev {RADIO} connect -w {access_point} {frequency}");
            let joined = client.run(&line);
            Ok(joined.is_ok_and(|told| told.contains("connected to")))
        })?;
        Ok(hostapd)
    }

    /// Returns the medium between the nodes.
    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    /// Returns the node of this name.
    ///
    /// # Errors
    /// Fails if the node is missing.
    pub fn node(&self, role: &str) -> Result<&Namespace, Error> {
        self.lab.node(role)
    }

    /// Sends datagrams from an access point to its station, at most `rate` bit/s.
    ///
    /// # Errors
    /// Fails if the datagrams cannot be sent.
    pub fn load(&self, [access_point, station]: [&str; 2], rate: u64) -> Result<Goodput, Error> {
        let to = std::net::SocketAddr::from(([192, 0, 2, 1], 5000));
        let demand = Demand {
            length: 1400,
            ..Demand::down(Transport::Udp, to).with_rate(rate)
        };
        Goodput::start(self.node(station)?, self.node(access_point)?, &demand)
    }

    /// Sets a node's transmit power.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn set_power(&self, role: &str, dbm: u32) -> Result<(), Error> {
        let line = format!("iw dev {RADIO} set txpower fixed {dbm}00");
        self.node(role)?.run(&line).map(drop)
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
