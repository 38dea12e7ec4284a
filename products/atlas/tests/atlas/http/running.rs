//! A server in operation: its options, its metrics, and data that arrive meanwhile.

use std::process::Command;
use std::time::Duration;

use testing::Directory;

use super::common::{directory, server, shows_what_is_followed};
use crate::served::{PROGRAM, Server};

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
    let more = Directory::new();
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
    let nothing = Directory::new();
    let done = Command::new(PROGRAM)
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(nothing.path())
        .output()
        .expect("the program");
    assert_eq!(done.status.code(), Some(1));
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(text.contains("weir-atlas import"), "{text}");
}

/// Without an import, the directory is queried, and its content is shown.
#[test]
fn a_directory_is_followed_beside_serving() {
    let server = Server::of(Directory::new(), &["--follow", &directory()]);
    shows_what_is_followed(&server);
    assert!(server.end());
}
