//! Servers that take their time.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::thread::JoinHandle;
use std::time::Duration;

use atlas::read::{ArchiveItem, Limits, Pace, fetch};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n";

/// Sends the output of `say` to one client, until the client disconnects.
fn server(say: fn(&mut TcpStream) -> std::io::Result<()>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/dir.json", listener.local_addr().unwrap());
    let said = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let asked = BufReader::new(stream.try_clone().unwrap()).lines();
        assert!(asked.map_while(Result::ok).any(|line| line.is_empty()));
        let _ = say(&mut stream);
    });
    (address, said)
}

/// An byte now and then.
fn trickle(stream: &mut TcpStream, octets: impl Iterator<Item = u8>) -> std::io::Result<()> {
    for octet in octets {
        stream.write_all(&[octet])?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn quick() -> Pace {
    Pace {
        answer: Duration::from_secs(2),
        least: 1000,
        window: Duration::from_secs(1),
        whole: Duration::from_secs(20),
    }
}

/// Returns the reason why such a server's answer is rejected.
fn refused(say: fn(&mut TcpStream) -> std::io::Result<()>, pace: Pace) -> String {
    let (address, said) = server(say);
    let mut visit = |found: ArchiveItem<'_>| match found {
        ArchiveItem::File { octets, .. } => panic!("{} octets were taken", octets.len()),
        ArchiveItem::Wrong { .. } => Ok(ControlFlow::Continue(())),
    };
    let why = fetch(&address, &Limits::default(), pace, &mut visit).unwrap_err();
    said.join().unwrap();
    let why = why.to_string();
    why.strip_prefix(&format!("{address}: "))
        .unwrap()
        .to_owned()
}

#[test]
fn an_octet_now_and_then() {
    let why = refused(
        |stream| {
            stream.write_all(format!("{HEAD}\r\n").as_bytes())?;
            trickle(stream, std::iter::repeat(b' '))
        },
        quick(),
    );
    assert!(
        why.contains("too slow") && why.contains("octets in"),
        "{why}"
    );
}

#[test]
fn an_octet_now_and_then_of_which_nothing_comes() {
    // The header of gzip has a name of any length.
    let why = refused(
        |stream| {
            let head = format!("{HEAD}content-encoding: gzip\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            stream.write_all(b"\x1f\x8b\x08\x08\0\0\0\0\0\x03")?;
            trickle(stream, std::iter::repeat(b'x'))
        },
        quick(),
    );
    assert!(why.contains("too slow"), "{why}");
}

#[test]
fn a_head_without_an_end() {
    let why = refused(
        |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nx: ")?;
            trickle(stream, std::iter::repeat(b'x'))
        },
        quick(),
    );
    assert_eq!(why, "no answer in time");
}

/// Until it begins, an answer has longer than within.
#[test]
fn silence_before_the_answer() {
    let pace = Pace {
        answer: Duration::from_secs(4),
        ..quick()
    };
    let (address, said) = server(|stream| {
        std::thread::sleep(Duration::from_millis(1500));
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
    });
    let mut count = 0;
    let mut visit = |_: ArchiveItem<'_>| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    };
    let done = fetch(&address, &Limits::default(), pace, &mut visit);
    assert_eq!(done.unwrap(), ControlFlow::Continue(()));
    said.join().unwrap();
    assert_eq!(count, 1);

    let why = refused(
        |_| {
            std::thread::sleep(Duration::from_secs(3));
            Ok(())
        },
        quick(),
    );
    assert_eq!(why, "no answer in time");
}

#[test]
fn silence() {
    let why = refused(
        |stream| {
            stream.write_all(format!("{HEAD}\r\n{{").as_bytes())?;
            trickle(stream, std::iter::once(b' '))?;
            std::thread::sleep(Duration::from_secs(4));
            Ok(())
        },
        quick(),
    );
    assert!(why.contains("it breaks off: timeout"), "{why}");
    assert!(why.ends_with("no data for 2 s"), "{why}");
}

#[test]
fn steady_without_an_end() {
    let pace = Pace {
        least: 10,
        whole: Duration::from_secs(3),
        ..quick()
    };
    let why = refused(
        |stream| {
            stream.write_all(format!("{HEAD}\r\n").as_bytes())?;
            trickle(stream, std::iter::repeat(b' '))
        },
        pace,
    );
    assert!(why.contains("it breaks off: timeout"), "{why}");
}

#[test]
fn packed_and_quick_enough() {
    let (address, said) = server(|stream| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"{\"a\": 1}")?;
        let packed = packer.finish()?;
        let length = packed.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n");
        stream.write_all(format!("{head}content-encoding: gzip\r\n\r\n").as_bytes())?;
        trickle(stream, packed.into_iter())
    });
    let mut taken = Vec::new();
    let mut visit = |found: ArchiveItem<'_>| {
        let ArchiveItem::File { name, octets } = found else {
            panic!("{found:?}");
        };
        taken.push((name.to_owned(), octets.to_vec()));
        Ok(ControlFlow::Continue(()))
    };
    let done = fetch(&address, &Limits::default(), quick(), &mut visit);
    assert_eq!(done.unwrap(), ControlFlow::Continue(()));
    said.join().unwrap();
    assert_eq!(taken, [("dir.json".to_owned(), b"{\"a\": 1}".to_vec())]);
}
