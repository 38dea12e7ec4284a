//! The server, asked over real sockets by a client that says every octet itself.

mod served;

use std::io::{Read, Write};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use served::{Answer, PROGRAM, Server};

/// One for all tests that run at a time and leave it as it is: the last of them ends it.
fn server() -> Arc<Server> {
    static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::start(&[]));
        *running = Arc::downgrade(&server);
        server
    })
}

/// All there are, by name.
fn charts() -> Vec<String> {
    let listed = Command::new(PROGRAM).arg("charts").output();
    let listed = String::from_utf8(listed.expect("the program").stdout).expect("text");
    let lines = listed.lines().filter(|line| !line.starts_with(' '));
    let names = lines.filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn each_chart_in_each_form() {
    let server = server();
    let charts = charts();
    assert!(charts.len() >= 12, "{charts:?}");
    for name in charts {
        let query = if name == "community" { "?key=jena" } else { "" };
        for (path, media) in [
            (format!("/chart/{name}{query}"), "text/html; charset=utf-8"),
            (format!("/chart/{name}.svg{query}"), "image/svg+xml"),
            (format!("/chart/{name}.json{query}"), "application/json"),
            (
                format!("/chart/{name}.csv{query}"),
                "text/csv; charset=utf-8",
            ),
            (format!("/embed/{name}{query}"), "text/html; charset=utf-8"),
        ] {
            let answer = server.get(&path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            assert_eq!(answer.header("content-type"), Some(media), "{path}");
            let text = answer.text();
            let markup = media.contains("html") || media.contains("svg");
            assert!(
                !markup || !text.contains("<script>alert"),
                "{path} has a name as markup"
            );
            for forbidden in [" style=", " onload=", " onclick=", "javascript:"] {
                assert!(!text.contains(forbidden), "{forbidden} in {path}");
            }
            if media.starts_with("text/html") {
                assert!(!text.contains("<style"), "{path}");
                for script in text.split("<script").skip(1) {
                    assert!(script.starts_with(" type=\"module\" src=\"/"), "{path}");
                }
            }
        }
    }
}

#[test]
fn pages() {
    let server = server();
    for path in [
        "/",
        "/communities",
        "/communities?q=jen",
        "/ledger",
        "/ledger?q=20190301",
        "/about",
    ] {
        for language in ["en", "de"] {
            let mark = if path.contains('?') { '&' } else { '?' };
            let answer = server.get(&format!("{path}{mark}lang={language}"));
            assert_eq!(answer.status, 200, "{path}");
            let html = format!("<html lang=\"{language}\">");
            assert!(answer.text().contains(&html), "{path}: {}", answer.text());
        }
    }
    let communities = server.get("/communities?q=jena");
    assert!(
        communities
            .text()
            .contains("href=\"/chart/community?key=jena\"")
    );
    assert!(
        communities
            .text()
            .contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
        "by its place"
    );
    let ledger = server.get("/ledger").text().to_owned();
    assert!(ledger.contains("20190301-12.00.00"), "{ledger}");
    let german = server.ask("GET", "/", "Accept-Language: de-AT,en;q=0.5\r\n");
    assert!(german.text().contains("<html lang=\"de\">"));
    let english = server.ask("GET", "/?lang=en", "Accept-Language: de\r\n");
    assert!(english.text().contains("<html lang=\"en\">"));
    assert!(
        english.text().contains("href=\"/about?lang=en\""),
        "links stay English"
    );
    assert!(
        server
            .get("/?theme=dark")
            .text()
            .contains("data-theme=\"dark\"")
    );
    let moved = server.get("/community/jena");
    assert_eq!(moved.status, 302);
    assert_eq!(moved.header("location"), Some("/chart/community?key=jena"));
    assert_eq!(server.get("/healthz").text(), "ok\n");
    assert_eq!(server.get("/robots.txt").status, 200);
    assert_eq!(server.get("/weir-chart.js").status, 200);
}

#[test]
fn numbers_are_what_was_imported() {
    let server = server();
    let growth = server
        .get("/chart/growth.json?from=2019-01&to=2019-12&by=month")
        .json();
    let series = growth["series"].as_array().expect("rows");
    let at = |t: &str| {
        series
            .iter()
            .find(|row| row["t"] == t)
            .map(|row| row["nodes"].clone())
    };
    assert_eq!(at("2019-01-01T00:00:00Z"), Some(150.into()), "{growth}");
    assert_eq!(at("2019-02-01T00:00:00Z"), Some(250.into()), "{growth}");
    let top = server.get("/chart/top.json?at=2019-02&n=10").json();
    assert_eq!(top["communities"][0]["key"], "jena");
    assert_eq!(top["communities"][0]["name"], "Freifunk Jena");
    assert_eq!(top["communities"][0]["nodes"], 200);
}

#[test]
fn errors_are_pages_for_people_and_json_for_programs() {
    let server = server();
    for (path, status) in [
        ("/chart/growth.json?fro=2019", 400),
        ("/chart/growth.svg?by=week", 400),
        ("/chart/growth.csv?from=%zz", 400),
        ("/chart/community.json?key=jenna", 404),
        ("/chart/nothing.json", 404),
        ("/sql?q=DELETE+FROM+ledger&format=json", 400),
        ("/sql?format=json", 400),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.json()["error"].is_string(), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
    for (path, status) in [
        ("/chart/growth?fro=2019", 400),
        ("/communities?x=1", 400),
        ("/ledger?after=x", 400),
        ("/nothing", 404),
        ("/chart/growth/", 404),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.text().contains("role=\"alert\""), "{path}");
    }
    let reflected = server.get("/<script>alert(1)</script>");
    assert!(
        !reflected.text().contains("<script>alert"),
        "{}",
        reflected.text()
    );
    let reflected = server.get("/chart/growth?%3Cscript%3Ealert(1)%3C/script%3E=1");
    assert!(
        !reflected.text().contains("<script>alert"),
        "{}",
        reflected.text()
    );
}

#[test]
fn free_queries() {
    let server = server();
    let page = server.get("/sql");
    assert_eq!(page.status, 200);
    let query = "/sql?q=SELECT+1+AS+a%2C+%27%3Cb%3E%27+AS+b";
    let answer = server.get(&format!("{query}&format=json")).json();
    assert_eq!(answer["columns"], serde_json::json!(["a", "b"]));
    assert_eq!(answer["rows"], serde_json::json!([[1, "<b>"]]));
    let csv = server.get(&format!("{query}&format=csv"));
    assert_eq!(csv.text(), "a,b\r\n1,<b>\r\n");
    let page = server.get(query);
    assert!(page.text().contains("&lt;b&gt;") && !page.text().contains("<td><b>"));
    let refused = server.get("/sql?q=ATTACH+%27x%27+AS+y");
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("role=\"alert\""));
}

#[test]
fn a_query_is_a_picture_where_it_can_be() {
    let server = server();
    let lines = "/sql?q=SELECT+%272019-01%27+AS+t%2C+1+AS+n+UNION+ALL+SELECT+%272019-02%27%2C+2";
    assert!(server.get(lines).text().contains("data-plot=\"time\""));
    let bars = "/sql?q=SELECT+%27a%27+AS+k%2C+1+AS+n+UNION+ALL+SELECT+%27b%27%2C+2";
    assert!(server.get(bars).text().contains("data-plot=\"bars\""));
}

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
        ("", 404),
    ] {
        assert_eq!(
            server.get(&format!("/oembed?url={url}")).status,
            status,
            "{url}"
        );
    }
    let page = server.get("/chart/top?n=5");
    assert!(page.text().contains("application/json+oembed"));
}

#[test]
fn hosts_that_are_none() {
    let server = server();
    let raw = |host: &str| {
        let request = format!("GET /chart/growth HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
        Answer::of(&server.raw(request.as_bytes()))
    };
    for host in [
        "Host: \"><script>\r\n",
        "Host: a b\r\n",
        "Host: a/b\r\n",
        "Host: \r\n",
    ] {
        assert_eq!(raw(host).status, 400, "{host}");
    }
    assert!(
        raw("Host: atlas.example\r\n")
            .text()
            .contains("http://atlas.example/chart/growth")
    );
}

#[test]
fn requests_that_are_too_large_or_none() {
    let server = server();
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(200_000));
    let many: String = (0..200)
        .map(|number| format!("X-{number}: a\r\n"))
        .collect();
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n");
    let wide = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "a".repeat(200_000)
    );
    let query = format!(
        "GET /chart/growth.json?only={} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "a,".repeat(6000)
    );
    for request in [long, many, wide, query] {
        let answer = server.raw(request.as_bytes());
        if !answer.is_empty() {
            let status = Answer::of(&answer).status;
            assert!(
                matches!(status, 400 | 413 | 414 | 431),
                "{status}: {}",
                &request[..60]
            );
        }
    }
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let answer = server.raw(nonsense);
        assert!(answer.is_empty() || Answer::of(&answer).status >= 400);
    }
    assert_eq!(server.get("/healthz").status, 200, "goes on");
}

#[test]
fn the_same_connection_is_used_again() {
    let server = server();
    let mut stream = server.connect();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    for _ in 0..3 {
        stream.write_all(request.as_bytes()).expect("asked");
        let mut answer = [0; 4096];
        let length = stream.read(&mut answer).expect("answered");
        assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
    }
}

/// Those who connect and say nothing keep nobody out.
#[test]
fn many_silent_clients() {
    let server = Server::start(&[]);
    let begin = Instant::now();
    // More than it lets in, but no more than wait to be let in.
    let silent: Vec<_> = (0..320)
        .map(|_| std::net::TcpStream::connect(server.address))
        .collect();
    assert_eq!(server.get("/healthz").status, 200);
    assert!(
        begin.elapsed() < Duration::from_secs(15),
        "{:?}",
        begin.elapsed()
    );
    drop(silent);
    assert_eq!(server.get("/healthz").status, 200);
    assert!(server.end());
}

#[test]
fn a_client_that_never_finishes_its_request_is_sent_away() {
    let server = Server::start(&[]);
    let mut slow = server.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost:").expect("asked");
    let mut rest = Vec::new();
    let begin = Instant::now();
    let _ = slow.read_to_end(&mut rest);
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

/// A query without end, of a client that goes: it ends with it.
#[test]
fn a_client_that_goes_takes_its_query_with_it() {
    let server = Server::start(&[]);
    let endless = "WITH+RECURSIVE+c(x)+AS+(SELECT+1+UNION+ALL+SELECT+x%2B1+FROM+c)+\
                   SELECT+count(*)+FROM+c";
    let left = || {
        let figures = server.get("/metrics");
        let line = "weir_atlas_queries_total{result=\"left\"} ";
        let (_, behind) = figures.text().split_once(line).expect("the figure");
        behind.lines().next() == Some("1")
    };
    // The copy that queries ask is made by the first one.
    server.get("/sql?format=json&q=SELECT+1");
    let mut client = server.connect();
    let request = format!("GET /sql?format=json&q={endless} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.write_all(request.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_millis(700));
    assert!(!left());
    drop(client);
    for _ in 0..20 {
        if left() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("its query goes on: {}", server.get("/metrics").text());
}

#[test]
fn metrics_are_for_this_machine() {
    let server = server();
    let text = server.get("/metrics");
    assert_eq!(text.status, 200);
    assert!(
        text.text()
            .contains("weir_atlas_requests_total{status=\"2xx\"}"),
        "{}",
        text.text()
    );
    assert!(
        text.text()
            .contains("weir_atlas_queries_total{result=\"answered\"}")
    );
    assert!(text.text().ends_with("# EOF\n"));
    let handed = server.ask("GET", "/metrics", "X-Forwarded-For: 192.0.2.1\r\n");
    assert_eq!(handed.status, 403, "a proxy asks for somebody else");
}

#[test]
fn a_public_address_below_a_path() {
    let server = Server::start(&["--public-url", "https://example.org/atlas/"]);
    let page = server.get("/chart/growth").text().to_owned();
    assert!(page.contains("href=\"/atlas/chart/top\""), "{page}");
    assert!(
        page.contains("https://example.org/atlas/embed/growth"),
        "{page}"
    );
    assert!(page.contains("src=\"/atlas/page.js?v="), "{page}");
}

#[test]
fn what_is_imported_meanwhile_is_shown() {
    let server = Server::start(&[]);
    let before = server
        .get("/chart/growth.json")
        .header("etag")
        .map(str::to_owned);
    let more = served::Folder::new();
    let text =
        "{\"new\":{\"name\":\"New\",\"state\":{\"nodes\":7},\"mtime\":\"2020-04-02 10:00:00\"}}";
    let file = more.path().join("20200402-12.00.00-ffSummarizedDir.json");
    std::fs::write(file, text).expect("written");
    let mut import = Command::new(PROGRAM);
    let import = import
        .arg("import")
        .arg(more.path())
        .arg("--data")
        .arg(server.data.path());
    assert!(import.output().expect("the program").status.success());
    for _ in 0..100 {
        let answer = server.get("/chart/growth.json");
        if answer.header("etag").map(str::to_owned) != before {
            assert!(answer.text().contains("2020-04"), "{}", answer.text());
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the old answer stays");
}

#[test]
fn no_data_is_said_at_once() {
    let nothing = served::Folder::new();
    let done = Command::new(PROGRAM)
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(nothing.path())
        .output()
        .expect("the program");
    assert_eq!(done.status.code(), Some(1));
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(text.contains("weir-atlas import"), "{text}");
}

/// Nothing was imported: the directory is asked, and what it says is shown.
#[test]
fn a_directory_is_followed_beside_serving() {
    let directory = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let url = format!(
        "http://{}/directory.json",
        directory.local_addr().expect("an address")
    );
    std::thread::spawn(move || {
        for stream in directory.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let text = "{\"new\":{\"name\":\"New\",\"state\":{\"nodes\":7}}}";
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
            let _ = stream.write_all(format!("{head}{text}").as_bytes());
        }
    });
    let server = Server::of(served::Folder::new(), &["--follow", &url]);
    for _ in 0..200 {
        let communities = server.get("/communities");
        if communities.text().contains("key=new") {
            assert!(server.end());
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("nothing of it is shown");
}
