//! `compat = "apup"`: unencrypted peers, like OpenWrt's access points. OpenWrt's hostapd is not
//! available here: the other side is weir, and then a manual entry like that hostapd's.

use std::time::Instant;

use kernel::io::{Device, PeerStation, Peers};
use kernel::nl80211::{Abilities, NewDevice};
use lab::Error;
use lab::namespace::wait_until;
use weir_tests::LIMIT;
use weir_tests::radios::RADIO;

use super::scene::{SECRET, Scene, between, mac, unexpected};

const NODES: [&str; 4] = ["north", "south", "hand", "client"];
const APUP: &str = "compat = \"apup\"";
/// The kernel's name for the device of the first peer.
const LINK: &str = "wlan0.sta2007";

/// Waits until a node has an unencrypted peer of this address.
fn in_clear(scene: &Scene, at: usize, number: u8) -> Result<(), Error> {
    let mut told = String::new();
    wait_until("a peer in clear", LIMIT, || {
        let peers = scene.told(at)?;
        told = format!("{peers:?}");
        let address = format!("02:00:00:00:{number:02x}:00");
        assert!(
            peers
                .notices
                .iter()
                .any(|notice| notice.contains("INSECURE"))
        );
        Ok(peers
            .peers
            .iter()
            .any(|peer| peer.address == address && !peer.encrypted && peer.state == "alive"))
    })
    .map_err(|error| unexpected(format!("{error}: {told}; {}", scene.weirs[at].log())))
}

fn address(scene: &Scene, role: &str, device: &str, number: u8) -> Result<(), Error> {
    let node = scene.lab.node(role)?;
    let line = format!("address replace 10.9.0.{number}/24 dev {device}\n");
    node.ip(&line).map(drop)
}

/// Adds an access point as the other's peer, by the requests of OpenWrt's hostapd.
fn by_hand(scene: &Scene, role: &str, own: u8, other: u8) -> Result<Peers, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build();
    let runtime = runtime.map_err(Error::system("start a runtime"))?;
    scene.lab.node(role)?.enter(|| {
        let _entered = runtime.enter();
        let failed = |error: &dyn std::error::Error| unexpected(error.to_string());
        let access_point = nix::net::if_::if_nametoindex(RADIO).map_err(|error| failed(&error))?;
        let mut kernel = Peers::open()
            .map_err(|error| failed(&error))?
            .ok_or_else(|| unexpected("no Wi-Fi"))?;
        let device = NewDevice::Peer {
            link: access_point,
            mac: mac(own),
            name: "wlan0.sta1",
        };
        let link = kernel.make(device).map_err(|error| failed(&error))?;
        let up = Device::open(link).and_then(|mut device| device.set_up(true));
        up.map_err(|error| failed(&error))?;
        let station = PeerStation {
            access_point,
            link,
            mac: mac(other),
        };
        let abilities = Abilities {
            rates: vec![0x82, 0x84, 0x8b, 0x96],
            ..Abilities::default()
        };
        let joined = kernel.join(station, 1, &abilities, None);
        joined.map_err(|error| failed(&error))?;
        Ok(kernel)
    })?
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn peers_in_clear_as_openwrt_has_them() -> Result<(), Error> {
    let mut scene = Scene::begin(&NODES)?;
    for role in &NODES[..2] {
        scene.access_point(role, false)?;
    }
    let _client = scene.client("client", "north", 0, false)?;
    let (tcpdump, capture) = scene.listen("client")?;
    scene.weir("north", "", APUP)?;
    scene.weir("south", "", APUP)?;
    let begun = Instant::now();
    in_clear(&scene, 0, 1)?;
    in_clear(&scene, 1, 0)?;
    println!(
        "in clear {:?} after the second weir answers",
        begun.elapsed()
    );
    address(&scene, "north", LINK, 1)?;
    address(&scene, "south", LINK, 2)?;
    let (north, client) = (scene.lab.node("north")?, scene.lab.node("client")?);
    println!("{}", north.run("ping -c 10 -i 0.1 -W 5 10.9.0.2")?);
    println!("{}", client.run("ping -c 10 -i 0.1 -W 5 192.0.2.1")?);
    tcpdump.stop();
    let [protected, clear] = between(&capture, [mac(0), mac(1)])?;
    println!("data frames between the two: {protected} protected, {clear} in clear");
    assert!(clear >= 20 && protected == 0, "{protected}, {clear}");

    // The peer's device disappears when the peer's beacons stop.
    scene.end_access_point(1);
    wait_until("its device is gone", LIMIT, || {
        Ok(scene.devices("north", LINK)? == 0)
    })?;

    // A peer without weir.
    scene.access_point("hand", false)?;
    let _kernel = by_hand(&scene, "hand", 2, 0)?;
    wait_until("a device for it", LIMIT, || {
        Ok(scene.devices("north", "wlan0.sta")? == 1)
    })?;
    let shown = scene.lab.node("north")?.run("ip -brief link show")?;
    let mut names = shown.split_whitespace().map(|word| word.split('@').next());
    let name = names.find_map(|name| name.filter(|name| name.starts_with("wlan0.sta")));
    let name = name.ok_or_else(|| unexpected(shown.clone()))?.to_owned();
    address(&scene, "north", &name, 1)?;
    address(&scene, "hand", "wlan0.sta1", 3)?;
    let north = scene.lab.node("north")?;
    println!("{}", north.run("ping -c 10 -i 0.1 -W 5 10.9.0.3")?);
    in_clear(&scene, 0, 2)?;
    Ok(())
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn who_has_the_secret_is_not_taken_in_clear() -> Result<(), Error> {
    let mut scene = Scene::begin(&NODES)?;
    // The third node has the network's name alone.
    for role in &NODES[..3] {
        scene.access_point(role, false)?;
    }
    scene.weir("north", SECRET, APUP)?;
    scene.weir("south", SECRET, APUP)?;
    for at in [0, 1] {
        let mut told = Vec::new();
        wait_until("a peer with a key", LIMIT, || {
            told = scene.peers(at)?;
            let keyed = |peer: &answers::RadioPeer| peer.encrypted && peer.state == "alive";
            Ok(told.iter().any(keyed))
        })?;
        let other = format!("02:00:00:00:{:02x}:00", 1 - at);
        let open = |peer: &answers::RadioPeer| peer.address == other && !peer.encrypted;
        assert!(!told.iter().any(open), "{told:?}");
        assert_eq!(scene.devices(NODES[at], "peer-")?, 1);
        // The other peer is unencrypted, in addition.
        wait_until("a device without a key", LIMIT, || {
            Ok(scene.devices(NODES[at], "wlan0.sta")? == 1)
        })?;
    }
    Ok(())
}
