//! Datagrams as they come from the kernel's netlink sockets: any bytes give events and a tally,
//! never a panic, and whatever was decoded can be printed. The first byte chooses the family, so
//! that the corpus holds real datagrams of each.
#![no_main]

use kernel::message::Messages;
use kernel::{
    conntrack, firewall, hwsim, mptcp, netdev, nexthops, nl80211, policy, route, subflows, tables,
};
use libfuzzer_sys::fuzz_target;
use radio_core::peering::Beacon;

fuzz_target!(|data: &[u8]| {
    let Some((&family, datagram)) = data.split_first() else {
        return;
    };
    let mut events = Vec::new();
    match family % 4 {
        0 => drop(conntrack::decode(
            datagram,
            u32::from(family / 4),
            &mut events,
        )),
        1 => {
            route::decode(datagram, &mut events);
            for message in Messages::new(datagram).flatten() {
                let _ = route::filter::decode(&message).map(|filter| format!("{filter:?}"));
                let _ = route::decode_address(&message).map(|address| format!("{address:?}"));
                let _ = policy::decode_rule(&message).map(|rule| format!("{rule:?}"));
                let _ = policy::decode_route(&message).map(|route| format!("{route:?}"));
                let _ = nexthops::decode_bucket_idle(&message);
                let _ = route::attach::decode_bridging(&message).map(|it| format!("{it:?}"));
                let _ = route::attach::decode_index(&message);
            }
        }
        2 => {
            firewall::decode(datagram, &mut events);
            for message in Messages::new(datagram).flatten() {
                let _ = tables::decode_table(&message).map(|table| format!("{table:?}"));
            }
        }
        _ => {
            let mut radios = Vec::new();
            for message in Messages::new(datagram).flatten() {
                let _ = netdev::decode_family(&message).map(|family| format!("{family:?}"));
                let _ = netdev::decode_device(&message, message.kind)
                    .map(|device| format!("{device:?}"));
                let _ = nl80211::decode_interface(&message, message.kind)
                    .map(|device| format!("{device:?}"));
                let _ = nl80211::decode_station(&message, message.kind)
                    .map(|station| format!("{station:?}"));
                let _ = nl80211::decode_access_point(&message, message.kind)
                    .map(|found| format!("{found:?}"));
                let _ =
                    nl80211::decode_power(&message, message.kind).map(|power| format!("{power:?}"));
                let _ = nl80211::decode_beacon(&message, message.kind).map(|heard| {
                    heard.map(|heard| Beacon::read(&heard.frame).map(|it| format!("{it:?}")))
                });
                let _ = nl80211::decode_wiphy(&message, message.kind, &mut radios);
                let _ =
                    nl80211::decode_rules(&message, message.kind).map(|rules| format!("{rules:?}"));
                let _ = hwsim::decode_sent(&message, message.kind).map(|sent| format!("{sent:?}"));
                let _ = mptcp::decode_endpoint(&message, message.kind)
                    .map(|endpoint| format!("{endpoint:?}"));
                let _ = mptcp::decode_limits(&message, message.kind)
                    .map(|limits| format!("{limits:?}"));
                let _ = subflows::decode(&message).map(|subflow| format!("{subflow:?}"));
            }
            for radio in &radios {
                let numbers: Vec<_> = radio.channels.iter().map(|c| c.number()).collect();
                let _ = format!("{radio:?} {:?} {numbers:?}", radio.bands());
            }
        }
    }
    // Names and addresses are untrusted: printing them must not panic either.
    for event in &events {
        assert!(!format!("{event:?}").is_empty());
    }
});
