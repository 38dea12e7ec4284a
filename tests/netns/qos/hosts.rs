//! Shares of hosts behind NAT: a qdisc that uses conntrack's addresses gives each host its half,
//! whatever its number of connections.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use lab::gateway::{ROUTER_LAN, SERVER};
use lab::transfer::Transfer;
use lab::{Error, Options};
use weir_tests::LIMIT;
use weir_tests::scene::{self, Forwarder, WAYS, at_once};

use crate::qos::{NO_REPROOF, SETTLED, ports};

/// Destination of the second client's connections.
const OTHER_SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 77));
const OTHER_CLIENT: &str = "192.168.1.177";
/// Fair share of each client, percent. Without its address the first would get a ninth, 11 %.
const FAIR: std::ops::RangeInclusive<u64> = 25..=75;
/// Connections of the second client; the first has one.
const MANY: u16 = 8;

/// Returns the first of two clients' share of the arriving bytes, in percent, if wan0 has these
/// qdiscs and filters.
fn share(by: Forwarder, shaper: &[&str]) -> Result<u64, Error> {
    let lab = scene::lab(by, &Options::default())?;
    let (client, router, server) = (
        lab.node("client")?,
        lab.node("router")?,
        lab.node("server")?,
    );
    // Both are translated to one address on the way out.
    client.run(&format!("ip addr add {OTHER_CLIENT}/24 dev eth0"))?;
    client.run(&format!(
        "ip route add {OTHER_SERVER} via {ROUTER_LAN} src {OTHER_CLIENT}"
    ))?;
    server.run(&format!("ip addr add {OTHER_SERVER}/32 dev eth0"))?;
    router.run(&format!("ip route add {OTHER_SERVER} via {SERVER}"))?;
    for line in shaper {
        router.run(line)?;
    }
    let weir = scene::weir(by, &lab, NO_REPROOF)?;
    let one = Transfer::start(client, server, SocketAddr::new(SERVER, 5001), 1, None)?;
    let many = (0..MANY).map(|number| {
        let to = SocketAddr::new(OTHER_SERVER, 5002 + number);
        Transfer::start(client, server, to, 2, None)
    });
    let many = many.collect::<Result<Vec<_>, Error>>()?;
    for transfer in many.iter().chain([&one]) {
        transfer.advance(16 << 10, LIMIT)?;
    }
    std::thread::sleep(SETTLED);
    let sum = || {
        (
            one.progress(),
            many.iter().map(Transfer::progress).sum::<u64>(),
        )
    };
    let before = sum();
    std::thread::sleep(Duration::from_secs(15));
    let after = sum();
    let (one_got, many_got) = (after.0 - before.0, after.1 - before.1);
    if let Some(weir) = &weir {
        let wan = ports(weir)?.into_iter().find(|port| port.name == "wan0");
        let told = wan.as_ref().is_some_and(|port| {
            port.stack
                .limits
                .iter()
                .any(|limit| limit.reason.code == "asking")
        });
        if !told {
            return Err(Error::Unexpected(format!(
                "{one_got} bytes against {many_got}, and nothing is said: {wan:#?}"
            )));
        }
        if weir.forwarded()? == 0 {
            return Err(Error::Unexpected("the way back is not forwarded".into()));
        }
    }
    Ok(one_got * 100 / (one_got + many_got).max(1))
}

fn half_each(shaper: &[&str]) {
    at_once(&WAYS, |by| {
        let share = share(by, shaper)?;
        match FAIR.contains(&share) {
            true => Ok(()),
            false => Err(Error::Unexpected(format!("a client got {share} %"))),
        }
    });
}

#[test]
#[ignore = "needs sch_cake: run by tests/vm/run"]
fn two_clients_behind_nat_have_half_each_by_cake() {
    half_each(&["tc qdisc add dev wan0 root cake bandwidth 1mbit besteffort dual-srchost nat"]);
}
