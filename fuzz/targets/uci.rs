//! Configuration files of any content, and edits of them.
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
    // The first part is a file, the second what is done to it.
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
    // Where somebody named a section as those without a name are, no file says that: it is not
    // written, and the name is told.
    if let Err(error) = package.check() {
        let text = package.text();
        let named = error.to_string().contains("`cfg");
        assert!(named, "{error}: {}", text.escape_ascii());
    }
});
