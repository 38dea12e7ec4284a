//! Request lines (`METHOD PATH?QUERY`) and flow expressions give an answer or a problem with a
//! hint, never a panic. A parsed query survives being written and parsed again.
#![no_main]

use std::fmt::Debug;

use answers::{CaptureQuery, ConversationsQuery, FlowFilter, FlowQuery, HistoryQuery};
use api::{AccessLevel, ApiRequest, Method, Query, Route, Routes, query};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(query) = text.parse::<FlowQuery>() {
        let again = query.to_string();
        assert_eq!(again.parse::<FlowQuery>().ok(), Some(query), "{again}");
    }
    let (method, target) = text.split_once(' ').unwrap_or(("GET", text));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    survives::<FlowFilter>(query);
    survives::<ConversationsQuery>(query);
    survives::<HistoryQuery>(query);
    survives::<CaptureQuery>(query);
    survives::<FlowQuery>(query);
    let routes = Routes::new([
        Route::get("/v1/flows", AccessLevel::User, |_: FlowFilter| Ok(())),
        Route::new(
            Method::POST,
            "/v1/reload",
            AccessLevel::User,
            |_: ApiRequest| Ok(()),
        ),
        Route::new(
            Method::PUT,
            "/v1/{thing}/{part}",
            AccessLevel::Root,
            |_: ApiRequest| Ok(()),
        ),
    ]);
    match routes.find(method, path, AccessLevel::User) {
        Ok(found) => drop(found.respond(query, data)),
        Err(refusal) => assert!(!refusal.problem.hint.is_empty()),
    }
});

fn survives<Q: Query + PartialEq + Debug>(text: &str) {
    let Ok(asked) = query::read::<Q>(text) else {
        return;
    };
    let again = asked.to_query();
    assert_eq!(query::read::<Q>(&again).ok(), Some(asked), "{again}");
}
