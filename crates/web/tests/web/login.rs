//! Login, sessions and the password, over real sockets.

use crate::support;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::{CHEAP, Directory, PASSWORD, Server, password_in};
use weir_web::{password, secret};

#[test]
fn nothing_without_a_session_everything_with_one() {
    let server = Server::start();
    let paths = ["status", "flows", "config", "nothing"];
    for path in paths {
        let answer = server.get(&format!("/api/v1/{path}"));
        assert_eq!(answer.error(), (401, "log_in".into()), "{path}");
    }
    let before = server.get("/api/session").json();
    assert_eq!(
        before,
        serde_json::json!({"user": false, "password_set": true, "csrf": "", "local": true})
    );
    let login = server.log_in(PASSWORD);
    assert_eq!(login.status, 200, "{login:?}");
    let cookie = login.cookie();
    let with = |path: &str| server.ask("GET", path, &[("Cookie", &cookie)], "");
    for path in paths {
        let answer = with(&format!("/api/v1/{path}"));
        let expected = if path == "nothing" { 404 } else { 200 };
        assert_eq!(answer.status, expected, "{path}: {answer:?}");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    let now = with("/api/session").json();
    assert_eq!(now["user"], true);
    assert_eq!(now["csrf"], login.json()["csrf"]);
    assert_eq!(with("/api/v1/status").json()["version"], "paper");
}

#[test]
fn the_cookie_is_for_this_site_and_not_for_scripts() {
    let server = Server::start();
    let login = server.log_in(PASSWORD);
    let cookie = login.session();
    let (pair, attributes) = cookie.split_once("; ").expect("attributes");
    let value = pair.strip_prefix("weir=").expect("its name");
    assert!(value.len() == 64 && value.bytes().all(|b| b.is_ascii_hexdigit()));
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    assert_ne!(server.log_in(PASSWORD).cookie(), pair);
    // A proxy that terminates TLS sends a header, and the cookie becomes TLS-only.
    let proxied = server.post_json(
        "/api/login",
        &[("X-Forwarded-Proto", "https")],
        &format!(r#"{{"password":"{PASSWORD}"}}"#),
    );
    assert!(proxied.session().contains("; Secure"));
}

#[test]
fn a_wrong_password_opens_nothing() {
    let server = Server::start();
    for wrong in ["", "Correct horse", "correct horse ", "correct\u{0}horse"] {
        let answer = server.log_in(wrong);
        assert_eq!(answer.error(), (401, "wrong_password".into()), "{wrong}");
        assert!(answer.all("set-cookie").is_empty());
    }
    for body in [
        "",
        "{}",
        "[]",
        r#"{"password":1}"#,
        r#"{"password":"correct horse","x":1}"#,
        r#"{"password":"correct horse""#,
    ] {
        let answer = server.post_json("/api/login", &[], body);
        assert_eq!(answer.error(), (400, "malformed_body".into()), "{body}");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(!text.contains("correct"), "nothing of it comes back");
    }
    let form = server.ask(
        "POST",
        "/api/login",
        &[("Content-Type", "text/plain")],
        r#"{"password":"correct horse"}"#,
    );
    assert_eq!(form.error(), (415, "not_json".into()));
}

#[test]
fn guessing_is_slowed_down() {
    let server = Server::start();
    for _ in 0..5 {
        assert_eq!(server.log_in("wrong password").status, 401);
    }
    let refused = server.log_in(PASSWORD);
    assert_eq!(refused.error(), (429, "too_many_tries".into()));
    assert_eq!(refused.header("retry-after"), "31");
    server.wait(30);
    assert_eq!(server.log_in(PASSWORD).status, 200);
    assert_eq!(
        server.log_in(PASSWORD).status,
        200,
        "what is right costs nothing"
    );
}

/// Other clients that use up their tries do not lock a known device out.
#[test]
fn a_device_that_logged_in_before_has_tries_of_its_own() {
    let server = Server::start();
    let first = server.log_in(PASSWORD);
    let cookies = first.all("set-cookie");
    let of_device = |cookie: &&str| cookie.starts_with("weir-device=");
    let lasting = cookies
        .iter()
        .find(|cookie| of_device(cookie))
        .expect("a cookie");
    assert!(
        lasting.contains("HttpOnly; SameSite=Strict; Max-Age=34560000"),
        "{lasting}"
    );
    let cookie = lasting.split(';').next().expect("a value").to_owned();
    for _ in 0..5 {
        assert_eq!(server.log_in("wrong password").status, 401);
    }
    assert_eq!(server.log_in(PASSWORD).status, 429);
    let log_in = |cookie: &str, password: &str| {
        let body = serde_json::json!({ "password": password }).to_string();
        server.post_json("/api/login", &[("Cookie", cookie)], &body)
    };
    let again = log_in(&cookie, PASSWORD);
    assert_eq!(again.status, 200);
    assert_eq!(
        again.all("set-cookie").len(),
        1,
        "it has that cookie already"
    );
    // The device's own tries are limited, too, and a cookie cannot be forged.
    let forged = format!("weir-device={}", "ab".repeat(32));
    assert_eq!(log_in(&forged, PASSWORD).status, 429);
    for _ in 0..5 {
        assert_eq!(log_in(&cookie, "wrong password").status, 401);
    }
    assert_eq!(log_in(&cookie, PASSWORD).status, 429);
}

#[test]
fn sessions_end_by_rest_and_by_age() {
    let server = Server::start();
    let cookie = server.log_in(PASSWORD).cookie();
    let status = || {
        server
            .ask("GET", "/api/v1/status", &[("Cookie", &cookie)], "")
            .status
    };
    server.wait(29 * 60);
    assert_eq!(status(), 200);
    server.wait(29 * 60);
    assert_eq!(status(), 200, "it was used");
    server.wait(30 * 60);
    assert_eq!(status(), 401);

    let cookie = server.log_in(PASSWORD).cookie();
    let status = || {
        server
            .ask("GET", "/api/v1/status", &[("Cookie", &cookie)], "")
            .status
    };
    for _ in 0..47 {
        server.wait(15 * 60);
        assert_eq!(status(), 200);
    }
    server.wait(15 * 60);
    assert_eq!(status(), 401, "12 hours");
}

#[test]
fn log_out_ends_it_for_good() {
    let server = Server::start();
    let login = server.log_in(PASSWORD);
    let (cookie, csrf) = (login.cookie(), login.csrf());
    let without = server.post_json("/api/logout", &[("Cookie", &cookie)], "{}");
    assert_eq!(without.error(), (403, "no_csrf".into()));
    let out = server.post_json(
        "/api/logout",
        &[("Cookie", &cookie), ("X-Weir-Csrf", &csrf)],
        "{}",
    );
    assert_eq!((out.status, &out.json()["user"]), (200, &false.into()));
    assert_eq!(
        out.session(),
        "weir=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    );
    let after = server.ask("GET", "/api/v1/status", &[("Cookie", &cookie)], "");
    assert_eq!(after.status, 401);
    let again = server.post_json("/api/logout", &[("Cookie", &cookie)], "{}");
    assert_eq!(again.status, 200, "nothing to end is no error");
}

#[test]
fn a_cookie_that_was_planted_is_not_taken_over() {
    let server = Server::start();
    let planted = format!("weir={}", "ab".repeat(32));
    let login = server.post_json(
        "/api/login",
        &[("Cookie", &planted)],
        &format!(r#"{{"password":"{PASSWORD}"}}"#),
    );
    assert_ne!(login.cookie(), planted);
    let by = |cookie: &str| {
        server
            .ask("GET", "/api/v1/status", &[("Cookie", cookie)], "")
            .status
    };
    assert_eq!(by(&planted), 401);
    assert_eq!(by(&login.cookie()), 200);
    // A second login gives another cookie, and revokes the former one.
    let former = login.cookie();
    let again = server.post_json(
        "/api/login",
        &[("Cookie", &former)],
        &format!(r#"{{"password":"{PASSWORD}"}}"#),
    );
    assert_ne!(again.cookie(), former);
    assert_eq!(by(&former), 401);
    // A planted cookie next to the right one does no harm.
    assert_eq!(by(&format!("{planted}; {}", again.cookie())), 200);
}

#[test]
fn what_changes_needs_the_token() {
    let server = Server::start();
    let (one, other) = (server.log_in(PASSWORD), server.log_in(PASSWORD));
    let cookie = one.cookie();
    let reload = |csrf: Option<&str>| {
        let mut headers = vec![("Cookie", cookie.as_str())];
        headers.extend(csrf.map(|csrf| ("X-Weir-Csrf", csrf)));
        server.post_json("/api/v1/reload", &headers, "{}").status
    };
    let right = one.csrf();
    for wrong in [
        None,
        Some(""),
        Some(&right[..63]),
        Some(&other.csrf()),
        Some(cookie.trim_start_matches("weir=")),
    ] {
        assert_eq!(reload(wrong), 403, "{wrong:?}");
    }
    let reloads = || {
        let answer = server.ask("GET", "/api/v1/config", &[("Cookie", &cookie)], "");
        answer.json()["entries"][0]["value"].clone()
    };
    assert_eq!(reloads(), 0);
    assert_eq!(reload(Some(&right)), 200);
    assert_eq!(reloads(), 1);
    let get = server.ask("GET", "/api/v1/reload", &[("Cookie", &cookie)], "");
    assert_eq!(
        (get.status, get.header("allow")),
        (405, "POST"),
        "no GET changes anything"
    );
    let twice = [
        ("Cookie", cookie.as_str()),
        ("X-Weir-Csrf", right.as_str()),
        ("X-Weir-Csrf", "x"),
    ];
    assert_eq!(
        server.post_json("/api/v1/reload", &twice, "").status,
        403,
        "which of them?"
    );
    let body = server.post_json(
        "/api/v1/reload",
        &[("Cookie", &cookie), ("X-Weir-Csrf", &right)],
        "no",
    );
    assert_eq!(body.error(), (400, "malformed_body".into()));
    let capture = server.post_json(
        "/api/v1/capture?seconds=1",
        &[("Cookie", &cookie), ("X-Weir-Csrf", &right)],
        "",
    );
    assert_eq!(capture.error(), (403, "not_here".into()));
}

#[test]
fn the_first_password_is_set_from_the_router_itself() {
    let server = Server::with(Directory::new(), |settings| {
        settings.hosts = vec!["router.lan".into()];
    });
    assert_eq!(
        server.log_in("anything at all").error(),
        (409, "no_password".into())
    );
    let set = |headers: &[(&str, &str)], new: &str| {
        let body = serde_json::json!({ "new": new }).to_string();
        server.post_json("/api/password", headers, &body)
    };
    // The request comes through a proxy that sends its name or a header, or speaks like nginx.
    let host = [("Host", "router.lan")];
    assert_eq!(
        set(&host, "a good password").error(),
        (403, "not_local".into())
    );
    for name in [
        "X-Forwarded-For",
        "Forwarded",
        "Via",
        "X-Real-IP",
        "X-Forwarded-Proto",
    ] {
        let answer = set(&[(name, "192.0.2.7")], "a good password");
        assert_eq!(answer.error(), (403, "not_local".into()), "{name}");
    }
    let old = server.exchange(
        format!(
            "POST /api/password HTTP/1.0\r\nHost: {}\r\nContent-Type: \
            application/json\r\nContent-Length: 25\r\n\r\n{{\"new\":\"a good password\"}}",
            server.address
        )
        .as_bytes(),
    );
    assert!(String::from_utf8_lossy(&old).starts_with("HTTP/1.0 403 "));
    assert_eq!(set(&[], "short").error(), (422, "weak_password".into()));
    let file = server.directory.path().join("password");
    assert!(!file.exists());

    let first = set(&[], "a good password");
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(
        first.json(),
        serde_json::json!({"user": true, "password_set": true, "csrf": first.csrf(), "local": true})
    );
    let mode = fs::metadata(&file).expect("a file").permissions().mode() & 0o7777;
    assert_eq!(mode, 0o600);
    let text = fs::read_to_string(&file).expect("read");
    assert!(
        text.starts_with("$argon2id$") && !text.contains("good"),
        "{text}"
    );
    // The local exception works once: now a session is required.
    assert_eq!(set(&[], "another password").error(), (401, "log_in".into()));
    assert_eq!(server.log_in("a good password").status, 200);
}

#[test]
fn the_first_browser_needs_the_code_of_the_console() {
    let server = Server::with(Directory::new(), |settings| {
        settings.hosts = vec!["router.lan".into()];
    });
    let code = server.claim.clone().expect("no password is set");
    // The request comes from another host.
    let set = |claim: &str, new: &str| {
        let body = serde_json::json!({ "new": new, "claim": claim }).to_string();
        server.post_json("/api/password", &[("Host", "router.lan")], &body)
    };
    assert_eq!(
        set("", "a good password").error(),
        (403, "wrong_claim".into())
    );
    assert_eq!(set(&code, "short").error(), (422, "weak_password".into()));
    // The origin page names another host: rebinding, or a form on an attacker's page.
    let body = serde_json::json!({ "new": "a good password", "claim": code }).to_string();
    for headers in [
        vec![("Host", "evil.example")],
        vec![("Host", "router.lan"), ("Origin", "http://evil.example")],
    ] {
        assert_eq!(
            server.post_json("/api/password", &headers, &body).status,
            403,
            "{headers:?}"
        );
    }
    // Codes cannot be tried one after the other.
    let wrong = |n: u32| set(&format!("ABCD-{n:04}"), "a good password").error().0;
    let tries: Vec<u16> = (2000..2030).map(wrong).collect();
    assert!(tries.contains(&429), "{tries:?}");
    assert!(!server.directory.path().join("password").exists());
    assert_eq!(
        set(&code, "a good password").error().0,
        429,
        "not even the right one now"
    );
    server.wait(3600);

    let typed = code.to_lowercase().replace('-', " ");
    let first = set(&typed, "a good password");
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(first.json()["user"], true);
    // The code works once, even for an onlooker who saw it.
    assert_eq!(
        set(&code, "another password").error(),
        (401, "log_in".into())
    );
    std::fs::remove_file(server.directory.path().join("password")).expect("removed");
    server.wait(3600);
    assert_eq!(
        set(&code, "another password").error(),
        (403, "wrong_claim".into())
    );
}

#[test]
fn another_password_ends_the_other_sessions() {
    let server = Server::start();
    let (here, there) = (server.log_in(PASSWORD), server.log_in(PASSWORD));
    let (cookie, csrf) = (here.cookie(), here.csrf());
    let change = |csrf: &str, body: serde_json::Value| {
        let headers = [("Cookie", cookie.as_str()), ("X-Weir-Csrf", csrf)];
        server.post_json("/api/password", &headers, &body.to_string())
    };
    let good = serde_json::json!({"old": PASSWORD, "new": "battery staple"});
    assert_eq!(change("x", good.clone()).error(), (403, "no_csrf".into()));
    for old in [
        serde_json::json!({"new": "battery staple"}),
        serde_json::json!({"old": "wrong password", "new": "battery staple"}),
    ] {
        assert_eq!(change(&csrf, old).error(), (401, "wrong_password".into()));
    }
    let weak = serde_json::json!({"old": PASSWORD, "new": "1234567"});
    assert_eq!(change(&csrf, weak).error(), (422, "weak_password".into()));
    let changed = change(&csrf, good);
    assert_eq!(changed.status, 200, "{changed:?}");
    let by = |cookie: &str| {
        server
            .ask("GET", "/api/v1/status", &[("Cookie", cookie)], "")
            .status
    };
    assert_eq!((by(&there.cookie()), by(&cookie)), (401, 401));
    assert_eq!(by(&changed.cookie()), 200);
    assert_eq!(server.log_in(PASSWORD).status, 401);
    assert_eq!(server.log_in("battery staple").status, 200);
}

#[test]
fn weir_passwd_ends_all_sessions() {
    let server = Server::start();
    let cookie = server.log_in(PASSWORD).cookie();
    let status = || {
        server
            .ask("GET", "/api/v1/status", &[("Cookie", &cookie)], "")
            .status
    };
    assert_eq!(status(), 200);
    let file = server.directory.path().join("password");
    let hash = password::hash("battery staple", CHEAP).expect("hashed");
    password::write(&file, &hash).expect("written");
    server.wait(1);
    assert_eq!(status(), 401);
    assert_eq!(server.log_in("battery staple").status, 200);
    // A file that others can write is not accepted, and no client can replace the password.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("mode");
    assert_eq!(server.log_in("battery staple").status, 500);
    let instead = server.post_json("/api/password", &[], r#"{"new":"another password"}"#);
    assert_eq!(instead.status, 500);
    assert_eq!(server.get("/api/session").json()["password_set"], true);
    // The file is damaged by hand.
    secret::write(&file, "x").expect("written");
    assert_eq!(
        server.log_in("battery staple").error(),
        (500, "no_password".into())
    );
}

#[test]
fn the_first_log_in_after_weir_passwd_lasts() {
    let server = Server::start();
    let file = server.directory.path().join("password");
    let hash = password::hash("battery staple", CHEAP).expect("hashed");
    password::write(&file, &hash).expect("written");
    // No request has come since: the login is the first to notice.
    server.wait(1);
    let cookie = server.log_in("battery staple").cookie();
    server.wait(1);
    let answer = server.ask("GET", "/api/v1/status", &[("Cookie", &cookie)], "");
    assert_eq!(answer.status, 200);
}

#[test]
fn sessions_are_bounded() {
    let directory = Directory::new();
    password_in(&directory);
    let server = Server::with(directory, |settings| settings.limits.sessions = 3);
    let cookies: Vec<String> = (0..5)
        .map(|_| {
            server.wait(1);
            server.log_in(PASSWORD).cookie()
        })
        .collect();
    let live = cookies
        .iter()
        .map(|cookie| {
            server
                .ask("GET", "/api/v1/status", &[("Cookie", cookie)], "")
                .status
        })
        .collect::<Vec<_>>();
    assert_eq!(live, [401, 401, 200, 200, 200]);
}
