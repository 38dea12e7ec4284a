//! `weir setup debian` with the real services: networkd, dnsmasq, nftables.

mod ipv6;
mod mesh;
mod openvpn;
mod ports;
mod rollback;
pub mod router;
mod tunnels;
mod wireless;

use std::io::{Read, Write};
use std::net::TcpStream;

use lab::namespace::wait_until;
use lab::{Error, Lab, Namespace};
use router::{FAR, Provider, Router, WAN, ask, lab as scene, lease, serve, unexpected};
use weir_tests::LIMIT;

const NETWORK: &str = "
config device
	option name 'br-lan'
	option type 'bridge'
	list ports 'eth1'

config device
	option name 'br-guest'
	option type 'bridge'
	list ports 'eth2'

config interface 'lan'
	option device 'br-lan'
	option proto 'static'
	option ipaddr '192.168.1.1'
	option netmask '255.255.255.0'

config interface 'guest'
	option device 'br-guest'
	option proto 'static'
	option ipaddr '192.168.30.1/24'

config interface 'wan'
	option device 'eth0'
	option proto 'dhcp'
";

const DHCP: &str = "
config dnsmasq
	option authoritative '1'
	option noresolv '1'

config dhcp 'lan'
	option interface 'lan'
	option start '100'
	option limit '50'

config dhcp 'guest'
	option interface 'guest'
	option start '10'
	option limit '20'

config dhcp 'wan'
	option interface 'wan'
	option ignore '1'
";

const FIREWALL: &str = "
config defaults
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'

config zone
	option name 'lan'
	list network 'lan'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'ACCEPT'

config zone
	option name 'guest'
	list network 'guest'
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'

config zone
	option name 'wan'
	list network 'wan'
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'
	option masq '1'
	option mtu_fix '1'

config forwarding
	option src 'lan'
	option dest 'wan'

config forwarding
	option src 'guest'
	option dest 'wan'

config rule
	option name 'Guests get addresses'
	option src 'guest'
	option proto 'udp'
	option dest_port '67'
	option target 'ACCEPT'

config redirect
	option name 'Web'
	option src 'wan'
	option src_dport '8080'
	option dest 'lan'
	option dest_ip '192.168.1.2'
	option dest_port '80'
	option proto 'tcp'
";

const SYSTEM: &str = "
config system
	option hostname 'attic'
	option zonename 'UTC'
";

const PACKAGES: [(&str, &str); 4] = [
    ("network", NETWORK),
    ("dhcp", DHCP),
    ("firewall", FIREWALL),
    ("system", SYSTEM),
];

/// A router with all its services and peers.
struct Scene {
    // In the order in which they end.
    router: Router,
    _provider: Provider,
    lab: Lab,
}

impl Scene {
    fn begin() -> Result<Self, Error> {
        let lab = scene()?;
        let provider = Provider::start(lab.node("far")?)?;
        let router = Router::start(lab.node("router")?, &PACKAGES)?;
        router.reload("network dhcp firewall system")?;
        router.wait("br-lan", "192.168.1.1/24")?;
        router.wait("eth0", &format!("{WAN}/24"))?;
        Ok(Self {
            router,
            _provider: provider,
            lab,
        })
    }

    fn node(&self, role: &str) -> Result<&Namespace, Error> {
        self.lab.node(role)
    }

    /// Leases an address, which must begin with `network`.
    fn lease(&self, role: &str, network: &str) -> Result<String, Error> {
        let told = |error| unexpected(format!("{role}: {error}\n{}", self.router.logs()));
        let address = lease(self.node(role)?, "eth0").map_err(told)?;
        match address.starts_with(network) {
            true => Ok(address),
            false => Err(unexpected(format!("{role} has {address}"))),
        }
    }

    /// Reaches the host behind the provider, which sees the router's address.
    fn reaches(&self, role: &str) -> Result<(), Error> {
        let node = self.node(role)?;
        let mut seen = None;
        wait_until("the far host answers", LIMIT, || {
            seen = ask(node, FAR)?;
            Ok(seen.is_some())
        })
        .map_err(|error| unexpected(format!("{role}: {error}\n{}", self.router.logs())))?;
        assert_eq!(seen.as_deref(), Some(WAN));
        Ok(())
    }
}

/// The client's connection to the host behind the provider, which echoes.
struct Conversation {
    stream: TcpStream,
    _echo: lab::Process,
}

impl Conversation {
    fn begin(scene: &Scene) -> Result<Self, Error> {
        let far = scene.node("far")?;
        let mut echo = std::process::Command::new("socat");
        echo.args(["TCP-LISTEN:7,reuseaddr,fork", "EXEC:cat"]);
        let echo = far.start(&mut echo)?;
        wait_until("somebody listens", LIMIT, || {
            Ok(!far.run("ss -Hltn sport = :7")?.trim().is_empty())
        })?;
        let client = scene.node("client")?;
        let stream = client
            .enter(|| TcpStream::connect(("198.51.100.1", 7)))?
            .map_err(Error::system("connect"))?;
        Ok(Self {
            stream,
            _echo: echo,
        })
    }

    fn say(&mut self, text: &[u8; 5]) -> Result<(), Error> {
        let mut back = [0; 5];
        let mut said = || -> std::io::Result<()> {
            self.stream.set_read_timeout(Some(LIMIT))?;
            self.stream.write_all(text)?;
            self.stream.read_exact(&mut back)
        };
        said().map_err(Error::system("talk"))?;
        assert_eq!(&back, text);
        Ok(())
    }
}

/// Choices of a user with a machine of only two sockets.
const DECIDED: &str = r#"
format = 1

[router]
name = "attic"
timezone = "Europe/Berlin"
password = "four horses in a tin can"

[internet]
kind = "dhcp"
port = "eth0"

[lan]
address = "192.168.77.1/24"
ports = ["eth1"]
first = 50
count = 20
lease = "1h"

[firewall]
forwards = [{ name = "Web", port = "8080", to = "192.168.77.2", to_port = "80" }]
"#;

/// A client gets its lease and reaches WAN; ports are closed or open as configured.
#[test]
fn a_router_of_debian_routes() -> Result<(), Error> {
    let scene = Scene::begin()?;
    let (router, client, guest, far) = (
        &scene.router,
        scene.node("client")?,
        scene.node("guest")?,
        scene.node("far")?,
    );
    let address = scene.lease("client", "192.168.1.1")?;
    scene.reaches("client")?;
    scene.lease("guest", "192.168.30.")?;
    scene.reaches("guest")?;
    assert_eq!(router.run("hostname")?.trim(), "attic");
    assert_eq!(router.read("hostname"), "attic\n");

    // A port of the router, and a port that is forwarded to a host inside.
    client.ip("address add 192.168.1.2/24 dev eth0\n")?;
    let _inside = serve(client, 80)?;
    let node = scene.node("router")?;
    let _own = serve(node, 22)?;
    assert_eq!(ask(client, "192.168.1.1:22")?, Some(address.clone()));
    assert_eq!(ask(far, &format!("{WAN}:22"))?, None);
    assert_eq!(
        ask(far, &format!("{WAN}:8080"))?.as_deref(),
        Some("203.0.113.1")
    );
    // A foreign route of the outside host does not lead in.
    far.run(&format!("ip route add 192.168.0.0/16 via {WAN}"))?;
    assert_eq!(ask(far, "192.168.1.2:80")?, None);
    // Guests reach neither the LAN nor the router.
    assert_eq!(ask(guest, "192.168.1.2:80")?, None);
    assert_eq!(ask(guest, "192.168.1.1:22")?, None);
    assert_eq!(ask(guest, "192.168.30.1:22")?, None);
    assert!(ask(client, "192.168.1.2:80")?.is_some());

    // An unchanged configuration reloads no service; a changed rule reloads nftables alone.
    router.told()?;
    router.reload("network dhcp firewall system")?;
    router.run("touch /run/told")?;
    assert!(router.told()?.is_empty());
    router.uci("set firewall.@redirect[0].src_dport=8081")?;
    router.setup("apply")?;
    assert_eq!(router.told()?, ["nft -f /etc/nftables.d/weir.nft"]);
    assert_eq!(
        ask(far, &format!("{WAN}:8081"))?.as_deref(),
        Some("203.0.113.1")
    );
    assert_eq!(ask(far, &format!("{WAN}:8080"))?, None);
    router.setup("confirm")?;

    // A removed network takes its files and its device along; other networks go on.
    let mut talk = Conversation::begin(&scene)?;
    talk.say(b"first")?;
    router.uci("delete network.guest")?;
    router.uci("delete network.@device[1]")?;
    router.uci("delete dhcp.guest")?;
    router.setup("apply")?;
    wait_until("the bridge is gone", LIMIT, || {
        Ok(router.run("ip link show br-guest").is_err())
    })?;
    assert_eq!(router.read("systemd/network/50-weir-br-guest.netdev"), "");
    talk.say(b"again")?;
    scene.reaches("client")?;
    router.setup("revert")?;
    router.wait("br-guest", "192.168.30.1/24")?;
    scene.lease("guest", "192.168.30.")?;
    scene.reaches("guest")?;
    Ok(())
}
