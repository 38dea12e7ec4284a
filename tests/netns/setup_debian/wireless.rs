//! An access point, and a client of another access point, with real hostapd and wpa_supplicant.

use std::process::{Command, Stdio};

use lab::Error;
use lab::Namespace;
use lab::namespace::{Process, wait_until};
use weir_tests::LIMIT;
use weir_tests::radios::{RADIO, radios};

use super::PACKAGES;
use super::router::{FAR, Provider, Router, WAN, ask, lab as scene, lease, serve, unexpected};

const WIRELESS: &str = "
config wifi-device 'radio0'
	option band '2g'
	option channel '1'
	option htmode 'HT20'

config wifi-iface 'home'
	option device 'radio0'
	option mode 'ap'
	option network 'lan'
	option ssid 'Haus \"Süd\" #1'
	option encryption 'sae'
	option key 'a pass\"phrase | mac=x #1'
	option ieee80211r '1'
	option mobility_domain 'a1b2'

config wifi-iface 'visitors'
	option device 'radio0'
	option mode 'ap'
	option network 'guest'
	option ssid 'visitors'
	option encryption 'psk2'
	option key 'for visitors'
	option isolate '1'
	option ieee80211r '1'
	option mobility_domain 'c3d4'
";

/// A station that joins.
struct Station<'a> {
    node: &'a Namespace,
    file: std::path::PathBuf,
    process: Option<Process>,
}

impl<'a> Station<'a> {
    fn join(node: &'a Namespace, network: &str) -> Result<Self, Error> {
        let file = std::env::temp_dir().join(format!("weir-station-{}", node.name()));
        let text = format!("network={{\nscan_ssid=1\n{network}}}\n");
        std::fs::write(&file, text).map_err(Error::system("write a file"))?;
        let log = std::fs::File::create(file.with_extension("log"));
        let log = log.map_err(Error::system("write a log"))?;
        let mut command = Command::new("wpa_supplicant");
        command
            .args(["-Dnl80211", "-i", RADIO, "-c"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(log);
        let process = Some(node.start(&mut command)?);
        Ok(Self {
            node,
            file,
            process,
        })
    }

    fn joined(&self, router: &Router) -> Result<(), Error> {
        wait_until("the station joins", LIMIT, || {
            // The link has a carrier once it is authorised.
            let shown = self.node.run(&format!("iw dev {RADIO} station dump"))?;
            Ok(shown.contains("authorized:\tyes"))
        })
        .map_err(|error| {
            let log = std::fs::read_to_string(self.file.with_extension("log"));
            let log = log.unwrap_or_default();
            unexpected(format!("{error}\n{log}\n{}", router.logs()))
        })
    }
}

impl Drop for Station<'_> {
    fn drop(&mut self) {
        self.process = None;
        let _ = std::fs::remove_file(&self.file);
        let _ = std::fs::remove_file(self.file.with_extension("log"));
    }
}

/// Waits for an answer from this address.
pub fn reaches(node: &Namespace, address: &str, router: &Router) -> Result<String, Error> {
    let mut seen = None;
    wait_until("the host answers", LIMIT, || {
        seen = ask(node, address)?;
        Ok(seen.is_some())
    })
    .map_err(|error| unexpected(format!("{error}\n{}", router.logs())))?;
    Ok(seen.unwrap_or_default())
}

/// A station joins by SAE, gets a lease and reaches WAN. The station joins by 802.11r, too, and
/// gets an address of the guests in the guests' SSID.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn a_station_of_the_access_point_reaches_wan() -> Result<(), Error> {
    let mut lab = scene()?;
    lab.host("station")?;
    let (node, station) = (lab.node("router")?, lab.node("station")?);
    radios(&[node, station])?;
    let _provider = Provider::start(lab.node("far")?)?;
    let packages = [&PACKAGES[..], &[("wireless", WIRELESS)]].concat();
    let router = Router::start(node, &packages)?;
    router.reload("network wireless dhcp firewall system")?;
    router.wait("br-lan", "192.168.1.1/24")?;
    router.wait("eth0", &format!("{WAN}/24"))?;
    let mode = router.run("stat -c %a /etc/hostapd/weir-radio0.conf")?;
    assert_eq!(mode.trim(), "600");
    {
        let joined = Station::join(
            station,
            "ssid=48617573202253c3bc6422202331\nkey_mgmt=SAE\nieee80211w=2\n\
             sae_password=61207061737322706872617365207c206d61633d78202331\n",
        )?;
        joined.joined(&router)?;
        let address = lease(station, RADIO)?;
        assert!(address.starts_with("192.168.1.1"), "{address}");
        assert_eq!(reaches(station, FAR, &router)?, WAN);
    }
    // Stations with fast transitions only; IEEE 802.11, table 9-151, numbers them.
    let link = station.run(&format!("ip -brief link show dev {RADIO}"))?;
    let mac = link.split_whitespace().nth(2).unwrap_or_default();
    for (device, network, suite) in [
        (
            RADIO,
            "ssid=48617573202253c3bc6422202331\nkey_mgmt=FT-SAE\nieee80211w=2\n\
             sae_password=61207061737322706872617365207c206d61633d78202331\n",
            "00-0f-ac-9",
        ),
        (
            "wlan0-1",
            "ssid=\"visitors\"\nkey_mgmt=FT-PSK\npsk=\"for visitors\"\n",
            "00-0f-ac-4",
        ),
    ] {
        let joined = Station::join(station, network)?;
        joined.joined(&router)?;
        let shown = router.run(&format!(
            "hostapd_cli -p /run/hostapd -i {device} sta {mac}"
        ))?;
        let line = format!("AKMSuiteSelector={suite}");
        assert!(shown.lines().any(|found| found == line), "{shown}");
        if device != RADIO {
            let address = lease(station, RADIO)?;
            assert!(address.starts_with("192.168.30."), "{address}");
            assert_eq!(reaches(station, FAR, &router)?, WAN);
            assert_eq!(ask(station, "192.168.1.1:22")?, None);
        }
    }
    Ok(())
}

/// Another network's access point, whose client the router is.
const THEIRS: &str = "interface=wlan0
driver=nl80211
hw_mode=g
channel=6
ieee80211n=1
wmm_enabled=1
ssid=Café Größe #1
utf8_ssid=1
auth_algs=1
wpa=2
rsn_pairwise=CCMP
wpa_key_mgmt=WPA-PSK SAE
ieee80211w=1
sae_require_mfp=1
wpa_passphrase=beans\" # and milk
";

/// Choices of a user of another's Wi-Fi without a cable.
const CLIENT: &str = r#"
format = 1

[router]
name = "attic"
timezone = "UTC"
password = "four horses in a tin can"

[internet]
kind = "wifi"
radio = "radio0"
ssid = "Café Größe #1"
key = "beans\" # and milk"

[lan]
address = "192.168.77.1/24"
ports = ["eth1"]
"#;

/// The router is a client of another's access point: the router's own client reaches WAN.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn the_uplink_is_the_wifi_of_another() -> Result<(), Error> {
    let lab = scene()?;
    let (node, far, client) = (lab.node("router")?, lab.node("far")?, lab.node("client")?);
    radios(&[node, far])?;
    let file = std::env::temp_dir().join(format!("weir-point-{}", far.name()));
    std::fs::write(&file, THEIRS).map_err(Error::system("write a file"))?;
    let mut hostapd = Command::new("hostapd");
    hostapd
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let _point = far.start(&mut hostapd)?;
    wait_until("the access point is there", LIMIT, || {
        Ok(far
            .run(&format!("iw dev {RADIO} info"))?
            .contains("type AP")
            && far
                .run(&format!("ip -brief link show dev {RADIO}"))?
                .contains(" UP "))
    })?;
    let _ = std::fs::remove_file(&file);
    let _provider = Provider::at(far, RADIO)?;
    let radio = "config wifi-device 'radio0'\n\toption band '2g'\n\toption channel 'auto'\n";
    let router = Router::start(node, &[("wireless", radio)])?;
    router.write("document.toml", CLIENT)?;
    let told = |error| unexpected(format!("{error}\n{}", router.logs()));
    router
        .setup("import --within 300 /etc/document.toml")
        .map_err(told)?;
    router.wait(RADIO, &format!("{WAN}/24"))?;
    let joined = far.run(&format!("iw dev {RADIO} station dump"))?;
    assert!(joined.contains("MFP:\t\tyes"), "by SAE: {joined}");
    router.setup("confirm")?;
    let address = lease(client, "eth0").map_err(told)?;
    assert!(address.starts_with("192.168.77."), "{address}");
    assert_eq!(reaches(client, FAR, &router)?, WAN);
    // Closed ports are closed at this uplink, too.
    let _own = serve(node, 22)?;
    assert!(ask(client, "192.168.77.1:22")?.is_some());
    assert_eq!(ask(far, &format!("{WAN}:22"))?, None);
    Ok(())
}

const KNOWN: &str = "
config wifi-device 'radio0'
	option path 'virtual/mac80211_hwsim/hwsim0'
	option channel '1'

config wifi-device 'radio1'
	option phy 'none'
	option band '2g'
";

/// The setup identifies a radio by its slot, with bands and channels. Without a country, the
/// world's rules forbid to send first at 5 GHz.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn a_radio_is_known_by_what_the_kernel_tells() -> Result<(), Error> {
    let lab = scene()?;
    let node = lab.node("router")?;
    radios(&[node])?;
    let packages = [&PACKAGES[..], &[("wireless", KNOWN)]].concat();
    let router = Router::start(node, &packages)?;

    let weir = weir_tests::binary().display().to_string();
    let serve = ["setup", "serve", "--config", "/etc/weir/weir.toml"];
    router.run("mkdir /run/weir-setup")?;
    let mut server = router
        .command(&[&[&*weir], &serve[..]].concat())
        .spawn()
        .map_err(Error::system("serve"))?;
    let ask = "curl -s --unix-socket /run/weir-setup/socket http://weir/v1/setup";
    let mut told = serde_json::Value::Null;
    let heard = wait_until("it answers", LIMIT, || {
        let said = router.run(ask).unwrap_or_default();
        told = serde_json::from_str(&said).unwrap_or_default();
        Ok(!told.is_null())
    });
    let _ = server.kill();
    let _ = server.wait();
    heard?;
    let of = |n: usize, what: &str| told["radios"][n][what].to_string();
    assert_eq!(of(0, "bands"), r#"["2g","5g","6g"]"#, "{told}");
    assert_eq!(of(1, "bands"), r#"["2g"]"#, "of its section: {told}");
    assert_eq!((&*of(0, "wpa3"), &*of(0, "mesh")), ("true", "true"));

    let import = |channel: u16| {
        let mesh = format!(
            "format = 1\n[mesh]\nkind = \"batman\"\nname = \"valley\"\n\
             radios = [\"radio0\"]\nchannel = {channel}\n"
        );
        router.write("document.toml", &mesh)?;
        router.setup("import --dry-run /etc/document.toml")
    };
    let taken = import(11)?;
    assert!(taken.contains("valley"), "{taken}");
    // Unknown channel number; no initial sending; channel with radar.
    for channel in [38, 36, 52] {
        let refused = import(channel).expect_err("it is refused").to_string();
        let said = format!("radio0 cannot use channel {channel}");
        assert!(refused.contains(&said), "{refused}");
    }
    Ok(())
}
