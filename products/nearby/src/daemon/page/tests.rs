use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::*;
use crate::Id;
use crate::bluetooth::event::{BluetoothEvent, NewConnection};
use crate::daemon::routes::LISTENERS;
use crate::envelope::{self, Key};
use crate::machine::Format;

/// Long enough for a busy machine, and short enough for a test.
const REQUEST_TIME: Duration = Duration::from_secs(2);
const LONG: &str = "a token of letters";

fn key(seed: u8) -> Key {
    Key::from_seed(&[seed; 32]).expect("a key")
}

/// A page in front of a room without Bluetooth.
fn with(token: Option<&str>, test: impl AsyncFnOnce(State, SocketAddr)) {
    with_at(SocketAddr::from(([127, 0, 0, 1], 0)), token, test);
}

/// The page at another address.
fn with_at(any: SocketAddr, token: Option<&str>, test: impl AsyncFnOnce(State, SocketAddr)) {
    let settings = crate::daemon::Settings {
        adapter: String::new(),
        formats: [Format::V1, Format::V2].into(),
        links: 4,
        channels: true,
        power: crate::power::Power::Balanced,
        // An unusable folder: the queue is in memory alone.
        state: PathBuf::from("/dev/null/state"),
        queue: 1 << 20,
        socket: PathBuf::new(),
        page: None,
        village: None,
    };
    let limits = web::Limits {
        request_time: REQUEST_TIME,
        ..server::limits()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let state = State::new(Arc::new(key(7)), &settings, None);
        let page = Page {
            listeners: Listeners::bind_addresses(&[any]).expect("bound"),
            entry: token.map(TokenAuth::new),
        };
        let address = page.address().expect("an address");
        tokio::select! {
            ended = page.serve_with(&state, limits) => panic!("{ended:?}"),
            () = test(state.clone(), address) => {}
        }
    });
}

/// Adds a peer nearby that has called by v1.
fn near(state: &State, seed: u8) -> Id {
    let id = key(seed).node().id();
    let address = bluer::Address([2, 0, 0, 0, 0, seed]);
    let (writer, _) = mpsc::channel(1);
    state.told(BluetoothEvent::Seen {
        address,
        format: Format::V1,
        prefix: None,
        signal: Some(-61),
    });
    state.told(BluetoothEvent::Opened(NewConnection {
        link: seed.into(),
        address,
        format: Format::V1,
        caller: false,
        id: None,
        frame: 20,
        writer,
    }));
    says(state, seed, "I am here");
    id
}

fn says(state: &State, seed: u8, text: &str) {
    let from = key(seed);
    let octets = envelope::feed(&from, text, 1_000);
    let frame = crate::v1::frame(from.node().id(), &octets);
    state.told(BluetoothEvent::Heard(seed.into(), frame));
}

/// Status, head and body of an answer.
struct Answered(u16, String, String);

async fn send(address: SocketAddr, request: &str) -> Answered {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut octets = Vec::new();
    // A refused client may be cut off while it still writes.
    let _ = stream.read_to_end(&mut octets).await;
    let text = String::from_utf8_lossy(&octets).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    Answered(status.unwrap_or(0), head.to_lowercase(), body.to_owned())
}

/// `more`: header lines, or nothing for those of the page itself.
async fn ask(address: SocketAddr, line: &str, more: &str, body: &str) -> Answered {
    let host = match more.to_lowercase().contains("host:") {
        true => String::new(),
        false => format!("Host: {address}\r\n"),
    };
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {length}\r\n{more}\r\n{body}"
    );
    send(address, &request).await
}

const JSON: &str = "Content-Type: application/json\r\n";
const SAY: &str = r#"{"to":"all","text":"Hello"}"#;

#[test]
fn every_answer_has_a_strict_policy() {
    with(None, async |_, address| {
        for (path, wanted) in [
            ("/", 200),
            ("/page.js", 200),
            ("/page.css", 200),
            ("/icon.svg", 200),
            ("/api/peers", 200),
            ("/metrics", 200),
            ("/nothing", 404),
            ("/v1/peers", 404),
            ("/../page.js", 404),
        ] {
            let Answered(status, head, _) = ask(address, &format!("GET {path}"), "", "").await;
            assert_eq!(status, wanted, "{path}");
            for line in [
                "content-security-policy: default-src 'self'; base-uri 'none'",
                "x-content-type-options: nosniff",
                "x-frame-options: deny",
                "cache-control: no-store",
            ] {
                assert!(head.contains(line), "{path}: {line}: {head}");
            }
            assert!(!head.contains("access-control"), "{head}");
        }
    });
}

#[test]
fn what_another_sites_page_could_send_is_refused() {
    with(None, async |state, address| {
        near(&state, 1);
        let own = format!("Origin: http://{address}\r\n{JSON}");
        let long = format!(r#"{{"to":"all","text":"{}"}}"#, "x".repeat(1 << 19));
        let (say, peers) = ("POST /api/messages", "GET /api/peers");
        for (line, more, body, status, word) in [
            (peers, "Host: evil.example\r\n", "", 403, "wrong_host"),
            (
                say,
                &format!("Host: evil.example\r\n{JSON}")[..],
                SAY,
                403,
                "wrong_host",
            ),
            ("GET /", "Host: evil.example\r\n", "", 403, "wrong_host"),
            (peers, "Host: \r\n", "", 400, "no_host"),
            (
                say,
                &format!("Origin: http://evil.example\r\n{JSON}"),
                SAY,
                403,
                "other_site",
            ),
            (
                say,
                &format!("Origin: null\r\n{JSON}"),
                SAY,
                403,
                "other_site",
            ),
            (
                say,
                &format!("Origin: http://127.0.0.1:1\r\n{JSON}"),
                SAY,
                403,
                "other_site",
            ),
            (
                say,
                &format!("Sec-Fetch-Site: same-site\r\n{JSON}"),
                SAY,
                403,
                "other_site",
            ),
            (
                peers,
                "Sec-Fetch-Site: cross-site\r\n",
                "",
                403,
                "other_site",
            ),
            (
                "GET /api/messages",
                "Sec-Fetch-Site: cross-site\r\n",
                "",
                403,
                "other_site",
            ),
            (
                "GET /api/past",
                "Origin: http://evil.example\r\n",
                "",
                403,
                "other_site",
            ),
            (
                "GET /metrics",
                "Sec-Fetch-Site: cross-site\r\n",
                "",
                403,
                "other_site",
            ),
            (say, "Content-Type: text/plain\r\n", SAY, 415, "not_json"),
            (say, "", SAY, 415, "not_json"),
            (say, &own, &long, 413, "too_long"),
            (say, &own, "{", 400, "malformed_body"),
            (
                say,
                &own,
                r#"{"to":"ab597ba8806c0443","text":"x"}"#,
                404,
                "not_near",
            ),
            ("POST /api/peers", &own, "{}", 405, "wrong_method"),
            ("DELETE /api/messages", &own, "", 405, "wrong_method"),
            (
                "OPTIONS /api/messages",
                "Origin: http://evil.example\r\n",
                "",
                405,
                "wrong_method",
            ),
            ("GET /api/login", "", "", 405, "wrong_method"),
            (
                "POST /api/login",
                &own,
                r#"{"token":"x"}"#,
                404,
                "unknown_path",
            ),
            ("POST /", &own, "", 405, "wrong_method"),
        ] {
            let told = ask(address, line, more, body).await;
            assert_eq!(told.0, status, "{line} {more}: {}", told.2);
            assert!(
                told.2.contains(&format!(r#""error":"{word}""#)),
                "{line}: {}",
                told.2
            );
            assert_eq!(told.1.contains("allow:"), status == 405, "{}", told.1);
        }
        assert!(state.past().iter().all(|it| !it.own), "nothing was said");
        let told = ask(address, say, &own, SAY).await;
        assert_eq!((told.0, &told.2[..]), (200, r#"{"peers":1,"waiting":0}"#));
        assert_eq!(
            state.past().last().map(|it| (it.own, it.to)),
            Some((true, 1))
        );
    });
}

#[test]
fn who_is_slow_is_told_or_cut_off() {
    with(None, async |_, address| {
        let head = format!("POST /api/messages HTTP/1.1\r\nHost: {address}\r\n{JSON}");
        let told = send(address, &format!("{head}Content-Length: 9\r\n\r\n{{")).await;
        assert_eq!(told.0, 408, "{}", told.2);
        let told = send(address, &head).await;
        assert_eq!(told.2, "", "there is no request to be answered");
        // Other clients are served meanwhile and after.
        assert_eq!(ask(address, "GET /api/peers", "", "").await.0, 200);
    });
}

/// Bodies that never end, from 64 addresses of a network: a client with another one is answered 20
/// times of 20.
#[test]
fn slow_clients_keep_no_other_one_out() {
    let alone = std::thread::spawn(|| {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("root");
        let ip = |line: &str| {
            let done = std::process::Command::new("ip")
                .args(line.split(' '))
                .status();
            assert!(done.expect("ip").success(), "{line}");
        };
        ip("link set lo up");
        for last in 1..=64 {
            ip(&format!("address add 10.9.0.{last}/32 dev lo"));
        }
        ip("address add 10.9.1.65/32 dev lo");
        ip("address add 10.9.0.66/32 dev lo");
        with_at(
            SocketAddr::from(([10, 9, 0, 66], 0)),
            None,
            async |_, to| {
                let connect = async |network: u8, last: u8| {
                    let socket = tokio::net::TcpSocket::new_v4()?;
                    socket.bind(SocketAddr::from(([10, 9, network, last], 0)))?;
                    socket.connect(to).await
                };
                let mut held = Vec::new();
                for last in 1..=64 {
                    let mut slow = connect(0, last).await.expect("it listens");
                    let head = format!("POST /api/messages HTTP/1.1\r\nHost: {to}\r\n{JSON}");
                    let half = format!("{head}Content-Length: 9\r\n\r\n{{");
                    slow.write_all(half.as_bytes()).await.expect("written");
                    // The server reads this request before the next one comes.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    held.push(slow);
                }
                for n in 0..20 {
                    let mut other = connect(1, 65).await.expect("it listens");
                    let request =
                        format!("GET / HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n");
                    other.write_all(request.as_bytes()).await.expect("written");
                    let mut answer = Vec::new();
                    let _ = other.read_to_end(&mut answer).await;
                    assert!(answer.starts_with(b"HTTP/1.1 200 "), "request {n}");
                }
            },
        );
    });
    alone.join().expect("no panic");
}

async fn listens(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let request = format!("GET /api/messages HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    stream
}

async fn hears(stream: &mut TcpStream, what: &str) -> String {
    let mut text = String::new();
    while !text.contains(what) {
        let mut piece = [0; 4096];
        let octets = stream.read(&mut piece).await.expect("read");
        assert!(octets > 0, "it ended: {text}");
        text += &String::from_utf8_lossy(&piece[..octets]);
    }
    text
}

#[test]
fn who_listens_hears_what_comes_and_what_is_said() {
    with(None, async |state, address| {
        let mut stream = listens(address).await;
        let head = hears(&mut stream, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let id = near(&state, 1);
        hears(&mut stream, "I am here").await;
        says(&state, 1, "<b>&\u{202e}");
        hears(&mut stream, "<b>&\u{202e}").await;
        ask(address, "POST /api/messages", JSON, SAY).await;
        hears(&mut stream, r#""event":"own""#).await;
        let Answered(_, _, peers) = ask(address, "GET /api/peers", "", "").await;
        assert!(
            peers.contains(&id.to_string()) && peers.contains("-61"),
            "{peers}"
        );
        let Answered(_, _, past) = ask(address, "GET /api/past", "", "").await;
        let past: serde_json::Value = serde_json::from_str(&past).expect("JSON");
        let texts: Vec<&str> = past["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| it["text"].as_str())
            .collect();
        assert_eq!(texts, ["I am here", "<b>&\u{202e}", "Hello"]);
        // Said again by another, it is doubled.
        says(&state, 1, "I am here");
        let Answered(_, head, figures) = ask(address, "GET /metrics", "", "").await;
        assert!(head.contains("application/openmetrics-text"), "{head}");
        for line in [
            "weir_nearby_peers 1",
            "weir_nearby_connections{format=\"v1\"} 1",
            "weir_nearby_waiting_messages 1",
            "weir_nearby_listeners 1",
            "weir_nearby_heard_messages_total{format=\"v1\",kind=\"feed\"} 2",
            "weir_nearby_doubled_messages_total 1",
            "weir_nearby_passed_messages_total 0",
            "weir_nearby_said_messages_total 1",
        ] {
            assert!(figures.lines().any(|it| it == line), "{line}\n{figures}");
        }
        let read = figures
            .lines()
            .find(|it| it.contains("read_bytes_total{format=\"v1\"}"));
        assert!(read.is_some_and(|it| !it.ends_with(" 0")), "{read:?}");
        // A message of one peer is passed on to the other.
        near(&state, 2);
        let Answered(_, _, figures) = ask(address, "GET /metrics", "", "").await;
        let passed = "weir_nearby_passed_messages_total 1";
        assert!(figures.lines().any(|it| it == passed), "{figures}");
    });
}

#[test]
fn those_who_listen_are_bounded() {
    with(None, async |state, address| {
        let mut all = Vec::new();
        for _ in 0..LISTENERS {
            let mut stream = listens(address).await;
            hears(&mut stream, "200").await;
            all.push(stream);
        }
        let told = hears(&mut listens(address).await, "\r\n\r\n").await;
        assert!(told.starts_with("HTTP/1.1 503"), "{told}");
        assert!(told.contains("retry-after:"), "{told}");
        assert_eq!(ask(address, "GET /api/peers", "", "").await.0, 200);
        all.clear();
        while state.listeners() >= LISTENERS {
            tokio::task::yield_now().await;
        }
        hears(&mut listens(address).await, "200").await;
    });
}

#[test]
fn who_has_the_token_is_let_in() {
    with(Some(LONG), async |_, address| {
        let get =
            async |path: &str, more: &str| ask(address, &format!("GET {path}"), more, "").await;
        let login = async |body: &str| ask(address, "POST /api/login", JSON, body).await;
        assert_eq!(get("/", "").await.0, 200, "where it is asked for");
        for path in ["/api/peers", "/api/past", "/api/messages", "/metrics"] {
            let told = get(path, "Cookie: weir-nearby=00\r\n").await;
            assert_eq!(told.0, 401, "{path}");
        }
        assert_eq!(ask(address, "POST /api/messages", JSON, SAY).await.0, 401);
        let given = format!(r#"{{"token":"{LONG}"}}"#);
        let told = login(&given).await;
        assert_eq!(told.0, 200, "{}", told.2);
        let cookie = told
            .1
            .lines()
            .find_map(|it| it.strip_prefix("set-cookie: "));
        let cookie = cookie.expect("a cookie");
        assert!(cookie.ends_with("; httponly; samesite=strict"), "{cookie}");
        let pair = cookie.split(';').next().expect("a pair");
        for path in ["/api/peers", "/metrics"] {
            assert_eq!(
                get(path, &format!("Cookie: {pair}\r\n")).await.0,
                200,
                "{path}"
            );
            let bearer = format!("Authorization: Bearer {LONG}\r\n");
            assert_eq!(get(path, &bearer).await.0, 200, "{path}");
        }
        assert_eq!(login("{}").await.0, 400);
        assert_eq!(login(&"x".repeat(5_000)).await.0, 413);
        let mut answers = Vec::new();
        for _ in 0..6 {
            answers.push(login(r#"{"token":"x"}"#).await.0);
        }
        assert!(
            answers.starts_with(&[401]) && answers.ends_with(&[429]),
            "{answers:?}"
        );
        // Clients with a cookie from before keep their access.
        assert_eq!(
            get("/api/peers", &format!("Cookie: {pair}\r\n")).await.0,
            200
        );
    });
}

#[test]
fn others_reach_it_with_a_token_only() {
    let folder = std::env::temp_dir().join(format!("weir-nearby-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("token");
    let open = |listen: &str, token: Option<&PathBuf>| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime");
        let _entered = runtime.enter();
        let page = Page::open(&PageSettings {
            listen: listen.parse().expect("an address"),
            token: token.cloned(),
        });
        page.map(|page| page.entry.is_some())
    };
    for own in ["127.0.0.1:0", "[::1]:0"] {
        assert_eq!(open(own, None), Ok(false));
    }
    for others in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
        let error = open(others, None).expect_err(others);
        assert!(error.contains("--page-token"), "{error}");
    }
    let none = open("0.0.0.0:0", Some(&file)).expect_err("there is no file");
    assert!(none.contains("openssl rand"), "{none}");
    std::fs::write(&file, format!("{LONG}\n").replace(' ', "-")).expect("written");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("a mode");
    let open_to_all = open("0.0.0.0:0", Some(&file)).expect_err("others read it");
    assert!(open_to_all.contains("chmod 600"), "{open_to_all}");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("a mode");
    for any in ["0.0.0.0:0", "127.0.0.1:0"] {
        assert_eq!(open(any, Some(&file)), Ok(true));
    }
    let _ = std::fs::remove_dir_all(&folder);
}
