//! The differential oracle over everything that a router can have below IP: see [`Arrangement`].
//! WEIR_SEED replays one seed.
//!
//! Some kernels lack parts of it. Tests that this project's own machines cannot run are marked with
//! their needs. Plain `cargo test` omits them; `tests/vm/run` runs them on kernels with everything.

use std::net::SocketAddr;

use lab::generate::{Kind, Mix};
use lab::oracle::{self, Plan};
use lab::transfer::{Echo, ask_tcp};
use lab::{Arrangement, Error, Lab, Options};
use weir_tests::differential::{Expect, equal};

mod live;

const FLOWS: usize = 100;
const PACKETS: usize = 2_000;

fn plan(arrangement: Arrangement, seed: u64) -> Plan {
    Plan::over(arrangement, oracle::seed(seed), FLOWS, PACKETS)
}

/// Real hosts exchange a packet and more than a window, with the kernel alone, in both families.
fn talk(arrangement: Arrangement) -> Result<(), Error> {
    let options = Options {
        arrangement,
        ..Options::default()
    };
    let lab = Lab::gateway(&options)?;
    let (client, server) = (lab.node("client")?, lab.node("server")?);
    for ipv6 in [false, true] {
        let _echo = Echo::serve(server, SocketAddr::new(arrangement.server(ipv6), 7))?;
        for length in [1, 200_000] {
            let payload = vec![b'w'; length];
            let to = SocketAddr::new(arrangement.reached(ipv6), 7);
            assert_eq!(ask_tcp(client, to, &payload)?, payload, "to {to}");
        }
    }
    Ok(())
}

/// Covers the arrangements without another test of real hosts, in both families.
#[test]
fn hosts_can_talk() {
    for arrangement in [Arrangement::MULTI_WAN, Arrangement::HAIRPIN] {
        talk(arrangement).unwrap_or_else(|error| panic!("{}: {error}", arrangement.name));
    }
}

#[test]
#[ignore = "needs PPPoE, 802.1Q and WireGuard: run by tests/vm/run"]
fn hosts_can_talk_at_home_and_by_a_tunnel() {
    for arrangement in [Arrangement::HOME_WIFI, Arrangement::WIREGUARD] {
        talk(arrangement).unwrap_or_else(|error| panic!("{}: {error}", arrangement.name));
    }
}

/// Makes a test of each arrangement with each hook, each with its own seed.
macro_rules! topologies {
    ($($(#[$needs:meta])* $name:ident: $arrangement:ident, $expect:ident;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            $(#[$needs])*
            fn xdp() {
                equal("xdp", &plan(Arrangement::$arrangement, 2), Expect::$expect);
            }

            #[test]
            $(#[$needs])*
            fn tc() {
                equal("tc", &plan(Arrangement::$arrangement, 3), Expect::$expect);
            }
        })*

        /// The plain arrangement is in `oracle.rs`.
        #[test]
        fn every_arrangement_is_tested() {
            let tested = [Arrangement::PLAIN, $(Arrangement::$arrangement),*];
            assert_eq!(tested, Arrangement::ALL);
        }
    };
}

topologies! {
    #[ignore = "needs 802.1Q: run by tests/vm/run"]
    vlan: VLAN, TakesOver;
    #[ignore = "needs 802.1Q: run by tests/vm/run"]
    vlan_with_own_mac: VLAN_WITH_OWN_MAC, TakesOver;
    #[ignore = "needs 802.1Q: run by tests/vm/run"]
    qinq: QINQ, TakesOver;
    #[ignore = "needs PPPoE: run by tests/vm/run"]
    pppoe: PPPOE, TakesOver;
    #[ignore = "needs PPPoE and 802.1Q: run by tests/vm/run"]
    pppoe_over_vlan: PPPOE_OVER_VLAN, TakesOver;
    bridge: BRIDGE, TakesOver;
    #[ignore = "needs bridges that filter VLANs: run by tests/vm/run"]
    filtering_bridge: FILTERING_BRIDGE, TakesOver;
    #[ignore = "needs bridges that filter VLANs: run by tests/vm/run"]
    filtering_bridge_trunk: FILTERING_BRIDGE_TRUNK, TakesOver;
    #[ignore = "needs PPPoE and 802.1Q: run by tests/vm/run"]
    home: HOME, TakesOver;
    #[ignore = "needs PPPoE and 802.1Q: run by tests/vm/run"]
    home_wifi: HOME_WIFI, TakesOver;
    multi_wan: MULTI_WAN, TakesOver;
    hairpin: HAIRPIN, TakesOver;
    #[ignore = "needs VRF: run by tests/vm/run"]
    vrf: VRF, TakesOver;
    #[ignore = "needs WireGuard: run by tests/vm/run"]
    wireguard: WIREGUARD, Declines;
}

/// Tests the oracle itself: a PCP that another packet of this router may have, but not this one.
#[test]
#[ignore = "needs 802.1Q: run by tests/vm/run"]
fn another_pcp_is_found() {
    let other = |lab: &Lab| {
        let map = "ip link set wan0.7 type vlan egress-qos-map 4:6 6:5";
        lab.node("router")?.run(map)?;
        oracle::plain(lab)
    };
    let plan = Plan {
        attempts: 0,
        ..plan(Arrangement::VLAN, 8)
    };
    match oracle::compare(&plan, &other) {
        Err(Error::Differs(found)) => assert_eq!(found.differing[0].at, "server:eth0"),
        other => panic!("not detected: {other:?}"),
    }
}

/// Conntrack marks a packet with a wrong checksum as invalid, so rules with connection marks route
/// it differently. Its path proves nothing about the other packets.
#[test]
fn what_conntrack_refuses_does_not_show_the_way() {
    for hook in ["xdp", "tc"] {
        let plan = Plan {
            mix: Mix::ordinary().with(Kind::Checksum, 1),
            ..plan(Arrangement::MULTI_WAN, 6)
        };
        equal(hook, &plan, Expect::TakesOver);
    }
}
