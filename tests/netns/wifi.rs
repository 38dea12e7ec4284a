//! Stations of an access point: the radio's figures compared with the counted ones. The radios are
//! those of mac80211_hwsim, which receive each other at -30 dBm; the access point is hostapd.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use answers::{Count, Device, Devices, Wifi};
use lab::namespace::{Process, wait_until};
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, Namespace, unexpected};
use testing::Directory;
use weir_tests::radios::{RADIO, radios};
use weir_tests::{LIMIT, Weir};

const ROUTER: &str = "192.0.2.1";
const SSID: &str = "weir-test";
const ECHO: u16 = 7;
/// Bits a second of the unit in which `iw` prints a bit rate.
const MEGABIT: f64 = 1e6;

/// An access point in a router's bridge, a station, and weir, which started before both.
struct Scene {
    // In the order in which they end.
    weir: Weir,
    _hostapd: Process,
    _echo: Echo,
    lab: Lab,
    _folder: Directory,
    /// Radio of the station.
    radio: String,
    mac: String,
    /// Device on which the station's frames arrive.
    port: String,
}

impl Scene {
    fn begin(relay: bool) -> Result<Self, Error> {
        let mut lab = Lab::new();
        lab.router("router")?;
        lab.host("client")?;
        let (router, client) = (lab.node("router")?, lab.node("client")?);
        let radio = radios(&[router, client])?.swap_remove(1);
        for node in [router, client] {
            node.sysctl("net.ipv6.conf.all.disable_ipv6", 1)?;
            node.sysctl("net.ipv6.conf.default.disable_ipv6", 1)?;
        }
        router.ip(&format!(
            "link add br-lan type bridge\nlink set br-lan up\naddress add {ROUTER}/24 dev br-lan\n"
        ))?;
        // The station counts its own IP packets, sent and received.
        client.nft(&format!(
            "table ip counted {{\n counter sent {{ }}\n counter received {{ }}\n\
             chain out {{ type filter hook output priority 0; oifname {RADIO} counter name sent; \
             }}\n\
             chain in {{ type filter hook input priority 0; iifname {RADIO} counter name \
             received; }}\n}}\n"
        ))?;
        let weir = Weir::start(router, "", &["--only", "monitor"])?;
        let folder = Directory::new();
        let hostapd = access_point(router, &folder, relay)?;
        if relay {
            client.run(&format!("iw dev {RADIO} set 4addr on"))?;
        }
        client.ip(&format!(
            "link set {RADIO} up\naddress add 192.0.2.2/24 dev {RADIO}\n"
        ))?;
        wait_until("the station joins", LIMIT, || {
            let joined = client.run(&format!("iw dev {RADIO} connect -w {SSID}"));
            Ok(joined.is_ok_and(|told| told.contains("connected to")))
        })?;
        let port = match relay {
            true => format!("{RADIO}.sta1"),
            false => RADIO.to_owned(),
        };
        let shown = client.run(&format!("ip -brief link show {RADIO}"))?;
        let mac = shown.split_whitespace().nth(2).unwrap_or_default();
        let at = format!("{ROUTER}:{ECHO}").parse();
        let at = at.map_err(|error| unexpected(format!("{error}")))?;
        Ok(Self {
            weir,
            _hostapd: hostapd,
            _echo: Echo::serve(router, at)?,
            _folder: folder,
            radio,
            mac: mac.to_owned(),
            port,
            lab,
        })
    }

    fn speak(&self) -> Result<(), Error> {
        let to = format!("{ROUTER}:{ECHO}").parse();
        let to = to.map_err(|error| unexpected(format!("{error}")))?;
        let datagrams = Datagrams::open(self.lab.node("client")?, to)?;
        for length in [1, 100, 1300] {
            for _ in 0..100 {
                if !datagrams.ask(&vec![b'w'; length], LIMIT)? {
                    return Err(unexpected("no answer"));
                }
            }
        }
        Ok(())
    }

    /// The router sends without a receiver: the station's radio moves to an empty group, and
    /// returns before the station misses enough beacons to leave.
    fn speak_in_vain(&self) -> Result<(), Error> {
        let file = format!("/sys/kernel/debug/ieee80211/{}/hwsim/group", self.radio);
        let group = |number: &str| {
            std::fs::write(&file, number).map_err(Error::system(format!("write {file}")))
        };
        group("2")?;
        let router = self.lab.node("router")?;
        let asked = router.run("ping -c 5 -i 0.02 -W 0.1 192.0.2.2");
        group("1")?;
        match asked {
            Err(Error::Command { .. }) => Ok(()),
            other => Err(unexpected(format!("it was heard: {other:?}"))),
        }
    }

    fn devices(&self) -> Result<Devices, Error> {
        let devices = self.weir.client()?.devices();
        devices.map_err(|error| unexpected(error.to_string()))
    }

    fn station(&self) -> Result<Option<Device>, Error> {
        let mut all = self.devices()?.devices.into_iter();
        Ok(all.find(|device| device.mac == self.mac))
    }

    /// Returns the packets that the station sent and received, by its own rules.
    fn counted(&self) -> Result<[Count; 2], Error> {
        let text = self.lab.node("client")?.run("nft -j list counters")?;
        let listed: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| unexpected(error.to_string()))?;
        let found = |name: &str| {
            let all = listed["nftables"].as_array().into_iter().flatten();
            let counter = all
                .map(|entry| &entry["counter"])
                .find(|counter| counter["name"] == name);
            let number = |key: &str| counter.and_then(|counter| counter[key].as_u64());
            Some(Count {
                bytes: number("bytes")?,
                packets: number("packets")?,
            })
        };
        let both = found("sent").zip(found("received"));
        both.map(|(sent, received)| [sent, received])
            .ok_or_else(|| unexpected(text))
    }

    /// Returns the station's record from `iw`.
    fn told(&self) -> Result<Wifi, Error> {
        let router = self.lab.node("router")?;
        let text = router.run(&format!("iw dev {} station dump", self.port))?;
        let value = |key: &str| {
            let mut lines = text.lines().map(str::trim);
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
            value.split_whitespace().next().map(str::to_owned)
        };
        let rate = |key| Some((value(key)?.parse::<f64>().ok()? * MEGABIT) as u64);
        let number = |key| value(key)?.parse().ok();
        Ok(Wifi {
            signal: value("signal").and_then(|text| text.parse().ok()),
            rate_to: rate("tx bitrate"),
            rate_from: rate("rx bitrate"),
            retries: number("tx retries"),
            failed: number("tx failed"),
            // The driver lacks this figure.
            airtime: None,
        })
    }

    /// Waits until weir's report equals `iw`'s, and returns it.
    fn agreed(&self) -> Result<Wifi, Error> {
        let mut seen = String::new();
        let mut same = None;
        wait_until("the figures are those of iw", LIMIT, || {
            let (shown, told) = (self.station()?, self.told()?);
            let wifi = shown.as_ref().and_then(|device| device.wifi.clone());
            seen = format!("{shown:#?}, but iw tells {told:#?}");
            same = wifi.filter(|wifi| *wifi == told);
            std::thread::sleep(Duration::from_millis(100));
            Ok(same.is_some())
        })
        .map_err(|error| unexpected(format!("{error}: {seen}; {}", self.weir.log())))?;
        same.ok_or_else(|| unexpected(seen))
    }
}

/// Starts a stock hostapd that checks after 20 s if a station is still there: a station that left
/// unnoticed does not deauthenticate. `relay`: stations may relay for others, each with its own
/// device.
fn access_point(router: &Namespace, folder: &Path, relay: bool) -> Result<Process, Error> {
    let settings = format!(
        "interface={RADIO}\nbridge=br-lan\nssid={SSID}\nhw_mode=g\nchannel=1\ndisassoc_low_ack=0\nap_max_inactivity=20\nwds_sta={}\n",
        u8::from(relay)
    );
    let file = folder.join("hostapd.conf");
    std::fs::write(&file, settings).map_err(Error::system("write hostapd.conf"))?;
    let mut hostapd = Command::new("hostapd");
    hostapd
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    router.start(&mut hostapd)
}

fn joins_and_leaves(relay: bool) -> Result<(), Error> {
    let scene = Scene::begin(relay)?;
    // weir checks for new devices once a second.
    wait_until("its port is counted at", LIMIT, || {
        let ports = scene.devices()?.ports;
        Ok(ports.iter().any(|port| port.name == scene.port))
    })?;
    scene.speak()?;
    let mut seen = String::new();
    wait_until("all is counted", LIMIT, || {
        let (device, [sent, received]) = (scene.station()?, scene.counted()?);
        seen = format!("{device:#?}, but it sent {sent:?} and received {received:?}");
        Ok(sent.packets >= 300
            && device.is_some_and(|device| {
                device.all() == [received, sent] && device.port == scene.port
            }))
    })
    .map_err(|error| unexpected(format!("{error}: {seen}; {}", scene.weir.log())))?;
    let wifi = scene.agreed()?;
    println!("{wifi:?}");
    assert_eq!(wifi.signal, Some(-30));
    assert!(wifi.rate_to >= Some(1_000_000) && wifi.rate_from >= Some(1_000_000));

    scene.speak_in_vain()?;
    let wifi = scene.agreed()?;
    println!("{wifi:?}");
    // The driver does not report the number of tries.
    assert!(wifi.failed > Some(0), "{wifi:?}");

    let client = scene.lab.node("client")?;
    client.run(&format!("iw dev {RADIO} disconnect"))?;
    wait_until("its radio link is gone", LIMIT, || {
        let device = scene.station()?;
        let device = device.ok_or_else(|| unexpected("the device is gone, too"))?;
        Ok(device.wifi.is_none())
    })?;
    let log = scene.weir.log();
    assert!(!log.contains("Wi-Fi"), "{log}");
    Ok(())
}

/// Signal, rates, retries and failures equal `iw`'s; bytes and packets equal the station's own
/// counts.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn a_station_has_its_radio_link() -> Result<(), Error> {
    joins_and_leaves(false)
}

/// Tests a station that relays for others (four addresses): the access point gives it its own
/// device, which comes while weir runs.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn a_relay_has_a_port_of_its_own() -> Result<(), Error> {
    joins_and_leaves(true)
}
