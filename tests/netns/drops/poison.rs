//! Learned drops cannot be poisoned: packets of somebody's tuple that netfilter drops, in order to
//! have others of it dropped, too.

use lab::gateway::ROUTER_LAN;

use super::*;

/// Where packets go that are rare and legitimate.
const RARE: u16 = 51820;
/// For longer than is needed to learn.
const LONG: Duration = Duration::from_millis(1600);

/// Invalid packets are dropped, on all ways; the good ones are counted.
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

/// The same with a UDP checksum that is wrong.
fn spoiled(mut frame: Vec<u8>) -> Vec<u8> {
    // Behind Ethernet, IPv4 and the ports and length of UDP.
    let checksum = &mut frame[14 + 20 + 6..][..2];
    checksum[0] ^= 0x55;
    frame
}

/// Floods for a while.
fn flood_for(fence: &Fence, time: Duration, frame: &[u8]) -> Result<(), Error> {
    let begun = Instant::now();
    fence.flood("a while", &[frame.to_vec()], |_| Ok(begun.elapsed() > time))
}

/// All of ten good packets get there, in the midst of a flood of bad ones.
fn all_arrive(fence: &Fence, good: &[u8]) -> Result<(), Error> {
    let bad = spoiled(good.to_vec());
    let before = fence.counter("good")?;
    flood_for(fence, LONG, &bad)?;
    assert!(fence.counter("bad")? > 8, "netfilter drops the bad ones");
    for _ in 0..10 {
        fence.lan.send(good)?;
        flood_for(fence, Duration::from_millis(60), &bad)?;
    }
    let arrived = fence.counter("good")? - before;
    assert_eq!(arrived, 10, "{:#?}", fence.drops()?.learned);
    Ok(())
}

#[test]
fn what_is_for_the_router_is_not_learned() {
    each(|by| {
        let fence = Fence::new(by, &rules(), &[], LEARN)?;
        all_arrive(&fence, &datagram(CLIENT, ROUTER_LAN, 40000, RARE))
    });
}

#[test]
fn what_conntrack_knows_is_not_learned() {
    each(|by| {
        let fence = Fence::new(by, &rules(), &[], LEARN)?;
        // No answer comes, so this is no flow of weir's; but the kernel has it.
        let good = datagram(CLIENT, SERVER, 40000, RARE);
        fence.lan.send(&good)?;
        all_arrive(&fence, &good)
    });
}

/// Dropped for a second already, when a packet of it is accepted: from then on none is dropped
/// early.
#[test]
fn what_conntrack_comes_to_know_is_unlearned() {
    each(|by| {
        let fence = Fence::new(by, &rules(), &[], LEARN)?;
        let good = datagram(CLIENT, SERVER, 40000, RARE);
        let bad = spoiled(good.clone());
        fence.flood("it is learned", std::slice::from_ref(&bad), |f| {
            Ok(f.drops()?.learned.dropped > 500)
        })?;
        fence.flood("one is a sample", std::slice::from_ref(&good), |f| {
            Ok(f.counter("good")? > 0)
        })?;
        all_arrive(&fence, &good)
    });
}

#[test]
fn what_a_dhcp_client_reads_is_not_learned() {
    each(|by| {
        let fence = Fence::new(by, &rules(), &[], LEARN)?;
        let offer = datagram(CLIENT, SERVER, 67, 68);
        let other = datagram(CLIENT, SERVER, 67, UNWANTED);
        fence.flood("the other is learned", &[offer, other], |f| {
            Ok(f.drops()?.learned.dropped > 500)
        })?;
        let tuples = fence.drops()?.learned.tuples;
        let cached = |port| {
            let of_port = tuples
                .iter()
                .find(|tuple| tuple.endpoints.destination_port == port);
            of_port.expect("netfilter drops it").cached
        };
        assert!(cached(UNWANTED), "{tuples:#?}");
        let offers = tuples
            .iter()
            .find(|tuple| tuple.endpoints.destination_port == 68);
        assert_eq!(offers.map(|tuple| tuple.dropped), Some(0), "{tuples:#?}");
        Ok(())
    });
}
