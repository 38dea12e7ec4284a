//! What becomes of peers where their access point changes under them.

use lab::Error;

use super::scene::{SECRET, Scene, second_of_day};

const NODES: [&str; 2] = ["north", "south"];

fn begin() -> Result<Scene, Error> {
    let mut scene = Scene::begin(&NODES)?;
    for role in NODES {
        scene.access_point(role, false)?;
    }
    Ok(scene)
}

fn begin_with_peers() -> Result<Scene, Error> {
    let mut scene = begin()?;
    for at in [0, 1] {
        scene.weir(NODES[at], SECRET, "")?;
    }
    for at in [0, 1] {
        scene.alive(at, 1)?;
    }
    Ok(scene)
}

/// Each has one device of a peer, and none is left of before; they hear each other.
fn speak(scene: &Scene) -> Result<(), Error> {
    for (at, role) in NODES.iter().enumerate() {
        let device = scene.alive(at, 1)?.remove(0);
        assert_eq!(scene.devices(role, "peer-")?, 1);
        let address = format!("address replace 10.9.0.{}/24 dev {device}\n", at + 1);
        scene.lab.node(role)?.ip(&address)?;
    }
    let north = scene.lab.node("north")?;
    let told = north.run("ping -c 10 -i 0.1 -W 5 10.9.0.2")?;
    assert!(told.contains("10 received"), "{told}");
    Ok(())
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn peers_come_back_after_hostapd_began_anew() -> Result<(), Error> {
    let mut scene = begin_with_peers()?;
    for at in [0, 1, 0, 1, 0] {
        let ends = second_of_day();
        scene.end_access_point(at);
        scene.restart_access_point(at)?;
        let begun = second_of_day();
        let found = scene.found_after(at, ends)?;
        println!(
            "{}: a peer {:.3} s after hostapd's end, {:.3} s after its access point is back",
            NODES[at],
            found - ends,
            found - begun
        );
        scene.alive(1 - at, 1)?;
    }
    speak(&scene)
}
