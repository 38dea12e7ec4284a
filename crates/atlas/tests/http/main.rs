//! The server, asked over real sockets by a client that says every octet itself.

mod clients;
mod health;
mod memory;
mod replaced;
mod running;
#[path = "../served/mod.rs"]
mod served;
mod shares;

use std::io::Read;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use served::{PROGRAM, Server};

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
    // How many there are in all, and of what is looked for.
    let lines = |page: &str, says: &str| {
        let number = page.split(&format!("{says}: ")).nth(1);
        let number = number.and_then(|rest| rest.split('<').next()?.parse::<usize>().ok());
        let rows = page.matches("<tr><th scope=\"row\">").count();
        assert_eq!(number, Some(rows), "{page}");
        rows
    };
    let all = lines(&ledger, "Lines");
    let found = server.get("/ledger?q=20190301").text().to_owned();
    let found = lines(&found, "Lines found");
    assert!(found > 0 && found < all, "{found} of {all}");
    // Each link says where it leads, and figures of one hour say that they are.
    let overview = server.get("/").text().to_owned();
    for says in [
        "More<span class=\"hidden\">: Growth</span>",
        "<dt>Nodes now</dt>",
    ] {
        assert!(overview.contains(says), "{says}: {overview}");
    }
    assert_eq!(overview.matches(">More</a>").count(), 0);
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
fn where_nothing_is_the_nearest_snapshot_is() {
    let server = server();
    for (asked, leads) in [
        (
            "growth?from=2019-01-20&amp;to=2019-01-25",
            "from=2019-01-15&amp;to=2019-01-15\"",
        ),
        (
            "growth?from=2019-02-14&amp;to=2019-02-14",
            "from=2019-02-15&amp;to=2019-02-15\"",
        ),
        ("growth?from=2022", "from=2020-03-15&amp;to=2020-03-15\""),
        ("heat?at=2019-06", "at=2019-02-15\""),
        (
            "community?key=jena&amp;to=2018",
            "from=2019-01-15&amp;to=2019-01-15&amp;key=jena\"",
        ),
    ] {
        let page = server.get(&format!("/chart/{}", asked.replace("&amp;", "&")));
        let text = page.text();
        let part = text.split("data-part=\"nearest\"").nth(1);
        let part = part.and_then(|rest| rest.split("</p>").next());
        let part = part.unwrap_or_default();
        assert!(part.contains(leads), "{asked}: {part}");
    }
    let full = server.get("/chart/growth?from=2019").text().to_owned();
    assert!(!full.contains("data-part=\"nearest\"><a"), "{full}");
}

#[test]
fn what_is_said_beside_a_picture_is_said_once() {
    let server = server();
    // The note of a number that nobody believes.
    let says = "not believed (below 0";
    let page = server.get("/chart/community?key=odd").text().to_owned();
    let (picture, list) = page.split_once("<ul class=\"notes\"").expect("a list");
    assert!(list.contains(says), "{list}");
    // Its description has it for those who do not see it; what is drawn has not.
    let drawn = |text: &str| {
        let texts = text.split("<text").skip(1);
        let mut texts = texts.filter_map(|text| text.split("</text>").next());
        texts.any(|text| text.contains(says))
    };
    assert!(!drawn(picture), "{picture}");
    let alone = server.get("/chart/community.svg?key=odd").text().to_owned();
    assert!(drawn(&alone), "{alone}");
    let rows = server.get("/chart/community.json?key=odd&by=month").json();
    let row = &rows["series"][0];
    assert_eq!(
        (&row["odd"], &row["odd_nodes"]),
        (&1.into(), &(-1).into()),
        "{row}"
    );
    assert!(picture.contains("class=\"odd"), "{picture}");
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
    for wrong in ["SELECT+1+FROM+nodes", "DELETE+FROM+hours", "SELECT"] {
        let told = server.get(&format!("/sql?q={wrong}&format=json")).json();
        assert_eq!(
            told["hint"], "/sql lists the tables, and examples",
            "{told}"
        );
    }
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
