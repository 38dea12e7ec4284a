//! `weir bench`: the report holds all measurements, names the omitted ones, and the bench leaves
//! nothing behind.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::Directory;
use weir_tests::binary;

fn weir(arguments: &[&str]) -> Output {
    let ran = Command::new(binary()).args(arguments).output();
    ran.expect("weir runs")
}

fn json(ran: &Output) -> Value {
    let text = String::from_utf8_lossy(&ran.stderr);
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn namespaces() -> Vec<String> {
    let listed = Command::new("ip").args(["netns", "list"]).output();
    let listed = listed.expect("ip runs").stdout;
    let text = String::from_utf8_lossy(&listed).into_owned();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_lab_measures_what_it_is_asked_for() {
    let names = [
        "kernel-nat",
        "xdp-static",
        "weir-xdp",
        "weir-tc",
        "flowtable",
    ];
    let only = names.join(",");
    let mut arguments = vec![
        "bench",
        "lab",
        "--json",
        "--rounds",
        "2",
        "--seconds",
        "0.1",
    ];
    arguments.extend(["--only", &only, "--length", "imix", "--burst", "3"]);
    let mut ran = Command::new(binary());
    ran.args(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let ran = ran.spawn().expect("weir runs");
    let own = format!("weir-{}-", ran.id());
    let ran = ran.wait_with_output().expect("weir ends");
    let told = json(&ran);
    assert_eq!(ran.status.code(), Some(0), "{told:#}");
    assert_eq!(told["schema"], "weir-bench-lab/1");
    for (name, value) in [
        ("length", Value::from("imix")),
        ("burst", 3.into()),
        ("flows", 64.into()),
    ] {
        assert_eq!(told[name], value, "{name}");
    }
    assert_eq!(told["wires"], "plain");
    assert_eq!(told["complete"], true);
    let scenarios = told["scenarios"].as_array().expect("scenarios");
    let left_out = told["left_out"].as_array().expect("what was left out");
    let found: Vec<_> = scenarios
        .iter()
        .chain(left_out)
        .filter_map(|scenario| scenario["name"].as_str())
        .collect();
    assert!(
        names.iter().all(|name| found.contains(name)) && found.len() == names.len(),
        "{found:?}"
    );
    for scenario in scenarios {
        let name = &scenario["name"];
        for field in ["pps", "ns_per_packet", "cpu"] {
            let [least, middle, most] = ["min", "median", "max"]
                .map(|which| scenario[field][which].as_f64().expect("a number"));
            assert!(
                0.0 <= least && least <= middle && middle <= most,
                "{name}: {field}: {least} {middle} {most}"
            );
        }
        let rate = scenario["pps"]["median"].as_f64().expect("a number");
        let took = scenario["ns_per_packet"]["median"]
            .as_f64()
            .expect("a number");
        assert!(
            (rate * took / 1e9 - 1.0).abs() < 0.5,
            "{name}: {rate} packets a second, {took} ns each"
        );
        let by_weir = scenario["forwarded"].as_f64();
        let processors = scenario["processors"].as_array().expect("processors");
        let busy = processors.iter().filter_map(|one| one["busy"].as_f64());
        assert!(busy.sum::<f64>() > 0.5, "{name}: {processors:?}");
        assert_eq!(
            by_weir.is_some(),
            name.as_str().is_some_and(|name| name.starts_with("weir")),
            "{name}"
        );
        assert!(
            by_weir.is_none_or(|share| share > 0.99),
            "{name}: {by_weir:?}"
        );
    }
    let ranked: usize = told["ranking"]
        .as_array()
        .expect("a ranking")
        .iter()
        .map(|group| group.as_array().map_or(0, Vec::len))
        .sum();
    assert_eq!(ranked, scenarios.len());
    assert!(!namespaces().iter().any(|name| name.starts_with(&own)));
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_leaves_nothing() {
    let mut command = Command::new(binary());
    command.args([
        "bench",
        "lab",
        "--json",
        "--rounds",
        "1000",
        "--seconds",
        "0.1",
    ]);
    command.args(["--only", "xdp-static,kernel"]);
    command.stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("weir runs");
    let process = nix::unistd::Pid::from_raw(child.id() as i32);
    let own = format!("weir-{}-", child.id());
    let begun = Instant::now();
    while !namespaces().iter().any(|name| name.starts_with(&own)) {
        // Laboratories run one at a time: this one waits for another test's.
        if begun.elapsed() > 3 * weir_tests::LIMIT {
            child.kill().and_then(|()| child.wait()).expect("it ends");
            panic!("it makes no namespaces");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(4));
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGINT).expect("it is there");
    let ran = child.wait_with_output().expect("it ends");
    let told = json(&ran);
    assert_eq!(
        (ran.status.code(), &told["complete"]),
        (Some(0), &Value::Bool(false))
    );
    assert!(!namespaces().iter().any(|name| name.starts_with(&own)));
}

#[test]
fn series_and_a_page_are_written() {
    let folder = Directory::new();
    let [html, svg] =
        ["report.html", "report.svg"].map(|name| folder.join(name).display().to_string());
    let mut arguments = vec![
        "bench",
        "lab",
        "--json",
        "--rounds",
        "2",
        "--seconds",
        "0.05",
        "--only",
        "kernel6-nat,weir6-xdp-nat,kernel-drop,kernel-drop-early,weir-drop",
    ];
    arguments.extend([
        "--series",
        "length,wires",
        "--profile",
        "--html",
        &html,
        "--svg",
        &svg,
    ]);
    let ran = weir(&arguments);
    let told = json(&ran);
    assert_eq!(
        told["scenarios"].as_array().map(Vec::len),
        Some(5),
        "{told:#}"
    );
    let series = |by: &str| {
        let all = told["series"].as_array().expect("series");
        let found = all.iter().find(|series| series["by"] == by);
        found.map_or(&[][..], |series| {
            series["points"].as_array().expect("points")
        })
    };
    let points = series("length");
    let at: Vec<_> = points
        .iter()
        .filter_map(|point| point["at"].as_u64())
        .collect();
    assert!(at.len() > 2 && at.is_sorted(), "{at:?}");
    assert!(
        points.iter().any(|point| point["at"] == "IMIX"),
        "{points:?}"
    );
    for (by, wanted) in [
        (
            "length",
            &["kernel-nat", "weir-tc", "weir-xdp", "xdp-static"][..],
        ),
        ("wires", &["kernel-nat", "weir-tc", "weir-xdp"]),
    ] {
        for point in series(by) {
            let scenarios = point["scenarios"].as_array().expect("scenarios");
            let names: Vec<_> = scenarios
                .iter()
                .filter_map(|one| one["name"].as_str())
                .collect();
            assert!(wanted.iter().all(|name| names.contains(name)), "{names:?}");
        }
    }
    // The report names the reason for each scenario that this machine cannot measure.
    let left_out = told["left_out"].as_array().expect("what was left out");
    for wires in [
        "VLAN to VLAN",
        "QinQ uplink",
        "PPPoE uplink",
        "PPPoE over VLAN",
    ] {
        let measured = series("wires").iter().any(|point| point["at"] == wires);
        let reason = left_out.iter().find(|one| one["name"] == wires);
        let reason = reason.and_then(|one| one["reason"].as_str());
        assert!(
            measured != reason.is_some_and(|reason| reason.contains("cannot build it")),
            "{wires}: {reason:?}; left out: {left_out:#?}"
        );
    }
    let profiles = told["profiles"].as_array().expect("profiles");
    let why_not = left_out
        .iter()
        .any(|one| one["name"] == "where the time goes");
    assert!(profiles.len() == 3 || why_not, "{left_out:?}");
    for profile in profiles {
        let stacks = profile["stacks"].as_array().expect("stacks");
        let samples = stacks.iter().filter_map(|stack| stack[1].as_u64());
        assert_eq!(Some(samples.sum()), profile["samples"].as_u64());
    }
    let page = std::fs::read_to_string(&html).expect("a page");
    assert_eq!(page.contains("Where the time goes"), !profiles.is_empty());
    assert!(
        page.starts_with("<!doctype html>") && page.contains("By bytes of a frame"),
        "{page}"
    );
    let picture = std::fs::read_to_string(&svg).expect("a picture");
    assert!(
        picture.starts_with("<svg") && picture.contains("weir at XDP, NAT, IPv6"),
        "{picture}"
    );
}

#[test]
fn what_makes_no_sense_or_cannot_be_is_told() {
    for (arguments, word) in [
        (&["bench", "lab", "--only", "warp"][..], "must be one of"),
        (&["bench", "lab", "--cpu", "4096"], "no processor 4096"),
        (&["bench", "lab", "--series", "weather"], "length, flows"),
        (&["bench", "lab", "--seconds", "0"], "must be a number"),
        (&["bench", "lab", "--length", "59"], "imix"),
        (&["bench", "lab", "--flows", "1000001"], "1000000"),
        (&["bench", "lab", "--wires", "ring"], "pppoe-over-vlan"),
        (&["bench", "radio", "--scenario", "moon"], "near, far"),
        (&["bench", "radio", "--driver", "nobody"], "predecessor"),
        (&["bench", "radio", "--seconds", "0"], "3600"),
        (
            &["bench", "compare", "/nowhere", "/nowhere"],
            "cannot read /nowhere",
        ),
        (
            &["bench", "compare", "/etc/hostname", "/etc/hostname"],
            "is not a report",
        ),
    ] {
        let ran = weir(arguments);
        let text = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(
            !ran.status.success() && text.contains(word),
            "{arguments:?}: {text}"
        );
    }
    for what in ["lab", "radio"] {
        let ran = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(binary())
            .args(["bench", what])
            .output();
        let ran = ran.expect("setpriv runs");
        let text = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(
            ran.status.code() == Some(1) && text.contains("requires root"),
            "{what}: {text}"
        );
    }
    // Without modprobe, mac80211_hwsim is not available; if it is loaded, the bench says so.
    let ran = Command::new(binary())
        .args(["bench", "radio", "--seconds", "1"])
        .env("PATH", "/nowhere")
        .output();
    let ran = ran.expect("weir runs");
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        ran.status.code() == Some(1) && text.contains("mac80211_hwsim") && ran.stdout.is_empty(),
        "{text}"
    );
}

/// Writes a report with these packets per second, by round.
fn report(folder: &std::path::Path, name: &str, rates: [f64; 5]) -> String {
    let spread = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        serde_json::json!({ "median": sorted[2], "min": sorted[0], "max": sorted[4] })
    };
    let took: Vec<_> = rates.iter().map(|rate| 1e9 / rate).collect();
    let report = serde_json::json!({
        "schema": "weir-bench-lab/1", "rounds": 5, "seconds": 1.0, "flows": 64, "length": 60, "noise": 0.02, "complete": true, "left_out": [],
        "machine": { "processor": "a processor", "processors": 2, "is_virtual": false, "kernel": "6.12", "weir": "0.1.0" },
        "scenarios": [{ "name": "weir-xdp", "text": "weir at XDP", "pps": spread(&rates), "ns_per_packet": spread(&took), "cpu": spread(&[1.0; 5]), "forwarded": 1.0, "each": rates }],
    });
    let file = folder.join(name);
    std::fs::write(&file, report.to_string()).expect("written");
    file.display().to_string()
}

#[test]
fn two_reports_are_compared() {
    let folder = Directory::new();
    let rates = [4.0e6, 4.04e6, 3.97e6, 4.02e6, 3.99e6];
    let before = report(&folder, "before", rates);
    for (name, share, word) in [
        ("fifth", 0.8, "-20.0 %"),
        ("hundredth", 0.99, "undecided"),
        ("faster", 1.25, "+25.0 %"),
    ] {
        let after = report(&folder, name, rates.map(|rate| rate * share));
        let ran = weir(&["bench", "compare", &before, &after]);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(
            ran.status.success() && text.contains(word),
            "{name}: {text}"
        );
        let told = json(&weir(&["bench", "compare", "--json", &before, &after]));
        assert_eq!(told[0]["name"], "weir-xdp", "{told:#}");
    }
    let other = report(&folder, "flows", rates);
    let text = std::fs::read_to_string(&other).expect("a report");
    std::fs::write(&other, text.replace("\"flows\":64", "\"flows\":8")).expect("written");
    let ran = weir(&["bench", "compare", "--json", &before, &other]);
    let text = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{text}");
    assert!(text.contains("the second sent 8 UDP flows"), "{text}");
}
