//! Uplinks that look alike: factory modems share a network or an address, or use the LAN's network.

use lab::Error;
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo, Transfer, ask_tcp};
use lab::uplinks::{Cut, Options, Path, SERVER};
use std::net::SocketAddr;
use weir_tests::partner::Pair;
use weir_tests::{LIMIT, binary};

use crate::multipath::{SECOND, at, ms};

const ECHO: SocketAddr = SocketAddr::new(SERVER, 5001);

/// Builds two uplinks that masquerade, as modems do.
fn modems() -> Result<Pair, Error> {
    let path = Path {
        masquerade: true,
        ..Path::mbit(20)
    };
    let pair = Pair::build(&Options {
        paths: vec![path, path],
        ipv6: false,
    })?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    Ok(pair)
}

/// Of two uplinks with the same address, weir uses one and keeps the other as a reserve, and
/// reports that. Of two with the same network weir uses both.
#[test]
fn of_two_with_the_same_address_one_waits_for_the_other() -> Result<(), Error> {
    let pair = modems()?;
    let uplinks = &pair.uplinks;
    let _echo = Echo::serve(uplinks.server(), ECHO)?;
    let talk = Datagrams::open(uplinks.client(), ECHO)?;
    let transfer = Transfer::start(uplinks.client(), uplinks.server(), at(SERVER), 7, None)?;
    transfer.advance(1_000_000, LIMIT)?;
    uplinks.imitate(1, 0, 2)?;
    pair.wait_for("it to be told", |told| {
        let twin = told.twins.first();
        told.paths.len() == 1 && twin.is_some_and(|twin| twin.device == "wan1" && twin.of == "wan0")
    })?;
    transfer.advance(2_000_000, LIMIT)?;
    assert!(talk.ask(b"still there", LIMIT)?);
    let shown = uplinks.router().run(&format!(
        "{} paths --socket {}",
        binary().display(),
        pair.weir.socket().display()
    ))?;
    assert!(
        shown.contains("wan1 has the address 10.64.0.2 of wan0"),
        "{shown}"
    );
    let config = pair.weir.config_file();
    let checked = uplinks.router().run(&format!(
        "{} check --config {}",
        binary().display(),
        config.display()
    ))?;
    assert!(
        checked.contains("wan1 has the address 10.64.0.2 of wan0"),
        "{checked}"
    );

    // Nothing oscillates: no endpoint appears or disappears while nothing changes.
    let lines = pair.weir.log().lines().count();
    std::thread::sleep(2 * SECOND);
    let log = pair.weir.log();
    let said: Vec<_> = log.lines().skip(lines).collect();
    assert!(said.len() < 5, "{said:?}");

    for (lost, other) in [(0, "wan1"), (1, "wan0")] {
        uplinks.cut(lost, Cut::Link)?;
        pair.wait_for("the other to be used", |told| {
            told.twins.is_empty() && told.paths.first().is_some_and(|path| path.device == other)
        })?;
        transfer.advance(2_000_000, LIMIT)?;
        wait_until("datagrams to go on", LIMIT, || talk.ask(b"and now", SECOND))?;
        assert_eq!(ask_tcp(uplinks.client(), ECHO, b"new")?, b"new");
        uplinks.heal(lost)?;
        pair.wait_for("the twin", |told| told.twins.len() == 1)?;
        transfer.advance(1_000_000, LIMIT)?;
    }
    // With different networks weir uses both.
    uplinks.imitate(1, 0, 3)?;
    pair.wait_for("both", |told| {
        told.twins.is_empty() && told.paths.len() == 2
    })?;
    transfer.stop()?;
    carry(&pair, 0)?;
    carry(&pair, 1)
}

/// Waits until a path carries its part of a new transfer.
fn carry(pair: &Pair, path: usize) -> Result<(), Error> {
    let uplinks = &pair.uplinks;
    let device = uplinks.device(path);
    let sent = || -> Result<u64, Error> {
        let told = pair.paths()?;
        let of = told.paths.iter().filter(|path| path.device == device);
        Ok(of.map(|path| path.sent).sum())
    };
    let before = sent()?;
    let transfer = Transfer::start(uplinks.client(), uplinks.server(), at(SERVER), 7, None)?;
    wait_until("the path to carry", LIMIT, || {
        Ok(sent()? > before + 2_000_000)
    })?;
    transfer.stop().map(drop)
}

/// The modem's network is also the LAN's.
#[test]
fn an_uplink_may_have_the_lans_network() -> Result<(), Error> {
    let pair = modems()?;
    let uplinks = &pair.uplinks;
    uplinks.cut(1, Cut::Address)?;
    uplinks
        .provider(1)
        .ip("addr add 192.168.77.254/24 dev home\n")?;
    uplinks.router().ip("addr add 192.168.77.99/24 dev wan1\n\
         route replace 0.0.0.0/0 via 192.168.77.254 dev wan1 src 192.168.77.99 proto dhcp metric \
         200 onlink\n")?;
    pair.wait_for("the path", |told| {
        told.paths
            .iter()
            .any(|path| path.address.to_string() == "192.168.77.99")
    })?;
    carry(&pair, 1)?;
    let _echo = Echo::serve(uplinks.server(), ECHO)?;
    let talk = Datagrams::open(uplinks.client(), ECHO)?;
    assert!(talk.ask(b"by the tunnel", LIMIT)?);
    std::thread::sleep(ms(100));
    Ok(())
}
