//! Kernel features that weir's packet path uses, one row each, and features outside the kernel.
//! Netfilter has a file of its own.

use std::path::Path;

use caps::{CapSet, Capability};
use datapath::probe::{self, KernelFeature};

use super::report::Feature;
use crate::config::Effective;
use crate::daemon::{meminfo, settings};
use crate::output::units;

/// The oldest kernel that weir is made for.
const OLDEST: (u32, u32) = (5, 15);

/// An ability of the packet path's part of the kernel, and what weir does with it.
struct Row {
    ability: KernelFeature,
    name: &'static str,
    min_version: &'static str,
    required: bool,
    why_needed: &'static str,
    hint: &'static str,
}

const CONFIGURE: &str = "use a newer kernel, built with CONFIG_BPF_SYSCALL=y";

const ROWS: [Row; 10] = [
    Row {
        ability: KernelFeature::Xdp,
        name: "XDP programs",
        min_version: "4.8",
        required: true,
        why_needed: "An XDP program forwards packets in the driver.",
        hint: "use a kernel built with CONFIG_BPF_SYSCALL=y and CONFIG_NET=y",
    },
    Row {
        ability: KernelFeature::MmapableArray,
        name: "mappable arrays",
        min_version: "5.5",
        required: true,
        why_needed: "The flow table is shared with the kernel through memory.",
        hint: CONFIGURE,
    },
    Row {
        ability: KernelFeature::Devmap,
        name: "DEVMAP",
        min_version: "4.14",
        required: true,
        why_needed: "XDP uses it to send packets out of other devices.",
        hint: CONFIGURE,
    },
    Row {
        ability: KernelFeature::Jiffies,
        name: "bpf_jiffies64",
        min_version: "5.6",
        required: true,
        why_needed: "The packet path uses it to read the time.",
        hint: CONFIGURE,
    },
    Row {
        ability: KernelFeature::AtomicFetch,
        name: "atomics with fetch",
        min_version: "5.12",
        required: true,
        why_needed: "Processors share the flow table without a lock.",
        hint: "use a newer kernel, on a machine whose BPF compiler supports them (32-bit ones may \
            not)",
    },
    Row {
        ability: KernelFeature::SyscallProgram,
        name: "syscall programs",
        min_version: "5.14",
        required: true,
        why_needed: "The heartbeat, and the end of all proofs, run as syscall programs.",
        hint: CONFIGURE,
    },
    Row {
        ability: KernelFeature::Tcx,
        name: "TCX",
        min_version: "6.6",
        required: false,
        why_needed: "Attaches at TC so that nothing is left behind after a crash; clsact works \
            too.",
        hint: "not required; a newer kernel has it",
    },
    Row {
        ability: KernelFeature::Clsact,
        name: "clsact",
        min_version: "4.5",
        // Only without TCX.
        required: false,
        why_needed: "Attaches at TC if TCX is missing.",
        hint: "use a kernel built with CONFIG_NET_SCH_INGRESS and CONFIG_NET_CLS_BPF \
            (kmod-sched-core, kmod-sched-bpf)",
    },
    Row {
        ability: KernelFeature::XdpFragments,
        name: "XDP multi-buffer",
        min_version: "5.18",
        required: false,
        why_needed: "XDP needs it for jumbo frames, and for drivers that gather frames.",
        hint: "not required with an MTU of 1500; otherwise use a newer kernel, or hook \"tc\"",
    },
    Row {
        ability: KernelFeature::Jit,
        name: "BPF JIT",
        min_version: "4.15",
        required: false,
        why_needed: "Without machine code each packet costs several times as much.",
        hint: "sysctl net.core.bpf_jit_enable=1, in a kernel built with CONFIG_BPF_JIT=y",
    },
];

/// Checks version, privileges, and the packet path's BPF requirements.
pub fn of_bpf(release: &str) -> Vec<Feature> {
    let mut features = vec![version(release), privileges()];
    if privileged() {
        let refused = probe::probe(KernelFeature::Bpf).err();
        features.push(Feature {
            name: "bpf()".into(),
            min_version: Some("3.18".into()),
            present: refused.is_none(),
            required: true,
            why_needed: "This system call creates programs and tables.".into(),
            hint: refused.is_some().then(|| {
                "run outside of containers and user namespaces, on a kernel with \
                    CONFIG_BPF_SYSCALL=y and without lockdown"
                    .into()
            }),
            detail: refused.as_ref().map(ToString::to_string),
        });
        // A refusal of bpf() as a whole proves nothing about the other features.
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
        why_needed: "Learned drops and probes of the network stack need it.".into(),
        detail: None,
        hint: (!btf)
            .then(|| "not required; CONFIG_DEBUG_INFO_BTF=y makes the kernel larger".into()),
    });
    features
}

fn version(release: &str) -> Feature {
    let present = parse(release).is_none_or(|version| version >= OLDEST);
    Feature {
        name: "kernel".into(),
        min_version: Some(format!("{}.{}", OLDEST.0, OLDEST.1)),
        present,
        // The load of the packet path decides: distributions carry features back.
        required: false,
        why_needed: "Older kernels lack features, unless their distribution added them.".into(),
        detail: (!present).then(|| release.to_owned()),
        hint: (!present).then(|| "use a newer kernel if a feature below is missing".into()),
    }
}

/// `6.1.0-50-amd64` to 6 and 1.
fn parse(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns true if features that need privileges can be tried.
pub fn privileged() -> bool {
    missing_privileges().is_empty()
}

fn missing_privileges() -> Vec<String> {
    [
        Capability::CAP_NET_ADMIN,
        Capability::CAP_BPF,
        Capability::CAP_PERFMON,
    ]
    .into_iter()
    .filter(|capability| !caps::has_cap(None, CapSet::Effective, *capability).unwrap_or(false))
    .map(|capability| capability.to_string())
    .collect()
}

fn privileges() -> Feature {
    let missing = missing_privileges();
    let present = missing.is_empty();
    Feature {
        name: "privileges".into(),
        min_version: None,
        present,
        required: true,
        why_needed: "Attaching to devices and loading programs needs privileges.".into(),
        detail: (!present).then(|| {
            format!(
                "missing: {}; features that need them were not tried",
                missing.join(", ")
            )
        }),
        hint: (!present).then(|| "run it as root".into()),
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
        hint: refused.is_some().then(|| row.hint.into()),
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
    let refused = datapath::try_load().err();
    Feature {
        name: "the packet path".into(),
        min_version: None,
        present: refused.is_none(),
        required: true,
        why_needed:
            "All programs together: loaded, verified, run and attached at TC, without traffic."
                .into(),
        hint: refused.is_some().then(|| {
            "fix the features that are missing above; otherwise report this, with the kernel's \
                version"
                .into()
        }),
        detail: refused.map(|error| {
            let mut lines = vec![error.to_string()];
            if !matches!(error, datapath::Error::Refused { .. }) {
                lines.extend(datapath::libbpf_log::last()); // else it has them
            }
            lines.join("\n")
        }),
    }
}

/// Features outside the packet path: the netdev family (features of drivers), `nft`, memory.
pub fn around(config: &Effective, netdev: bool, ruleset: Result<(), String>) -> Vec<Feature> {
    vec![
        Feature {
            name: "netdev family".into(),
            min_version: Some("6.3".into()),
            present: netdev,
            required: false,
            why_needed: "Reports which drivers run XDP; without it weir uses a built-in list."
                .into(),
            detail: None,
            hint: (!netdev)
                .then(|| "set hook = \"xdp\" in [ports.NAME] for devices that support XDP".into()),
        },
        Feature {
            name: "the nft command".into(),
            min_version: None,
            present: ruleset.is_ok(),
            required: false,
            why_needed:
                "Reads the rules, to name rules that must see each packet, and chains at ingress."
                    .into(),
            hint: (ruleset.is_err() && privileged()).then(|| "install nftables".into()),
            detail: ruleset.err(),
        },
        memory(config),
    ]
}

fn memory(config: &Effective) -> Feature {
    let table = settings::sizes(config, &[]).memory_bytes();
    let free = meminfo("MemAvailable");
    let present = free.is_none_or(|free| table <= free);
    let free = free.map_or_else(|| "an unknown amount".into(), units::bytes);
    Feature {
        name: "memory for the table".into(),
        min_version: None,
        present,
        required: true,
        why_needed: "weir allocates the whole flow table at its start.".into(),
        detail: Some(format!("{} of {free} available", units::bytes(table))),
        hint: (!present).then(|| "lower `flows` under [offload]".into()),
    }
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
}
