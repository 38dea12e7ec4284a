//! Paths through arrangements like those of `lab/src/arrangement.rs`, whose counters
//! `tests/netns/counters.rs` compares with the kernel's.

use kernel::Vlan;

use super::*;

pub(crate) fn link(index: u32, kind: &str) -> Link {
    Link {
        index,
        kind: kind.into(),
        name: format!("device{index}"),
        hardware: if kind == "ppp" { 512 } else { 1 },
        up: true,
        mtu: 1500,
        tx_queues: 1,
        ..Link::default()
    }
}

pub(crate) fn vlan(index: u32, lower: u32, id: u16, protocol: u16) -> Link {
    Link {
        lower: Some(lower),
        vlan: Some(Vlan { id, protocol }),
        ..link(index, "vlan")
    }
}

pub(crate) fn member(index: u32, kind: &str, master: u32) -> Link {
    Link {
        master: Some(master),
        ..link(index, kind)
    }
}

pub(crate) fn behind(tags: &[(bool, u16)], session: Option<u16>) -> Encapsulation {
    let tag = |at: usize| {
        let (service, tci) = *tags.get(at)?;
        Some(Tag { service, tci })
    };
    Encapsulation {
        tags: [tag(0), tag(1)],
        session,
        ..Encapsulation::default()
    }
}

/// Devices above the port and their bytes, in and out.
fn above(paths: &Paths, port: u32, behind: &Encapsulation) -> [Vec<(u32, u64)>; 2] {
    [Side::In, Side::Out].map(|side| {
        let path = paths.of(port, behind, side);
        let steps = path.steps.iter().skip(1);
        steps.map(|step| (step.link, step.octets)).collect()
    })
}

fn missing(paths: &Paths, port: u32, behind: &Encapsulation) -> [Option<Missing>; 2] {
    [Side::In, Side::Out].map(|side| paths.of(port, behind, side).missing)
}

#[test]
fn each_encapsulation_has_its_way_up() {
    let links = [
        // A bridge with an address, and a VLAN on it; one of its ports has a VLAN device of its
        // own.
        member(1, "", 10),
        link(10, "bridge"),
        vlan(11, 10, 20, 0x8100),
        vlan(12, 1, 30, 0x8100),
        // The FRITZ!Box: PPPoE over VLAN 7. And QinQ, in a VRF.
        link(2, ""),
        vlan(13, 2, 7, 0x8100),
        link(14, "ppp"),
        vlan(15, 2, 300, 0x88a8),
        Link {
            master: Some(17),
            ..vlan(16, 15, 8, 0x8100)
        },
        link(17, "vrf"),
    ];
    let paths = Paths::new(&links, []);
    for (port, tags, session, came, left) in [
        (1, &[][..], None, &[(10, 0)][..], &[(10, 14)][..]),
        (
            1,
            &[(false, 20)],
            None,
            &[(10, 0), (11, 0)],
            &[(10, 14), (11, 14)],
        ),
        (1, &[(false, 30)], None, &[(12, 0)], &[(12, 14)]),
        // A priority tag names no VLAN.
        (1, &[(false, 0)], None, &[(10, 0)], &[(10, 14)]),
        (2, &[], None, &[], &[]),
        (
            2,
            &[(false, 7)],
            Some(5),
            &[(13, 8), (14, 0)],
            &[(13, 22), (14, 0)],
        ),
        (2, &[], Some(5), &[(14, 0)], &[(14, 0)]),
        (
            2,
            &[(true, 300), (false, 8)],
            None,
            &[(15, 4), (16, 0), (17, 0)],
            &[(15, 18), (16, 14)],
        ),
    ] {
        let headers = behind(tags, session);
        let found = above(&paths, port, &headers);
        assert_eq!(found, [came, left], "{port} {headers}");
        assert_eq!(missing(&paths, port, &headers), [None; 2], "{headers}");
        let whole = 14 + 4 * tags.len() as u64 + if session.is_some() { 8 } else { 0 };
        let step = Step {
            link: port,
            octets: whole,
        };
        assert_eq!(paths.of(port, &headers, Side::In).steps[0], step);
    }
}

#[test]
fn a_tag_of_nobody_is_told() {
    let links = [link(2, ""), member(3, "", 4), link(4, "bridge")];
    let paths = Paths::new(&links, []);
    let headers = behind(&[(false, 300)], None);
    assert_eq!(missing(&paths, 2, &headers), [Some(Missing::Tag); 2]);
    assert_eq!(missing(&paths, 3, &headers), [Some(Missing::Tag); 2]);
    let switched = Encapsulation {
        switch_port: Some(2),
        ..Encapsulation::default()
    };
    assert_eq!(missing(&paths, 2, &switched), [Some(Missing::Tag); 2]);
}

fn tagging(link: u32, pvid: Option<u16>, untagged: &[(u16, u16)]) -> VlanTagging {
    VlanTagging {
        link,
        pvid,
        untagged: untagged.to_vec(),
    }
}

/// lan1 (PVID 10), lan2 (10 and 20 tagged), lan3 (20 comes in, 10 and 20 leave untagged); br0 has
/// 10 tagged and 1 as its own.
fn filtering() -> Paths {
    let links = [
        member(1, "", 10),
        member(2, "", 10),
        member(3, "", 10),
        Link {
            filters_vlans: true,
            ..link(10, "bridge")
        },
        vlan(11, 10, 10, 0x8100),
        vlan(12, 11, 100, 0x8100),
    ];
    let taggings = [
        tagging(1, Some(10), &[(10, 10)]),
        tagging(2, None, &[]),
        tagging(3, Some(20), &[(10, 10), (20, 20)]),
        tagging(10, Some(1), &[(1, 1)]),
    ];
    Paths::new(&links, taggings)
}

#[test]
fn a_bridge_that_filters_gives_untagged_frames_their_vlan() {
    let paths = filtering();
    let plain = behind(&[], None);
    let both = [vec![(10, 0), (11, 0)], vec![(10, 14), (11, 14)]];
    assert_eq!(above(&paths, 1, &plain), both);
    assert_eq!(above(&paths, 1, &behind(&[(false, 0)], None)), both);
    assert_eq!(above(&paths, 2, &behind(&[(false, 10)], None)), both);
    // The bridge's own VLAN is untagged in both directions.
    let own = above(&paths, 2, &behind(&[(false, 1)], None));
    assert_eq!(own, [vec![(10, 0)], vec![(10, 14)]]);
    // Behind the VLAN's tag another: the first is in the metadata, wherever the bridge counts.
    let two = above(&paths, 2, &behind(&[(false, 10), (false, 100)], None));
    assert_eq!(
        two,
        [
            vec![(10, 4), (11, 4), (12, 0)],
            vec![(10, 18), (11, 18), (12, 14)]
        ]
    );
}

#[test]
fn where_several_vlans_leave_untagged_none_is_guessed() {
    let paths = filtering();
    let plain = behind(&[], None);
    // Incoming packets are of VLAN 20, which has no device; outgoing ones of an unknown VLAN.
    assert_eq!(
        missing(&paths, 3, &plain),
        [Some(Missing::Tag), Some(Missing::Tag)]
    );
    assert_eq!(above(&paths, 3, &plain), [vec![(10, 0)], vec![]]);
    // No PVID: an untagged frame is dropped, and no such frame is sent.
    assert_eq!(missing(&paths, 2, &plain), [Some(Missing::Tag); 2]);
}

#[test]
fn of_two_ppp_devices_the_one_that_was_seen_is_taken() {
    let links = [
        link(1, ""),
        link(2, "ppp"),
        link(3, "ppp"),
        member(4, "ppp", 9),
        link(9, "vrf"),
    ];
    let mut paths = Paths::new(&links, []);
    let [first, second] = [5, 6].map(|session| behind(&[], Some(session)));
    assert_eq!(missing(&paths, 1, &first), [Some(Missing::Session); 2]);
    paths.learn([((1, first), 3), ((1, second), 9), ((7, first), 2)]);
    assert_eq!(above(&paths, 1, &first), [vec![(3, 0)], vec![(3, 0)]]);
    // The kernel reported the VRF, which has a single device.
    assert_eq!(
        above(&paths, 1, &second),
        [vec![(4, 0), (9, 0)], vec![(4, 0)]]
    );
    // Packets without PPP, or with a missing device, belong to no session.
    let mut paths = Paths::new(&links, []);
    paths.learn([((1, first), 1), ((1, second), 77)]);
    assert_eq!(missing(&paths, 1, &first), [Some(Missing::Session); 2]);
}

#[test]
fn circles_end() {
    let links = [member(1, "bridge", 2), member(2, "bridge", 1)];
    let path = Paths::new(&links, []).of(1, &Encapsulation::default(), Side::In);
    assert_eq!(path.steps.len(), DEEPEST);
}
