//! Access points of one network, clients, and listeners.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use answers::{RadioPeer, RadioPeers};
use lab::medium::Medium;
use lab::namespace::{Process, wait_until};
pub use lab::unexpected;
use lab::{Error, Lab, Namespace};
use testing::Directory;
use weir_tests::radios::{self, RADIO, radios, radios_of_medium};
use weir_tests::{LIMIT, Weir};

pub const SSID: &str = "weir-mesh";
pub const SECRET: &str = "the secret of all nodes of this mesh";
pub const ONLY: [&str; 2] = ["--only", "radio"];

/// Returns the address of the radio of this number, in the order of the nodes' names.
pub fn mac(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, number, 0]
}

pub struct Scene {
    // In the order in which they end.
    pub weirs: Vec<Weir>,
    hostapds: Vec<Process>,
    _medium: Option<Medium>,
    pub lab: Lab,
    pub folder: Directory,
    nodes: &'static [&'static str],
    in_country: bool,
}

impl Scene {
    /// Gives each node a radio, without access points yet.
    pub fn begin(nodes: &'static [&'static str]) -> Result<Self, Error> {
        Self::begin_with(nodes, |all| radios(all).map(|_| None))
    }

    /// Begins a scene whose radios obey the rules of a country.
    pub fn begin_under(country: &str, nodes: &'static [&'static str]) -> Result<Self, Error> {
        let mut scene = Self::begin(nodes)?;
        scene.in_country = true;
        radios::country(country)?;
        Ok(scene)
    }

    /// Like [`Scene::begin`], with radios that may use 5 and 6 GHz, and with a medium if given.
    pub fn begin_in(
        nodes: &'static [&'static str],
        air: Option<lab::medium::Scene>,
    ) -> Result<Self, Error> {
        Self::begin_with(nodes, |all| {
            radios_of_medium(all)?;
            let radios: Vec<_> = (nodes.iter().zip(all))
                .map(|(role, node)| (*role, *node, RADIO))
                .collect();
            air.map(|air| Medium::start(&radios, air, 1)).transpose()
        })
    }

    fn begin_with(
        nodes: &'static [&'static str],
        radios: impl FnOnce(&[&Namespace]) -> Result<Option<Medium>, Error>,
    ) -> Result<Self, Error> {
        let mut lab = Lab::new();
        for role in nodes {
            lab.router(role)?;
        }
        let all: Vec<&Namespace> = nodes
            .iter()
            .map(|role| lab.node(role))
            .collect::<Result<_, _>>()?;
        let medium = radios(&all)?;
        for node in all {
            node.sysctl("net.ipv6.conf.all.disable_ipv6", 1)?;
            node.sysctl("net.ipv6.conf.default.disable_ipv6", 1)?;
        }
        let folder = Directory::new();
        Ok(Self {
            weirs: Vec::new(),
            hostapds: Vec::new(),
            _medium: medium,
            lab,
            folder,
            nodes,
            in_country: false,
        })
    }

    /// Starts a stock hostapd. Its clients use WPA2, or WPA3 alone.
    pub fn access_point(&mut self, role: &str, wpa3: bool) -> Result<(), Error> {
        self.access_point_with(role, wpa3, "")
    }

    /// Starts an access point with more lines of hostapd.conf.
    pub fn access_point_with(&mut self, role: &str, wpa3: bool, more: &str) -> Result<(), Error> {
        self.access_point_to_be(role, wpa3, more)?;
        self.sends(role)
    }

    /// Starts such an access point without waiting for its beacons.
    pub fn access_point_to_be(&mut self, role: &str, wpa3: bool, more: &str) -> Result<(), Error> {
        let folder = self.folder.join(role);
        std::fs::create_dir_all(&folder).map_err(Error::system("make a folder"))?;
        let (kind, protected) = if wpa3 { ("SAE", 2) } else { ("WPA-PSK", 0) };
        let settings = format!(
            "interface={RADIO}\nssid={SSID}\nhw_mode=g\nchannel=1\nctrl_interface={}\nwpa=2\n\
             wpa_key_mgmt={kind}\nieee80211w={protected}\nrsn_pairwise=CCMP\n\
             wpa_passphrase=of-its-clients\n{more}\n",
            folder.join("control").display()
        );
        let file = folder.join("hostapd.conf");
        std::fs::write(&file, settings).map_err(Error::system("write hostapd.conf"))?;
        let process = self.hostapd(role)?;
        self.hostapds.push(process);
        Ok(())
    }

    fn hostapd(&self, role: &str) -> Result<Process, Error> {
        let node = self.lab.node(role)?;
        let mut hostapd = Command::new("hostapd");
        hostapd.arg(self.folder.join(role).join("hostapd.conf"));
        node.start(hostapd.stdin(Stdio::null()).stdout(Stdio::null()))
    }

    fn sends(&self, role: &str) -> Result<(), Error> {
        let node = self.lab.node(role)?;
        wait_until("an access point", LIMIT, || {
            let shown = node.run(&format!("iw dev {RADIO} info"))?;
            Ok(shown.contains(SSID) && shown.contains("channel"))
        })
    }

    pub fn end_access_point(&mut self, at: usize) {
        self.hostapds[at].stop();
    }

    /// Restarts the access point of this number and waits for its beacons.
    pub fn restart_access_point(&mut self, at: usize) -> Result<(), Error> {
        self.hostapds[at] = self.hostapd(self.nodes[at])?;
        self.sends(self.nodes[at])
    }

    /// Switches the access point of this number to another channel, MHz; its stations follow.
    pub fn switch(&self, at: usize, frequency: u32) -> Result<(), Error> {
        let role = self.nodes[at];
        let control = self.folder.join(role).join("control");
        let order = format!(
            "hostapd_cli -p {} -i {RADIO} chan_switch 5 {frequency}",
            control.display()
        );
        let told = self.lab.node(role)?.run(&order)?;
        match told.contains("OK") {
            true => Ok(()),
            false => Err(unexpected(told)),
        }
    }

    /// Waits until a node has found a peer after this second of the day, alive at both ends.
    pub fn found_after(&self, at: usize, second: f64) -> Result<f64, Error> {
        let found = || said(&self.weirs[at].log(), "peer connected peer=").unwrap_or_default();
        wait_until("a new peer", LIMIT, || Ok(found() >= second))
            .map_err(|error| unexpected(format!("{error}: {}", self.weirs[at].log())))?;
        self.alive(at, 1)?;
        Ok(found())
    }

    /// Joins an ordinary client to the access point of this number, and waits for an answer.
    pub fn client(&self, role: &str, of: &str, number: u8, wpa3: bool) -> Result<Process, Error> {
        let process = self.join(role, number, wpa3, ["", ""])?;
        self.speak([role, of], [RADIO, RADIO], number)?;
        Ok(process)
    }

    /// Joins without addresses, with more lines of wpa_supplicant.conf and of its network.
    pub fn join(
        &self,
        role: &str,
        number: u8,
        wpa3: bool,
        [more, of_network]: [&str; 2],
    ) -> Result<Process, Error> {
        let client = self.lab.node(role)?;
        let file = self.folder.join(format!("{role}.conf"));
        let how = match wpa3 {
            true => "key_mgmt=SAE\nieee80211w=2\nsae_password",
            false => "psk",
        };
        let network = format!(
            "{more}\nnetwork={{\nssid=\"{SSID}\"\nbssid=02:00:00:00:{number:02x}:00\n\
             {how}=\"of-its-clients\"\n{of_network}\n}}\n"
        );
        std::fs::write(&file, network).map_err(Error::system("write client.conf"))?;
        let mut supplicant = Command::new("wpa_supplicant");
        supplicant.args(["-i", RADIO, "-c"]).arg(&file);
        client.start(supplicant.stdin(Stdio::null()).stdout(Stdio::null()))
    }

    /// Gives both ends of a client's link addresses, and waits until the client reaches the other.
    pub fn speak(
        &self,
        [role, of]: [&str; 2],
        [device, at]: [&str; 2],
        number: u8,
    ) -> Result<(), Error> {
        let client = self.lab.node(role)?;
        let net = format!("192.0.{}", 2 + number);
        let node = self.lab.node(of)?;
        node.ip(&format!("address add {net}.1/24 dev {at}\n"))?;
        client.ip(&format!("address add {net}.2/24 dev {device}\n"))?;
        wait_until("the client joins", LIMIT, || {
            Ok(client.run(&format!("ping -c 1 -W 1 {net}.1")).is_ok())
        })
    }

    /// Starts weir for an access point, with more lines under `[radio.peering]`; no secret: "".
    pub fn weir(&mut self, role: &str, secret: &str, more: &str) -> Result<(), Error> {
        let config = self.config(role, secret, more)?;
        let weir = Weir::start(self.lab.node(role)?, &config, &ONLY)?;
        self.weirs.push(weir);
        Ok(())
    }

    pub fn config(&self, role: &str, secret: &str, more: &str) -> Result<String, Error> {
        let folder = self.folder.join(role);
        let file = folder.join("secret");
        std::fs::write(&file, secret).map_err(Error::system("write a secret"))?;
        let (control, key) = (folder.join("control"), folder.join("key"));
        let named = match secret {
            "" => String::new(),
            _ => format!("secret = {file:?}\n"),
        };
        Ok(format!(
            "[radio.peering]\ndevice = \"{RADIO}\"\n{named}hostapd = {control:?}\n\
             key = {key:?}\n{more}\n[log]\nlevel = \"debug\"\n"
        ))
    }

    /// Restarts weir of this number.
    pub fn restart(&mut self, at: usize) -> Result<(), Error> {
        let node = self.lab.node(self.nodes[at])?;
        self.weirs[at].restart_with(node, &ONLY)
    }

    pub fn told(&self, at: usize) -> Result<RadioPeers, Error> {
        let client = api::Client::new(self.weirs[at].socket());
        let told = client.and_then(|client| client.get::<RadioPeers>("/v1/radio/peers"));
        told.map_err(|error| unexpected(error.to_string()))
    }

    pub fn peers(&self, at: usize) -> Result<Vec<RadioPeer>, Error> {
        Ok(self.told(at)?.peers)
    }

    /// Waits until a node has this many peers at both ends, and returns their devices.
    pub fn alive(&self, at: usize, count: usize) -> Result<Vec<String>, Error> {
        let mut seen = RadioPeers::default();
        let mut devices = Vec::new();
        wait_until("peers", LIMIT, || {
            seen = self.told(at)?;
            let alive = seen.peers.iter().filter(|peer| peer.state == "alive");
            assert!(alive.clone().all(|peer| peer.encrypted));
            devices = alive.map(|peer| peer.interface.clone()).collect();
            Ok(devices.len() == count)
        })
        .map_err(|error| unexpected(format!("{error}: {seen:?}; {}", self.weirs[at].log())))?;
        Ok(devices)
    }

    /// Returns the number of a node's devices whose names begin with this prefix.
    pub fn devices(&self, role: &str, prefix: &str) -> Result<usize, Error> {
        let shown = self.lab.node(role)?.run("ip -brief link show")?;
        let found = shown.lines().filter(|line| line.starts_with(prefix));
        Ok(found.count())
    }

    /// Captures a node's monitor device into a file.
    pub fn listen(&self, role: &str) -> Result<(Process, PathBuf), Error> {
        let node = self.lab.node(role)?;
        node.run(&format!("iw dev {RADIO} interface add mon0 type monitor"))?;
        node.ip("link set mon0 up\n")?;
        let capture = self.folder.join("capture");
        let mut tcpdump = Command::new("tcpdump");
        tcpdump.args(["-i", "mon0", "-U", "-s", "256", "-Z", "root", "-w"]);
        tcpdump.arg(&capture).stdin(Stdio::null());
        let tcpdump = node.start(tcpdump.stdout(Stdio::null()).stderr(Stdio::null()))?;
        wait_until("it captures", LIMIT, || {
            Ok(std::fs::metadata(&capture).is_ok_and(|it| it.len() > 100))
        })?;
        Ok((tcpdump, capture))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if self.in_country {
            let _ = radios::country("00");
        }
    }
}

/// Returns the seconds since midnight.
pub fn second_of_day() -> f64 {
    net::clock::unix().as_secs_f64() % 86_400.0
}

/// Returns the last time of a text in a log, in seconds of the day.
pub fn said(log: &str, what: &str) -> Result<f64, Error> {
    let line = log.lines().rev().find(|line| line.contains(what));
    let clock = line.and_then(|line| line.get(11..26)).unwrap_or_default();
    let mut parts = clock.split(':').map(str::parse::<f64>);
    let total = parts.try_fold(0.0, |all, part| Some(all * 60.0 + part.ok()?));
    total
        .filter(|_| line.is_some())
        .ok_or_else(|| unexpected(format!("{what} is not in {log}")))
}

/// Returns time in seconds and bytes of a capture's frames with radiotap headers.
pub fn captured(file: &Path) -> Result<Vec<(f64, Vec<u8>)>, Error> {
    let octets = std::fs::read(file).map_err(Error::system("read a capture"))?;
    let mut rest = octets.get(24..).unwrap_or_default();
    let mut frames = Vec::new();
    while let Some((head, behind)) = rest.split_first_chunk::<16>() {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|octet| head[at + octet]));
        let Some((packet, next)) = behind.split_at_checked(word(8) as usize) else {
            break;
        };
        rest = next;
        let radiotap = packet
            .get(2..4)
            .map_or(0, |it| usize::from(it[0]) | usize::from(it[1]) << 8);
        if let Some(frame) = packet.get(radiotap..).filter(|frame| frame.len() >= 24) {
            let at = f64::from(word(0)) + f64::from(word(4)) / 1e6;
            frames.push((at, frame.to_vec()));
        }
    }
    Ok(frames)
}

/// Returns true for data from one of two access points to the other.
pub fn is_between(frame: &[u8], pair: [[u8; 6]; 2]) -> bool {
    // Data with a payload (IEEE 802.11, 9.2.4.1.3).
    let is_data = frame[0] & 0x0c == 0x08 && frame[0] & 0x40 == 0;
    let ends = [&frame[4..10], &frame[10..16]];
    is_data && (ends == [&pair[0][..], &pair[1]] || ends == [&pair[1][..], &pair[0]])
}

/// Returns the numbers of protected and unprotected data frames between two access points in a
/// capture.
pub fn between(file: &Path, pair: [[u8; 6]; 2]) -> Result<[u64; 2], Error> {
    let mut counts = [0; 2];
    for (_, frame) in captured(file)? {
        if is_between(&frame, pair) {
            counts[usize::from(frame[1] & 0x40 == 0)] += 1;
        }
    }
    Ok(counts)
}
