//! A port of the LAN becomes the uplink and returns, by the daemon's requests to the setup process.

use std::process::{Child, Stdio};

use lab::namespace::wait_until;
use lab::{Error, Lab};
use serde_json::{Value, json};
use weir_tests::{LIMIT, binary};

use super::router::{FAR, Provider, Router, WAN, ask, lab as scene, lease, unexpected};

const NETWORK: &str = "
config device
	option name 'br-lan'
	option type 'bridge'
	list ports 'eth0'
	list ports 'eth1'
	list ports 'eth2'

config interface 'lan'
	option device 'br-lan'
	option proto 'static'
	option ipaddr '192.168.1.1/24'
";

const DHCP: &str = "
config dnsmasq
	option authoritative '1'
	option noresolv '1'

config dhcp 'lan'
	option interface 'lan'
	option start '100'
	option limit '50'
";

/// A router with only a LAN, whose setup process waits for requests.
struct Scene {
    // In the order in which they end.
    serving: Child,
    router: Router,
    _provider: Provider,
    lab: Lab,
}

impl Scene {
    fn begin() -> Result<Self, Error> {
        let lab = scene()?;
        let provider = Provider::start(lab.node("far")?)?;
        let packages = [("network", NETWORK), ("dhcp", DHCP)];
        let router = Router::start(lab.node("router")?, &packages)?;
        router.reload("network dhcp")?;
        router.wait("br-lan", "192.168.1.1/24")?;
        let weir = binary();
        let weir = weir.display().to_string();
        let words = [&weir, "setup", "serve", "--config", "/etc/weir/weir.toml"];
        let mut serve = router.command(&words);
        let serving = serve
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::system("serve"))?;
        wait_until("the setup process listens", LIMIT, || {
            Ok(router.run("ls /run/weir-setup/socket").is_ok())
        })?;
        Ok(Self {
            serving,
            router,
            _provider: provider,
            lab,
        })
    }

    /// Sends a request to the setup process.
    fn ask(&self, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        let url = format!("http://localhost{path}");
        let mut words = vec![
            "curl",
            "-s",
            "--unix-socket",
            "/run/weir-setup/socket",
            &url,
        ];
        let body = body.map(Value::to_string);
        if let Some(body) = &body {
            words.extend(["-H", "Content-Type: application/json", "-d", body]);
        }
        let output = self.router.command(&words).output();
        let output = output.map_err(Error::system("curl"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).map_err(|error| unexpected(format!("{error}: {text}")))
    }

    fn wish(&self, body: Value) -> Result<Value, Error> {
        self.ask("/v1/setup/ports", Some(&body))
    }

    fn used(&self, device: &str) -> Result<Value, Error> {
        let all = self.ask("/v1/setup/ports", None)?;
        assert_eq!(all["system"], "debian", "{all}");
        let ports = all["ports"].as_array();
        let mut ports = ports.into_iter().flatten();
        let one = ports.find(|port| port["device"] == device);
        one.cloned()
            .ok_or_else(|| unexpected(format!("no {device}: {all}")))
    }

    fn is_in_bridge(&self, device: &str) -> bool {
        let shown = self.router.run(&format!("ip link show dev {device}"));
        shown.is_ok_and(|shown| shown.contains("master br-lan"))
    }

    fn waits_for(&self, what: &str, done: impl Fn() -> Result<bool, Error>) -> Result<(), Error> {
        wait_until(what, LIMIT, done)
            .map_err(|error| unexpected(format!("{error}\n{}", self.router.logs())))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.serving.kill();
        let _ = self.serving.wait();
    }
}

#[test]
fn ports_change_their_use_and_come_back() -> Result<(), Error> {
    let scene = Scene::begin()?;
    let (router, client) = (&scene.router, scene.lab.node("client")?);
    let network = router.read("config/network");
    assert_eq!(
        scene.used("eth0")?,
        json!({"device": "eth0", "used": "lan", "by_weir": false})
    );
    let asked = json!({
        "ports": [{"device": "eth0", "used": "uplink", "uplink": {"kind": "dhcp"}}],
        "why": "DHCP is answered",
        "within": 300,
    });
    let done = scene.wish(asked.clone())?;
    assert_eq!(
        done["change"]["who"],
        "weir cables",
        "{done}\n{}",
        router.logs()
    );
    let number = &done["change"]["number"];
    // The port has the provider's address and has left the LAN.
    router.wait("eth0", &format!("{WAN}/24"))?;
    assert!(!scene.is_in_bridge("eth0") && scene.is_in_bridge("eth1"));
    let waits = scene.wish(asked.clone())?;
    assert_eq!(waits["error"], "waits", "{waits}");
    scene.ask("/v1/setup/confirm", Some(&json!({"number": number})))?;
    assert_eq!(
        scene.used("eth0")?,
        json!({"device": "eth0", "used": "uplink", "by_weir": true})
    );
    let nothing = scene.wish(asked)?;
    assert_eq!(nothing["error"], "nothing", "{nothing}");
    // The router forwards packets.
    let address =
        lease(client, "eth0").map_err(|error| unexpected(format!("{error}\n{}", router.logs())))?;
    assert!(address.starts_with("192.168.1.1"), "{address}");
    scene.waits_for("the far host answers", || {
        Ok(ask(client, FAR)?.as_deref() == Some(WAN))
    })?;

    // Another port becomes the uplink; the provider's port has neither an address nor a bridge.
    let other = json!({"ports": [{"device": "eth2", "used": "uplink"}], "within": 300});
    let done = scene.wish(other)?;
    assert_eq!(done["change"]["left"], 300, "{done}\n{}", router.logs());
    scene.waits_for("eth0 is unused", || {
        let address = router.has("eth0", &format!("{WAN}/24"))?;
        Ok(!address && !scene.is_in_bridge("eth0") && !scene.is_in_bridge("eth2"))
    })?;
    router.setup("revert")?;
    router.wait("eth0", &format!("{WAN}/24"))?;

    // Back to the LAN without a confirmation: the port becomes the uplink again.
    let back = |within: u64| json!({"ports": [{"device": "eth0", "used": "lan"}], "why": "a client", "within": within});
    let done = scene.wish(back(5))?;
    assert_eq!(done["change"]["left"], 5, "{done}\n{}", router.logs());
    scene.waits_for("eth0 is inside", || Ok(scene.is_in_bridge("eth0")))?;
    router.wait("eth0", &format!("{WAN}/24"))?;
    assert!(!scene.is_in_bridge("eth0"));
    assert_eq!(scene.used("eth0")?["used"], "uplink");

    // Back for good.
    let done = scene.wish(back(300))?;
    assert_eq!(done["change"]["left"], 300, "{done}\n{}", router.logs());
    scene.waits_for("eth0 is inside", || {
        Ok(scene.is_in_bridge("eth0") && !router.has("eth0", &format!("{WAN}/24"))?)
    })?;
    scene.ask("/v1/setup/confirm", Some(&json!({})))?;
    let now = router.read("config/network");
    let (now, mark) = now.split_once("config weir_cable").unwrap_or((&now, ""));
    assert_eq!((now.trim(), mark.is_empty()), (network.trim(), false));
    // The journal names the author.
    let shown = router.setup("show")?;
    assert!(shown.contains("weir cables"), "{shown}");
    a_port_of_the_mesh_has_its_vxlan_and_loses_it(&scene)
}

/// A port of the mesh behind a switch gets its VXLAN, and loses it. Without batman-adv in the
/// kernel, networkd creates all devices but bat0.
fn a_port_of_the_mesh_has_its_vxlan_and_loses_it(scene: &Scene) -> Result<(), Error> {
    let router = &scene.router;
    let asked = json!({
        "ports": [{"device": "eth2", "used": "mesh", "vxlan": 77}], "within": 300,
    });
    let done = scene.wish(asked)?;
    assert_eq!(
        done["change"]["who"],
        "weir cables",
        "{done}\n{}",
        router.logs()
    );
    scene.waits_for("the VXLAN is there", || {
        Ok(router.run("ip link show dev vx_eth2").is_ok())
    })?;
    let shown = router.run("ip -d link show dev vx_eth2")?;
    for word in [
        "vxlan id 77",
        "group ff02::15c",
        "dev eth2",
        "dstport 4789",
        "mtu 1430",
        "udp6zerocsumrx",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert!(!scene.is_in_bridge("eth2"));
    scene.ask("/v1/setup/confirm", Some(&json!({})))?;
    // networkd brings up no device of a mesh that it cannot create.
    router.uci("delete network.mesh_eth2")?;
    router.uci("delete network.bat0")?;
    router.setup("apply")?;
    router.setup("confirm")?;
    scene.waits_for("the VXLAN is up", || {
        let shown = router.run("ip link show dev vx_eth2").unwrap_or_default();
        Ok(shown.contains("LOWER_UP"))
    })?;
    let back = json!({"ports": [{"device": "eth2", "used": "lan"}], "within": 300});
    let done = scene.wish(back)?;
    assert_eq!(done["change"]["left"], 300, "{done}\n{}", router.logs());
    scene.waits_for("it is inside again", || {
        Ok(scene.is_in_bridge("eth2") && router.run("ip link show dev vx_eth2").is_err())
    })
}
