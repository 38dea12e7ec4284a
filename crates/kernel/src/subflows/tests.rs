use super::*;
use crate::fixture::datagrams;
use crate::message::Messages;

fn read(bytes: &[u8]) -> Vec<Result<Option<Subflow>, DecodeError>> {
    let messages = Messages::new(bytes).map(|message| message.expect("whole"));
    messages.map(|message| decode(&message)).collect()
}

fn dumped(name: &str) -> Vec<Subflow> {
    let datagrams = datagrams(name);
    let all = datagrams.iter().flat_map(|bytes| read(bytes));
    let mut found: Vec<_> = all.filter_map(|it| it.expect("valid")).collect();
    found.sort_by_key(|subflow| (subflow.local_id, subflow.remote_id));
    found
}

fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address with a port")
}

#[test]
fn subflows_of_a_client() {
    let [first, joined] = &dumped("subflows-client")[..] else {
        panic!("two")
    };
    assert_eq!(first.kind, SubflowKind::First);
    assert_eq!(first.local, at("10.0.2.1:35230"));
    assert_eq!(first.remote, at("10.0.2.1:9347"));
    assert_eq!((first.local_id, first.remote_id), (0, 0));
    assert_eq!((first.state, first.link), (TcpState::Established, None));
    assert_eq!(first.congestion, "bbr");
    assert!(!first.backup && first.token != 0);
    // As `ss` showed it, but for what passed between.
    let info = first.tcp;
    assert_eq!((info.bytes_sent, info.bytes_acked), (50_001, 50_002));
    assert_eq!((info.bytes_received, info.bytes_retrans), (100, 0));
    assert_eq!((info.mss, info.unacked, info.lost), (32_768, 0, 0));

    assert_eq!(joined.kind, SubflowKind::Joined);
    assert_eq!(joined.local.ip(), at("10.0.3.1:1").ip());
    assert_eq!((joined.local_id, joined.backup), (3, true));
    assert_eq!(joined.token, first.token);
    assert_ne!(joined.cookie, first.cookie);
}

#[test]
fn subflows_of_a_server() {
    let [first, joined] = &dumped("subflows-server")[..] else {
        panic!("two")
    };
    let kinds = (first.kind, joined.kind);
    assert_eq!(kinds, (SubflowKind::First, SubflowKind::Joined));
    // The client requests it.
    assert_eq!((first.backup, joined.backup), (false, true));
    assert_eq!((joined.remote_id, first.tcp.bytes_received), (3, 50_001));
}

#[test]
fn who_did_not_get_mptcp() {
    let of = |name| {
        let all = dumped(name);
        assert_eq!(all.len(), 1, "{name}");
        (
            all[0].kind,
            all[0].local.to_string(),
            all[0].tcp.bytes_received,
        )
    };
    let (kind, _, _) = of("subflows-fallback");
    assert_eq!(kind, SubflowKind::FellBack);
    let plain = (SubflowKind::Plain, "10.0.2.1:9348".to_owned(), 10);
    assert_eq!(of("subflows-plain"), plain);
    // In a socket of IPv6.
    let mapped = (SubflowKind::Plain, "10.0.2.1:9349".to_owned(), 10);
    assert_eq!(of("subflows-mapped"), mapped);
}

/// Makes a socket in this state, with these flags of MPTCP; `None`: without any.
fn made(state: u8, flags: Option<u32>, info: &[u8]) -> Vec<u8> {
    Encoder::single(SOCK_DIAG_BY_FAMILY, 0, 1, |e| {
        let mut fixed = [0; MESSAGE];
        fixed[..2].copy_from_slice(&[AF_INET, state]);
        fixed[40] = 7;
        e.fixed(&fixed);
        e.attribute(INET_DIAG_INFO, info);
        if let Some(flags) = flags {
            e.nested(INET_DIAG_ULP_INFO, |e| {
                e.nested(INET_ULP_INFO_MPTCP, |e| {
                    e.attribute(SUBFLOW_ATTR_FLAGS, &flags.to_ne_bytes());
                });
            });
        }
    })
}

#[test]
fn what_a_subflow_is_by_its_flags() {
    use SubflowKind::{FellBack, First, Joined, Plain};
    const MCAP_LOC: u32 = 2;
    for (state, flags, kind) in [
        (2, Some(MCAP_LOC), First),
        (1, Some(MCAP_LOC), FellBack),
        (1, Some(MCAP_LOC | flag::MCAP_REM), First),
        (1, Some(flag::MCAP_REM), First),
        (2, Some(flag::JOIN_LOC), Joined),
        (1, Some(flag::JOIN_REM), Joined),
        (1, None, Plain),
    ] {
        let found = read(&made(state, flags, &[0; INFO])).remove(0);
        let found = found.expect("valid").expect("a subflow");
        assert_eq!((found.kind, found.link), (kind, Some(7)), "{flags:?}");
    }
    for flags in [flag::BKUP_LOC, flag::BKUP_REM] {
        let found = read(&made(1, Some(flags), &[0; INFO])).remove(0);
        assert!(found.expect("valid").expect("a subflow").backup);
    }
}

/// Each field of `struct tcp_info` has its own offset as value.
#[test]
fn each_figure_has_its_place() {
    let mut info = [0u8; INFO + 16];
    for at in (8..104).chain(136..160).step_by(4) {
        info[at..at + 4].copy_from_slice(&(at as u32).to_ne_bytes());
    }
    for at in (104..136).chain(160..216).step_by(8) {
        info[at..at + 8].copy_from_slice(&(at as u64).to_ne_bytes());
    }
    info[2] = 3;
    info[7] = if cfg!(target_endian = "little") {
        1
    } else {
        0x80
    };
    let found = read(&made(1, None, &info)).remove(0);
    let expected = TcpInfo {
        retransmits: 3,
        rto: 8,
        mss: 16,
        unacked: 24,
        lost: 32,
        since_sent: 44,
        since_received: 52,
        since_acked: 56,
        rtt: 68,
        rtt_variation: 72,
        rtt_least: 148,
        cwnd: 80,
        pacing_rate: 104,
        bytes_acked: 120,
        bytes_received: 128,
        not_sent: 144,
        delivery_rate: 160,
        app_limited: true,
        busy: 168,
        bytes_sent: 200,
        bytes_retrans: 208,
    };
    assert_eq!(found.expect("valid").expect("a socket").tcp, expected);
}

#[test]
fn what_tells_nothing_is_passed_over_and_what_is_wrong_is_named() {
    // A socket that listens, one that has been closed.
    for state in [0, 3, 6, 7, 10, 12, 255] {
        assert_eq!(read(&made(state, None, &[0; INFO])), [Ok(None)], "{state}");
    }
    let short = read(&made(1, None, &[0; INFO - 1])).remove(0);
    let error = short.expect_err("short").to_string();
    assert_eq!(error, "INET_DIAG_INFO is truncated");
}

/// A truncated answer gives nothing, or an error that names the problem.
#[test]
fn cut_short_anywhere() {
    let whole = &datagrams("subflows-client")[0];
    let length = u32_at(whole, 0) as usize;
    for length in 16..length {
        let mut cut = whole[..length].to_vec();
        cut[..4].copy_from_slice(&(length as u32).to_ne_bytes());
        let taken = read(&cut).remove(0).map(|found| found.is_some());
        assert!(taken != Ok(true) || length > 300, "at {length}");
    }
}

#[test]
fn a_request_asks_for_one_port_of_one_side() {
    let request = dump(Sockets::To(9347), true, 5);
    assert_eq!(request.len(), 16 + 56 + 4 + 8);
    assert_eq!(request[16..19], [AF_INET6, IPPROTO_TCP, 0x0a]);
    assert_eq!(request[20..24], 0b1011_0011_0110u32.to_ne_bytes());
    assert_eq!(request[76..78], [INET_DIAG_BC_D_EQ, 8]);
    assert_eq!(request[82..84], 9347u16.to_ne_bytes());
    assert_eq!(dump(Sockets::At(1), false, 5)[76], INET_DIAG_BC_S_EQ);
}
