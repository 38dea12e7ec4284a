//! A guarded port: frames of foreign servers do not come in, nor frames that could hide one, and
//! all others do.

use std::cell::RefCell;

use cables_core::FrameClass;
use frames::cable::build::frame_of;
use frames::cable::model::seen;
use frames::cable::sorts::*;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};
use weir_datapath::cable::{Cables, Gate};

use super::{LINK, comes_in, leaves, record, watching};

/// Returns an IPv6 extension header: the next header, and this one's length.
const fn extension(next: u8, size: u8) -> [u8; 8] {
    [next, size, 0, 0, 0, 0, 0, 0]
}

/// Returns a fragment header: the next header, the fragment's offset in octets, and true if more
/// follow.
fn fragment(next: u8, offset: u16, more: bool) -> [u8; 8] {
    let [high, low] = (offset | u16::from(more)).to_be_bytes();
    [next, 0, high, low, 0, 0, 0, 1]
}

/// Frames that hide a server's message from a shallow parser, and the failure each would cause.
fn hidden() -> Vec<(&'static str, Vec<u8>)> {
    let advertisement = [134, 0, 0, 0];
    let router = ipv6(58, 255, &advertisement);
    let behind = |first, headers: &[[u8; 8]], rest: &[u8]| {
        ipv6(first, 255, &[headers.as_flattened(), rest].concat())
    };
    let thrice = (0..3).fold(router.clone(), |frame, _| tagged(&frame, 0x8100, 0));
    // The type that is read behind the end of the packet is an echo's, and padding.
    let mut padded = behind(60, &[fragment(60, 0, true)], &extension(58, 1));
    padded[20] = 44;
    padded.extend([[0; 8], [128; 8]].concat());
    let mut lease = ipv4(17, 0, &udp(67, 68, &[]));
    lease[14 + 6] = 0x20;
    lease.extend([1; 20]);
    let tag_in_snap = [&snap(0)[..], &[0x81, 0, 0, 0], &router[12..]].concat();
    vec![
        (
            "nine headers before it: more than are followed",
            behind(
                60,
                &[[extension(60, 0); 8].to_vec(), vec![extension(58, 0)]].concat(),
                &advertisement,
            ),
        ),
        (
            "a first fragment ends before the type",
            behind(44, &[fragment(58, 0, true)], &[]),
        ),
        (
            "a first fragment ends within the options",
            behind(44, &[fragment(60, 0, true)], &extension(58, 1)),
        ),
        ("padding is taken for what comes next", padded),
        (
            "a first fragment ends before the ports",
            behind(44, &[fragment(60, 0, true)], &extension(17, 0)),
        ),
        ("a first fragment ends before BOOTP's kind", lease),
        ("three tags, which Linux takes off", thrice),
        (
            "a tag behind SNAP, as stations of a radio have it",
            llc(ALL, &tag_in_snap),
        ),
    ]
}

/// Frames with a server's message that is seen although it is out of the ordinary.
fn disguised() -> Vec<(&'static str, Vec<u8>)> {
    let advertisement = [134, 0, 0, 0];
    let behind = |first, headers: &[[u8; 8]]| {
        ipv6(
            first,
            255,
            &[headers.as_flattened(), &advertisement].concat(),
        )
    };
    let mut lease = ipv4(17, 40, &udp(67, 68, &[2]));
    lease[14 + 6] = 0x20;
    vec![
        ("eight headers", {
            let chain = [[extension(60, 0); 7].to_vec(), vec![extension(58, 0)]].concat();
            behind(60, &chain)
        }),
        (
            "a long header",
            behind(0, &[extension(58, 1), extension(0, 0)]),
        ),
        (
            "authentication, in words of four octets",
            behind(51, &[extension(58, 2), extension(0, 0)]),
        ),
        (
            "an atomic fragment",
            behind(44, &[fragment(60, 0, false), extension(58, 0)]),
        ),
        (
            "DHCPv6 in a first fragment",
            ipv6(
                44,
                1,
                &[&fragment(17, 0, true)[..], &udp(9, 546, &[])].concat(),
            ),
        ),
        ("a first fragment of a lease, with options", lease),
        ("SNAP of IEEE 802.1H", {
            let router = ipv6(58, 255, &advertisement);
            llc(ALL, &[&snap(0xf8), &router[12..]].concat())
        }),
        (
            "this router's own address",
            [&ALL[..], &OWN, &behind(58, &[])[12..]].concat(),
        ),
    ]
}

/// Frames that are no server's, though they are near it.
fn harmless() -> Vec<(&'static str, Vec<u8>)> {
    let mut later = ipv4(17, 0, &udp(67, 68, &[2]));
    later[14 + 7] = 1;
    let mut big = ipv6(6, 64, &[0; 20]);
    big[18..20].fill(0);
    vec![
        ("a later fragment", later),
        (
            "a later fragment of IPv6",
            ipv6(
                44,
                255,
                &[&fragment(58, 8, false)[..], &[134, 0, 0, 0]].concat(),
            ),
        ),
        ("an echo behind eight headers", {
            let chain = [[extension(60, 0); 7].to_vec(), vec![extension(58, 0)]].concat();
            ipv6(60, 255, &[chain.as_flattened(), &[128, 0, 0, 0]].concat())
        }),
        (
            "the first of a long echo",
            ipv6(
                44,
                255,
                &[&fragment(58, 0, true)[..], &[128, 0, 0, 0]].concat(),
            ),
        ),
        ("as long as no field can say", big),
        ("nothing comes next", ipv6(59, 255, &[])),
        ("encrypted", ipv6(50, 255, &[0; 8])),
        ("a router from afar", ipv6(58, 64, &[134, 0, 0, 0])),
    ]
}

/// Returns true if a frame gets in; a frame that does not must count as dropped.
fn gets_in(cables: &mut Cables, frame: &[u8]) -> bool {
    let before = record(cables).dropped_in;
    let passes = comes_in(cables, frame);
    assert_eq!(record(cables).dropped_in - before, u64::from(!passes));
    passes
}

#[test]
fn a_guarded_port_lets_all_in_but_servers() {
    let mut cables = watching();
    cables.gate(LINK, Gate::Guard);
    let servers = [
        FrameClass::Pado,
        FrameClass::DhcpServer,
        FrameClass::Dhcp6Server,
        FrameClass::RouterAdvertisement,
    ];
    for (name, frame, sort, ..) in table() {
        let once = tagged(&frame, 0x8100, 7);
        let twice = tagged(&once, 0x88a8, 100);
        for frame in [frame, once, twice] {
            cables.clear(LINK);
            let passes = gets_in(&mut cables, &frame);
            assert_eq!(passes, !servers.contains(&sort), "{name} {frame:02x?}");
            let noted = record(&cables).sorts.map(|sort| sort.frames);
            let frames = u32::from(sort != FrameClass::Ip);
            assert_eq!(noted[sort as usize], frames, "{name}");
            assert_eq!(noted.iter().sum::<u32>(), frames, "{name}");
            assert!(leaves(&mut cables, &frame), "{name}");
        }
    }
    assert_eq!(record(&cables).dropped_out, 0);
}

#[test]
fn nothing_hides_a_server_from_the_guard() {
    let mut cables = watching();
    cables.gate(LINK, Gate::Guard);
    for (name, frame) in hidden().into_iter().chain(disguised()) {
        assert!(!gets_in(&mut cables, &frame), "{name} {frame:02x?}");
    }
    for (name, frame) in harmless() {
        assert!(gets_in(&mut cables, &frame), "{name} {frame:02x?}");
    }
    cables.gate(LINK, Gate::Note);
    for (name, frame) in hidden() {
        assert!(gets_in(&mut cables, &frame), "{name}: only a guard minds");
    }
}

/// Frames of any form get the sort of a plain parser, and come in exactly if the parser says so.
#[test]
fn the_classifier_sees_what_a_plain_parser_sees() {
    let cables = RefCell::new(watching());
    let stopped = RefCell::new([0u32; 2]);
    let many = std::env::var("WEIR_CASES").ok();
    let many = many.map_or(20_000, |many| many.parse().expect("a number"));
    let cases = ProptestConfig::with_cases(many);
    proptest!(cases, |(choices in vec(any::<u8>(), 0..64))| {
        let frame = frame_of(&choices);
        let seen = seen(&frame);
        let mut cables = cables.borrow_mut();
        cables.clear(LINK);
        cables.gate(LINK, Gate::Guard);
        // Linux 6.18 refuses to run a program on an IP header that is cut off.
        let Ok(passes) = cables.passes(false, LINK, &frame) else {
            return Ok(());
        };
        assert_eq!(passes, !seen.is_stopped(), "{seen:?} {frame:02x?}");
        stopped.borrow_mut()[usize::from(passes)] += 1;
        cables.clear(LINK);
        cables.gate(LINK, Gate::Note);
        assert!(cables.passes(false, LINK, &frame).expect("it runs"));
        let noted = record(&cables);
        let sort = if frame[6..12] == OWN { FrameClass::Own } else { seen.sort };
        let which: Vec<usize> = (0..noted.sorts.len())
            .filter(|sort| noted.sorts[*sort].frames != 0)
            .collect();
        assert_eq!(which, [sort as usize], "{seen:?} {frame:02x?}");
        assert_eq!(noted.sorts[sort as usize].vlan, seen.vlan, "{frame:02x?}");
    });
    let stopped = stopped.into_inner();
    assert!(
        stopped.iter().all(|frames| *frames > many / 10),
        "{stopped:?}"
    );
}
