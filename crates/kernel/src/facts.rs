//! Facts that only files contain: drivers, sysctls, the old iptables.
//!
//! `/sys` shows the network namespace in which it was mounted; `/proc/sys/net` shows that of the
//! thread that reads.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Returns the driver of a device (`/sys/class/net/NAME/device/driver`). `None` for software
/// devices, whose kind rtnetlink reports, and for invalid names.
pub fn driver(name: &str) -> Option<String> {
    driver_below(Path::new("/sys/class/net"), name)
}

fn driver_below(root: &Path, name: &str) -> Option<String> {
    if !is_device_name(name) {
        return None;
    }
    let target = fs::read_link(root.join(name).join("device/driver")).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

/// Returns the speed of a device, in Mbit/s (`/sys/class/net/NAME/speed`), for kernels without the
/// family `ethtool`. `None` if unknown.
pub fn speed(name: &str) -> Option<u32> {
    speed_below(Path::new("/sys/class/net"), name)
}

fn speed_below(root: &Path, name: &str) -> Option<u32> {
    // -1 is no speed, 0 neither.
    let speed = text_below(root, name, "speed")?.parse().ok()?;
    (speed != 0).then_some(speed)
}

/// Returns how often a device has lost its link (`/sys/class/net/NAME/carrier_down_count`).
/// rtnetlink does not report a link that is back within a second (net/core/link_watch.c).
pub fn links_lost(name: &str) -> Option<u32> {
    lost_below(Path::new("/sys/class/net"), name)
}

fn lost_below(root: &Path, name: &str) -> Option<u32> {
    text_below(root, name, "carrier_down_count")?.parse().ok()
}

/// Returns the tag of frames between this machine and a switch (`/sys/class/net/NAME/dsa/tagging`),
/// in the kernel's words: `mtk`, `qca`, … `None` for devices that are not the conduit of a switch.
pub fn dsa_tagging(name: &str) -> Option<String> {
    tagging_below(Path::new("/sys/class/net"), name)
}

fn tagging_below(root: &Path, name: &str) -> Option<String> {
    text_below(root, name, "dsa/tagging")
}

/// A file about a device, without white space around it.
fn text_below(root: &Path, name: &str, file: &str) -> Option<String> {
    if !is_device_name(name) {
        return None;
    }
    let text = fs::read_to_string(root.join(name).join(file)).ok()?;
    Some(text.trim().to_owned())
}

/// Returns true for each of IPv4 and IPv6 that a device forwards. A family that the kernel lacks is
/// not forwarded.
///
/// # Errors
/// The sysctl exists but cannot be read or understood.
pub fn forwarding(name: &str) -> io::Result<(bool, bool)> {
    if !is_device_name(name) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name:?} is not a valid device name"),
        ));
    }
    let of = |family| sysctl(&format!("/proc/sys/net/{family}/conf/{name}/forwarding"));
    Ok((of("ipv4")?.unwrap_or(0) != 0, of("ipv6")?.unwrap_or(0) != 0))
}

/// Files of [`switches`], below `/proc/sys/net`: family, switch.
const SWITCHES: [(&str, &str); 7] = [
    ("ipv4", "disable_policy"),
    ("ipv4", "disable_xfrm"),
    ("ipv4", "src_valid_mark"),
    ("ipv4", "accept_local"),
    ("ipv6", "disable_policy"),
    // The longest packet, separate from the device's.
    ("ipv6", "mtu"),
    // Linux 6.17: forwards although `forwarding` is off.
    ("ipv6", "force_forwarding"),
];

/// Switches of a whole network namespace, below `/proc/sys/net`. The module br_netfilter, which
/// may be loaded at any time, makes the first ones.
const GLOBAL: [&str; 7] = [
    "bridge/bridge-nf-call-iptables",
    "bridge/bridge-nf-call-ip6tables",
    "bridge/bridge-nf-filter-vlan-tagged",
    "bridge/bridge-nf-filter-pppoe-tagged",
    "bridge/bridge-nf-pass-vlan-input-dev",
    "ipv4/ip_forward_use_pmtu",
    "ipv4/ip_forward_update_priority",
];

/// Switches that the kernel reads for each packet: IPsec policies at a device, marks in checks of
/// sources, and others. `all` also has the switches of the whole namespace. The kernel sends no
/// message when a switch changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Switches(
    [Option<String>; SWITCHES.len()],
    [Option<String>; GLOBAL.len()],
);

/// Reads these switches of a device, or of `all`; only for comparison.
///
/// # Errors
/// A sysctl exists but cannot be read.
pub fn switches(name: &str) -> io::Result<Switches> {
    let mut switches = Switches::default();
    if is_device_name(name) {
        for (switch, (family, file)) in switches.0.iter_mut().zip(SWITCHES) {
            *switch = read(&format!("/proc/sys/net/{family}/conf/{name}/{file}"))?;
        }
    }
    if name == "all" {
        for (switch, file) in switches.1.iter_mut().zip(GLOBAL) {
            *switch = read(&format!("/proc/sys/net/{file}"))?;
        }
    }
    Ok(switches)
}

/// Files of [`multipath`], below `/proc/sys/net`. Not all kernels have each: the fields are from
/// 5.14 on, the seed from 6.11.
const MULTIPATH: [&str; 6] = [
    "ipv4/fib_multipath_hash_policy",
    "ipv4/fib_multipath_hash_fields",
    "ipv4/fib_multipath_hash_seed",
    "ipv4/fib_multipath_use_neigh",
    "ipv6/fib_multipath_hash_policy",
    "ipv6/fib_multipath_hash_fields",
];

/// Settings that choose the next hop of a flow if a route has several. The kernel sends no message
/// when they change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Multipath([Option<String>; MULTIPATH.len()]);

/// Reads the settings of routes with several next hops; only to be compared.
///
/// # Errors
/// A sysctl exists but cannot be read.
pub fn multipath() -> io::Result<Multipath> {
    let mut settings = Multipath::default();
    for (setting, name) in settings.0.iter_mut().zip(MULTIPATH) {
        *setting = read(&format!("/proc/sys/net/{name}"))?;
    }
    Ok(settings)
}

/// Settings of connection tracking that weir follows, and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConntrackSettings {
    /// An established TCP connection times out after this.
    pub tcp_established: Duration,
    /// Time-out while data wait to be acknowledged.
    pub tcp_unacknowledged: Duration,
    /// Time-out after several retransmissions, or while the receiver has no room.
    pub tcp_max_retrans: Duration,
    /// UDP in one direction only, or a short exchange.
    pub udp: Duration,
    /// UDP in both directions for longer.
    pub udp_stream: Duration,
    /// `nf_conntrack_events`: 0 sends no events, 1 sends them for all entries, 2 only for those
    /// made while a process listened.
    pub events: u32,
    /// Maximum number of entries.
    pub max: u32,
}

/// Reads the settings of connection tracking. `None`: the kernel does not track connections (the
/// module is not loaded).
///
/// # Errors
/// A sysctl exists but cannot be read or parsed.
pub fn conntrack_settings() -> io::Result<Option<ConntrackSettings>> {
    let of = |name: &str| sysctl(&format!("/proc/sys/net/netfilter/nf_conntrack_{name}"));
    let (Some(tcp), Some(unacknowledged), Some(retrans), Some(udp), Some(stream), Some(max)) = (
        of("tcp_timeout_established")?,
        of("tcp_timeout_unacknowledged")?,
        of("tcp_timeout_max_retrans")?,
        of("udp_timeout")?,
        of("udp_timeout_stream")?,
        of("max")?,
    ) else {
        return Ok(None);
    };
    Ok(Some(ConntrackSettings {
        tcp_established: Duration::from_secs(tcp.into()),
        tcp_unacknowledged: Duration::from_secs(unacknowledged.into()),
        tcp_max_retrans: Duration::from_secs(retrans.into()),
        udp: Duration::from_secs(udp.into()),
        udp_stream: Duration::from_secs(stream.into()),
        // Not there: built without events.
        events: of("events")?.unwrap_or(0),
        max,
    }))
}

/// `nf_conntrack_events`: 0 reports nothing, 1 all entries, 2 only entries made while a process
/// listened. `None`: the kernel does not track connections, or was built without events.
///
/// # Errors
/// The sysctl exists but cannot be read or parsed.
pub fn conntrack_events() -> io::Result<Option<u32>> {
    sysctl("/proc/sys/net/netfilter/nf_conntrack_events")
}

/// Tables of the old iptables and ip6tables that are loaded, such as `filter` or `ip6:nat`: their
/// changes send no event. Empty where only nftables is used.
///
/// # Errors
/// The list exists but cannot be read.
pub fn legacy_tables() -> io::Result<Vec<String>> {
    let mut tables = Vec::new();
    for (path, prefix) in [("ip_tables_names", ""), ("ip6_tables_names", "ip6:")] {
        // Not /proc/net, which is that of the process' first thread.
        if let Some(names) = read(&format!("/proc/thread-self/net/{path}"))? {
            tables.extend(
                names
                    .lines()
                    .filter(|name| !name.is_empty())
                    .map(|name| format!("{prefix}{name}")),
            );
        }
    }
    Ok(tables)
}

/// Lists, in words, programs that inspect every frame a bridge forwards and whose changes send no
/// event: bridge netfilter, if a switch of it is on in this namespace, and tables of the old
/// ebtables. Those tables show only in their modules, for all namespaces together. Empty: none.
///
/// # Errors
/// A file exists but cannot be read or parsed.
pub fn bridge_filters() -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for family in ["iptables", "ip6tables", "arptables"] {
        let name = format!("bridge-nf-call-{family}");
        if sysctl(&format!("/proc/sys/net/bridge/{name}"))?.unwrap_or(0) != 0 {
            found.push(format!("net.bridge.{name}"));
        }
    }
    let modules = read("/proc/modules")?.unwrap_or_default();
    let names = modules.lines().filter_map(|line| line.split(' ').next());
    found.extend(
        names
            .filter(|name| EBTABLES.contains(name))
            .map(|name| format!("the module {name}")),
    );
    Ok(found)
}

/// Modules with a table of ebtables, each of which hooks into all bridges.
const EBTABLES: [&str; 3] = ["ebtable_broute", "ebtable_filter", "ebtable_nat"];

/// Checks a name as the kernel does (`dev_valid_name`), so that no name leads out of its directory.
fn is_device_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']) && name.len() < 16
}

/// Reads a number; `None` if the file is missing.
fn sysctl(path: &str) -> io::Result<Option<u32>> {
    let Some(text) = read(path)? else {
        return Ok(None);
    };
    match text.trim().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{path} holds {:?}", text.trim()),
        )),
    }
}

fn read(path: &str) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use testing::Directory;

    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["", ".", "..", "a/b", "../net", "0123456789abcdef"] {
            assert!(!is_device_name(name), "{name}");
            assert_eq!(driver(name), None);
            assert_eq!(
                forwarding(name).unwrap_err().kind(),
                io::ErrorKind::InvalidInput
            );
        }
        assert!(is_device_name("eth0.5") && is_device_name("pppoe-wan"));
    }

    #[test]
    fn a_driver_is_where_the_link_leads() {
        let root = Directory::new();
        let device = root.join("eth0/device");
        fs::create_dir_all(&device).expect("directory");
        std::os::unix::fs::symlink("../../../bus/pci/drivers/igc", device.join("driver"))
            .expect("link");
        let found = driver_below(&root, "eth0");
        let none = driver_below(&root, "eth1");
        let speeds = ["1000\n", "-1\n", "0\n"].map(|text| {
            fs::write(root.join("eth0/speed"), text).expect("file");
            speed_below(&root, "eth0")
        });
        assert_eq!(speeds, [Some(1000), None, None]);
        assert_eq!(speed_below(&root, "eth1"), None);
        fs::write(root.join("eth0/carrier_down_count"), "3\n").expect("written");
        assert_eq!(lost_below(&root, "eth0"), Some(3));
        assert_eq!(
            (lost_below(&root, "eth1"), lost_below(&root, "../eth0")),
            (None, None)
        );
        fs::create_dir_all(root.join("eth0/dsa")).expect("directory");
        fs::write(root.join("eth0/dsa/tagging"), "mtk\n").expect("file");
        let tags = ["eth0", "eth1", "../eth0"].map(|name| tagging_below(&root, name));
        assert_eq!((found.as_deref(), none), (Some("igc"), None));
        assert_eq!(tags, [Some("mtk".to_owned()), None, None]);
    }

    #[test]
    fn a_file_that_is_not_there_is_no_error() {
        assert!(matches!(sysctl("/proc/sys/net/none"), Ok(None)));
        assert!(
            sysctl("/proc/sys/kernel/ostype")
                .unwrap_err()
                .to_string()
                .contains("Linux")
        );
    }
}
