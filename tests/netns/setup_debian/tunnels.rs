//! A WireGuard server, and a provider dialled over a VLAN.

use std::process::{Command, Stdio};

use lab::Error;
use lab::namespace::wait_until;
use testing::Directory;
use weir_tests::LIMIT;

use super::router::{Provider, Router, WAN, ask, lab as scene, lease, serve, unexpected};
use super::{DHCP, FIREWALL, NETWORK, PACKAGES};

/// A client outside reaches the network inside through WireGuard only.
#[test]
#[ignore = "needs WireGuard: run by tests/vm/run"]
fn wireguard_leads_inside() -> Result<(), Error> {
    let lab = scene()?;
    let (far, client) = (lab.node("far")?, lab.node("client")?);
    let _provider = Provider::start(far)?;
    let pair = || -> Result<(String, String), Error> {
        let private = far.run("wg genkey")?.trim().to_owned();
        let public = far.feed("wg pubkey", &private)?.trim().to_owned();
        Ok((private, public))
    };
    let (ours, theirs) = (pair()?, pair()?);
    let shared = far.run("wg genpsk")?.trim().to_owned();
    let network = format!(
        "{NETWORK}
config interface 'wg0'
	option proto 'wireguard'
	option private_key '{}'
	option listen_port '51820'
	list addresses '10.9.0.1/24'

config wireguard_wg0
	option public_key '{}'
	option preshared_key '{shared}'
	list allowed_ips '10.9.0.2/32'
	list allowed_ips '10.77.0.0/16'
	option route_allowed_ips '1'
",
        ours.0, theirs.1
    );
    let firewall = format!(
        "{FIREWALL}
config zone
	option name 'vpn'
	list network 'wg0'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'REJECT'

config forwarding
	option src 'vpn'
	option dest 'lan'

config rule
	option src 'wan'
	option proto 'udp'
	option dest_port '51820'
	option target 'ACCEPT'
"
    );
    let packages = [
        ("network", &*network),
        ("dhcp", DHCP),
        ("firewall", &*firewall),
    ];
    let router = Router::start(lab.node("router")?, &packages)?;
    router.reload("network dhcp firewall")?;
    router.wait("eth0", &format!("{WAN}/24"))?;
    router.wait("wg0", "10.9.0.1/24")?;
    let netdev = router.run("stat -c %a:%G /etc/systemd/network/50-weir-wg0.netdev")?;
    assert_eq!(netdev.trim(), "640:systemd-network");
    lease(client, "eth0")?;
    client.ip("address add 192.168.1.2/24 dev eth0\n")?;
    let _inside = serve(client, 80)?;

    far.ip(
        "link add wg0 type wireguard\naddress add 10.9.0.2/24 dev wg0\nlink set wg0 up\n\
        route add 192.168.1.0/24 dev wg0\n",
    )?;
    let file = std::env::temp_dir().join(format!("weir-wg-{}", std::process::id()));
    let text = format!(
        "[Interface]\nPrivateKey = {}\n[Peer]\nPublicKey = {}\nPresharedKey = {shared}\n\
         AllowedIPs = 10.9.0.0/24, 192.168.1.0/24\nEndpoint = {WAN}:51820\n",
        theirs.0, ours.1
    );
    std::fs::write(&file, text).map_err(Error::system("write keys"))?;
    let set = far.run(&format!("wg setconf wg0 {}", file.display()));
    let _ = std::fs::remove_file(&file);
    set?;
    let mut seen = None;
    wait_until("the host inside answers", LIMIT, || {
        seen = ask(far, "192.168.1.2:80")?;
        Ok(seen.is_some())
    })
    .map_err(|error| unexpected(format!("{error}\n{}", router.logs())))?;
    assert_eq!(seen.as_deref(), Some("10.9.0.2"));
    // The server answers, with any content.
    far.run("dig +time=2 +tries=5 @10.9.0.1 weir.example")?;
    let routes = router.run("ip route show 10.77.0.0/16")?;
    assert!(routes.contains("wg0"), "{routes}");

    // With another key the device is new, and this peer unknown.
    let other = pair()?.1;
    router.uci(&format!("set network.@wireguard_wg0[0].public_key={other}"))?;
    router.setup("apply --within 3600")?;
    router.wait("wg0", "10.9.0.1/24")?;
    assert_eq!(ask(far, "192.168.1.2:80")?, None);
    router.setup("revert")?;
    wait_until("the host inside answers again", LIMIT, || {
        Ok(ask(far, "192.168.1.2:80")?.is_some())
    })
}

/// PPPoE in VLAN 7, with a password that contains characters of pppd's syntax.
#[test]
#[ignore = "needs PPPoE and VLANs: run by tests/vm/run"]
fn a_provider_is_dialled_over_a_vlan() -> Result<(), Error> {
    let lab = scene()?;
    let (far, client) = (lab.node("far")?, lab.node("client")?);
    far.ip(
        "link add link eth0 name eth0.7 type vlan id 7\nlink set eth0.7 up\n\
        address add 198.51.100.1/32 dev lo\n",
    )?;
    let _host = serve(far, 80)?;
    let folder = Directory::new();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).map_err(Error::system("write a file"))
    };
    file(
        "secrets",
        "\"me@provider\" * \"it's \\\"quoted\\\" \\\\ #1\" *\n",
    )?;
    file(
        "options",
        "require-chap\nlcp-echo-interval 0\nmtu 1492\nmru 1492\nms-dns 192.0.2.53\n",
    )?;
    let mut server = Command::new("unshare");
    server
        .args(["--mount", "sh", "-c"])
        .arg(
            "mount --bind $0/secrets /etc/ppp/chap-secrets; exec pppoe-server -F -C isp -L \
              203.0.113.1 -R 203.0.113.100 -I eth0.7 -O $0/options",
        )
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let _server = far.start(&mut server)?;
    let network = NETWORK.replace(
        "\toption device 'eth0'\n\toption proto 'dhcp'\n",
        "\toption device 'eth0.7'\n\toption proto 'pppoe'\n\toption username 'me@provider'\n\
         \toption password 'it'\\''s \"quoted\" \\ #1'\n\toption ipv6 '0'\n",
    );
    assert!(network.contains("pppoe"));
    let mut packages = PACKAGES;
    packages[0].1 = &network;
    let router = Router::start(lab.node("router")?, &packages)?;
    router.reload("network")?;
    let logs = |error| unexpected(format!("{error}\n{}", router.logs()));
    wait_until("the provider has given an address", LIMIT, || {
        let shown = router.run("ip -brief address show dev pppoe-wan");
        Ok(shown.unwrap_or_default().contains(WAN))
    })
    .map_err(logs)?;
    lease(client, "eth0").map_err(logs)?;
    let mut seen = None;
    wait_until("the far host answers", LIMIT, || {
        seen = ask(client, "198.51.100.1:80")?;
        Ok(seen.is_some())
    })
    .map_err(logs)?;
    assert_eq!(seen.as_deref(), Some(WAN));
    assert!(router.read("ppp/resolv.conf").contains("192.0.2.53"));
    Ok(())
}
