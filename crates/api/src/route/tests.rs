use http_body_util::BodyExt;
use proptest::prelude::*;

use super::*;
use crate::query::{Pairs, encode, number, unknown, wrong};

/// A query with one parameter.
struct Port(Option<u16>);

impl Query for Port {
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        let mut port = None;
        for (name, value) in pairs {
            match name.as_str() {
                "port" => {
                    let number = number(value);
                    port = Some(number.ok_or_else(|| wrong(name, value, "0 to 65535"))?);
                }
                other => return Err(unknown("/v1/flows", other, "the parameter is port")),
            }
        }
        Ok(Self(port))
    }

    fn to_query(&self) -> String {
        encode([("port", self.0.map(|port| port.to_string()))])
    }
}

#[derive(Debug, serde::Deserialize)]
struct Named {
    name: String,
}

impl Body for Named {
    const EXPECTED: &'static str = "a JSON object with `name`";
}

fn routes() -> Routes {
    let thing = |asked: ApiRequest<()>| Ok(asked.path_params);
    Routes::new([
        Route::get("/v1/status", AccessLevel::Guest, |()| Ok("well")),
        Route::get("/v1/flows", AccessLevel::User, |port: Port| Ok(port.0)),
        Route::new(
            Method::POST,
            "/v1/reload",
            AccessLevel::User,
            |_: ApiRequest| Ok("done"),
        ),
        Route::new(
            Method::POST,
            "/v1/things",
            AccessLevel::User,
            |asked: ApiRequest<(), Named>| Ok(asked.body.name),
        ),
        Route::new(Method::GET, "/v1/things/{name}", AccessLevel::User, thing),
        Route::new(
            Method::DELETE,
            "/v1/things/{name}",
            AccessLevel::Root,
            thing,
        ),
        Route::new_async(
            Method::GET,
            "/v1/later",
            AccessLevel::User,
            |_: ApiRequest| {
                Box::pin(async {
                    tokio::task::yield_now().await;
                    Ok("late")
                })
            },
        ),
    ])
}

/// Returns status and body.
fn ask(who: AccessLevel, line: &str, body: &str) -> (u16, serde_json::Value) {
    let (method, target) = line.split_once(' ').expect("method and target");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let answer = match routes().find(method, path, who) {
        Err(refusal) => crate::server::problem_response(&refusal),
        Ok(found) => {
            let answer = found.respond(query, body.as_bytes());
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let answer = runtime.expect("a runtime").block_on(answer);
            crate::server::into_response(answer)
        }
    };
    let status = answer.status().as_u16();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let octets = runtime
        .expect("a runtime")
        .block_on(answer.into_body().collect())
        .expect("infallible")
        .to_bytes();
    (status, serde_json::from_slice(&octets).expect("JSON"))
}

#[test]
fn answers() {
    for (line, body, answer) in [
        ("GET /v1/status", "", "\"well\""),
        ("GET /v1/flows?port=53", "", "53"),
        ("POST /v1/reload", "", "\"done\""),
        ("POST /v1/reload", "{}", "\"done\""),
        ("POST /v1/things", r#"{"name":"x"}"#, "\"x\""),
        ("GET /v1/things/a%2Fb", "", r#"["a%2Fb"]"#),
        ("DELETE /v1/things/a", "", r#"["a"]"#),
        ("GET /v1/later", "", "\"late\""),
    ] {
        let (status, told) = ask(AccessLevel::Root, line, body);
        assert_eq!(
            (status, told.to_string()),
            (200, answer.to_owned()),
            "{line}"
        );
    }
}

#[test]
fn says_what_is_wrong() {
    for (line, body, status, error) in [
        ("GET /", "", 404, "unknown_path"),
        ("GET /v1/status/", "", 404, "unknown_path"),
        ("GET /v1/../v1/status", "", 404, "unknown_path"),
        ("GET /v1/things/", "", 404, "unknown_path"),
        ("GET /v1/things/a/b", "", 404, "unknown_path"),
        ("POST /v1/status", "", 405, "wrong_method"),
        ("get /v1/status", "", 405, "wrong_method"),
        ("HEAD /v1/status", "", 405, "wrong_method"),
        ("PUT /v1/things/a", "", 405, "wrong_method"),
        ("GET /v1/status?x=1", "", 400, "unknown_parameter"),
        ("GET /v1/flows?port=%zz", "", 400, "malformed_query"),
        ("GET /v1/flows?port=x", "", 400, "wrong_parameter"),
        ("GET /v1/flows?x=1", "", 400, "unknown_parameter"),
        ("POST /v1/reload", "[]", 400, "malformed_body"),
        ("POST /v1/reload", r#"{"x":1}"#, 400, "malformed_body"),
        ("POST /v1/things", "", 400, "malformed_body"),
        ("POST /v1/things", "{", 400, "malformed_body"),
    ] {
        let (got, problem) = ask(AccessLevel::Root, line, body);
        assert_eq!(
            (got, problem["error"].as_str()),
            (status, Some(error)),
            "{line}"
        );
        for text in ["detail", "hint"] {
            let text = problem[text].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "a problem teaches: {problem}");
        }
    }
}

#[test]
fn each_has_those_who_may() {
    for (who, line, status) in [
        (AccessLevel::Guest, "GET /v1/status", 200),
        (AccessLevel::Guest, "GET /v1/flows", 401),
        (AccessLevel::Guest, "DELETE /v1/things/a", 401),
        (AccessLevel::User, "GET /v1/flows", 200),
        (AccessLevel::User, "DELETE /v1/things/a", 403),
        (AccessLevel::Root, "DELETE /v1/things/a", 200),
    ] {
        assert_eq!(ask(who, line, "").0, status, "{who:?}: {line}");
    }
}

#[test]
fn a_row_says_how_long_its_body_may_be() {
    let post = || {
        Route::new(Method::POST, "/v1/x", AccessLevel::User, |_: ApiRequest| {
            Ok("done")
        })
    };
    let get = Route::get("/v1/x", AccessLevel::User, |()| Ok("well"));
    for (route, method, longest) in [
        (post(), "POST", Some(16)),
        (post().with_body(70), "POST", Some(70)),
        (post().with_body(usize::MAX), "POST", Some(LONGEST_BODY)),
        (get, "GET", None),
    ] {
        let found = Routes::new([route]).find(method, "/v1/x", AccessLevel::User);
        let found = found.unwrap_or_else(|_| panic!("no row"));
        assert_eq!(found.longest_body(16), longest);
    }
}

#[test]
fn methods_of_a_path_are_told() {
    let refused = |method, path| {
        let refusal = routes().find(method, path, AccessLevel::Root).err();
        refusal.and_then(|refusal| refusal.allow)
    };
    assert_eq!(
        refused("PUT", "/v1/things/a").as_deref(),
        Some("GET, DELETE")
    );
    assert_eq!(refused("GET", "/v1/reload").as_deref(), Some("POST"));
    assert_eq!(refused("GET", "/v1/nothing"), None);
}

proptest! {
    #[test]
    fn never_panics(method in "\\PC*", path in "\\PC*", query in "\\PC*", body in "\\PC*") {
        if let Ok(found) = routes().find(&method, &path, AccessLevel::Root) {
            drop(found.respond(&query, body.as_bytes()));
        }
    }

    #[test]
    fn never_panics_where_there_is_something(
        path in "/v1/(flows|status|things/.*)",
        query in "\\PC*",
    ) {
        if let Ok(found) = routes().find("GET", &path, AccessLevel::Root) {
            drop(found.respond(&query, b""));
        }
    }
}
