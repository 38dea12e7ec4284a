//! Configuration files: an effective configuration or errors that name a place, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match runtime::config::parse(&weir::registry().sections(), text, "weir.toml") {
        // Output of `weir config`: every key with its origin.
        Ok(effective) => assert!(!effective.entries().is_empty()),
        Err(errors) => {
            assert!(!errors.is_empty(), "refused without a word");
            assert!(errors.iter().all(|error| !error.to_string().is_empty()));
        }
    }
});
