//! Three access points, whose bridges run a spanning tree.

use std::time::{Duration, Instant};

use lab::Error;
use lab::namespace::wait_until;
use nix::sys::signal::Signal;
use weir_tests::LIMIT;

use super::mesh::inside;
use super::scene::{SECRET, Scene, unexpected};

const NODES: [&str; 3] = ["north", "south", "east"];

/// Returns the frames that a node's bridge received.
fn received(scene: &Scene, role: &str) -> Result<u64, Error> {
    let told = scene.lab.node(role)?.run("cat /proc/net/dev")?;
    let mut words = told.split_whitespace().skip_while(|word| *word != "br0:");
    let number = words.nth(2).and_then(|word| word.parse().ok());
    number.ok_or_else(|| unexpected(told))
}

/// Waits for ten answered pings in a row: frames get lost until the spanning tree is done.
fn reaches(scene: &Scene, from: usize, to: usize) -> Result<(), Error> {
    let node = scene.lab.node(NODES[from])?;
    let ping = format!("ping -c 10 -i 0.1 -W 1 10.9.0.{}", to + 1);
    wait_until("a way", LIMIT, || {
        let told = node.run(&ping);
        Ok(told.is_ok_and(|told| told.contains(" 10 received")))
    })
}

/// Waits until each port of these nodes forwards or is blocked for good: of the three links of
/// three nodes one is blocked.
fn settled(scene: &Scene, nodes: &[&str], shut: usize) -> Result<(), Error> {
    let mut seen = Vec::new();
    wait_until("the spanning tree", LIMIT, || {
        seen.clear();
        for role in nodes {
            let shown = scene.lab.node(role)?.run("bridge link show")?;
            let lines = shown.lines().filter(|line| line.contains("master br0"));
            let states = lines.filter_map(|line| line.split(" state ").nth(1)?.split(' ').next());
            seen.extend(states.map(str::to_owned));
        }
        let of = |state| seen.iter().filter(|it| *it == state).count();
        let all = nodes.len() * (nodes.len() - 1);
        Ok((of("forwarding"), of("blocking")) == (all - shut, shut))
    })
    .map_err(|error| unexpected(format!("{error}: {seen:?}")))
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn three_access_points_in_bridges_are_no_loop() -> Result<(), Error> {
    let mut scene = Scene::begin(&NODES)?;
    let mut last = Instant::now();
    let mut done = |what: &str| {
        println!("{what}: {:.1} s", last.elapsed().as_secs_f64());
        last = Instant::now();
    };
    for (at, role) in NODES.iter().enumerate() {
        scene.access_point(role, false)?;
        // The shortest times allowed (IEEE 802.1D, 8.10.2), so that the tree is soon done.
        scene.lab.node(role)?.ip(&format!(
            "link add br0 type bridge stp_state 1 forward_delay 400 hello_time 100 max_age 600\n\
             link set br0 up\naddress add 10.9.0.{}/24 dev br0\n",
            at + 1
        ))?;
    }
    for role in NODES {
        scene.weir(role, SECRET, "mesh = \"bridge\"\ninto = \"br0\"")?;
    }
    for (at, role) in NODES.iter().enumerate() {
        scene.alive(at, 2)?;
        let told = scene.told(at)?;
        assert_eq!(told.notices, [""; 0]);
        assert_eq!(
            inside(&scene, role, "br0")?,
            2,
            "{told:?}; {}",
            scene.weirs[at].log()
        );
    }
    done("all are peers");
    // A broadcast arrives once.
    settled(&scene, &NODES, 1)?;
    done("the spanning tree");
    for (from, to) in [(0, 1), (1, 2), (2, 0)] {
        reaches(&scene, from, to)?;
    }
    done("each hears each");
    let before = received(&scene, "south")?;
    std::thread::sleep(Duration::from_secs(3));
    let more = received(&scene, "south")? - before;
    println!("{more} frames came in by a bridge in three seconds in which nobody spoke");
    assert!(more < 100, "{more}");

    // The root of the tree is killed.
    scene.weirs[0].end(Signal::SIGKILL)?;
    wait_until("its devices are gone", LIMIT, || {
        Ok(scene.devices("north", "peer-")? == 0 && scene.devices("south", "peer-")? == 1)
    })?;
    settled(&scene, &NODES[1..], 0)?;
    reaches(&scene, 1, 2)?;
    done("one is killed, and the others hear each other");
    scene.restart(0)?;
    scene.alive(0, 2)?;
    done("it is back");
    assert_eq!(inside(&scene, "north", "br0")?, 2);
    settled(&scene, &NODES, 1)?;
    done("the spanning tree with it");
    reaches(&scene, 0, 1)
}
