//! Three access points, with a routing protocol that carries frames over several hops.

use std::time::Duration;

use lab::Error;
use lab::namespace::wait_until;
use nix::sys::signal::Signal;
use weir_tests::LIMIT;

use super::scene::{SECRET, Scene, between, mac};

const NODES: [&str; 6] = ["north", "south", "east", "stranger", "old", "new"];

/// Waits until one of the first three nodes reaches another above their links.
fn reaches(scene: &Scene, from: usize, to: usize) -> Result<(), Error> {
    let node = scene.lab.node(NODES[from])?;
    wait_until("a way", LIMIT, || {
        Ok(node
            .run(&format!("ping -c 1 -W 1 10.9.0.{}", to + 1))
            .is_ok())
    })?;
    let told = node.run(&format!("ping -c 10 -i 0.1 -W 5 10.9.0.{}", to + 1))?;
    assert!(told.contains("10 received"), "{told}");
    Ok(())
}

/// Returns the number of devices in a master device.
pub fn inside(scene: &Scene, role: &str, device: &str) -> Result<usize, Error> {
    let shown = scene.lab.node(role)?;
    let shown = shown.run(&format!("ip -brief link show master {device}"))?;
    Ok(shown.lines().count())
}

#[test]
#[ignore = "needs mac80211_hwsim, hostapd and batman-adv: run by tests/vm/run"]
fn three_access_points_are_a_mesh_that_goes_round_what_is_missing() -> Result<(), Error> {
    let mut scene = Scene::begin(&NODES)?;
    for (at, role) in NODES[..3].iter().enumerate() {
        scene.access_point(role, at == 1)?;
        let node = scene.lab.node(role)?;
        node.ip(&format!(
            "link add bat0 type batadv\nlink set bat0 up\naddress add 10.9.0.{}/24 dev bat0\n",
            at + 1
        ))?;
    }
    let _old = scene.client("old", "north", 0, false)?;
    let _new = scene.client("new", "south", 1, true)?;
    let (tcpdump, capture) = scene.listen("stranger")?;
    let batman = "mesh = \"batman\"\ninto = \"bat0\"";
    for role in &NODES[..3] {
        scene.weir(role, SECRET, batman)?;
    }
    for (at, role) in NODES[..3].iter().enumerate() {
        scene.alive(at, 2)?;
        assert_eq!(scene.told(at)?.notices, [""; 0]);
        assert_eq!(inside(&scene, role, "bat0")?, 2);
    }
    for (from, to) in [(0, 1), (1, 2), (2, 0)] {
        reaches(&scene, from, to)?;
    }
    // An outsider with the name also listens.
    scene.access_point("stranger", false)?;
    scene.weir("stranger", "another secret, just as long", batman)?;
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(scene.peers(3)?, []);
    for (at, role) in NODES[..3].iter().enumerate() {
        assert_eq!(scene.devices(role, "peer-")?, 2);
        assert_eq!(scene.peers(at)?.len(), 2);
    }
    for (client, number) in [("old", 2), ("new", 3)] {
        let client = scene.lab.node(client)?;
        println!(
            "{}",
            client.run(&format!("ping -c 10 -i 0.1 -W 5 192.0.{number}.1"))?
        );
    }
    tcpdump.stop();
    for pair in [[0, 1], [1, 2], [2, 0]] {
        let [protected, clear] = between(&capture, pair.map(mac))?;
        println!("data frames between {pair:?}: {protected} protected, {clear} in clear");
        assert!(protected >= 20 && clear == 0, "{protected}, {clear}");
    }

    // A node is killed, and the others go on.
    scene.weirs[0].end(Signal::SIGKILL)?;
    wait_until("its devices are gone", LIMIT, || {
        let left = scene.devices("north", "peer-")? + scene.devices("north", "mesh-")?;
        Ok(left == 0 && scene.devices("south", "peer-")? == 1)
    })?;
    assert_eq!(inside(&scene, "north", "bat0")?, 0);
    reaches(&scene, 1, 2)?;
    // The node returns with one peer denied: frames take the detour by the other.
    let deny = format!("{batman}\ndeny = [\"02:00:00:00:02:00\"]");
    let config = scene.config("north", SECRET, &deny)?;
    std::fs::write(scene.weirs[0].config_file(), config).map_err(Error::system("write"))?;
    scene.restart(0)?;
    scene.alive(0, 1)?;
    reaches(&scene, 0, 2)?;
    assert_eq!(scene.devices("north", "peer-")?, 1);
    assert_eq!(scene.devices("east", "peer-")?, 1);
    // An orderly end leaves nothing.
    scene.weirs[1].end(Signal::SIGTERM)?;
    wait_until("its devices are gone", LIMIT, || {
        Ok(scene.devices("south", "peer-")? + scene.devices("south", "mesh-")? == 0)
    })
}
