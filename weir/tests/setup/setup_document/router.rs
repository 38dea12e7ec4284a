//! A fresh router of a release, in a temporary folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use api::Client;
use serde_json::json;
use testing::Directory;

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
pub const SHADOW: &str = "root:::0:99999:7:::\ndaemon:*:0:0:99999:7:::\n";

/// A fresh router of a release, in a temporary folder.
pub struct Router {
    folder: Directory,
    serving: Option<Child>,
}

impl Router {
    pub fn new(release: &str) -> Self {
        let folder = Directory::new();
        let etc = folder.join("etc");
        fs::create_dir_all(etc.join("config")).expect("a folder");
        let fresh = Path::new(env!("CARGO_MANIFEST_DIR")).join("../modules/setup/core/tests/fresh");
        for file in fs::read_dir(fresh.join(release)).expect("a fresh router") {
            let file = file.expect("a file");
            fs::copy(file.path(), etc.join("config").join(file.file_name())).expect("a copy");
        }
        let router = Self {
            folder,
            serving: None,
        };
        let version = format!("DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='{release}.1'\n");
        router.write("etc/openwrt_release", &version);
        router.write("etc/shadow", SHADOW);
        let board = json!({"model": {"name": "Roof Box 3"}, "network": {"wan": {"device": "wan"}}});
        router.write("etc/board.json", &board.to_string());
        for program in ["lib/netifd/proto/ppp.sh", "lib/netifd/proto/wireguard.sh"] {
            router.write(program, "");
        }
        let reload = format!(
            "#!/bin/sh\necho \"$@\" >> {}\n",
            router.path("told").display()
        );
        router.write("reload", &reload);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(router.path("reload"), mode).expect("a program");
        let path = |name: &str| router.path(name).display().to_string();
        let config = format!(
            "[setup]\nroot = \"{}\"\nchanges = \"{}\"\nstate = \"{}\"\nreload = \"{}\"\n\
             socket = \"{}\"\n",
            path("etc/config"),
            path("changes"),
            path("state"),
            path("reload"),
            path("run/socket"),
        );
        router.write("weir.toml", &config);
        router
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        self.folder.write(name, text.as_bytes());
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns all configuration files.
    pub fn configuration(&self) -> Vec<String> {
        ["dhcp", "firewall", "network", "system", "wireless"]
            .map(|name| self.read(&format!("etc/config/{name}")))
            .to_vec()
    }

    pub fn run(&self, words: &[&str]) -> Output {
        Command::new(WEIR)
            .arg("setup")
            .args(words)
            .arg("--config")
            .arg(self.path("weir.toml"))
            .output()
            .expect("weir runs")
    }

    /// Runs a command that must succeed; returns its output.
    pub fn done(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs a command that must fail; returns its error.
    pub fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(!output.status.success(), "{words:?}");
        String::from_utf8(output.stderr).expect("text")
    }

    pub fn import(&self, document: &str) -> String {
        self.write("document.toml", document);
        let file = self.path("document.toml");
        self.done(&["import", file.to_str().expect("text")])
    }

    pub fn import_refused(&self, document: &str) -> String {
        self.write("document.toml", document);
        let file = self.path("document.toml");
        self.refused(&["import", file.to_str().expect("text")])
    }

    /// Starts the process that the daemon queries.
    pub fn serve(&mut self) -> Client {
        let child = Command::new(WEIR)
            .args(["setup", "serve", "--config"])
            .arg(self.path("weir.toml"))
            .stderr(Stdio::null())
            .spawn()
            .expect("weir runs");
        self.serving = Some(child);
        let begin = Instant::now();
        // The socket exists shortly before the process listens.
        while UnixStream::connect(self.path("run/socket")).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(20), "nobody listens");
            sleep(Duration::from_millis(20));
        }
        Client::new(&self.path("run/socket")).expect("a client")
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        if let Some(mut child) = self.serving.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Guards of made changes end by themselves.
    }
}
