//! OpenWrt's firewall: checks whether it accepts the rules of the configuration.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time for the firewall to load its rules after services were notified.
const LOADING: Duration = Duration::from_secs(5);
/// Maximum bytes of the firewall's output that are shown.
const SHOWN: usize = 400;

/// OpenWrt's firewall, fw4.
pub struct Ruleset {
    fw4: PathBuf,
    nft: PathBuf,
}

impl Ruleset {
    /// Returns the firewall below a root. `None`: fw4 is not installed.
    pub fn of(root: &Path) -> Option<Ruleset> {
        let fw4 = root.join("sbin/fw4");
        fw4.exists().then(|| Ruleset {
            fw4,
            nft: root.join("usr/sbin/nft"),
        })
    }

    /// Makes fw4 generate its rules from the configuration, and nft check whether the kernel
    /// accepts them. Loads nothing.
    pub fn check(&self) -> io::Result<()> {
        let done = Command::new(&self.fw4)
            .arg("check")
            .stdin(Stdio::null())
            .output()?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        // Warnings of fw4 come first.
        let errors = said.lines().skip_while(|line| !line.contains("Error"));
        let errors: Vec<&str> = errors.take(2).map(str::trim).collect();
        let errors = errors.join(" ");
        let text = if errors.is_empty() {
            said.trim()
        } else {
            &errors
        };
        let end = text.floor_char_boundary(SHOWN);
        Err(io::Error::other(format!(
            "fw4 check: {}",
            text.get(..end).unwrap_or_default()
        )))
    }

    /// Returns true if the rules are in the kernel.
    pub fn is_loaded(&self) -> bool {
        let listed = Command::new(&self.nft)
            .args(["list", "table", "inet", "fw4"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        listed.is_ok_and(|status| status.success())
    }

    /// Waits until the rules are in the kernel, for as long as the firewall may take.
    pub fn becomes_loaded(&self) -> bool {
        let begin = Instant::now();
        loop {
            if self.is_loaded() {
                return true;
            }
            if begin.elapsed() > LOADING {
                return false;
            }
            sleep(Duration::from_millis(200));
        }
    }
}

/// Returns true if the firewall makes its rules of one of these files.
pub fn concerns<'a>(root: &Path, mut paths: impl Iterator<Item = &'a Path>) -> bool {
    let of = ["firewall", "network"].map(|name| root.join(name));
    paths.any(|path| of.iter().any(|file| file == path))
}
