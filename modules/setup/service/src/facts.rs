//! Properties of the router: its system, its board, its abilities.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use setup_core::messages::SetupRelease;
use setup_core::plan::{Config, Facts, Ipv4Cidr, Policy};

use super::radios::{self, program};
use runtime::Error;

/// The newest known release of OpenWrt.
const NEWEST: u16 = 25;
/// The oldest release.
const OLDEST: u16 = 23;

/// Properties of a router.
pub struct Board {
    pub release: SetupRelease,
    pub model: Option<String>,
    pub facts: Facts,
}

impl Board {
    /// Fails if the system is not supported.
    pub fn known(&self) -> Result<(), Error> {
        let SetupRelease {
            name,
            version,
            known,
        } = &self.release;
        if *known {
            return Ok(());
        }
        Err(Error::new(
            format!(
                "weir does not support {}",
                format!("{name} {version}").trim()
            ),
            "it can only show changes, not make them (in a terminal: make them by `uci`, where they are right)",
        ))
    }
}

/// Reads the properties. `etc` is the folder above the configuration: `/etc`.
pub fn read_board(etc: &Path, config: &Config, policy: Policy) -> Board {
    let text = |name: &str| fs::read_to_string(etc.join(name)).unwrap_or_default();
    let (release, year) = release(&text("openwrt_release"), &text("os-release"));
    let board: Value = serde_json::from_str(&text("board.json")).unwrap_or_default();
    let word = |pointer: &str| board.pointer(pointer)?.as_str().map(str::to_owned);
    let openwrt = release.name == "OpenWrt";
    let radios = radios::read_radios(config, (openwrt, year));
    let mut lacks = if openwrt {
        lacking_of_openwrt(&root(etc), year)
    } else {
        lacking_of_others()
    };
    if !cfg!(feature = "openvpn") {
        let what = "a weir with the feature `openvpn`, which creates certificates";
        lacks.insert("openvpn".to_owned(), what.to_owned());
    }
    let mut lan: Vec<String> = board
        .pointer("/network/lan/ports")
        .and_then(Value::as_array)
        .map(|ports| {
            ports
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        })
        .unwrap_or_default();
    lan.extend(word("/network/lan/device"));
    let board_mac = word("/network/lan/macaddr").or_else(|| word("/system/label_macaddr"));
    if board.is_null() {
        lan.extend(sockets());
    }
    Board {
        model: word("/model/name"),
        facts: Facts {
            release: openwrt.then_some(year),
            wan: word("/network/wan/device"),
            mac: mac(board_mac, &lan),
            lan,
            uplink: uplink(etc, config, word("/network/wan/device")),
            radios,
            missing: lacks,
            policy,
            score: None,
            openvpn_keys: String::new(),
            openvpn_anew: false,
        },
        release,
    }
}

/// Returns devices with a socket for a cable, without a known board: hardware that is not a radio.
fn sockets() -> Vec<String> {
    let Ok(all) = fs::read_dir("/sys/class/net") else {
        return Vec::new();
    };
    let mut names: Vec<String> = all
        .flatten()
        .filter(|entry| {
            let has = |name: &str| entry.path().join(name).exists();
            has("device") && !has("wireless") && !has("phy80211")
        })
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Returns present networks of the uplink, but not those of the LAN's device.
fn uplink(etc: &Path, config: &Config, board: Option<String>) -> Vec<Ipv4Cidr> {
    // Another folder may be another router's.
    let routes = match etc == Path::new("/etc") {
        true => fs::read_to_string("/proc/net/route").unwrap_or_default(),
        false => String::new(),
    };
    let devices = uplink_devices(config, board, &routes);
    let Ok(all) = nix::ifaddrs::getifaddrs() else {
        return Vec::new();
    };
    all.filter(|entry| devices.contains(&entry.interface_name))
        .filter_map(|entry| {
            let address = entry.address?.as_sockaddr_in()?.ip();
            let mask = entry.netmask?.as_sockaddr_in()?.ip();
            Ipv4Cidr::of_mask(&address.to_string(), &mask.to_string())
        })
        .collect()
}

/// Returns devices of the uplink, by the configuration and by the kernel's routes. Excludes the
/// LAN's device, also on an access point, whose default route leads there.
fn uplink_devices(config: &Config, board: Option<String>, routes: &str) -> Vec<String> {
    let device = config.device("wan").or(board);
    let mut devices: Vec<String> = device.into_iter().collect();
    devices.extend(["pppoe-wan".to_owned(), "wwan0".to_owned()]);
    devices.extend(default_devices(routes));
    let inside = config.device("lan");
    devices.retain(|device| Some(device) != inside.as_ref());
    devices
}

/// Returns the devices of default routes in the kernel's table of IPv4.
fn default_devices(routes: &str) -> impl Iterator<Item = String> {
    routes.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let device = fields.next()?;
        let is_default = fields.next() == Some("00000000") && fields.nth(5) == Some("00000000");
        is_default.then(|| device.to_owned())
    })
}

/// Returns the hardware address inside: the board's, or that of the first device.
fn mac(board: Option<String>, devices: &[String]) -> Option<[u8; 6]> {
    let address = |device: &String| {
        let path = Path::new("/sys/class/net").join(device).join("address");
        fs::read_to_string(path).ok()
    };
    let text = board.or_else(|| devices.iter().find_map(address))?;
    net::mac::parse(text.trim()).filter(|mac| *mac != [0; 6])
}

/// Returns the folder above `/etc`.
fn root(etc: &Path) -> PathBuf {
    etc.parent().unwrap_or(etc).to_owned()
}

/// Returns the system by its files, and the year of the OpenWrt options that it takes.
fn release(openwrt: &str, others: &str) -> (SetupRelease, u16) {
    let value = |text: &str, key: &str| {
        text.lines().find_map(|line| {
            let value = line.strip_prefix(key)?.strip_prefix('=')?;
            Some(value.trim().trim_matches(['\'', '"']).to_owned())
        })
    };
    if let Some(name) = value(openwrt, "DISTRIB_ID") {
        let version = value(openwrt, "DISTRIB_RELEASE").unwrap_or_default();
        let year = version
            .split('.')
            .next()
            .and_then(|year| year.parse::<u16>().ok());
        let known = year.is_some_and(|year| (OLDEST..=NEWEST).contains(&year));
        let release = SetupRelease {
            // Derived systems count as OpenWrt: their configuration is compatible.
            name: if name.is_empty() {
                name
            } else {
                "OpenWrt".to_owned()
            },
            version,
            known,
        };
        return (release, year.unwrap_or(NEWEST).clamp(OLDEST, NEWEST));
    }
    let name = value(others, "NAME").unwrap_or_else(|| "Linux".to_owned());
    let debian = value(others, "ID").as_deref() == Some("debian")
        || value(others, "ID_LIKE").is_some_and(|like| like.split(' ').any(|id| id == "debian"));
    let release = SetupRelease {
        name: name.split(' ').next().unwrap_or_default().to_owned(),
        version: value(others, "VERSION_ID").unwrap_or_default(),
        known: debian,
    };
    (release, NEWEST)
}

/// Returns features of OpenWrt whose packages are missing.
fn lacking_of_openwrt(root: &Path, year: u16) -> BTreeMap<String, String> {
    let openvpn = if year >= 25 {
        ("lib/netifd/proto/openvpn.sh", "openvpn")
    } else {
        ("etc/init.d/openvpn", "openvpn-openssl")
    };
    let needed = [
        ("pppoe", "lib/netifd/proto/ppp.sh", "ppp-mod-pppoe"),
        ("mobile", "lib/netifd/proto/qmi.sh", "uqmi"),
        (
            "wireguard",
            "lib/netifd/proto/wireguard.sh",
            "wireguard-tools",
        ),
        ("batman", "lib/netifd/proto/batadv.sh", "kmod-batman-adv"),
        ("vxlan", "lib/netifd/proto/vxlan.sh", "vxlan"),
        ("doh", "etc/init.d/https-dns-proxy", "https-dns-proxy"),
        ("openvpn", openvpn.0, openvpn.1),
    ];
    let mut lacks: BTreeMap<String, String> = needed
        .into_iter()
        .filter(|(_, file, _)| !root.join(file).exists())
        .map(|(feature, _, package)| (feature.to_owned(), package.to_owned()))
        .collect();
    if year < 24 {
        lacks.insert("apup".to_owned(), "OpenWrt 24.10 or newer".to_owned());
    }
    lacks
}

/// Returns features that the back end for Debian lacks.
fn lacking_of_others() -> BTreeMap<String, String> {
    let mut lacks: BTreeMap<String, String> = [
        ("mobile", "a back end for modems"),
        ("doh", "a back end for names over HTTPS"),
        ("apup", "OpenWrt's hostapd"),
    ]
    .into_iter()
    .map(|(feature, what)| (feature.to_owned(), what.to_owned()))
    .collect();
    for (feature, name, package) in [("pppoe", "pppd", "ppp"), ("openvpn", "openvpn", "openvpn")] {
        if program(name).is_none() {
            lacks.insert(feature.to_owned(), package.to_owned());
        }
    }
    lacks
}

#[cfg(test)]
mod tests {
    use super::{default_devices, release, uplink_devices};
    use ::uci::Package;
    use setup_core::plan::Config;

    #[test]
    fn default_routes_by_the_table() {
        let table = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n\
            eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
            br-lan\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
            tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n";
        assert_eq!(default_devices(table).collect::<Vec<_>>(), ["eth0"]);
    }

    #[test]
    fn the_network_of_an_access_point_is_not_the_uplinks() {
        let routes = "br-lan\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
        for lan in [
            "option device 'br-lan'",
            "option type 'bridge'\n\toption ifname 'eth0'",
            "option ifname 'br-lan'",
        ] {
            let text = format!("config interface 'lan'\n\t{lan}\n");
            let network = Package::read("network", text.as_bytes()).expect("a package");
            let devices = uplink_devices(&Config::new([network]), None, routes);
            assert_eq!(devices, ["pppoe-wan", "wwan0"], "{lan}");
        }
    }

    #[test]
    fn systems_by_their_files() {
        let openwrt = |version: &str| {
            let text = format!("DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='{version}'\n");
            let (release, year) = release(&text, "");
            (release.known, year)
        };
        assert_eq!(openwrt("23.05.5"), (true, 23));
        assert_eq!(openwrt("24.10.0"), (true, 24));
        assert_eq!(openwrt("25.12.1"), (true, 25));
        assert_eq!(openwrt("22.03.7"), (false, 23));
        assert_eq!(openwrt("27.01.0"), (false, 25));
        assert_eq!(openwrt("SNAPSHOT"), (false, 25));
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nNAME=\"Debian GNU/Linux\"\n\
                      VERSION_ID=\"13\"\nID=debian\n";
        let (debian, _) = release("", debian);
        assert_eq!(
            (&*debian.name, &*debian.version, debian.known),
            ("Debian", "13", true)
        );
        assert!(!release("", "").0.known);
    }
}
