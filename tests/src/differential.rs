//! Two identical routers, one with weir, get the same packets; their output is equal byte by byte.

use std::cell::Cell;
use std::rc::Rc;

use lab::namespace::wait_until;
use lab::oracle::{self, Plan, Settle};
use lab::{Error, Lab};

use crate::{LIMIT, Weir, hooked_at};

/// weir's expected part in a workload, in addition to an unchanged result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// weir forwards more than a quarter of the packets: most of an ordinary mix suits the fast
    /// path, and a run without weir's part proves nothing.
    TakesOver,
    /// weir takes over more than a twentieth; others may claim connections at any time.
    TakesPart,
    /// weir takes over less than a tenth: mostly others have the connections, but not all packets
    /// and not always.
    LeavesMost,
    /// weir takes over no packet.
    Declines,
}

/// Runs the plan with weir at this hook of every port of router B. Panics with the differences, or
/// if weir's part is not as expected.
pub fn equal(hook: &str, plan: &Plan, expect: Expect) {
    let forwarded = Rc::new(Cell::new(0));
    let start = |lab: &Lab| with_weir(lab, hook, expect, &forwarded);
    let report = oracle::compare(plan, &start).unwrap_or_else(|error| panic!("{error}"));
    let taken = forwarded.get() as usize;
    println!(
        "{}, {hook}: {taken} forwarded by weir of {report:?}",
        plan.arrangement.name
    );
    match expect {
        Expect::TakesOver => assert!(
            taken > report.sent / 4,
            "weir took over only {taken} of {}",
            report.sent
        ),
        Expect::TakesPart => assert!(
            taken > report.sent / 20,
            "weir took over only {taken} of {}",
            report.sent
        ),
        Expect::LeavesMost => assert!(
            taken < report.sent / 10,
            "weir took over {taken} of {}",
            report.sent
        ),
        Expect::Declines => {
            assert_eq!(taken, 0, "weir must not take over any");
            let came = report.received > report.sent / 2;
            assert!(came, "hardly anything came out: {report:?}");
        }
    }
}

fn with_weir(
    lab: &Lab,
    hook: &str,
    expect: Expect,
    forwarded: &Rc<Cell<u64>>,
) -> Result<Settle, Error> {
    let ports = lab.arrangement().ports();
    let weir = Weir::start(lab.node("router")?, &hooked_at(hook, &ports), &[])?;
    if expect != Expect::Declines {
        weir.wait_for_ports(ports.len())?;
    }
    let last = Last(weir, Rc::clone(forwarded));
    Ok(Box::new(move |flows| match expect {
        Expect::TakesOver | Expect::TakesPart => last.0.wait_for_known(flows),
        Expect::LeavesMost | Expect::Declines => wait_until("flows are judged", LIMIT, || {
            Ok(last.0.flows()?.len() >= flows)
        }),
    }))
}

/// Reads the counter before weir is stopped.
struct Last(Weir, Rc<Cell<u64>>);

impl Drop for Last {
    fn drop(&mut self) {
        let Ok(status) = self.0.status() else { return };
        self.1.set(self.1.get() + status.packets.forwarded());
        println!("{:?}", status.packets);
        let ports = self.0.client().ok().and_then(|client| client.ports().ok());
        for port in ports.unwrap_or_default() {
            println!("{port:?}");
        }
    }
}
