//! Request lines (`METHOD PATH?QUERY`) and flow expressions: a call or a problem that says what to do, never a panic; and a
//! filter survives being written as a query and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_api::{Call, FlowQuery};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(query) = text.parse::<FlowQuery>() {
        let again = query.to_string();
        assert_eq!(again.parse::<FlowQuery>().ok(), Some(query), "{again}");
    }
    let (method, target) = text.split_once(' ').unwrap_or(("GET", text));
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    if let Ok(Call::Flows(filter)) = Call::parse(method, path, query) {
        let again = filter.to_query();
        assert_eq!(
            Call::parse("GET", "/v1/flows", Some(&again)).ok(),
            Some(Call::Flows(filter)),
            "{again}"
        );
    }
});
