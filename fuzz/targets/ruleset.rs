//! Output of `nft -j list ruleset`: findings or an error that names a place, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match offload_core::ruleset::examine(text) {
        Ok(findings) => assert!(findings.iter().all(|finding| !finding.text.is_empty())),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
