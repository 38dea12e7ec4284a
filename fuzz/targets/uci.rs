//! Arbitrary configuration files, and edits of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uci::{Address, Change, Package, Strictness, arguments, import};

fuzz_target!(|octets: &[u8]| {
    let _ = Address::read(octets);
    let _ = arguments(octets);
    for change in Change::read("t", octets) {
        assert_eq!(Change::read("t", &change.line("t")), [change]);
    }
    let _ = import(octets, None, Strictness::Lenient);
    if let Ok(package) = Package::read_as("t", octets, Strictness::Lenient) {
        assert_eq!(package.text(), octets);
    }
    // The first part is a file, the second the edits.
    let at = octets.iter().position(|&c| c == 0xff);
    let (text, edits) = octets.split_at(at.unwrap_or(octets.len()));
    let Ok(mut package) = Package::read("t", text) else {
        return;
    };
    assert_eq!(package.text(), text);
    for change in Change::read("t", edits.get(1..).unwrap_or_default()) {
        let before = package.text();
        if change.apply(&mut package).is_err() {
            assert_eq!(package.text(), before);
        }
    }
    // If a section has a name like the generated ones, the file cannot express this: the write
    // fails, and the error has the name.
    if let Err(error) = package.check() {
        let text = package.text();
        let named = error.to_string().contains("`cfg");
        assert!(named, "{error}: {}", text.escape_ascii());
    }
});
