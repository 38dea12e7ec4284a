//! Tests of the whole configuration: valid keys, and the errors of invalid ones.

mod docs;
mod keys;
mod uci;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use multipath_core::Pairing;
use multipath_core::hints::Use;
use proptest::prelude::*;

use super::registry;
use cables::config::{Cables, Mode};
use drops::config::Drops;
use history::config::{History, QuotaAction, QuotaPeriod, QuotaSettings};
use history::devices::DeviceSettings;
use monitor::config::{Collector, Ipfix, MeterCapacity, Monitor, MonitorMemory};
use multipath::config::{Fallback, Multipath, PathSettings};
use page::config::{MetricsAccess, PageTls, Web};
use portal::config::{Portal, Radius};
use radio::config::Power;
use radio::peering::config::{Compat, Peering};
use runtime::config::{
    Api, ByteSize, ConfigError, DeviceName, Effective, Log, LogLevel, Origin, When, help,
};
use runtime::daemon::Settings;
use runtime::daemon::config::{
    FlowRoom, HookChoice, Mark, Offload, PerPacketPolicy, PortHook, PortSettings,
};

fn parse(text: &str, filename: &str) -> Result<Effective, Vec<ConfigError>> {
    runtime::config::parse(&registry().sections(), text, filename)
}

fn errors(text: &str) -> Vec<String> {
    parse(text, "weir.toml")
        .expect_err("to have errors")
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_line_that_is_no_toml_is_told_of_once() {
    for line in ["hook: \"xdp\"", "= = =", "a: b: c: d", "[[["] {
        let text = format!("[offload]\ntcp = true\n{line}\n");
        let errors = errors(&text);
        assert_eq!(errors.len(), 1, "{errors:#?}");
        assert!(errors[0].starts_with("weir.toml:3:"), "{errors:#?}");
    }
    assert_eq!(errors("a: b: c\n[offload]\nd: e: f\n").len(), 2);
}

#[test]
fn nothing_is_the_default() {
    for text in ["", "\n\n", "# only a comment\n", "[offload]\n", "[ports]\n"] {
        assert_eq!(
            parse(text, "weir.toml"),
            Ok(Effective::defaults(&registry().sections())),
            "{text:?}"
        );
    }
}

#[test]
fn a_section_within_a_name_that_is_none() {
    assert_eq!(errors("[radio]\nmode = \"watch\"\n").len(), 1);
    assert_eq!(
        errors("[radio.pover]\nmode = \"watch\"\n"),
        ["weir.toml:1:8: radio.pover: unknown section; did you mean [radio.power]?"]
    );
    assert!(parse("[radio.power]\nmode = \"watch\"\n", "weir.toml").is_ok());
    let number = errors("radio = 7\n");
    assert!(number[0].contains("must be a section"), "{number:?}");
}

#[test]
fn all_errors_are_told_in_order() {
    let text = "[ofload]\n[offload]\ntpc = true\nreprove = 20\nflows = 7\nhook = \"xpd\"\ncolour \
        = 1\n[log]\nlevel = \"loud\"\n";
    assert_eq!(
        errors(text),
        [
            "weir.toml:1:2: ofload: unknown section; did you mean [offload]?",
            "weir.toml:3:1: offload.tpc: unknown key; did you mean `tcp`?",
            "weir.toml:4:11: offload.reprove: cannot be the number 20; \
             write a time from \"1s\" to \"10m\": a whole number and ms, s, m or h, in quotes",
            "weir.toml:5:9: offload.flows: cannot be the number 7; \
             write \"auto\", or a number of connections from 1024 to 4194304, without quotes",
            "weir.toml:6:8: offload.hook: cannot be \"xpd\"; did you mean \"xdp\"? \
                Write \"auto\", \"xdp\" or \"tc\"",
            "weir.toml:7:1: offload.colour: unknown key; \
             there are enabled, tcp, udp, reprove, flows, opt_out_mark, each_packet, hook, \
             bridge, shadow",
            "weir.toml:9:9: log.level: cannot be \"loud\"; \
             write \"error\", \"warn\", \"info\", \"debug\" or \"trace\"",
        ]
    );
}

#[test]
fn ports_lead_to_one_host() {
    let text =
        "[multipath]\nforward = [\"tcp/8022 = 192.168.1.2:22\", \"tcp/8000-8099 = 192.168.1.3\"]\n";
    assert_eq!(
        errors(text),
        [
            "weir.toml:2:11: multipath.forward: has \"tcp/8022 = 192.168.1.2:22\" \
                and \"tcp/8000-8099 = 192.168.1.3\", which overlap; \
             let each port lead to one host",
        ]
    );
}

#[test]
fn syntax_errors_do_not_hide_the_others() {
    let found = errors("[offload]\ntcp = \nudp = yes\nshadow = 1\n");
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[0].starts_with("weir.toml:2:"), "{found:#?}");
    assert!(found[1].starts_with("weir.toml:3:"), "{found:#?}");
    assert!(
        found[2].starts_with("weir.toml:4:10: offload.shadow: cannot be the number 1;"),
        "{found:#?}"
    );
    assert_eq!(errors("[offload]\ntcp = true\ntcp = false\n").len(), 1);
}

#[test]
fn sections_and_devices_are_looked_at() {
    for (text, error) in [
        (
            "tcp = true",
            "weir.toml:1:1: tcp: unknown section; `tcp` belongs in [offload]",
        ),
        (
            "zzz = true",
            "weir.toml:1:1: zzz: unknown section; there are [offload], [ports], [drops], \
                [monitor], [monitor.ipfix], [devices], [history], [quotas], [multipath], [multipath.paths], \
                [portal], [portal.radius], [setup], [cables], [radio.power], [radio.peering], [web], [api], [log]",
        ),
        (
            "offload = 1",
            "weir.toml:1:11: offload: must be a section; write [offload] on a line of its own, \
                and the keys below it",
        ),
        (
            "[ports.\"a/b\"]",
            "weir.toml:1:8: ports.a/b: not the name of a network device; a device name has 1 to \
             15 bytes, without spaces and `/:%*\"\\`, and does not begin with `-`; see `ip link`",
        ),
        (
            "[ports.a]\nhok = \"tc\"",
            "weir.toml:2:1: ports.a.hok: unknown key; did you mean `hook`?",
        ),
    ] {
        assert_eq!(errors(text), [error]);
    }
}

#[test]
fn marks_that_fit_nothing_or_everything_are_errors() {
    for (mark, part) in [
        ("0x1/0x0", "the mask is 0"),
        ("0x10/0x0f", "bits outside the mask"),
        ("16/0xff", "cannot be"),
        ("0x1ffffffff/0xff", "cannot be"),
        ("0x+1/0xff", "cannot be"),
        ("", "cannot be"),
    ] {
        let found = errors(&format!("[offload]\nopt_out_mark = \"{mark}\"\n"));
        assert!(
            found.len() == 1 && found[0].contains(part),
            "{mark}: {found:?}"
        );
    }
    assert_eq!(
        parse("offload.opt_out_mark = \"none\"", "f")
            .expect("good")
            .of::<Offload>()
            .opt_out_mark
            .value,
        None
    );
}

#[test]
fn times_and_paths_have_bounds() {
    for time in [
        "0s",
        "999ms",
        "11m",
        "-1s",
        "1.5s",
        "s",
        "20",
        "99999999999999999999s",
        "18446744073709551615m",
    ] {
        assert_eq!(
            errors(&format!("offload.reprove = \"{time}\"")).len(),
            1,
            "{time}"
        );
    }
    assert_eq!(
        *parse("offload.reprove = \"1500ms\"", "f")
            .expect("good")
            .of::<Offload>()
            .reprove,
        Duration::from_millis(1500)
    );
    for path in [
        "run/x",
        "/run/",
        "",
        "/\\u0000",
        &format!("/{}", "x".repeat(107)),
    ] {
        assert_eq!(
            errors(&format!("api.socket = \"{path}\"")).len(),
            1,
            "{path}"
        );
    }
}

/// The kernel allows each of these device names, and no program takes such a name for an option.
#[test]
fn names_of_devices_are_those_of_the_kernel() {
    let keys = |name: &str| {
        [
            format!("drops.ports = [{name:?}]"),
            format!("portal.devices = [{name:?}]"),
            format!("cables.ports = [{name:?}]"),
            format!("radio.power.devices = [{name:?}]"),
            format!("radio.peering.device = {name:?}"),
            format!("radio.peering.into = {name:?}"),
            format!("radio.peering.prefix = {name:?}"),
            format!("[ports.{name:?}]\nhook = \"tc\""),
            format!("[multipath.paths.{name:?}]\nweight = 50"),
        ]
    };
    for good in ["wan0", "eth0.10", "pppoe-wan", "br-lan", "wlan0_p"] {
        for text in keys(good) {
            assert!(parse(&text, "f").is_ok(), "{text}");
        }
    }
    for wrong in [
        "-x",
        "--help",
        "-",
        "a/b",
        "a:b",
        "a b",
        "eth%d",
        "br*",
        "a\"b",
        "a\\b",
        "0123456789abcdef",
    ] {
        for text in keys(wrong) {
            assert_eq!(errors(&text).len(), 1, "{text}");
        }
    }
}

#[test]
fn lists_of_sets_and_devices_are_read() {
    let text = "[drops]\nlearn = true\nsets = [\"inet fw4 a\", \"ip6 t b\", \"inet fw4 \
        a\"]\nports = [\"wan0\"]\nverify = false\nroutes = true\n";
    let read = parse(text, "f").expect("good");
    let read = read.of::<Drops>();
    let sets: Vec<String> = read.sets.iter().map(ToString::to_string).collect();
    assert_eq!(sets, ["inet fw4 a", "ip6 t b"], "each once");
    assert_eq!(read.ports.value, [DeviceName("wan0".into())]);
    assert!(*read.learn && !*read.verify && *read.routes);
    let default = Drops::default();
    assert!(!*default.learn && *default.verify && !*default.routes);
    let many = vec!["\"ip t s\""; 65].join(", ");
    for (text, part) in [
        (
            "sets = \"inet fw4 a\"",
            "cannot be \"inet fw4 a\"; write a list of sets",
        ),
        (
            "sets = [\"fw4 a\"]",
            "cannot contain \"fw4 a\"; write a list of sets",
        ),
        ("sets = [\"ipv4 fw4 a\"]", "cannot contain"),
        ("sets = [1]", "cannot contain the number 1"),
        (
            "ports = [\"a/b\"]",
            "cannot contain \"a/b\"; write a list of devices",
        ),
        ("ports = \"wan0\"", "cannot be"),
        (
            &format!("sets = [{many}]"),
            "has 65 entries; write 64 of them at most",
        ),
        ("lern = true", "did you mean `learn`?"),
    ] {
        let found = errors(&format!("[drops]\n{text}\n"));
        assert!(
            found.len() == 1 && found[0].contains(part),
            "{text}: {found:?}"
        );
    }
}

proptest! {
    #[test]
    fn never_panics(text in "\\PC*") {
        let _ = parse(&text, "weir.toml");
    }

    #[test]
    fn never_panics_on_what_looks_like_it(
        lines in proptest::collection::vec(
            "(\\[(offload|ports\\.[a-z.\"]{0,5}|api|log|[a-z]{0,4})\\]|(tcp|hook|flows|reprove|opt_out_mark|socket|level|[a-zé]{0,5}) ?= ?(true|\"\\PC{0,12}\"|-?[0-9a-fx_]{0,25}|\\[.{0,4}\\]|\\{.{0,6}\\}|[0-9.e]{1,5})?)",
            0..12,
        )
    ) {
        let text = lines.join("\n");
        match parse(&text, "weir.toml") {
            Ok(read) => prop_assert!(read.entries().len() >= 10),
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(error.line >= 1 && error.line <= lines.len().max(1) && error.column >= 1);
                }
            }
        }
    }

    #[test]
    fn what_is_shown_can_be_read(tcp: bool, seconds in 1..600u64, flows in 1024..4_194_304u32, value: u32, mask in 1..u32::MAX) {
        let mark = Mark { value: value & mask, mask };
        let text = format!(
            "[offload]\ntcp = {tcp}\nreprove = \"{seconds}s\"\nflows = {flows}\nopt_out_mark \
                = \"{mark}\"\n"
        );
        let read = parse(&text, "f").expect("good");
        let again: String =
            read.entries().iter().map(|entry| format!("{} = {}\n", entry.key, entry.value)).collect();
        let again = parse(&again, "f").expect("good");
        prop_assert_eq!(*again.of::<Offload>().tcp, tcp);
        prop_assert_eq!(*again.of::<Offload>().reprove, Duration::from_secs(seconds));
        prop_assert_eq!(*again.of::<Offload>().flows, FlowRoom::Connections(flows));
        prop_assert_eq!(*again.of::<Offload>().opt_out_mark, Some(mark));
    }
}

#[test]
fn what_a_reload_changes_is_said_by_the_key() {
    let all = parse("[ports.\"eth0.10\"]\n[quotas.default]\n", "f").expect("good");
    for (key, when) in [
        ("offload.flows", Some(When::Restart)),
        ("offload.reprove", Some(When::Live)),
        ("monitor.ipfix.active", Some(When::Live)),
        ("ports.\"eth0.10\".hook", Some(When::Live)),
        ("multipath.paths.wan0.use", Some(When::Live)),
        ("offload.flow", None),
        ("nothing.flows", None),
        ("flows", None),
    ] {
        assert_eq!(all.when(key), when, "{key}");
    }
}

#[test]
fn what_takes_a_restart_stays_as_it_runs() {
    let read = |text: &str| parse(text, "f").expect("good");
    let running = read("[offload]\nflows = 2048\nudp = false\n[web]\nlisten = [\"[::1]:1\"]\n");
    let listen = running.of::<Web>().listen.value.clone();
    let text = "[offload]\nflows = 4096\nudp = true\n[ports.eth0]\nhook = \"tc\"\n";
    let text = Rc::new(RefCell::new(text.to_owned()));
    let file = Rc::clone(&text);
    let source = move || Ok(parse(&file.borrow(), "f").expect("good"));
    let mut settings = Settings::new(running, false, Box::new(source));
    let mut reload = || {
        let changed = settings.reload().expect("good").0.changed;
        let effective = &settings.effective;
        let flows = *effective.of::<Offload>().flows;
        assert_eq!(flows, FlowRoom::Connections(2048), "it runs");
        assert_eq!(*effective.of::<Web>().listen, listen, "it runs");
        let told = changed.into_iter().map(|c| (c.key, c.after_restart));
        told.collect::<Vec<_>>()
    };
    let key = |key: &str, restart| (key.to_owned(), restart);
    let waiting = [key("offload.flows", true), key("web.listen", true)];
    let live = [key("offload.udp", false), key("ports.eth0.hook", false)];
    let told = reload();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(
        waiting.iter().chain(&live).all(|key| told.contains(key)),
        "{told:?}"
    );
    assert_eq!(reload(), waiting, "told until there was one");
    *text.borrow_mut() = "[offload]\nflows = 2048\n[web]\nlisten = [\"[::1]:1\"]\n".into();
    assert_eq!(
        reload(),
        [key("ports.eth0.hook", false)],
        "as it runs, again"
    );
}

#[test]
fn help_texts_fit_terminals() {
    let faults = cli::help::faults(registry().tree());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_command_has_one_purpose() {
    let registry = registry();
    let groups = registry.groups();
    let mut grouped: Vec<_> = groups.iter().flat_map(|group| &group.commands).collect();
    let tree = registry.tree();
    let mut all: Vec<_> = (tree.get_subcommands())
        .map(clap::Command::get_name)
        .collect();
    grouped.sort_unstable();
    all.sort_unstable();
    assert_eq!(grouped, all);
    assert!(
        groups
            .iter()
            .all(|group| (2..=10).contains(&group.commands.len()))
    );
}

#[test]
fn the_command_line_is_consistent() {
    registry().tree().debug_assert();
}
