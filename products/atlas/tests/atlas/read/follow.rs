//! A growing directory, from a server on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::thread::JoinHandle;
use std::time::Duration;

use atlas::read::{FollowResult, Follower, PERIOD, follow, import};
use atlas::time::iso;

use super::{Kept, freifunk, told};

/// 2019-10-17 22:00:07 UTC.
pub const NOW: i64 = 1_571_349_607;
pub const BODY: &str = r#"{"a":{"name":"A","state":{"nodes":1},"mtime":"2019-10-17 23:30:00"}}"#;

/// Sends each answer to one connection, and returns the requests.
pub fn server(answers: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!(
        "http://{}/dir/ffSummarizedDir.json",
        listener.local_addr().unwrap()
    );
    let asked = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> = lines
                .by_ref()
                .map_while(Result::ok)
                .take_while(|l| !l.is_empty())
                .collect();
            asked.push(head.join("\n"));
            let _ = stream.write_all(answer.as_bytes());
        }
        asked
    });
    (address, asked)
}

pub fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

#[test]
fn new_same_and_failed() {
    let other = BODY.replace(":1}", ":2}");
    let (address, asked) = server(vec![
        answer(
            "200 OK",
            "etag: \"e1\"\r\nlast-modified: Thu, 17 Oct 2019 21:31:00 GMT\r\n",
            BODY,
        ),
        answer("304 Not Modified", "", ""),
        answer("200 OK", "", BODY),
        answer("503 Service Unavailable", "retry-after: 1200\r\n", "later"),
        answer("200 OK", "", "<html>no directory</html>"),
        answer("200 OK", "etag: \"e2\"\r\n", &other),
    ]);
    let mut follower = Follower::new(&address, PERIOD).unwrap();
    let mut kept = Kept::default();
    let mut ask = |follower: &mut Follower| follower.ask(&freifunk(), NOW, &mut kept).unwrap();

    let new = FollowResult::New {
        entries: 1,
        remarks: 0,
    };
    assert_eq!(ask(&mut follower), new);
    assert_eq!(ask(&mut follower), FollowResult::Same);
    assert_eq!(ask(&mut follower), FollowResult::Same);
    assert_eq!(follower.wait(), PERIOD);
    assert_eq!(
        ask(&mut follower),
        FollowResult::Failed("it answers 503 Service Unavailable".to_owned())
    );
    assert_eq!(follower.wait(), Duration::from_secs(1200));
    let FollowResult::Failed(why) = ask(&mut follower) else {
        panic!("read as a directory");
    };
    assert!(why.contains("not JSON"), "{why}");
    assert_eq!(follower.wait(), Duration::from_secs(600));
    assert_eq!(ask(&mut follower), new);
    assert_eq!(follower.wait(), PERIOD);

    assert_eq!(kept.snapshots.len(), 3);
    assert_eq!(kept.commits, [1, 2, 3]);
    assert_eq!(
        kept.snapshots[0].file,
        "20191018-00.00.07-ffSummarizedDir.json"
    );
    assert_eq!(iso(kept.snapshots[0].hour), "2019-10-17T21:00:00Z");
    assert_eq!(kept.snapshots[2].entries[0].nodes, Some(2));
    assert_eq!(told(&kept.snapshots[1]).len(), 1);

    let asked = asked.join().unwrap();
    assert!(
        asked[0].to_lowercase().contains("user-agent: weir-atlas/"),
        "{}",
        asked[0]
    );
    assert!(!asked[0].contains("if-none-match"));
    // The validators of the last readable answer.
    assert!(asked[1].contains("if-none-match: \"e1\""), "{}", asked[1]);
    assert!(
        asked[1].contains("if-modified-since: Thu, 17 Oct 2019"),
        "{}",
        asked[1]
    );
}

#[test]
fn what_the_server_called_its_answer_is_known_at_the_next_start() {
    let etag = "etag: \"e1\"\r\nlast-modified: Thu, 17 Oct 2019 21:31:00 GMT\r\n";
    let mut answers = vec![answer("200 OK", etag, BODY)];
    answers.resize(7, answer("304 Not Modified", "", ""));
    let (address, asked) = server(answers);
    let file = std::env::temp_dir().join(format!("weir-atlas-follow-{}", std::process::id()));
    let mut kept = Kept::default();
    let ask = |address: &str, kept: &mut Kept| {
        let follower = Follower::new(address, PERIOD).unwrap();
        let told = follower.remember(&file).ask(&freifunk(), NOW, kept);
        told.unwrap()
    };
    let first = ask(&address, &mut kept);
    assert!(matches!(first, FollowResult::New { .. }), "{first:?}");
    assert_eq!(ask(&address, &mut kept), FollowResult::Same);
    // Another directory, a store without the answer, and a file that is not whole.
    ask(&format!("{address}?other"), &mut kept);
    ask(&address, &mut Kept::default());
    let text = std::fs::read_to_string(&file).unwrap();
    for damaged in ["", &text[..text.len() / 2], &text.replace("e1", "e\\n1")] {
        std::fs::write(&file, damaged).unwrap();
        ask(&address, &mut kept);
    }
    std::fs::remove_file(&file).unwrap();

    let asked = asked.join().unwrap();
    assert!(asked[1].contains("if-none-match: \"e1\""), "{}", asked[1]);
    assert!(
        asked[1].contains("if-modified-since: Thu, 17 Oct"),
        "{}",
        asked[1]
    );
    for other in asked[..1].iter().chain(&asked[2..]) {
        assert!(!other.contains("if-none-match"), "{other}");
    }
}

#[test]
fn what_is_not_there_is_no_end() {
    let mut questions = 0;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let follower = Follower::new(&address, PERIOD).unwrap();
    let mut kept = Kept::default();
    follow(follower, &freifunk(), &mut kept, &mut |told, wait| {
        questions += 1;
        assert!(matches!(told, FollowResult::Failed(_)), "{told:?}");
        assert_eq!(wait.as_secs(), 300 << (questions - 1));
        match questions {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })
    .unwrap();
    assert_eq!((questions, kept.snapshots.len()), (3, 0));
}

#[test]
fn import_of_an_address() {
    let (address, asked) = server(vec![
        answer("200 OK", "", BODY),
        answer("404 Not Found", "", ""),
    ]);
    let mut kept = Kept::default();
    let places = [address];
    let mut on = |_: &_| ControlFlow::Continue(());
    let done = import(&places, &freifunk(), &mut kept, &mut on).unwrap();
    assert_eq!(
        (done.files, kept.snapshots[0].file.as_str()),
        (1, "ffSummarizedDir.json")
    );
    let error = import(&places, &freifunk(), &mut kept, &mut on).unwrap_err();
    assert!(
        error.to_string().ends_with("it answers 404 Not Found"),
        "{error}"
    );
    asked.join().unwrap();
}

#[test]
fn where_an_answer_sends_on_to() {
    let to = |place: &str| answer("302 Found", &format!("location: {place}\r\n"), "");
    let (address, asked) = server(vec![
        to("../other/dir.json?x=1"),
        to("/all/dir.json"),
        answer("200 OK", "", BODY),
        to("file:///etc/passwd"),
        answer("302 Found", "", ""),
        to("a"),
        to("b"),
        to("c"),
        to("d"),
        to("e"),
        to("f"),
    ]);
    let mut kept = Kept::default();
    let mut ask = || {
        let mut on = |_: &_| ControlFlow::Continue(());
        import(
            std::slice::from_ref(&address),
            &freifunk(),
            &mut kept,
            &mut on,
        )
    };
    assert_eq!(ask().unwrap().files, 1);
    for why in [
        "redirects to file:///etc/passwd: not a web address: write http://… or https://…",
        "it answers 302 Found, without a target",
        "it redirects more than 5 times",
    ] {
        let told = ask().unwrap_err().to_string();
        assert!(told.starts_with(&address) && told.contains(why), "{told}");
    }
    let asked = asked.join().unwrap();
    let places = asked.iter().map(|head| head.split(' ').nth(1).unwrap());
    let places: Vec<&str> = places.take(3).collect();
    assert_eq!(
        places,
        [
            "/dir/ffSummarizedDir.json",
            "/other/dir.json?x=1",
            "/all/dir.json"
        ]
    );
}

#[test]
fn addresses_as_people_write_them() {
    let (address, asked) = server(vec![answer("200 OK", "", BODY)]);
    let mut kept = Kept::default();
    let mut ask = |address: String| {
        let mut on = |_: &_| ControlFlow::Continue(());
        import(&[address], &freifunk(), &mut kept, &mut on).map(|done| done.files)
    };
    assert_eq!(ask(address.replace("http", "HTTP")).unwrap(), 1);
    asked.join().unwrap();
    for (address, why) in [
        (
            "http://127.0.0.1:99999/dir.json",
            "port 99999: they are 1 to 65535",
        ),
        ("https://[::1]:0/", "port 0: they are 1 to 65535"),
        ("http://127.0.0.1:x", "port x: they are 1 to 65535"),
        ("http:///dir.json", "it contains no host"),
    ] {
        let told = ask(address.to_owned()).unwrap_err().to_string();
        assert_eq!(told, format!("{address}: {why}"));
        assert!(Follower::new(address, PERIOD).is_err(), "{address}");
    }
    for place in ["ftp://127.0.0.1/dir.json", "File:///etc/passwd"] {
        let told = ask(place.to_owned()).unwrap_err().to_string();
        assert!(told.contains("not a web address"), "{told}");
    }
}

#[test]
fn an_answer_that_is_no_snapshot_is_none() {
    let mut archive = tar::Builder::new(Vec::new());
    for name in [
        "20191009-01.00.00-ffSummarizedDir.json",
        "20191009-02.00.00-ffSummarizedDir.json",
    ] {
        let mut header = tar::Header::new_ustar();
        header.set_size(BODY.len() as u64);
        archive
            .append_data(&mut header, name, BODY.as_bytes())
            .unwrap();
    }
    let archive = String::from_utf8(archive.into_inner().unwrap()).unwrap();
    let part = "content-range: bytes 0-1/2\r\n";
    let (address, asked) = server(vec![
        answer("200 OK", "", &archive),
        answer("206 Partial Content", part, BODY),
        answer("304 Not Modified", "", ""),
    ]);
    let mut follower = Follower::new(&address, PERIOD).unwrap();
    let mut kept = Kept::default();
    for says in [
        "it answers with an archive: `weir-atlas import http://127.0.0.1:",
        "it answers 206 Partial Content: a part of the file, which was not requested",
        "it answers 304 Not Modified to an unconditional request",
    ] {
        let FollowResult::Failed(why) = follower.ask(&freifunk(), NOW, &mut kept).unwrap() else {
            panic!("not {says}");
        };
        assert!(why.starts_with(says), "{why}");
    }
    asked.join().unwrap();
    assert_eq!(kept.snapshots.len(), 0);
}

#[test]
fn an_answer_that_is_longer_than_it_may_be_is_not_kept_by_a_part() {
    // The answer begins with a whole directory.
    let long = format!("{BODY}{}x", " ".repeat((64 << 20) - BODY.len()));
    let (address, asked) = server(vec![answer("200 OK", "", &long)]);
    let mut follower = Follower::new(&address, PERIOD).unwrap();
    let mut kept = Kept::default();
    let told = follower.ask(&freifunk(), NOW, &mut kept).unwrap();
    let why = "it sends more than 64 MiB".to_owned();
    assert_eq!(told, FollowResult::Failed(why));
    asked.join().unwrap();
    assert_eq!(kept.snapshots.len(), 0);
}
