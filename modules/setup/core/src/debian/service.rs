//! Services, their files, and the commands that reload them.

use std::collections::BTreeSet;

/// Service to reload when its file changes, in the order of reloading.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// The kernel's own settings.
    Kernel,
    /// nftables. Before the network: new interfaces are protected at once.
    Firewall,
    /// The machine's name.
    Hostname,
    /// The time zone, which each program reads itself.
    Time,
    /// A device that networkd makes. networkd does not change an existing one.
    Netdev(String),
    /// systemd-networkd.
    Network,
    /// An OpenVPN server.
    OpenVpn(String),
    /// A call of pppd.
    Pppoe(String),
    /// An access point.
    Hostapd(String),
    /// A station, or a part of a mesh.
    Supplicant(String),
    /// dnsmasq.
    Names,
}

const FIREWALL: &str = "etc/nftables.d/weir.nft";
const KERNEL: &str = "etc/sysctl.d/50-weir.conf";

/// Returns true if only weir makes such files: obsolete ones are removed. `/etc/hostname` and
/// `/etc/localtime` are not.
pub fn is_ours(path: &str) -> bool {
    !matches!(
        Service::of(path),
        None | Some(Service::Hostname | Service::Time)
    )
}

impl Service {
    /// Folders with rendered files, relative to the root.
    pub const FOLDERS: [&str; 8] = [
        "etc/systemd/network",
        "etc/hostapd",
        "etc/wpa_supplicant",
        "etc/ppp/peers",
        "etc/openvpn/server",
        "etc/dnsmasq.d",
        "etc/nftables.d",
        "etc/sysctl.d",
    ];

    /// Returns the service of a file, or `None` for other files.
    pub fn of(path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/')?;
        let between = |before: &str, after: &str| {
            let name = name.strip_prefix(before)?.strip_suffix(after)?;
            (!name.is_empty()).then(|| name.to_owned())
        };
        match folder {
            _ if path == FIREWALL => Some(Self::Firewall),
            _ if path == KERNEL => Some(Self::Kernel),
            _ if path == "etc/dnsmasq.d/weir.conf" => Some(Self::Names),
            _ if path == "etc/hostname" => Some(Self::Hostname),
            _ if path == "etc/localtime" => Some(Self::Time),
            "etc/systemd/network" => match between("50-weir-", ".netdev") {
                Some(name) => Some(Self::Netdev(name)),
                None => between("50-weir-", ".network").map(|_| Self::Network),
            },
            "etc/hostapd" => between("weir-", ".conf").map(Self::Hostapd),
            "etc/wpa_supplicant" => between("weir-", ".conf").map(Self::Supplicant),
            "etc/ppp/peers" => between("weir-", "").map(Self::Pppoe),
            "etc/openvpn/server" => between("weir-", ".conf").map(Self::OpenVpn),
            _ => None,
        }
    }

    /// Returns the service's own unit, if it has one.
    pub fn unit(&self) -> Option<String> {
        match self {
            Self::OpenVpn(name) => Some(format!("weir-openvpn@{name}.service")),
            Self::Pppoe(name) => Some(format!("weir-pppoe@{name}.service")),
            Self::Hostapd(name) => Some(format!("weir-hostapd@{name}.service")),
            Self::Supplicant(name) => Some(format!("weir-supplicant@{name}.service")),
            Self::Names => Some("dnsmasq.service".into()),
            _ => None,
        }
    }

    /// Returns the word that is stored until the service is reloaded.
    pub fn word(&self) -> String {
        match self {
            Self::Kernel => "kernel".into(),
            Self::Firewall => "firewall".into(),
            Self::Hostname => "hostname".into(),
            Self::Time => "time".into(),
            Self::Netdev(name) => format!("netdev {name}"),
            Self::Network => "network".into(),
            Self::OpenVpn(name) => format!("openvpn {name}"),
            Self::Pppoe(name) => format!("pppoe {name}"),
            Self::Hostapd(name) => format!("hostapd {name}"),
            Self::Supplicant(name) => format!("supplicant {name}"),
            Self::Names => "names".into(),
        }
    }

    /// Parses that word.
    pub fn from_word(word: &str) -> Option<Self> {
        let (kind, name) = word.split_once(' ').unwrap_or((word, ""));
        let name = name.to_owned();
        Some(match kind {
            "kernel" => Self::Kernel,
            "firewall" => Self::Firewall,
            "hostname" => Self::Hostname,
            "time" => Self::Time,
            "netdev" => Self::Netdev(name),
            "network" => Self::Network,
            "openvpn" => Self::OpenVpn(name),
            "pppoe" => Self::Pppoe(name),
            "hostapd" => Self::Hostapd(name),
            "supplicant" => Self::Supplicant(name),
            "names" => Self::Names,
            _ => return None,
        })
    }
}

/// Properties of the machine that reloading needs.
pub struct Machine<'a> {
    /// Prefix of each path, without a slash at the end.
    pub root: &'a str,
    /// Name of the machine, if configured.
    pub host: Option<&'a str>,
    /// Existing network devices.
    pub devices: BTreeSet<String>,
}

/// Returns the commands that reload these services, in order. `present` are the services with a
/// file; a service without a file is stopped. Each command is a program and its arguments; a
/// command after `-` may fail.
///
/// networkd neither remakes nor removes an existing device (networkctl(1), `reload`): the device is
/// deleted. A new device with that name gets no ports, as networkd 252 takes it for the deleted
/// one: so networkd is restarted. A deleted bridge has lost its radios; hostapd adds them again.
pub fn commands(
    changed: &BTreeSet<Service>,
    present: &BTreeSet<Service>,
    machine: &Machine<'_>,
) -> Vec<Vec<String>> {
    let Machine {
        root,
        host,
        devices,
    } = machine;
    let mut told = changed.clone();
    let remade = told
        .iter()
        .any(|service| matches!(service, Service::Netdev(_)));
    if remade {
        told.insert(Service::Network);
        let radios = present
            .iter()
            .filter(|service| matches!(service, Service::Hostapd(_) | Service::Supplicant(_)));
        told.extend(radios.cloned());
    }
    let mut commands: Vec<Vec<String>> = Vec::new();
    let mut run = |words: &[&str]| {
        commands.push(words.iter().map(|&word| word.to_owned()).collect());
    };
    // Stopped services first release their devices, and their ports.
    for service in told.difference(present) {
        if let Some(unit) = service.unit() {
            run(&["systemctl", "stop", &unit]);
        }
    }
    let file = |path: &str| format!("{root}/{path}");
    for service in &told {
        let there = present.contains(service);
        match service {
            Service::Kernel if there => run(&["sysctl", "-q", "-p", &file(KERNEL)]),
            Service::Firewall if there => run(&["nft", "-f", &file(FIREWALL)]),
            Service::Hostname => {
                if let Some(host) = host {
                    run(&["hostname", host]);
                }
            }
            Service::Netdev(name) if devices.contains(name) => {
                run(&["-", "networkctl", "delete", name]);
            }
            Service::Network if remade => {
                run(&["systemctl", "restart", "systemd-networkd.service"])
            }
            Service::Network => run(&["networkctl", "reload"]),
            Service::Netdev(_) | Service::Kernel | Service::Firewall | Service::Time => {}
            other => {
                if let Some(unit) = other.unit().filter(|_| there) {
                    run(&["systemctl", "enable", "--quiet", &unit]);
                    run(&["systemctl", "restart", &unit]);
                }
            }
        }
    }
    commands
}
