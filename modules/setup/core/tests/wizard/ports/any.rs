//! Any wishes, one after the other.

use proptest::prelude::*;
use weir_setup_core::plan::ports::{
    DetectedUplink, PortRequest, PortRole, UplinkProtocol, change, uses,
};

use crate::ports::{DIALS, INSIDE, facts, fresh, good, lines, router, text, wish, without_marks};

fn any_wish() -> impl Strategy<Value = PortRequest> {
    (
        prop::sample::select(vec!["lan1", "lan2", "wan", "eth0", "eth1", "eth2", "usb-0"]),
        prop::sample::select(vec![
            PortRole::Lan,
            PortRole::Uplink,
            PortRole::Mesh,
            PortRole::None,
        ]),
        prop::option::of(prop::sample::select(vec![1, 77])),
        prop::option::of(prop::option::of(prop::sample::select(vec![7, 8]))),
    )
        .prop_map(|(device, used, vxlan, vlan)| PortRequest {
            vxlan,
            uplink: vlan.map(|vlan| DetectedUplink {
                kind: UplinkProtocol::Dhcp,
                vlan,
            }),
            ..wish(device, used)
        })
}

proptest! {
    /// After any wishes, one after the other, a port has one use: the last one wished for.
    #[test]
    fn each_port_has_one_use(
        wishes in prop::collection::vec(any_wish(), 1..12),
        begin in 0..4_usize,
    ) {
        let begin = [fresh("23.05"), fresh("25.12"), router(DIALS), router(INSIDE)][begin].clone();
        let mut config = begin;
        for wish in &wishes {
            let Ok(after) = change(std::slice::from_ref(wish), &config, &facts()) else {
                continue;
            };
            let all = uses(&after, &facts());
            let one = all.iter().find(|one| one.device == wish.device);
            let now = one.map_or(PortRole::None, |one| one.used);
            prop_assert_eq!(now, wish.used, "{:?}", wishes);
            for device in ["lan1", "lan2", "wan", "eth0", "eth1", "eth2", "usb-0"] {
                let text = text(&after).concat();
                let inside = text.matches(&format!("list ports '{device}'\n")).count();
                let below = |interface: &str| {
                    let name = after.get("network", interface, "device")?;
                    let vlan = after.find_by_option("network", "device", "name", &name);
                    let below = vlan.and_then(|vlan| after.get("network", &vlan, "ifname"));
                    Some(below.unwrap_or(name) == device)
                };
                let safe = device.replace('-', "_");
                let outside = usize::from(below("wan") == Some(true) || below("wan6") == Some(true));
                let wire = below(&format!("wire_{safe}")).or(below(&format!("mesh_{safe}")));
                let all = inside + outside + usize::from(wire == Some(true));
                prop_assert!(all <= 1, "{device}: {}\n{}", all, text);
            }
            let again = change(std::slice::from_ref(wish), &after, &facts()).unwrap();
            prop_assert_eq!(lines(&after, &again), [""; 0]);
            config = after;
        }
    }

    /// A port that leaves the LAN and returns leaves only the note.
    #[test]
    fn out_of_the_lan_and_back(
        port in 0..3_usize,
        out in any_wish(),
    ) {
        let device = ["eth0", "eth1", "eth2"][port];
        let out = PortRequest { device: device.to_owned(), ..out };
        let before = router(INSIDE);
        let after = good(&[out], &before);
        let back = good(&[wish(device, PortRole::Lan)], &after);
        prop_assert_eq!(without_marks(&back), without_marks(&before));
    }
}
