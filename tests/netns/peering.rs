//! Access points that peer: each is a stock hostapd with weir beside it. Radios are those of
//! mac80211_hwsim, which hear each other at -30 dBm.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use answers::{RadioPeer, RadioPeers};
use lab::namespace::{Process, wait_until};
use lab::{Error, Lab, Namespace};
use nix::sys::signal::Signal;
use weir_tests::radios::{RADIO, radios};
use weir_tests::{LIMIT, Weir};

const SSID: &str = "weir-mesh";
const SECRET: &str = "the secret of all nodes of this mesh";
const NODES: [&str; 4] = ["north", "south", "stranger", "client"];

fn unexpected(text: impl Into<String>) -> Error {
    Error::Unexpected(text.into())
}

/// Three access points of one network, and one client.
struct Scene {
    // In the order in which they end.
    weirs: Vec<Weir>,
    _hostapds: Vec<Process>,
    lab: Lab,
    folder: PathBuf,
}

impl Scene {
    fn begin() -> Result<Self, Error> {
        let mut lab = Lab::new();
        for role in NODES {
            lab.router(role)?;
        }
        let nodes: Vec<&Namespace> = NODES
            .iter()
            .map(|role| lab.node(role))
            .collect::<Result<_, _>>()?;
        radios(&nodes)?;
        for node in nodes {
            node.sysctl("net.ipv6.conf.all.disable_ipv6", 1)?;
            node.sysctl("net.ipv6.conf.default.disable_ipv6", 1)?;
        }
        let folder = std::env::temp_dir().join(format!("weir-peering-{}", std::process::id()));
        let mut hostapds = Vec::new();
        for role in &NODES[..2] {
            hostapds.push(access_point(lab.node(role)?, &folder.join(role))?);
        }
        Ok(Self {
            weirs: Vec::new(),
            _hostapds: hostapds,
            lab,
            folder,
        })
    }

    fn weir(&mut self, role: &str, secret: &str) -> Result<(), Error> {
        let folder = self.folder.join(role);
        let file = folder.join("secret");
        std::fs::write(&file, secret).map_err(Error::system("write a secret"))?;
        let (control, key) = (folder.join("control"), folder.join("key"));
        let config = format!(
            "[radio.peering]\ndevice = \"{RADIO}\"\nsecret = {file:?}\nhostapd = {control:?}\n\
             key = {key:?}\n"
        );
        let weir = Weir::start(self.lab.node(role)?, &config, &["--only", "radio"])?;
        self.weirs.push(weir);
        Ok(())
    }

    fn peers(&self, at: usize) -> Result<Vec<RadioPeer>, Error> {
        let client = api::Client::new(self.weirs[at].socket());
        let told = client.and_then(|client| client.get::<RadioPeers>("/v1/radio/peers"));
        let told = told.map_err(|error| unexpected(error.to_string()))?;
        if !told.notices.is_empty() {
            println!("{:?}", told.notices);
        }
        Ok(told.peers)
    }

    /// Waits until one has a peer at both ends, and gives its device.
    fn peer(&self, at: usize) -> Result<String, Error> {
        let mut device = String::new();
        let mut seen = Vec::new();
        wait_until("a peer", LIMIT, || {
            seen = self.peers(at)?;
            let alive = seen.iter().find(|peer| peer.state == "alive");
            if let Some(peer) = alive {
                assert!(peer.encrypted);
                device.clone_from(&peer.interface);
            }
            Ok(!device.is_empty())
        })
        .map_err(|error| unexpected(format!("{error}: {seen:?}; {}", self.weirs[at].log())))?;
        Ok(device)
    }

    fn devices(&self, role: &str) -> Result<usize, Error> {
        let shown = self.lab.node(role)?.run("ip -brief link show")?;
        Ok(shown
            .lines()
            .filter(|line| line.starts_with("peer-"))
            .count())
    }

    /// Both ends of the link have addresses, and hear each other.
    fn speak(&self, devices: [&str; 2]) -> Result<(), Error> {
        for (at, device) in devices.iter().enumerate() {
            let node = self.lab.node(NODES[at])?;
            let address = format!("10.9.0.{}/24", at + 1);
            node.ip(&format!("address replace {address} dev {device}\n"))?;
        }
        let north = self.lab.node("north")?;
        println!("{}", north.run("ping -c 10 -i 0.1 -W 5 10.9.0.2")?);
        Ok(())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// hostapd, as distributions have it.
fn access_point(node: &Namespace, folder: &Path) -> Result<Process, Error> {
    std::fs::create_dir_all(folder).map_err(Error::system("make a folder"))?;
    let control = folder.join("control");
    let settings = format!(
        "interface={RADIO}\nssid={SSID}\nhw_mode=g\nchannel=1\nctrl_interface={}\nwpa=2\n\
         wpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase=of-its-clients\n",
        control.display()
    );
    let file = folder.join("hostapd.conf");
    std::fs::write(&file, settings).map_err(Error::system("write hostapd.conf"))?;
    let mut hostapd = Command::new("hostapd");
    hostapd
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let process = node.start(&mut hostapd)?;
    wait_until("an access point", LIMIT, || {
        let shown = node.run(&format!("iw dev {RADIO} info"))?;
        Ok(shown.contains(SSID) && shown.contains("channel"))
    })?;
    Ok(process)
}

/// Data frames between two access points in a capture with radiotap headers: those that are
/// protected, and those that are not.
fn between(file: &Path, pair: [[u8; 6]; 2]) -> Result<[u64; 2], Error> {
    let octets = std::fs::read(file).map_err(Error::system("read a capture"))?;
    let mut rest = octets.get(24..).unwrap_or_default();
    let mut counts = [0; 2];
    while let Some((head, behind)) = rest.split_first_chunk::<16>() {
        let length = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let Some((packet, next)) = behind.split_at_checked(length) else {
            break;
        };
        rest = next;
        let radiotap = packet
            .get(2..4)
            .map_or(0, |it| usize::from(it[0]) | usize::from(it[1]) << 8);
        let Some(frame) = packet.get(radiotap..).filter(|frame| frame.len() >= 24) else {
            continue;
        };
        // Data, and with octets in it (IEEE 802.11, 9.2.4.1.3).
        let is_data = frame[0] & 0x0c == 0x08 && frame[0] & 0x40 == 0;
        let ends = [&frame[4..10], &frame[10..16]];
        let of_both = ends == [&pair[0][..], &pair[1]] || ends == [&pair[1][..], &pair[0]];
        if is_data && of_both {
            counts[usize::from(frame[1] & 0x40 == 0)] += 1;
        }
    }
    Ok(counts)
}

fn mac(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, number, 0]
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn two_access_points_peer_and_a_stranger_does_not() -> Result<(), Error> {
    let mut scene = Scene::begin()?;
    // An ordinary client, which notices nothing of what follows.
    let client = scene.lab.node("client")?;
    let file = scene.folder.join("client.conf");
    let network = format!(
        "network={{\nssid=\"{SSID}\"\nbssid=02:00:00:00:00:00\npsk=\"of-its-clients\"\n}}\n"
    );
    std::fs::write(&file, network).map_err(Error::system("write client.conf"))?;
    let mut supplicant = Command::new("wpa_supplicant");
    supplicant.args(["-i", RADIO, "-c"]).arg(&file);
    let _supplicant = client.start(supplicant.stdin(Stdio::null()).stdout(Stdio::null()))?;
    let north = scene.lab.node("north")?;
    north.ip(&format!("address add 192.0.2.1/24 dev {RADIO}\n"))?;
    client.ip(&format!("address add 192.0.2.2/24 dev {RADIO}\n"))?;
    wait_until("the client joins", LIMIT, || {
        Ok(client.run("ping -c 1 -W 1 192.0.2.1").is_ok())
    })?;
    // Whoever only listens.
    client.run(&format!("iw dev {RADIO} interface add mon0 type monitor"))?;
    client.ip("link set mon0 up\n")?;
    let capture = scene.folder.join("capture");
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-i", "mon0", "-U", "-s", "256", "-Z", "root", "-w"]);
    tcpdump.arg(&capture).stdin(Stdio::null());
    let tcpdump = client.start(tcpdump.stdout(Stdio::null()).stderr(Stdio::null()))?;
    wait_until("it captures", LIMIT, || {
        Ok(std::fs::metadata(&capture).is_ok_and(|it| it.len() > 100))
    })?;

    scene.weir("north", SECRET)?;
    scene.weir("south", SECRET)?;
    let begun = Instant::now();
    let (north, south) = (scene.peer(0)?, scene.peer(1)?);
    println!(
        "both have a peer {:?} after the second weir answers",
        begun.elapsed()
    );
    scene.speak([&north, &south])?;
    println!("{:?}", scene.peers(0)?);

    // One more access point of this name, with a weir, but without the secret.
    let stranger = access_point(scene.lab.node("stranger")?, &scene.folder.join("stranger"))?;
    scene.weir("stranger", "another secret, just as long")?;
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(scene.peers(2)?, []);
    assert_eq!(scene.devices("stranger")?, 0);
    for (at, role) in NODES[..2].iter().enumerate() {
        assert_eq!(scene.devices(role)?, 1);
        assert_eq!(scene.peers(at)?.len(), 1);
    }
    stranger.stop();

    scene.speak([&north, &south])?;
    let client = scene.lab.node("client")?;
    println!("{}", client.run("ping -c 10 -i 0.1 -W 5 192.0.2.1")?);
    tcpdump.stop();
    let [protected, clear] = between(&capture, [mac(0), mac(1)])?;
    println!("data frames between the two: {protected} protected, {clear} in clear");
    assert!(protected >= 40 && clear == 0, "{protected}, {clear}");
    Ok(())
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn a_peer_that_is_killed_is_gone_and_comes_back() -> Result<(), Error> {
    let mut scene = Scene::begin()?;
    scene.weir("north", SECRET)?;
    scene.weir("south", SECRET)?;
    let before = [scene.peer(0)?, scene.peer(1)?];
    for at in [1, 0] {
        scene.weirs[at].end(Signal::SIGKILL)?;
        let killed = Instant::now();
        wait_until("its device is gone", LIMIT, || {
            Ok(scene.devices(NODES[1 - at])? == 0)
        })?;
        println!(
            "{}: gone at the other {:?} later",
            NODES[at],
            killed.elapsed()
        );
        assert_eq!(
            scene.devices(NODES[at])?,
            0,
            "the kernel removes what it made"
        );
        let Scene { weirs, lab, .. } = &mut scene;
        weirs[at].restart(lab.node(NODES[at])?)?;
        let begun = Instant::now();
        let after = [scene.peer(0)?, scene.peer(1)?];
        println!("{}: back {:?} after it answers", NODES[at], begun.elapsed());
        assert_eq!(after, before);
        scene.speak([&after[0], &after[1]])?;
    }
    // At once: what the other has is of a former start.
    scene.weirs[1].end(Signal::SIGKILL)?;
    let killed = Instant::now();
    let Scene { weirs, lab, .. } = &mut scene;
    weirs[1].restart(lab.node("south")?)?;
    println!("begun anew at once: answers after {:?}", killed.elapsed());
    scene.peer(1)?;
    println!("and has its peer {:?} after the end", killed.elapsed());
    println!("{}", scene.weirs[0].log());
    let north = scene.peer(0)?;
    scene.speak([&north, &before[1]])?;
    Ok(())
}
