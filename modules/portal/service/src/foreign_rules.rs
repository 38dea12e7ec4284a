//! Foreign firewall rules that conflict with the portal, each with a hint: pure.

use portal_core::rules;
use serde_json::Value;

use super::rule_trace::{BaseChain, Packet, Ruleset};
use super::sockets::{NAMES, PAGE};
use runtime::check::Feature;

/// Before the portal's own chain (`dstnat - 10`): packets redirected there never reach that chain.
const EARLIER: i64 = -110;
/// First packets of a guest: names, pages, others.
const FIRST: [(&str, u16); 5] = [
    ("udp", 53),
    ("tcp", 53),
    ("tcp", 80),
    ("tcp", 443),
    ("udp", 443),
];

/// Returns all checks of the output of `nft --json list ruleset`.
pub fn features(text: &str, portal: &rules::TableSettings) -> Vec<Feature> {
    let ruleset = Ruleset::read(text, rules::TABLE);
    vec![
        others(text),
        untracked(&ruleset, &portal.devices),
        elsewhere(&ruleset, &portal.devices),
        refused(&ruleset, portal),
    ]
}

fn feature(name: &str, why: &str, found: &[String], hint: &str) -> Feature {
    let wrong = !found.is_empty();
    Feature {
        name: name.into(),
        min_version: None,
        present: !wrong,
        required: false,
        why_needed: why.into(),
        detail: wrong.then(|| found.join("; ")),
        hint: wrong.then(|| hint.into()),
    }
}

/// Removes duplicates; the order stays.
fn once(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Detects other portals by the names of their tables, chains and sets.
fn others(text: &str) -> Feature {
    let root: Value = serde_json::from_str(text).unwrap_or_default();
    let objects = root.get("nftables").and_then(Value::as_array);
    let found = objects.into_iter().flatten().filter_map(|object| {
        let (kind, body) = object.as_object()?.iter().next()?;
        let name = body.get("name")?.as_str()?;
        let nds = || {
            let behind = name.strip_prefix("nds")?;
            behind
                .starts_with(|first: char| first == '_' || first.is_ascii_uppercase())
                .then_some("openNDS or nodogsplash")
        };
        let whose = match kind.as_str() {
            "table" if name == "pirania" => "Pirania",
            "table" | "set" | "chain" if name.starts_with("uspot") => "uspot",
            "table" | "chain" => nds()?,
            _ => return None,
        };
        Some(whose.to_owned())
    });
    feature(
        "weir is the only portal",
        "Two portals redirect each other's pages.",
        &once(found.map(|whose| format!("there are rules of {whose}"))),
        "stop and disable it: `captive_portal stop`, or `service NAME stop` and \
            `service NAME disable`",
    )
}

/// Returns the effect of foreign rules on the first packets of guests, before the portal sees them.
fn done<'a>(
    bases: impl Iterator<Item = &'a BaseChain>,
    ruleset: &Ruleset,
    devices: &[String],
    (first, wanted): (&[(&str, u16)], &[&str]),
) -> Vec<String> {
    let mut found = Vec::new();
    for base in bases {
        for device in devices {
            let hit = first.iter().filter(|(protocol, port)| {
                let packet = Packet {
                    device,
                    protocol,
                    port: *port,
                    redirected: false,
                };
                ruleset.does(base, &packet, wanted)
            });
            let hit: Vec<_> = hit
                .map(|(protocol, port)| format!("{protocol} {port}"))
                .collect();
            if !hit.is_empty() {
                let BaseChain { table, name, .. } = base;
                let hit = hit.join(", ");
                found.push(format!("{table} {name} has {hit} from {device}"));
            }
        }
    }
    found
}

/// Checks for untracked packets: without conntrack no connection is redirected, and guests stay
/// out.
fn untracked(ruleset: &Ruleset, devices: &[String]) -> Feature {
    let bases = ruleset.at("prerouting");
    feature(
        "guests' connections are tracked",
        "The portal can neither redirect nor admit untracked traffic.",
        &done(bases, ruleset, devices, (&FIRST, &["notrack"])),
        "exclude guests' devices from rules with `notrack`",
    )
}

fn elsewhere(ruleset: &Ruleset, devices: &[String]) -> Feature {
    let earlier = |base: &&BaseChain| base.kind == "nat" && base.priority < EARLIER;
    let bases = ruleset.at("prerouting").filter(earlier);
    feature(
        "names and pages of guests lead to the portal",
        "The portal does not see traffic that earlier rules redirect.",
        &done(
            bases,
            ruleset,
            devices,
            (&FIRST[..3], &["redirect", "dnat"]),
        ),
        "give that chain the priority `dstnat`, or exclude guests' devices from its rules",
    )
}

/// Checks that foreign rules accept the page, if guests request it themselves; and DNS queries,
/// which are redirected to this router.
fn refused(ruleset: &Ruleset, portal: &rules::TableSettings) -> Feature {
    let secure = portal.secure.map(|port| ("tcp", port, false));
    let wanted = [
        ("tcp", PAGE, false),
        ("udp", NAMES, true),
        ("tcp", NAMES, true),
    ];
    let wanted: Vec<_> = wanted.into_iter().chain(secure).collect();
    let mut found = Vec::new();
    for base in ruleset.at("input") {
        for device in &portal.devices {
            let refused = wanted.iter().filter(|(protocol, port, redirected)| {
                let packet = Packet {
                    device,
                    protocol,
                    port: *port,
                    redirected: *redirected,
                };
                ruleset.refuses(base, &packet)
            });
            let refused: Vec<_> = refused
                .map(|(protocol, port, _)| format!("{protocol} {port}"))
                .collect();
            if !refused.is_empty() {
                let BaseChain { table, name, .. } = base;
                let refused = refused.join(", ");
                found.push(format!("{table} {name} refuses {refused} from {device}"));
            }
        }
    }
    feature(
        "the firewall lets guests to the portal",
        "Guests must reach the page to log in.",
        &found,
        "accept these ports in that chain \
            (OpenWrt: a rule of the zone with target ACCEPT for each)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENNDS: &str = include_str!("../tests/rulesets/opennds.json");
    const PIRANIA: &str = include_str!("../tests/rulesets/pirania.json");
    const GUEST_ZONE: &str = include_str!("../tests/rulesets/fw4-guest.json");
    const EARLY: &str = include_str!("../tests/rulesets/early.json");

    fn found(text: &str, devices: &[&str]) -> Vec<String> {
        let portal = rules::TableSettings {
            devices: devices.iter().map(|device| (*device).to_owned()).collect(),
            ..rules::TableSettings::default()
        };
        let all = features(text, &portal);
        assert!(all.iter().all(|one| one.present == one.hint.is_none()));
        all.into_iter().filter_map(|one| one.detail).collect()
    }

    #[test]
    fn other_portals_are_named() {
        let said = found(PIRANIA, &["lan0"]);
        assert_eq!(said, ["there are rules of Pirania"]);
        let said = found(OPENNDS, &["lan0"]);
        assert_eq!(said, ["there are rules of openNDS or nodogsplash"]);
    }

    /// A guest zone of OpenWrt refuses unaccepted packets, but accepts redirected ones.
    #[test]
    fn a_firewall_that_refuses_guests_is_named() {
        let said = found(GUEST_ZONE, &["br-guest", "br-lan"]);
        assert_eq!(said, ["inet fw4 input refuses tcp 2080 from br-guest"]);
        assert!(found(GUEST_ZONE, &["br-lan"]).is_empty());
        let by_https = rules::TableSettings {
            devices: vec!["br-guest".to_owned()],
            secure: Some(2443),
            ..rules::TableSettings::default()
        };
        let said = features(GUEST_ZONE, &by_https)
            .pop()
            .and_then(|one| one.detail);
        let all = "tcp 2080, tcp 2443";
        assert_eq!(
            said,
            Some(format!("inet fw4 input refuses {all} from br-guest"))
        );
        // The packet matches no rule of a zone, but the last one, for all others.
        let said = found(GUEST_ZONE, &["br-new"]);
        let all = "tcp 2080, udp 2053, tcp 2053";
        assert_eq!(said, [format!("inet fw4 input refuses {all} from br-new")]);
        let policy = GUEST_ZONE.replace("\"target\": \"handle_reject\"", "\"target\": \"empty\"");
        assert!(found(&policy, &["br-new"])[0].contains("refuses tcp 2080"));
        let open = policy.replace("\"policy\": \"drop\"", "\"policy\": \"accept\"");
        assert!(found(&open, &["br-new"]).is_empty());
    }

    #[test]
    fn what_happens_before_the_portal_is_named() {
        let said = found(EARLY, &["lan0"]);
        assert_eq!(
            said,
            [
                "ip raw prerouting has udp 53 from lan0",
                "ip proxy prerouting has tcp 80 from lan0"
            ]
        );
        let said = found(EARLY, &["lan1"]);
        let all = "udp 53, tcp 53, tcp 80, tcp 443, udp 443";
        assert_eq!(said[0], format!("ip raw prerouting has {all} from lan1"));
        assert_eq!(said[1], "ip proxy prerouting has udp 53 from lan1");
        assert!(found(EARLY, &["lan2"]).is_empty());
    }

    /// The zone of devices that firewalld does not know.
    #[test]
    fn firewalld_refuses_guests() {
        let text = include_str!("../../../offload/core/tests/rulesets/firewalld.json");
        let said = found(text, &["lan0"]);
        assert_eq!(
            said,
            ["inet firewalld filter_INPUT refuses tcp 2080 from lan0"]
        );
    }

    /// Foreign rulesets that admit guests to the router, or where the result is unknown.
    #[test]
    fn nothing_is_said_that_is_not_sure() {
        for (text, device) in [
            (
                include_str!("../../../offload/core/tests/rulesets/fw4.json"),
                "br-lan",
            ),
            (
                include_str!("../../../offload/core/tests/rulesets/fw4-banip-sqm.json"),
                "br-lan",
            ),
            (
                include_str!("../../../offload/core/tests/rulesets/docker.json"),
                "lan0",
            ),
            (
                include_str!("../../../offload/core/tests/rulesets/ufw.json"),
                "lan0",
            ),
            (
                include_str!("../../../offload/core/tests/rulesets/mwan3.json"),
                "br-lan",
            ),
            ("{}", "lan0"),
            ("nonsense", "lan0"),
        ] {
            assert_eq!(found(text, &[device]), Vec::<String>::new(), "{device}");
        }
    }
}
