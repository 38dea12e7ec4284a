//! The page's files, the headers of every answer, names, sites and figures.

use crate::support;
use std::process::Command;

use support::{Answer, Directory, PASSWORD, Server, password_in};
use weir_web::{Metrics, assets, secret};

fn check_headers(answer: &Answer) {
    let policy = answer.header("content-security-policy");
    for part in [
        "default-src 'self'",
        "frame-ancestors 'none'",
        "; require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert_eq!(answer.header("x-frame-options"), "DENY");
    assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
    assert!(answer.all("access-control-allow-origin").is_empty());
    assert!(answer.all("server").is_empty());
}

#[test]
fn every_answer_is_protected() {
    let server = Server::start();
    for (method, path, status) in [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("POST", "/", 405),
        ("GET", "/nothing", 404),
        ("GET", "/index.html", 404),
        ("GET", "/api/session", 200),
        ("GET", "/api/login", 405),
        ("GET", "/api/logout", 405),
        ("GET", "/api/password", 405),
        ("POST", "/api/session", 405),
        ("OPTIONS", "/api/v1/status", 405),
        ("PUT", "/api/v1/status", 401),
        ("GET", "/api/v1/status", 401),
        ("POST", "/api/v1/reload", 401),
        ("GET", "/api", 401),
        ("GET", "/metrics", 404),
    ] {
        let answer = server.ask(method, path, &[], "");
        assert_eq!(answer.status, status, "{method} {path}");
        check_headers(&answer);
        let cache = answer.header("cache-control");
        if path == "/" && status == 200 {
            assert_eq!(cache, "no-cache");
        } else {
            assert_eq!(cache, "no-store", "{method} {path}");
        }
        if path.starts_with("/api") && status != 200 {
            assert_eq!(
                answer.header("content-type"),
                "application/problem+json",
                "{path}"
            );
            assert!(
                answer.json()["hint"]
                    .as_str()
                    .is_some_and(|hint| !hint.is_empty())
            );
        }
    }
    assert_eq!(server.get("/api/login").header("allow"), "POST");
    assert!(server.ask("HEAD", "/", &[], "").body.is_empty());
}

#[test]
fn no_path_leads_out_of_the_page() {
    let server = Server::start();
    for path in [
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/../index.html",
        "/assets/..\\index.html",
        "//etc/passwd",
        "/etc/passwd",
        "/assets/",
        "/assets",
        "/.",
        "/password",
    ] {
        let answer = server.get(path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
    }
}

#[test]
fn every_file_comes_in_each_encoding() {
    let server = Server::start();
    for asset in assets::all() {
        let path = match asset.name {
            "index.html" => "/".to_owned(),
            name => format!("/{name}"),
        };
        let get = |encodings| server.ask("GET", &path, &[("Accept-Encoding", encodings)], "");
        let plain = get("identity");
        assert_eq!(plain.status, 200, "{path}");
        assert_eq!(plain.header("content-type"), asset.media);
        assert!(plain.all("content-encoding").is_empty());
        if asset.varies() {
            for (encodings, name) in [("gzip", "gzip"), ("gzip, br", "br")] {
                let packed = get(encodings);
                assert_eq!(packed.header("content-encoding"), name);
                assert_eq!(packed.header("vary"), "Accept-Encoding");
                assert_ne!(packed.header("etag"), plain.header("etag"));
            }
        }
        let cache = match asset.hashed {
            true => "public, max-age=31536000, immutable",
            false => "no-cache",
        };
        assert_eq!(plain.header("cache-control"), cache, "{path}");
        let known = [
            ("If-None-Match", plain.header("etag")),
            ("Accept-Encoding", "identity"),
        ];
        let same = server.ask("GET", &path, &known, "");
        assert_eq!((same.status, same.body.len()), (304, 0), "{path}");
        check_headers(&same);
    }
}

/// curl unpacks every encoding: the page arrives whole.
#[test]
fn curl_reads_the_page() {
    let server = Server::start();
    let (page, _) = assets::find("")
        .expect("a page")
        .content(weir_web::accept::Encoding::Plain);
    for arguments in [
        &["--compressed"][..],
        &["-H", "Accept-Encoding: gzip", "--compressed"],
        &[],
    ] {
        let output = Command::new("curl")
            .args(["-sS", "--fail", "--max-time", "60"])
            .args(arguments)
            .arg(format!("http://{}/", server.address))
            .output()
            .expect("curl");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(output.stdout, page, "{arguments:?}");
    }
}

#[test]
fn names_that_others_made_up_are_refused() {
    let directory = Directory::new();
    password_in(&directory);
    let server = Server::with(directory, |settings| {
        settings.hosts = vec!["router.lan".into()];
    });
    let by = |host: &str, path: &str| server.ask("GET", path, &[("Host", host)], "").status;
    for path in ["/", "/api/session", "/api/v1/status", "/metrics"] {
        for other in [
            "evil.example",
            "evil.example:80",
            "127.0.0.1.nip.io",
            "localhost.evil.example",
            "192.0.2.1",
            "[2001:db8::1]",
        ] {
            let answer = server.ask("GET", path, &[("Host", other)], "");
            assert_eq!(answer.status, 403, "{other}{path}");
            check_headers(&answer);
            assert!(String::from_utf8_lossy(&answer.body).contains("`hosts`"));
        }
        for wrong in ["", "a b", "user@localhost", "localhost:port", "localhost/"] {
            assert_eq!(by(wrong, path), 400, "{wrong}{path}");
        }
    }
    for fine in [
        "localhost",
        "localhost:1234",
        "127.0.0.1",
        "[::1]",
        "router.lan",
        "ROUTER.LAN:8443",
    ] {
        assert_eq!(by(fine, "/"), 200, "{fine}");
    }
    // An absolute target counts, not the header beside it.
    let absolute = server.ask(
        "GET",
        "http://evil.example/api/session",
        &[("Host", "localhost")],
        "",
    );
    assert_eq!(absolute.status, 403);
    let both = [("Host", "localhost"), ("Host", "evil.example")];
    assert_eq!(server.ask("GET", "/", &both, "").status, 400);
}

#[test]
fn other_sites_pages_are_refused() {
    let server = Server::start();
    let login = server.log_in(PASSWORD);
    let (cookie, csrf) = (login.cookie(), login.csrf());
    let own = format!("http://{}", server.address);
    let reload = |extra: (&str, &str)| {
        let headers = [("Cookie", cookie.as_str()), ("X-Weir-Csrf", &csrf), extra];
        server.post_json("/api/v1/reload", &headers, "").status
    };
    assert_eq!(reload(("Origin", &own)), 200);
    assert_eq!(reload(("Sec-Fetch-Site", "same-origin")), 200);
    for (name, value) in [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", "none"),
    ] {
        assert_eq!(reload((name, value)), 403, "{name}: {value}");
        // Even a login from another site is refused.
        let body = format!(r#"{{"password":"{PASSWORD}"}}"#);
        let login = server.post_json("/api/login", &[(name, value)], &body);
        assert_eq!(login.error(), (403, "other_site".into()), "{name}: {value}");
    }
    let read = |site: &str| {
        let headers = [("Cookie", cookie.as_str()), ("Sec-Fetch-Site", site)];
        server.ask("GET", "/api/v1/status", &headers, "").status
    };
    assert_eq!(
        (read("same-origin"), read("none"), read("cross-site")),
        (200, 200, 403)
    );
    // A link from another site to the page is allowed.
    let link = [("Sec-Fetch-Site", "cross-site")];
    assert_eq!(server.ask("GET", "/", &link, "").status, 200);
}

#[test]
fn figures_on_this_machine() {
    let directory = Directory::new();
    password_in(&directory);
    let server = Server::with(directory, |settings| {
        settings.metrics = Metrics::Loopback;
        settings.hosts = vec!["router.lan".into()];
    });
    let answer = server.get("/metrics");
    assert_eq!(
        (answer.status, answer.body.clone()),
        (200, b"weir_up 1\n".to_vec())
    );
    let plain = api::metrics::PLAIN_TYPE;
    assert_eq!(answer.header("content-type"), plain);
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let open = server.ask("GET", "/metrics", &[("Accept", accept)], "");
    assert_ne!(open.header("content-type"), plain);
    let named = server.ask("GET", "/metrics", &[("Host", "router.lan")], "");
    assert_eq!(named.status, 403, "through a proxy");
    let site = server.ask("GET", "/metrics", &[("Sec-Fetch-Site", "cross-site")], "");
    assert_eq!(site.status, 403);
    assert_eq!(server.ask("POST", "/metrics", &[], "").status, 405);
}

#[test]
fn figures_with_a_token() {
    let directory = Directory::new();
    let file = directory.path().join("token");
    let token = "0123456789abcdef";
    secret::write(&file, &format!("{token}\n")).expect("written");
    let server = Server::with(directory, |settings| {
        settings.metrics = Metrics::Token(settings.password_file.with_file_name("token"));
    });
    let with = |value: &str| {
        server
            .ask("GET", "/metrics", &[("Authorization", value)], "")
            .status
    };
    assert_eq!(with(&format!("Bearer {token}")), 200);
    assert_eq!(with(&format!("bearer {token}")), 200);
    for wrong in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer 0123456789abcdeg",
        "Bearer 0123456789abcde",
        "Basic 0123456789abcdef",
        token,
    ] {
        assert_eq!(with(wrong), 401, "{wrong}");
    }
    assert_eq!(server.get("/metrics").status, 401, "this machine too");
    secret::write(&file, "another-token-as-long").expect("written");
    assert_eq!(with(&format!("Bearer {token}")), 401);
    assert_eq!(with("Bearer another-token-as-long"), 200);
    for useless in ["", "short"] {
        secret::write(&file, useless).expect("written");
        assert_eq!(with("Bearer "), 500, "an empty token lets nobody in");
    }
}
