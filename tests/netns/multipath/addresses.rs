//! Routers that send from a foreign address, or whose address a NAT changes.

use std::net::SocketAddr;
use std::thread::sleep;

use lab::goodput::{Demand, Goodput, Transport};
use lab::namespace::wait_until;
use lab::uplinks::{Options, SERVER};
use lab::{Error, Namespace};
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::{MBIT, SECOND};

/// Source address that the router forges; it belongs to a host next to the server.
const VICTIM: &str = "198.51.100.77";

/// Returns the packets that a counter of this namespace has counted.
fn counted(namespace: &Namespace, name: &str) -> Result<u64, Error> {
    let told = namespace.run(&format!("nft list counter inet watch {name}"))?;
    let mut words = told.split_whitespace();
    words.find(|word| *word == "packets");
    let packets = words.next().and_then(|word| word.parse().ok());
    packets.ok_or_else(|| Error::Unexpected(format!("nft says {told}")))
}

/// While datagrams come down by both paths, one path claims another host's address. A malicious
/// router would do that to flood that host; a NAT does it too when it restarts.
#[test]
fn nothing_is_carried_to_where_a_router_has_not_shown_to_be() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let own = uplinks.address(0);
    let answers = |wanted: bool| {
        pair.wait_for("the path to answer, or not", |told| {
            let mut paths = told.paths.iter();
            told.tunnel && paths.all(|path| path.answers == Some(wanted || path.address != own))
        })
    };
    answers(true)?;
    let victim = uplinks.server();
    victim.ip(&format!("address add {VICTIM}/24 dev eth0"))?;
    victim.nft(&format!(
        "table inet watch {{\n counter small {{}}\n counter large {{}}\n chain c {{\n \
            type filter hook prerouting priority -300\n \
            ip daddr {VICTIM} udp sport 9349 udp length <= 120 counter name small\n \
            ip daddr {VICTIM} udp sport 9349 udp length > 120 counter name large\n }}\n }}\n"
    ))?;
    let streams = (0..4).map(|number| {
        let to = SocketAddr::new(SERVER, 5100 + number);
        let demand = Demand::down(Transport::Udp, to).with_rate(5_000_000);
        Goodput::start(uplinks.client(), uplinks.server(), &demand)
    });
    let streams = streams.collect::<Result<Vec<_>, _>>()?;
    sleep(3 * SECOND);
    let internet = uplinks.lab().node("internet")?;
    internet.nft(&format!(
        "table inet forges {{\n chain c {{\n type filter hook postrouting priority 0\n \
            ip saddr {own} udp dport 9349 ip saddr set {VICTIM}\n }}\n }}\n"
    ))?;
    answers(false)?;
    sleep(2 * SECOND);
    // The partner probes the address, and sends only little to it.
    let asked = counted(victim, "small")?;
    assert!((1..200).contains(&asked), "{asked}");
    assert_eq!(counted(victim, "large")?, 0, "{asked} small ones");
    // A NAT translates the packets that are for it.
    internet.nft(&format!(
        "table inet watch {{\n counter back {{}}\n chain c {{\n \
            type filter hook prerouting priority -300\n \
            ip daddr {VICTIM} udp length > 120 counter name back\n \
            ip daddr {VICTIM} udp sport 9349 ip daddr set {own}\n }}\n }}\n"
    ))?;
    answers(true)?;
    wait_until("packets by the new address", LIMIT, || {
        Ok(counted(internet, "back")? > 100)
    })?;
    assert_eq!(counted(victim, "large")?, 0);
    for stream in streams {
        let series = stream.stop()?;
        // The other path had room for most of the data.
        let rate = series.rate(SECOND..3 * SECOND) / MBIT;
        assert!(rate > 2.0, "{rate} Mbit/s");
    }
    Ok(())
}
