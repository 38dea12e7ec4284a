//! Configuration files of any content, and edits of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_uci::{Address, Change, Names, Package, Strictness, arguments, export, import};

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
    let again = Package::read("t", &package.text());
    let again = again.unwrap_or_else(|error| panic!("{error}: {}", package.text().escape_ascii()));
    let model = |package: &Package| export(package, false, Names::Extended);
    assert_eq!(model(&again), model(&package), "{}", package.text().escape_ascii());
});
