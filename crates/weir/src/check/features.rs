//! What of the kernel weir uses: one row each.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

use caps::{CapSet, Capability};
use datapath::probe::{self, Ability};
use kernel::facts::{self, ConntrackSettings};
use kernel::io::{Events, Requests};
use kernel::{ConnectionId, Event, Protocol, Source, Tuple};

use super::Feature;
use crate::config::Effective;
use crate::daemon::settings;
use crate::output::units;

/// The oldest kernel that weir is made for.
const OLDEST: (u32, u32) = (5, 15);

/// An ability of the packet path's part of the kernel, and what weir does with it.
struct Row {
    ability: Ability,
    name: &'static str,
    min_version: &'static str,
    required: bool,
    why_needed: &'static str,
    mend: &'static str,
}

const CONFIGURE: &str = "use a kernel that is new enough, built with CONFIG_BPF_SYSCALL=y";

const ROWS: [Row; 10] = [
    Row {
        ability: Ability::Xdp,
        name: "XDP programs",
        min_version: "4.8",
        required: true,
        why_needed: "Packets are forwarded in the driver by one.",
        mend: "use a kernel built with CONFIG_BPF_SYSCALL=y and CONFIG_NET=y",
    },
    Row {
        ability: Ability::MmapableArray,
        name: "mappable arrays",
        min_version: "5.5",
        required: true,
        why_needed: "The flow table is shared with the kernel through memory.",
        mend: CONFIGURE,
    },
    Row {
        ability: Ability::Devmap,
        name: "DEVMAP",
        min_version: "4.14",
        required: true,
        why_needed: "XDP sends packets out of other devices through it.",
        mend: CONFIGURE,
    },
    Row {
        ability: Ability::Jiffies,
        name: "bpf_jiffies64",
        min_version: "5.6",
        required: true,
        why_needed: "The packet path reads the time by it.",
        mend: CONFIGURE,
    },
    Row {
        ability: Ability::AtomicFetch,
        name: "atomics with fetch",
        min_version: "5.12",
        required: true,
        why_needed: "Processors share the flow table without a lock.",
        mend: "use a newer kernel, on a machine whose BPF compiler has them (32-bit ones may not)",
    },
    Row {
        ability: Ability::SyscallProgram,
        name: "syscall programs",
        min_version: "5.14",
        required: true,
        why_needed: "The heartbeat, and the end of all proofs, are run as one.",
        mend: CONFIGURE,
    },
    Row {
        ability: Ability::Tcx,
        name: "TCX",
        min_version: "6.6",
        required: false,
        why_needed: "Attaches at TC so that nothing is left behind after a crash; clsact serves too.",
        mend: "none needed; a newer kernel has it",
    },
    Row {
        ability: Ability::Clsact,
        name: "clsact",
        min_version: "4.5",
        // Only where there is no TCX.
        required: false,
        why_needed: "Attaches at TC where there is no TCX.",
        mend: "use a kernel built with CONFIG_NET_SCH_INGRESS and CONFIG_NET_CLS_BPF (kmod-sched-core, kmod-sched-bpf)",
    },
    Row {
        ability: Ability::XdpFragments,
        name: "XDP multi-buffer",
        min_version: "5.18",
        required: false,
        why_needed: "Jumbo frames, and drivers that gather frames, run XDP only with it.",
        mend: "none needed with an MTU of 1500; else use a newer kernel, or hook \"tc\"",
    },
    Row {
        ability: Ability::Jit,
        name: "BPF JIT",
        min_version: "4.15",
        required: false,
        why_needed: "Without machine code each packet costs several times as much.",
        mend: "sysctl net.core.bpf_jit_enable=1, in a kernel built with CONFIG_BPF_JIT=y",
    },
];

/// Version, privileges, and what the packet path needs of BPF.
pub fn of_bpf(release: &str) -> Vec<Feature> {
    let mut features = vec![version(release), privileges()];
    let privileged = features[1].present;
    if privileged {
        let refused = probe::probe(Ability::Bpf).err();
        features.push(Feature {
            name: "bpf()".into(),
            min_version: Some("3.18".into()),
            present: refused.is_none(),
            required: true,
            why_needed: "Programs and tables are made by this system call.".into(),
            mend: refused.is_some().then(|| {
                "run outside of a container or a user namespace, on a kernel with CONFIG_BPF_SYSCALL=y, not locked down".into()
            }),
            detail: refused.as_ref().map(ToString::to_string),
        });
        // What bpf() refuses altogether says nothing about the rest.
        if refused.is_none() {
            features.extend(ROWS.iter().map(tried));
            need_one_of("TCX", "clsact", &mut features);
            features.push(packet_path());
        }
    }
    let btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    features.push(Feature {
        name: "BTF".into(),
        min_version: Some("5.2".into()),
        present: btf,
        required: false,
        why_needed: "Nothing in this version; it will tell what the firewall dropped.".into(),
        detail: None,
        mend: (!btf)
            .then(|| "none needed; CONFIG_DEBUG_INFO_BTF=y makes the kernel larger".into()),
    });
    features
}

fn version(release: &str) -> Feature {
    let present = parse(release).is_none_or(|version| version >= OLDEST);
    Feature {
        name: "kernel".into(),
        min_version: Some(format!("{}.{}", OLDEST.0, OLDEST.1)),
        present,
        // What counts is whether the packet path loads: distributions carry features back.
        required: false,
        why_needed: "Older kernels lack something, unless their distribution added it.".into(),
        detail: (!present).then(|| release.to_owned()),
        mend: (!present).then(|| "use a newer kernel, if anything below is missing".into()),
    }
}

/// `6.1.0-50-amd64` to 6 and 1.
fn parse(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn privileges() -> Feature {
    let missing: Vec<String> = [
        Capability::CAP_NET_ADMIN,
        Capability::CAP_BPF,
        Capability::CAP_PERFMON,
    ]
    .into_iter()
    .filter(|capability| !caps::has_cap(None, CapSet::Effective, *capability).unwrap_or(false))
    .map(|capability| capability.to_string())
    .collect();
    let present = missing.is_empty();
    Feature {
        name: "privileges".into(),
        min_version: None,
        present,
        required: true,
        why_needed: "Attaching to devices and loading programs is for root.".into(),
        detail: (!present).then(|| {
            format!(
                "not here: {}; what needs them was not tried",
                missing.join(", ")
            )
        }),
        mend: (!present).then(|| "run it as root".into()),
    }
}

fn tried(row: &Row) -> Feature {
    let refused = probe::probe(row.ability).err();
    Feature {
        name: row.name.into(),
        min_version: Some(row.min_version.into()),
        present: refused.is_none(),
        required: row.required,
        why_needed: row.why_needed.into(),
        mend: refused.is_some().then(|| row.mend.into()),
        detail: refused.map(|error| error.to_string()),
    }
}

/// Of two features one is required, whichever.
fn need_one_of(first: &str, second: &str, features: &mut [Feature]) {
    let has = |name: &str, all: &[Feature]| all.iter().any(|f| f.name == name && f.present);
    if !has(first, features)
        && let Some(second) = features.iter_mut().find(|f| f.name == second)
    {
        second.required = true;
    }
}

/// The proof of the pudding: all programs through the verifier, and attached.
fn packet_path() -> Feature {
    let refused = probe::rehearse().err();
    Feature {
        name: "the packet path".into(),
        min_version: None,
        present: refused.is_none(),
        required: true,
        why_needed: "All of it together: loaded, verified, run and attached at TC, where nothing passes.".into(),
        mend: refused
            .is_some()
            .then(|| "mend what is missing above; else report this, with the kernel's version".into()),
        detail: refused.map(|error| {
            let mut lines = vec![error.to_string()];
            lines.extend(probe::complaints());
            lines.join("\n")
        }),
    }
}

/// What conntrack and nftables tell.
pub async fn of_netfilter(requests: Option<&mut Requests>) -> Vec<Feature> {
    let updated = match requests {
        Some(requests) => {
            // Asked first: the question loads the module where it is not loaded yet.
            let updated = updates(requests);
            let rules = rules(requests).await;
            vec![updated, rules]
        }
        None => Vec::new(),
    };
    let settings = facts::conntrack_settings();
    let mut features = vec![connections(&settings), told(&settings)];
    features.extend(updated);
    features
}

fn connections(settings: &io::Result<Option<ConntrackSettings>>) -> Feature {
    let present = matches!(settings, Ok(Some(_)));
    Feature {
        name: "conntrack".into(),
        min_version: Some("2.6".into()),
        present,
        required: true,
        why_needed: "Says which connections the firewall accepted, and how they are translated.".into(),
        detail: settings.as_ref().err().map(ToString::to_string),
        mend: (!present).then(|| {
            "load nf_conntrack and nf_conntrack_netlink, or use a kernel with CONFIG_NF_CT_NETLINK".into()
        }),
    }
}

fn told(settings: &io::Result<Option<ConntrackSettings>>) -> Feature {
    let value = match settings {
        Ok(Some(settings)) => settings.events,
        _ => 0,
    };
    let listens = Events::open(Source::Conntrack);
    let present = value != 0 && listens.is_ok();
    Feature {
        name: "conntrack events".into(),
        min_version: Some("2.6.37".into()),
        present,
        required: true,
        why_needed: "Tell of each connection at once, and of its end.".into(),
        detail: match (value, listens) {
            (_, Err(error)) => Some(error.to_string()),
            (2, _) => Some(
                "nf_conntrack_events is 2: of connections made before weir started it learns only by asking, not at once"
                    .into(),
            ),
            (0, _) => Some("nf_conntrack_events is 0".into()),
            _ => None,
        },
        mend: (!present).then(|| {
            "sysctl net.netfilter.nf_conntrack_events=1, in a kernel with CONFIG_NF_CONNTRACK_EVENTS".into()
        }),
    }
}

/// Asks to relax a connection that cannot be: the kernel misses it, unless it knows no such request.
fn updates(requests: &mut Requests) -> Feature {
    let nobody = ConnectionId {
        id: 0,
        zone: 0,
        original: Tuple {
            protocol: Protocol::Tcp,
            source: Ipv4Addr::UNSPECIFIED.into(),
            source_port: 0,
            destination: Ipv4Addr::UNSPECIFIED.into(),
            destination_port: 0,
        },
    };
    let outcome = requests.relax(&[nobody]);
    let present = outcome.failed == 0;
    Feature {
        name: "conntrack updates".into(),
        min_version: Some("2.6.23".into()),
        present,
        required: true,
        why_needed: "Keep forwarded connections alive, and their TCP windows unchecked, one by one.".into(),
        detail: outcome.error.map(|error| error.to_string()),
        mend: (!present).then(|| "run it as root, on a kernel with CONFIG_NF_CT_NETLINK".into()),
    }
}

/// Asks for the generation of the ruleset.
async fn rules(requests: &mut Requests) -> Feature {
    requests.dump(Source::Firewall);
    let mut found = Vec::new();
    let refused = loop {
        match super::collect::answer(requests, &mut found).await {
            Err(error) => break Some(error),
            Ok(()) if found.iter().any(|e| matches!(e, Event::DumpEnd(Source::Firewall))) => {
                break None;
            }
            Ok(()) => {}
        }
    };
    Feature {
        name: "nf_tables generations".into(),
        min_version: Some("3.18".into()),
        present: refused.is_none(),
        required: false,
        why_needed: "Tell of each change of the rules, which ends all proofs at once.".into(),
        mend: refused.is_some().then(|| {
            "use a kernel with CONFIG_NF_TABLES; with the old iptables alone, proofs end each second instead".into()
        }),
        detail: refused,
    }
}

/// What is not the kernel's: the family that tells what drivers can, `nft`, memory.
pub fn around(config: &Effective, netdev: bool, ruleset: Result<(), String>) -> Vec<Feature> {
    vec![
        Feature {
            name: "netdev family".into(),
            min_version: Some("6.3".into()),
            present: netdev,
            required: false,
            why_needed: "Tells which drivers run XDP; without it weir goes by a list of those known to.".into(),
            detail: None,
            mend: (!netdev).then(|| "name devices that can do XDP in [ports.NAME], hook = \"xdp\"".into()),
        },
        Feature {
            name: "the nft command".into(),
            min_version: None,
            present: ruleset.is_ok(),
            required: false,
            why_needed: "Reads the rules, to name those that must see each packet, and chains at ingress.".into(),
            mend: ruleset.is_err().then(|| "install nftables, and run it as root".into()),
            detail: ruleset.err(),
        },
        memory(config),
    ]
}

fn memory(config: &Effective) -> Feature {
    let table = settings::sizes(config, &[]).octets();
    let free = settings::meminfo("MemAvailable");
    let present = free.is_none_or(|free| table <= free);
    let free = free.map_or_else(|| "an unknown amount".into(), units::octets);
    Feature {
        name: "memory for the table".into(),
        min_version: None,
        present,
        required: true,
        why_needed: "The flow table is set aside as a whole when weir starts.".into(),
        detail: Some(format!("{} of {free} available", units::octets(table))),
        mend: (!present).then(|| "lower `flows` under [offload]".into()),
    }
}

/// The version of the kernel, in its own words.
pub fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read() {
        for (text, version) in [
            ("6.1.0-50-amd64", Some((6, 1))),
            ("5.15", Some((5, 15))),
            ("4.18.0-553.el8_10.x86_64", Some((4, 18))),
            ("", None),
            ("next-20260101", None),
        ] {
            assert_eq!(parse(text), version, "{text}");
        }
        assert!(!version("5.14.0-427.el9").present);
        assert!(!version("5.14.0-427.el9").required, "it may have it all");
        assert!(version("5.15.0").present && version("6.0").present && version("what").present);
    }

    #[test]
    fn one_way_to_attach_is_enough() {
        let feature = |name: &str, present| Feature {
            name: name.into(),
            present,
            ..Feature::default()
        };
        for (tcx, clsact_required) in [(true, false), (false, true)] {
            let mut features = [feature("TCX", tcx), feature("clsact", false)];
            need_one_of("TCX", "clsact", &mut features);
            assert_eq!(features[1].required, clsact_required);
            assert!(!features[0].required);
        }
    }

    #[test]
    fn conntrack_that_tells_nothing_is_missing() {
        let settings = |events| {
            Ok(Some(ConntrackSettings {
                tcp_established: std::time::Duration::ZERO,
                udp: std::time::Duration::ZERO,
                udp_stream: std::time::Duration::ZERO,
                events,
                max: 1,
            }))
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let _inside = runtime.enter();
        assert!(!told(&settings(0)).present && told(&settings(0)).mend.is_some());
        assert!(told(&settings(1)).present && told(&settings(1)).detail.is_none());
        let only_while_listening = told(&settings(2));
        assert!(only_while_listening.present && only_while_listening.detail.is_some());
        assert!(!told(&Ok(None)).present && !connections(&Ok(None)).present);
    }
}
