//! Faults in the field that last or repeat.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::Error;
use lab::counters::processor_time;
use lab::goodput::{Demand, Goodput, Transport};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo, Transfer, ask_tcp};
use lab::uplinks::{Cut, Options, PARTNER, SERVER};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::tunnel::tunnelled;
use crate::multipath::{MBIT, SECOND, at, ms};

const ECHO: SocketAddr = SocketAddr::new(SERVER, 5001);

/// Returns the number of a process's open descriptors.
fn descriptors(process: u32) -> Result<usize, Error> {
    let folder = std::fs::read_dir(format!("/proc/{process}/fd"));
    folder
        .map(Iterator::count)
        .map_err(Error::system("count descriptors"))
}

/// Returns the resident memory of a process, KiB.
fn memory(process: u32) -> Result<u64, Error> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status"));
    let text = text.map_err(Error::system("look at a process"))?;
    let resident = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    resident
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| Error::Unexpected("no VmRSS".into()))
}

/// Returns the lines of a log that appear without `-v`.
fn shown(log: &str) -> Vec<&str> {
    let loud = |line: &&str| {
        [" INFO ", " WARN ", "ERROR "]
            .iter()
            .any(|w| line.contains(w))
    };
    log.lines().filter(loud).collect()
}

/// Kills the partner during four transfers and starts it again a second later.
#[test]
fn a_partner_that_dies_under_load_leaves_nothing_hanging() -> Result<(), Error> {
    let mut pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let (_echo, router) = (
        Echo::serve(pair.uplinks.server(), ECHO)?,
        pair.weir.process.id(),
    );
    let talk = Datagrams::open(pair.uplinks.client(), ECHO)?;
    assert!(talk.ask(b"before", LIMIT)?);
    let (had, weighed) = (descriptors(router)?, memory(router)?);

    let load = |number: u16| {
        let to = SocketAddr::new(SERVER, 5100 + number);
        Transfer::start(
            pair.uplinks.client(),
            pair.uplinks.server(),
            to,
            number.into(),
            None,
        )
    };
    let transfers = (0..4).map(load).collect::<Result<Vec<_>, _>>()?;
    for transfer in &transfers {
        transfer.advance(200_000, LIMIT)?;
    }
    let quiet = || TcpStream::connect_timeout(&ECHO, 10 * SECOND);
    let quiet = pair.uplinks.client().enter(quiet)?;
    let mut quiet = quiet.map_err(Error::system("connect"))?;
    let answered = quiet
        .write_all(b"x")
        .and_then(|()| quiet.read_exact(&mut [0]));
    answered.map_err(Error::system("ask"))?;
    pair.wait_for("five connections", |told| told.connections.open == 5)?;
    assert_eq!(pair.paths()?.connections.direct, 0, "all go by the partner");

    let process = Pid::from_raw(i32::try_from(pair.partner.id()).expect("an id"));
    kill(process, Signal::SIGKILL).map_err(Error::system("kill the partner"))?;
    let killed = Instant::now();
    // Active and idle connections both break.
    wait_until("transfers to break", LIMIT, || {
        Ok(transfers.iter().all(Transfer::broke))
    })?;
    quiet
        .set_read_timeout(Some(LIMIT))
        .map_err(Error::system("set"))?;
    let said = lab::uninterrupted(|| quiet.read(&mut [0; 1]));
    let reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
    assert!(said.as_ref().is_err_and(reset), "{said:?}");
    let took = killed.elapsed();
    assert!(took < 10 * SECOND, "they hung for {took:?}");
    // New connections do not wait for the partner.
    let asked = Instant::now();
    assert_eq!(
        ask_tcp(pair.uplinks.client(), ECHO, b"directly")?,
        b"directly"
    );
    let took = asked.elapsed();
    assert!(took < 8 * SECOND, "it took {took:?} to go directly");

    sleep((killed + SECOND).saturating_duration_since(Instant::now()));
    pair.partner.restart(pair.uplinks.partner())?;
    pair.wait_for("the partner", |told| told.redirects && told.tunnel)?;
    let before = pair.paths()?.connections;
    assert_eq!(ask_tcp(pair.uplinks.client(), ECHO, b"again")?, b"again");
    let now = pair.paths()?.connections;
    assert_eq!((now.all, now.direct), (before.all + 1, before.direct));
    wait_until("the conversation to go on", LIMIT, || {
        talk.ask(b"after", SECOND)
    })?;

    drop((transfers, quiet));
    wait_until("descriptors to be given back", LIMIT, || {
        Ok(descriptors(router)? <= had + 2)
    })?;
    let now = memory(router)?;
    assert!(
        now < weighed + 16_384,
        "{weighed} KiB before, {now} KiB now"
    );
    Ok(())
}

/// A path goes down and up five times a second, while another one is stable.
#[test]
fn a_link_that_flaps_is_told_once() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let (uplinks, router) = (&pair.uplinks, pair.weir.process.id());
    let transfer = Transfer::start(uplinks.client(), uplinks.server(), at(SERVER), 7, None)?;
    transfer.advance(4_000_000, LIMIT)?;
    let (lines, weighed) = (shown(&pair.weir.log()).len(), memory(router)?);
    let (begun, had) = (Instant::now(), transfer.progress());
    while begun.elapsed() < 5 * SECOND {
        uplinks.cut(1, Cut::Link)?;
        sleep(ms(100));
        uplinks.heal(1)?;
        sleep(ms(100));
    }
    let rate = (transfer.progress() - had) as f64 * 8.0 / begun.elapsed().as_secs_f64() / MBIT;
    // The good path alone carries 19.1 Mbit/s.
    assert!(rate > 9.5, "{rate} Mbit/s while the other path flapped");
    let log = pair.weir.log();
    let said = &shown(&log)[lines..];
    assert!(said.len() < 25, "{} lines: {said:#?}", said.len());
    let flaps = |log: &str| log.matches("path flaps").count();
    assert_eq!(flaps(&log), 1);
    wait_until("it to be still", LIMIT, || {
        Ok(pair.weir.log().contains("path stopped flapping"))
    })?;
    let device = uplinks.device(1);
    let octets = || -> Result<u64, Error> {
        let told = pair.paths()?;
        let of = told.paths.iter().filter(|path| path.device == device);
        Ok(of.map(|path| path.sent).sum())
    };
    let before = octets()?;
    wait_until("both paths to carry", LIMIT, || {
        Ok(octets()? > before + 2_000_000)
    })?;
    transfer.stop()?;
    assert!(flaps(&pair.weir.log()) <= 1);
    let now = memory(router)?;
    assert!(
        now < weighed + 16_384,
        "{weighed} KiB before, {now} KiB now"
    );
    Ok(())
}

/// New leases arrive during a transfer.
#[test]
fn addresses_may_change_under_way() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let _echo = Echo::serve(uplinks.server(), ECHO)?;
    let talk = Datagrams::open(uplinks.client(), ECHO)?;
    let up = Transfer::start(uplinks.client(), uplinks.server(), at(SERVER), 7, None)?;
    let down = Demand::down(Transport::Tcp, SocketAddr::new(SERVER, 5002));
    let down = Goodput::start(uplinks.client(), uplinks.server(), &down)?;
    up.advance(1_000_000, LIMIT)?;
    for (path, host) in [(0, 77), (1, 88), (0, 2), (1, 2)] {
        uplinks.renumber(path, host)?;
        let now = uplinks.address(path);
        pair.wait_for("the new address", |told| {
            told.paths.len() == 2 && told.paths.iter().any(|path| path.address == now)
        })?;
        up.advance(1_000_000, LIMIT)?;
        let had = down.series().total();
        wait_until("the other way to go on", LIMIT, || {
            Ok(down.series().total() > had + 1_000_000)
        })?;
        wait_until("the conversation to go on", LIMIT, || {
            talk.ask(b"still there", SECOND)
        })?;
        // The path carries data too, for connections that were open before.
        wait_until("the path to carry", LIMIT, || {
            let told = pair.paths()?;
            let of = told.paths.iter().find(|path| path.address == now);
            Ok(of.is_some_and(|path| path.subflows >= 2 && path.sent + path.received > 500_000))
        })?;
    }
    down.stop()?;
    up.stop()?;
    Ok(())
}

/// Floods: garbage from an unknown host, and from a client twenty times what the paths carry.
#[test]
fn a_flood_is_dropped_and_not_kept() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[5, 5]))?;
    let uplinks = &pair.uplinks;
    let _echo = Echo::serve(uplinks.server(), ECHO)?;
    let talk = Datagrams::open(uplinks.client(), ECHO)?;
    assert!(talk.ask(b"before", LIMIT)?);
    garbage_at_the_partners_door_costs_little(&pair, &talk)?;
    let processes = [pair.weir.process.id(), pair.partner.id()];
    for demand in [
        Demand::up(Transport::Udp, at(SERVER)),
        Demand::down(Transport::Udp, at(SERVER)),
    ] {
        let weighed = processes.map(memory);
        let demand = demand.with_rate(200_000_000);
        let flood = Goodput::start(uplinks.client(), uplinks.server(), &demand)?;
        let (mut asked, mut answered) = (0, 0);
        let begun = Instant::now();
        while begun.elapsed() < 4 * SECOND {
            asked += 1;
            answered += u32::from(talk.ask(b"beside it", SECOND)?);
            sleep(ms(20));
        }
        for (process, before) in processes.into_iter().zip(weighed) {
            let (now, before) = (memory(process)?, before?);
            assert!(now < before + 24_576, "{before} KiB before, {now} KiB now");
        }
        let arrived = flood.stop()?.rate(SECOND..4 * SECOND) / MBIT;
        assert!(
            answered * 2 > asked && answered > 6,
            "{answered} of {asked} answered, {arrived} Mbit/s, {demand:?}"
        );
        wait_until("all to be as before", LIMIT, || {
            let asked = Instant::now();
            Ok(talk.ask(b"after", SECOND)? && asked.elapsed() < ms(100))
        })?;
    }
    Ok(())
}

/// An unknown host sends the partner 50,000 datagrams a second that belong to no router.
fn garbage_at_the_partners_door_costs_little(pair: &Pair, talk: &Datagrams) -> Result<(), Error> {
    const EACH_MS: u64 = 50;
    let uplinks = &pair.uplinks;
    let process = pair.partner.id();
    let (weighed, lines) = (memory(process)?, pair.partner.log().lines().count());
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let flood = || -> std::io::Result<()> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect((PARTNER, multipath_core::PORT))?;
        let (begun, mut octets) = (Instant::now(), [0u8; 200]);
        while !stop.load(Ordering::Relaxed) {
            let due = begun.elapsed().as_millis() as u64 * EACH_MS;
            while sent.load(Ordering::Relaxed) < due {
                let number = sent.fetch_add(1, Ordering::Relaxed);
                // Most datagrams are nonsense; some have a valid version.
                octets[0] = u8::try_from(number % 4).unwrap_or(0);
                octets[1..9].copy_from_slice(&number.to_be_bytes());
                let _ = socket.send(&octets);
            }
            sleep(ms(1));
        }
        Ok(())
    };
    let (mut asked, mut answered, mut spent) = (0, 0, Duration::ZERO);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| uplinks.server().enter(flood));
        let measured = (|| -> Result<(), Error> {
            let (begun, before) = (Instant::now(), processor_time(process)?);
            while begun.elapsed() < 4 * SECOND {
                asked += 1;
                answered += u32::from(talk.ask(b"beside it", SECOND)?);
                sleep(ms(20));
            }
            spent = processor_time(process)?.saturating_sub(before);
            Ok(())
        })();
        stop.store(true, Ordering::Relaxed);
        let ended = thread.join().expect("it ends")?;
        ended.map_err(Error::system("send garbage"))?;
        measured
    })?;
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent > 40_000, "{sent} sent: no flood");
    assert!(answered * 2 > asked, "{answered} of {asked} answered");
    // A single thread reads datagrams, whatever arrives.
    assert!(spent < 4 * SECOND + SECOND / 2, "{spent:?} of four seconds");
    let now = memory(process)?;
    assert!(
        now < weighed + 16_384,
        "{weighed} KiB before, {now} KiB now"
    );
    let log = pair.partner.log();
    let said: Vec<_> = log.lines().skip(lines).collect();
    assert!(said.len() < 50, "{} lines", said.len());
    assert!(
        said.iter()
            .any(|line| line.contains("datagrams from unpaired senders")),
        "{said:?}"
    );
    Ok(())
}

/// A path whose socket cannot be opened at first gets one as soon as possible.
#[test]
fn a_path_without_a_socket_is_tried_again() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let (uplinks, process) = (&pair.uplinks, pair.weir.process.id());
    let limit = |most: &str| {
        let command = format!("prlimit --pid {process} --nofile={most}:");
        uplinks.router().run(&command)
    };
    let most = uplinks.router().run(&format!(
        "prlimit --pid {process} --nofile --noheadings --output SOFT"
    ))?;
    limit("3")?;
    uplinks.renumber(1, 99)?;
    let misses = || {
        Ok(pair
            .weir
            .log()
            .contains("cannot add a path to the tunnel yet"))
    };
    wait_until("a socket to be missed", LIMIT, misses)?;
    limit(most.trim())?;
    let answers = format!(
        "path answers device=\"wan1\" address={}",
        uplinks.address(1)
    );
    wait_until("the path to answer", LIMIT, || {
        Ok(pair.weir.log().contains(&answers))
    })
}
