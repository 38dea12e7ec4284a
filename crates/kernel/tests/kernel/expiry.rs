//! Against the running kernel: elements of a set with their expiry, lifetimes of routes, and idle
//! times of next-hop buckets.

use crate::common;
use std::collections::HashSet;
use std::hash::RandomState;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

use common::{in_namespace, run};
use socket2::{Domain, Protocol, Socket, Type};
use weir_kernel::SetName;
use weir_kernel::io::{
    Exceptions, SetError, read_bucket_idle, read_element_statements, read_lifetimes, read_members,
    read_next_hops, read_tables,
};

/// Loads a ruleset.
fn load(rules: &str) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("weir-kernel-{}-{number}.nft", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, rules).expect("a file");
    run(&format!("nft -f {}", file.display()));
    std::fs::remove_file(file).expect("it is there");
}

fn name(name: &str) -> SetName {
    format!("inet t {name}").parse().expect("a name")
}

#[test]
fn members_of_sets_of_any_keys_are_read_with_their_ends() {
    in_namespace(|| async {
        load(
            "table inet t {\n\
             set ranges { type ipv4_addr . inet_service; flags interval,timeout; }\n\
             map fates { type ipv6_addr : verdict; flags timeout; }\n\
             set many { type ipv4_addr; flags timeout; timeout 1h; }\n}\n\
             add element inet t ranges { 192.0.2.0/24 . 80-90 timeout 100s }\n\
             add element inet t ranges { 192.0.2.0/24 . 91 }\n\
             add element inet t fates { 2001:db8::1 timeout 200s : accept }\n",
        );
        let hasher = RandomState::new();
        let ends = |set: &str| -> Vec<Option<u64>> {
            let members = read_members(&name(set), 10, &hasher).expect("a set");
            let mut ends: Vec<_> = members.iter().map(|member| member.expires).collect();
            ends.sort_unstable();
            ends
        };
        let [None, Some(left)] = ends("ranges")[..] else {
            panic!("{:?}", ends("ranges"))
        };
        assert!((1..=100_000).contains(&left), "{left}");
        let [Some(left)] = ends("fates")[..] else {
            panic!("{:?}", ends("fates"))
        };
        assert!((100_001..=200_000).contains(&left), "{left}");
        let before = read_members(&name("fates"), 10, &hasher).expect("a map");
        load(
            "delete element inet t fates { 2001:db8::1 }\n\
             add element inet t fates { 2001:db8::1 timeout 200s : drop }\n",
        );
        let after = read_members(&name("fates"), 10, &hasher).expect("a map");
        assert_ne!(
            before[0].mark, after[0].mark,
            "another verdict is another member"
        );

        let address = |i: u32| std::net::Ipv4Addr::from(0x0a00_0000 + i).to_string();
        let many: Vec<String> = (0..10_000).map(address).collect();
        load(&format!(
            "add element inet t many {{ {} }}\n",
            many.join(", ")
        ));
        let begun = std::time::Instant::now();
        let members = read_members(&name("many"), 10_000, &hasher).expect("a set");
        println!("10,000 elements were read in {:?}", begun.elapsed());
        let marks: HashSet<u64> = members.iter().map(|member| member.mark).collect();
        assert_eq!(marks.len(), 10_000);
        let few = read_members(&name("many"), 9_999, &hasher);
        assert!(matches!(few, Err(SetError::TooLarge(9_999))), "{few:?}");
        let none = read_members(&name("none"), 10, &hasher);
        assert!(matches!(none, Err(SetError::Unknown)), "{none:?}");
    });
}

#[test]
fn routes_tell_how_long_they_live() {
    in_namespace(|| async {
        // A route by the loopback device refuses, and has no life time.
        run("ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up");
        assert_eq!(read_lifetimes(100).expect("routes"), []);
        run("ip -6 route add 2001:db8:1::/48 dev v0");
        run("ip -6 route add 2001:db8:2::/48 dev v0 expires 100");
        run("ip -6 route add 2001:db8:3::/48 dev v0 table 77 expires 100");
        let lives = read_lifetimes(100).expect("routes");
        assert_eq!(lives.len(), 2, "{lives:?}");
        assert!(
            lives.iter().all(|left| (1..=100_000).contains(left)),
            "{lives:?}"
        );
        assert!(read_lifetimes(2).is_err(), "there are more routes");
    });
}

#[test]
fn resilient_groups_tell_when_their_buckets_are_idle() {
    in_namespace(|| async {
        run("ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up");
        run("ip addr add 192.0.2.1/24 dev v0");
        run("ip nexthop add id 1 via 192.0.2.2 dev v0 && ip nexthop add id 2 via 192.0.2.3 dev v0");
        run("ip nexthop add id 10 group 1/2");
        assert_eq!(read_bucket_idle().expect("groups"), None);
        for (id, timer) in [(11, 60), (12, 7)] {
            run(&format!(
                "ip nexthop add id {id} group 1/2 type resilient buckets 32 idle_timer {timer}"
            ));
            assert_eq!(read_bucket_idle().expect("groups"), Some(timer * 1_000));
        }
        run("ip nexthop del id 12");
        assert_eq!(read_bucket_idle().expect("groups"), Some(60_000));
    });
}

#[test]
fn gateways_that_share_a_destination_are_found() {
    in_namespace(|| async {
        run("ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up");
        run("ip addr add 192.0.2.1/24 dev v0 && ip addr add 2001:db8::1/64 dev v0 nodad");
        let shared = || {
            let found = read_next_hops(100).expect("routes").shared;
            let mut found: Vec<String> = found.iter().map(|(_, ip)| ip.to_string()).collect();
            found.sort_unstable();
            found
        };
        run("ip route add default via 192.0.2.2");
        run("ip -6 route add default via 2001:db8::2");
        run("ip route add 198.51.100.0/24 via 192.0.2.9");
        assert_eq!(shared(), [""; 0]);
        run("ip -6 route append default via fe80::3 dev v0 metric 512");
        run("ip route add 203.0.113.0/24 nexthop via 192.0.2.3 nexthop via 192.0.2.4");
        assert_eq!(
            shared(),
            ["192.0.2.3", "192.0.2.4", "2001:db8::2", "fe80::3"]
        );
        run("ip route add default via 192.0.2.5 metric 9");
        assert_eq!(shared()[..2], ["192.0.2.2", "192.0.2.3"]);
        assert!(read_next_hops(2).is_err(), "there are more routes");
    });
}

/// The error of a router on the way: packets of this socket were longer than this.
fn too_long(socket: &UdpSocket, mtu: u16) {
    let (from, to) = (
        socket.local_addr().expect("an address"),
        socket.peer_addr().expect("an address"),
    );
    let mut message = Vec::new();
    let protocol = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            message.extend([3, 4, 0, 0, 0, 0]);
            message.extend(mtu.to_be_bytes());
            message.extend([0x45, 0, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 17, 0, 0]);
            message.extend(from.octets().into_iter().chain(to.octets()));
            Protocol::ICMPV4
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            message.extend([2, 0, 0, 0, 0, 0]);
            message.extend(mtu.to_be_bytes());
            message.extend([0x60, 0, 0, 0, 0x05, 0xb4, 17, 64]);
            message.extend(from.octets().into_iter().chain(to.octets()));
            Protocol::ICMPV6
        }
        _ => unreachable!("one family"),
    };
    for part in [from.port(), to.port(), 8, 0] {
        message.extend(part.to_be_bytes());
    }
    if from.is_ipv4() {
        let sum = net::checksum::checksum(0, &message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    let raw = Socket::new(Domain::for_address(from), Type::RAW, Some(protocol)).expect("a socket");
    let host = SocketAddr::new(from.ip(), 0);
    raw.send_to(&message, &host.into()).expect("sent");
}

#[test]
fn path_mtus_that_were_learned_are_noticed() {
    in_namespace(|| async {
        run("ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up");
        run("ip addr add 192.0.2.1/24 dev v0 && ip addr add 2001:db8::1/64 dev v0 nodad");
        let mut exceptions = Exceptions::open().expect("a socket");
        let mut read = || exceptions.read().expect("exceptions");
        let mut before = read();
        for (own, far) in [
            ("192.0.2.1:0", "192.0.2.9:9"),
            ("[2001:db8::1]:0", "[2001:db8::9]:9"),
        ] {
            let socket = UdpSocket::bind(own).expect("a socket");
            socket.connect(far).expect("a route");
            for mtu in [1_400, 1_300] {
                run("ip route add 198.51.100.0/24 via 192.0.2.7; ip route del 198.51.100.0/24");
                assert_eq!(read(), before, "routes alone are no exceptions");
                too_long(&socket, mtu);
                let now = read();
                assert_ne!(now, before, "{far} {mtu}");
                before = now;
            }
        }
        run("ip route flush cache && ip -6 route flush cache");
    });
}

#[test]
fn statements_of_single_elements_are_found() {
    in_namespace(|| async {
        load(
            "table inet t {\n\
             set plain { type ipv4_addr; elements = { 192.0.2.1 }; }\n\
             set open { type ipv4_addr; size 65535; flags dynamic,timeout; }\n\
             set bare { type ipv4_addr; size 65535; flags dynamic; elements = { 192.0.2.1 }; }\n\
             set said { type ipv4_addr; size 65535; flags dynamic; counter; }\n\
             map where { type ipv4_addr : verdict; size 65535; flags dynamic; }\n}\n\
             add element inet t open { 192.0.2.1, 192.0.2.2 limit rate over 5/second }\n\
             add element inet t open { 192.0.2.3 counter }\n\
             add element inet t said { 192.0.2.3 counter }\n",
        );
        let found = read_element_statements(100, 1_000).expect("sets");
        let found: Vec<(&str, Vec<&String>)> = found
            .iter()
            .map(|kept| (&*kept.set.name, kept.statements.iter().collect()))
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "open");
        assert_eq!(found[0].1, ["counter", "limit"]);
        assert_eq!(
            read_element_statements(0, 0).expect("sets").len(),
            1,
            "a message at least"
        );
    });
}

#[test]
fn tables_are_read_with_their_flags() {
    in_namespace(|| async {
        assert_eq!(read_tables().expect("no tables"), []);
        load("table inet wakes { }\ntable bridge sleeps { flags dormant; }\ntable ip wakes { }\n");
        let mut tables = read_tables().expect("tables");
        tables.sort_by_key(|table| (table.family, table.name.clone()));
        let told: Vec<_> = tables
            .iter()
            .map(|table| (table.family, &*table.name, &table.flags[..]))
            .collect();
        let sleeps = ("bridge", "sleeps", &["dormant"][..]);
        assert_eq!(told, [sleeps, ("inet", "wakes", &[]), ("ip", "wakes", &[])]);
    });
}
