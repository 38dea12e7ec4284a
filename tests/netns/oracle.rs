//! The differential oracle: two identical routers, one with weir, get the same packets, and what comes out is the same byte for
//! byte. WEIR_SEED replays one seed.

use std::cell::Cell;
use std::rc::Rc;

use lab::gateway::Ipv6;
use lab::oracle::{self, Plan, Settle};
use lab::{Error, Lab};
use weir_tests::gateway_weir;

/// Weir on router B. `forwarded` takes how many packets it took over, so that a test can tell that anything was compared at all.
fn with_weir<'a>(
    hook: &'a str,
    forwarded: &'a Rc<Cell<u64>>,
) -> impl Fn(&Lab) -> Result<Settle, Error> + 'a {
    move |lab| {
        let weir = gateway_weir(lab, hook)?;
        let forwarded = Rc::clone(forwarded);
        let last = Last(weir, forwarded);
        Ok(Box::new(move |flows| last.0.wait_for_known(flows)))
    }
}

/// Reads the counter before weir is stopped.
struct Last(weir_tests::Weir, Rc<Cell<u64>>);

impl Drop for Last {
    fn drop(&mut self) {
        if let Ok(status) = self.0.status() {
            self.1.set(self.1.get() + status.packets.forwarded());
            println!("{:?}", status.packets);
            for port in self
                .0
                .client()
                .ok()
                .and_then(|c| c.ports().ok())
                .unwrap_or_default()
            {
                println!("{port:?}");
            }
        }
    }
}

fn equal(hook: &str, plan: &Plan) {
    let forwarded = Rc::new(Cell::new(0));
    let start = with_weir(hook, &forwarded);
    let report = oracle::compare(plan, &start).unwrap_or_else(|error| panic!("{error}"));
    println!(
        "{hook}: {} forwarded by weir of {report:?}",
        forwarded.get()
    );
    // Of an ordinary mix most packets are for the fast path; a run in which weir did nothing proves nothing.
    assert!(
        forwarded.get() as usize > report.sent / 4,
        "weir took over only {} of {}",
        forwarded.get(),
        report.sent
    );
}

/// 10,000 random packets over 500 flows, IPv4 with and IPv6 without translation, of every kind.
#[test]
fn xdp_equals_the_kernel() {
    equal("xdp", &Plan::new(oracle::seed(11), 500, 10_000));
}

#[test]
fn tc_equals_the_kernel() {
    equal("tc", &Plan::new(oracle::seed(12), 500, 10_000));
}

#[test]
fn both_hooks_equal_the_kernel_with_nat66_and_without_nat() {
    for hook in ["xdp", "tc"] {
        for (seed, nat, ipv6) in [(13, true, Ipv6::Nat66), (14, false, Ipv6::Routed)] {
            equal(
                hook,
                &Plan {
                    nat,
                    ipv6,
                    ..Plan::new(oracle::seed(seed), 100, 2_000)
                },
            );
        }
    }
}
