//! The uplink devices, and the events of their changes.

use kernel::event::Source;
use kernel::io::{Events, Policy};
use kernel::policy::{Hop, MAIN, Route};
use kernel::uplinks::{Change, Uplinks};
use lab::{Error, Lab, Offloads};
use weir_tests::LIMIT;

use crate::mptcp::{ip, opened, prefix, runtime, told};

#[test]
fn uplinks_are_found_and_followed() -> Result<(), Error> {
    let mut lab = Lab::new();
    lab.host("router")?;
    lab.host("world")?;
    for (number, device) in ["wan0", "wan1", "lte0", "lan0"].into_iter().enumerate() {
        lab.wire(("router", device), ("world", device), Offloads::Default)?;
        lab.address("router", device, &format!("10.0.{number}.1/24"))?;
    }
    let router = lab.node("router")?;
    lab.address("router", "wan0", "2001:db8::1/64")?;
    lab.address("router", "wan0", "fe80::1/64")?;
    router.ip(
        "route add default via 10.0.1.2 metric 20\nroute add default via 10.0.0.2 metric 10\n\
         route add default via 10.0.2.2 table 300\nroute add 203.0.113.0/24 via 10.0.3.2\n",
    )?;
    router.run("ip -6 route add default via fe80::2 dev wan0")?;
    let runtime = runtime()?;
    let mut events = opened(router, &runtime, || Events::open(Source::Route))?;
    let mut policy = opened(router, &runtime, Policy::open)?;
    // Routes of weir's own do not count.
    let own = Hop {
        link: lab.index("router", "lan0")?,
        gateway: Some(ip("10.0.3.2")),
        onlink: false,
    };
    policy
        .set_route(&Route::new(prefix("0.0.0.0/0"), MAIN, own))
        .map_err(told)?;

    let mut uplinks = Uplinks::default();
    uplinks.update(&policy.snapshot().map_err(told)?);
    let shown = |uplinks: &Uplinks| -> Vec<String> {
        let show = |it: &kernel::uplinks::Uplink| {
            let gateway = it.gateway.map_or(String::new(), |it| it.to_string());
            format!(
                "{} {} {} {gateway} {}",
                it.name, it.address, it.prefix, it.metric
            )
        };
        uplinks.now().iter().map(show).collect()
    };
    let main = [
        "wan0 10.0.0.1 10.0.0.0/24 10.0.0.2 10",
        "wan1 10.0.1.1 10.0.1.0/24 10.0.1.2 20",
        "wan0 2001:db8::1 2001:db8::/64 fe80::2 1024",
    ];
    assert_eq!(shown(&uplinks), main, "no rule leads to table 300 yet");

    // Follows the events as a daemon would: certain changes at once, all others from a new
    // snapshot.
    let mut follow = |role: &str, line: &str, expected: &str| -> Result<(), Error> {
        lab.node(role)?.run(line)?;
        let mut told_so = Vec::new();
        let describe = |change: &Change| match change {
            Change::Added(it) => format!("+{} {}", it.name, it.address),
            Change::Removed(it) => format!("-{} {}", it.name, it.address),
            Change::Changed { before, now } => {
                format!(
                    "{} {} > {} {}",
                    before.name, before.address, now.address, now.metric
                )
            }
        };
        runtime.block_on(async {
            let follow = async {
                while !told_so.iter().map(describe).any(|it| it == expected) {
                    let mut heard = Vec::new();
                    events
                        .recv(&mut heard)
                        .await
                        .map_err(Error::system("events"))?;
                    let mut look = false;
                    for event in &heard {
                        look |= uplinks.event(event, &mut told_so);
                    }
                    if look {
                        let picture = policy.snapshot().map_err(told)?;
                        told_so.extend(uplinks.update(&picture));
                    }
                }
                Ok(())
            };
            match tokio::time::timeout(LIMIT, follow).await {
                Ok(result) => result,
                Err(_) => Err(Error::Timeout(format!("{expected} after {line}"))),
            }
        })
    };
    for (role, line, expected) in [
        (
            "router",
            "ip rule add pref 500 fwmark 0x300 lookup 300",
            "+lte0 10.0.2.1",
        ),
        ("router", "ip link set wan1 down", "-wan1 10.0.1.1"),
        (
            "router",
            "ip route replace default via 10.0.0.3 metric 10",
            "wan0 10.0.0.1 > 10.0.0.1 10",
        ),
        // Without a carrier the routes stay.
        ("world", "ip link set lte0 down", "-lte0 10.0.2.1"),
        ("world", "ip link set lte0 up", "+lte0 10.0.2.1"),
        ("router", "ip link del wan0", "-wan0 2001:db8::1"),
    ] {
        follow(role, line, expected)?;
    }
    assert_eq!(shown(&uplinks), ["lte0 10.0.2.1 10.0.2.0/24 10.0.2.2 0"]);
    Ok(())
}
