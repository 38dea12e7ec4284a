//! A router is set up from a browser in its LAN: the daemon serves the page and may write no file of
//! the system, `weir setup serve` changes the configuration, and the administrator confirms it at
//! the new address, logged in anew.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use lab::namespace::wait_until;
use lab::{Error, Lab, Options, Process, gateway};
use serde_json::{Value, json};
use weir_tests::{LIMIT, Weir, binary};

const PASSWORD: &str = "a household's own words";

/// A router that can be set up, and somebody in its LAN.
struct Router {
    weir: Weir,
    serving: Process,
    lab: Lab,
    folder: PathBuf,
}

impl Router {
    fn new() -> Result<Self, Error> {
        let lab = Lab::gateway(&Options::default())?;
        let router = lab.node("router")?;
        let folder = std::env::temp_dir().join(format!("{}-setup", router.name()));
        let failed = Error::system("prepare a router");
        let prepare = || -> std::io::Result<()> {
            let config = folder.join("etc/config");
            std::fs::create_dir_all(&config)?;
            let fresh =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/setup/tests/fresh/24.10");
            for file in std::fs::read_dir(fresh)? {
                let file = file?;
                std::fs::copy(file.path(), config.join(file.file_name()))?;
            }
            // The port of the Internet is called otherwise here.
            let network = std::fs::read_to_string(config.join("network"))?;
            let network = network.replace("device 'wan'", "device 'wan0'");
            std::fs::write(config.join("network"), network)?;
            let release = "DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='24.10.1'\n";
            std::fs::write(folder.join("etc/openwrt_release"), release)?;
            std::fs::write(folder.join("etc/shadow"), "root:::0:99999:7:::\n")?;
            // The least of a back end: the address inside.
            let reload = folder.join("reload");
            let script = format!(
                "#!/bin/sh\nset -e\naddress=$({} uci -c {} get network.lan.ipaddr)\n\
                 ip -4 address flush dev lan0\nip address add \"$address/24\" dev lan0\n",
                binary().display(),
                config.display()
            );
            std::fs::write(&reload, script)?;
            std::fs::set_permissions(&reload, std::fs::Permissions::from_mode(0o755))
        };
        prepare().map_err(failed)?;
        let path = |name: &str| folder.join(name).display().to_string();
        let config = format!(
            "[setup]\nroot = {:?}\nchanges = {:?}\nstate = {:?}\nreload = {:?}\nsocket = {:?}\n\
             [web]\nlisten = [\"0.0.0.0:9347\"]\ntls = \"own\"\npassword = {:?}\n",
            path("etc/config"),
            path("changes"),
            path("state"),
            path("reload"),
            path("run/socket"),
            path("secrets/password"),
        );
        std::fs::write(folder.join("weir.toml"), &config).map_err(Error::system("configure"))?;
        let mut serve = router.command(&binary().display().to_string());
        serve.args(["setup", "serve", "--config"]);
        serve.arg(folder.join("weir.toml"));
        let serving = router.start(&mut serve)?;
        let weir = Weir::start(router, &config, &[])?;
        wait_until("the setup process listens", LIMIT, || {
            Ok(folder.join("run/socket").exists())
        })?;
        Ok(Self {
            weir,
            serving,
            lab,
            folder,
        })
    }

    /// Asks the page's server from the LAN, with what the browser has in its jar for this address.
    fn ask(&self, router: &str, path: &str, body: Option<&Value>) -> Result<(u16, Value), Error> {
        let jar = self.folder.join(format!("jar-{router}"));
        let csrf = std::fs::read_to_string(self.folder.join(format!("csrf-{router}")));
        let mut line = vec![
            "--silent".to_owned(),
            "--insecure".to_owned(),
            "--max-time".to_owned(),
            "20".to_owned(),
            "--cookie".to_owned(),
            jar.display().to_string(),
            "--cookie-jar".to_owned(),
            jar.display().to_string(),
            "--write-out".to_owned(),
            "\n%{http_code}".to_owned(),
            format!("https://{router}:9347/api/{path}"),
        ];
        if let Some(body) = body {
            line.extend(["--header", "Content-Type: application/json"].map(str::to_owned));
            line.extend(["--data".to_owned(), body.to_string()]);
        }
        if let Ok(csrf) = csrf {
            line.extend(["--header".to_owned(), format!("X-Weir-Csrf: {csrf}")]);
        }
        let output = self
            .lab
            .node("client")?
            .command("curl")
            .args(line)
            .output()
            .map_err(Error::system("run curl"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, code) = text.rsplit_once('\n').unwrap_or_default();
        let body = serde_json::from_str(body).unwrap_or_default();
        Ok((code.parse().unwrap_or_default(), body))
    }

    /// The same, which has to succeed.
    fn told(&self, router: &str, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        let (code, answer) = self.ask(router, path, body)?;
        assert_eq!(code, 200, "{path}: {answer}; {}", self.weir.log());
        Ok(answer)
    }

    fn log_in(&self, router: &str) -> Result<(), Error> {
        let state = self.told(router, "login", Some(&json!({"password": PASSWORD})))?;
        self.keep(router, &state)
    }

    fn keep(&self, router: &str, state: &Value) -> Result<(), Error> {
        let csrf = state["csrf"].as_str().unwrap_or_default();
        std::fs::write(self.folder.join(format!("csrf-{router}")), csrf)
            .map_err(Error::system("keep the token"))
    }

    /// The code for the first password, as the console tells it.
    fn code(&self) -> Result<String, Error> {
        let console = self.lab.node("router")?;
        let output = console
            .command(&binary().display().to_string())
            .args(["passwd", "--claim", "--socket"])
            .arg(self.weir.socket())
            .output()
            .map_err(Error::system("run weir passwd"))?;
        let code = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert_eq!(code.len(), 9, "{}", String::from_utf8_lossy(&output.stderr));
        Ok(code)
    }

    /// The first password, by that code.
    fn claim(&self, router: &str) -> Result<(), Error> {
        let code = self.code()?;
        let wrong = json!({"new": PASSWORD, "claim": "AAAA-AAAA"});
        assert_eq!(self.ask(router, "password", Some(&wrong))?.0, 403);
        let right = json!({"new": PASSWORD, "claim": code});
        let state = self.told(router, "password", Some(&right))?;
        self.keep(router, &state)
    }

    /// A browser in the LAN does its part, by the keyboard (web/test/browser/router.mjs).
    fn browse(&self, router: &str, phase: &str, code: &str) -> Result<(), Error> {
        let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web");
        let output = self
            .lab
            .node("client")?
            .command("node")
            .arg("test/browser/router.mjs")
            .current_dir(web)
            .env("WEIR_WEB_URL", format!("https://{router}:9347"))
            .env("WEIR_WEB_PASSWORD", PASSWORD)
            .env("WEIR_SETUP_PHASE", phase)
            .env("WEIR_SETUP_CLAIM", code)
            .output()
            .map_err(Error::system("run node"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{phase}: {said}\n{}",
            self.weir.log()
        );
        assert!(said.contains("# pass 1"), "{phase}: {said}");
        Ok(())
    }

    /// The browser's own address follows the router's network.
    fn client_moves(&self, address: &str) -> Result<(), Error> {
        self.lab.node("client")?.ip(&format!(
            "address flush dev eth0\naddress add {address}/24 dev eth0"
        ))?;
        Ok(())
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_new_address_is_confirmed_where_it_leads() -> Result<(), Error> {
    let router = Router::new()?;
    let old = "192.168.1.1";
    assert_eq!(
        router.ask(old, "v1/setup", None)?.0,
        401,
        "nobody without a password"
    );
    router.claim(old)?;
    let found = router.told(old, "v1/setup", None)?;
    assert_eq!(found["release"]["version"], "24.10.1");
    let mut choices = found["choices"].clone();
    // What is at the uplink, as it is found out. The daemon itself may send no such frames.
    let look = json!({"port": "wan0"});
    router.told(old, "v1/setup/detect", Some(&look))?;
    let mut seen = Value::Null;
    wait_until("the uplink is looked at", LIMIT, || {
        // As often as the page asks: each time curl shakes hands anew, and who does so all the time
        // is sent away.
        std::thread::sleep(Duration::from_millis(300));
        seen = router.told(old, "v1/setup/detect", None)?;
        Ok(seen["running"] == false)
    })?;
    assert_eq!(
        (&seen["port"], &seen["failed"]),
        (&json!("wan0"), &Value::Null),
        "{seen}"
    );
    assert!(
        seen["evidence"]
            .as_array()
            .is_some_and(|heard| !heard.is_empty()),
        "{seen}"
    );
    assert!(seen["suggestion"]["untold"].is_array(), "{seen}");

    choices["router"]["name"] = "linde".into();
    choices["router"]["password"] = "four horses in a tin can".into();
    choices["lan"]["address"] = "192.168.77.1/24".into();
    let plan = router.told(old, "v1/setup/plan", Some(&json!({"choices": choices})))?;
    assert_eq!(plan["problems"], json!([]));
    let apply = json!({"choices": choices, "why": "first set-up", "within": 60});

    // By a page of a stranger's: without the token it has no effect.
    let csrf = router.folder.join(format!("csrf-{old}"));
    let token = std::fs::read_to_string(&csrf).map_err(Error::system("read the token"))?;
    std::fs::write(&csrf, "0").map_err(Error::system("keep another"))?;
    assert_eq!(router.ask(old, "v1/setup/apply", Some(&apply))?.0, 403);
    std::fs::write(&csrf, token).map_err(Error::system("keep the token"))?;

    // The answer comes before the address goes.
    let done = router.told(old, "v1/setup/apply", Some(&apply))?;
    assert_eq!(done["address"], "192.168.77.1");
    wait_until("the address goes", LIMIT, || {
        let shown = router.lab.node("router")?.ip("address show dev lan0")?;
        Ok(shown.contains("192.168.77.1/24"))
    })?;
    router.client_moves("192.168.77.2")?;
    let new = "192.168.77.1";
    let confirm = json!({});
    assert_eq!(
        router.ask(new, "v1/setup/confirm", Some(&confirm))?.0,
        401,
        "not logged in there"
    );
    router.log_in(new)?;
    let found = router.told(new, "v1/setup", None)?;
    assert_eq!(found["pending"]["why"], "first set-up");
    router.told(new, "v1/setup/confirm", Some(&confirm))?;
    let shadow = std::fs::read_to_string(router.folder.join("etc/shadow"));
    assert!(shadow.is_ok_and(|shadow| shadow.starts_with("root:$6$")));
    let found = router.told(new, "v1/setup", None)?;
    assert_eq!(found["pending"], Value::Null);
    assert_eq!(found["choices"]["router"]["name"], "linde");
    Ok(())
}

#[test]
fn a_browser_in_the_lan_sets_the_router_up() -> Result<(), Error> {
    let router = Router::new()?;
    let code = router.code()?;
    router.browse("192.168.1.1", "begin", &code)?;
    router.client_moves("192.168.77.2")?;
    router.browse("192.168.77.1", "confirm", "")?;
    let read = |name: &str| {
        std::fs::read_to_string(router.folder.join("etc").join(name)).unwrap_or_default()
    };
    assert!(read("config/system").contains("option hostname 'linde'"));
    assert!(read("config/network").contains("option ipaddr '192.168.77.1'"));
    assert!(read("shadow").starts_with("root:$6$"), "{}", read("shadow"));
    // What nobody decided is as it was: an open network that is off stays off.
    assert!(read("config/wireless").contains("option disabled '1'"));
    router.log_in("192.168.77.1")?;
    let found = router.told("192.168.77.1", "v1/setup", None)?;
    assert_eq!(found["pending"], Value::Null);
    Ok(())
}

#[test]
fn an_address_that_nobody_confirms_goes_again() -> Result<(), Error> {
    let router = Router::new()?;
    let old = "192.168.1.1";
    router.claim(old)?;
    let mut choices = router.told(old, "v1/setup", None)?["choices"].clone();
    choices["router"]["password"] = "four horses in a tin can".into();
    choices["lan"]["address"] = "192.168.77.1/24".into();
    let apply = json!({"choices": choices, "within": 5});
    let begin = Instant::now();
    router.ask(old, "v1/setup/apply", Some(&apply))?;
    wait_until("the former address is back", LIMIT, || {
        // The same browser, which never went anywhere, and is still logged in.
        Ok(router.ask(old, "v1/setup", None)?.0 == 200 && begin.elapsed() > Duration::from_secs(5))
    })?;
    let found = router.told(old, "v1/setup", None)?;
    assert_eq!(found["pending"], Value::Null);
    assert_eq!(found["choices"]["lan"]["address"], "192.168.1.1/24");
    assert_eq!(found["states"], json!([]));
    let left = router.lab.node("router")?.ip("address show dev lan0")?;
    assert!(
        left.contains("192.168.1.1/24") && !left.contains("192.168.77.1"),
        "{left}"
    );
    Ok(())
}

/// While a change waits, it is told how far the router gets.
#[test]
fn how_far_the_router_gets_is_told() -> Result<(), Error> {
    let router = Router::new()?;
    let node = router.lab.node("router")?;
    let weir = |words: &[&str]| {
        let mut command = node.command(&binary().display().to_string());
        command.arg("setup").args(words).arg("--config");
        let output = command.arg(router.folder.join("weir.toml")).output();
        output.map_err(Error::system("run weir"))
    };
    let reach = || -> Result<Value, Error> {
        let output = weir(&["show", "--json"])?;
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        Ok(json!([shown["reach"]["way"], shown["reach"]["whom"]]))
    };
    assert_eq!(reach()?, json!([null, null]), "nothing waits");
    let file = router.folder.join("name.toml");
    std::fs::write(&file, "format = 1\n[router]\nname = \"linde\"\n")
        .map_err(Error::system("write a document"))?;
    let output = weir(&["import", &file.display().to_string()])?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    assert_eq!(reach()?, json!(["no-route", null]));
    let nobody = "10.0.0.250";
    node.ip(&format!("route add default via {nobody} dev wan0"))?;
    assert_eq!(reach()?, json!(["no-gateway", nobody]));
    let server = gateway::SERVER.to_string();
    node.ip(&format!("route replace default via {server} dev wan0"))?;
    assert_eq!(reach()?, json!(["no-names", null]));
    let servers = format!("nameserver {nobody}\nnameserver {server}\n");
    std::fs::write(router.folder.join("etc/resolv.conf"), servers)
        .map_err(Error::system("name servers"))?;
    assert_eq!(reach()?, json!(["no-names", format!("{nobody}, {server}")]));

    // One that has nobody to ask refuses; the other knows the root.
    for (root, way) in [(None, "no-names"), (Some("--dns-rr=.,2,00"), "reached")] {
        let far = router.lab.node("server")?;
        let mut dnsmasq = far.command("dnsmasq");
        dnsmasq.args([
            "--no-daemon",
            "--conf-file=/dev/null",
            "--pid-file=",
            "--user=root",
        ]);
        dnsmasq.args(["--no-resolv", "--no-hosts"]).args(root);
        dnsmasq.stderr(Stdio::null());
        let _dnsmasq = far.start(&mut dnsmasq)?;
        wait_until("a server of names answers", LIMIT, || {
            Ok(far
                .run("dig +time=1 +tries=1 @127.0.0.1 weir.example")
                .is_ok())
        })?;
        assert_eq!(reach()?[0], way);
    }
    let output = weir(&["show"])?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("waits to be confirmed"), "{said}");
    Ok(())
}

#[test]
fn without_the_setup_process_the_page_says_what_to_start() -> Result<(), Error> {
    let router = Router::new()?;
    router.serving.stop();
    router.claim("192.168.1.1")?;
    let (code, problem) = router.ask("192.168.1.1", "v1/setup", None)?;
    assert_eq!(code, 503, "{problem}");
    assert_eq!(problem["error"], "setup_not_running");
    let hint = problem["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("weir-setup"), "{hint}");
    Ok(())
}
