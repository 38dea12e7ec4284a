//! Files of any content, as archives and packed ones.
#![no_main]

use std::ops::ControlFlow;

use atlas::read::{ArchiveItem, Limits, open};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits {
    file: 10_000,
    archive: 100_000,
    ratio: 100,
    loose: 20_000,
};

fuzz_target!(|octets: &[u8]| {
    let mut rest = octets;
    let mut sum = 0;
    let way = open("x", &mut rest, &LIMITS, &mut |found| {
        if let ArchiveItem::File { name, octets } = found {
            assert!(octets.len() as u64 <= LIMITS.file);
            assert!(name.split('/').all(|part| part != ".."), "{name}");
            sum += octets.len() as u64;
        }
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!(way.unwrap(), ControlFlow::Continue(()));
    // An archive's file may be packed itself.
    assert!(sum <= LIMITS.archive);
});
