//! Lists the devices that are ports, and their current use.

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use cables_core::{Port, Use};
use kernel::{Link, facts};

use super::mover::{ConfiguredUse, Mover};

/// Ethernet (ARPHRD_ETHER, include/uapi/linux/if_arp.h).
const ETHERNET: u16 = 1;

/// Returns true if a device is a socket for a cable: hardware Ethernet, not a radio, and not the
/// uplink of a switch whose own ports are devices.
pub fn is_socket(link: &Link) -> bool {
    let radio = |name: &str| {
        let folder = Path::new("/sys/class/net").join(name);
        ["wireless", "phy80211"]
            .iter()
            .any(|has| folder.join(has).exists())
    };
    link.hardware == ETHERNET
        && matches!(&*link.kind, "" | "dsa")
        && facts::driver(&link.name).is_some()
        && facts::dsa_tagging(&link.name).is_none()
        && !radio(&link.name)
}

/// State of this machine that concerns ports. Read again with each link.
#[derive(Clone, Debug, Default)]
pub struct SystemState {
    /// Devices of all other outgoing traffic.
    leads_out: BTreeSet<String>,
    /// Devices among these at which a gateway answers.
    answered: BTreeSet<String>,
    /// A server of DHCP listens.
    serves: bool,
}

impl SystemState {
    /// Reads the current state. Unreadable files count as empty.
    pub fn read() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self::of(
            &read("/proc/net/route"),
            &read("/proc/net/ipv6_route"),
            &read("/proc/net/udp"),
            &read("/proc/net/arp"),
        )
    }

    /// Parses the texts of `/proc/net` (net/ipv4/fib_trie.c, net/ipv6/route.c, net/ipv4/udp.c,
    /// net/ipv4/arp.c).
    fn of(routes4: &str, routes6: &str, sockets: &str, arp: &str) -> Self {
        let (mut leads_out, mut answered) = (BTreeSet::new(), BTreeSet::new());
        for line in routes4.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let [device, "00000000", gateway, _, _, _, _, "00000000", ..] = fields[..] {
                leads_out.insert(device.to_owned());
                let gateway = u32::from_str_radix(gateway, 16).unwrap_or(0);
                let gateway = Ipv4Addr::from(gateway.to_ne_bytes()).to_string();
                if answers(arp, &gateway, device) {
                    answered.insert(device.to_owned());
                }
            }
        }
        for line in routes6.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // An unreachable default route is one by `lo`.
            if let [to, "00", .., device] = fields[..]
                && to.bytes().all(|c| c == b'0')
                && device != "lo"
            {
                leads_out.insert(device.to_owned());
            }
        }
        let port = |line: &str| Some(line.split_whitespace().nth(1)?.ends_with(":0043"));
        let serves = sockets.lines().any(|line| port(line) == Some(true));
        Self {
            leads_out,
            answered,
            serves,
        }
    }

    /// Returns true if the device's upper devices show that it has this use.
    pub fn are<'a>(
        &self,
        device: &str,
        to: Use,
        links: impl Iterator<Item = &'a Link> + Clone,
    ) -> bool {
        let upon = upon(device);
        let of_kind = |kind: &str| {
            let mut upon = links.clone().filter(|link| upon.contains(&link.name));
            upon.find(|link| link.kind == kind)
        };
        let in_mesh = |link: &Link| {
            let master = links.clone().find(|other| Some(other.index) == link.master);
            master.is_some_and(|master| master.kind == "batadv")
        };
        let mesh = of_kind("batadv").is_some() || of_kind("vxlan").is_some_and(in_mesh);
        let lan = of_kind("bridge").is_some();
        let dialled = || {
            let mut dials = links.clone().filter(|link| link.kind == "ppp");
            dials.any(|link| self.leads_out.contains(&link.name))
        };
        let leads_out = |device: &str| self.leads_out.contains(device);
        match to {
            Use::Lan => lan,
            Use::Mesh => mesh,
            Use::Uplink => {
                leads_out(device) || upon.iter().any(|upper| leads_out(upper)) || dialled()
            }
            Use::None => !lan && !mesh && !leads_out(device),
        }
    }

    /// Returns the prior facts of a port: as configured, otherwise by its real use.
    pub fn known<'a>(
        &self,
        mover: Option<&Mover>,
        link: &Link,
        links: impl Iterator<Item = &'a Link> + Clone,
    ) -> (Port, ConfiguredUse) {
        let mut port = self.port(link, links.clone());
        let used = mover.and_then(|mover| mover.used(&link.name));
        let used = used.unwrap_or(ConfiguredUse {
            now: port.former,
            by_itself: false,
        });
        port.former = used.now;
        port.own_dhcp = self.serves;
        if port.former == Use::Uplink {
            let others = links.filter(|other| other.index != link.index && other.mac != link.mac);
            let others = others.filter(|other| self.is_uplink(mover, other));
            let named = others.filter_map(|other| Some((other.name.clone(), other.mac?)));
            port.other_uplinks = named.collect();
        }
        (port, used)
    }

    /// Returns true for a device of the default route, or a configured uplink. A bridge member is
    /// not an uplink: the bridge forwards its frames.
    fn is_uplink(&self, mover: Option<&Mover>, link: &Link) -> bool {
        let used = mover.and_then(|mover| mover.used(&link.name));
        let uplink = used.is_some_and(|used| used.now == Use::Uplink);
        link.master.is_none() && (uplink || self.leads_out.contains(&link.name))
    }

    /// Returns a port and its use, among these devices.
    pub fn port<'a>(&self, link: &Link, links: impl Iterator<Item = &'a Link>) -> Port {
        let master = link.master;
        let master = links.into_iter().find(|other| Some(other.index) == master);
        let former = match master.map(|master| &*master.kind) {
            Some("bridge") => Use::Lan,
            Some("batadv") => Use::Mesh,
            _ if self.leads_out.contains(&link.name) => Use::Uplink,
            _ => Use::None,
        };
        Port {
            device: link.name.clone(),
            former,
            works: self.answered.contains(&link.name),
            administrator: false,
            own_dhcp: self.serves && former == Use::Lan,
            secret: false,
            probes: false,
            held: None,
            other_uplinks: Vec::new(),
        }
    }
}

/// Returns true if the kernel has a neighbour's address (ATF_COM, include/uapi/linux/if_arp.h).
fn answers(arp: &str, address: &str, device: &str) -> bool {
    arp.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields[..], [of, _, flags, _, _, at] if of == address && at == device
            && u32::from_str_radix(flags.trim_start_matches("0x"), 16).is_ok_and(|it| it & 2 != 0))
    })
}

/// Returns the upper devices of a device (`upper_…` of sysfs, net/core/dev.c): a bridge, a VLAN, a
/// VXLAN.
fn upon(device: &str) -> BTreeSet<String> {
    let folder = fs::read_dir(Path::new("/sys/class/net").join(device));
    let names = folder.into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let upper = |name: String| name.strip_prefix("upper_").map(str::to_owned);
    names.filter_map(upper).collect()
}

/// Returns the name of a port's use.
pub fn word(former: Use) -> &'static str {
    match former {
        Use::Lan => "lan",
        Use::Uplink => "uplink",
        Use::Mesh => "mesh",
        Use::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_out_and_servers_are_read() {
        let routes4 = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n\
            eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
            br-lan\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let zero = "0".repeat(32);
        let routes6 = format!(
            "{zero} 00 {zero} 00 fe80 00000400 00000001 00000000 00000003     eth1\n\
             {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n"
        );
        let sockets = "  sl  local_address rem_address   st tx_queue\n\
            105: 00000000:0043 00000000:0000 07 00000000:00000000 00:00000000 00000000\n";
        let arp = |flags| {
            format!(
                "IP address       HW type     Flags       HW address            Mask     Device\n\
                 10.0.0.1         0x1         {flags}         02:00:00:00:00:01     *        eth0\n"
            )
        };
        let answered = |flags| SystemState::of(routes4, "", "", &arp(flags)).answered;
        assert!(answered("0x2").contains("eth0") && answered("0x6").contains("eth0"));
        assert!(answered("0x0").is_empty() && answered("x").is_empty());
        let doings = SystemState::of(routes4, &routes6, sockets, "");
        let expected = ["eth0", "eth1"].map(str::to_owned);
        assert_eq!(doings.leads_out, BTreeSet::from(expected));
        assert!(doings.serves);
        let none = SystemState::of("", "x", "105: 00000000:0044 ", "x\n\n");
        assert!(none.leads_out.is_empty() && !none.serves);
    }

    #[test]
    fn other_uplinks_are_devices_that_lead_out_by_themselves() {
        let link = |index: u32, name: &str, mac| Link {
            index,
            name: name.to_owned(),
            mac: Some([2, 0, 0, 0, 0, mac]),
            ..Link::default()
        };
        let member = Link {
            master: Some(9),
            ..link(4, "eth3", 4)
        };
        let links = [
            link(1, "eth0", 1),
            link(2, "eth1", 2),
            link(3, "eth0.7", 1),
            member,
            link(5, "eth4", 5),
        ];
        let doings = SystemState {
            leads_out: ["eth0", "eth1", "eth0.7", "eth3"].map(str::to_owned).into(),
            ..SystemState::default()
        };
        let others = |at: usize| doings.known(None, &links[at], links.iter()).0.other_uplinks;
        assert_eq!(others(0), [("eth1".to_owned(), [2, 0, 0, 0, 0, 2])]);
        assert_eq!(others(4), [], "it is none itself");
    }
}
