//! Decisions on deceptive frames, on other hosts of the wire, and on missing ports.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use answers::Cable;
use lab::frame::Frame;
use lab::namespace::wait_until;
use lab::{Error, Lab, Offloads, Tap, unexpected};
use testing::Directory;
use weir_tests::{Weir, binary};

use crate::cables::plug::{Plug, Used, heard, is};
use crate::cables::scene::{Scene, UP};

const PORT: &str = "eth1";
const SECRET: &str = "the valley's long secret";
/// Longest time of a decision.
const DECIDED: Duration = Duration::from_secs(20);

/// Nodes of one mesh at a hub that forwards everything, with their cables pulled out.
struct Hub {
    // The order matters: weir ends before its devices go.
    weirs: Vec<Weir>,
    lab: Lab,
    _folder: Directory,
}

impl Hub {
    fn new(nodes: &[&str], ports: &str) -> Result<Self, Error> {
        let mut lab = Lab::new();
        let hub = lab.host("hub")?;
        hub.ip("link add sw type bridge mcast_snooping 0 group_fwd_mask 0x4000\nlink set sw up")?;
        let folder = Directory::new();
        let mut weirs = Vec::new();
        for node in nodes {
            lab.router(node)?;
            lab.wire((node, PORT), ("hub", node), Offloads::Plain)?;
            let hub = lab.node("hub")?;
            hub.ip(&format!("link set {node} master sw\nlink set {node} down"))?;
            let own = folder.join(node);
            std::fs::create_dir_all(&own).map_err(Error::system("make a folder"))?;
            let (choices, mesh) = (own.join("cables"), own.join("mesh"));
            std::fs::write(&mesh, SECRET).map_err(Error::system("write a secret"))?;
            let config = format!(
                "[offload]\nenabled = false\n[web]\nenabled = false\n[cables]\nmode = \"suggest\"\n\
                ports = [{ports}]\nchoices = {choices:?}\nmesh = {mesh:?}\n"
            );
            weirs.push(Weir::start(lab.node(node)?, &config, &[])?);
        }
        let hub = Self {
            weirs,
            lab,
            _folder: folder,
        };
        for weir in &hub.weirs {
            port(weir, "the port to be there", PORT, |cable| !cable.link)?;
        }
        Ok(hub)
    }

    fn plug(&self, node: &str) -> Result<(), Error> {
        let hub = self.lab.node("hub")?;
        hub.ip(&format!("link set {node} up")).map(drop)
    }
}

fn port(
    weir: &Weir,
    what: &str,
    device: &str,
    so: impl Fn(&Cable) -> bool,
) -> Result<Cable, Error> {
    let mut found = None;
    let waited = wait_until(what, DECIDED, || {
        let all = weir.client()?.cables().map_err(unexpected)?.cables;
        found = all.into_iter().find(|cable| cable.device == device);
        Ok(found.as_ref().is_some_and(&so))
    });
    let log = || format!("{found:#?}\n{}", weir.log());
    waited.map_err(|error| Error::Unexpected(format!("{error}: {}", log())))?;
    found.ok_or_else(|| Error::Unexpected("no port".into()))
}

/// Runs `weir cables …` with the options at their given places: code, output, errors.
fn weir(weir: &Weir, words: &[&str]) -> Result<(Option<i32>, String, String), Error> {
    let socket = weir.socket().display().to_string();
    let words = words
        .iter()
        .map(|word| if *word == "SOCKET" { &socket } else { *word });
    let mut command = Command::new(binary());
    let output = command.args(words).stdin(Stdio::null()).output();
    let output = output.map_err(Error::system("run weir"))?;
    let text = |octets: Vec<u8>| String::from_utf8_lossy(&octets).into_owned();
    let code = output.status.code();
    Ok((code, text(output.stdout), text(output.stderr)))
}

/// Returns the number of hellos on the wire within this time.
fn hellos(tap: &mut Tap, time: Duration) -> Result<usize, Error> {
    let begin = Instant::now();
    let mut count = 0;
    while begin.elapsed() < time {
        if let Some(frame) = tap.receive(Duration::from_millis(50))? {
            count += usize::from(frame.get(12..18) == Some(b"\x88\xb5weir"));
        }
    }
    Ok(count)
}

#[test]
fn a_router_of_ipv6_that_is_no_default_router_is_no_uplink() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &["2001:db8:1::1/64"])?;
    let text = "AdvDefaultLifetime 0; prefix 2001:db8:1::/64 {};";
    scene.radvd("isp", text)?;
    let mut plug = Plug::of(scene, Used::Not)?;
    plug.plugged()?;
    let cable = plug.wait("the question to be over", |cable| {
        cable.evidence.iter().any(|it| it.kind == "look")
    })?;
    heard(&cable, "router-advertisement");
    assert_ne!(cable.role, "uplink", "{cable:#?}");
    Ok(())
}

/// Builds a broadcast DHCPNAK (RFC 2131, section 4.3.2).
fn refusal(from: [u8; 6]) -> Frame {
    let mut message = vec![2, 1, 6, 0];
    message.resize(236, 0);
    message.extend([99, 130, 83, 99, 53, 1, 6, 54, 4, 192, 0, 2, 1, 255]);
    message.resize(300, 0);
    let mut frame = [&[0xff; 6][..], &from, &[8, 0]].concat();
    let length = |more: usize| u16::try_from(message.len() + more).unwrap_or(0);
    let mut header = vec![0x45, 0];
    header.extend(length(28).to_be_bytes());
    header.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    header.extend([192, 0, 2, 1, 255, 255, 255, 255]);
    let sum = net::checksum::checksum(0, &header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.extend([0, 67, 0, 68]);
    frame.extend(length(8).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(message);
    frame
}

#[test]
fn a_server_of_dhcp_that_only_refuses_is_no_uplink() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[])?;
    let frame = refusal(lab::topology::mac("isp", UP));
    scene.says("isp", frame)?;
    let mut plug = Plug::of(scene, Used::Not)?;
    plug.plugged()?;
    let cable = plug.wait("the question to be over", |cable| {
        cable.evidence.iter().any(|it| it.kind == "look")
    })?;
    heard(&cable, "dhcp-server");
    assert_ne!(cable.role, "uplink", "{cable:#?}");
    Ok(())
}

#[test]
fn three_stations_at_a_port_that_is_nothing_yet_are_a_switch_in_three_seconds() -> Result<(), Error>
{
    let mut scene = Scene::new()?;
    for computer in ["one", "two", "three"] {
        scene.peer(computer, &[])?;
        scene.asks_for_an_address(computer)?;
    }
    let mut plug = Plug::of(scene, Used::Not)?;
    let cable = plug.plugged()?;
    is(&cable, "switch");
    assert!(cable.decided < Some(4000), "{cable:#?}");
    Ok(())
}

#[test]
fn a_third_station_at_the_wire_puts_the_mesh_into_a_vxlan_at_both_ends() -> Result<(), Error> {
    let mut hub = Hub::new(&["north", "south"], "\"eth1\"")?;
    hub.plug("north")?;
    hub.plug("south")?;
    for weir in &hub.weirs {
        let cable = port(weir, "a mesh", PORT, |cable| cable.role == "mesh")?;
        assert!(!cable.why.contains("VXLAN"), "{cable:#?}");
    }
    // A laptop is plugged into the hub.
    hub.lab.host("laptop")?;
    hub.lab
        .wire(("laptop", "eth0"), ("hub", "laptop"), Offloads::Plain)?;
    let name = hub.lab.node("hub")?;
    name.ip("link set laptop master sw\nlink set laptop up")?;
    let laptop = hub.lab.node("laptop")?;
    laptop.ip("address add 192.168.7.7/24 dev eth0")?;
    for weir in &hub.weirs {
        // weir listens again once a minute at the latest.
        let begin = Instant::now();
        let mut cable = None;
        while begin.elapsed() < Duration::from_secs(70) && cable.is_none() {
            let _ = laptop.run("ping -c 1 -W 1 192.168.7.9");
            let what = |cable: &Cable| cable.why.contains("needs VXLAN");
            let all = weir.client()?.cables().map_err(unexpected)?.cables;
            cable = all.into_iter().find(what);
        }
        let Some(cable) = cable else {
            return Err(Error::Unexpected(format!("no VXLAN:\n{}", weir.log())));
        };
        is(&cable, "mesh");
    }
    Ok(())
}

#[test]
fn hellos_are_said_where_nobody_chose_otherwise() -> Result<(), Error> {
    let hub = Hub::new(&["north"], "\"eth1\"")?;
    let mut tap = Tap::open(hub.lab.node("hub")?, "north")?;
    let set = |words: &[&str]| {
        let (code, out, errors) = weir(&hub.weirs[0], words)?;
        assert_eq!(code, Some(0), "{errors}");
        Ok::<String, Error>(out)
    };
    // Options may be at any position.
    let out = set(&[
        "cables", "--json", "--socket", "SOCKET", "set", PORT, "client",
    ])?;
    assert!(out.starts_with('{'), "{out}");
    hub.plug("north")?;
    port(&hub.weirs[0], "the link", PORT, |cable| cable.link)?;
    assert_eq!(hellos(&mut tap, Duration::from_secs(3))?, 0);
    set(&["cables", "set", "--socket", "SOCKET", PORT, "mesh"])?;
    assert_ne!(hellos(&mut tap, Duration::from_secs(3))?, 0);
    set(&["cables", "--socket", "SOCKET", "auto", PORT])?;
    let words = ["cables", "--long", "--socket", "SOCKET", "auto", PORT];
    let (code, _, errors) = weir(&hub.weirs[0], &words)?;
    assert_ne!(code, Some(0));
    assert!(errors.contains("--long and --watch"), "{errors}");
    Ok(())
}

#[test]
fn a_port_that_is_not_there_says_so() -> Result<(), Error> {
    let hub = Hub::new(&["north"], "\"eth1\", \"lan9\"")?;
    let north = &hub.weirs[0];
    let is_none = |cable: &Cable| cable.why.starts_with("There is no device called");
    let cable = port(north, "the missing port", "lan9", is_none)?;
    assert_eq!(cable.role, "unknown", "{cable:#?}");
    let words = ["cables", "set", "--socket", "SOCKET", "lan9", "client"];
    let (_, _, errors) = weir(north, &words)?;
    assert!(errors.contains("no port is called lan9"), "{errors}");
    let node = hub.lab.node("north")?;
    node.ip(&format!("link set {PORT} down\nlink set {PORT} name lan9"))?;
    port(north, "the port to be gone", PORT, is_none)?;
    port(north, "the other to be there", "lan9", |cable| {
        !is_none(cable)
    })?;
    for name in ["lan9", PORT] {
        let said = format!("there is no device called {name}");
        assert_eq!(north.log().matches(&said).count(), 1, "{}", north.log());
    }
    Ok(())
}

/// A DHCP server and an IPv6 router at a port of the LAN are a condition if this router serves the
/// LAN. They are normal at an access point, whose LAN has both elsewhere.
#[test]
fn a_server_of_others_needs_attention_where_this_router_serves() -> Result<(), Error> {
    for used in [Used::Serves, Used::Lan] {
        let mut scene = Scene::new()?;
        scene.peer("stray", &["192.0.2.1/24", "2001:db8:1::1/64"])?;
        scene.dhcp("stray", &[])?;
        scene.radvd("stray", "prefix 2001:db8:1::/64 {};")?;
        let mut plug = Plug::of(scene, used)?;
        plug.plugged()?;
        plug.wait("both notices", |cable| cable.notices.len() == 2)?;
        let keys = ["foreign-dhcp", "foreign-router"];
        let reported = || -> Result<usize, Error> {
            let all = plug.conditions()?;
            Ok(keys
                .iter()
                .filter(|key| all.iter().any(|it| it == *key))
                .count())
        };
        match used {
            Used::Serves => wait_until("both conditions", DECIDED, || Ok(reported()? == 2))?,
            _ => {
                // weir checks conditions every second.
                std::thread::sleep(Duration::from_secs(3));
                assert_eq!(reported()?, 0);
            }
        }
    }
    Ok(())
}
