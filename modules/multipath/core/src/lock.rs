//! The lock: a table that lets clients' traffic leave by the partner only, even if weir stops. The
//! file is input for `nft -f`; weir parses the file for the lock's contents. Pure.
//!
//! The table lists permitted traffic, not forbidden: a later uplink is closed as well.

use std::fmt::Write;
use std::net::SocketAddr;

use crate::nft::{self, TUNNEL_MARK};
use crate::traffic_policy::TrafficPolicy;

/// Name of the table, of family `inet`.
pub const LOCK_TABLE: &str = "weir_lock";

/// Bit of the packet mark that the lock's table sets on incoming packets.
pub const LOCK_MARK: u32 = 0x0800_0000;

/// Contents of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Devices of the LAN: all traffic to them is permitted.
    pub lan: Vec<String>,
    /// The partners, the first one first.
    pub partners: Vec<PartnerAddresses>,
}

/// A partner with its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartnerAddresses {
    /// Name and port, as in the configuration.
    pub partner: String,
    /// Addresses, resolved before the lock closed.
    pub addresses: Vec<SocketAddr>,
}

/// Prefixes of the lines with the lock's contents: the last two are there for each partner.
const LAN: &str = "# lan: ";
const PARTNER: &str = "# partner: ";
const ADDRESSES: &str = "# addresses: ";

impl Lock {
    /// Returns the file. `tunnel`: device of the tunnel; `choice`: traffic that may go directly.
    pub fn file(&self, tunnel: &str, choice: &TrafficPolicy) -> String {
        let mut text = String::from(
            "#!/usr/sbin/nft -f\n# Written by `weir multipath lock`; `weir multipath unlock` \
                takes it away.\n",
        );
        let _ = writeln!(text, "{LAN}{}", self.lan.join(" "));
        for PartnerAddresses { partner, addresses } in &self.partners {
            let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            let addresses = addresses.join(" ");
            let _ = writeln!(text, "{PARTNER}{partner}\n{ADDRESSES}{addresses}");
        }
        text += &remove();
        text += "table inet weir_lock {\n";
        let names = self.lan.iter();
        let names = names.map(|name| format!("\"{name}\"")).collect();
        nft::sets(&mut text, choice, ("lan", names));
        let _ = write!(
            text,
            concat!(
                // A source address that does not route back to the LAN is forged: an answer to it,
                // even the firewall's, would leave by an uplink and reveal the request.
                "\tchain sources {{\n\t\ttype filter hook prerouting priority mangle - 2; policy \
                    accept;\n",
                "\t\tiifname @lan ct state new,invalid,untracked fib daddr type unicast fib saddr \
                    oifname != {lan} drop\n\t}}\n",
                // The last chain before routing: marks are final.
                "\tchain looks {{\n\t\ttype filter hook prerouting priority 300; policy accept;\n",
                "\t\tmeta mark set meta mark or {looked:#x}\n\t}}\n",
                "\tchain forward {{\n\t\ttype filter hook forward priority filter; policy drop;\n",
                "\t\toifname @lan accept\n\t\toifname \"{tunnel}\" accept\n{direct}",
                "\t\treject with icmpx admin-prohibited\n\t}}\n",
                "\tchain output {{\n\t\ttype filter hook output priority filter; policy drop;\n",
                "\t\toifname {{ \"lo\", \"{tunnel}\" }} accept\n\t\toifname @lan accept\n",
                // Packets just led into the tunnel: here they still have the old device.
                "\t\tmeta mark & {mark:#x} == {mark:#x} accept\n",
            ),
            tunnel = tunnel,
            // A set of interface names has another type in that expression.
            lan = nft::named(&self.lan),
            direct = nft::accept_direct(choice),
            mark = TUNNEL_MARK,
            looked = LOCK_MARK,
        );
        for address in self.partners.iter().flat_map(|it| &it.addresses) {
            let family = if address.is_ipv4() { "ip" } else { "ip6" };
            let _ = writeln!(
                text,
                "\t\t{family} daddr {} meta l4proto {{ tcp, udp }} th dport {} accept",
                address.ip(),
                address.port()
            );
        }
        // Answers to incoming connections pass: an administrator may be connected from outside.
        text += "\t\tct direction reply accept\n";
        text += "\t\tip daddr @direct4 accept\n\t\tip6 daddr @direct6 accept\n";
        // The uplink's own traffic: addresses, the time; ICMP and IGMP; and tunnels in IP (4, 41,
        // GRE), whose packets were checked before encapsulation.
        text +=
            "\t\tudp sport . udp dport { 68 . 67, 546 . 547 } accept\n\t\tudp dport 123 accept\n";
        text += "\t\tmeta l4proto { 1, 2, 4, 41, 47, 58 } accept\n";
        let _ = write!(
            text,
            concat!(
                "\t\treject with icmpx admin-prohibited\n\t}}\n",
                "\tchain leaves {{\n\t\ttype filter hook postrouting priority filter; policy \
                    accept;\n",
                "\t\tmeta mark & {mark:#x} == {mark:#x} oifname != \"{tunnel}\" drop\n\t}}\n}}\n",
            ),
            mark = TUNNEL_MARK,
            tunnel = tunnel,
        );
        text
    }

    /// Reads the contents of a lock from its file; `None`: not a file of [`Lock::file`].
    pub fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let lan = lines.find_map(|line| line.strip_prefix(LAN))?;
        let mut partners = Vec::new();
        while let Some(partner) = lines.find_map(|line| line.strip_prefix(PARTNER)) {
            let addresses = lines.next()?.strip_prefix(ADDRESSES)?;
            let addresses = addresses.split_whitespace().map(str::parse);
            partners.push(PartnerAddresses {
                partner: partner.trim().to_owned(),
                addresses: addresses.collect::<Result<_, _>>().ok()?,
            });
        }
        let lock = Self {
            lan: lan.split_whitespace().map(str::to_owned).collect(),
            partners,
        };
        // Such a lock would cut off even the router from its clients.
        let nowhere = |it: &PartnerAddresses| it.addresses.is_empty();
        let is_whole = !lock.partners.is_empty() && !lock.partners.iter().any(nowhere);
        (is_whole && !lock.lan.is_empty()).then_some(lock)
    }
}

/// Returns the commands that remove the table, if it exists.
pub fn remove() -> String {
    format!("table inet {LOCK_TABLE} {{}}\ndelete table inet {LOCK_TABLE}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        Lock {
            lan: vec!["br-lan".into(), "wlan1".into()],
            partners: vec![
                PartnerAddresses {
                    partner: "partner.example:9349".into(),
                    addresses: ["203.0.113.10:9349", "[2001:db8::10]:9350"]
                        .map(|text| text.parse().unwrap())
                        .to_vec(),
                },
                PartnerAddresses {
                    partner: "standby.example:443".into(),
                    addresses: vec!["198.51.100.9:443".parse().unwrap()],
                },
            ],
        }
    }

    #[test]
    fn what_may_leave_is_listed() {
        let choice = TrafficPolicy {
            networks: vec!["198.51.100.0/24".parse().unwrap()],
            ports: vec!["udp/5060".parse().unwrap()],
            clients: vec!["192.168.1.7".parse().unwrap()],
            ..TrafficPolicy::default()
        };
        let text = lock().file("weir-tunnel", &choice);
        for line in [
            "elements = { \"br-lan\", \"wlan1\" }\n",
            "elements = { 198.51.100.0/24 }\n",
            "\t\tip daddr 203.0.113.10 meta l4proto { tcp, udp } th dport 9349 accept\n",
            "\t\tip6 daddr 2001:db8::10 meta l4proto { tcp, udp } th dport 9350 accept\n",
            "\t\tip daddr 198.51.100.9 meta l4proto { tcp, udp } th dport 443 accept\n",
            "\t\tudp dport @direct_udp accept\n",
            "\t\tip saddr @clients4 accept\n",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
        assert_eq!(text.matches("policy drop").count(), 2, "{text}");
        assert!(!text.contains("return"), "{text}");
        assert!(!text.contains("ether saddr"), "{text}");
        let clients = vec!["02:00:00:00:00:07".parse().unwrap()];
        let choice = TrafficPolicy { clients, ..choice };
        let text = lock().file("weir-tunnel", &choice);
        assert!(text.contains("\t\tether saddr @clients accept\n"), "{text}");
    }

    #[test]
    fn a_file_says_what_is_locked() {
        let file = lock().file("weir-tunnel", &TrafficPolicy::default());
        assert_eq!(Lock::read(&file), Some(lock()));
        for other in [
            "",
            "table inet weir_lock {}",
            &file.replace("9349", "x"),
            &file.replace("# lan", "# LAN"),
            &file.replace("br-lan wlan1", " "),
            &file.replace("198.51.100.9:443", ""),
            &file.replace("# addresses", "# what"),
            &file.replace("# partner", "# what"),
        ] {
            assert_eq!(Lock::read(other), None, "{other}");
        }
    }
}
