//! Clients with the files that the router showed once connect by OpenVPN; all others are refused.

use std::process::{Command, Stdio};

use lab::namespace::{Process, wait_until};
use lab::{Error, Lab, Namespace};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use serde_json::{Value, json};
use testing::Directory;
use weir_tests::{LIMIT, binary};

use super::router::{FAR, Provider, Router, WAN, ask, lab as scene, lease, serve, unexpected};

/// The remote host, by IPv6.
const FAR6: &str = "2001:db8:6::1";

/// A router with a provider, a client inside, and a remote client.
struct Scene {
    // In the order in which they end.
    _serving: Process,
    router: Router,
    _provider: Provider,
    folder: Directory,
    lab: Lab,
}

impl Scene {
    fn begin() -> Result<Self, Error> {
        let mut lab = scene()?;
        lab.host("remote")?;
        lab.wire(
            ("far", "eth1"),
            ("remote", "eth0"),
            lab::topology::Offloads::Default,
        )?;
        let (far, remote) = (lab.node("far")?, lab.node("remote")?);
        far.ip("address add 192.0.2.1/24 dev eth1\n")?;
        far.sysctl("net.ipv4.ip_forward", 1)?;
        remote.ip("address add 192.0.2.2/24 dev eth0\nroute add default via 192.0.2.1\n")?;
        far.ip(&format!(
            "address add 2001:db8:2::1/64 dev eth1 nodad\naddress add {FAR6}/128 dev lo\n"
        ))?;
        remote.ip(
            "address add 2001:db8:2::2/64 dev eth0 nodad\nroute add default via 2001:db8:2::1\n",
        )?;
        let provider = Provider::start(far)?;
        let node = lab.node("router")?;
        let router = Router::start(node, &[])?;
        let weir = binary().display().to_string();
        let words = ["setup", "serve", "--config", "/etc/weir/weir.toml"];
        let mut command = router.command(&[&[&*weir], &words[..]].concat());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let serving = node.start(&mut command)?;
        wait_until("the setup process listens", LIMIT, || {
            Ok(router.run("test -S /run/weir-setup/socket").is_ok())
        })?;
        let folder = Directory::new();
        Ok(Self {
            _serving: serving,
            router,
            _provider: provider,
            folder,
            lab,
        })
    }

    /// Sends a request of the page.
    fn asked(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.router.write("asked.json", &body.to_string())?;
        let said = self.router.run(&format!(
            "curl -s --max-time 60 --unix-socket /run/weir-setup/socket -H \
             Content-Type:application/json --data-binary @/etc/asked.json http://weir{path}"
        ))?;
        serde_json::from_str(&said).map_err(|error| unexpected(format!("{error}: {said}")))
    }

    /// Sets the list of clients. Returns names and files, which the router shows only once.
    fn clients(&self, names: &[&str]) -> Result<Vec<(String, String)>, Error> {
        let names: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        let vpn = json!({ "on": true, "endpoint": WAN, "clients": names });
        self.apply(json!({ "format": 1, "openvpn": vpn }))
    }

    fn apply(&self, choices: Value) -> Result<Vec<(String, String)>, Error> {
        let body = json!({ "choices": choices, "within": 600 });
        let done = self.asked("/v1/setup/apply", &body)?;
        let once = done["once"].as_array();
        let once = once.ok_or_else(|| unexpected(format!("{done}\n{}", self.router.logs())))?;
        let told = |client: &Value| {
            assert_eq!(
                (&client["tunnel"], &client["qr"]),
                (&json!("openvpn"), &Value::Null)
            );
            let text = |key: &str| client[key].as_str().unwrap_or_default().to_owned();
            (text("name"), text("file"))
        };
        Ok(once.iter().map(told).collect())
    }

    fn remote(&self) -> Result<&Namespace, Error> {
        self.lab.node("remote")
    }

    /// Starts a client with a file. `None`: the client ended, as the router refused it.
    fn connect(&self, file: &str) -> Result<Option<Process>, Error> {
        let path = self.folder.join("client.ovpn");
        let log = self.folder.join("log");
        std::fs::write(&path, file).map_err(Error::system("write a client's file"))?;
        let _ = std::fs::remove_file(&log);
        let mut openvpn = Command::new("openvpn");
        openvpn
            .arg("--config")
            .arg(&path)
            .arg("--log")
            .arg(&log)
            // A single try, which ends soon.
            .args(["--tls-exit", "--hand-window", "10", "--verb", "3"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = self.remote()?.start(&mut openvpn)?;
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        let mut inside = false;
        wait_until("the client is in, or ends", LIMIT, || {
            inside = said().contains("Initialization Sequence Completed");
            Ok(inside || process.ended()?.is_some())
        })
        .map_err(|error| unexpected(format!("{error}\n{}\n{}", said(), self.router.logs())))?;
        let refused = said().contains("AUTH_FAILED") || said().contains("TLS Error");
        if !inside && !refused {
            let logs = self.router.logs();
            return Err(unexpected(format!("it failed: {}\n{logs}", said())));
        }
        Ok(inside.then_some(process))
    }

    /// Connects, and reaches the LAN, names, and the Internet by the router's address. No packet
    /// bypasses the tunnel.
    fn comes_in(&self, file: &str) -> Result<(), Error> {
        let past = format!("ping -6 -c 1 -W 1 {FAR6}");
        // A previous client removes its routes with some delay.
        wait_until("the far host answers by IPv6", LIMIT, || {
            Ok(self.remote()?.run(&past).is_ok())
        })?;
        let process = self.connect(file)?;
        let process =
            process.ok_or_else(|| unexpected(format!("refused\n{}", self.router.logs())))?;
        let remote = self.remote()?;
        let logs = |error| unexpected(format!("{error}\n{}", self.router.logs()));
        remote.run("ping -c 1 -W 5 192.168.77.1").map_err(logs)?;
        let seen = ask(remote, "192.168.77.2:80")?.unwrap_or_default();
        assert!(
            seen.starts_with("10.72.0."),
            "{seen}\n{}",
            self.router.logs()
        );
        assert_eq!(ask(remote, FAR)?.as_deref(), Some(WAN));
        remote
            .run("dig +time=3 +tries=2 @10.72.0.1 attic")
            .map_err(logs)?;
        assert!(
            remote.run(&past).is_err(),
            "by IPv6 it goes past the tunnel"
        );
        process.stop();
        Ok(())
    }
}

/// Returns the client's configuration, forged by another authority of the same name.
fn forged(file: &str, common_name: &str) -> Result<String, Error> {
    let wrong = |error: rcgen::Error| unexpected(error.to_string());
    let params = |name: &str| {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = rcgen::date_time_ymd(1970, 1, 1);
        params
    };
    let issuer = Issuer::new(
        params("weir-authority"),
        KeyPair::generate().map_err(wrong)?,
    );
    let key = KeyPair::generate().map_err(wrong)?;
    let mut client = params(common_name);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let made = client.signed_by(&key, &issuer).map_err(wrong)?;
    let between = |text: &str, word: &str, with: &str| {
        let (before, rest) = text.split_once(&format!("<{word}>\n"))?;
        let (_, after) = rest.split_once(&format!("</{word}>"))?;
        Some(format!("{before}<{word}>\n{with}</{word}>{after}"))
    };
    between(file, "cert", &made.pem())
        .and_then(|file| between(&file, "key", &key.serialize_pem()))
        .ok_or_else(|| unexpected(format!("no file of a client: {file}")))
}

#[test]
fn clients_of_openvpn_come_in_and_nobody_else() -> Result<(), Error> {
    let scene = Scene::begin()?;
    let router = &scene.router;
    let decided = json!({
        "format": 1,
        "router": {
            "name": "attic", "timezone": "Europe/Berlin", "password": "four horses in a tin can"
        },
        "internet": { "kind": "dhcp", "port": "eth0" },
        "lan": { "address": "192.168.77.1/24", "ports": ["eth1"] },
        "openvpn": {
            "on": true, "endpoint": WAN, "clients": [{ "name": "Ana's phone" }, { "name": "Lost" }]
        }
    });
    let once = scene.apply(decided)?;
    let [(ana, ana_file), (lost, lost_file)] = &once[..] else {
        return Err(unexpected(format!("{once:?}")));
    };
    assert_eq!((&**ana, &**lost), ("Ana's phone", "Lost"));
    router.setup("confirm")?;
    router.wait("br-lan", "192.168.77.1/24")?;
    router.wait("eth0", &format!("{WAN}/24"))?;
    router.wait("ovpn0", "10.72.0.1/24")?;
    let client = scene.lab.node("client")?;
    lease(client, "eth0").map_err(|error| unexpected(format!("{error}\n{}", router.logs())))?;
    client.ip("address add 192.168.77.2/24 dev eth0\n")?;
    let _inside = serve(client, 80)?;

    // Secret files are readable by root alone, and no shown change contains them.
    let modes = router.run("find /etc/openvpn/weir -type f -printf %m\\n")?;
    assert_eq!(modes.trim(), ["600"; 9].join("\n"));
    let authority = router.read("openvpn/weir/ca.crt");
    let told = router.setup("show")?;
    assert!(!told.contains("PRIVATE KEY"), "{told}");
    let keys = router.command(&["grep", "-rlF", "PRIVATE KEY", "/etc/openvpn/weir"]);
    let mut keys = keys;
    let keys = keys.output().map_err(Error::system("grep"))?;
    let mut keys: Vec<_> = keys.stdout.split(|&c| c == b'\n').collect();
    keys.sort_unstable();
    assert_eq!(
        keys.len(),
        3,
        "of the authority and the server, and of nobody else"
    );

    scene.comes_in(ana_file)?;
    let common_name = router.run("ls /etc/openvpn/weir/clients")?;
    let common_name = common_name.lines().find(|name| name.starts_with("ana-"));
    let stranger = forged(ana_file, common_name.unwrap_or_default())?;
    assert!(scene.connect(&stranger)?.is_none(), "another authority's");

    // The revoked client is refused, and admitted again after an undo. A connected client is
    // disconnected at once.
    let inside = scene.connect(lost_file)?;
    assert!(inside.is_some(), "refused\n{}", router.logs());
    scene.remote()?.run("ping -c 1 -W 5 192.168.77.1")?;
    let once = scene.clients(&["Ana's phone"])?;
    assert_eq!(once, []);
    router.wait("ovpn0", "10.72.0.1/24")?;
    let still = scene.remote()?.run("ping -c 3 -W 1 192.168.77.1");
    assert!(still.is_err(), "{still:?}");
    drop(inside);
    assert!(scene.connect(lost_file)?.is_none());
    scene.comes_in(ana_file)?;
    router.setup("revert")?;
    scene.comes_in(lost_file)?;
    scene.clients(&["Ana's phone"])?;
    router.setup("confirm")?;

    // A new client of the same name gets a new key. The authority and Ana's key stay.
    let once = scene.clients(&["Ana's phone", "Lost"])?;
    router.setup("confirm")?;
    let [(_, found_file)] = &once[..] else {
        return Err(unexpected(format!("{once:?}")));
    };
    assert!(scene.connect(lost_file)?.is_none());
    scene.comes_in(found_file)?;
    assert_eq!(router.read("openvpn/weir/ca.crt"), authority);

    // An earlier decision changes nothing when repeated; off is off.
    let vpn = json!({ "on": true, "endpoint": WAN });
    let body = json!({ "choices": { "format": 1, "openvpn": vpn } });
    let plan = scene.asked("/v1/setup/plan", &body)?;
    assert_eq!(plan["lines"], json!([]), "{plan}");
    scene.apply(json!({ "format": 1, "openvpn": { "on": false } }))?;
    router.setup("confirm")?;
    wait_until("the tunnel is gone", LIMIT, || {
        Ok(router.run("ip link show ovpn0").is_err())
    })?;
    let left = router.run("ls -A /etc/openvpn/weir/clients /etc/openvpn/server")?;
    assert!(!left.contains("ana-") && !left.contains("weir-"), "{left}");
    Ok(())
}
