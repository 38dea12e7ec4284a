//! The laboratory's medium between real radios: it sets the distance between hostapd and stations
//! of mac80211.

use std::time::{Duration, Instant};

use kernel::io::Nl80211;
use kernel::nl80211::Station;
use lab::medium::{Cells, Position, Report, Scene, Wall};
use lab::namespace::wait_until;
use lab::{Error, unexpected};
use weir_tests::LIMIT;

/// Channel 36, MHz.
const CHANNEL: u32 = 5180;
/// hostapd's settings for 802.11a.
const ONLY_OFDM: &str = "hw_mode=a\nchannel=36";

/// Returns the kernel's record of a node's peer.
fn peer(cells: &Cells, role: &str) -> Result<Station, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build();
    let runtime = runtime.map_err(Error::system("start a runtime"))?;
    cells.node(role)?.enter(|| {
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

/// Waits until a node receives the other with this signal, dBm. Returns the delay.
fn hears(cells: &Cells, role: &str, signal: f64) -> Result<Duration, Error> {
    let begun = Instant::now();
    let mut seen = None;
    wait_until("the signal is as far as it is", LIMIT, || {
        seen = peer(cells, role)?.signal;
        Ok(seen == Some(signal.round() as i8))
    })
    .map_err(|error| unexpected(format!("{error}: {signal} dBm, but {seen:?}")))?;
    Ok(begun.elapsed())
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

/// The station receives its access point with power minus loss, and through a wall with less. The
/// rate control's expected throughput follows.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn rate_control_follows_power_and_walls() -> Result<(), Error> {
    let scene = Scene::default().with("ap", 0.0, 0.0).with("sta", 20.0, 0.0);
    let loss = scene.loss(Position::new(0.0, 0.0), Position::new(20.0, 0.0), CHANNEL);
    let world = Cells::begin(&[["ap", "sta"]], scene, 1, CHANNEL, ONLY_OFDM)?;
    hears(&world, "sta", 20.0 - loss)?;
    hears(&world, "ap", 20.0 - loss)?;
    let load = world.load(["ap", "sta"], 2_000_000)?;
    let mut found = Vec::new();
    for power in [20, 11, 5, 20] {
        world.set_power("ap", power)?;
        let before = world.medium().told()?;
        let took = hears(&world, "sta", f64::from(power) - loss)?;
        std::thread::sleep(Duration::from_secs(3));
        let (told, peer) = (world.medium().told()?, peer(&world, "ap")?);
        let mean = told.mean_power("ap", &before);
        println!(
            "{power} dBm: heard so after {took:?}, {:.1} Mbit/s expected, rate {:?}, {mean:.2} mW",
            expected(&peer),
            peer.rate_to,
        );
        found.push((expected(&peer), mean));
    }
    let wall = Wall {
        ends: [Position::new(10.0, -5.0), Position::new(10.0, 5.0)],
        loss: 12.0,
    };
    world.medium().wall("new", Some(wall))?;
    let took = hears(&world, "sta", 20.0 - loss - 12.0)?;
    std::thread::sleep(Duration::from_secs(3));
    let behind = expected(&peer(&world, "ap")?);
    println!("behind a wall: heard so after {took:?}, {behind:.1} Mbit/s expected");
    world.medium().wall("new", None)?;
    hears(&world, "sta", 20.0 - loss)?;
    print(&world.medium().told()?);
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

/// Rates of HT climb for best effort, too.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn rates_of_ht_climb_for_best_effort() -> Result<(), Error> {
    let scene = Scene::default().with("ap", 0.0, 0.0).with("sta", 8.0, 0.0);
    let settings = format!("{ONLY_OFDM}\nieee80211n=1\nwmm_enabled=1");
    let world = Cells::begin(&[["ap", "sta"]], scene, 1, CHANNEL, &settings)?;
    let load = world.load(["ap", "sta"], 2_000_000)?;
    let mut seen = None;
    let climbed = wait_until("the rate climbs", LIMIT, || {
        let peer = peer(&world, "ap")?;
        seen = Some((peer.rate_to, peer.expected, peer.frames, peer.retries));
        std::thread::sleep(Duration::from_millis(200));
        Ok(peer.rate_to >= Some(52_000_000) && peer.expected >= Some(20_000_000))
    });
    println!("{seen:?}");
    print(&world.medium().told()?);
    println!("{} octets arrived", load.stop()?.total());
    climbed
}

/// `weir bench radio` measures the requested scenario, and leaves no radio behind.
#[test]
#[ignore = "needs mac80211_hwsim: run by tests/vm/run"]
fn the_bench_compares_who_decides_on_power() -> Result<(), Error> {
    // An earlier test may have left radios.
    let _ = lab::radios::unload();
    let ran = std::process::Command::new(weir_tests::binary())
        .args(["bench", "radio", "--json", "--scenario", "walls"])
        .args(["--driver", "weir,maximum", "--seconds", "8"])
        .output()
        .map_err(Error::system("run weir"))?;
    let text = String::from_utf8_lossy(&ran.stderr);
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout)
        .map_err(|error| unexpected(format!("{error}: {text}")))?;
    println!("{told:#}");
    assert_eq!(told["schema"], "weir-bench-radio/1");
    assert_eq!(told["complete"], true);
    let run = |driver: usize, what: &str| {
        let found = &told["scenarios"][0]["runs"][driver][what];
        found
            .as_f64()
            .ok_or_else(|| unexpected(format!("{what}: {found}")))
    };
    assert_eq!(run(1, "on_air_mw")?.round(), 100.0);
    assert!(run(0, "on_air_mw")? < 100.0);
    for driver in [0, 1] {
        assert!(run(driver, "arrived_mbit")? > 0.5);
        assert!(run(driver, "carries_mbit")? > 1.0);
    }
    assert!(!lab::radios::are_there(), "the radios are gone");
    Ok(())
}
