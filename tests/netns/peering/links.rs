//! Link throughput in batman-adv, whole frames without fragments, and rates of HT.

use lab::Error;
use lab::namespace::wait_until;
use weir_tests::LIMIT;

use super::bands::{FRAMES, PEER, kind};
use super::scene::{SECRET, Scene, unexpected};

const NODES: [&str; 2] = ["north", "south"];

/// Parses the first word of batman-adv's output, Mbit/s.
fn mbit(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Returns for a node's only link, in Mbit/s: the override set in batman-adv, batman-adv's
/// throughput, and weir's figure.
fn speeds(scene: &Scene, at: usize) -> Result<[f64; 3], Error> {
    let node = scene.lab.node(NODES[at])?;
    let peers = scene.peers(at)?;
    let peer = peers.first().ok_or_else(|| unexpected("no peer"))?;
    let link = peer.interface.replacen("peer-", "mesh-", 1);
    let told = node.run(&format!("batctl hardif {link} throughput_override"))?;
    // Columns: address, last seen, throughput in brackets, device.
    let shown = node.run("batctl meshif bat0 neighbors -n -H")?;
    let taken = shown.lines().find(|line| line.contains(&link));
    let taken = taken.and_then(|line| mbit(line.split(['(', ')']).nth(1)?));
    let expected = peer.expected_mbit.unwrap_or_default();
    Ok([
        mbit(&told).ok_or_else(|| unexpected(told))?,
        taken.unwrap_or_default(),
        expected,
    ])
}

#[test]
#[ignore = "needs mac80211_hwsim, hostapd and batman-adv: run by tests/vm/run"]
fn batman_knows_what_a_link_gets_through_and_whole_frames_fit() -> Result<(), Error> {
    let mut scene = Scene::begin(&NODES)?;
    lab::radios::outside("modprobe batman_adv")?;
    // Applies to devices created from now on.
    let algorithm = |name: &str| {
        let file = "/sys/module/batman_adv/parameters/routing_algo";
        std::fs::write(file, name).map_err(Error::system(file))
    };
    algorithm("BATMAN_V")?;
    for (at, role) in NODES.iter().enumerate() {
        scene.access_point_with(role, false, "ieee80211n=1")?;
        scene.lab.node(role)?.ip(&format!(
            "link add bat0 type batadv\nlink set bat0 up\naddress add 10.9.0.{}/24 dev bat0\n",
            at + 1
        ))?;
    }
    algorithm("BATMAN_IV")?;
    for role in NODES {
        scene.weir(role, SECRET, "mesh = \"batman\"\ninto = \"bat0\"")?;
    }
    for at in 0..NODES.len() {
        scene.alive(at, 1)?;
    }
    for (at, role) in NODES.iter().enumerate() {
        let mut seen = [0.0; 3];
        wait_until("its throughput", LIMIT, || {
            seen = speeds(&scene, at)?;
            let [told, taken, expected] = seen;
            // Units are 0.1 Mbit/s, and batman-adv's mean may lack one more unit.
            let told_it = (0.0..0.1).contains(&(expected - told));
            Ok(told_it && told > 0.0 && (told - taken).abs() < 0.15)
        })
        .map_err(|error| unexpected(format!("{error}: {seen:?}; {}", scene.weirs[at].log())))?;
        println!("{role}: told, taken, expected: {seen:?} Mbit/s");
        assert_eq!(scene.told(at)?.notices, [""; 0]);
    }
    // The longest Ethernet frame is neither refused nor fragmented.
    let north = scene.lab.node("north")?;
    wait_until("a way", LIMIT, || {
        Ok(north.run("ping -c 1 -W 1 10.9.0.2").is_ok())
    })?;
    let told = north.run("ping -M do -s 1472 -c 10 -i 0.1 -W 5 10.9.0.2")?;
    assert!(told.contains("10 received"), "{told}");
    for role in NODES {
        let counted = scene.lab.node(role)?.run("ethtool -S bat0")?;
        let apart = counted.lines().find(|line| line.contains("frag_tx:"));
        let apart = apart.and_then(|line| line.split_whitespace().last());
        assert_eq!(apart, Some("0"), "{counted}");
    }
    let device = scene.peers(0)?.remove(0).interface;
    // Trains the rate control on the link.
    north.run("ping -q -f -c 300 -s 1400 10.9.0.2")?;
    let mut best = None;
    for _ in 0..FRAMES {
        north.run("ping -q -c 1 -s 1400 10.9.0.2")?;
        let dump = north.run(&format!("iw dev {device} station dump"))?;
        best = best.or(kind(&dump, PEER)?);
    }
    assert_eq!(best, Some("MCS"), "as its beacon says");
    // weir recreates a deleted device.
    let device = device.replacen("peer-", "mesh-", 1);
    north.ip(&format!("link del {device}\n"))?;
    wait_until("a way again", LIMIT, || {
        Ok(north.run("ping -c 1 -W 1 10.9.0.2").is_ok())
    })?;
    let [told, ..] = speeds(&scene, 0)?;
    assert!(told > 0.0);
    assert_eq!(scene.told(0)?.notices, [""; 0]);
    Ok(())
}
