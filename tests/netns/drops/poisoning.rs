//! An attacker cannot poison learned drops: netfilter drops the attacker's packets of a victim's
//! tuple, and the victim's own packets still pass.

use answers::LearnedDrop;
use lab::gateway::ROUTER_LAN;

use super::*;

/// Destination port of rare, legitimate packets.
const RARE: u16 = 51820;
/// Longer than weir needs to learn.
const LONG: Duration = Duration::from_millis(1600);

/// Drops invalid packets on all paths, and counts valid ones.
fn rules() -> String {
    let chain = |hook| {
        format!(
            "chain {hook} {{ type filter hook {hook} priority 0; policy accept;\n\
             ct state invalid counter name bad drop\n\
             udp dport {RARE} counter name good accept\n\
             udp dport {{ 68, {UNWANTED} }} counter name bad drop\n}}\n"
        )
    };
    format!(
        "counter bad {{ }}\ncounter good {{ }}\n{}{}",
        chain("input"),
        chain("forward")
    )
}

/// Returns the frame with a wrong UDP checksum.
fn spoiled(mut frame: Vec<u8>) -> Vec<u8> {
    // Offset behind Ethernet, IPv4 and the ports and length of UDP.
    let checksum = &mut frame[14 + 20 + 6..][..2];
    checksum[0] ^= 0x55;
    frame
}

/// Floods for some time.
fn flood_for(fence: &Fence, time: Duration, frame: &[u8]) -> Result<(), Error> {
    let begun = Instant::now();
    fence.flood("a while", &[frame.to_vec()], |_| Ok(begun.elapsed() > time))
}

/// Asserts that ten good packets arrive during a flood of bad ones.
fn all_arrive(fence: &Fence, what: &str, good: &[u8]) -> Result<(), Error> {
    let bad = spoiled(good.to_vec());
    let before = (fence.counter("good")?, fence.counter("bad")?);
    flood_for(fence, LONG, &bad)?;
    assert!(
        fence.counter("bad")? > before.1 + 8,
        "{what}: netfilter drops the bad ones"
    );
    for _ in 0..10 {
        fence.lan.send(good)?;
        flood_for(fence, Duration::from_millis(60), &bad)?;
    }
    let arrived = fence.counter("good")? - before.0;
    assert_eq!(arrived, 10, "{what}: {:#?}", fence.drops()?.learned);
    Ok(())
}

/// weir learns no packets for the router, of known connections, or for a DHCP client; a new
/// connection is unlearned. Each case has its own port.
#[test]
fn what_others_may_need_is_not_learned() {
    each(|by| {
        let fence = Fence::new(by, &rules(), &[], LEARN)?;
        let for_router = datagram(CLIENT, ROUTER_LAN, 40000, RARE);
        all_arrive(&fence, "for the router", &for_router)?;

        // Without an answer this is not a flow of weir's, but the kernel has an entry.
        let known = datagram(CLIENT, SERVER, 40001, RARE);
        fence.lan.send(&known)?;
        all_arrive(&fence, "known to conntrack", &known)?;

        // After a second of drops the kernel accepts a packet of the tuple: from then on weir drops
        // no packet of the tuple early.
        let good = datagram(CLIENT, SERVER, 40002, RARE);
        let bad = spoiled(good.clone());
        let dropped = fence.drops()?.learned.dropped;
        fence.flood("it is learned", std::slice::from_ref(&bad), |f| {
            Ok(f.drops()?.learned.dropped > dropped + 500)
        })?;
        let accepted = fence.counter("good")?;
        fence.flood("one is a sample", std::slice::from_ref(&good), |f| {
            Ok(f.counter("good")? > accepted)
        })?;
        all_arrive(&fence, "conntrack comes to know it", &good)?;

        let offer = datagram(CLIENT, SERVER, 67, 68);
        let other = datagram(CLIENT, SERVER, 67, UNWANTED);
        let dropped = fence.drops()?.learned.dropped;
        fence.flood("the other is learned", &[offer, other], |f| {
            Ok(f.drops()?.learned.dropped > dropped + 500)
        })?;
        let tuples = fence.drops()?.learned.tuples;
        let of_port = |port| {
            let is_it = |tuple: &&LearnedDrop| tuple.endpoints.destination_port == port;
            tuples.iter().find(is_it)
        };
        let cached = of_port(UNWANTED).is_some_and(|tuple| tuple.cached);
        assert!(cached, "netfilter drops it: {tuples:#?}");
        let dropped = of_port(68).map(|tuple| tuple.dropped);
        assert_eq!(dropped, Some(0), "{tuples:#?}");
        Ok(())
    });
}
