//! Frames of any kind, and any bytes, through the classifier of ports (bpf/include/cable_sort.h,
//! compiled for this processor): the result equals that of a plain parser.
#![no_main]

use frames::cable::{build, model};
use libfuzzer_sys::fuzz_target;

unsafe extern "C" {
    fn classifier_sort(frame: *const u8, length: u32, vlan: *mut u32) -> u32;
}

/// Constants CABLE_HIDDEN and CABLE_NO_VLAN.
const HIDDEN: u32 = 0x80;
const NO_VLAN: u32 = 0xffff;

fn check(frame: &[u8]) {
    let mut vlan = 0;
    // SAFETY: the function reads this many bytes and writes a number; libFuzzer has one thread.
    let said = unsafe { classifier_sort(frame.as_ptr(), frame.len() as u32, &raw mut vlan) };
    let expected = model::seen(frame);
    let number = expected.sort as u32 | if expected.hidden { HIDDEN } else { 0 };
    assert_eq!(said, number, "{expected:?} {frame:02x?}");
    assert_eq!(
        vlan,
        expected.vlan.map_or(NO_VLAN, u32::from),
        "{frame:02x?}"
    );
}

fuzz_target!(|octets: &[u8]| {
    check(&build::frame_of(octets));
    if octets.len() >= 14 {
        check(octets);
    }
});
