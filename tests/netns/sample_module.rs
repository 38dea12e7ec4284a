//! A module needs only its own folder and a line in a list: `weir-sample` is weir with one more
//! module, which uses every interface.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use api::Method;
use lab::namespace::wait_until;
use lab::{Error, Lab, Options, unexpected};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use testing::Directory;
use weir_tests::{LIMIT, Weir, built};

/// Returns the output of a command.
fn said(command: &mut Command) -> Result<String, Error> {
    let output = command.output().map_err(Error::system("run weir-sample"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Error::Unexpected(format!("{command:?}: {output:?}"))),
    }
}

fn sample() -> Command {
    Command::new(built("weir-sample"))
}

#[test]
fn a_module_has_a_key_a_command_and_a_line_of_the_manual() -> Result<(), Error> {
    let help = said(sample().arg("--help"))?;
    assert!(
        help.contains("greet          Greet whom the configuration names"),
        "{help}"
    );
    let keys = said(sample().args(["config", "--keys"]))?;
    assert!(keys.contains("sample.whom"), "{keys}");
    let run = said(sample().args(["run", "--help"]))?;
    assert!(
        run.contains("sample:    Greets, and counts devices that come"),
        "{run}"
    );
    let completions = said(sample().args(["completions", "bash"]))?;
    assert!(completions.contains("greet"), "{completions}");
    let folder = Directory::new();
    said(sample().arg("man").arg(folder.path()))?;
    let manual = fs::read_to_string(folder.join("man5/weir.toml.5"));
    let there = folder.join("man1/weir-greet.1").exists();
    let manual = manual.map_err(Error::system("read a manual"))?;
    assert!(manual.contains("fBwhom = ") && there, "{manual}");
    Ok(())
}

#[test]
fn a_module_hears_ticks_works_and_answers() -> Result<(), Error> {
    let lab = Lab::gateway(&Options::default())?;
    let router = lab.node("router")?;
    let folder = Directory::new();
    let config = |whom: &str| {
        let password = folder.join("password");
        format!(
            "[sample]\nwhom = {whom:?}\n[web]\nmetrics = \"loopback\"\npassword = {password:?}\n"
        )
    };
    let program = built("weir-sample");
    let weir = Weir::start_as(&program, router, &config("router"), &[])?;
    let client = api::Client::new(weir.socket()).map_err(unexpected)?;
    let shown = || client.get::<Value>("/v1/greeting").map_err(unexpected);

    let before = shown()?;
    assert_eq!(
        (&before["whom"], &before["works"]),
        (&json!("router"), &json!(true))
    );
    assert!(before["devices"].as_u64() >= Some(2), "{before}");
    router.run("ip link add more type veth peer name less")?;
    wait_until("events, seconds and turns", LIMIT, || {
        let now = shown()?;
        let grown =
            |name: &str, by: u64| now[name].as_u64() >= before[name].as_u64().map(|n| n + by);
        Ok(grown("devices", 1) && grown("seconds", 2) && grown("turns", 10))
    })?;

    // A writing route accepts only a body.
    let greet = |body: Value| client.send::<Value>(Method::POST, "/v1/greeting", &body);
    assert_eq!(
        greet(json!({"times": 2})).map_err(unexpected)?["greeted"],
        2
    );
    let wrong = greet(json!({"often": 2})).expect_err("no such field");
    assert!(wrong.to_string().contains("often"), "{wrong}");
    let far = greet(json!({"times": u64::MAX})).expect_err("too many");
    assert!(far.to_string().contains("too many greetings"), "{far}");

    let on = |words: &[&str]| said(sample().args(words).arg("--socket").arg(weir.socket()));
    assert_eq!(on(&["greet", "3"])?, "Hello, router!\n");
    let status = on(&["status"])?;
    assert!(status.contains("sample        5 greeted\n"), "{status}");
    let check = router
        .command(&program.display().to_string())
        .arg("check")
        .arg("--config")
        .arg(weir.config_file())
        .output();
    let check =
        String::from_utf8_lossy(&check.map_err(Error::system("check"))?.stdout).into_owned();
    assert!(check.contains("sample"), "{check}");
    let accept = "-H Accept:application/openmetrics-text";
    let metrics = format!("curl -sS --max-time 20 {accept} http://127.0.0.1:9347/metrics");
    let metrics = router.run(&metrics)?;
    let line = "weir_sample_greeted_total{whom=\"router\"} 5\n";
    assert!(
        metrics.contains(line) && metrics.ends_with("# EOF\n"),
        "{metrics}"
    );

    fs::write(weir.config_file(), config("reader")).map_err(Error::system("write"))?;
    on(&["reload"])?;
    assert_eq!(shown()?["whom"], "reader");

    weir.end(Signal::SIGTERM)?;
    let without = Weir::start_as(&program, router, &config("x"), &["--only", "offload"])?;
    assert_eq!(
        without.status()?.modules,
        ["offload", "sample"],
        "who is left out may look after itself"
    );
    Ok(())
}

/// Collects the files of a folder and of its subfolders.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, found),
            path => found.push(path),
        }
    }
}

/// Dependencies lead from the binary to modules, then to the runtime and to cores, then to
/// foundations. Manifests list the crates of a build; dependencies of tests alone do not count.
#[test]
fn only_the_list_names_a_module() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let main = fs::read_to_string(here.join("sample/src/main.rs")).expect("the sample's main");
    let lines = main.lines().filter(|line| !line.starts_with("//"));
    assert_eq!(
        lines.filter(|line| line.contains("sample")).count(),
        2,
        "{main}"
    );

    let root = here.join("..");
    let mut modules: Vec<String> = fs::read_dir(root.join("modules"))
        .expect("modules")
        .flatten()
        .map(|entry| entry.file_name().into_string().expect("UTF-8"))
        .collect();
    modules.sort();
    assert!(modules.len() >= 11, "{modules:?}");
    let needs = |folder: &str| {
        let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml")).expect(folder);
        let (_, rest) = manifest.split_once("[dependencies]").unwrap_or_default();
        let rest = rest.split("\n[").next().unwrap_or_default();
        let name = |line: &str| Some(line.split(['.', ' ', '=']).next()?.to_owned());
        let names = rest.lines().filter_map(name);
        names
            .filter(|name| !name.is_empty())
            .collect::<Vec<String>>()
    };
    let list = needs("weir");
    let mut named = Vec::new();
    for module in &modules {
        assert!(list.contains(module), "the list lacks {module}");
        let service = needs(&format!("modules/{module}/service"));
        let others = service.iter().filter(|name| modules.contains(name));
        named.extend(others.map(|name| format!("modules/{module}/service names {name}")));
        let core = format!("modules/{module}/core");
        if root.join(&core).exists() {
            let up = needs(&core)
                .into_iter()
                .filter(|name| modules.contains(name) || name == "runtime");
            named.extend(up.map(|name| format!("{core} names {name}")));
        }
    }
    let is_of_module = |name: &String| {
        let core = name.strip_suffix("-core").unwrap_or(name);
        modules.iter().any(|module| module == core)
    };
    for entry in fs::read_dir(root.join("crates")).expect("crates").flatten() {
        let name = entry.file_name().into_string().expect("UTF-8");
        let up = needs(&format!("crates/{name}"))
            .into_iter()
            .filter(is_of_module);
        named.extend(up.map(|up| format!("crates/{name} names {up}")));
    }
    named.sort();
    assert_eq!(named, KNOWN);
}

/// The history stores the monitor's counts. The daemon serves the fast path, and has its core.
const KNOWN: [&str; 2] = [
    "crates/runtime names offload-core",
    "modules/monitor/service names history",
];

/// Layers of the runtime, the lowest first: no layer imports from a later one.
const LAYERS: &str = "output config log error persisted secret uplink command daemon check registry \
     commands lib";

/// Returns lines of program code, without comments and tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let program = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = program.lines().map(str::trim_start);
    lines.filter(|line| !line.starts_with("//"))
}

#[test]
fn imports_go_one_way() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/runtime/src");
    let place = |layer: &str| LAYERS.split(' ').position(|known| known == layer);
    let mut all = Vec::new();
    files(&source, &mut all);
    let (mut looked, mut back) = (0, Vec::new());
    for file in all {
        let below = file
            .strip_prefix(&source)
            .expect("below")
            .display()
            .to_string();
        let layer = below.split(['/', '.']).next().unwrap_or_default();
        let tests = below.contains("tests.rs");
        let Some(own) = place(layer).filter(|_| !tests) else {
            assert!(tests || layer == "main", "{below} is in no layer");
            continue;
        };
        let text = fs::read_to_string(&file).expect("UTF-8");
        for line in code(&text) {
            for used in line.split("crate::").skip(1) {
                let used: String = used.chars().take_while(char::is_ascii_lowercase).collect();
                looked += 1;
                if place(&used).is_some_and(|used| used > own) {
                    back.push(format!("{below}: {line}"));
                }
            }
        }
    }
    assert!(looked > 80, "{looked}");
    assert_eq!(back, Vec::<String>::new());
}
