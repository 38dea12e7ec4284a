//! Request lines (`METHOD PATH?QUERY`) and flow expressions: a call or a problem that says what to do, never a panic; and what is
//! asked survives being written as a query and read again.
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
    let Ok(call) = Call::parse(method, path, query) else {
        return;
    };
    let again = match &call {
        Call::Flows(filter) => filter.to_query(),
        Call::Talks(talks) => talks.to_query(),
        Call::History(history) => history.to_query(),
        _ => return,
    };
    assert_eq!(Call::parse("GET", path, Some(&again)).ok(), Some(call), "{again}");
});
