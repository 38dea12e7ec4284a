//! A mesh: 802.11s below batman-adv, with real wpa_supplicant, from a user's choices.

use lab::namespace::wait_until;
use lab::{Error, Namespace};
use weir_tests::LIMIT;
use weir_tests::radios::{RADIO, radios};

use super::router::{FAR, Provider, Router, WAN, ask, lab as scene, lease, say, unexpected};
use super::wireless::reaches;

/// Hardware at hand.
const WIRELESS: &str = "
config wifi-device 'radio0'
	option band '2g'
	option channel '6'
	option htmode 'HT20'
";

/// Choices of the node with the provider's cable, which serves addresses for all.
const FIRST: &str = r#"
format = 1

[router]
name = "first"
timezone = "UTC"
password = "four horses in a tin can"

[internet]
kind = "dhcp"
port = "eth0"

[lan]
address = "192.168.1.1/24"
ports = ["eth1"]

[mesh]
kind = "batman"
name = "valley"
key = "only nodes know"
channel = 1
"#;

/// Choices of the other node.
const SECOND: &str = r#"
format = 1

[router]
name = "second"
timezone = "UTC"
password = "four horses in a tin can"

[internet]
kind = "none"

[lan]
address = "192.168.1.2/24"
ports = ["eth1"]
dhcp = false

[mesh]
kind = "batman"
name = "valley"
key = "only nodes know"
channel = 1
"#;

fn decided(node: &Namespace, document: &str) -> Result<Router, Error> {
    let router = Router::start(node, &[("wireless", WIRELESS)])?;
    router.write("document.toml", document)?;
    router
        .setup("import --within 300 /etc/document.toml")
        .and_then(|_| router.setup("confirm"))
        .map_err(|error| unexpected(format!("{error}\n{}", router.logs())))?;
    Ok(router)
}

/// A client behind one node gets its lease from the other and reaches a host beyond its WAN by TCP,
/// in packets of full size.
#[test]
#[ignore = "needs mac80211_hwsim and batman-adv: run by tests/vm/run"]
fn a_client_reaches_wan_through_a_mesh() -> Result<(), Error> {
    const OCTETS: usize = 100_000;
    let mut lab = scene()?;
    for role in ["relay", "remote"] {
        lab.host(role)?;
    }
    let offloads = lab::topology::Offloads::Default;
    lab.wire(("relay", "eth1"), ("remote", "eth0"), offloads)?;
    let (node, relay, remote) = (lab.node("router")?, lab.node("relay")?, lab.node("remote")?);
    radios(&[node, relay])?;
    let far = lab.node("far")?;
    let _provider = Provider::start(far)?;
    let much = format!("head -c {OCTETS} /dev/zero");
    let _much = say(far, 81, &much)?;
    let first = decided(node, FIRST)?;
    let second = decided(relay, SECOND)?;
    let told = |error| unexpected(format!("{error}\n{}{}", first.logs(), second.logs()));
    first.wait("eth0", &format!("{WAN}/24"))?;
    wait_until("the other node is seen", LIMIT, || {
        let shown = second.run(&format!("iw dev {RADIO} station dump"))?;
        Ok(shown.contains("mesh plink:\tESTAB"))
    })
    .map_err(told)?;
    let address = lease(remote, "eth0").map_err(told)?;
    assert!(address.starts_with("192.168.1."), "{address}");
    assert_eq!(reaches(remote, FAR, &second)?, WAN);
    let heard = ask(remote, "198.51.100.1:81")?.unwrap_or_default();
    assert_eq!(heard.len(), OCTETS);

    // The mesh carries packets of full size.
    for router in [&first, &second] {
        let shown = router.run("ethtool -S bat0")?;
        let number = |key: &str| -> Option<u64> {
            let mut lines = shown.lines();
            let line = lines.find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
            line?.parse().ok()
        };
        assert_eq!(number("frag_tx"), Some(0), "{shown}");
        assert!(number("tx") > Some(0), "{shown}");
    }
    Ok(())
}
