//! Updates of connections in the running kernel. Another decoder reads the result.

use crate::common;
use std::os::fd::AsRawFd;

use common::{dumped, in_namespace, run, until};
use netlink_bindings::conntrack::ConntrackAttrs;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use weir_kernel::conntrack::Refresh;
use weir_kernel::io::{Events, Outcome, Requests};
use weir_kernel::{Connection, Event, Source, Tuple, status};

async fn connections(requests: &mut Requests) -> Vec<Connection> {
    requests.dump(Source::Conntrack);
    let dump = dumped(requests).await;
    let connection = |event| match event {
        Event::Connection(connection) => Some(connection),
        _ => None,
    };
    dump.into_iter().filter_map(connection).collect()
}

fn insert(port: u16) {
    run(&format!(
        "conntrack -I -p tcp -s 192.0.2.1 -d 198.51.100.2 --sport {port} --dport 443 -t 100 \
            --state ESTABLISHED -u SEEN_REPLY"
    ));
}

#[test]
fn relaxing_sets_the_flag_in_both_directions() {
    in_namespace(|| async {
        // Before the entries are made: older ones cause no events.
        let listener = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_NONBLOCK,
            SockProtocol::NetlinkNetFilter,
        )
        .expect("a socket");
        // NFNLGRP_CONNTRACK_UPDATE.
        bind(listener.as_raw_fd(), &NetlinkAddr::new(0, 1 << 1)).expect("bound");
        let mut requests = Requests::open().expect("requests");
        insert(4000);
        run(
            "conntrack -I -w 5 -p tcp -s 2001:db8::1 -d 2001:db8::2 --sport 4001 --dport 443 -t \
                100 --state ESTABLISHED",
        );
        let ids: Vec<_> = connections(&mut requests)
            .await
            .iter()
            .map(|c| c.id)
            .collect();
        assert_eq!(ids.len(), 2);

        assert_eq!(requests.relax(&ids), Outcome::default());
        for _ in &ids {
            let mut buffer = [0; 4096];
            let length =
                recv(listener.as_raw_fd(), &mut buffer, MsgFlags::empty()).expect("an update");
            let attributes = ConntrackAttrs::new(&buffer[20..length]);
            let tcp = attributes
                .get_protoinfo()
                .and_then(|p| p.get_protoinfo_tcp())
                .expect("TCP");
            for flags in [tcp.get_tcp_flags_original(), tcp.get_tcp_flags_reply()] {
                let flags = flags.expect("flags");
                assert_eq!(flags.flags & 0x08, 0x08);
            }
        }
    });
}

#[test]
fn refreshing_sets_timeout_and_status_and_our_echo_is_not_heard() {
    in_namespace(|| async {
        let mut events = Events::open(Source::Conntrack).expect("events");
        let mut requests = Requests::open().expect("requests");
        events.ignore_port(requests.port()).expect("a filter");
        insert(4000);
        let before = connections(&mut requests).await.remove(0);
        let bits = before.status.expect("told");
        assert_eq!(bits & status::ASSURED, 0);
        let refresh = Refresh {
            id: before.id,
            timeout: 5000,
            status: Some(bits | status::ASSURED),
            unacknowledged: None,
        };
        assert_eq!(requests.refresh(&[refresh]), Outcome::default());
        let after = connections(&mut requests).await.remove(0);
        assert!(after.timeout.expect("told") > 4000);
        assert_eq!(after.status, Some(bits | status::ASSURED));

        insert(4001);
        let seen = until(
            &mut events,
            |event| matches!(event, Event::Connection(c) if c.id != before.id),
        )
        .await;
        assert_eq!(seen.len(), 2, "insertions only: {seen:?}");
        // Nor was the echo queued.
        assert_eq!((events.tally().understood, events.tally().ignored), (2, 0));
    });
}

#[test]
fn what_is_gone_and_what_is_refused_are_told_apart_in_a_large_batch() {
    in_namespace(|| async {
        let mut requests = Requests::open().expect("requests");
        insert(4000);
        let known = connections(&mut requests).await.remove(0).id;
        let missing = |port| weir_kernel::ConnectionId {
            original: Tuple {
                source_port: port,
                ..known.original
            },
            ..known
        };
        let mut refreshes: Vec<_> = (5000..6000)
            .map(|port| Refresh {
                id: missing(port),
                timeout: 60,
                status: None,
                unacknowledged: None,
            })
            .collect();
        // Clears SEEN_REPLY.
        refreshes.insert(
            500,
            Refresh {
                id: known,
                timeout: 60,
                status: Some(status::CONFIRMED),
                unacknowledged: None,
            },
        );
        let outcome = requests.refresh(&refreshes);
        assert_eq!((outcome.failed, outcome.error), (1, Some(Errno::EBUSY)));
        let gone: Vec<_> = outcome
            .gone
            .iter()
            .map(|id| id.original.source_port)
            .collect();
        assert_eq!(gone, (5000..6000).collect::<Vec<u16>>());
        // No entry was made.
        assert_eq!(connections(&mut requests).await.len(), 1);
    });
}

#[test]
fn connections_asked_for_are_told_in_any_number() {
    in_namespace(|| async {
        let mut requests = Requests::open().expect("requests");
        (4000..4070).for_each(insert);
        let known = connections(&mut requests).await;
        let mut ids: Vec<_> = known.iter().map(|c| c.id).collect();
        assert_eq!(ids.len(), 70);
        let missing = weir_kernel::ConnectionId {
            original: Tuple {
                source_port: 9,
                ..ids[0].original
            },
            ..ids[0]
        };
        ids.insert(40, missing);
        let (found, outcome) = requests.query(&ids);
        assert_eq!((outcome.gone, outcome.failed), (vec![missing], 0));
        assert_eq!(found.len(), 70);
        for looked in found {
            assert!(known.iter().any(|c| c.id == looked.connection.id));
            assert!((90..=100).contains(&looked.connection.timeout.expect("told")));
            assert!(!looked.unacknowledged);
        }
    });
}
