//! weir together with the kernel's own fast path, an nftables flowtable: packets stay correct,
//! whichever has a connection.
//!
//! weir sees packets before the flowtable (XDP and tc precede the ingress hook). weir leaves a
//! flowtable's connections to it, as far as the kernel reports them.

use std::thread;
use std::time::Duration;

use answers::FlowState;
use lab::gateway::SERVER;
use lab::generate::{Kind, Mix};
use lab::namespace::wait_until;
use lab::oracle::{self, Flowtable, Plan};
use lab::{Arrangement, Error, Options};
use weir_tests::conntrack::entry_to;
use weir_tests::differential::{Expect, equal};
use weir_tests::scene::{ENOUGH, Forwarder, PORT, Scene, WAYS, at_once, weir};
use weir_tests::{LIMIT, Weir};

/// IPS_OFFLOAD (include/uapi/linux/netfilter/nf_conntrack_common.h): a flowtable has the
/// connection.
const OFFLOAD: u32 = 1 << 14;
/// Shows an active flowtable: during this time no packet of a running transfer passes the rules.
const QUIET: Duration = Duration::from_millis(500);

const FLOWS: usize = 60;
const PACKETS: usize = 1_500;

fn plan(arrangement: Arrangement, seed: u64, flowtable: Flowtable) -> Plan {
    let whole = Plan::over(arrangement, oracle::seed(seed), FLOWS, PACKETS);
    let mix = match (flowtable, arrangement) {
        // Both routers have the flowtable from the start, so they treat broken packets alike.
        (Flowtable::First, Arrangement::PLAIN) => whole.mix.clone(),
        // A flowtable forwards broken packets into a VLAN or PPPoE, where the oracle does not know
        // their encapsulation.
        _ => sound(),
    };
    Plan {
        mix,
        flowtable,
        ..whole
    }
}

/// Packets that a flowtable and the rules treat alike. A flowtable checks neither checksums nor
/// lengths nor TCP's state, and drops a frame's bytes behind the IP packet. The forwarder decides
/// when a connection enters the flowtable.
fn sound() -> Mix {
    [
        (Kind::Ttl, 1),
        (Kind::IpOptions, 1),
        (Kind::Extensions, 1),
        (Kind::UdpNoChecksum, 2),
        (Kind::OtherMac, 1),
        (Kind::Fin, 1),
        (Kind::IcmpError, 2),
        (Kind::Echo, 1),
        (Kind::Mtu, 2),
    ]
    .into_iter()
    .fold(
        Mix::ordinary().with(Kind::Data, 29),
        |mix, (kind, weight)| mix.with(kind, weight),
    )
}

/// Runs the oracle over a router with a flowtable from the start, to which weir leaves all. A
/// second router gets its flowtable after weir has taken over.
macro_rules! beside {
    ($($name:ident: $arrangement:ident, $seed:expr;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            #[ignore = "needs flowtables: run by tests/vm/run"]
            fn what_the_flowtable_has_is_left_to_it_xdp() {
                equal("xdp", &plan(Arrangement::$arrangement, $seed, Flowtable::First), Expect::LeavesMost);
            }

            #[test]
            #[ignore = "needs flowtables: run by tests/vm/run"]
            fn what_the_flowtable_has_is_left_to_it_tc() {
                equal("tc", &plan(Arrangement::$arrangement, $seed + 1, Flowtable::First), Expect::LeavesMost);
            }

            #[test]
            #[ignore = "needs flowtables: run by tests/vm/run"]
            fn both_may_have_it_xdp() {
                equal("xdp", &plan(Arrangement::$arrangement, $seed + 2, Flowtable::Later), Expect::TakesPart);
            }

            #[test]
            #[ignore = "needs flowtables: run by tests/vm/run"]
            fn both_may_have_it_tc() {
                equal("tc", &plan(Arrangement::$arrangement, $seed + 3, Flowtable::Later), Expect::TakesPart);
            }
        })*
    };
}

beside! {
    plain: PLAIN, 70;
    pppoe_over_vlan: PPPOE_OVER_VLAN, 90;
}

/// Waits until the flowtable has the router's conntrack entry of the transfer, or has it no more.
fn offloaded(scene: &Scene, wanted: bool) -> Result<(), Error> {
    wait_until("the flowtable to take it or give it back", LIMIT, || {
        let entry = entry_to(scene.router()?, PORT)?;
        Ok(entry.is_some_and(|entry| (entry.status & OFFLOAD != 0) == wanted))
    })
}

/// Waits until the transfer continues and no packet passes the rules.
fn bypasses_the_rules(scene: &Scene) -> Result<(), Error> {
    wait_until("the rules to see nothing of the transfer", LIMIT, || {
        let before = scene.lab.left_by_flowtable()?;
        scene.transfer.advance(ENOUGH, LIMIT)?;
        thread::sleep(QUIET);
        Ok(scene.lab.left_by_flowtable()? == before)
    })
}

/// Waits until weir knows that the flowtable has the transfer.
fn left_alone(weir: &Weir) -> Result<(), Error> {
    wait_until("weir to leave the transfer to the flowtable", LIMIT, || {
        Ok(weir.flow_at(PORT)?.is_some_and(|flow| {
            flow.state == FlowState::Declined
                && flow.reason.is_some_and(|reason| reason.code == "flowtable")
        }))
    })
}

/// The forwarder changes in every way during a transfer, which must go on.
#[test]
#[ignore = "needs flowtables: run by tests/vm/run"]
fn a_transfer_survives_a_flowtable_that_comes_and_goes() {
    at_once(&WAYS, |by| {
        let mut scene = Scene::new(by, &Options::default(), SERVER, "")?;
        scene.lab.flowtable()?;
        offloaded(&scene, true)?;
        // weir gets no event: it forwards before the flowtable.
        scene.lives("a flowtable was added")?;
        if by != Forwarder::Kernel {
            scene.weir = None;
            bypasses_the_rules(&scene)?;
            scene.weir = weir(by, &scene.lab, "")?;
            if let Some(weir) = &scene.weir {
                left_alone(weir)?;
            }
        }
        bypasses_the_rules(&scene)?;
        scene.lab.without_flowtable()?;
        offloaded(&scene, false)?;
        // weir gets no event of this either: it polls.
        scene.lives("the flowtable is gone")?;
        scene.lab.flowtable()?;
        scene.lives("the flowtable is back")?;
        offloaded(&scene, true)?;
        ends(scene)
    });
}

/// The end of a shared transfer reaches the kernel and weir.
fn ends(scene: Scene) -> Result<(), Error> {
    let Scene {
        weir,
        transfer,
        lab,
    } = scene;
    transfer.stop()?;
    let router = lab.node("router")?;
    wait_until("the connection to be seen ending", LIMIT, || {
        let entry = entry_to(router, PORT)?;
        // Two minutes in TIME_WAIT; without the FIN it would be five days.
        Ok(entry.is_none_or(|entry| entry.status & OFFLOAD == 0 && entry.timeout <= 120))
    })?;
    match weir {
        Some(weir) => wait_until("weir to let the connection go", LIMIT, || {
            Ok(weir
                .flow_at(PORT)?
                .is_none_or(|flow| flow.state == FlowState::Declined))
        }),
        None => Ok(()),
    }
}
