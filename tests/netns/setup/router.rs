//! A router's setup from a browser: the daemon, the process that changes the configuration, and a
//! client in the LAN.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lab::namespace::wait_until;
use lab::{Error, Lab, Options, Process};
use serde_json::{Value, json};
use testing::Directory;
use weir_tests::{LIMIT, Weir, binary};

const PASSWORD: &str = "a household's own words";

/// A router that can be set up, and a client in its LAN.
pub struct Router {
    pub weir: Weir,
    pub serving: Process,
    pub lab: Lab,
    pub folder: Directory,
}

impl Router {
    pub fn new() -> Result<Self, Error> {
        let lab = Lab::gateway(&Options::default())?;
        let router = lab.node("router")?;
        let folder = Directory::new();
        let failed = Error::system("prepare a router");
        let prepare = || -> std::io::Result<()> {
            let config = folder.join("etc/config");
            std::fs::create_dir_all(&config)?;
            let fresh = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../modules/setup/core/tests/fresh/24.10");
            for file in std::fs::read_dir(fresh)? {
                let file = file?;
                std::fs::copy(file.path(), config.join(file.file_name()))?;
            }
            // The uplink port has another name here.
            let network = std::fs::read_to_string(config.join("network"))?;
            let network = network.replace("device 'wan'", "device 'wan0'");
            std::fs::write(config.join("network"), network)?;
            let release = "DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='24.10.1'\n";
            std::fs::write(folder.join("etc/openwrt_release"), release)?;
            std::fs::write(folder.join("etc/shadow"), "root:::0:99999:7:::\n")?;
            // A minimal back end: the inner address.
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

    /// Asks the page's server from the LAN, with the browser's cookies for this address.
    pub fn ask(
        &self,
        router: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), Error> {
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

    /// Asks, and expects success.
    pub fn told(&self, router: &str, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        let (code, answer) = self.ask(router, path, body)?;
        assert_eq!(code, 200, "{path}: {answer}; {}", self.weir.log());
        Ok(answer)
    }

    pub fn log_in(&self, router: &str) -> Result<(), Error> {
        let state = self.told(router, "login", Some(&json!({"password": PASSWORD})))?;
        self.keep(router, &state)
    }

    pub fn keep(&self, router: &str, state: &Value) -> Result<(), Error> {
        let csrf = state["csrf"].as_str().unwrap_or_default();
        std::fs::write(self.folder.join(format!("csrf-{router}")), csrf)
            .map_err(Error::system("keep the token"))
    }

    /// Returns the code for the first password from the console.
    pub fn code(&self) -> Result<String, Error> {
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

    /// Sets the first password by that code.
    pub fn claim(&self, router: &str) -> Result<(), Error> {
        let code = self.code()?;
        let wrong = json!({"new": PASSWORD, "claim": "AAAA-AAAA"});
        assert_eq!(self.ask(router, "password", Some(&wrong))?.0, 403);
        let right = json!({"new": PASSWORD, "claim": code});
        let state = self.told(router, "password", Some(&right))?;
        self.keep(router, &state)
    }

    /// Runs the browser's part in the LAN, by the keyboard (web/test/browser/router.mjs).
    pub fn browse(&self, router: &str, phase: &str, code: &str) -> Result<(), Error> {
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

    /// Moves the browser's own address to the router's network.
    pub fn client_moves(&self, address: &str) -> Result<(), Error> {
        self.lab.node("client")?.ip(&format!(
            "address flush dev eth0\naddress add {address}/24 dev eth0"
        ))?;
        Ok(())
    }
}
