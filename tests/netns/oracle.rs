//! The differential oracle: two identical routers, one with weir, get the same packets, and their
//! output must be equal byte for byte. WEIR_SEED replays one seed. For layers below IP, see
//! `topologies.rs`.

use lab::gateway::Ipv6;
use lab::oracle::{self, Plan};
use weir_tests::differential::{Expect, equal};

/// 10,000 random packets over 500 flows, IPv4 with and IPv6 without translation, of every kind.
#[test]
fn xdp_equals_the_kernel() {
    let plan = Plan::new(oracle::seed(11), 500, 10_000);
    equal("xdp", &plan, Expect::TakesOver);
}

#[test]
fn tc_equals_the_kernel() {
    let plan = Plan::new(oracle::seed(12), 500, 10_000);
    equal("tc", &plan, Expect::TakesOver);
}

/// IPv4 without, IPv6 with translation.
#[test]
fn both_hooks_equal_the_kernel_with_nat66_and_without_nat() {
    for hook in ["xdp", "tc"] {
        let plan = Plan {
            nat: false,
            ipv6: Ipv6::Nat66,
            ..Plan::new(oracle::seed(13), 100, 2_000)
        };
        equal(hook, &plan, Expect::TakesOver);
    }
}
