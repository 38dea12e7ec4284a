//! Transmit power that follows throughput, on radios of mac80211_hwsim. Without a medium that knows
//! distances, every frame arrives at any power, so the minimum is enough.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use answers::{Radio, RadioLog};
use lab::counters::processor_time;
use lab::namespace::{Process, wait_until};
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, unexpected};
use nix::sys::signal::Signal;
use testing::Directory;
use weir_tests::radios::{RADIO, radios};
use weir_tests::{LIMIT, Weir};

const STATION: &str = "192.0.2.2";
const ECHO: u16 = 7;
/// Maximum power of hwsim's radios.
const MOST: i32 = 20;

/// A router with an access point, a station, and weir.
struct Scene {
    // In the order in which they end.
    weir: Option<Weir>,
    _hostapd: Process,
    _echo: Echo,
    lab: Lab,
    _folder: Directory,
}

impl Scene {
    fn begin(config: &str) -> Result<Self, Error> {
        Self::beside(config, 0)
    }

    /// Adds this many further stations without traffic.
    fn beside(config: &str, others: usize) -> Result<Self, Error> {
        let mut lab = Lab::new();
        lab.router("router")?;
        lab.host("station")?;
        let others: Vec<String> = (0..others).map(|number| format!("other{number}")).collect();
        for other in &others {
            lab.host(other)?;
        }
        let (router, station) = (lab.node("router")?, lab.node("station")?);
        let mut nodes = vec![router, station];
        for other in &others {
            nodes.push(lab.node(other)?);
        }
        radios(&nodes)?;
        for node in &nodes {
            node.sysctl("net.ipv6.conf.all.disable_ipv6", 1)?;
        }
        let weir = Weir::start(router, config, &["--only", "radio"])?;
        let folder = Directory::new();
        let hostapd = access_point(&lab, &folder)?;
        router.ip(&format!("address add 192.0.2.1/24 dev {RADIO}\n"))?;
        station.ip(&format!("address add {STATION}/24 dev {RADIO}\n"))?;
        for node in &nodes[1..] {
            node.ip(&format!("link set {RADIO} up\n"))?;
            wait_until("a station joins", LIMIT, || {
                let joined = node.run(&format!("iw dev {RADIO} connect -w weir-test 2412"));
                Ok(joined.is_ok_and(|told| told.contains("connected to")))
            })?;
        }
        let at = format!("{STATION}:{ECHO}").parse();
        let at = at.map_err(|error| unexpected(format!("{error}")))?;
        let echo = Echo::serve(station, at)?;
        Ok(Self {
            weir: Some(weir),
            _hostapd: hostapd,
            _echo: echo,
            lab,
            _folder: folder,
        })
    }

    fn weir(&self) -> Result<&Weir, Error> {
        self.weir
            .as_ref()
            .ok_or_else(|| unexpected("weir was ended"))
    }

    fn radio(&self) -> Result<Option<Radio>, Error> {
        let told = self.weir()?.client()?.radios();
        let told = told.map_err(|error| unexpected(error.to_string()))?;
        Ok(told.radios.into_iter().next())
    }

    fn log(&self) -> Result<RadioLog, Error> {
        let told = self.weir()?.client()?.radio_log();
        told.map_err(|error| unexpected(error.to_string()))
    }

    /// Returns the access point's power, dBm, from its beacons' signal at the station: hwsim's
    /// radios are 50 dB apart. The kernel itself reports the power that hwsim had with its channel.
    fn power(&self) -> Result<i32, Error> {
        let text = self
            .lab
            .node("station")?
            .run(&format!("iw dev {RADIO} link"))?;
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("signal: "));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<i32>().ok());
        number
            .map(|signal| signal + 50)
            .ok_or_else(|| unexpected(text))
    }

    /// Sends to the station all the time until `done`.
    fn speak_until(&self, what: &str, done: impl Fn() -> Result<bool, Error>) -> Result<(), Error> {
        let to = format!("{STATION}:{ECHO}").parse();
        let to = to.map_err(|error| unexpected(format!("{error}")))?;
        let datagrams = Datagrams::open(self.lab.node("router")?, to)?;
        wait_until(what, LIMIT, || {
            for _ in 0..50 {
                datagrams.ask(&[b'w'; 1000], LIMIT)?;
            }
            done()
        })
        .map_err(|error| {
            let log = self.weir().map(Weir::log).unwrap_or_default();
            unexpected(format!("{error}: {:#?}; {log}", self.radio()))
        })
    }
}

fn access_point(lab: &Lab, folder: &Path) -> Result<Process, Error> {
    let settings = format!("interface={RADIO}\nssid=weir-test\nhw_mode=g\nchannel=1\n");
    let file = folder.join("hostapd.conf");
    std::fs::write(&file, settings).map_err(Error::system("write hostapd.conf"))?;
    let mut hostapd = Command::new("hostapd");
    let hostapd = hostapd
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    lab.node("router")?.start(hostapd)
}

/// The power falls to the minimum while the access point sends data, rises when it is idle, and is
/// restored at any end of weir.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn power_goes_down_as_nobody_loses_and_comes_back() -> Result<(), Error> {
    // Uses its own folder: the daemon does not write to the folder of its configuration.
    let folder = Directory::new();
    let learned = folder.join("learned");
    for end in [Signal::SIGTERM, Signal::SIGKILL] {
        let mut scene = Scene::begin(&format!(
            "[radio.power]\nmode = \"control\"\nleast = 4\nstep = 4\nlearned = {learned:?}\n"
        ))?;
        assert_eq!(scene.power()?, MOST);
        scene.speak_until("the least power", || {
            Ok(scene
                .radio()?
                .is_some_and(|radio| radio.sufficient_dbm == Some(4)))
        })?;
        let radio = scene.radio()?.ok_or_else(|| unexpected("no radio"))?;
        println!("{radio:#?}");
        assert_eq!((radio.max_dbm, radio.stations.len()), (MOST, 1));
        assert!(radio.stations[0].throughput_mbit > Some(0.5), "{radio:#?}");
        assert_eq!(radio.stations[0].power_dbm, radio.power_dbm);
        // hwsim has no power per station: weir reports that once, and all stations share one power.
        let told = scene.weir()?.log();
        assert_eq!(told.matches("no power per station").count(), 1, "{told}");
        let log = scene.log()?;
        let words: Vec<&str> = log.logs[0].steps.iter().map(|step| &*step.reason).collect();
        for word in ["newcomer", "reference", "trial", "kept"] {
            assert!(words.contains(&word), "{words:?}");
        }
        // Traffic flows, so that a rise of the power has a reason.
        scene.speak_until("a low power", || Ok(scene.power()? <= 12))?;
        // weir stores a sufficient power every two seconds.
        let begin = Instant::now();
        scene.speak_until("some seconds", || {
            Ok(begin.elapsed() > Duration::from_secs(5))
        })?;
        let weir = scene.weir.take().ok_or_else(|| unexpected("no weir"))?;
        weir.end(end)?;
        wait_until("the former power", LIMIT, || Ok(scene.power()? == MOST))?;
        let kept = std::fs::read_to_string(&learned).map_err(Error::system("read"))?;
        let words: Vec<&str> = kept.split_whitespace().collect();
        assert_eq!((words[0], words.len()), (RADIO, 3), "{kept}");
    }
    Ok(())
}

/// With "watch" weir changes nothing and reports all.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn who_watches_changes_nothing() -> Result<(), Error> {
    let scene = Scene::begin("[radio.power]\nmode = \"watch\"\n")?;
    scene
        .lab
        .node("router")?
        .run(&format!("iw dev {RADIO} set txpower fixed 1300"))?;
    scene.speak_until("what arrives", || {
        let radio = scene.radio()?;
        let arrives = radio.and_then(|radio| radio.stations.first()?.throughput_mbit);
        Ok(arrives.is_some() && scene.power()? == 13)
    })?;
    Ok(())
}

/// Prints the processor time for fifty stations of which one gets data. With a clock that counts
/// instructions (`tests/vm/run --icount`) the figure counts instructions. The reader judges the
/// figure.
#[test]
#[ignore = "needs mac80211_hwsim, and minutes: run by tests/vm/run"]
fn what_fifty_stations_cost() -> Result<(), Error> {
    const STATIONS: usize = 50;
    let (settles, time) = (Duration::from_secs(10), Duration::from_secs(30));
    for mode in ["off", "watch", "control"] {
        let config = format!("[radio.power]\nmode = {mode:?}\n");
        let scene = Scene::beside(&config, STATIONS - 1)?;
        let process = scene.weir()?.id();
        let speak_for = |time| {
            let begin = Instant::now();
            scene.speak_until("some time", || Ok(begin.elapsed() > time))?;
            Ok::<_, Error>(begin.elapsed())
        };
        speak_for(settles)?;
        let before = processor_time(process)?;
        let passed = speak_for(time)?;
        let share = (processor_time(process)? - before).as_secs_f64() / passed.as_secs_f64();
        let stations = scene.radio()?.map_or(0, |radio| radio.stations.len());
        println!("{mode}: {:.3} % of a processor", 100.0 * share);
        assert_eq!(stations, if mode == "off" { 0 } else { STATIONS });
    }
    Ok(())
}
