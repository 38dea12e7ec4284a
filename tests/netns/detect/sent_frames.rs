//! Frames that `weir` detection sends, and traces that it leaves.

use std::time::Duration;

use lab::topology::mac;
use lab::{Error, Tap};
use testing::Directory;

use super::scene::{LINE, PORT, ROUTER, Scene, WAN};
use super::{ISP, heard, is};

/// Upper limit of all sent frames.
const MOST: usize = 320;

/// With all servers present, detection sends no request that a server would record, and no answers.
#[test]
fn it_only_asks() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &["192.0.2.1/24", "2001:db8:1::1/64"])?;
    scene.dhcp("isp", &[])?;
    scene.delegates("isp", "2001:db8:100::/56")?;
    scene.pppoe("isp", &[])?;
    scene.tagged("far", 7, &[])?;
    scene.pppoe("far", &[])?;
    scene.asks("isp", "192.0.2.200")?;
    let mut tap = quiet(&scene)?;
    let found = scene.found()?;
    is(&found, "pppoe", None, false);
    heard(&found, "dhcpv6");
    let sent = only_questions(&mut tap)?;
    assert!(
        sent.len() > 100,
        "{} are fewer than there are numbers",
        sent.len()
    );
    Ok(())
}

/// Taps the router's frames, and silences the kernel of that host.
fn quiet(scene: &Scene) -> Result<Tap, Error> {
    let key = format!("net.ipv6.conf.{WAN}.disable_ipv6");
    scene.lab.node(ROUTER)?.sysctl(&key, 1)?;
    Tap::open(scene.lab.node(LINE)?, PORT)
}

/// Reads the router's frames, and asserts that all are questions.
fn only_questions(tap: &mut Tap) -> Result<Vec<Vec<u8>>, Error> {
    let frames = tap.drain(Duration::from_millis(300))?;
    let own = mac(ROUTER, WAN);
    assert!(frames.len() <= MOST, "{} frames", frames.len());
    for frame in &frames {
        assert_eq!(
            (frame[6..12] == own, frame[0] & 1),
            (true, 1),
            "{frame:02x?}"
        );
        let at = if frame[12..14] == [0x81, 0] { 16 } else { 12 };
        let (kind, body) = (&frame[at..at + 2], &frame[at + 2..]);
        match kind {
            // DHCP: the first option is the message type; 1 is DISCOVER.
            [0x08, 0x00] => {
                assert_eq!(body[9], 17, "UDP");
                assert_eq!(body[20..24], [0, 68, 0, 67], "from a client to servers");
                assert_eq!(
                    body[28 + 236..28 + 243],
                    [99, 130, 83, 99, 53, 1, 1],
                    "DISCOVER"
                );
            }
            // PPPoE: 9 is PADI.
            [0x88, 0x63] => assert_eq!(body[1], 9, "PADI"),
            [0x08, 0x06] => {
                assert_eq!(body[6..8], [0, 1], "a question");
                assert_eq!(body[14..18], [0; 4], "of nobody");
            }
            [0x86, 0xdd] => match body[6] {
                58 => assert_eq!(body[40], 133, "router solicitation"),
                17 => assert_eq!(body[48], 1, "SOLICIT"),
                other => panic!("protocol {other}"),
            },
            other => panic!("EtherType {other:02x?}"),
        }
    }
    for frame in &frames {
        let again = frames.iter().filter(|other| other == &frame).count();
        assert!(again <= 3, "{again} times {frame:02x?}");
    }
    Ok(frames)
}

#[test]
fn a_port_is_left_as_it_was_and_is_looked_at_in_use() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    let router = scene.lab.node(ROUTER)?;
    router.run(&format!("ip link set {WAN} down"))?;
    let before = router.run(&format!("ip -o link show {WAN}"))?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    let state = |text: &str| {
        text.split_once('<')
            .map(|(_, text)| text.split('>').next().unwrap_or_default().to_owned())
    };
    let after = router.run(&format!("ip -o link show {WAN}"))?;
    assert_eq!(state(&before), state(&after), "{after}");
    assert!(!after.contains("PROMISC"), "{after}");

    // A port in use is probed too.
    router.run(&format!("ip link set {WAN} up"))?;
    router.ip(&format!(
        "link add lan0 type bridge\nlink set lan0 up\nlink set {WAN} master lan0"
    ))?;
    scene.lab.address(ROUTER, WAN, "198.51.100.7/24")?;
    scene.lab.route(
        ROUTER,
        "default",
        "198.51.100.1".parse().expect("an address"),
    )?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    heard(&found, "in-use");
    let uses = found.evidence.iter().filter(|it| it.kind == "in-use");
    let uses: Vec<&str> = uses.map(|it| it.text.as_str()).collect();
    assert_eq!(
        uses,
        [
            "The port is a member of lan0",
            "The port has the address 198.51.100.7",
            "The port already leads to the Internet (default route)",
        ]
    );
    Ok(())
}

#[test]
fn without_a_port_it_is_that_of_the_configuration() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &["10.7.0.1/16"])?;
    scene.dnsmasq("isp", &["dhcp-range=10.7.0.50,10.7.0.60,255.255.0.0,2m"])?;
    let folder = Directory::new();
    let file = folder.join("weir.toml");
    let write = |text: &str| -> std::io::Result<()> {
        std::fs::create_dir_all(folder.join("config"))?;
        std::fs::write(folder.join("config/network"), text)?;
        let place = folder.display();
        let text = format!("[setup]\nroot = \"{place}/config\"\nchanges = \"{place}/changes\"\n");
        std::fs::write(&file, text)
    };
    let config = file.display().to_string();
    let lan =
        "config interface 'lan'\n\toption ipaddr '10.7.1.1'\n\toption netmask '255.255.255.0'\n";
    write(lan).map_err(Error::system("write a configuration"))?;
    let (code, out, errors) = scene.run(&["--config", &config])?;
    assert_eq!((code, out.as_str()), (Some(1), ""), "{errors}");
    assert!(
        errors.contains("network.wan.device") && errors.contains(WAN),
        "{errors}"
    );
    write(&format!(
        "{lan}config interface 'wan'\n\toption device '{WAN}'\n"
    ))
    .map_err(Error::system("write a configuration"))?;
    let (code, out, errors) = scene.run(&["--config", &config])?;
    assert_eq!(code, Some(0), "{errors}");
    for text in [
        " s  DHCP answer from 10.7.0.1: offers 10.7.0.",
        "/16, router 10.7.0.1",
        "Its network 10.7.0.0/16 overlaps this router's own, 10.7.1.0/24",
        "\nUse DHCP\n",
        "Give the LAN another network: 192.168.2.0/24",
        "Could not be determined:",
    ] {
        assert!(out.contains(text), "{text} is not in\n{out}");
    }
    let (code, _, errors) = scene.run(&["nowhere"])?;
    assert_eq!(code, Some(1));
    assert!(
        errors.contains("no device nowhere") && errors.contains(WAN),
        "{errors}"
    );
    let (code, _, errors) = scene.run(&["lo"])?;
    assert_eq!(code, Some(1));
    assert!(errors.contains("lo is not an Ethernet device"), "{errors}");
    Ok(())
}
