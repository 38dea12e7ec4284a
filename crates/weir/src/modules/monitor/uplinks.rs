//! Where default routes lead to: the devices, and the gateways' addresses. From `/proc/net`,
//! because rtnetlink only tells that a route changed, and this is for people to read: nothing is
//! decided by it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names of devices that default routes leave by, and the addresses that they lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uplinks {
    /// Devices.
    pub devices: BTreeSet<String>,
    /// Gateways.
    pub gateways: BTreeSet<IpAddr>,
    /// Devices that PPPoE sessions go over, if one of `devices` is a PPP device: the kernel does
    /// not tell which.
    pub below_ppp: BTreeSet<String>,
}

impl Uplinks {
    /// As it is now.
    pub fn read() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let mut found = Self::default();
        found.routes4(&read("/proc/net/route"));
        found.routes6(&read("/proc/net/ipv6_route"));
        if found.devices.iter().any(|name| name.starts_with("ppp")) {
            found.sessions(&read("/proc/net/pppoe"));
        }
        found
    }

    /// `/proc/net/route` (net/ipv4/fib_trie.c, `fib_route_seq_show`): addresses as words of the
    /// machine's order, in hexadecimal.
    fn routes4(&mut self, text: &str) {
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [device, "00000000", gateway, flags, _, _, _, "00000000", ..] = fields[..] else {
                continue;
            };
            if !Self::leads_out(flags) {
                continue;
            }
            self.devices.insert(device.to_owned());
            if let Ok(word @ 1..) = u32::from_str_radix(gateway, 16) {
                self.gateways
                    .insert(IpAddr::V4(Ipv4Addr::from(word.to_ne_bytes())));
            }
        }
    }

    /// `/proc/net/ipv6_route` (net/ipv6/route.c, `ipv6_route_native_seq_show`).
    fn routes6(&mut self, text: &str) {
        const ZERO: &str = "00000000000000000000000000000000";
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [ZERO, "00", _, _, gateway, _, _, _, flags, device] = fields[..] else {
                continue;
            };
            if device == "lo" || !Self::leads_out(flags) {
                continue;
            }
            self.devices.insert(device.to_owned());
            if let Ok(number @ 1..) = u128::from_str_radix(gateway, 16) {
                self.gateways.insert(IpAddr::V6(Ipv6Addr::from(number)));
            }
        }
    }

    /// RTF_UP, and not RTF_REJECT (include/uapi/linux/route.h).
    fn leads_out(flags: &str) -> bool {
        u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & 0x201 == 1)
    }

    /// `/proc/net/pppoe` (drivers/net/ppp/pppoe.c, `pppoe_seq_show`): number, address of the other
    /// end, device.
    fn sessions(&mut self, text: &str) {
        let devices = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().nth(2));
        self.below_ppp.extend(devices.map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_shows() {
        let mut found = Uplinks::default();
        found.routes4(
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
             eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
             ppp0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n\
             eth1\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
             *\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n",
        );
        found.routes6(
            "00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
                fe80000000000000000000000000000a 00000400 00000001 00000000 00000003 eth0\n\
             00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
             00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n\
             20010db8000000000000000000000000 40 00000000000000000000000000000000 00 \
             00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth1\n",
        );
        found.sessions(
            "Id       Address              Device\n0100     02:00:00:00:00:01     eth2\n",
        );
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found.devices), ["eth0", "ppp0"]);
        assert_eq!(names(&found.below_ppp), ["eth2"]);
        let gateways: Vec<String> = found.gateways.iter().map(ToString::to_string).collect();
        assert_eq!(gateways, ["192.0.2.1", "fe80::a"]);
    }

    #[test]
    fn nonsense_is_nothing() {
        let mut found = Uplinks::default();
        for text in [
            "",
            "\n\n",
            "a b c\nd",
            "x\n\0 00000000 zz 0003 0 0 0 00000000",
        ] {
            found.routes4(text);
            found.routes6(text);
            found.sessions(text);
        }
        assert!(found.gateways.is_empty());
    }
}
