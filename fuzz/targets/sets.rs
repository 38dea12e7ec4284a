//! nf_tables messages about sets of addresses, as the kernel's netlink socket delivers them: any
//! bytes give elements, ranges and events or an error, never a panic. The first two bytes choose
//! the type of the elements, so that one corpus holds both families, with ranges and without.
#![no_main]

use std::collections::BTreeSet;

use kernel::element_statements::{decode_element_statements, decode_open_set};
use kernel::message::Messages;
use kernel::sets::{SetContent, SetHeader, decode_elements, decode_event, decode_set, set_flags};
use libfuzzer_sys::fuzz_target;
use offload_core::drops::prefixes;

/// Small, because the packet path's own limit would take too long.
const MOST: usize = 4_096;

fuzz_target!(|data: &[u8]| {
    let Some((&[family, kind], datagram)) = data.split_first_chunk() else {
        return;
    };
    let (key_type, key_length) = if family & 1 == 0 { (7, 4) } else { (8, 16) };
    let mut header = SetHeader {
        flags: u32::from(kind) & (set_flags::INTERVAL | set_flags::TIMEOUT),
        key_type,
        key_length,
    };
    let mut elements = Vec::new();
    for message in Messages::new(datagram).flatten() {
        if let Ok(Some(event)) = decode_event(&message) {
            assert!(!format!("{event:?}").is_empty());
        }
        if let Ok(Some(told)) = decode_set(&message) {
            header = told;
        }
        // Real readers drop the elements before a malformed part; here they are tested
        // nevertheless.
        let _ = decode_elements(&message, &mut elements);
        let _ = decode_open_set(&message).map(|set| format!("{set:?}"));
        let mut kept = BTreeSet::new();
        if decode_element_statements(&message, &mut kept).is_ok_and(|count| count == 0) {
            assert!(kept.is_empty());
        }
    }
    let content = SetContent { header, elements };
    match prefixes::of_set(&content, MOST) {
        Ok(found) => {
            assert!(found.prefixes.len() <= MOST);
            for (prefix, _) in &found.prefixes {
                assert!(prefix.contains(&prefix.address), "{prefix}");
            }
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
});
