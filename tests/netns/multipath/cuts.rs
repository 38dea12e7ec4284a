//! Paths that fail and come back during a transfer; a partner that is away.

use std::thread::sleep;

use answers::PartnerState;
use lab::Error;
use lab::namespace::wait_until;
use lab::transfer::{Transfer, ask_tcp};
use lab::uplinks::{Cut, Options, PARTNER, SERVER};
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::{SECOND, at, ms};

/// Whichever path fails, and however, no byte is lost or changed.
#[test]
fn no_octet_is_lost() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let transfer = Transfer::start(uplinks.client(), uplinks.server(), at(SERVER), 7, None)?;
    transfer.advance(2_000_000, LIMIT)?;
    for cut in [Cut::Link, Cut::Address, Cut::Hole] {
        for path in 0..2 {
            uplinks.cut(path, cut)?;
            transfer.advance(2_000_000, LIMIT)?;
            uplinks.heal(path)?;
            pair.wait_for("both paths", |told| told.paths.len() == 2)?;
            transfer.advance(2_000_000, LIMIT)?;
            sleep(ms(300));
        }
    }
    // Without any path, only the two ends of a connection remain: the connection continues on the
    // first path that returns.
    for back in 0..2 {
        uplinks.cut(0, Cut::Link)?;
        uplinks.cut(1, Cut::Link)?;
        sleep(2 * SECOND);
        uplinks.heal(back)?;
        transfer.advance(2_000_000, LIMIT)?;
        uplinks.heal(1 - back)?;
        transfer.advance(2_000_000, LIMIT)?;
    }
    let octets = transfer.stop()?;
    assert!(octets > 30_000_000, "{octets}");
    Ok(())
}

/// New subflows carry nothing at first: docs/limits.md gives the reason.
#[test]
fn a_path_that_is_back_waits_for_its_subflows() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let (address, own) = (uplinks.address(1), uplinks.address(1).to_string());
    let endpoint = || -> Result<Option<bool>, Error> {
        let all = uplinks.router().run("ip mptcp endpoint show")?;
        let mut lines = all.lines();
        let line = lines.find(|line| line.split(' ').next() == Some(&own));
        Ok(line.map(|line| line.split(' ').any(|word| word == "backup")))
    };
    wait_until("the second path", LIMIT, || Ok(endpoint()? == Some(false)))?;
    let transfer = Transfer::start(uplinks.client(), uplinks.server(), at(SERVER), 7, None)?;
    transfer.advance(2_000_000, LIMIT)?;
    uplinks.cut(1, Cut::Link)?;
    wait_until("it to be gone", LIMIT, || Ok(endpoint()?.is_none()))?;
    uplinks.heal(1)?;
    let mut seen = Vec::new();
    wait_until("the second path again", LIMIT, || {
        let now = endpoint()?;
        seen.extend(now);
        Ok(now == Some(false))
    })?;
    assert_eq!(seen.first(), Some(&true), "it waits at first");
    // Later the path carries data.
    let carried = || -> Result<u64, Error> {
        let told = pair.paths()?.paths;
        let mut paths = told.iter().filter(|path| path.address == address);
        Ok(paths.next().map_or(0, |path| path.sent))
    };
    let before = carried()?;
    wait_until("it to carry", LIMIT, || Ok(carried()? > before + 1_000_000))?;
    transfer.stop()?;
    Ok(())
}

#[test]
fn without_the_partner_connections_go_directly() -> Result<(), Error> {
    let mut pair = Pair::build(&Options::mbit(&[20, 20]))?;
    let echo = lab::transfer::Echo::serve(pair.uplinks.server(), at(SERVER))?;
    let ask = |pair: &Pair| ask_tcp(pair.uplinks.client(), at(SERVER), b"who is there");
    assert_eq!(ask(&pair)?, b"who is there");
    let before = pair.paths()?.connections;
    assert_eq!((before.all, before.direct), (1, 0));

    // Killed: the next connection goes directly, with the data that its client has sent. Later
    // connections are not redirected.
    pair.partner.stop();
    assert_eq!(ask(&pair)?, b"who is there");
    pair.wait_for("that the partner is missed", |told| {
        told.state == PartnerState::Failed && !told.redirects
    })?;
    assert_eq!(ask(&pair)?, b"who is there");
    let now = pair.paths()?.connections;
    assert_eq!(
        (now.all, now.direct),
        (2, 1),
        "the third was none of weir's"
    );

    pair.partner.restart(pair.uplinks.partner())?;
    pair.wait_for("the partner", |told| told.redirects)?;
    assert_eq!(ask(&pair)?, b"who is there");
    let now = pair.paths()?.connections;
    assert_eq!((now.all, now.direct), (3, 1));

    // The partner's network is gone: the router gets no answer, not even an error.
    let internet = pair.uplinks.lab().node("internet")?;
    internet.nft(&format!(
        "table inet gone {{\n chain c {{\n type filter hook forward priority 0\n ip daddr \
            {PARTNER} drop\n }}\n }}\n"
    ))?;
    assert_eq!(ask(&pair)?, b"who is there");
    wait_until("rules to go", LIMIT, || Ok(!pair.paths()?.redirects))?;
    drop(echo);
    Ok(())
}

#[test]
fn a_partner_that_begins_anew_is_met_again() -> Result<(), Error> {
    let mut pair = Pair::build(&Options::mbit(&[20, 20]))?;
    let _echo = lab::transfer::Echo::serve(pair.uplinks.server(), at(SERVER))?;
    for _ in 0..3 {
        pair.partner.restart(pair.uplinks.partner())?;
        // The partner knows no session: the connection waits for a new session and uses it.
        let answer = ask_tcp(pair.uplinks.client(), at(SERVER), b"again")?;
        assert_eq!(answer, b"again");
    }
    // The partner counts connections a moment after the answer.
    let mut told = (0, 0);
    wait_until("three connections", LIMIT, || {
        let now = pair.paths()?.connections;
        told = (now.all, now.direct);
        Ok(told == (3, 0))
    })
    .map_err(|error| Error::Unexpected(format!("{error}: {told:?}")))
}
