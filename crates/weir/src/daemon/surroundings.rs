//! What no event tells: drivers, sysctls, the ruleset's text. Looked at when something suggests that it changed.

use std::time::{Duration, Instant};

use kernel::{Link, facts, io::Netdev};
use offload::PortFacts;
use offload::ruleset::{self, Finding, Kind};
use tracing::debug;

/// The ruleset is read again at most this often.
const RULESET_PAUSE: Duration = Duration::from_secs(1);

/// What looking around found.
pub struct Surroundings {
    netdev: Option<Netdev>,
    /// Rules that need each packet, and ingress chains, as last read.
    pub findings: Vec<Finding>,
    stale: bool,
    read: Option<Instant>,
}

impl Surroundings {
    /// Opens what is needed to look.
    pub fn new() -> Self {
        let netdev = Netdev::open().unwrap_or_else(|error| {
            debug!(%error, "no netdev family");
            None
        });
        Self {
            netdev,
            findings: Vec::new(),
            stale: true,
            read: None,
        }
    }

    /// Whether the kernel tells what drivers can do.
    pub fn knows_drivers(&self) -> bool {
        self.netdev.is_some()
    }

    /// The ruleset is no longer what was read.
    pub fn firewall_changed(&mut self) {
        self.stale = true;
    }

    /// Whether the ruleset is to be read now.
    pub fn due(&self) -> bool {
        self.stale && self.read.is_none_or(|at| at.elapsed() >= RULESET_PAUSE)
    }

    /// The ruleset is being read.
    pub fn reading(&mut self) {
        self.stale = false;
        self.read = Some(Instant::now());
    }

    /// What is known of a device, brought up to date. What was learned by trying (`xdp_refused`, …) stays.
    pub fn facts(&mut self, link: &Link, known: PortFacts, own_program: Option<u32>) -> PortFacts {
        let (forwarding_v4, forwarding_v6) = facts::forwarding(&link.name).unwrap_or_default();
        let features = self
            .netdev
            .as_mut()
            .and_then(|n| n.xdp_features(link.index).ok().flatten());
        let ingress_chains = chains(&self.findings, Kind::IngressChain, &link.name);
        let egress_chains = chains(&self.findings, Kind::EgressChain, &link.name);
        PortFacts {
            driver: if link.kind.is_empty() {
                facts::driver(&link.name).unwrap_or_default()
            } else {
                link.kind.clone()
            },
            xdp_features: features.map(|f| f.0),
            forwarding_v4,
            forwarding_v6,
            own_program,
            ingress_chains,
            egress_chains,
            ..known
        }
    }
}

/// Chains at the ingress or egress of a device, which frames that weir forwards would pass by. A chain whose device `nft` did not
/// tell may be at any.
fn chains(findings: &[Finding], kind: Kind, device: &str) -> Vec<String> {
    findings
        .iter()
        .filter(|f| {
            f.kind == kind && (f.devices.is_empty() || f.devices.iter().any(|d| d == device))
        })
        .map(|f| format!("{} {} {}", f.family, f.table, f.chain))
        .collect()
}

/// Reads the ruleset with `nft`. No `nft`: nothing is found, and `weir check` says so.
pub async fn read_ruleset() -> Result<Vec<Finding>, String> {
    let output = tokio::process::Command::new("nft")
        .args(["--json", "--terse", "list", "ruleset"])
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(Duration::from_secs(10), output).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("nft cannot be run: {error}")),
        Err(_) => return Err("nft did not answer within 10 seconds".into()),
    };
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    ruleset::examine(&String::from_utf8_lossy(&output.stdout)).map_err(|e| e.to_string())
}
