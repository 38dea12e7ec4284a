//! The tables of keys, by section.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::{Key, set};
use crate::config::settings::{
    Collector, DeviceName, EachPacket, Effective, Fallback, FlowRoom, HookChoice, LogLevel, Mark,
    MeterRoom, MetricsFor, Octets, PathSettings, PortHook, PortSettings, QuotaAction, QuotaPeriod,
    QuotaSettings, Rate, WebTls,
};
use crate::config::values::FileValue;

macro_rules! key {
    ($settings:ty, $name:literal, $($field:ident).+, $type:ty, $about:literal) => {
        Key::<$settings> {
            name: $name,
            read: |all, value, origin| set(&mut all.$($field).+, value, origin),
            show: |all| (all.$($field).+.value.show(), &all.$($field).+.origin),
            allowed: <$type as FileValue>::ALLOWED,
            about: $about,
        }
    };
}

type Time = std::time::Duration;
type Path = std::path::PathBuf;
type Probe = &'static monitor::probes::Probe;

static OFFLOAD: [Key<Effective>; 10] = [
    key!(
        Effective,
        "enabled",
        offload.enabled,
        bool,
        "Take connections over at all."
    ),
    key!(Effective, "tcp", offload.tcp, bool, "Take TCP over."),
    key!(
        Effective,
        "udp",
        offload.udp,
        bool,
        "Take UDP (and so QUIC) over."
    ),
    key!(
        Effective,
        "reprove",
        offload.reprove,
        Time,
        "How often the kernel is shown a packet of each flow again, so that nothing it would do differently goes unnoticed."
    ),
    key!(
        Effective,
        "flows",
        offload.flows,
        FlowRoom,
        "How many connections there is room for; \"auto\" goes by memory."
    ),
    key!(
        Effective,
        "opt_out_mark",
        offload.opt_out_mark,
        Option<Mark>,
        "Connections whose connection mark, under the mask, has this value stay with the kernel."
    ),
    key!(
        Effective,
        "each_packet",
        offload.each_packet,
        EachPacket,
        "Connections that a firewall rule may see each packet of: \"respect\" leaves them to the kernel, \"ignore\" takes them over."
    ),
    key!(
        Effective,
        "hook",
        offload.hook,
        HookChoice,
        "Where packets are taken, on devices that [ports] says nothing about. \"auto\" is XDP where the driver can, else TC."
    ),
    key!(
        Effective,
        "bridge",
        offload.bridge,
        bool,
        "Forward what a bridge passes on from one of its members to another, too."
    ),
    key!(
        Effective,
        "shadow",
        offload.shadow,
        bool,
        "Prove and count, but leave every packet to the kernel."
    ),
];

static DROPS: [Key<Effective>; 5] = [
    key!(
        Effective,
        "learn",
        drops.learn,
        bool,
        "Learn from the kernel what netfilter drops, and drop it early for as long as netfilter does."
    ),
    key!(
        Effective,
        "sets",
        drops.sets,
        Vec<kernel::SetName>,
        "nftables sets of addresses: packets from them are dropped early. Followed live."
    ),
    key!(
        Effective,
        "ports",
        drops.ports,
        Vec<DeviceName>,
        "Devices at which the sets count; none: all that weir takes packets from."
    ),
    key!(
        Effective,
        "verify",
        drops.verify,
        bool,
        "Go by a set only where the ruleset is seen to drop every packet from it. false: whatever the rules say."
    ),
    key!(
        Effective,
        "routes",
        drops.routes,
        bool,
        "Drop early what blackhole, unreachable and prohibit routes drop, where nothing but the route can decide."
    ),
];

static MONITOR: [Key<Effective>; 5] = [
    key!(
        Effective,
        "enabled",
        monitor.enabled,
        bool,
        "Count what passes, by conversation and by device."
    ),
    key!(
        Effective,
        "size",
        monitor.size,
        MeterRoom,
        "How many conversations there are records for. \"auto\" goes by memory, \"cache\" by the processor's second-level cache. What finds no record is counted for its device."
    ),
    key!(
        Effective,
        "names",
        monitor.names,
        bool,
        "Learn names of devices and of what they talk to from the first packets of conversations (DNS, DHCP, TLS, QUIC). Kept in memory only."
    ),
    key!(
        Effective,
        "leases",
        monitor.leases,
        Vec<Path>,
        "Files in which a DHCP server keeps leases: devices have names by them, too. Those that are not there are passed over."
    ),
    key!(
        Effective,
        "probes",
        monitor.probes,
        Vec<Probe>,
        "What else is recorded of the network stack: `weir probes` lists what there is. Each costs time for every packet that it looks at."
    ),
];

static IPFIX: [Key<Effective>; 4] = [
    key!(
        Effective,
        "collector",
        monitor.ipfix.collector,
        Option<Collector>,
        "Where conversations are told to, by IPFIX over UDP."
    ),
    key!(
        Effective,
        "biflow",
        monitor.ipfix.biflow,
        bool,
        "Both ways in one record (RFC 5103). Few collectors understand it."
    ),
    key!(
        Effective,
        "active",
        monitor.ipfix.active,
        Time,
        "How often a conversation that goes on is told of."
    ),
    key!(
        Effective,
        "nat_events",
        monitor.ipfix.nat_events,
        bool,
        "Tell when translations of IPv4 begin and end: who had which port."
    ),
];

static HISTORY: [Key<Effective>; 5] = [
    key!(
        Effective,
        "enabled",
        history.enabled,
        bool,
        "Keep what devices used, by the hour, day and month."
    ),
    key!(
        Effective,
        "file",
        history.file,
        Option<Path>,
        "Where it is kept. \"auto\" is /var/lib/weir/history.db in the first network namespace, and nothing in any other."
    ),
    key!(
        Effective,
        "flush",
        history.flush,
        Time,
        "How often is written at most: flash wears out. What came since is lost if the power fails."
    ),
    key!(
        Effective,
        "limit",
        history.limit,
        Octets,
        "How large the file may grow; the oldest hours go first."
    ),
    key!(
        Effective,
        "month_begins",
        history.month_begins,
        u8,
        "Day on which a month begins, as the provider counts."
    ),
];

static MULTIPATH: [Key<Effective>; 7] = [
    key!(
        Effective,
        "partner",
        multipath.partner,
        Option<multipath::Pairing>,
        "The partner by which clients get the sum of all uplinks: the line that `weir multipath pair` printed there. Keep this file from others."
    ),
    key!(
        Effective,
        "fallback",
        multipath.fallback,
        Fallback,
        "What becomes of connections while the partner is not reached: they go directly, or not at all."
    ),
    key!(
        Effective,
        "encrypt",
        multipath.encrypt,
        multipath::Encrypt,
        "What is encrypted on its way to the partner: all but TLS, which is already; each connection, so that no provider sees the names that TLS shows; or none."
    ),
    key!(
        Effective,
        "direct",
        multipath.direct,
        Vec<kernel::Prefix>,
        "Networks that are reached directly, besides private ones."
    ),
    key!(
        Effective,
        "direct_ports",
        multipath.direct_ports,
        Vec<multipath::Ports>,
        "Destination ports that are reached directly."
    ),
    key!(
        Effective,
        "direct_devices",
        multipath.direct_devices,
        Vec<multipath::Clients>,
        "Clients that reach all directly, by MAC address, address or network."
    ),
    key!(
        Effective,
        "forward",
        multipath.forward,
        Vec<multipath::Forward>,
        "Where in the LAN goes what comes to ports of the partner that it gives to this router."
    ),
];

static WEB: [Key<Effective>; 9] = [
    key!(
        Effective,
        "enabled",
        web.enabled,
        bool,
        "Serve the web page."
    ),
    key!(
        Effective,
        "listen",
        web.listen,
        Vec<SocketAddr>,
        "Addresses and ports that it listens on. Beyond this machine only with TLS."
    ),
    key!(
        Effective,
        "hosts",
        web.hosts,
        Vec<String>,
        "Names by which browsers reach it, besides localhost and the address itself."
    ),
    key!(
        Effective,
        "tls",
        web.tls,
        WebTls,
        "HTTPS: \"own\" with a certificate that weir makes, \"files\" with one of yours."
    ),
    key!(
        Effective,
        "certificate",
        web.certificate,
        PathBuf,
        "With tls = \"files\": the certificate, and those between it and a root."
    ),
    key!(
        Effective,
        "key",
        web.key,
        PathBuf,
        "With tls = \"files\": its private key."
    ),
    key!(
        Effective,
        "insecure",
        web.insecure,
        bool,
        "Listen without TLS even where others on the network can read the password."
    ),
    key!(
        Effective,
        "password",
        web.password,
        PathBuf,
        "File in which `weir passwd` keeps the password's hash."
    ),
    key!(
        Effective,
        "metrics",
        web.metrics,
        MetricsFor,
        "Who gets /metrics, for Prometheus: nobody, programs on this machine, or whoever has the token in a file."
    ),
];

static API: [Key<Effective>; 1] = [key!(
    Effective,
    "socket",
    api.socket,
    Option<Path>,
    "Socket of the API. \"auto\" is /run/weir/weir.sock, or one named for the network namespace in any but the first."
)];

static LOG: [Key<Effective>; 1] = [key!(
    Effective,
    "level",
    log.level,
    LogLevel,
    "How much is told on standard error."
)];

/// Keys of each `[ports.NAME]`.
pub(in crate::config) static PORT: [Key<PortSettings>; 1] = [key!(
    PortSettings,
    "hook",
    hook,
    PortHook,
    "Where packets of this device are taken. \"auto\" is as offload.hook says; \"off\" leaves the device alone."
)];

/// Keys of each `[multipath.paths.NAME]`.
pub(in crate::config) static HINT: [Key<PathSettings>; 4] = [
    key!(
        PathSettings,
        "use",
        used,
        multipath::hints::Use,
        "When the uplink is used; NAME is its device. \"metered\": while none works that is \"always\"; \"backup\": while no other works; \"never\": it is no path."
    ),
    key!(
        PathSettings,
        "weight",
        weight,
        u8,
        "Share of new conversations that are not TCP, percent of what its rate alone would give."
    ),
    key!(
        PathSettings,
        "up",
        up,
        Option<Rate>,
        "Most that what is not TCP may take of it to the partner; \"none\": it is found out."
    ),
    key!(
        PathSettings,
        "down",
        down,
        Option<Rate>,
        "The same from the partner."
    ),
];

/// Keys of each `[quotas.NAME]`.
pub(in crate::config) static QUOTA: [Key<QuotaSettings>; 4] = [
    key!(
        QuotaSettings,
        "limit",
        limit,
        Octets,
        "How much the device may use, both ways together; 0 is as much as it likes. NAME is a hardware address, the name of a device, or \"default\" for all others."
    ),
    key!(QuotaSettings, "per", per, QuotaPeriod, "In which time."),
    key!(
        QuotaSettings,
        "warn",
        warn,
        u8,
        "From how many hundredths of it on is warned."
    ),
    key!(
        QuotaSettings,
        "action",
        action,
        QuotaAction,
        "What happens when all is used: it is told, or the device is kept from the network until the next period."
    ),
];

/// Sections with a fixed name, in the order of the manual.
pub(in crate::config) static SECTIONS: [(&str, &[Key<Effective>]); 9] = [
    ("offload", &OFFLOAD),
    ("drops", &DROPS),
    ("monitor", &MONITOR),
    ("monitor.ipfix", &IPFIX),
    ("history", &HISTORY),
    ("multipath", &MULTIPATH),
    ("web", &WEB),
    ("api", &API),
    ("log", &LOG),
];
