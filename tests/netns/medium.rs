//! The laboratory's medium between real radios: hostapd and stations of mac80211, which learn from
//! it how far they are from each other.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kernel::io::Nl80211;
use kernel::nl80211::Station;
use lab::goodput::{Demand, Goodput, Transport};
use lab::medium::{Counts, Medium, Place, Report, Scene, Wall};
use lab::namespace::{Process, wait_until};
use lab::{Error, Lab, Namespace};
use weir_tests::LIMIT;
use weir_tests::radios::{RADIO, radios_of_medium};

/// Channel 36, MHz.
const CHANNEL: u32 = 5180;
/// 802.11a.
const ONLY_OFDM: &str = "hw_mode=a\nchannel=36";

fn unexpected(text: impl Into<String>) -> Error {
    Error::Unexpected(text.into())
}

/// Access points, each with a station, and the air between them.
struct World {
    // In the order in which they end.
    medium: Medium,
    _hostapds: Vec<Process>,
    lab: Lab,
    folder: PathBuf,
}

impl World {
    /// Each pair of names: an access point and its station. `settings` go to every hostapd, which
    /// works on this frequency, MHz. All send with 20 dBm.
    fn begin(
        pairs: &[[&str; 2]],
        scene: Scene,
        frequency: u32,
        settings: &str,
    ) -> Result<Self, Error> {
        let mut lab = Lab::new();
        for role in pairs.iter().flatten() {
            lab.host(role)?;
        }
        let nodes = pairs.iter().flatten().map(|role| lab.node(role));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        radios_of_medium(&nodes)?;
        let radios: Vec<_> = (pairs.iter().flatten().zip(&nodes))
            .map(|(role, node)| (*role, *node, RADIO))
            .collect();
        let medium = Medium::start(&radios, scene, 1)?;
        let folder =
            std::env::temp_dir().join(format!("weir-medium-{}-{frequency}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(Error::system("make a folder"))?;
        let mut hostapds = Vec::new();
        for (number, [access_point, _]) in pairs.iter().enumerate() {
            let node = lab.node(access_point)?;
            let file = folder.join(access_point);
            let text =
                format!("interface={RADIO}\nssid={access_point}\ndisassoc_low_ack=0\n{settings}\n");
            std::fs::write(&file, text).map_err(Error::system("write a file of hostapd"))?;
            let mut hostapd = Command::new("hostapd");
            let hostapd = hostapd
                .arg(&file)
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            hostapds.push(node.start(hostapd)?);
            node.ip(&format!("address add 192.0.2.1/24 dev {RADIO}\n"))?;
            let client = lab.node(pairs[number][1])?;
            client.ip(&format!(
                "link set {RADIO} up\naddress add 192.0.2.2/24 dev {RADIO}\n"
            ))?;
            wait_until("the station joins", LIMIT, || {
                let line = format!("iw dev {RADIO} connect -w {access_point} {frequency}");
                let joined = client.run(&line);
                Ok(joined.is_ok_and(|told| told.contains("connected to")))
            })?;
        }
        let world = Self {
            medium,
            _hostapds: hostapds,
            lab,
            folder,
        };
        for role in pairs.iter().flatten() {
            world.set_power(role, 20)?;
        }
        Ok(world)
    }

    fn node(&self, role: &str) -> Result<&Namespace, Error> {
        self.lab.node(role)
    }

    /// Datagrams from an access point to its station, at most so many bit/s.
    fn load(&self, [access_point, station]: [&str; 2], rate: u64) -> Result<Goodput, Error> {
        let to = "192.0.2.1:5000"
            .parse()
            .map_err(|_| unexpected("an address"))?;
        let demand = Demand {
            length: 1400,
            ..Demand::down(Transport::Udp, to).with_rate(rate)
        };
        Goodput::start(self.node(station)?, self.node(access_point)?, &demand)
    }

    fn set_power(&self, role: &str, dbm: u32) -> Result<(), Error> {
        let line = format!("iw dev {RADIO} set txpower fixed {dbm}00");
        self.node(role)?.run(&line).map(drop)
    }

    /// Whom a node talks to, as the kernel sees it.
    fn peer(&self, role: &str) -> Result<Station, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build();
        let runtime = runtime.map_err(Error::system("start a runtime"))?;
        self.node(role)?.enter(|| {
            let _entered = runtime.enter();
            let told = Nl80211::open().map_err(|error| unexpected(error.to_string()))?;
            let mut told = told.ok_or_else(|| unexpected("no Wi-Fi"))?;
            let mut stations = Vec::new();
            let devices = told
                .devices()
                .map_err(|error| unexpected(error.to_string()))?;
            for device in devices {
                let listed = told.stations(device.link, &mut stations);
                listed.map_err(|error| unexpected(error.to_string()))?;
            }
            stations.pop().ok_or_else(|| unexpected("no station"))
        })?
    }

    /// Waits until a node hears the other with this signal, dBm. Gives how long it took.
    fn hears(&self, role: &str, signal: f64) -> Result<Duration, Error> {
        let begun = Instant::now();
        let mut seen = None;
        wait_until("the signal is as far as it is", LIMIT, || {
            seen = self.peer(role)?.signal;
            Ok(seen == Some(signal.round() as i8))
        })
        .map_err(|error| unexpected(format!("{error}: {signal} dBm, but {seen:?}")))?;
        Ok(begun.elapsed())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn expected(station: &Station) -> f64 {
    station.expected.unwrap_or_default() as f64 / 1e6
}

fn print(report: &Report) {
    println!(
        "after {:?}: {:?}, {} unread",
        report.time, report.socket, report.unread
    );
    for (name, counts) in &report.radios {
        println!("  {name}: {counts:?}");
    }
}

/// The station hears its access point with power less loss, through a wall less that; and what rate
/// control expects of the link follows.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn rate_control_follows_power_and_walls() -> Result<(), Error> {
    let scene = Scene::default().with("ap", 0.0, 0.0).with("sta", 20.0, 0.0);
    let loss = scene.loss(Place::new(0.0, 0.0), Place::new(20.0, 0.0), CHANNEL);
    let world = World::begin(&[["ap", "sta"]], scene, CHANNEL, ONLY_OFDM)?;
    world.hears("sta", 20.0 - loss)?;
    world.hears("ap", 20.0 - loss)?;
    let load = world.load(["ap", "sta"], 2_000_000)?;
    let mut found = Vec::new();
    for power in [20, 11, 5, 20] {
        world.set_power("ap", power)?;
        let before = world.medium.told()?;
        let took = world.hears("sta", f64::from(power) - loss)?;
        std::thread::sleep(Duration::from_secs(3));
        let (told, peer) = (world.medium.told()?, world.peer("ap")?);
        let mean = told.mean_power("ap", &before);
        println!(
            "{power} dBm: heard so after {took:?}, {:.1} Mbit/s expected, rate {:?}, {mean:.2} mW",
            expected(&peer),
            peer.rate_to,
        );
        found.push((expected(&peer), mean));
    }
    let wall = Wall {
        ends: [Place::new(10.0, -5.0), Place::new(10.0, 5.0)],
        loss: 12.0,
    };
    world.medium.wall("new", Some(wall))?;
    let took = world.hears("sta", 20.0 - loss - 12.0)?;
    std::thread::sleep(Duration::from_secs(3));
    let behind = expected(&world.peer("ap")?);
    println!("behind a wall: heard so after {took:?}, {behind:.1} Mbit/s expected");
    world.medium.wall("new", None)?;
    world.hears("sta", 20.0 - loss)?;
    print(&world.medium.told()?);
    let got = load.stop()?;
    println!("{} octets arrived", got.total());
    let [full, less, least, again] = found[..] else {
        return Err(unexpected("four powers"));
    };
    assert!(
        full.0 > less.0 && less.0 > least.0 && least.0 > 0.0,
        "{found:?}"
    );
    assert!(again.0 > 0.8 * full.0, "{found:?}");
    assert!(behind < less.0 * 1.2, "{behind} behind a wall, {found:?}");
    // 9 dB less for a little longer on the air.
    assert!(less.1 < 0.5 * full.1, "{found:?}");
    Ok(())
}

/// Two access points that hear each other take turns; with less power they do not, and send at
/// once.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn access_points_take_turns_or_send_at_once() -> Result<(), Error> {
    let pairs = [["ap", "sta"], ["other", "client"]];
    let scene = Scene::default()
        .with("ap", 0.0, 0.0)
        .with("sta", 0.0, 5.0)
        .with("other", 60.0, 0.0)
        .with("client", 60.0, 5.0);
    // 1 Mbit/s: an emulated machine does not fill the air with more.
    let settings = "hw_mode=b\nchannel=1\nsupported_rates=10\nbasic_rates=10";
    let world = World::begin(&pairs, scene, 2412, settings)?;
    let loads = [
        world.load(pairs[0], 850_000)?,
        world.load(pairs[1], 850_000)?,
    ];
    let mut found = Vec::new();
    for power in [20, 8] {
        for role in pairs.iter().flatten() {
            world.set_power(role, power)?;
        }
        std::thread::sleep(Duration::from_secs(1));
        let from = loads.each_ref().map(Goodput::now);
        let before = world.medium.told()?;
        std::thread::sleep(Duration::from_secs(4));
        let told = world.medium.told()?;
        let time = (told.time - before.time).as_secs_f64();
        let rates = [0, 1].map(|load: usize| {
            let until = loads[load].now();
            loads[load].series().rate(from[load]..until) / 1e6
        });
        let sum = |of: fn(&Counts) -> u64| {
            let sum = |report: &Report| report.radios.values().map(of).sum::<u64>() as f64 / 1e9;
            sum(&told) - sum(&before)
        };
        let (airtime, over) = (sum(|of| of.airtime), sum(|of| of.over_others));
        println!(
            "{power} dBm: {rates:.2?} Mbit/s, on the air {:.2} of the time, {:.3} of it at once",
            airtime / time,
            over / airtime,
        );
        found.push((rates[0] + rates[1], over / airtime));
    }
    print(&world.medium.told()?);
    let ratio = found[1].0 / found[0].0;
    println!("{ratio:.2} times as much where they do not hear each other");
    // Within a slot they cannot know; and 20 dBm are heard 60 m away, 8 are not.
    assert!(found[1].1 > 2.0 * found[0].1, "{found:?}");
    Ok(())
}

/// Rates of HT climb for best effort, too.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn rates_of_ht_climb_for_best_effort() -> Result<(), Error> {
    let scene = Scene::default().with("ap", 0.0, 0.0).with("sta", 8.0, 0.0);
    let settings = format!("{ONLY_OFDM}\nieee80211n=1\nwmm_enabled=1");
    let world = World::begin(&[["ap", "sta"]], scene, CHANNEL, &settings)?;
    let load = world.load(["ap", "sta"], 2_000_000)?;
    let mut seen = None;
    let climbed = wait_until("the rate climbs", LIMIT, || {
        let peer = world.peer("ap")?;
        seen = Some((peer.rate_to, peer.expected, peer.frames, peer.retries));
        std::thread::sleep(Duration::from_millis(200));
        Ok(peer.rate_to >= Some(52_000_000) && peer.expected >= Some(20_000_000))
    });
    println!("{seen:?}");
    print(&world.medium.told()?);
    println!("{} octets arrived", load.stop()?.total());
    climbed
}
