//! Against the running kernel: bridges and programs at TC, in a network namespace per test.

use crate::common;
use common::{dumped, in_namespace, run, until};
use weir_kernel::io::{Ethtool, Events, Filters, Requests};
use weir_kernel::{Event, Fdb, Link, Source};

const STATION: [u8; 6] = [2, 0, 0, 0, 0, 0x77];

fn station(event: &Event) -> Option<Fdb> {
    match event {
        Event::Fdb(fdb) if fdb.mac == STATION => Some(*fdb),
        _ => None,
    }
}

/// A bridge with two ports that are up; their indices.
async fn bridge(requests: &mut Requests) -> [u32; 3] {
    run("ip link add br0 type bridge; ip link set br0 up");
    for port in ["v0", "v1"] {
        run(&format!(
            "ip link add {port} type veth peer name {port}p; ip link set {port} master br0 up; ip \
                link set {port}p up"
        ));
    }
    let links = links(requests).await;
    ["br0", "v0", "v1"].map(|name| {
        links
            .iter()
            .find(|link| link.name == name)
            .expect("there")
            .index
    })
}

async fn links(requests: &mut Requests) -> Vec<Link> {
    requests.dump(Source::Route);
    let mut dump = Vec::new();
    while dump.last() != Some(&Event::DumpEnd(Source::Route)) {
        dump.extend(dumped(requests).await);
    }
    let link = |event| match event {
        Event::Link(link) => Some(link),
        _ => None,
    };
    dump.into_iter().filter_map(link).collect()
}

#[test]
fn a_station_is_told_where_it_comes_moves_and_goes() {
    in_namespace(|| async {
        let mut requests = Requests::open().expect("requests");
        let [br0, v0, v1] = bridge(&mut requests).await;
        let mut events = Events::open(Source::Route).expect("events");
        let mac = "02:00:00:00:00:77";
        for (line, link, present) in [
            (
                format!("bridge fdb add {mac} dev v0 master static"),
                v0,
                true,
            ),
            (
                format!("bridge fdb replace {mac} dev v1 master static"),
                v1,
                true,
            ),
            (format!("bridge fdb del {mac} dev v1 master"), v1, false),
        ] {
            run(&line);
            let seen = until(&mut events, |event| station(event).is_some()).await;
            let told: Vec<Fdb> = seen.iter().filter_map(station).collect();
            assert!(
                told.iter()
                    .all(|fdb| (fdb.link, fdb.bridge, fdb.present) == (link, br0, present)),
                "{line}: {told:?}"
            );
        }
        assert_eq!(events.tally().malformed, 0);

        // A dump shows it, and the bridge's own addresses as such.
        run(&format!("bridge fdb add {mac} dev v0 master static"));
        requests.dump(Source::Route);
        let dump = dumped(&mut requests).await;
        let found: Vec<Fdb> = dump.iter().filter_map(station).collect();
        assert!(!found.is_empty() && found.iter().all(|fdb| (fdb.link, fdb.local) == (v0, false)));
        let local =
            |event: &&Event| matches!(event, Event::Fdb(fdb) if fdb.local && fdb.bridge == br0);
        assert!(dump.iter().filter(local).count() >= 2, "of each port");
        assert_eq!(requests.tally().malformed, 0);
    });
}

#[test]
fn a_station_that_sends_is_learned_where_it_sends() {
    in_namespace(|| async {
        let mut requests = Requests::open().expect("requests");
        let [br0, v0, v1] = bridge(&mut requests).await;
        let mut events = Events::open(Source::Route).expect("events");
        for (port, link) in [("v0p", v0), ("v1p", v1)] {
            // Any frame will do: here, a neighbour solicitation.
            run(&format!(
                "ip link set {port} address 02:00:00:00:00:77; ip addr add 192.0.2.1/24 dev {port}"
            ));
            let mut told = None;
            while told.is_none() {
                run("ping -c1 -W1 -i0.2 192.0.2.9 >/dev/null || true");
                let mut seen = Vec::new();
                events.recv(&mut seen).await.expect("events");
                told = seen
                    .iter()
                    .filter_map(station)
                    .find(|fdb| fdb.link == link && !fdb.local);
            }
            let told = told.expect("learned");
            assert_eq!((told.bridge, told.present), (br0, true));
            run(&format!(
                "ip addr flush dev {port}; ip link set {port} address 02:00:00:00:01:77"
            ));
        }
    });
}

#[test]
fn a_port_that_is_isolated_is_told_as_another_and_one_that_costs_more_is_not() {
    in_namespace(|| async {
        let mut requests = Requests::open().expect("requests");
        let [_, v0, _] = bridge(&mut requests).await;
        let own = |event: &Event| match event {
            Event::Bridging(told) if told.link == v0 => told.port,
            _ => None,
        };
        // Until STP reaches forwarding, its state keeps changing.
        let mut events = Events::open(Source::Route).expect("events");
        let mut told = Vec::new();
        for setting in ["cost 70", "cost 71", "isolated on", "cost 72", "hairpin on"] {
            run(&format!("bridge link set dev v0 {setting}"));
            let seen = until(&mut events, |event| own(event).is_some()).await;
            told.push(seen.iter().rev().find_map(own).expect("told"));
        }
        assert_eq!((told[0], told[2]), (told[1], told[3]));
        assert!(told[0] != told[2] && told[3] != told[4]);
        let links = links(&mut requests).await;
        let port = links
            .iter()
            .find(|link| link.index == v0)
            .expect("there")
            .port;
        assert_eq!(port, Some(told[4]), "the list of devices has the same");
    });
}

#[test]
fn what_is_attached_at_tc_is_told_and_listed() {
    in_namespace(|| async {
        run("ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up");
        let mut requests = Requests::open().expect("requests");
        let links = links(&mut requests).await;
        let index = |name: &str| {
            links
                .iter()
                .find(|link| link.name == name)
                .expect("there")
                .index
        };
        let (v0, v1) = (index("v0"), index("v1"));
        let mut filters = Filters::open().expect("a socket");
        let mut events = Events::open(Source::Route).expect("events");
        let program = "bpf bytecode '1,6 0 0 4294967295'";
        let kinds = |list: &[weir_kernel::route::filter::Filter]| -> Vec<String> {
            list.iter().map(|filter| filter.kind.clone()).collect()
        };
        for (line, link, ingress, egress) in [
            ("tc qdisc add dev v0 clsact".to_owned(), v0, 0, 0),
            (format!("tc filter add dev v0 egress {program}"), v0, 0, 1),
            (
                format!("tc filter add dev v0 ingress pref 1 {program}"),
                v0,
                1,
                1,
            ),
            (
                format!("tc filter add dev v0 ingress pref 2 {program}"),
                v0,
                2,
                1,
            ),
            ("tc filter del dev v0 egress".to_owned(), v0, 2, 0),
            ("tc qdisc del dev v0 clsact".to_owned(), v0, 0, 0),
            ("tc qdisc add dev v1 ingress".to_owned(), v1, 0, 0),
            (
                format!("tc filter add dev v1 parent ffff: {program}"),
                v1,
                1,
                0,
            ),
        ] {
            run(&line);
            until(&mut events, |event| *event == Event::Filters(link)).await;
            let found = filters.attached(link).expect("an answer");
            assert_eq!(kinds(&found.ingress), vec!["bpf"; ingress], "{line}");
            assert_eq!(kinds(&found.egress), vec!["bpf"; egress], "{line}");
        }
        // A block that devices share is among the filters of each.
        run("tc qdisc add dev v0 ingress_block 7 clsact");
        until(&mut events, |event| *event == Event::Filters(v0)).await;
        run(&format!("tc filter add block 7 {program}"));
        until(&mut events, |event| *event == Event::Filters(0)).await;
        assert_eq!(filters.attached(v0).expect("an answer").ingress.len(), 1);
        let gone = filters.attached(9999).expect("an answer");
        assert_eq!((gone.ingress.len(), gone.egress.len()), (0, 0));
        assert_eq!(events.tally().malformed, 0);
    });
}

#[test]
fn tags_that_a_device_takes_off_are_told() {
    in_namespace(|| async {
        run("ip link add v0 type veth peer name v1");
        let mut requests = Requests::open().expect("requests");
        let links = links(&mut requests).await;
        let v0 = links.iter().find(|link| link.name == "v0");
        let v0 = v0.expect("there").index;
        let mut ethtool = Ethtool::open().expect("a socket").expect("the family");
        let mut seen = Vec::new();
        for line in [
            "ethtool -K v0 rxvlan on rx-vlan-stag-hw-parse on",
            "ethtool -K v0 rxvlan off",
            "ethtool -K v0 rx-vlan-stag-hw-parse off",
        ] {
            run(line);
            let tags = ethtool.hidden_tags(v0).expect("an answer").expect("there");
            seen.push((tags.customer, tags.service));
        }
        assert_eq!(seen, [(true, true), (false, true), (false, false)]);
        assert_eq!(ethtool.hidden_tags(9999).expect("an answer"), None);
        // In Mbit/s, as the driver of veth has it.
        assert_eq!(ethtool.speed(v0).expect("an answer"), Some(10_000));
        assert_eq!(ethtool.speed(1).expect("an answer"), None, "lo has none");
        assert_eq!(ethtool.speed(9999).expect("an answer"), None);
    });
}

#[test]
fn a_shaper_below_queues_is_told_and_listed() {
    in_namespace(|| async {
        run(
            "ip link add v0 numtxqueues 2 numrxqueues 2 type veth peer name v1; ip link set v0 \
                up; ip link set v1 up",
        );
        let mut requests = Requests::open().expect("requests");
        let mut links = links(&mut requests).await.into_iter();
        let v0 = links.find(|link| link.name == "v0").expect("there").index;
        let mut filters = Filters::open().expect("a socket");
        let mut events = Events::open(Source::Route).expect("events");
        let mut list = || -> Vec<(String, bool)> {
            let all = filters.qdiscs().expect("an answer").into_iter();
            let own = all.filter(|qdisc| qdisc.link == v0);
            own.map(|qdisc| (qdisc.kind, qdisc.root)).collect()
        };
        assert_eq!(list(), [("noqueue".to_owned(), true)]);
        run("tc qdisc add dev v0 clsact; tc qdisc add dev v0 root handle 1: mq");
        until(
            &mut events,
            |event| matches!(event, Event::Qdisc(q) if q.link == v0 && q.kind == "mq"),
        )
        .await;
        let found = list();
        assert_eq!(found.len(), 3, "a default for each queue: {found:?}");
        run("tc qdisc replace dev v0 parent 1:2 tbf rate 2mbit burst 16k latency 200ms");
        until(&mut events, |event| *event == Event::Qdiscs(v0)).await;
        let found = list();
        assert!(found.contains(&("tbf".to_owned(), false)), "{found:?}");
        run("tc qdisc del dev v0 parent 1:2");
        until(&mut events, |event| *event == Event::Qdiscs(v0)).await;
        assert!(!list().iter().any(|(kind, _)| kind == "tbf"));
        assert_eq!(events.tally().malformed, 0);
    });
}

#[test]
fn filters_of_qdiscs_and_of_classes_are_listed() {
    in_namespace(|| async {
        run(
            "ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up\n\
             tc qdisc add dev v0 root handle 1: htb default 10\n\
             tc class add dev v0 parent 1: classid 1:1 htb rate 1gbit\n\
             tc class add dev v0 parent 1:1 classid 1:10 htb rate 1gbit",
        );
        let mut requests = Requests::open().expect("requests");
        let mut links = links(&mut requests).await.into_iter();
        let v0 = links.find(|link| link.name == "v0").expect("there").index;
        let mut events = Events::open(Source::Route).expect("events");
        let mut filters = Filters::open().expect("a socket");
        let mut list = || {
            let mut own = filters.qdiscs().expect("an answer");
            own.retain(|qdisc| qdisc.link == v0);
            filters.choosing(v0, &own).expect("an answer")
        };
        assert_eq!(list(), []);
        // Filters of u32 with one priority are listed with each of their qdisc's lists.
        let filter = |pref| format!("pref {pref} protocol all u32 match u32 0 0");
        run(&format!(
            "tc filter add dev v0 parent 1: {} flowid 1:1\n\
             tc filter add dev v0 parent 1:1 {} flowid 1:10 action mirred egress mirror dev v1",
            filter(1),
            filter(2)
        ));
        until(&mut events, |event| *event == Event::Qdiscs(v0)).await;
        let found = list();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found
                .iter()
                .all(|filter| filter.kind == "u32" && !filter.reads_connection)
        );
        let to: Vec<_> = found.iter().flat_map(|filter| &filter.actions).collect();
        assert!(matches!(&to[..], [one] if one.to.is_some()), "{found:?}");
    });
}

#[test]
fn more_filters_than_one_answer_holds_are_all_listed() {
    in_namespace(|| async {
        run("ip link add v0 type veth peer name v1; tc qdisc add dev v0 clsact");
        let lines: String = (1..=1000)
            .map(|pref| {
                format!("filter add dev v0 ingress pref {pref} bpf bytecode '1,6 0 0 4294967295'\n")
            })
            .collect();
        let batch = std::env::temp_dir().join(format!("weir{}-filters", std::process::id()));
        std::fs::write(&batch, lines).expect("a file");
        run(&format!("tc -batch {}; rm {0}", batch.display()));
        let mut requests = Requests::open().expect("requests");
        let v0 = links(&mut requests)
            .await
            .into_iter()
            .find(|link| link.name == "v0");
        let mut filters = Filters::open().expect("a socket");
        let found = filters
            .attached(v0.expect("there").index)
            .expect("an answer");
        assert_eq!((found.ingress.len(), found.egress.len()), (1000, 0));
    });
}
