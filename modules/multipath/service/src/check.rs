//! Kernel features that multipath uses with a partner. Weir can work without: then uplinks are used
//! as routes say.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

use kernel::io::{Policy, try_rules};
use kernel::uplinks::{RoutingSnapshot, Uplink, Uplinks};

use super::commands;
use super::config::{Multipath, PathSettings};
use runtime::Error;
use runtime::check::{Feature, privileged};
use runtime::config::{Effective, Origin};

/// Switch of MPTCP; missing if the kernel has none.
const MPTCP: &str = "/proc/sys/net/mptcp/enabled";
/// Device that makes TUN devices.
const TUN: &str = "/dev/net/tun";

/// An expression of nft, in a rule as weir's own.
struct Expression {
    name: &'static str,
    min_version: &'static str,
    rule: &'static str,
    why_needed: &'static str,
    hint: &'static str,
}

const EXPRESSIONS: [Expression; 3] = [
    Expression {
        name: "nft tproxy",
        min_version: "4.19",
        rule: "meta nfproto ipv4 meta l4proto tcp tproxy ip to 127.0.0.1:9348",
        why_needed: "Redirects clients' connections to multipath.",
        hint: "use a kernel with CONFIG_NFT_TPROXY (kmod-nft-tproxy)",
    },
    Expression {
        name: "nft socket",
        min_version: "4.18",
        rule: "meta l4proto tcp socket transparent 1 accept",
        why_needed: "Distinguishes multipath's connections from others.",
        hint: "use a kernel with CONFIG_NFT_SOCKET (kmod-nft-socket)",
    },
    Expression {
        name: "nft fib",
        min_version: "4.10",
        rule: "fib daddr type != unicast return",
        why_needed: "Leaves connections to the router's own addresses alone.",
        hint: "use a kernel with CONFIG_NFT_FIB_INET (kmod-nft-fib)",
    },
];

/// Checks all features, if a partner is configured.
pub fn check(config: &Effective, daemon: Option<&api::Client>) -> Result<Vec<Feature>, Error> {
    let multipath = config.of::<Multipath>();
    if multipath.partner.is_none() && multipath.standby.is_empty() {
        return Ok(Vec::new());
    }
    let hinted: Vec<_> = config.named::<PathSettings>().keys().collect();
    let mut features = runtime::event_loop()?.block_on(features(&hinted));
    features.push(secret(multipath));
    features.extend(lock(multipath));
    features.extend(multipath.doubts().into_iter().map(|(what, hint)| Feature {
        name: "other partners".into(),
        min_version: None,
        present: false,
        required: false,
        why_needed: "Replace the first partner while it is not reached.".into(),
        detail: Some(what.into()),
        hint: Some(hint.into()),
    }));
    let paths: Option<answers::Paths> = daemon.and_then(|daemon| daemon.get("/v1/paths").ok());
    if let Some(paths) = paths {
        features.push(key(paths.keyless));
        features.extend(paths.partners.iter().map(partner));
        features.extend(forwards(&paths.forwards));
    }
    Ok(features)
}

/// Returns a row for each feature. `hinted`: devices with hints in the configuration.
async fn features(hinted: &[&String]) -> Vec<Feature> {
    let mut features = vec![mptcp(fs::read_to_string(MPTCP))];
    if privileged() {
        for expression in &EXPRESSIONS {
            features.push(tried(expression).await);
        }
        let policy = Policy::open().map_err(|error| error.to_string());
        let picture = policy.and_then(|mut policy| policy.snapshot().map_err(|e| e.to_string()));
        features.push(rules());
        features.extend(picture.ok().map(|picture| told_apart(&picture)));
        features.push(tun());
    }
    if !hinted.is_empty() {
        features.extend(unmatched(hinted));
    }
    features
}

/// Returns rows for devices with hints that are not uplinks: they may appear later.
fn unmatched(hinted: &[&String]) -> Vec<Feature> {
    let picture = Policy::open().ok().and_then(|mut p| p.snapshot().ok());
    let uplinks: Vec<_> = match picture {
        Some(picture) => picture.uplinks().into_iter().map(|u| u.name).collect(),
        None => return Vec::new(),
    };
    let missing = hinted.iter().filter(|name| !uplinks.contains(name));
    missing
        .map(|name| Feature {
            name: format!("uplink {name}"),
            min_version: None,
            present: false,
            required: false,
            why_needed: format!("[multipath.paths.{name}] sets its use."),
            detail: Some("no default route uses a device of this name at present".into()),
            hint: Some(match uplinks.is_empty() {
                true => "no uplink found: see `ip route`".into(),
                false => format!("uplinks are {}", uplinks.join(", ")),
            }),
        })
        .collect()
}

/// Checks that others cannot read the partner's secret.
fn secret(config: &Multipath) -> Feature {
    let exposed = config.exposed();
    Feature {
        name: "secret of the partner".into(),
        min_version: None,
        present: exposed.is_none(),
        required: false,
        why_needed: "Allows only this router to use its partner.".into(),
        detail: exposed.map(|(file, mode)| format!("others can read {file} (mode {mode:o})")),
        hint: exposed.map(|(file, _)| format!("chmod 600 {file}")),
    }
}

/// Checks the lock, if there is one.
fn lock(config: &Multipath) -> Option<Feature> {
    let Origin::File { name, .. } = &config.partner.origin else {
        return None;
    };
    let doubts = commands::lock::doubts(&commands::lock::file(Path::new(name)), config)?;
    let whats: Vec<_> = doubts.iter().map(|(what, _)| &**what).collect();
    Some(Feature {
        name: "lock".into(),
        min_version: None,
        present: doubts.is_empty(),
        required: false,
        why_needed: "Blocks clients' traffic that bypasses the partner.".into(),
        detail: (!whats.is_empty()).then(|| whats.join("; ")),
        hint: doubts.first().map(|(_, hint)| (*hint).to_owned()),
    })
}

/// Checks the router's own key, as a daemon has it. `keyless`: cause of a missing key.
fn key(keyless: Option<String>) -> Feature {
    let hint = "let weir write multipath.key next to its configuration, or delete the present one, \
        and restart weir";
    Feature {
        name: "key of this router".into(),
        min_version: None,
        present: keyless.is_none(),
        required: false,
        why_needed: "Invalidates a pairing line for others once this router has connected with it."
            .into(),
        hint: keyless.as_ref().map(|_| hint.into()),
        detail: keyless,
    }
}

/// Checks a partner, as a daemon has it.
fn partner(told: &answers::Candidate) -> Feature {
    let detail = match told.reached {
        None => Some("not tried yet".into()),
        Some(_) => told.problem.clone(),
    };
    Feature {
        name: format!("partner {}", told.partner),
        min_version: None,
        present: told.reached != Some(false),
        required: false,
        why_needed: match told.in_use {
            true => "Gives clients the sum of the uplinks, now.".into(),
            false => "Gives clients the sum of the uplinks if the other partners fail.".into(),
        },
        detail,
        hint: (told.reached == Some(false)).then(|| {
            "check that it runs, and that its firewall accepts TCP and UDP at that port".into()
        }),
    }
}

/// Checks the forwarded ports, as a daemon has them.
fn forwards(told: &[answers::Forward]) -> Vec<Feature> {
    let rows = told.iter().map(|forward| {
        let detail = match forward.granted {
            Some(true) => None,
            Some(false) => Some("the partner does not grant it to this router"),
            None => Some("the partner is not reached"),
        };
        Feature {
            name: format!("forward {}", forward.ports),
            min_version: None,
            present: forward.granted == Some(true),
            required: false,
            why_needed: format!("Leads to {}.", forward.to),
            detail: detail.map(str::to_owned),
            hint: (forward.granted == Some(false)).then(|| {
                format!(
                    "at the partner: weir multipath forward ROUTER {}",
                    forward.ports
                )
            }),
        }
    });
    rows.collect()
}

/// Checks MPTCP. `enabled`: content of the switch.
fn mptcp(enabled: io::Result<String>) -> Feature {
    let (present, detail, hint) = match enabled.as_deref().map(str::trim) {
        Ok("0") => (
            false,
            Some("net.mptcp.enabled is 0".to_owned()),
            Some("sysctl net.mptcp.enabled=1"),
        ),
        Ok(_) => (true, None, None),
        Err(_) => (
            false,
            None,
            Some("use a kernel with CONFIG_MPTCP and, for IPv6, CONFIG_MPTCP_IPV6"),
        ),
    };
    Feature {
        name: "MPTCP".into(),
        min_version: Some("5.6".into()),
        present,
        required: false,
        why_needed: "Lets one connection use several uplinks; without it, each uses one.".into(),
        detail,
        hint: hint.map(str::to_owned),
    }
}

async fn tried(expression: &Expression) -> Feature {
    let rules = format!(
        "table inet weir_check {{ chain c {{ type filter hook prerouting priority mangle; {}; }}; \
            }}",
        expression.rule
    );
    let refused = try_rules(&rules).await.err();
    Feature {
        name: expression.name.into(),
        min_version: Some(expression.min_version.into()),
        present: refused.is_none(),
        required: false,
        why_needed: expression.why_needed.into(),
        hint: refused.is_some().then(|| expression.hint.into()),
        // The first line has the cause; below it nft shows the rule.
        detail: refused.and_then(|said| said.lines().next().map(str::to_owned)),
    }
}

/// Reads the rules: a kernel without policy routing has not even the three default ones.
fn rules() -> Feature {
    let read = Policy::open()
        .map_err(|error| error.to_string())
        .and_then(|mut policy| policy.rules(false).map_err(|error| error.to_string()));
    let present = read.as_ref().is_ok_and(|rules| !rules.is_empty());
    Feature {
        name: "policy routing".into(),
        min_version: Some("2.2".into()),
        present,
        required: false,
        why_needed: "Sends each part of a connection over its own uplink.".into(),
        detail: read.err(),
        hint: (!present).then(|| "use a kernel with CONFIG_IP_MULTIPLE_TABLES".into()),
    }
}

/// Checks that uplinks differ: two modems of one make have equal addresses by default.
fn told_apart(picture: &RoutingSnapshot) -> Feature {
    let mut uplinks = Uplinks::default();
    uplinks.update(picture);
    let like = |twin: &Uplink| {
        let mut used = uplinks.now().iter();
        let other = used.find(|other| other.address == twin.address)?;
        let (name, address) = (&twin.name, twin.address);
        Some(format!(
            "{name} has the address {address} of {}",
            other.name
        ))
    };
    let twins: Vec<_> = uplinks.twins().iter().filter_map(like).collect();
    let present = twins.is_empty();
    Feature {
        name: "an address of its own for each uplink".into(),
        min_version: None,
        present,
        required: false,
        why_needed:
            "Distinguishes paths; of two with the same address one waits until the other fails."
                .into(),
        detail: (!present).then(|| twins.join("; ")),
        hint: (!present)
            .then(|| "give one of the two modems another network in its settings".into()),
    }
}

/// Checks TUN; opening it makes no device yet.
fn tun() -> Feature {
    let opened = fs::OpenOptions::new().read(true).write(true).open(TUN);
    Feature {
        name: "TUN".into(),
        min_version: Some("2.4".into()),
        present: opened.is_ok(),
        required: false,
        why_needed: "Carries traffic other than TCP to the partner.".into(),
        hint: opened.is_err().then(|| {
            "load tun, or use a kernel with CONFIG_TUN (kmod-tun); in a container, pass \
                /dev/net/tun into it"
                .into()
        }),
        detail: opened.err().map(|error| format!("{TUN}: {error}")),
    }
}
