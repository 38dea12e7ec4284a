//! Devices that do not accept frames of XDP programs, or should not. The driver `virtio_net`
//! transmits such frames only while the card itself has a program: one port uses XDP, the other TC.
//! Slower cards.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use lab::gateway::{CLIENT, ROUTER_LAN, ROUTER_WAN, SERVER};
use lab::udp_pair::UdpPair;
use lab::{Error, Lab, Namespace};
use weir_tests::{LIMIT, Weir, kernel_has};

/// Port of echo servers.
const ECHO: u16 = 7;
/// Echoes that must arrive while weir forwards them.
const ECHOES: usize = 200;

/// Host, device, hardware address and address of each card.
const ENDS: [(&str, &str, &str, IpAddr); 4] = [
    ("client", "eth0", "52:54:00:00:01:01", CLIENT),
    ("router", "lan0", "52:54:00:00:01:02", ROUTER_LAN),
    ("router", "wan0", "52:54:00:00:02:01", ROUTER_WAN),
    ("server", "eth0", "52:54:00:00:02:02", SERVER),
];

/// Builds client, router and server over the two wires of `scripts/vm --wires 2`.
fn cards() -> Result<Lab, Error> {
    let mut lab = Lab::new();
    lab.host("client")?;
    lab.router("router")?;
    lab.host("server")?;
    for (role, device, mac, address) in ENDS {
        let node = lab.node(role)?;
        let card = card(mac)?;
        run(&["link", "set", &card, "netns", node.name(), "name", device])?;
        node.run(&format!("ip link set {device} up"))?;
        lab.address(role, device, &format!("{address}/24"))?;
    }
    lab.route("client", "default", ROUTER_LAN)?;
    lab.route("server", "default", ROUTER_WAN)?;
    lab.masquerade("router", "wan0", false, false)?;
    Ok(lab)
}

/// Returns the name of the card with this address in the first namespace.
fn card(mac: &str) -> Result<String, Error> {
    let listing = run(&["-o", "link"])?;
    let line = listing.lines().find(|line| line.contains(mac));
    let name = line.and_then(|line| line.split(':').nth(1));
    name.map(|name| name.trim().to_owned())
        .ok_or_else(|| Error::Unexpected(format!("no card {mac} in:\n{listing}")))
}

/// Runs `ip` in the first namespace.
fn run(arguments: &[&str]) -> Result<String, Error> {
    let output = std::process::Command::new("ip")
        .args(arguments)
        .output()
        .map_err(Error::system("run ip"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::Unexpected(format!("ip {arguments:?}: {said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Gets a conversation onto the fast path, and counts lost packets there.
fn lost(lan: &str, wan: &str) -> Result<usize, Error> {
    let lab = cards()?;
    let config = format!("[ports.lan0]\nhook = \"{lan}\"\n[ports.wan0]\nhook = \"{wan}\"\n");
    let weir = Weir::start(lab.node("router")?, &config, &[])?;
    weir.wait_for_ports(2)?;
    let (client, server) = (lab.node("client")?, lab.node("server")?);
    let talk = UdpPair::open(client, Some(CLIENT), server, SocketAddr::new(SERVER, ECHO))?;
    assert!(talk.ask(b"first", LIMIT)?.is_some(), "the kernel forwards");
    weir.wait_for_known(1)?;
    let before = weir.forwarded()?;
    let mut lost = 0;
    for number in 0..ECHOES {
        let text = format!("echo {number}");
        lost += usize::from(
            talk.ask(text.as_bytes(), Duration::from_millis(500))?
                .is_none(),
        );
        if lost > 5 {
            break;
        }
    }
    let forwarded = weir.forwarded()? - before;
    assert!(
        lost > 0 || forwarded > ECHOES as u64,
        "weir forwarded {forwarded}"
    );
    drop(weir);
    give_back(&lab)?;
    Ok(lost)
}

/// Returns the cards to the first namespace for the next test: at the end of its namespace a card
/// would return too, but later.
fn give_back(lab: &Lab) -> Result<(), Error> {
    for (number, (role, device, _, _)) in ENDS.iter().enumerate() {
        let node = lab.node(role)?;
        node.run(&format!("ip link set {device} netns 1 name card{number}"))?;
    }
    Ok(())
}

#[test]
#[ignore = "needs two wires between virtio cards: run by tests/vm/run"]
fn a_card_without_a_program_gets_no_frames_from_xdp() {
    // Echoes go both ways, so the reverse order is the same case.
    for (lan, wan) in [("xdp", "tc"), ("xdp", "xdp")] {
        let lost = lost(lan, wan).unwrap_or_else(|error| panic!("lan {lan}, wan {wan}: {error}"));
        assert_eq!(lost, 0, "of {ECHOES} echoes, lan {lan}, wan {wan}");
    }
}

/// Packets from a fast card to a slow one go through the slow card's qdisc, which can drop early
/// and mark.
#[test]
#[ignore = "needs two wires between virtio cards: run by tests/vm/run"]
fn a_slower_card_keeps_its_qdisc() {
    let of = |wan: u32| queued(1000, wan).unwrap_or_else(|error| panic!("{wan} Mbit/s: {error}"));
    let (seen, said) = of(100);
    assert!(seen > ECHOES as u64 * 9 / 10, "{seen} of {ECHOES}");
    if !kernel_has([6, 3]) {
        // Such a kernel does not report if a card takes frames from XDP: TC sends, at any speed.
        assert_eq!(said.as_deref(), Some("no-rings"));
        return;
    }
    assert_eq!(said.as_deref(), Some("slower"));
    let (seen, said) = of(1000);
    assert!(seen < ECHOES as u64 / 2, "XDP sends: {seen} of {ECHOES}");
    assert_eq!(said, None);
}

/// Returns how many of [`ECHOES`] questions the qdisc of wan0 saw, and the state in `weir ports`;
/// both cards at XDP.
fn queued(lan: u32, wan: u32) -> Result<(u64, Option<String>), Error> {
    let lab = cards()?;
    let router = lab.node("router")?;
    for (device, speed) in [("lan0", lan), ("wan0", wan)] {
        router.run(&format!("ethtool -s {device} speed {speed} duplex full"))?;
    }
    let config = "[ports.lan0]\nhook = \"xdp\"\n[ports.wan0]\nhook = \"xdp\"\n";
    let weir = Weir::start(router, config, &[])?;
    weir.wait_for_ports(2)?;
    let (client, server) = (lab.node("client")?, lab.node("server")?);
    let talk = UdpPair::open(client, Some(CLIENT), server, SocketAddr::new(SERVER, ECHO))?;
    assert!(talk.ask(b"first", LIMIT)?.is_some(), "the kernel forwards");
    weir.wait_for_known(1)?;
    for _ in 0..10 {
        talk.ask(b"proves", LIMIT)?;
    }
    let before = (sent(router)?, weir.forwarded()?);
    for number in 0..ECHOES {
        let text = format!("echo {number}");
        assert!(talk.ask(text.as_bytes(), LIMIT)?.is_some(), "{number}");
    }
    let after = (sent(router)?, weir.forwarded()?);
    assert!(after.1 - before.1 > ECHOES as u64, "weir forwarded");
    let said = told(&weir)?;
    drop(weir);
    give_back(&lab)?;
    Ok((after.0 - before.0, said))
}

/// Returns the reason in `weir ports` for a limit of wan0, if any.
fn told(weir: &Weir) -> Result<Option<String>, Error> {
    let ports = weir.client()?.ports();
    let ports = ports.map_err(|error| Error::Unexpected(error.to_string()))?;
    let port = ports.into_iter().find(|port| port.name == "wan0");
    let port = port.ok_or_else(|| Error::Unexpected("no wan0".into()))?;
    let mut limits = port.stack.limits.into_iter();
    Ok(limits.next().map(|limit| limit.reason.code))
}

/// Returns the packets that the root qdisc of wan0 has sent.
fn sent(router: &Namespace) -> Result<u64, Error> {
    let text = router.run("tc -s qdisc show dev wan0")?;
    let root = text
        .split("root")
        .nth(1)
        .and_then(|part| part.split("Sent ").nth(1));
    root.and_then(|sent| sent.split(' ').nth(2)?.parse().ok())
        .ok_or_else(|| Error::Unexpected(format!("no root qdisc in {text}")))
}
