//! Tests of the oracle with plain kernels: equal kernels agree, and changed kernels are found.

use weir_lab::gateway::Ipv6;
use weir_lab::generate::{Kind, Side};
use weir_lab::oracle::{self, Difference, DifferingOutput, Plan, Settle};
use weir_lab::{Arrangement, Error, Lab};

#[test]
fn two_kernels_are_equal() {
    for default in [1, 2] {
        let plan = Plan::new(oracle::seed(default), 60, 1000);
        let report =
            oracle::compare(&plan, &oracle::plain).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.sent, 60 * 5 + 1000);
        assert!(report.received > 900, "{report:?}");
        assert!(report.differences.is_empty(), "{report:?}");
    }
}

#[test]
fn two_kernels_are_equal_with_nat66_and_without_nat() {
    for (nat, ipv6) in [(true, Ipv6::Nat66), (false, Ipv6::Off)] {
        let plan = Plan {
            nat,
            ipv6,
            ..Plan::new(oracle::seed(3), 20, 300)
        };
        oracle::compare(&plan, &oracle::plain).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Returns a router B with additional nftables rules.
fn sabotaged(rules: &'static str) -> impl Fn(&Lab) -> Result<Settle, Error> {
    move |lab| {
        lab.node("router")?.nft(&format!(
            "table inet sabotage {{ chain forward {{ type filter hook forward priority \
                0;\n{rules}\n}}\n}}\n"
        ))?;
        oracle::plain(lab)
    }
}

/// The oracle also compares frames that only pass a bridge: here one member gets no frames.
#[test]
fn a_bridge_that_floods_less_is_found() {
    let unplugged = |lab: &Lab| {
        lab.node("router")?.run("ip link set lan3 nomaster")?;
        oracle::plain(lab)
    };
    let plan = Plan {
        attempts: 0,
        ..Plan::over(Arrangement::BRIDGE, 6, 20, 600)
    };
    match oracle::compare(&plan, &unplugged) {
        Err(Error::Differs(found)) => {
            assert!(
                found
                    .differing
                    .iter()
                    .any(|found| found.at == "at-lan3:eth0" && found.b.is_empty()),
                "{found}"
            );
        }
        other => panic!("not detected: {other:?}"),
    }
}

/// Uses a fixed seed: not every workload has the packets that the rules below change.
fn found(rules: &'static str) -> Box<oracle::Mismatch> {
    let plan = Plan::new(4, 30, 600);
    match oracle::compare(&plan, &sabotaged(rules)) {
        Err(Error::Differs(found)) => {
            println!("{found}");
            found
        }
        other => panic!("not detected: {other:?}"),
    }
}

#[test]
fn a_changed_ttl_is_found_and_shrunk() {
    // The rule changes one flow, but not the opening.
    let found = found("udp sport 2007 ip length > 400 ip ttl set 9");
    assert!(found.shrunk);
    assert_eq!(found.steps.len(), 1, "{found}");
    let DifferingOutput { side, a, b, .. } = &found.differing[0];
    assert_eq!((*side, a.len(), b.len()), (Side::Client, 1, 1));
    assert_eq!(b[0][22], 9);
    assert_ne!(a[0][22], 9);
}

#[test]
fn a_dropped_port_is_found_and_shrunk() {
    let found = found("tcp dport 2004 tcp flags & syn == 0 drop");
    assert!(found.shrunk);
    assert_eq!(found.steps.len(), 1, "{found}");
    assert!(
        found
            .differing
            .iter()
            .any(|found| found.a.len() == 1 && found.b.is_empty())
    );
    assert_ne!(found.steps[0].kind, Kind::Open);
}

/// A kernel that ignores checksums forwards packets with a wrong checksum translated, as a router
/// under test may.
#[test]
fn bad_checksums_may_be_forwarded_if_they_stay_bad() {
    let careless = |lab: &Lab| {
        lab.node("router")?
            .sysctl("net.netfilter.nf_conntrack_checksum", 0)?;
        oracle::plain(lab)
    };
    let plan = Plan {
        ipv6: Ipv6::Nat66,
        ..Plan::new(5, 30, 600)
    };
    let report = oracle::compare(&plan, &careless).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        report
            .differences
            .get(&Difference::BadChecksumForwarded)
            .is_some_and(|count| *count > 5),
        "{report:?}"
    );
}

/// The difference needs two packets: the first one changes the connection, so that the second one
/// is dropped.
#[test]
fn a_difference_that_takes_two_packets_is_shrunk_to_two() {
    let found = found(
        "meta l4proto udp ip dscp != cs0 ct mark set 7\nct mark 7 ct direction reply ip dscp cs0 \
            drop",
    );
    assert!(found.shrunk);
    assert_eq!(found.steps.len(), 2, "{found}");
    assert_eq!(found.steps[0].kind, Kind::Tos);
    assert!(found.steps.iter().all(|step| !step.frame.is_empty()));
}
