//! Routers made of the options that OpenWrt documents: every protocol of an uplink, every
//! encryption, each form of assigning devices.

use uci::Package;
use weir_setup_core::plan::Config;

/// A router that was configured by hand.
pub struct Router {
    /// The special settings of this router.
    pub name: String,
    /// The year of its release.
    pub year: u16,
    /// The board's own device of the Internet.
    pub wan: &'static str,
    pub config: Config,
}

/// Protocols of the uplink (netifd's handlers in OpenWrt's packages), with options of each. `@` is
/// the place of the device.
const PROTOCOLS: [&str; 52] = [
    "proto dhcp|@",
    "proto dhcp|@|hostname *|broadcast 1|reqopts '42 121'|peerdns 0|dns '1.1.1.1 9.9.9.9'",
    "proto dhcp|@|metric 0|clientid 00112233|vendorid 'x y'|macaddr 02:00:5e:10:00:03",
    "proto static|@|ipaddr 198.51.100.7|netmask 255.255.255.0|gateway 198.51.100.1|dns 9.9.9.9",
    "proto static|@|ipaddr 198.51.100.7/24|gateway 198.51.100.1|+dns 9.9.9.9|+dns 1.1.1.1",
    "proto static|@|+ipaddr 198.51.100.7/24|+ipaddr 198.51.100.8/24|gateway 198.51.100.1",
    "proto static|@|ipaddr 198.51.100.7|gateway 198.51.100.1",
    "proto static|@|ipaddr 198.51.100.7|netmask 255.255.255.255|gateway 203.0.113.1|dns 2001:db8::1",
    "proto static|@|ip6addr 2001:db8::7/64|ip6gw 2001:db8::1",
    "proto pppoe|@|username u@isp|password p",
    "proto pppoe|@|username u@isp|password p|ipv6 auto|service s|ac a|keepalive '5 5'|mtu 1492",
    "proto pppoe|@|username u@isp|password p|ipv6 0|demand 300|pppd_options debug",
    "proto pppoe|@|username ''|password ''",
    "proto pppoa|encaps vc|atmdev 0|vci 35|vpi 8|username u@isp|password p",
    "proto pppoa|@|encaps llc|vci 32|vpi 0|username u@isp|password p",
    "proto ppp|device /dev/ttyUSB0|username u|password p",
    "proto pptp|server vpn.example|username u|password p|defaultroute 1",
    "proto pptp|@|server 192.0.2.9|username u|password p",
    "proto l2tp|server vpn.example|username u|password p|checkup_interval 5",
    "proto dslite|peeraddr 2001:db8::1|tunlink wan6",
    "proto map|type map-e|peeraddr 2001:db8::1|ipaddr 192.0.2.0|ip4prefixlen 24|psidlen 8",
    "proto map|maptype lw4o6|peeraddr 2001:db8::1|ipaddr 192.0.2.0",
    "proto 464xlat|ip6prefix 64:ff9b::/96|tunlink wan6",
    "proto 6in4|peeraddr 192.0.2.1|ip6addr 2001:db8::2/64|tunnelid 7|username u|password p",
    "proto 6to4|@",
    "proto 6rd|peeraddr 192.0.2.1|ip6prefix 2001:db8::|ip6prefixlen 32|ip4prefixlen 0",
    "proto wireguard|private_key yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=|+addresses 10.2.0.2/32",
    "proto wwan|apn internet|pincode 1234|username u|password p",
    "proto directip|device /dev/ttyACM0|apn internet|pincode 0000|username u|password p",
    "proto mbim|device /dev/cdc-wdm0|apn internet|pincode 1234|auth pap|username u|password p",
    "proto ncm|device /dev/ttyUSB2|apn internet|mode auto|pincode 1234|username u|password p",
    "proto 3g|device /dev/ttyUSB0|service umts|apn internet|pincode 1234|username u|password p",
    "proto qmi|device /dev/cdc-wdm0|apn internet|modes lte|pdptype ipv4v6|username u|password p",
    "proto qmi|device /dev/cdc-wdm1|auth none",
    "proto modemmanager|device /sys/devices/platform/soc/usb1/1-1|apn internet|iptype ipv4v6",
    "proto hnet|@|mode external",
    "proto relay|+network lan|+network wwan|ipaddr 192.168.1.1",
    "proto none|@",
    "proto none",
    "|@",
    "proto dhcpv6|@|reqprefix auto",
    "proto gre|peeraddr 192.0.2.1|tunlink wan6",
    "proto ipip|peeraddr 192.0.2.1",
    "proto vti|peeraddr 192.0.2.1|ikey 1|okey 1",
    "proto vxlan|peeraddr 192.0.2.1|vid 7",
    "proto xfrm|ifid 1|tunlink wan6",
    "proto openconnect|uri https://vpn.example|username u|password p|serverhash x",
    "proto openfortivpn|peeraddr vpn.example|username u|password p",
    "proto vpnc|server vpn.example|username u|password p|authgroup g|passgroup x",
    "proto sstp|server vpn.example|username u|password p",
    "proto pppossh|server vpn.example|sshuser u|ipaddr 192.0.2.1|identity /root/.ssh/id",
    "proto yggdrasil|private_key 0123456789abcdef",
];

/// A form of assigning devices: options of the LAN and of the Internet, and further sections.
struct Wiring {
    name: &'static str,
    board: &'static str,
    lan: &'static str,
    wan: &'static str,
    besides: &'static str,
}

const BRIDGE: &str = "device|name br-lan|type bridge|+ports lan1|+ports lan2|+ports lan3";
const SWITCH: &str = "device|name br-lan|type bridge|+ports eth0.1
switch|name switch0|reset 1|enable_vlan 1
switch_vlan|device switch0|vlan 1|ports '1 2 3 4 0t'
switch_vlan|device switch0|vlan 2|ports '5 0t'";

const WIRINGS: [Wiring; 12] = [
    Wiring {
        name: "dsa",
        board: "wan",
        lan: "device br-lan",
        wan: "device wan",
        besides: BRIDGE,
    },
    Wiring {
        name: "switch",
        board: "eth0.2",
        lan: "device br-lan",
        wan: "device eth0.2",
        besides: SWITCH,
    },
    Wiring {
        name: "switch of another port",
        board: "eth1",
        lan: "device br-lan",
        wan: "device eth0.7",
        besides: "device|name br-lan|type bridge|ports 'eth0.1 eth1'
device|name eth0.7|macaddr 02:00:5e:10:00:02
switch|name switch0
switch_vlan|device switch0|vlan 1|vid 1|ports '1 2 3 4 6t'
switch_vlan|device switch0|vlan 2|vid 7|ports '0t 6t'",
    },
    Wiring {
        name: "bridge-vlan",
        board: "wan",
        lan: "device br0.1",
        wan: "device br0.20",
        besides: "device|name br0|type bridge|+ports lan1|+ports lan2|+ports wan|vlan_filtering 1
bridge-vlan|device br0|vlan 1|+ports lan1:u*|+ports lan2:u*
bridge-vlan|device br0|vlan 20|+ports wan:t|+ports lan2:t",
    },
    Wiring {
        name: "ifname",
        board: "wan",
        lan: "ifname 'lan1 lan2 lan3'|def_ifname 'lan1 lan2'|type bridge",
        wan: "ifname eth1",
        besides: "",
    },
    Wiring {
        name: "ifname of a switch",
        board: "eth0.2",
        lan: "ifname eth0.1|type bridge|force_link 1",
        wan: "ifname eth0.2",
        besides: "switch|name switch0|reset 1|enable_vlan 1
switch_vlan|device switch0|vlan 1|ports '0 1 2 3 5t'
switch_vlan|device switch0|vlan 2|ports '4 5t'",
    },
    Wiring {
        name: "ifname of a provider's VLAN",
        board: "eth1",
        lan: "ifname eth0|type bridge",
        wan: "ifname eth1.7",
        besides: "",
    },
    Wiring {
        name: "VLAN by its name",
        board: "wan",
        lan: "device br-lan",
        wan: "device wan.7",
        besides: BRIDGE,
    },
    Wiring {
        name: "VLAN with a section",
        board: "wan",
        lan: "device br-lan",
        wan: "device isp",
        besides: "device|name br-lan|type bridge|+ports lan1
device|name isp|type 8021q|ifname wan|vid 132|macaddr 02:00:5e:10:00:02",
    },
    Wiring {
        name: "VLAN in a VLAN",
        board: "wan",
        lan: "device br-lan",
        wan: "device svlan",
        besides: "device|name br-lan|type bridge|+ports lan1
device|name svlan|type 8021ad|ifname wan|vid 10",
    },
    Wiring {
        name: "one port each",
        board: "eth1",
        lan: "device eth0",
        wan: "device eth1",
        besides: "",
    },
    Wiring {
        name: "another port than the board's",
        board: "wan",
        lan: "device br-lan",
        wan: "device usb0",
        besides: "device|name br-lan|type bridge|+ports lan1|+ports wan
device|name usb0|mtu 1400",
    },
];

/// Networks inside. `~` is the place of the device.
const INSIDE: [&str; 8] = [
    "~|proto static|ipaddr 192.168.1.1|netmask 255.255.255.0|ip6assign 60",
    "~|proto static|+ipaddr 192.168.1.1/24|ip6assign 60",
    "~|proto static|+ipaddr 192.168.1.1/24|+ipaddr 10.0.0.1/8|ip6assign 64|ip6hint 10",
    "~|proto static|+ipaddr 192.168.1.1|+ipaddr 192.168.2.1|netmask 255.255.255.0",
    "~|proto static|ipaddr 192.168.88.1/24|dns 192.168.88.2|gateway 192.168.88.2",
    "~|proto dhcp",
    "~|proto static|ipaddr 10.23.0.1|netmask 255.255.0.0|delegate 0|macaddr 02:00:5e:10:00:01",
    "~|proto static|ipaddr '192.168.1.1/24 192.168.3.1/24'|stp 1|igmp_snooping 1",
];

/// IPv6 of the uplink. `@` is the place of the device.
const SIX: [&str; 8] = [
    "interface wan6|@|proto dhcpv6",
    "interface wan6|device @wan|proto dhcpv6|reqaddress try|reqprefix auto",
    "interface wan6|ifname @wan|proto dhcpv6",
    "",
    "interface wan6|@|proto dhcpv6|disabled 1",
    "interface wan6|proto 6in4|peeraddr 192.0.2.1|ip6addr 2001:db8::2/64|username u|password p",
    "interface wan6|@|proto static|ip6addr 2001:db8::7/64|ip6gw 2001:db8::1",
    "interface wan6|@|proto dhcpv6|auto 0|reqprefix 56|norelease 1|ip6prefix 2001:db8:1::/48",
];

/// Sections of `network` that a user added.
const ADDED: [&str; 7] = [
    "",
    "interface wg0|proto wireguard|private_key yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=|+addresses 10.64.12.3/32
wireguard_wg0 provider|public_key xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=|endpoint_host se.vpn.example|+allowed_ips 0.0.0.0/0|route_allowed_ips 1",
    "interface wwan|proto qmi|device /dev/cdc-wdm0|apn internet|password p",
    "interface guest|proto static|ipaddr 192.168.7.1|netmask 255.255.255.0
interface iot|device br-iot|proto static|ipaddr 192.168.8.1|netmask 255.255.255.0
device|name br-iot|type bridge|bridge_empty 1",
    "interface bat0|proto batadv|routing_algo BATMAN_V|gw_mode client
interface mesh_a|proto batadv_hardif|master bat0|mtu 1536",
    "route|interface lan|target 10.9.0.0/16|gateway 192.168.1.9
rule|in lan|lookup 100
alias|interface lan|proto static|ipaddr 192.168.99.1|netmask 255.255.255.0",
    "interface wg0|proto wireguard|private_key yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=|listen_port 51821|+addresses 10.65.0.1/24|disabled 1
interface wg1|proto wireguard|private_key yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=|listen_port 51822|+addresses 10.66.0.1/24",
];

/// Encryptions (hostapd.sh, `wireless_vif_parse_encryption`), with their requirements.
const ENCRYPTIONS: [&str; 36] = [
    "none",
    "open",
    "none|key unused-key",
    "owe|ieee80211w 2",
    "none|owe_transition_ssid hidden",
    "wep|key 1|key1 0123456789",
    "wep-open|key 1|key1 s:abcde",
    "wep-shared|key 2|key2 s:abcde",
    "wep-mixed|key 1|key1 s:abcde",
    "psk|key old-old-old",
    "psk+tkip|key old-old-old",
    "psk+ccmp|key old-old-old",
    "psk-mixed|key old-old-old",
    "psk-mixed+tkip+ccmp|key old-old-old",
    "mixed-psk|key old-old-old",
    "psk+psk2|key old-old-old",
    "psk2|key old-old-old",
    "psk2+ccmp|key old-old-old|ieee80211w 1|wpa_disable_eapol_key_retries 1",
    "psk2+tkip+ccmp|key old-old-old",
    "psk2|key 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "psk2|wpa_psk_file /etc/wpa.psk",
    "sae|key new-new-new|ieee80211w 2|sae_pwe 2",
    "sae|sae_password_file /etc/sae.passwords",
    "sae-mixed|key new-new-new|ieee80211w 1|ocv 1",
    "sae-mixed|key 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "psk3|key new-new-new",
    "psk3-mixed|key new-new-new",
    "wpa|auth_server 10.0.0.1|auth_secret s",
    "wpa2|auth_server 10.0.0.1|auth_port 1812|auth_secret s|acct_server 10.0.0.1|acct_secret s",
    "wpa2+ccmp|server 10.0.0.1|port 1812|key radius-secret",
    "wpa-mixed+ccmp|auth_server 10.0.0.1|auth_secret s",
    "wpa3|auth_server 10.0.0.1|auth_secret s|ieee80211w 2",
    "wpa3-mixed|auth_server 10.0.0.1|auth_secret s|dynamic_vlan 1|vlan_tagged_interface eth0",
    "wpa3-192|auth_server 10.0.0.1|auth_secret s",
    "eap-eap2|auth_server 10.0.0.1|auth_secret s",
    "dpp|dpp_connector x|dpp_csign y",
];

/// Options of an access point in the network inside.
const POINTS: [&str; 8] = [
    "network lan|mode ap",
    "+network lan|mode ap|hidden 0|isolate 0",
    "network lan|mode ap|hidden 1|macfilter deny|+maclist 02:00:00:00:00:09",
    "network lan|mode ap|ieee80211r 1|mobility_domain 4f57|ft_over_ds 1|reassociation_deadline 20000",
    "network lan|mode ap|ieee80211r 0|mobility_domain beef|ieee80211k 1|bss_transition 1",
    "network lan|mode ap|wds 1|wmm 1|dtim_period 3|ifname wlan-home",
    "network 'lan iot'|mode ap|disassoc_low_ack 0",
    "network lan|mode ap|disabled 1",
];

/// Other networks on air.
const ON_AIR: [&str; 8] = [
    "",
    "wifi-iface guests|device radio0|network guest|mode ap|ssid Guests|encryption psk2|key guests-key",
    "wifi-iface up|device radio1|network wwan|mode sta|ssid Up|encryption psk2|key up-up-up-up|bssid 02:00:00:00:00:07",
    "wifi-iface mesh|device radio1|network lan|mode mesh|mesh_id roofs|encryption sae|key mesh-mesh",
    "wifi-iface mesh_a|device radio1|network mesh_a|mode mesh|mesh_id roofs|mesh_fwding 1|encryption sae|key mesh-mesh",
    "wifi-iface adhoc|device radio0|network mesh|mode adhoc|ssid ff|bssid 02:ca:ff:ee:ba:be
wifi-iface mon|device radio0|mode monitor",
    "wifi-iface|device radio0|network lan|mode ap|ssid Waits|encryption psk2|key waits-waits|disabled 1
wifi-station|iface home|mac 02:00:00:00:00:05|key station-key",
    "wifi-iface mlo|+device radio0|+device radio1|network lan|mode ap|ssid Mlo|encryption sae|key mlo-mlo-mlo",
];

/// Ways to give addresses, and servers that are asked for names.
const GIVEN: [&str; 12] = [
    "dnsmasq|domainneeded 1|local /lan/
dhcp lan|interface lan|start 100|limit 150|leasetime 12h|dhcpv4 server|dhcpv6 server|ra server
dhcp wan|interface wan|ignore 1",
    "dnsmasq|domainneeded 1
dhcp lan|interface lan|start 100|limit 150|leasetime 1w",
    "dnsmasq|domainneeded 1|noresolv 0
dhcp lan|interface lan|start 20|limit 200|leasetime 43200",
    "dnsmasq|noresolv 1|+server 9.9.9.9|+server 149.112.112.112|+server /lan/192.168.1.9
dhcp lan|interface lan|start 2|limit 250|leasetime infinite|+dhcp_option 6,192.168.1.2",
    "dnsmasq|noresolv 1|+server 127.0.0.1#5053|+server 127.0.0.1#5054|doh_backup_noresolv -1
dhcp lan|interface lan|start 100|limit 150|leasetime 2h|force 1",
    "dnsmasq|+server 1.1.1.1|+server 8.8.8.8|cachesize 0
dhcp lan|interface lan|ignore 1|start 100|limit 150|leasetime 12h",
    "dnsmasq|domainneeded 1
dhcp|interface lan|start 50|limit 20|leasetime 30m",
    "dnsmasq inside|noresolv 1|server 192.168.1.9|+interface lan
dnsmasq guests|+interface guest|+server 9.9.9.9
dhcp home|interface lan|leasetime 12h|instance inside",
    "dnsmasq|port 0
dhcp lan|interface lan|dhcpv4 disabled|dhcpv6 relay|ra hybrid|master 1|leasetime 5d",
    "dnsmasq|domainneeded 1
dhcp lan|interface lan|start 100|limit 60000|leasetime 400d
host|name nas|mac 02:00:00:00:00:08|ip 192.168.1.8|leasetime infinite",
    "dnsmasq|noresolv 1|+server 9.9.9.9#9953|+server 2620:fe::fe
dhcp lan|interface lan|start 1000|limit 10|leasetime 90s",
    "odhcpd odhcpd|maindhcp 1|leasefile /tmp/hosts/odhcpd",
];

/// The router itself.
const ITSELF: [&str; 8] = [
    "system|hostname OpenWrt|timezone UTC",
    "system|hostname router.example.org|zonename 'America/New York'|timezone EST5EDT,M3.2.0,M11.1.0",
    "system|hostname My_Router|zonename Europe/Berlin|timezone CET-1CEST,M3.5.0,M10.5.0/3",
    "system|hostname 1984|zonename Etc/GMT-3|timezone <+03>-3|latitude 52.5|longitude 13.4",
    "system|hostname -odd-|zonename 'America/Argentina/Buenos Aires'|timezone <-03>3",
    "system|timezone CET-1CEST|latitude '52.5N'|longitude ''",
    "system main|hostname a|zonename UTC|timezone GMT0|log_ip 192.168.1.9
timeserver ntp|enabled 1|+server 0.openwrt.pool.ntp.org
led led_wan|name WAN|sysfs green:wan|trigger netdev|dev wan",
    "",
];

/// Firewalls.
const WALLS: [&str; 8] = [
    "defaults|input REJECT|output ACCEPT|forward REJECT
zone|name lan|+network lan|input ACCEPT|output ACCEPT|forward ACCEPT
zone|name wan|+network wan|+network wan6|input REJECT|output ACCEPT|forward REJECT|masq 1|mtu_fix 1
forwarding|src lan|dest wan
rule|name Allow-Ping|src wan|proto icmp|icmp_type echo-request|family ipv4|target ACCEPT",
    "defaults|input ACCEPT
zone|name lan|network 'lan iot'|input ACCEPT|output ACCEPT|forward ACCEPT
zone|name wan|network 'wan wan6 wwan'|input REJECT|output ACCEPT|forward REJECT|masq 1
redirect|name web|src wan|src_dport 80|dest lan|dest_ip 192.168.1.5|target DNAT|proto tcp
redirect|name away|src wan|src_dport 81|dest lan|dest_ip 10.99.0.5|target DNAT|proto 'tcp udp'
redirect|src wan|src_dport 82|dest lan|dest_ip 192.168.1.5|dest_port 8082|target DNAT",
    "zone|name home|+network lan|input ACCEPT|output ACCEPT|forward ACCEPT
zone|name inet|+network wan|input DROP|output ACCEPT|forward DROP|masq 1
zone|name inet6|+network wan6|input DROP|output ACCEPT|forward DROP
forwarding|src home|dest inet",
    "zone|name lan|+network lan
zone|name wan|+device pppoe-wan|masq 1
include|path /etc/firewall.user",
    "zone|name lan|network lan|input ACCEPT
zone|name wan|network wan|masq 1
rule|name tv|src lan|dest wan|src_mac 02:00:00:00:00:01|proto all|target REJECT
rule|name tv|src lan|dest wan|src_mac 02:00:00:00:00:02|proto all|target REJECT|enabled 0
rule|src lan|dest wan|src_mac 02:00:00:00:00:03|proto all|target REJECT
rule|name kids|src lan|dest wan|src_mac 02:00:00:00:00:04|proto all|target REJECT|start_time 20:00:00",
    "",
    "zone|name lan|+network lan|input ACCEPT
zone|name wan|+network wan|+network wan6|masq 1
zone|name vpn|+network wg0|input REJECT|masq 1
forwarding|src lan|dest vpn
redirect|name web|src wan|src_dport '80 443'|dest lan|dest_ip 192.168.1.5|target DNAT|proto tcp
redirect|name twice|src wan|src_dport 1000-2000|dest lan|dest_ip 192.168.1.5|target DNAT|proto udp
redirect|name twice|src wan|src_dport 1500|dest lan|dest_ip 192.168.1.6|target DNAT|proto udp",
    "zone|name lan|+network lan
zone|name wan|+network wan
nat|name snat|src lan|target SNAT|snat_ip 10.0.0.1
ipset|name bad|match src_ip|enabled 1
redirect|name dns|src lan|src_dport 53|dest lan|dest_ip 192.168.1.9|target DNAT|proto udp",
];

/// Writes sections, one a line, `TYPE NAME|OPTION VALUE|+LIST VALUE`, as UCI has them.
fn package(name: &str, sections: &str) -> Package {
    let mut text = String::new();
    for line in sections.lines() {
        let mut parts = line.split('|').filter(|part| !part.is_empty());
        let Some(head) = parts.next() else { continue };
        text += &match head.split_once(' ') {
            Some((kind, name)) => format!("config {kind} '{name}'\n"),
            None => format!("config {head}\n"),
        };
        for part in parts {
            let (option, value) = part.split_once(' ').unwrap();
            let value = value.trim_matches('\'');
            text += &match option.strip_prefix('+') {
                Some(list) => format!("\tlist {list} '{value}'\n"),
                None => format!("\toption {option} '{value}'\n"),
            };
        }
    }
    Package::read(name, text.as_bytes()).unwrap()
}

/// A router of these places in the tables above.
fn router(protocol: usize, wiring: usize, n: usize) -> Router {
    let Wiring {
        name,
        board,
        lan,
        wan,
        besides,
    } = &WIRINGS[wiring];
    let of = |table: &[&'static str], step: usize| table[(n / step + n) % table.len()];
    let proto = PROTOCOLS[protocol].replace("|@", &format!("|{wan}"));
    let inside = of(&INSIDE, 3).replace('~', lan);
    let six = of(&SIX, 5).replace("|@|", &format!("|{wan}|"));
    let network = format!(
        "interface loopback|device lo|proto static|ipaddr 127.0.0.1|netmask 255.0.0.0\n\
         globals globals|ula_prefix fd5c:7a31:90be::/48\n\
         {besides}\ninterface lan|{inside}\ninterface wan|{proto}\n{six}\n{}",
        of(&ADDED, 7),
    );
    let encryption = |step: usize| of(&ENCRYPTIONS, step);
    let off = ["", "|disabled 1"][n / 2 % 2];
    let country = ["", "|country DE", "|country de", "|country 00"][n % 4];
    let (first, second) = (of(&POINTS, 3), of(&POINTS, 4));
    let both = encryption(3);
    let wireless = format!(
        "wifi-device radio0|type mac80211|band 2g|channel auto|htmode HT20|cell_density 0{country}\n\
         wifi-iface home|device radio0|{first}|ssid Home|encryption {}\n\
         wifi-iface|device radio0|{second}|ssid Both|encryption {both}\n\
         wifi-device radio1|type mac80211|hwmode 11a|channel 36|htmode VHT80{off}\n\
         wifi-iface wifinet1|device radio1|{second}|ssid Both|encryption {both}\n\
         wifi-iface wifinet2|device radio1|network lan|mode ap|ssid Third|encryption {}\n{}",
        encryption(1),
        encryption(2),
        of(&ON_AIR, 6),
    );
    let packages = [
        package("network", &network),
        package("wireless", &wireless),
        package("dhcp", of(&GIVEN, 4)),
        package("system", of(&ITSELF, 3)),
        package("firewall", of(&WALLS, 2)),
        package(
            "luci",
            "core main|lang auto|mediaurlbase /luci-static/bootstrap",
        ),
    ];
    Router {
        name: format!(
            "{n}: {name}, {}, {}, {}",
            PROTOCOLS[protocol],
            encryption(1),
            of(&GIVEN, 4)
        ),
        year: [23, 24, 25][n % 3],
        wan: board,
        config: Config::new(packages),
    }
}

/// Returns all routers: each protocol with each wiring, everything else by turns.
pub fn routers() -> impl Iterator<Item = Router> {
    let all = PROTOCOLS.len() * WIRINGS.len();
    (0..all).map(|n| router(n / WIRINGS.len(), n % WIRINGS.len(), n))
}
