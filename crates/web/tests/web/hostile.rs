//! Hostile clients: nothing that they send makes the server panic, wait, or grow.

use crate::support;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use support::{Answer, Directory, PASSWORD, Server, password_in};
use weir_web::password::{Cost, hash};
use weir_web::{Limits, Metrics, secret};

fn quick(limits: &mut Limits) {
    limits.request_time = Duration::from_millis(300);
    limits.stall_time = Duration::from_millis(600);
}

#[test]
fn slow_ones_are_given_up() {
    let server = Server::with(Directory::new(), |settings| quick(&mut settings.limits));
    for begin in [
        "",
        "G",
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let mut stream = server.connect();
        stream.write_all(begin.as_bytes()).expect("sent");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(
            rest.starts_with(b"HTTP/1.1 200 "),
            begin.ends_with("\r\n\r\n")
        );
    }
    let mut stream = server.connect();
    let head = "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
        application/json\r\nContent-Length: 9\r\n\r\n{";
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(Answer::read(&answer).error(), (408, "too_slow".into()));
}

#[test]
fn one_octet_at_a_time_is_no_way_to_stay() {
    let server = Server::with(Directory::new(), |settings| quick(&mut settings.limits));
    let mut stream = server.connect();
    let drops = "GET / HTTP/1.1\r\nHost: localhost\r\nX: "
        .bytes()
        .chain(std::iter::repeat_n(b'x', 2000));
    let mut sent = 0;
    for octet in drops {
        if stream.write_all(&[octet]).is_err() {
            break;
        }
        sent += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(sent < 2000, "it was let go on to the end");
}

#[test]
fn large_ones_are_refused() {
    let server = Server::start();
    let long = "x".repeat(64 * 1024);
    for request in [
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"),
        format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
            "X: y\r\n".repeat(65)
        ),
    ] {
        let answer = server.exchange(request.as_bytes());
        let text = String::from_utf8_lossy(&answer);
        assert!(
            text.starts_with("HTTP/1.1 431 ") || text.starts_with("HTTP/1.1 414 "),
            "{text}"
        );
    }
    let body = format!(r#"{{"password":"{long}"}}"#);
    let answer = server.post_json("/api/login", &[], &body);
    assert_eq!(answer.error(), (413, "too_long".into()));
    let chunked = format!(
        "POST /api/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \
            application/json\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n{long}\r\n0\r\n\r\n"
    );
    let answer = Answer::read(&server.exchange(chunked.as_bytes()));
    assert_eq!(answer.error(), (413, "too_long".into()));
    // A client without a session cannot send a body to the API.
    let answer = server.ask("POST", "/api/v1/reload", &[], &long);
    assert_eq!(answer.status, 401);
}

#[test]
fn connections_are_bounded() {
    let server = Server::with(Directory::new(), |settings| settings.limits.connections = 8);
    // Each connection has been served once, so that it counts.
    let enter = || {
        let mut stream = server.connect();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        (stream.read(&mut [0; 64]).unwrap_or(0) > 0).then_some(stream)
    };
    let mut held: Vec<_> = (0..8).map(|_| enter().expect("there is room")).collect();
    // Each further connection displaces the longest idle one.
    for _ in 0..3 {
        held.push(enter().expect("room is made"));
    }
    let there: Vec<bool> = held.iter_mut().map(goes_on).collect();
    assert_eq!(there, [[false; 3].as_slice(), &[true; 8]].concat());
}

/// Returns true if the server did not close the connection.
fn goes_on(stream: &mut TcpStream) -> bool {
    let wait = Duration::from_millis(200);
    stream.set_read_timeout(Some(wait)).expect("set");
    let mut rest = [0; 65_536];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}

/// While a password is tried, the server serves the page before the verdict.
#[test]
fn trying_a_password_holds_nobody_up() {
    let directory = Directory::new();
    let dear = Cost {
        memory: 64 * 1024,
        passes: 16,
    };
    let hash = hash(PASSWORD, dear).expect("hashed");
    secret::write(&directory.path().join("password"), &hash).expect("written");
    let server = Server::with(directory, |_| {});
    let mut login = server.connect();
    let body = format!(r#"{{"password":"{PASSWORD}"}}"#);
    let head = format!(
        "POST /api/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \
            application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    login.write_all(head.as_bytes()).expect("sent");
    for _ in 0..3 {
        assert_eq!(server.get("/").status, 200);
    }
    login.set_nonblocking(true).expect("set");
    let early = login.read(&mut [0; 64]);
    assert!(
        early.is_err_and(|error| error.kind() == ErrorKind::WouldBlock),
        "answered already"
    );
    login.set_nonblocking(false).expect("set");
    let mut answer = Vec::new();
    login.read_to_end(&mut answer).expect("an answer");
    assert_eq!(Answer::read(&answer).status, 200);
}

/// A compromised page process invents clients: clients without a connection have no tries, and
/// connected ones no more than usual.
#[test]
fn clients_that_are_made_up_have_no_tries() {
    use std::net::IpAddr;
    use std::rc::Rc;

    let directory = Directory::new();
    let settings = weir_web::Settings {
        password_file: password_in(&directory),
        ..weir_web::Settings::default()
    };
    let there: [IpAddr; 2] = ["192.0.2.1", "127.0.0.1"].map(|one| one.parse().expect("an address"));
    let warden =
        weir_web::Authenticator::with_clock(settings, Rc::new(|| Duration::from_secs(1000)))
            .expect("a warden")
            .with_cost(support::CHEAP)
            .with_peers(Box::new(move |address| there.contains(&address)));
    let routes = Rc::new(warden).routes(&support::daemon());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let tried = |address: &str| {
        let body =
            format!(r#"{{"address":"{address}","password":"guess","former":[],"device":null}}"#);
        let found = routes.find("POST", "/page/login", api::AccessLevel::Guest);
        let found = found.expect("a route");
        let answer = runtime.block_on(found.respond("", body.as_bytes()));
        match answer {
            Ok(_) => panic!("a wrong password opens"),
            Err(problem) => problem.error,
        }
    };
    for number in 0..256 {
        assert_eq!(tried(&format!("198.51.100.{number}")), "no_client");
        assert_eq!(tried(&format!("2001:db8:0:{number:x}::1")), "no_client");
    }
    assert_eq!(tried("127.0.0.2"), "no_client");
    for address in ["192.0.2.1", "127.0.0.1"] {
        let wrong = (0..30)
            .filter(|_| tried(address) == "wrong_password")
            .count();
        assert_eq!(wrong, 5, "{address}");
    }
}

fn ip(command: &str) {
    let status = Command::new("ip").args(command.split(' ')).status();
    assert!(status.expect("ip").success(), "{command}");
}

/// Runs in a network namespace of its own, which ends with its thread.
fn alone(work: fn()) {
    std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("root");
        ip("link set lo up");
        work();
    })
    .join()
    .expect("no panic");
}

#[test]
fn both_families_on_one_port() {
    alone(|| {
        let listen = ["0.0.0.0:9347", "[::]:9347", "[::1]:9348"];
        let _server = Server::with(Directory::new(), |settings| {
            settings.listen = listen.map(|text| text.parse().expect("an address")).into();
            settings.insecure = true;
        });
        for address in ["127.0.0.1:9347", "[::1]:9347", "[::1]:9348"] {
            let mut stream = TcpStream::connect(address).expect("the server listens");
            let request =
                "GET /api/session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).expect("sent");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("an answer");
            assert_eq!(Answer::read(&answer).json()["local"], true, "{address}");
        }
    });
}

/// Clients on the network have lower limits than clients on the router. A local address that is not
/// loopback counts as the network.
#[test]
fn others_on_the_network() {
    alone(|| {
        let lan: SocketAddr = "192.0.2.1:0".parse().expect("an address");
        let server = Server::with(Directory::new(), |settings| {
            settings.listen = vec![lan];
            settings.insecure = true;
            settings.metrics = Metrics::Loopback;
        });
        // As at boot, the address comes after the daemon.
        ip("address add 192.0.2.1/32 dev lo");
        assert_eq!(server.get("/").status, 200);
        let state = server.get("/api/session").json();
        assert_eq!(
            (&state["local"], &state["password_set"]),
            (&false.into(), &false.into())
        );
        for host in ["192.0.2.1", "localhost"] {
            let set = r#"{"new":"a good password"}"#;
            let answer = server.post_json("/api/password", &[("Host", host)], set);
            assert_eq!(answer.error(), (403, "not_local".into()), "{host}");
            let figures = server.ask("GET", "/metrics", &[("Host", host)], "");
            assert_eq!(figures.status, 403, "{host}");
        }
        assert!(!server.directory.path().join("password").exists());

        // Places: one client has twelve. Its slowest connection makes room for one more. Time
        // stands still, so of 23 connections at once of one address enough are left for this.
        server.wait(60);
        let hold = || {
            let mut stream = server.connect();
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n");
            (stream.read(&mut [0; 64]).unwrap_or(0) > 0).then_some(stream)
        };
        let mut held: Vec<_> = (0..20).map_while(|_| hold()).collect();
        let there: Vec<bool> = held.iter_mut().map(goes_on).collect();
        assert_eq!(there, [[false; 8].as_slice(), &[true; 12]].concat());
        drop(held);
        server.wait(60);
        let served = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            hold().is_some()
        });
        assert!(served, "there is room again");
        // Rate: time stands still, and the burst is used up.
        let refused = (0..80).any(|_| {
            let mut stream = server.connect();
            let _ =
                stream.write_all(b"GET / HTTP/1.1\r\nHost: 192.0.2.1\r\nConnection: close\r\n\r\n");
            stream.read(&mut [0; 64]).unwrap_or(0) == 0
        });
        assert!(refused, "80 connections at once");
        server.wait(60);
        assert_eq!(server.get("/").status, 200);
    });
}

/// Opens a connection from one address to another.
fn connect_from(from: SocketAddr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let socket = match from {
            SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
            SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
        };
        socket.bind(from)?;
        let stream = socket.connect(to).await?.into_std()?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(stream)
    })
}

/// Returns true if the server answers a request from this address, with these header lines.
fn is_answered(from: &str, to: SocketAddr, path: &str, headers: &str) -> bool {
    let from = from.parse().expect("an address");
    let mut stream = connect_from(from, to).expect("the server listens");
    let host = to.ip();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: [{host}]\r\nConnection: close\r\n{headers}\r\n");
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer.starts_with(b"HTTP/1.1 200 ")
}

/// Others connect and close, more often than all together may: eight devices, 10 times a second
/// each; and a device behind another router, from 64 addresses. A device that connects once a
/// second is answered, and one with a logged-in user twice a second.
#[test]
fn clients_that_connect_often_keep_no_device_out() {
    alone(|| {
        for address in ["fd00::1/128", "10.9.1.1/32"] {
            ip(&format!("address add {address} dev lo"));
        }
        for device in 10..=21 {
            ip(&format!("address add fd00::{device}:1/128 dev lo nodad"));
        }
        for last in 1..=64 {
            ip(&format!("address add 10.9.0.{last}/32 dev lo"));
        }
        let directory = Directory::new();
        password_in(&directory);
        let listen = ["[fd00::1]:9347", "10.9.1.1:9347"];
        let [six, four]: [SocketAddr; 2] = listen.map(|text| text.parse().expect("an address"));
        let server = Server::with(directory, |settings| {
            settings.listen = vec![six, four];
            settings.insecure = true;
        });
        let cookie = format!("Cookie: {}\r\n", server.log_in(PASSWORD).cookie());
        let user = || is_answered("[fd00::20:1]:0", six, "/api/v1/status", &cookie);
        assert!(user());
        let devices = (10..18).map(|device| format!("[fd00::{device}:1]:0"));
        let routed = (1..=64).map(|last| format!("10.9.0.{last}:0"));
        for (others, each, to) in [
            (devices.collect::<Vec<_>>(), 10, six),
            (routed.collect(), 1, four),
        ] {
            let [mut of_user, mut of_other] = [0; 2];
            for second in 0..13 {
                server.wait(1);
                // The common limit is full at first.
                let each = if second == 0 {
                    200 / others.len() + 1
                } else {
                    each
                };
                for from in others
                    .iter()
                    .flat_map(|from| std::iter::repeat_n(from, each))
                {
                    let _ = connect_from(from.parse().expect("an address"), to);
                    // The pause keeps the accept queue short.
                    std::thread::sleep(Duration::from_millis(1));
                }
                if second >= 3 {
                    of_user += (0..2).filter(|_| user()).count();
                    of_other += usize::from(is_answered("[fd00::21:1]:0", six, "/", ""));
                }
            }
            assert_eq!((of_user, of_other), (20, 10), "{to}");
        }
    });
}

/// Heads and bodies that never end, and answers that are never read, from 64 addresses of one
/// device: another client of the network is answered 20 times of 20.
#[test]
fn a_slow_device_keeps_no_client_out() {
    const HEAD: &str = "POST /api/login HTTP/1.1\r\nHost: [fd00::1]\r\nContent-Type: \
        application/json\r\nContent-Length: 99\r\n";
    alone(|| {
        for last in 1..=64 {
            ip(&format!("address add fd00::a:{last}/128 dev lo nodad"));
            ip(&format!("address add 10.9.0.{last}/32 dev lo"));
        }
        for address in ["fd00::1/128", "fd00::b:1/128", "10.9.1.1/32"] {
            ip(&format!("address add {address} dev lo"));
        }
        let server = Server::with(Directory::new(), |settings| {
            settings.listen = ["[fd00::1]:9347", "10.9.1.1:9347"]
                .map(|text| text.parse().expect("an address"))
                .into();
            settings.insecure = true;
        });
        let six: SocketAddr = "[fd00::1]:9347".parse().expect("an address");
        let four: SocketAddr = "10.9.1.1:9347".parse().expect("an address");
        let slow = [
            format!("{HEAD}\r\n{{"),
            HEAD.to_owned(),
            "GET / HTTP/1.1\r\nHost: [fd00::1]\r\n\r\n".repeat(50),
            String::new(),
        ];
        for kind in slow {
            let mut held = Vec::new();
            let mut attack = |n: usize| {
                let last = n % 64 + 1;
                // Known by its hardware address; and by IPv4, as a network behind another router.
                let from = match n % 2 {
                    0 => (format!("[fd00::a:{last}]:0"), six),
                    _ => (format!("10.9.0.{last}:0"), four),
                };
                let source = from.0.parse().expect("an address");
                let Ok(mut stream) = connect_from(source, from.1) else {
                    return;
                };
                let _ = stream.set_nonblocking(true);
                let _ = stream.write_all(kind.as_bytes());
                // The server reads this request before the next one comes.
                std::thread::sleep(Duration::from_millis(2));
                held.push(stream);
            };
            for n in 0..256 {
                if n % 64 == 0 {
                    server.wait(60);
                }
                attack(n);
            }
            let answered = (0..20).filter(|n| {
                attack(2 * n);
                attack(2 * n + 1);
                let answered = is_answered("[fd00::b:1]:0", six, "/", "");
                server.wait(1);
                answered
            });
            assert_eq!(answered.count(), 20, "{kind:.40}");
        }
    });
}
