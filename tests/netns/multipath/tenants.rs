//! A partner with several routers: effects of a revocation on the revoked router and the others.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Instant;

use lab::counters::Bytes;
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo, Transfer};
use lab::uplinks::{CLIENT, Options, PARTNER, SERVER};
use lab::{Error, Namespace};
use multipath_core::frame::Kind;
use multipath_core::{Key, Pairing, Session, Status, Welcome};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weir_tests::partner::{Pair, Partner};
use weir_tests::{LIMIT, Weir};

use crate::multipath::raw_frames::{Door, begin, frame_of};
use crate::multipath::{SECOND, at, ms};

/// Sends its name to each client.
struct Named {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Named {
    fn serve(namespace: &Namespace, at: SocketAddr, name: &'static str) -> Result<Self, Error> {
        let listener = namespace.enter(|| TcpListener::bind(at))?;
        let listener = listener.map_err(Error::system("listen"))?;
        listener
            .set_nonblocking(true)
            .map_err(Error::system("listen"))?;
        let stop = Arc::<AtomicBool>::default();
        let stopping = Arc::clone(&stop);
        let thread = namespace.background(move || {
            while !stopping.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((mut stream, _)) => drop(stream.write_all(name.as_bytes())),
                    Err(_) => sleep(ms(2)),
                }
            }
        })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the name of the host that answers at that port of the partner.
fn who(from: &Namespace, port: u16) -> Result<Option<String>, Error> {
    let to = SocketAddr::new(PARTNER, port);
    from.enter(|| {
        let mut stream = TcpStream::connect_timeout(&to, ms(300)).ok()?;
        stream.set_read_timeout(Some(ms(300))).ok()?;
        let mut name = String::new();
        stream.read_to_string(&mut name).ok()?;
        Some(name).filter(|name| !name.is_empty())
    })
}

struct Household {
    weir: Weir,
    client: Namespace,
    _router: Namespace,
}

const CLIENT2: &str = "192.168.88.2";

impl Household {
    fn build(pair: &Pair, options: &[&str], more: &str) -> Result<Self, Error> {
        let (router, client) = (Namespace::new("router2")?, Namespace::new("client2")?);
        for node in [&router, &client] {
            node.sysctl("net.ipv4.conf.all.rp_filter", 0)?;
            node.sysctl("net.ipv4.conf.default.rp_filter", 0)?;
        }
        router.sysctl("net.ipv4.ip_forward", 1)?;
        let internet = pair.uplinks.lab().node("internet")?;
        internet.ip(&format!(
            "link add home2 type veth peer name wan0 netns {}\naddr add 10.65.0.1/24 dev home2\n\
             link set home2 up\n",
            router.name()
        ))?;
        router.ip(&format!(
            "addr add 10.65.0.2/24 dev wan0\nlink set wan0 up\n\
             route add default via 10.65.0.1 dev wan0\n\
             link add lan0 type veth peer name eth0 netns {}\n\
             addr add 192.168.88.1/24 dev lan0\nlink set lan0 up\n",
            client.name()
        ))?;
        client.ip(&format!(
            "addr add {CLIENT2}/24 dev eth0\nlink set eth0 up\n\
             route add default via 192.168.88.1 dev eth0\n"
        ))?;
        let named = ["pair", &PARTNER.to_string(), "--name", "second"];
        let line = pair.partner.tell(&[&named, options].concat())?;
        let config = format!("[multipath]\npartner = \"{line}\"\n{more}");
        let weir = Weir::start(&router, &config, &["--only", "multipath", "-v"])?;
        wait_until("the second's tunnel", LIMIT, || {
            let told = weir.client()?.paths();
            Ok(told.is_ok_and(|told| told.tunnel))
        })?;
        Ok(Self {
            weir,
            client,
            _router: router,
        })
    }
}

impl Drop for Household {
    fn drop(&mut self) {
        eprintln!("--- the second router's log\n{}", self.weir.log());
    }
}

fn list(pair: &Pair) -> PathBuf {
    let name = format!("{}-partner", pair.uplinks.partner().name());
    std::env::temp_dir().join(name).join("state/routers")
}

/// Deletes a line as an editor would.
fn delete_by_hand(pair: &Pair, name: &str) -> Result<(), Error> {
    let path = list(pair);
    let text = std::fs::read_to_string(&path).map_err(Error::system("read the list"))?;
    let left = text.lines().filter(|line| !line.contains(name));
    let left: String = left.map(|line| format!("{line}\n")).collect();
    assert!(left.len() < text.len());
    std::fs::write(&path, left).map_err(Error::system("write the list"))
}

/// A revoked router's connections and its tunnel end at once, whatever the router sends and without
/// another event.
#[test]
fn what_a_revoked_router_has_ends_at_once() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[20]))?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    let uplinks = &pair.uplinks;
    let echo = SocketAddr::new(SERVER, 5001);
    let _echo = Echo::serve(uplinks.server(), echo)?;
    let talk = Datagrams::open(uplinks.client(), echo)?;
    assert!(talk.ask(b"by the tunnel", LIMIT)?);
    let transfer = Transfer::start(uplinks.client(), uplinks.server(), at(SERVER), 7, None)?;
    transfer.advance(1_000_000, LIMIT)?;
    pair.partner.tell(&["revoke", "home"])?;
    let begun = Instant::now();
    while !transfer.broke() {
        assert!(begun.elapsed() < 6 * SECOND, "the connection goes on");
        sleep(ms(50));
    }
    // Nothing leaves the tunnel any more; when the router notices, it lets the client go directly.
    let out = || Bytes::of(uplinks.partner(), "weir-partner").map(|octets| octets.received);
    loop {
        let before = out()?;
        talk.ask(b"still there", ms(300))?;
        if out()? == before {
            break;
        }
        assert!(begun.elapsed() < 6 * SECOND, "the tunnel goes on");
    }
    let before = out()?;
    while begun.elapsed() < 6 * SECOND {
        talk.ask(b"still there", ms(100))?;
        sleep(ms(50));
    }
    assert_eq!(out()?, before, "and does not come back");
    Ok(())
}

/// The router whose line is deleted also requests the other's port, and never gets it.
#[test]
fn ports_of_others_stay_where_they_are() -> Result<(), Error> {
    let greedy = "forward = [\"tcp/8022 = 192.168.77.2:22\", \"tcp/8122 = 192.168.77.2:22\"]\n";
    let given = ["--forward", "tcp/8022"];
    let pair = Pair::paired(&Options::mbit(&[20]), greedy, &given)?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    let modest = format!("forward = [\"tcp/8122 = {CLIENT2}:22\"]\n");
    let second = Household::build(&pair, &["--forward", "tcp/8122"], &modest)?;
    let own = SocketAddr::new(CLIENT, 22);
    let _first = Named::serve(pair.uplinks.client(), own, "first")?;
    let own = SocketAddr::new(CLIENT2.parse().expect("an address"), 22);
    let _second = Named::serve(&second.client, own, "second")?;
    let server = pair.uplinks.server();
    for (port, name) in [(8022, "first"), (8122, "second")] {
        wait_until("its port", LIMIT, || {
            Ok(who(server, port)?.as_deref() == Some(name))
        })?;
    }
    delete_by_hand(&pair, "home")?;
    let begun = Instant::now();
    let (mut asked, mut answered) = (0, 0);
    while begun.elapsed() < 6 * SECOND {
        let found = who(server, 8122)?;
        assert_ne!(
            found.as_deref(),
            Some("first"),
            "after {:?}",
            begun.elapsed()
        );
        asked += 1;
        answered += usize::from(found.is_some());
        sleep(ms(20));
    }
    assert!(answered + 5 > asked, "{answered} of {asked} were answered");
    assert_eq!(who(server, 8022)?, None, "nothing leads to the first");
    Ok(())
}

fn key_of(line: &str) -> Key {
    line.parse::<Pairing>().expect("a line").key
}

fn welcomed(door: &Door, key: &Key) -> Result<(Session, Welcome), Error> {
    let mut stream = door.knock()?;
    let (initiator, frame) = begin(key);
    stream.write_all(&frame).expect("written");
    let (kind, body) = frame_of(&mut stream);
    assert_eq!(kind, Kind::Welcome);
    Ok(initiator.end(&body).expect("a welcome"))
}

fn is_refused(door: &Door, key: &Key) -> Result<bool, Error> {
    let (_, frame) = begin(key);
    Ok(door.answer(&frame)?.is_empty())
}

#[test]
fn a_new_key_has_the_place_of_the_old_one() -> Result<(), Error> {
    let door = Door::build(&[])?;
    let _echo = Echo::serve(door.uplinks.server(), at(SERVER))?;
    let address = PARTNER.to_string();
    let pair = |name: &str, port: &str| {
        let options = ["pair", &address, "--name", name, "--forward", port];
        door.partner.tell(&options)
    };
    pair("first", "tcp/8000")?;
    let old = key_of(&pair("second", "tcp/8001")?);
    pair("third", "tcp/8002")?;
    let (session, before) = welcomed(&door, &old)?;
    let (status, mut held) = door.hold(&session, at(SERVER))?;
    assert_eq!(status, Status::Connected);

    let new = key_of(&door.partner.tell(&["rotate", "second", &address])?);
    assert_ne!(new.id(), old.id());
    let begun = Instant::now();
    let ended = held.read(&mut [0; 1]);
    assert!(ended.is_err(), "{ended:?}: it is reset");
    assert!(begun.elapsed() < 6 * SECOND, "{:?}", begun.elapsed());
    assert!(is_refused(&door, &old)?, "the old key");
    let (session, after) = welcomed(&door, &new)?;
    assert!(before.tunnel4.is_some());
    assert_eq!(
        (after.tunnel4, &after.forwards),
        (before.tunnel4, &before.forwards)
    );
    assert_eq!(door.open(&session, at(SERVER))?, Status::Connected);

    // The next router does not get the address of a revoked router.
    door.partner.tell(&["revoke", "second"])?;
    assert!(is_refused(&door, &new)?);
    let (_, fourth) = welcomed(&door, &key_of(&pair("second", "tcp/8001")?))?;
    assert_ne!(fourth.tunnel4, before.tunnel4);
    Ok(())
}

/// An attacker replays a router's recorded handshakes, a hundred a second, to a freshly started
/// partner. The router connects, is silent for a while, and keeps its session.
#[test]
fn recorded_handshakes_keep_nobody_out() -> Result<(), Error> {
    let door = Door::build(&[])?;
    let _echo = Echo::serve(door.uplinks.server(), at(SERVER))?;
    let key = door.key()?;
    let frames: Vec<_> = (0..300).map(|_| begin(&key).1).collect();
    let connected = || {
        let log = door.partner.log();
        let count = |text| log.matches(text).count();
        count("router connected") + count("router reconnected")
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let replay = scope.spawn(|| -> Result<usize, Error> {
            let mut answered = 0;
            for frame in frames.iter().cycle().take(700) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                answered += usize::from(!door.answer(frame)?.is_empty());
                sleep(ms(9));
            }
            Ok(answered)
        });
        let run = || -> Result<(), Error> {
            sleep(ms(500));
            for _ in 0..8 {
                let before = connected();
                let (session, _) = welcomed(&door, &key)?;
                sleep(ms(300));
                assert_eq!(connected(), before, "nothing was said in it yet");
                assert_eq!(door.open(&session, at(SERVER))?, Status::Connected);
                assert_eq!(door.open(&session, at(SERVER))?, Status::Connected);
                assert_eq!(connected(), before + 1, "now it was");
            }
            Ok(())
        };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        if !matches!(done, Ok(Ok(()))) {
            stop.store(true, Ordering::Relaxed);
        }
        let answered = replay.join().expect("no panic")?;
        match done {
            Ok(done) => done?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        assert!(answered <= 300, "{answered} were welcomed: each once");
        Ok(())
    })
}

fn json(partner: &Partner) -> Result<serde_json::Value, Error> {
    let text = partner.tell(&["list", "--json"])?;
    serde_json::from_str(&text).map_err(|error| Error::Unexpected(error.to_string()))
}

#[test]
fn the_list_shows_who_is_there() -> Result<(), Error> {
    let mut door = Door::build(&[])?;
    let _echo = Echo::serve(door.uplinks.server(), at(SERVER))?;
    let key = door.key()?;
    let address = PARTNER.to_string();
    let gone = ["pair", &address, "--name", "gone", "--forward", "udp/8000"];
    door.partner.tell(&gone)?;
    door.partner.tell(&["revoke", "gone"])?;
    let session = door.session(&key)?;
    let (_, mut held) = door.hold(&session, at(SERVER))?;
    held.write_all(b"hello").expect("written");
    held.read_exact(&mut [0; 5]).expect("an echo");
    let first = |told: &serde_json::Value| told["routers"][0].clone();
    wait_until("it to be shown", LIMIT, || {
        Ok(first(&json(&door.partner)?)["connected"] == true)
    })?;
    let told = first(&json(&door.partner)?);
    assert_eq!(told["name"], "home");
    assert_eq!(told["state"], "paired");
    assert_eq!(told["id"], key.id().to_string());
    assert_eq!(told["addresses"][0], "10.93.0.2");
    assert_eq!(told["connections"], 1);
    let text = door.partner.tell(&["list"])?;
    for shown in ["home", "10.93.0.2", "now", "gone", "revoked"] {
        assert!(text.contains(shown), "{shown} in\n{text}");
    }
    drop(held);
    door.partner.stop();
    let told = first(&json(&door.partner)?);
    assert_eq!((&told["sent"], &told["received"]), (&5.into(), &5.into()));
    assert_eq!(
        (&told["connected"], &told["connections"]),
        (&false.into(), &0.into())
    );
    let text = door.partner.tell(&["list"])?;
    assert!(text.contains("has not served"), "{text}");

    // A killed partner does not report its end.
    door.partner.restart(door.uplinks.partner())?;
    wait_until("it to serve", LIMIT, || {
        Ok(json(&door.partner)?["serves"] == true)
    })?;
    let killed = Pid::from_raw(i32::try_from(door.partner.id()).expect("an id"));
    kill(killed, Signal::SIGKILL).expect("it was there");
    wait_until("it to be gone", LIMIT, || {
        Ok(json(&door.partner)?["serves"] == false)
    })
}
