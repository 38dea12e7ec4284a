//! Against the running kernel: its events when commands change it, in a network namespace per test.

use crate::common;
use std::net::IpAddr;

use common::{dumped, in_namespace, run, udp_connections, until};
use weir_kernel::io::{Events, Netdev, Requests};
use weir_kernel::route::Table;
use weir_kernel::{Connection, Event, Source, facts};

fn connections(events: &[Event]) -> Vec<&Connection> {
    fn connection(event: &Event) -> Option<&Connection> {
        match event {
            Event::Connection(connection) => Some(connection),
            _ => None,
        }
    }
    events.iter().filter_map(connection).collect()
}

const TCP: &str = "conntrack -I -p tcp -s 192.0.2.1 -d 198.51.100.2 --sport 4000 --dport 443 \
                   -t 100 --state ESTABLISHED -u SEEN_REPLY,ASSURED";
const UDP6: &str =
    "conntrack -I -w 5 -p udp -s 2001:db8::1 -d 2001:db8::2 --sport 1 --dport 2 -t 100";

fn gone(event: &Event) -> bool {
    matches!(event, Event::ConnectionGone(_))
}

#[test]
fn connections_come_change_and_go() {
    in_namespace(|| async {
        let mut events = Events::open(Source::Conntrack).expect("events");
        for line in [
            TCP,
            "conntrack -U -p tcp -s 192.0.2.1 -m 7",
            "conntrack -D -p tcp",
        ] {
            run(line);
        }
        let seen = until(&mut events, gone).await;
        let [
            Event::Connection(made),
            Event::Connection(marked),
            Event::ConnectionGone(id),
        ] = &seen[..]
        else {
            panic!("{seen:?}")
        };
        assert_eq!((made.id, marked.id), (*id, *id));
        assert_eq!((made.mark, marked.mark, made.tcp_state), (0, 7, Some(3)));
        assert_eq!(
            id.original.to_string(),
            "tcp 192.0.2.1:4000 > 198.51.100.2:443"
        );

        run(UDP6);
        run("conntrack -D -f ipv6 -p udp");
        let seen = until(&mut events, gone).await;
        assert_eq!(connections(&seen)[0].id.zone, 5);
        assert_eq!(seen[1], Event::ConnectionGone(connections(&seen)[0].id));
        assert_eq!(events.tally().malformed, 0);
    });
}

/// At the first SYN the kernel reports 0 for the end that has sent nothing yet.
#[test]
fn window_scales_are_known_when_both_ends_have_told_theirs() {
    in_namespace(|| async {
        run(
            "nft 'table ip t { chain in { type filter hook input priority 0; ct state established \
                accept; }; }'",
        );
        let mut events = Events::open(Source::Conntrack).expect("events");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = listener.local_addr().expect("an address");
        let _client = std::net::TcpStream::connect(to).expect("a connection");
        let up = |event: &Event| matches!(event, Event::Connection(connection) if connection.tcp_state == Some(3));
        let seen = until(&mut events, up).await;
        let told: Vec<_> = connections(&seen)
            .iter()
            .map(|connection| (connection.tcp_state, connection.window_scales))
            .collect();
        assert_eq!(told.first(), Some(&(Some(1), None)), "{told:?}");
        let last = told.last().and_then(|(_, scales)| *scales);
        assert!(last.is_some_and(|s| s[0] > 0 && s[0] == s[1]), "{told:?}");
    });
}

#[test]
fn a_dump_shows_all_connections_while_events_go_on() {
    in_namespace(|| async {
        let mut events = Events::open(Source::Conntrack).expect("events");
        let mut requests = Requests::open().expect("requests");
        udp_connections(3000);
        run(TCP);
        run(UDP6);
        requests.dump(Source::Conntrack);
        let mut dump = Vec::new();
        requests.recv(&mut dump).await.expect("a part");
        assert!(
            !dump.contains(&Event::DumpEnd(Source::Conntrack)),
            "the first part is not all"
        );

        // In the middle of the dump.
        run("conntrack -D -p tcp");
        until(&mut events, gone).await;

        dump.extend(dumped(&mut requests).await);
        assert_eq!(dump.last(), Some(&Event::DumpEnd(Source::Conntrack)));
        let mut ports: Vec<u16> = connections(&dump)
            .iter()
            .map(|c| c.id.original.source_port)
            .collect();
        ports.sort_unstable();
        ports.dedup();
        // The dump may or may not contain the TCP entry.
        assert!((3001..=3002).contains(&ports.len()), "{}", ports.len());
        assert!(
            connections(&dump)
                .iter()
                .any(|c| c.id.zone == 5 && c.reply.is_ipv6())
        );
        assert_eq!(requests.tally().malformed, 0);
    });
}

#[test]
fn after_an_overrun_a_dump_restores() {
    in_namespace(|| async {
        let mut events = Events::open_with_buffer(Source::Conntrack, 4096).expect("events");
        let mut requests = Requests::open().expect("requests");
        udp_connections(500);
        let seen = until(&mut events, |event| {
            *event == Event::Overrun(Source::Conntrack)
        })
        .await;
        assert!(connections(&seen).len() < 500, "nothing was lost");

        requests.dump(Source::Conntrack);
        let dump = dumped(&mut requests).await;
        assert_eq!(connections(&dump).len(), 500);
        // And events arrive again.
        run(TCP);
        run("conntrack -D -p tcp");
        until(&mut events, gone).await;
    });
}

#[test]
fn that_an_entry_older_than_the_listener_went_is_found_by_a_refresh_and_a_dump() {
    in_namespace(|| async {
        udp_connections(1);
        let mut requests = Requests::open().expect("requests");
        requests.dump(Source::Conntrack);
        let dump = dumped(&mut requests).await;
        let old = connections(&dump)[0].id;
        // An event is not certain here: it depends on whether a process on the machine listened
        // when the entry was made.
        run("conntrack -D -p udp");
        let refresh = weir_kernel::conntrack::Refresh {
            id: old,
            timeout: 60,
            status: None,
            unacknowledged: None,
        };
        assert_eq!(requests.refresh(&[refresh]).gone, [old]);
        requests.dump(Source::Conntrack);
        assert_eq!(
            dumped(&mut requests).await,
            [Event::DumpEnd(Source::Conntrack)]
        );
    });
}

#[test]
fn links_addresses_neighbours_routes_rules_and_qdiscs_are_told() {
    in_namespace(|| async {
        let mut events = Events::open(Source::Route).expect("events");
        run("ip link add weir0 type veth peer name weir1");
        run("ip link set weir1 up; ip link set weir0 mtu 1400 up");
        let up = |event: &Event| matches!(event, Event::Link(l) if l.name == "weir0" && l.up && l.mtu == 1400);
        let seen = until(&mut events, up).await;
        let Some(Event::Link(link)) = seen.iter().find(|event| up(event)) else {
            panic!("{seen:?}")
        };
        let index = link.index;
        assert_eq!(
            (link.kind.as_str(), link.hardware, link.qdisc.as_str()),
            ("veth", 1, "noqueue")
        );

        for (address, router) in [
            ("192.0.2.1/24", "192.0.2.2"),
            ("2001:db8::1/64", "2001:db8::2"),
        ] {
            let ours: IpAddr = address
                .split('/')
                .next()
                .expect("an address")
                .parse()
                .expect("an address");
            run(&format!("ip addr add {address} dev weir0"));
            let present = |event: &Event| matches!(event, Event::Address(a, true) if a.link == index && a.address == ours);
            until(&mut events, present).await;

            run(&format!(
                "ip neigh add {router} lladdr 02:00:00:00:00:02 dev weir0"
            ));
            let theirs: IpAddr = router.parse().expect("an address");
            let mac = |event: &Event| match event {
                Event::Neighbour(n) if n.link == index && n.address == theirs => Some(n.mac),
                _ => None,
            };
            until(&mut events, |event| {
                mac(event) == Some(Some([2, 0, 0, 0, 0, 2]))
            })
            .await;
            run(&format!("ip neigh del {router} dev weir0"));
            until(&mut events, |event| mac(event) == Some(None)).await;

            run(&format!("ip addr del {address} dev weir0"));
            let absent = |event: &Event| matches!(event, Event::Address(a, false) if a.link == index && a.address == ours);
            until(&mut events, absent).await;
        }
        run("ip addr add 192.0.2.1/24 dev weir0");
        for line in [
            "ip route add 10.0.0.0/8 via 192.0.2.2",
            "ip route del 10.0.0.0/8",
            "ip rule add from 10.0.0.0/8 table 7",
            "ip -6 rule add from 2001:db8::/32 table 7",
            "ip nexthop add id 3 via 192.0.2.2 dev weir0",
        ] {
            // Events from before must not count.
            let marker = |event: &Event| matches!(event, Event::Neighbour(n) if n.address.to_string() == "192.0.2.99");
            run("ip neigh replace 192.0.2.99 lladdr 02:00:00:00:00:99 dev weir0");
            until(&mut events, marker).await;
            run("ip neigh del 192.0.2.99 dev weir0");
            until(
                &mut events,
                |event| matches!(event, Event::Neighbour(n) if n.mac.is_none()),
            )
            .await;
            run(line);
            until(&mut events, |event| *event == Event::Routing).await;
        }

        let kind = |event: &Event, wanted: &str| matches!(event, Event::Qdisc(q) if q.link == index && q.kind == wanted);
        run("tc qdisc add dev weir0 root pfifo");
        until(&mut events, |event| kind(event, "pfifo")).await;
        run("tc qdisc del dev weir0 root");
        until(&mut events, |event| kind(event, "")).await;
        // The kernel put its default there without telling; a dump does.
        let mut requests = Requests::open().expect("requests");
        requests.table(Table::Qdiscs);
        let mut found = Vec::new();
        while !found.iter().any(|event| kind(event, "noqueue")) {
            requests.recv(&mut found).await.expect("qdiscs");
        }

        run("ip link del weir0");
        until(&mut events, |event| *event == Event::LinkGone(index)).await;
        assert_eq!(events.tally().malformed, 0);
    });
}

#[test]
fn a_dump_of_routing_shows_everything_once_and_ends() {
    in_namespace(|| async {
        run(
            "ip link add weir0 type veth peer name weir1; ip link set weir0 up; ip link set weir1 \
                up",
        );
        run("ip addr add 192.0.2.1/24 dev weir0; ip addr add 2001:db8::1/64 dev weir0 nodad");
        run("ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev weir0");
        run("ip neigh add 2001:db8::2 lladdr 02:00:00:00:00:03 dev weir0");
        let mut requests = Requests::open().expect("requests");
        // Two requests are answered one after the other.
        requests.dump(Source::Route);
        requests.dump(Source::Route);
        for _ in 0..2 {
            let mut dump = Vec::new();
            while dump.last() != Some(&Event::DumpEnd(Source::Route)) {
                requests.recv(&mut dump).await.expect("a dump");
            }
            let count =
                |wanted: fn(&Event) -> bool| dump.iter().filter(|event| wanted(event)).count();
            assert_eq!(
                count(|e| matches!(e, Event::Link(l) if l.name.starts_with("weir"))),
                2
            );
            assert_eq!(
                count(|e| matches!(e, Event::Link(l) if l.name == "lo" && l.mac.is_none())),
                1
            );
            let ours = |a: &str| a.parse::<IpAddr>().expect("an address");
            for address in ["192.0.2.1", "2001:db8::1"] {
                let found = dump
                    .iter()
                    .filter(|e| matches!(e, Event::Address(a, true) if a.address == ours(address)));
                assert_eq!(found.count(), 1, "{address}");
            }
            for address in ["192.0.2.2", "2001:db8::2"] {
                let found = dump
                    .iter()
                    .filter(|e| matches!(e, Event::Neighbour(n) if n.address == ours(address) && n.mac.is_some()));
                assert_eq!(found.count(), 1, "{address}");
            }
            assert!(count(|e| matches!(e, Event::Qdisc(q) if q.kind == "noqueue")) >= 3);
        }
        assert_eq!(requests.tally().malformed, 0);
    });
}

#[test]
fn each_transaction_of_the_firewall_has_the_next_generation() {
    in_namespace(|| async {
        let mut events = Events::open(Source::Firewall).expect("events");
        let mut requests = Requests::open().expect("requests");
        run("nft 'table inet weir { set s { type ipv4_addr; }; }'");
        run("nft add element inet weir s '{ 192.0.2.1 }'");
        run("nft delete table inet weir");
        let mut seen = Vec::new();
        while seen.len() < 3 {
            events.recv(&mut seen).await.expect("events");
        }
        let [
            Event::Firewall(first),
            Event::Firewall(second),
            Event::Firewall(third),
        ] = seen[..]
        else {
            panic!("{seen:?}")
        };
        assert_eq!((second, third), (first + 1, first + 2));
        requests.dump(Source::Firewall);
        assert_eq!(
            dumped(&mut requests).await,
            [Event::Firewall(third), Event::DumpEnd(Source::Firewall)]
        );
    });
}

#[test]
fn xdp_features_of_a_veth_change_with_its_peer() {
    in_namespace(|| async {
        let mut netdev = Netdev::open()
            .expect("an answer")
            .expect("family netdev (Linux 6.3)");
        run(
            "ip link add weir0 type veth peer name weir1; ip link set weir0 up; ip link set weir1 \
                up",
        );
        let name = run("cat /proc/thread-self/net/dev_mcast | grep -m1 weir0");
        let index: u32 = name
            .split_whitespace()
            .next()
            .expect("index")
            .parse()
            .expect("a number");
        let before = netdev
            .xdp_features(index)
            .expect("an answer")
            .expect("a device");
        assert!(before.basic() && before.redirect() && !before.transmit());
        assert_eq!(netdev.xdp_features(9999).expect("an answer"), None);

        assert!(netdev.tells_changes());
        run("ethtool -K weir1 gro on");
        let mut changes = Vec::new();
        while !changes
            .iter()
            .any(|change: &weir_kernel::netdev::DeviceFeatures| {
                change.link == index && change.features.transmit()
            })
        {
            assert!(
                !netdev.changed(&mut changes).await.expect("changes"),
                "changes were lost"
            );
        }
        assert!(
            netdev
                .xdp_features(index)
                .expect("an answer")
                .expect("a device")
                .transmit()
        );
    });
}

#[test]
fn facts_are_those_of_this_namespace() {
    in_namespace(|| async {
        run("ip link add weir.0 type bridge");
        assert_eq!(
            facts::forwarding("weir.0").expect("readable"),
            (false, false)
        );
        std::fs::write("/proc/sys/net/ipv4/conf/weir.0/forwarding", "1").expect("writable");
        assert_eq!(
            facts::forwarding("weir.0").expect("readable"),
            (true, false)
        );
        assert_eq!(
            facts::forwarding("weir-none").expect("nothing there"),
            (false, false)
        );
        let before = facts::switches("weir.0").expect("readable");
        let switches = [
            ("ipv4", "disable_policy"),
            ("ipv4", "disable_xfrm"),
            ("ipv4", "src_valid_mark"),
            ("ipv6", "disable_policy"),
        ];
        for (family, switch) in switches {
            let path = format!("/proc/sys/net/{family}/conf/weir.0/{switch}");
            for (value, same) in [("1", false), ("0", true)] {
                std::fs::write(&path, value).expect("writable");
                let now = facts::switches("weir.0").expect("readable");
                assert_eq!(now == before, same, "{path}");
            }
        }
        std::fs::write("/proc/sys/net/netfilter/nf_conntrack_udp_timeout", "77").expect("writable");
        let before = facts::multipath().expect("readable");
        assert_eq!(facts::multipath().expect("readable"), before);
        for name in ["ipv4", "ipv6"] {
            let path = format!("/proc/sys/net/{name}/fib_multipath_hash_policy");
            std::fs::write(path, "1").expect("set");
            assert_ne!(facts::multipath().expect("readable"), before);
            let path = format!("/proc/sys/net/{name}/fib_multipath_hash_policy");
            std::fs::write(path, "0").expect("set");
            assert_eq!(facts::multipath().expect("readable"), before);
        }
        let settings = facts::conntrack_settings()
            .expect("readable")
            .expect("conntrack");
        assert_eq!(settings.udp.as_secs(), 77);
        assert!(settings.tcp_established > settings.udp_stream);
        assert_eq!(facts::legacy_tables().expect("readable"), [""; 0]);
        assert_eq!(facts::driver("lo"), None);
    });
}
