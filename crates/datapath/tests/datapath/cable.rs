//! The classifier of cables, one frame at a time by BPF_PROG_TEST_RUN: the sort of each frame, the
//! kept parts of it, and the gate's verdict. Needs root.

mod guard;

use std::collections::HashMap;
use std::time::Duration;

use cables_core::FrameClass;
use frames::cable::sorts::*;
use kernel::Mac;
use lab::namespace::wait_until;
use libbpf_rs::query::ProgInfoIter;
use proptest::collection::vec;
use proptest::prelude::{any, prop, proptest};
use weir_datapath::cable::{self, Cables, Gate, PortRecord};
use weir_datapath::meter::{Meter, MeterSizes};
use weir_datapath::{Datapath, Hook, Options, Port, Sizes};

/// Longest time that the kernel needs to detach programs.
const LIMIT: Duration = Duration::from_secs(10);
/// `lo`, which every network namespace has.
const LINK: u32 = 1;
/// Minimum time between two notes of one sort: a tick of the kernel's clock.
const PAUSE: Duration = Duration::from_millis(20);

/// A network namespace of this thread's own, in which `lo` is watched.
fn watching() -> Cables {
    // SAFETY: affects this thread only.
    assert_eq!(
        unsafe { libc::unshare(libc::CLONE_NEWNET) },
        0,
        "needs root"
    );
    let mut cables = Cables::load().unwrap_or_else(|error| {
        panic!("{error}: {:#?}", weir_datapath::libbpf_log::last());
    });
    cables.own(&[OWN]).expect("noted");
    cables.watch(LINK, "lo").expect("attached");
    cables
}

fn record(cables: &Cables) -> PortRecord {
    cables.read(LINK).expect("it is watched")
}

fn comes_in(cables: &mut Cables, frame: &[u8]) -> bool {
    // A busy machine may take longer than a gate lasts.
    cables.refresh();
    cables.passes(false, LINK, frame).expect("it runs")
}

fn leaves(cables: &mut Cables, frame: &[u8]) -> bool {
    cables.refresh();
    cables.passes(true, LINK, frame).expect("it runs")
}

/// The frame was noted as of this sort and of no other.
fn is(cables: &mut Cables, name: &str, frame: &[u8], sort: FrameClass, vlan: Option<u16>) {
    cables.clear(LINK);
    let before = cable::now();
    assert!(comes_in(cables, frame), "{name} passes");
    let (after, record) = (cable::now(), record(cables));
    for (at, noted) in record.sorts.iter().enumerate() {
        let frames = u32::from(at == sort as usize);
        let other = FrameClass::ALL[at];
        assert_eq!(noted.frames, frames, "{name} {frame:02x?}: {other:?}");
    }
    let noted = &record.sorts[sort as usize];
    assert_eq!(noted.from, frame[6..12], "{name}");
    assert_eq!(noted.vlan, vlan, "{name}");
    assert!((before..=after).contains(&noted.last), "{name}");
    let stations: &[Mac] = if sort == FrameClass::Own {
        &[]
    } else {
        &[STATION]
    };
    assert_eq!(record.stations, stations, "{name}");
    assert!(!record.more_stations, "{name}");
    assert_eq!(record.vlans, Vec::from_iter(vlan), "{name}");
    let text = |of: FrameClass| if of == sort { frame } else { &[] };
    assert_eq!(record.lldp, text(FrameClass::Lldp), "{name}");
    assert_eq!(record.cdp, text(FrameClass::Cdp), "{name}");
    assert_eq!(record.mndp, text(FrameClass::Mndp), "{name}");
    // A hello of this router shows the port from which it returns.
    let own_hello = sort == FrameClass::Own && frame.windows(4).any(|octets| octets == b"weir");
    let hello = if own_hello {
        frame
    } else {
        text(FrameClass::Hello)
    };
    assert_eq!(record.hello, hello, "{name}");
}

#[test]
fn every_frame_is_of_its_sort_however_it_is_tagged_or_cut_off() {
    let mut cables = watching();
    for (name, frame, sort, certain, less) in table() {
        is(&mut cables, name, &frame, sort, None);
        let once = tagged(&frame, 0x8100, 7);
        is(&mut cables, name, &once, sort, Some(7));
        let twice = tagged(&once, 0x88a8, 100);
        is(&mut cables, name, &twice, sort, Some(100));
        // Behind a tag: Linux 6.18 refuses to run a program on an IP header that is cut off.
        for length in 14..frame.len() {
            let sort = if length < certain { less } else { sort };
            is(&mut cables, name, &once[..length + 4], sort, Some(7));
        }
    }
    let cut = &tagged(&frame(0x0806, &[]), 0x8100, 7)[..15];
    is(&mut cables, "half a tag", cut, FrameClass::Other, None);
    let thrice = tagged(
        &tagged(&tagged(&frame(0x0806, &[]), 0x8100, 1), 0x8100, 2),
        0x8100,
        3,
    );
    is(
        &mut cables,
        "three tags",
        &thrice,
        FrameClass::Other,
        Some(3),
    );
    for organization in [0, 0xf8] {
        let router = ipv6(58, 255, &[134]);
        let router = llc(ALL, &[&snap(organization), &router[12..]].concat());
        let sort = FrameClass::RouterAdvertisement;
        is(&mut cables, "SNAP", &router, sort, None);
        is(&mut cables, "cut", &router[..21], FrameClass::Other, None);
    }
}

#[test]
fn every_sort_has_a_frame() {
    let table = table();
    for sort in FrameClass::ALL {
        assert!(table.iter().any(|line| line.2 == sort), "{sort:?}");
    }
}

#[test]
fn stations_and_vlans_are_noted_once_and_as_many_as_there_is_room_for() {
    let mut cables = watching();
    let arp = |last: u8| ethernet(ALL, [2, 0, 0, 0, 1, last], 0x0806, &[0, 1]);
    for last in 0..16 {
        for _ in 0..2 {
            comes_in(
                &mut cables,
                &tagged(&arp(last), 0x8100, u16::from(last) / 2),
            );
        }
    }
    let noted = record(&cables);
    assert_eq!(
        noted.stations,
        Vec::from_iter((0..16).map(|last| [2, 0, 0, 0, 1, last]))
    );
    assert!(!noted.more_stations);
    assert_eq!(noted.vlans, Vec::from_iter(0..8));
    assert_eq!(noted.sorts[FrameClass::Arp as usize].frames, 32);

    comes_in(&mut cables, &ethernet(ALL, ALL, 0x0806, &[0, 1]));
    comes_in(&mut cables, &ethernet(ALL, [0; 6], 0x0806, &[0, 1]));
    comes_in(&mut cables, &ethernet(ALL, OWN, 0x0806, &[0, 1]));
    assert!(!record(&cables).more_stations, "these are nobody's");
    comes_in(&mut cables, &tagged(&arp(16), 0x8100, 99));
    let then = record(&cables);
    assert!(then.more_stations);
    assert_eq!((then.stations, then.vlans), (noted.stations, noted.vlans));

    cables.clear(LINK);
    assert_eq!(record(&cables), PortRecord::default());
    cables.own(&[[2, 0, 0, 0, 1, 3]]).expect("noted");
    comes_in(&mut cables, &arp(3));
    comes_in(&mut cables, &ethernet(ALL, OWN, 0x0806, &[0, 1]));
    assert_eq!(
        record(&cables).stations,
        [OWN],
        "an address is another's now"
    );
}

/// The last frame is kept, as long as there is room, regardless of the former one.
#[test]
fn texts_are_of_the_last_frame() {
    let mut cables = watching();
    for (length, kept) in [(1000, 320), (100, 100), (320, 320), (14, 14)] {
        std::thread::sleep(PAUSE);
        let mut lldp = ethernet(LLDP_MAC, STATION, 0x88cc, &[]);
        lldp.resize(length, length as u8);
        comes_in(&mut cables, &lldp);
        assert_eq!(record(&cables).lldp, lldp[..kept]);
    }
    let count = record(&cables).sorts[FrameClass::Lldp as usize].frames;
    assert_eq!(count, 4);
}

#[test]
fn a_shut_gate_drops_both_ways_and_counts() {
    let mut cables = watching();
    let arp = frame(0x0806, &[0, 1]);
    assert!(leaves(&mut cables, &arp));
    cables.gate(LINK, Gate::Shut);
    assert!(!comes_in(&mut cables, &arp));
    assert!(!comes_in(&mut cables, &ipv4(17, 0, &udp(68, 67, &[1]))));
    for _ in 0..3 {
        assert!(!leaves(&mut cables, &arp));
    }
    let noted = record(&cables);
    assert_eq!((noted.dropped_in, noted.dropped_out), (2, 3));
    assert_eq!(
        noted.sorts[FrameClass::Arp as usize].frames,
        1,
        "what leaves is not noted"
    );
    assert_eq!(noted.sorts[FrameClass::DhcpClient as usize].frames, 1);

    cables.gate(LINK, Gate::Note);
    assert!(comes_in(&mut cables, &arp) && leaves(&mut cables, &arp));
    let noted = record(&cables);
    assert_eq!((noted.dropped_in, noted.dropped_out), (2, 3));
    assert_eq!(noted.sorts[FrameClass::Arp as usize].frames, 2);
}

#[test]
fn an_idle_gate_and_one_that_is_over_do_nothing() {
    let mut cables = watching();
    let arp = frame(0x0806, &[0, 1]);
    cables.gate(LINK, Gate::Idle);
    assert!(comes_in(&mut cables, &arp) && leaves(&mut cables, &arp));
    for gate in [Gate::Groups, Gate::Note, Gate::Guard, Gate::Shut] {
        cables.gate(LINK, gate);
        cables.expire(LINK);
        assert!(cables.passes(false, LINK, &arp).expect("it runs"));
        assert!(cables.passes(true, LINK, &arp).expect("it runs"));
    }
    assert_eq!(record(&cables), PortRecord::default());
    // The gate shuts again with the daemon.
    assert!(!comes_in(&mut cables, &arp) && !leaves(&mut cables, &arp));
}

/// At a port with a known purpose, frames to one station are ignored, and new speakers are still
/// noticed.
#[test]
fn of_a_port_that_is_known_frames_to_groups_are_noted() {
    let mut cables = watching();
    cables.gate(LINK, Gate::Groups);
    let mut unicast = frame(0x0806, &[0, 1]);
    unicast[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    assert!(comes_in(&mut cables, &unicast));
    assert_eq!(record(&cables), PortRecord::default());
    let mut group = unicast.clone();
    group[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 0x0e]);
    let mut broadcast = unicast.clone();
    broadcast[..6].copy_from_slice(&[0xff; 6]);
    for frame in [group, broadcast] {
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(comes_in(&mut cables, &frame) && leaves(&mut cables, &frame));
    }
    let noted = record(&cables);
    assert_eq!(noted.sorts[FrameClass::Arp as usize].frames, 2);
    assert_eq!((noted.dropped_in, noted.dropped_out), (0, 0));
}

/// As many devices as there are slots, with colliding indices.
#[test]
fn devices_do_not_take_places_from_each_other() {
    let mut cables = watching();
    let arp = frame(0x0806, &[0, 1]);
    let made = |index: u32| {
        let line = format!("link add d{index} index {index} type veth peer name p{index}");
        let status = std::process::Command::new("ip")
            .args(line.split(' '))
            .status();
        assert!(status.expect("ip").success());
    };
    // Each 32nd index is that of `lo` again.
    let links: Vec<u32> = (1..cable::PORTS).map(|n| LINK + n * cable::PORTS).collect();
    for link in &links {
        made(*link);
        cables.watch(*link, &format!("d{link}")).expect("attached");
    }
    made(9999);
    cables.watch(9999, "d9999").expect_err("no place is left");
    cables.leave(links[3]);
    cables.watch(9999, "d9999").expect("attached");
    cables.refresh();
    assert!(cables.passes(false, links[3], &arp).expect("it runs"));
    for link in [LINK, links[0], *links.last().expect("some"), 9999] {
        cables.refresh();
        assert!(cables.passes(false, link, &arp).expect("it runs"));
        let noted = cables.read(link).expect("it is watched");
        assert_eq!(noted.sorts[FrameClass::Arp as usize].frames, 1, "{link}");
    }
    assert_eq!(cables.read(links[3]), None);
    cables.watch(9999, "d9999").expect("again");
    assert_eq!(cables.read(9999), Some(PortRecord::default()));
    cables
        .watch(77, "none")
        .expect_err("there is no such device");
    assert!(!cables.watched(77));
}

/// Names of the programs at TC of a device, in order: at ingress, at egress.
fn programs(name: &str, link: u32) -> [Vec<String>; 2] {
    let known: HashMap<u32, String> = ProgInfoIter::default()
        .map(|program| (program.id, program.name.to_string_lossy().into_owned()))
        .collect();
    let kinds = [libbpf_sys::BPF_TCX_INGRESS, libbpf_sys::BPF_TCX_EGRESS];
    if !kernel::release::is_at_least([6, 6]) {
        return ["ingress", "egress"].map(|side| {
            let mut tc = std::process::Command::new("tc");
            let shown = tc.args(["filter", "show", "dev", name, side]).output();
            let text = String::from_utf8(shown.expect("tc runs").stdout).expect("text");
            let words = text.split_whitespace();
            words
                .filter_map(|word| Some(word.split_once(":[")?.0))
                .map(str::to_owned)
                .collect()
        });
    }
    kinds.map(|kind| {
        let mut ids = [0u32; 16];
        // SAFETY: all-zero options are valid; options and list outlive the call, and the list has
        // the stated length. Both fields of the union are one number.
        let count = unsafe {
            let mut options: libbpf_sys::bpf_prog_query_opts = std::mem::zeroed();
            options.sz = size_of_val(&options) as libbpf_sys::size_t;
            options.prog_ids = ids.as_mut_ptr();
            options.__bindgen_anon_1.count = ids.len() as u32;
            let failed = libbpf_sys::bpf_prog_query_opts(link as i32, kind, &raw mut options);
            assert!(failed == 0 || -failed == libc::ENOENT, "{failed}");
            options.__bindgen_anon_1.count as usize
        };
        let ids = ids.iter().filter(|id| **id != 0).take(count);
        ids.map(|id| known[id].clone()).collect()
    })
}

/// The gate comes first, whatever was attached before and after; and it detaches completely.
#[test]
fn the_gate_comes_before_all_other_programs() {
    let mut cables = watching();
    let mut path = Datapath::load(Sizes::new(4, 4, &[]), Options::default()).expect("loads");
    let mut meter = Meter::load(MeterSizes::new(64, &[]), false).expect("loads");
    let with_gate = [
        vec![
            "weir_cable_in".to_owned(),
            "weir_tc".into(),
            "weir_meter_in".into(),
        ],
        vec![
            "weir_cable_out".into(),
            "weir_meter_out".into(),
            "weir_witness".into(),
        ],
    ];
    let port = Port::new(LINK, STATION, true);
    path.attach(&port, "lo", Hook::Tc).expect("attached");
    meter.attach(LINK, "lo", false, false).expect("attached");
    assert_eq!(programs("lo", LINK), with_gate, "the gate was first");
    cables.leave(LINK);
    assert_eq!(
        programs("lo", LINK),
        with_gate.clone().map(|names| names[1..].to_vec())
    );
    cables.watch(LINK, "lo").expect("attached");
    assert_eq!(programs("lo", LINK), with_gate, "the gate was last");
    let gone = (Vec::<String>::new(), Vec::<String>::new());
    assert_eq!(
        weir_datapath::foreign_tcx(LINK).expect("told"),
        gone,
        "it is weir's own"
    );
    drop((path, meter));
    assert_eq!(
        programs("lo", LINK),
        with_gate.clone().map(|names| names[..1].to_vec())
    );
    drop(cables);
    // A process that another test starts holds the descriptors until it executes its program.
    let waited = wait_until("no program is left", LIMIT, || {
        Ok(programs("lo", LINK) == <[Vec<String>; 2]>::default())
    });
    waited.expect("detached");
}

/// Arbitrary frames are noted once each, and neither changed nor dropped.
#[test]
fn random_octets_pass_and_are_noted() {
    let cables = std::cell::RefCell::new(watching());
    let starts: Vec<Vec<u8>> = table().into_iter().map(|line| line.1).collect();
    let starts = prop::sample::select(starts);
    proptest!(|(start in starts, keep in 0usize..60, rest in vec(any::<u8>(), 14..400))| {
        let keep = keep.min(start.len());
        // Behind a tag, as above.
        let frame = tagged(&[&start[..keep], &rest].concat(), 0x8100, 7);
        let mut cables = cables.borrow_mut();
        cables.clear(LINK);
        assert!(comes_in(&mut cables, &frame));
        let noted = record(&cables);
        let frames: u32 = noted.sorts.iter().map(|sort| sort.frames).sum();
        assert_eq!(frames, 1);
    });
}
