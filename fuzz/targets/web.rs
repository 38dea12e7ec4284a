//! Requests to the web page's server, behind the HTTP parser: an answer to each, with the
//! protective headers, and no data without a session.
#![no_main]

use std::rc::Rc;
use std::time::Duration;

use api::{AccessLevel, ApiRequest, Method, Problem, Route, Routes};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use libfuzzer_sys::fuzz_target;
use web::password::{Cost, hash};
use web::{Authenticator, Backend, ClientConnection, Metrics, PageServer, Settings, secret};

const CHEAP: Cost = Cost {
    memory: 8,
    passes: 1,
};

/// Routes that only a session could reach.
fn unreachable() -> Routes {
    let methods = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
    ];
    let rows = methods.into_iter().flat_map(|method| {
        ["/v1/{one}", "/v1/{one}/{two}"].map(|path| {
            let reached = |asked: ApiRequest| -> Result<(), Problem> {
                panic!("{:?} was reached", asked.path_params)
            };
            Route::new(method.clone(), path, AccessLevel::User, reached)
        })
    });
    Routes::new(rows)
}

fn door() -> PageServer {
    let file = std::env::temp_dir().join(format!("weir-fuzz-{}", std::process::id()));
    let hashed = hash("correct horse", CHEAP).expect("hashed");
    secret::write(&file, &hashed).expect("written");
    let settings = Settings {
        hosts: vec!["router.lan".to_owned()],
        metrics: Metrics::Loopback,
        password_file: file,
        ..Settings::default()
    };
    // A fixed clock limits the password attempts.
    let clock = Rc::new(|| Duration::from_secs(1_000_000));
    let front = settings.frontend();
    let warden = Authenticator::with_clock(settings, clock.clone()).expect("a warden");
    let warden = Rc::new(warden.with_cost(CHEAP));
    let routes = warden.routes(&unreachable());
    PageServer::with_clock(front, Backend::Local(warden, routes), clock)
}

thread_local! {
    static DOOR: PageServer = door();
    static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
}

/// Parses `METHOD TARGET`, header lines, an empty line and the body.
fn request(data: &[u8]) -> Option<Request<Full<Bytes>>> {
    let end = data.windows(2).position(|two| two == b"\n\n")?;
    let (head, body) = (&data[..end], &data[end + 2..]);
    let mut lines = head.split(|octet| *octet == b'\n');
    let mut first = lines.next()?.splitn(2, |octet| *octet == b' ');
    let mut request = Request::builder().method(first.next()?).uri(first.next()?);
    for line in lines {
        let colon = line.iter().position(|octet| *octet == b':')?;
        request = request.header(&line[..colon], line[colon + 1..].trim_ascii());
    }
    request.body(Full::new(Bytes::copy_from_slice(body))).ok()
}

fuzz_target!(|data: &[u8]| {
    let Some(request) = request(data) else {
        return;
    };
    let api = request.uri().path().starts_with("/api/v1");
    let response = RUNTIME.with(|runtime| {
        DOOR.with(|door| runtime.block_on(door.answer(request, ClientConnection::loopback())))
    });
    for name in [
        "content-security-policy",
        "x-content-type-options",
        "cache-control",
    ] {
        assert!(response.headers().contains_key(name), "{name}");
    }
    assert!(!(api && response.status().is_success()));
});
