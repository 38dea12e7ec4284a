//! Requirements of a configured portal on the machine, and conflicts with the machine's setup.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kernel::Prefix;
use kernel::io::try_rules;
use portal_core::rates::RateLimits;
use portal_core::rules;
use portal_core::walled_garden::Question;
use serde::Deserialize;

use super::config::{Portal, Radius};
use super::foreign_rules;
use super::radius::Client;
use super::resolver;
use super::sockets::{NAMES, PAGE, SECURE};
use runtime::Error;
use runtime::check::{Feature, privileged};
use runtime::config::Effective;
use runtime::daemon::ruleset::read_ruleset;

/// Folder that lists the network devices.
const DEVICES: &str = "/sys/class/net";

/// Runs all checks.
pub fn check(config: &Effective, _: Option<&api::Client>) -> Result<Vec<Feature>, Error> {
    let portal = config.of::<Portal>();
    if portal.devices.is_empty() {
        return Ok(Vec::new());
    }
    let devices = portal.devices.iter();
    let mut features: Vec<_> = devices
        .map(|name| device(&name.0, Path::new(DEVICES)))
        .collect();
    features.push(encrypted(portal));
    features.extend(name_server(portal)?);
    features.extend(accounts(portal, config.of::<Radius>())?);
    if privileged() {
        let (refused, read) = runtime::event_loop()?.block_on(async {
            let table = rules::create(
                &rules(portal),
                &rules::AdmittedDevices::These(&[], &RateLimits::default(), Some(1000)),
            );
            (
                try_rules(&table).await.err(),
                read_ruleset(Vec::new()).await,
            )
        });
        features.push(table(refused));
        if let Ok(read) = read {
            features.push(flowtables(&read.text));
            features.extend(foreign_rules::features(&read.text, &rules(portal)));
        }
    }
    features.push(garden(&portal.garden.networks()));
    Ok(features)
}

/// Checks HTTPS: it protects the input of guests if the page has a name and a certificate.
fn encrypted(portal: &Portal) -> Feature {
    let present = portal.host.0.is_some();
    Feature {
        name: "HTTPS of the guests' page".into(),
        present,
        why_needed: "Without HTTPS, others at the portal's devices can read the traffic.".into(),
        detail: (!present).then(|| {
            format!("others can read the codes and passwords that guests type: port {PAGE} is HTTP")
        }),
        hint: (!present).then(|| {
            "set `host` under [portal], with a certificate that guests' devices trust".into()
        }),
        ..Feature::default()
    }
}

/// Returns the rules that the firewall is to have.
pub fn rules(portal: &Portal) -> rules::TableSettings {
    rules::TableSettings {
        devices: portal
            .devices
            .iter()
            .map(|device| device.0.clone())
            .collect(),
        page: PAGE,
        secure: portal.host.0.is_some().then_some(SECURE),
        names: NAMES,
        garden: portal.garden.networks(),
    }
}

/// Checks the router's own name server, which resolves names in the walled garden.
fn name_server(portal: &Portal) -> Result<Option<Feature>, Error> {
    let names = portal.garden.names();
    let Some(name) = names.first() else {
        return Ok(None);
    };
    let question = Question {
        name: name.host().to_owned(),
        ipv6: false,
    };
    let server = portal.resolver.0.unwrap_or_else(resolver::of_the_system);
    let said = runtime::event_loop()?.block_on(resolver::ask(server, &question));
    Ok(Some(Feature {
        name: format!("name server {server} for the walled garden"),
        min_version: None,
        present: said.is_ok(),
        required: false,
        why_needed: "Resolves the names under `garden`.".into(),
        detail: said.as_ref().err().map(ToString::to_string),
        hint: said
            .is_err()
            .then(|| "start it, or name another by `resolver` under [portal]".to_owned()),
    }))
}

/// Checks that RADIUS servers send valid replies, and that accounts are typed into a secure page.
fn accounts(portal: &Portal, radius: &Radius) -> Result<Vec<Feature>, Error> {
    let why_needed = "Authenticates guests with accounts.";
    let feature = |name: String, why_needed: &str, wrong: Option<String>, hint: &str| Feature {
        name,
        min_version: None,
        present: wrong.is_none(),
        required: false,
        why_needed: why_needed.to_owned(),
        hint: wrong.is_some().then(|| hint.to_owned()),
        detail: wrong,
    };
    let client = match Client::open(radius) {
        Ok(None) => return Ok(Vec::new()),
        Ok(Some(client)) => client,
        Err(error) => {
            let wrong = Some(error.to_string());
            let hint = "see `secret` under [portal.radius]";
            let name = "secret of the RADIUS server".to_owned();
            return Ok(vec![feature(name, why_needed, wrong, hint)]);
        }
    };
    let file = radius.secret.0.as_deref();
    let mode = file.and_then(|file| Some(std::fs::metadata(file).ok()?.permissions().mode()));
    let open = mode.is_some_and(|mode| mode & 0o007 != 0);
    let private = feature(
        "secret of the RADIUS server is for root alone".to_owned(),
        "The secret allows anyone to accept accounts.",
        open.then(|| "every user of this machine can read or write its file".to_owned()),
        "remove these rights: `chmod 600`",
    );
    let tried = runtime::event_loop()?.block_on(client.try_out());
    let servers = tried.into_iter().map(|(server, said)| {
        let hint = "see `servers` and `secret` under [portal.radius], and the server's entry for \
            this router's address";
        let name = format!("RADIUS server {server}");
        feature(name, why_needed, said.err(), hint)
    });
    let clear = portal.host.0.is_none().then(|| {
        "they are sent by HTTP: anyone who receives the guests' network, such as open Wi-Fi, can \
            read them"
            .to_owned()
    });
    let hint = "set `host` under [portal], with a certificate";
    let hidden = feature(
        "names and passwords of accounts go by HTTPS".to_owned(),
        "Protects accounts from other guests.",
        clear,
        hint,
    );
    Ok(servers.chain([private, hidden]).collect())
}

/// Checks that the device is not a port of a bridge: the bridge forwards packets of its ports, and
/// the portal would see none of them.
fn device(name: &str, devices: &Path) -> Feature {
    let here = devices.join(name);
    let bridge = std::fs::read_link(here.join("brport/bridge"));
    let (detail, hint) = match (here.exists(), bridge) {
        (false, _) => (
            Some("the device is not present".to_owned()),
            Some("it may appear later; see `ip link`".to_owned()),
        ),
        (true, Ok(bridge)) => {
            let bridge = bridge
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            (
                Some(format!(
                    "it is a member of {bridge}, which has the addresses"
                )),
                Some(format!("write \"{bridge}\" instead under [portal]")),
            )
        }
        (true, Err(_)) => (None, None),
    };
    Feature {
        name: format!("portal device {name}"),
        min_version: None,
        present: detail.is_none(),
        required: false,
        why_needed: "Guests reach the portal at this device.".into(),
        detail,
        hint,
    }
}

fn table(refused: Option<String>) -> Feature {
    Feature {
        name: "nft redirect, reject, sets with time-outs".into(),
        min_version: Some("4.18".into()),
        present: refused.is_none(),
        required: false,
        why_needed: "Redirects guests to the portal, and rejects their other traffic.".into(),
        hint: refused.is_some().then(|| {
            "use a kernel with CONFIG_NFT_REDIR, CONFIG_NFT_REJECT_INET, CONFIG_NFT_FIB_INET and \
                CONFIG_NFT_NAT (kmod-nft-nat, kmod-nft-fib, kmod-nft-core)"
                .into()
        }),
        // The first line has the error; below it nft shows the rule.
        detail: refused.and_then(|said| said.lines().next().map(str::to_owned)),
    }
}

/// Checks the walled garden: a network of prefix length 0 contains everything.
fn garden(garden: &[Prefix]) -> Feature {
    let everything: Vec<_> = garden.iter().filter(|prefix| prefix.length == 0).collect();
    let named = everything.iter().map(ToString::to_string);
    let named = named.collect::<Vec<_>>().join(" and ");
    Feature {
        name: "the walled garden is limited".into(),
        min_version: None,
        present: everything.is_empty(),
        required: false,
        why_needed: "Everyone may reach the walled garden without a voucher.".into(),
        detail: (!named.is_empty()).then(|| format!("it contains {named}: everything is open")),
        hint: (!named.is_empty()).then(|| "remove that from `garden` under [portal]".into()),
    }
}

/// Returns true if the table is unchanged: `ruleset` is the output of `nft --json list ruleset`.
/// `None`: the table does not exist.
pub fn is_whole(ruleset: &str) -> Option<bool> {
    #[derive(Deserialize)]
    struct Listing {
        nftables: Vec<Object>,
    }
    #[derive(Deserialize)]
    struct Object {
        rule: Option<Rule>,
    }
    #[derive(Deserialize)]
    struct Rule {
        family: String,
        table: String,
        chain: String,
    }
    if !ruleset.contains(rules::TABLE) {
        return None;
    }
    let listing = serde_json::from_str::<Listing>(ruleset).ok();
    let objects = listing.into_iter().flat_map(|listing| listing.nftables);
    let mut found = BTreeMap::<String, usize>::new();
    for rule in objects.filter_map(|object| object.rule) {
        if rule.family == "inet" && rule.table == rules::TABLE {
            *found.entry(rule.chain).or_default() += 1;
        }
    }
    Some(rules::counts().all(|(chain, count)| found.get(chain) == Some(&count)))
}

/// Checks for flowtables. Packets that a flowtable forwards skip all rules, also the portal's,
/// until the conntrack entry ends. weir removes that entry when a guest's time is over; without
/// weir, the entry stays.
fn flowtables(ruleset: &str) -> Feature {
    #[derive(Deserialize)]
    struct Listing {
        nftables: Vec<Object>,
    }
    #[derive(Deserialize)]
    struct Object {
        flowtable: Option<Flowtable>,
    }
    #[derive(Deserialize)]
    struct Flowtable {
        table: String,
        name: String,
    }
    let listing = serde_json::from_str::<Listing>(ruleset).ok();
    let objects = listing.into_iter().flat_map(|listing| listing.nftables);
    let found: Vec<_> = objects
        .filter_map(|object| object.flowtable)
        .map(|flowtable| format!("{} {}", flowtable.table, flowtable.name))
        .collect();
    Feature {
        name: "no flowtable beside the portal".into(),
        min_version: None,
        present: found.is_empty(),
        required: false,
        why_needed: "Traffic in a flowtable passes no rule: only weir itself ends it with a \
            guest's time."
            .into(),
        detail: (!found.is_empty()).then(|| format!("there is {}", found.join(", "))),
        hint: (!found.is_empty()).then(|| {
            "switch flow offloading off (OpenWrt: flow_offloading '0' in /etc/config/firewall); \
                weir replaces it"
                .into()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_a_bridge_is_told_from_the_bridge() {
        let folder = std::env::temp_dir().join(format!("weir-portal-check-{}", std::process::id()));
        let port = folder.join("lan1/brport");
        std::fs::create_dir_all(&port).expect("a folder");
        std::fs::create_dir_all(folder.join("br-lan")).expect("a folder");
        std::os::unix::fs::symlink("../../br-lan", port.join("bridge")).expect("a link");
        let (bridge, member) = (device("br-lan", &folder), device("lan1", &folder));
        let none = device("wlan7", &folder);
        std::fs::remove_dir_all(&folder).expect("removed");
        assert!(bridge.present);
        assert!(!member.present && member.hint.expect("a hint").contains("\"br-lan\""));
        assert!(!none.present);
    }

    #[test]
    fn a_page_of_guests_without_https_is_told() {
        let portal = |text: &str| {
            let text = format!("[portal]\ndevices = [\"br-lan\"]\n{text}");
            let sections = super::super::config::SECTIONS;
            let effective = runtime::config::parse(&sections, &text, "weir.toml").expect("good");
            encrypted(effective.of())
        };
        let open = portal("");
        assert!(!open.present && open.detail.expect("a detail").contains("codes"));
        assert!(portal("host = \"portal.example.net\"\n").present);
    }

    #[test]
    fn a_garden_of_everything_is_named() {
        let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
        let all = garden(&[
            prefix("198.51.100.0/24"),
            prefix("0.0.0.0/0"),
            prefix("::/0"),
        ]);
        let wanted = "it contains 0.0.0.0/0 and ::/0: everything is open";
        assert_eq!(all.detail.as_deref(), Some(wanted));
        assert!(garden(&[prefix("198.51.100.0/24")]).present && garden(&[]).present);
    }

    #[test]
    fn a_flowtable_is_named() {
        let listing = r#"{"nftables": [{"metainfo": {"version": "1.0.6"}},
            {"flowtable": {"family": "inet", "name": "ft", "table": "fw4", "handle": 4,
            "hook": "ingress", "prio": 0, "dev": ["lan0"]}}]}"#;
        let found = flowtables(listing);
        assert_eq!(found.detail.as_deref(), Some("there is fw4 ft"));
        assert!(flowtables(r#"{"nftables": []}"#).present);
    }
}
