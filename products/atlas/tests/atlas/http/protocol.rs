//! HTTP headers of answers, and refused methods.

use std::io::Read;

use super::common::server;

#[test]
fn headers_of_pages_and_of_what_others_embed() {
    let server = server();
    let page = server.get("/chart/growth");
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert_eq!(page.header("access-control-allow-origin"), None);
    for path in [
        "/chart/growth.svg",
        "/chart/growth.json",
        "/chart/growth.csv",
        "/weir-chart.js",
    ] {
        let answer = server.get(path);
        assert_eq!(
            answer.header("access-control-allow-origin"),
            Some("*"),
            "{path}"
        );
        assert_eq!(
            answer.header("cross-origin-resource-policy"),
            Some("cross-origin"),
            "{path}"
        );
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(!policy.contains("script-src"), "{path}: {policy}");
    }
    let embed = server.get("/embed/growth");
    let policy = embed.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("frame-ancestors *"), "{policy}");
    assert_eq!(embed.header("x-frame-options"), None);
    for path in ["/", "/nothing", "/chart/growth.json", "/sql"] {
        let answer = server.get(path);
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert!(answer.header("referrer-policy").is_some(), "{path}");
        assert!(answer.header("content-security-policy").is_some(), "{path}");
    }
}

#[test]
fn head_conditions_and_gzip() {
    let server = server();
    let whole = server.get("/chart/growth.svg");
    let tag = whole.header("etag").expect("a tag").to_owned();
    assert!(
        whole
            .header("cache-control")
            .is_some_and(|kept| kept.starts_with("public"))
    );
    let same = server.ask(
        "GET",
        "/chart/growth.svg",
        &format!("If-None-Match: {tag}\r\n"),
    );
    assert_eq!((same.status, same.body.len()), (304, 0));
    let other = server.ask("GET", "/chart/growth.svg", "If-None-Match: \"other\"\r\n");
    assert_eq!(other.status, 200);
    let head = server.ask("HEAD", "/chart/growth.svg", "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    let length = whole.body.len().to_string();
    assert_eq!(head.header("content-length"), Some(length.as_str()));
    let packed = server.ask("GET", "/chart/growth.svg", "Accept-Encoding: br, gzip\r\n");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(
        packed
            .header("vary")
            .is_some_and(|vary| vary.contains("Accept-Encoding"))
    );
    let mut text = String::new();
    let mut unpacked = flate2::read::GzDecoder::new(&packed.body[..]);
    unpacked.read_to_string(&mut text).expect("gzip");
    assert_eq!(text, whole.text());
    assert_ne!(packed.header("etag"), whole.header("etag"));
}

#[test]
fn nothing_but_reading() {
    let server = server();
    for method in [
        "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "NONSENSE",
    ] {
        let answer = server.ask(method, "/", "");
        assert!(
            matches!(answer.status, 400 | 404 | 405),
            "{method}: {}",
            answer.status
        );
    }
    let answer = server.ask("POST", "/sql", "Content-Length: 5\r\n");
    assert_eq!(
        (answer.status, answer.header("allow")),
        (405, Some("GET, HEAD"))
    );
}

#[test]
fn addresses_lead_nowhere_else() {
    let server = server();
    for path in [
        "/../atlas.db",
        "/..%2fatlas.db",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/chart/../../atlas.db",
        "/chart/growth.svg/../../atlas.db",
        "//etc/passwd",
        "/atlas.db",
        "/public.db",
        "/community/..%2f..%2fetc",
        "/community/%00",
        "/embed/../sql",
        "/.git/config",
    ] {
        let answer = server.get(path);
        assert!(
            matches!(answer.status, 302 | 400 | 404),
            "{path}: {}",
            answer.status
        );
        if let Some(to) = answer.header("location") {
            assert!(to.starts_with("/chart/community?key="), "{path}: {to}");
        }
        assert!(!answer.body.starts_with(b"SQLite format 3"), "{path}");
    }
}

#[test]
fn others_are_not_embedded() {
    let server = server();
    let own = format!("http://{}", server.address);
    let good = server
        .get(&format!("/oembed?url={own}/chart/top%3Fn%3D5&maxwidth=320"))
        .json();
    assert_eq!(
        (good["type"].as_str(), good["width"].as_u64()),
        (Some("rich"), Some(320))
    );
    let html = good["html"].as_str().expect("markup");
    assert!(
        html.contains(&format!("src=\"{own}/embed/top?n=5\"")),
        "{html}"
    );
    let xml = server.get(&format!("/oembed?url={own}/chart/top&format=xml"));
    assert!(xml.text().starts_with("<?xml"), "{}", xml.text());
    for (url, status) in [
        ("https://example.org/chart/growth", 404),
        (&format!("{own}.example.org/chart/growth"), 404),
        (&format!("{own}@example.org/chart/growth"), 404),
        (&format!("{own}/about"), 404),
        (&format!("{own}/chart/growth%3Fby%3Dweek"), 400),
        (
            &format!("{own}/chart/growth%3Ffrom%3D2019%26to%3D2018"),
            400,
        ),
        (&format!("{own}/chart/community"), 400),
        (&format!("{own}/community/nope"), 404),
        (&format!("{own}/embed/community%3Fkey%3Dnope"), 404),
        ("", 404),
    ] {
        for format in ["json", "xml"] {
            let answer = server.get(&format!("/oembed?format={format}&url={url}"));
            assert_eq!(answer.status, status, "{url}");
            assert!(answer.json()["error"].is_string(), "{url}");
        }
    }
    let yaml = server.get(&format!("/oembed?url={own}/chart/top&format=yaml"));
    assert_eq!(yaml.status, 501, "{}", yaml.text());
    assert!(yaml.json()["error"].is_string());
    let jena = server.get(&format!("/oembed?url={own}/community/jena"));
    assert_eq!(jena.json()["title"], "Freifunk Jena");
    let page = server.get("/chart/top?n=5");
    assert!(page.text().contains("application/json+oembed"));
}
