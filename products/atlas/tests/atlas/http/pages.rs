//! Pages: of lists, of free queries, of errors.

use super::common::server;

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
    // Returns the number of lines, in all or found.
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
    // Each link names its target, and figures of one hour are marked as such.
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
        ("/sql?format=xml", 400),
        ("/sql?q=SELECT+1&format=JSON", 400),
        ("/sql?q=SELECT+1&format=csv%20", 400),
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
        ("/sql?x=1&format=html", 400),
    ] {
        let browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
        for headers in ["", "Accept: */*\r\n", browser] {
            let answer = server.ask("GET", path, headers);
            assert_eq!(answer.status, status, "{path}");
            assert!(answer.text().contains("role=\"alert\""), "{path}");
        }
        if path.ends_with("html") {
            continue;
        }
        for accept in ["application/json", "text/html;q=0.1, application/json"] {
            let answer = server.ask("GET", path, &format!("Accept: {accept}\r\n"));
            assert_eq!(answer.status, status, "{path}");
            assert!(answer.json()["error"].is_string(), "{path}");
        }
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
fn names_of_columns_are_no_formulas() {
    let server = server();
    let csv = server.get("/sql?format=csv&q=SELECT+char%2810%29%7C%7C%27%3D1%27+AS+%22%3D1%2B1%22");
    assert_eq!(csv.text(), "'=1+1\r\n\"'\n=1\"\r\n");
}

#[test]
fn a_picture_of_a_query_says_what_it_lacks() {
    let server = server();
    let ask = |query: &str, language: &str| {
        let query: String = query.bytes().map(|octet| format!("%{octet:02X}")).collect();
        server.get(&format!("/sql?q={query}&lang={language}"))
    };
    let numbers = |most: i32| {
        format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{most}) ")
    };
    let names = numbers(9) + "SELECT '2019-01' AS month, 'n'||i AS name, i FROM n";
    let english = "The picture has the 8 largest of 9 names.";
    let page = ask(&names, "en");
    assert!(page.text().contains(english), "{}", page.text());
    let german = "Das Bild hat die 8 größten von 9 Namen.";
    assert!(ask(&names, "de").text().contains(german));
    let eight = names.replace("i<9", "i<8");
    assert!(!ask(&eight, "en").text().contains("The picture has"));
    let bars = numbers(31) + "SELECT 'n'||i AS name, i FROM n";
    let first = "The picture has the first 30 of 31 rows.";
    assert!(ask(&bars, "en").text().contains(first));
    let columns =
        "SELECT '2019-01' AS month,1,2,3,4,5,6,7,8,9 UNION ALL SELECT '2019-02',1,2,3,4,5,6,7,8,9";
    let first = "The picture has the first 8 of 9 columns.";
    assert!(ask(columns, "en").text().contains(first));
}
