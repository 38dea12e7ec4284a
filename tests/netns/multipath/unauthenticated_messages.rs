//! Unauthenticated messages end nothing: a session, its tunnel and the rules stay until the next
//! session has been made.

use std::fs;
use std::time::Instant;

use answers::PartnerState;
use lab::Error;
use lab::UdpPair;
use lab::namespace::wait_until;
use lab::transfer::{Echo, Transfer, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER};
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::rules::{by_tcp, say};
use crate::multipath::{SECOND, at, ms};

/// Resets matching connections to the partner, as an attacker on the path would.
fn refuse(pair: &Pair, which: &str) -> Result<(), Error> {
    let internet = pair.uplinks.lab().node("internet")?;
    internet.nft(&format!(
        "table inet refuses {{\n chain c {{\n type filter hook forward priority 0\n ip daddr \
            {PARTNER} tcp dport {} {which} reject with tcp reset\n }}\n }}\n",
        multipath_core::PORT
    ))?;
    Ok(())
}

fn refuse_no_more(pair: &Pair) -> Result<(), Error> {
    let internet = pair.uplinks.lab().node("internet")?;
    internet.nft("delete table inet refuses")?;
    Ok(())
}

/// Opens a conversation through the tunnel.
pub(crate) fn talk(pair: &Pair) -> Result<UdpPair, Error> {
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    UdpPair::open(
        pair.uplinks.client(),
        None,
        pair.uplinks.server(),
        (SERVER, 5001).into(),
    )
}

#[test]
fn who_refuses_connections_ends_nothing() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[20, 20]))?;
    let (client, server) = (pair.uplinks.client(), pair.uplinks.server());
    let talk = talk(&pair)?;
    assert_eq!(say(&talk, "before")?, PARTNER);
    let carried = Transfer::start(client, server, at(SERVER), 7, None)?;
    carried.advance(1_000_000, LIMIT)?;
    let echo = (SERVER, 5002).into();
    let _echo = Echo::serve(server, echo)?;

    refuse(&pair, "tcp flags & (syn | ack) == syn")?;
    let begun = Instant::now();
    while begun.elapsed() < 5 * SECOND {
        // The connection may go directly, as the partner does not answer.
        assert_eq!(ask_tcp(client, echo, b"new")?, b"new");
        assert_eq!(say(&talk, "meanwhile")?, PARTNER, "{:?}", begun.elapsed());
        carried.advance(200_000, LIMIT)?;
        std::thread::sleep(ms(100));
    }
    let told = pair.paths()?;
    assert!(
        told.tunnel && told.state == PartnerState::Failed,
        "{told:?}"
    );
    refuse_no_more(&pair)?;
    let healed = Instant::now();
    pair.wait_for("the partner", |told| told.redirects)?;
    assert!(healed.elapsed() < 5 * SECOND, "{:?}", healed.elapsed());
    assert_eq!(
        by_tcp(&pair, lab::uplinks::CLIENT, (SERVER, 5003).into())?,
        PARTNER
    );
    // The new session's tunnel has taken over by now, and the old tunnel has ended.
    for _ in 0..30 {
        assert_eq!(say(&talk, "after")?, PARTNER);
        std::thread::sleep(ms(100));
    }
    carried.advance(1_000_000, LIMIT)?;
    carried.stop()?;
    Ok(())
}

/// Uses one path only, so that a reset of its subflow resets the connection.
#[test]
fn one_reset_sends_nothing_in_the_clear() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[20]))?;
    let talk = talk(&pair)?;
    assert_eq!(say(&talk, "before")?, PARTNER);
    for number in 0..2 {
        refuse(
            &pair,
            "tcp flags & psh == psh limit rate 1/hour burst 1 packets",
        )?;
        let to = (SERVER, 5010 + number).into();
        assert_eq!(by_tcp(&pair, lab::uplinks::CLIENT, to)?, PARTNER);
        refuse_no_more(&pair)?;
        // Each query and each answer arrives while another session takes over.
        let begun = Instant::now();
        while begun.elapsed() < 3 * SECOND {
            let heard = talk.ask(b"meanwhile", LIMIT)?;
            assert_eq!(heard, Some(PARTNER), "{:?}", begun.elapsed());
        }
    }
    let told = pair.paths()?.connections;
    assert_eq!((told.all, told.direct), (2, 0));
    let met = pair.weir.log().matches("connected to the partner").count();
    assert!(met > 1, "the resets were looked into: {met}");
    Ok(())
}

/// With `returns` the conversation returns: `lost::a_conversation_that_lives_on_is_not_stuck`.
#[test]
fn what_went_directly_goes_on_directly_where_it_is_to() -> Result<(), Error> {
    let mut pair = Pair::with(&Options::mbit(&[20, 20]), "returns = false\n")?;
    let talk = talk(&pair)?;
    assert_eq!(say(&talk, "before")?, PARTNER);
    pair.partner.stop();
    wait_until("it to go directly", LIMIT, || {
        let heard = talk.ask(b"without", ms(200))?;
        Ok(heard.is_some_and(|from| from == pair.uplinks.address(0)))
    })?;
    pair.partner.restart(pair.uplinks.partner())?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    std::thread::sleep(SECOND);
    assert_eq!(say(&talk, "after")?, pair.uplinks.address(0));
    Ok(())
}

/// Only a change of the partner makes a new session.
#[test]
fn a_reload_ends_nothing() -> Result<(), Error> {
    let pair = Pair::with(&Options::mbit(&[20, 20]), "fallback = \"stop\"\n")?;
    let (client, server) = (pair.uplinks.client(), pair.uplinks.server());
    let talk = talk(&pair)?;
    let carried = Transfer::start(client, server, at(SERVER), 7, None)?;
    carried.advance(500_000, LIMIT)?;
    let file = pair.weir.config_file();
    let before = fs::read_to_string(&file).map_err(Error::system("read the configuration"))?;
    for more in [
        "encrypt = \"all\"\n",
        "fallback = \"direct\"\n",
        "returns = false\n",
    ] {
        let text = match more.starts_with("fallback") {
            true => before.replace("fallback = \"stop\"\n", more),
            false => format!("{before}{more}"),
        };
        fs::write(&file, text).map_err(Error::system("write the configuration"))?;
        let reloaded = pair.weir.client()?.reload();
        reloaded.map_err(|error| Error::Unexpected(error.to_string()))?;
        let begun = Instant::now();
        while begun.elapsed() < SECOND {
            let heard = talk.ask(b"meanwhile", LIMIT)?;
            assert_eq!(heard, Some(PARTNER), "{more}: {:?}", begun.elapsed());
        }
        carried.advance(500_000, LIMIT)?;
    }
    carried.stop()?;
    let met = pair.weir.log().matches("connected to the partner").count();
    assert_eq!(met, 1);
    Ok(())
}

/// Session keys expire: new sessions follow, more here than the partner remembers, and no
/// connection and no datagram is lost.
#[test]
fn keys_are_renewed_under_what_is_carried() -> Result<(), Error> {
    let pair = Pair::with(&Options::mbit(&[20, 20]), "renew = \"2s\"\n")?;
    let (client, server) = (pair.uplinks.client(), pair.uplinks.server());
    let talk = talk(&pair)?;
    let carried = Transfer::start(client, server, at(SERVER), 7, Some(100_000))?;
    let renewed = || pair.weir.log().matches("session keys renewed").count();
    let begun = Instant::now();
    while renewed() < 5 {
        assert_eq!(say(&talk, "meanwhile")?, PARTNER, "{:?}", begun.elapsed());
        assert!(begun.elapsed() < 60 * SECOND, "{} times only", renewed());
        std::thread::sleep(ms(20));
    }
    // Handshakes have a minimum interval.
    assert!(begun.elapsed() > 9 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(say(&talk, "after all")?, PARTNER);
    carried.advance(200_000, LIMIT)?;
    carried.stop()?;
    let log = pair.weir.log();
    assert_eq!(log.matches("connected to the partner").count(), 1);
    let log = pair.partner.log();
    assert_eq!(log.matches("router connected from").count(), 1);
    assert!(log.matches("router reconnected with new keys").count() >= 4);
    Ok(())
}
