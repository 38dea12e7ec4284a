//! Tests of each key: parsing, listing and bounds.

use super::*;

#[test]
fn every_key_is_read_with_its_line() {
    let text = r#"
[offload]
enabled = false
tcp = false
udp = false
reprove = "1m"
flows = 65536
opt_out_mark = "0x10/0xF0"
each_packet = "ignore"
hook = "tc"
bridge = true
shadow = true

[ports.wan0]
hook = "xdp"
[ports."eth0.10"]
hook = "off"

[api]
socket = "/run/other.sock"

[log]
level = "debug"

[drops]
learn = true
sets = ["inet fw4 a"]
ports = ["wan0"]
verify = false
routes = true

[monitor]
enabled = false
size = "cache"
memory = "8MiB"
names = false
leases = ["/tmp/a.leases"]
choices = "/tmp/devices"
probes = ["drops"]

[monitor.ipfix]
collector = "[::1]:4739"
biflow = true
active = "30s"
nat_events = true

[history]
enabled = false
file = "/tmp/history.db"
flush = "1m"
limit = "8MiB"
month_begins = 15

[multipath]
partner = "weir2-VJnoSsr2L_geQ8Fb8UKGV26kZI4mH6jmHoQ-FqijwS29RsU7N7oM6yTZu4JlH3LJTclKd1eFuuHp6wDqaVud31ihjec8LSJxVT4gsg@partner.example:9349"
standby = ["weir2-VJnoSsr2L_geQ8Fb8UKGV26kZI4mH6jmHoQ-FqijwS29RsU7N7oM6yTZu4JlH3LJTclKd1eFuuHp6wDqaVud31ihjec8LSJxVT4gsg@partner.example:9349"]
fallback = "stop"
returns = false
encrypt = "all"
renew = "30m"
direct = ["198.51.100.0/24"]
direct_ports = ["tcp/25", "udp/5060-5090"]
direct_devices = ["02:00:5e:10:00:07", "192.168.1.7"]
forward = ["tcp/8022 = 192.168.1.2:22"]

[multipath.paths.wwan0]
use = "backup"
weight = 50
up = "1500kbit"
down = "20Mbit"

[portal]
devices = ["br-lan"]
title = "Café"
garden = ["198.51.100.0/24", "*.example.net"]
garden_time = "30m"
resolver = "192.0.2.53"
exempt = ["02-00-5E-10-00-01"]
free = "read"
free_time = "30m"
free_pause = "2h"
free_rate = "2Mbit"
free_password = "/etc/weir/portal.password"
host = "Portal.example.net"
certificate = "/etc/weir/portal/c.pem"
certificate_key = "/etc/weir/portal/k.pem"
text = "/etc/weir/portal.md"
wifi = "guests"
venue = "https://example.org/"
closed = ["sun-thu 22:00-06:00"]
open = ["Sun"]
trust = ["11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= the roof"]
vouchers = "/tmp/vouchers"
[portal.radius]
servers = ["192.0.2.1", "[2001:db8::1]:1645"]
secret = "/etc/weir/radius.secret"
name = "the roof"
devices = 2
time = "12h"
[setup]
root = "/tmp/config"
changes = "/tmp/changes"
state = "/tmp/state"
reload = "/bin/true"
password = "classes"
socket = "/run/setup.sock"
[cables]
mode = "suggest"
ports = ["eth1"]
servers = "shut"
choices = "/tmp/cables"
mesh = "/tmp/mesh"
[radio.peering]
device = "wlan0"
mesh = "babel"
into = "bat0"
compat = "apup"
prefix = "wlan0_peer"
allow = ["02:00:00:00:00:01"]
deny = ["02-00-00-00-00-02"]
secret = "/etc/weir/mesh.secret"
hostapd = "/run/hostapd"
key = "/tmp/radio.key"
[radio.power]
mode = "watch"
devices = ["wlan0"]
keep = 90
stations = false
least = 3
step = 1
settle = "60ms"
watch = "200ms"
longest = "2s"
reference = "80ms"
every = 20
frames = 40
back_off = "10s"
newcomer = "5s"
silent = "3s"
floor = 75
learned = "/tmp/radio"
[web]
enabled = false
listen = ["192.168.1.1:443", "[::1]:9347"]
hosts = ["router.lan"]
tls = "own"
certificate = "/tmp/c.pem"
key = "/tmp/k.pem"
insecure = true
password = "/tmp/password"
metrics = "loopback"

[quotas."02:00:00:00:00:01"]
limit = "50GB"
per = "week"
warn = 90
action = "cut"

[devices."02:00:00:00:00:01"]
name = "The TV"
owner = "Anna"
icon = "tv"
"#;
    let read = parse(text, "weir.toml").expect("good");
    assert!(
        !*read.of::<Offload>().enabled
            && !*read.of::<Offload>().tcp
            && !*read.of::<Offload>().udp
            && *read.of::<Offload>().bridge
            && *read.of::<Offload>().shadow
    );
    assert_eq!(*read.of::<Offload>().reprove, Duration::from_secs(60));
    assert_eq!(*read.of::<Offload>().flows, FlowRoom::Connections(65536));
    assert_eq!(
        *read.of::<Offload>().opt_out_mark,
        Some(Mark {
            value: 0x10,
            mask: 0xf0
        })
    );
    assert_eq!(*read.of::<Offload>().each_packet, PerPacketPolicy::Ignore);
    assert_eq!(*read.of::<Offload>().hook, HookChoice::Tc);
    let quota = &read.named::<QuotaSettings>()["02:00:00:00:00:01"];
    assert_eq!(
        (*quota.limit, *quota.per, *quota.warn, *quota.action),
        (
            ByteSize(50_000_000_000),
            QuotaPeriod::Week,
            90,
            QuotaAction::Cut
        )
    );
    assert_eq!(
        (
            *read.of::<History>().limit,
            *read.of::<History>().month_begins
        ),
        (ByteSize(8 << 20), 15)
    );
    let device = &read.named::<DeviceSettings>()["02:00:00:00:00:01"];
    let said = [&device.name, &device.owner].map(|line| line.0.as_deref());
    assert_eq!(said, [Some("The TV"), Some("Anna")]);
    assert_eq!(device.icon.0, Some("tv"));
    let multipath = read.of::<Multipath>();
    let partner = multipath.partner.as_ref().map(Pairing::address);
    assert_eq!(partner.as_deref(), Some("partner.example:9349"));
    assert_eq!(
        (
            *multipath.fallback,
            *multipath.returns,
            *multipath.renew,
            multipath.direct.len()
        ),
        (Fallback::Stop, false, Duration::from_secs(1800), 1)
    );
    let path = &read.named::<PathSettings>()["wwan0"];
    assert_eq!(
        (
            *path.used,
            *path.weight,
            path.up.map(|rate| rate.0),
            path.down.map(|rate| rate.0)
        ),
        (Use::Backup, 50, Some(1_500_000), Some(20_000_000))
    );
    assert_eq!(
        (multipath.direct_ports.len(), multipath.direct_devices.len()),
        (2, 2)
    );
    let portal = read.of::<Portal>();
    assert_eq!(
        (portal.devices.len(), portal.title.0.as_str()),
        (1, "Caf\u{e9}")
    );
    assert_eq!(
        portal.gift(None).and_then(|gift| gift.rate),
        Some(2_000_000)
    );
    assert_eq!(
        (portal.closed.0[0].to_string(), portal.open.0[0].to_string()),
        ("Mon,Tue,Wed,Thu,Sun 22:00-06:00".into(), "Sun".into())
    );
    assert_eq!(
        portal.text.0.as_deref(),
        Some(std::path::Path::new("/etc/weir/portal.md"))
    );
    assert_eq!(portal.venue.0.as_deref(), Some("https://example.org/"));
    assert_eq!(portal.wifi.0, "guests");
    assert_eq!(
        portal.trust.0[0].to_string(),
        "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= the roof"
    );
    assert_eq!(
        (portal.garden.networks().len(), portal.exempt.0[0]),
        (1, [2, 0, 0x5e, 0x10, 0, 1])
    );
    assert_eq!(
        (
            portal.garden.names()[0].to_string(),
            portal.resolver.0,
            *portal.garden_time
        ),
        (
            "*.example.net".into(),
            Some([192, 0, 2, 53].into()),
            Duration::from_secs(1800)
        )
    );
    let radius = read.of::<Radius>();
    let servers = radius.servers.0.iter().map(ToString::to_string);
    assert_eq!(
        servers.collect::<Vec<_>>(),
        ["192.0.2.1:1812", "[2001:db8::1]:1645"]
    );
    assert_eq!(
        (radius.name.0.as_str(), *radius.devices, *radius.time),
        ("the roof", 2, Duration::from_secs(43_200))
    );
    let secret = std::path::Path::new("/etc/weir/radius.secret");
    assert_eq!(radius.secret.0.as_deref(), Some(secret));
    let forward = multipath.forward.iter().map(ToString::to_string);
    assert_eq!(forward.collect::<Vec<_>>(), ["tcp/8022 = 192.168.1.2:22"]);
    assert_eq!(
        (&*read.of::<Web>().tls, &*read.of::<Web>().metrics),
        (&PageTls::Own, &MetricsAccess::Loopback)
    );
    let cables = read.of::<Cables>();
    assert_eq!((*cables.mode, cables.ports.len()), (Mode::Suggest, 1));
    let power = read.of::<Power>();
    let peering = read.of::<Peering>();
    assert_eq!(*peering.mesh, radio_core::peering::attach::Mesh::Babel);
    let into = peering.into.as_ref().map(|device| device.0.as_str());
    assert_eq!(into, Some("bat0"));
    assert_eq!(
        (*peering.compat, &*peering.prefix.0),
        (Compat::Apup, "wlan0_peer")
    );
    assert_eq!(peering.allow.0, [[2, 0, 0, 0, 0, 1]]);
    assert_eq!(peering.deny.0, [[2, 0, 0, 0, 0, 2]]);
    let radio = power.settings();
    assert_eq!((power.mode.word(), power.devices.len()), ("watch", 1));
    assert_eq!((*power.least, *power.step, *power.stations), (3, 1, false));
    assert_eq!(power.learned(), Some("/tmp/radio".into()));
    assert_eq!((radio.keep, radio.frames, radio.every), (0.9, 40, 20));
    assert_eq!((radio.settle, radio.watch, radio.longest), (60, 200, 2000));
    assert_eq!((radio.reference, radio.back_off), (80, 10_000));
    assert_eq!(
        (radio.newcomer, radio.silent, radio.floor),
        (5000, 3000, -75)
    );
    assert_eq!(*read.of::<Monitor>().size, MeterCapacity::Cache);
    let memory = *read.of::<Monitor>().memory;
    assert_eq!(memory, MonitorMemory::Bytes(8 << 20));
    assert_eq!(
        *read.of::<Monitor>().probes,
        [monitor_core::probes::PROBES[0]]
    );
    assert_eq!(
        *read.of::<Ipfix>().collector,
        Some(Collector("[::1]:4739".into()))
    );
    assert_eq!(*read.named::<PortSettings>()["wan0"].hook, PortHook::Xdp);
    assert_eq!(*read.named::<PortSettings>()["eth0.10"].hook, PortHook::Off);
    assert_eq!(
        read.of::<Api>().socket.as_deref(),
        Some(std::path::Path::new("/run/other.sock"))
    );
    assert_eq!(*read.of::<Log>().level, LogLevel::Debug);
    assert_eq!(
        read.of::<Offload>().reprove.origin,
        Origin::File {
            name: "weir.toml".into(),
            line: 6
        }
    );
    assert_eq!(
        read.named::<PortSettings>()["eth0.10"]
            .hook
            .origin
            .to_string(),
        "weir.toml:17"
    );
    assert!(
        read.entries()
            .iter()
            .all(|entry| entry.origin.starts_with("weir.toml:"))
    );
}

#[test]
fn every_default_is_listed_once() {
    let help = help(&registry().sections());
    assert_eq!(help.len(), 128);
    let entries = Effective::defaults(&registry().sections()).entries();
    assert_eq!(entries.len(), 116, "no device has settings of its own");
    assert!(
        entries
            .iter()
            .all(|entry| entry.origin == "default" && !entry.value.is_null())
    );
    for entry in entries {
        let (section, name) = entry.key.rsplit_once('.').expect("dotted");
        let found = help
            .iter()
            .find(|key| key.section == section && key.name == name)
            .expect("in the manual");
        assert_eq!(found.default, entry.value);
    }
}

#[test]
fn bounds_belong_to_the_key() {
    let longer = parse("history.flush = \"2h\"", "f").expect("longer than a proof may last");
    assert_eq!(*longer.of::<History>().flush, Duration::from_secs(7_200));
    for (text, hint) in [
        ("offload.reprove = \"2h\"", "a time from \"1s\" to \"10m\""),
        ("history.flush = \"25h\"", "a time from \"1s\" to \"24h\""),
        (
            "monitor.ipfix.active = \"500ms\"",
            "a time from \"1s\" to \"10m\"",
        ),
        ("history.month_begins = 29", "a number from 1 to 28"),
        ("history.month_begins = 0", "a number from 1 to 28"),
        ("quotas.default.warn = 101", "a number from 1 to 100"),
        (
            "multipath.paths.wan0.weight = 256",
            "a number from 1 to 100",
        ),
    ] {
        let errors = errors(text);
        assert!(errors.len() == 1 && errors[0].contains(hint), "{errors:?}");
    }
}

/// No message contains a misplaced pairing line.
#[test]
fn a_pairing_line_is_not_shown() {
    const LINE: &str = "weir2-VJnoSsr2L_geQ8Fb8UKGV26kZI4mH6jmHoQ-FqijwS29RsU7N7oM6yTZu4JlH3LJTclKd1eFuuHp6wDqaVud31ihjec8LSJxVT4gsg@partner.example:9349";
    for key in ["standby", "fallback", "renew", "encrypt", "direct"] {
        for value in [format!("\"{LINE}\""), format!("[\"x{LINE}\"]")] {
            let text = format!("[multipath]\n{key} = {value}\n");
            let errors = parse(&text, "weir.toml").expect_err("wrong");
            let told = errors.iter().map(ToString::to_string).collect::<String>();
            assert!(told.contains(key) && !told.contains("VJnoSsr2"), "{told}");
        }
    }
    for text in [
        format!("\"{LINE}\" = 1\n"),
        format!("[\"{LINE}\"]\n"),
        format!("[multipath]\n\"{LINE}\" = 1\n"),
        format!("[multipath.paths.\"{LINE}\"]\nweight = 50\n"),
        format!("[multipath.paths.wan]\n\"{LINE}\" = 50\n"),
    ] {
        let errors = parse(&text, "weir.toml").expect_err(&text);
        let told = errors.iter().map(ToString::to_string).collect::<String>();
        assert!(!told.contains("VJnoSsr2"), "{told}");
    }
}

/// Every parser of a time, a size or a rate refuses text behind the value.
#[test]
fn nothing_behind_a_value_is_passed_over() {
    let measured = |allowed: &str| {
        let words = ["a time from", "a time:", "bytes", "kbit", "GiB"];
        words.iter().any(|word| allowed.contains(word)) && !allowed.contains("path")
    };
    let mut tried = 0;
    for key in help(&registry().sections()) {
        if !measured(&key.allowed) {
            continue;
        }
        let good = match key.default.as_str() {
            Some(text) if text.starts_with(|c: char| c.is_ascii_digit()) => text.to_owned(),
            _ if key.allowed.contains("kbit") => "40Mbit".to_owned(),
            _ if key.allowed.contains("GB") || key.allowed.contains("GiB") => "16MiB".to_owned(),
            _ => continue,
        };
        let section = match key.section.strip_suffix(".NAME") {
            Some("devices" | "quotas") => "quotas.default".to_owned(),
            Some(section) => format!("{section}.wan0"),
            None => key.section.clone(),
        };
        let text = |value: &str| format!("[{section}]\n{} = {value:?}\n", key.name);
        assert!(parse(&text(&good), "f").is_ok(), "{}", text(&good));
        for more in [" 12:00", "x", " 5", ".5", ";", "\n", " ", "\u{a0}"] {
            let wrong = text(&format!("{good}{more}"));
            assert!(parse(&wrong, "f").is_err(), "{wrong}");
        }
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
}
