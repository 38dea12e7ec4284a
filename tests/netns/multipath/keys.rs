//! A pairing line belongs to the router that uses it first.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use answers::PartnerState;
use lab::Error;
use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER};
use multipath_core::frame::Kind;
use multipath_core::{HandshakeError, Identity, Initiator, Pairing};
use nix::sys::signal::Signal;
use serde_json::Value;
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::at;
use crate::multipath::raw_frames::frame_of;

fn line(pair: &Pair) -> Result<String, Error> {
    let text = fs::read_to_string(pair.weir.config_file()).map_err(Error::system("read it"))?;
    let line = text.split('"').nth(1);
    line.map(str::to_owned)
        .ok_or_else(|| Error::Unexpected(text.clone()))
}

fn key_file(pair: &Pair) -> PathBuf {
    pair.weir.config_file().with_file_name("multipath.key")
}

/// Returns the partner's answer to a router with this line.
fn told(pair: &Pair, line: &str, own: &Identity) -> Result<Result<(), HandshakeError>, Error> {
    let line: Pairing = line.parse().expect("a line");
    let to = SocketAddr::new(PARTNER, multipath_core::PORT);
    let dial = || std::net::TcpStream::connect_timeout(&to, LIMIT);
    let stream = pair.uplinks.server().enter(dial)?;
    let mut stream = stream.map_err(Error::system("connect to the partner"))?;
    let (initiator, frame) = Initiator::begin(&line.key, own).expect("random");
    stream.write_all(&frame).expect("written");
    let (kind, body) = frame_of(&mut stream);
    assert_eq!(kind, Kind::Welcome);
    Ok(initiator.end(&body).map(|_| ()))
}

fn state(pair: &Pair) -> Result<String, Error> {
    let list: Value = serde_json::from_str(&pair.partner.tell(&["list", "--json"])?)
        .map_err(|error| Error::Unexpected(error.to_string()))?;
    Ok(list["routers"][0]["state"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

fn carries(pair: &Pair) -> Result<(), Error> {
    let before = pair.paths()?.connections.all;
    assert_eq!(
        ask_tcp(pair.uplinks.client(), at(SERVER), b"hello")?,
        b"hello"
    );
    assert!(pair.paths()?.connections.all > before);
    Ok(())
}

#[test]
fn a_line_is_worth_nothing_once_its_router_came() -> Result<(), Error> {
    let mut pair = Pair::build(&Options::mbit(&[100]))?;
    let _echo = Echo::serve(pair.uplinks.server(), at(SERVER))?;
    assert_eq!(state(&pair)?, "paired");
    let thief = Identity::from([66; 32]);
    let line = line(&pair)?;
    for own in [
        &thief,
        &Identity::of_line(&line.parse::<Pairing>().expect("a line").key),
    ] {
        let told = told(&pair, &line, own)?;
        assert_eq!(told, Err(HandshakeError::Another));
    }
    carries(&pair)?;
    wait_until("it to be told", LIMIT, || {
        Ok(pair
            .partner
            .log()
            .contains("another router used this router's line"))
    })?;
    // A restart of the partner does not change the owner.
    pair.partner.restart(pair.uplinks.partner())?;
    assert_eq!(told(&pair, &line, &thief)?, Err(HandshakeError::Another));
    a_router_that_lost_its_key_is_told_what_to_do(&mut pair)
}

fn a_router_that_lost_its_key_is_told_what_to_do(pair: &mut Pair) -> Result<(), Error> {
    let file = key_file(pair);
    let about = fs::metadata(&file).map_err(Error::system("look at the key"))?;
    assert_eq!(
        (about.len(), about.permissions().mode() & 0o777),
        (32, 0o600)
    );
    pair.weir.end(Signal::SIGTERM)?;
    // weir warns about a key file that others can read, and uses it.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644))
        .map_err(Error::system("let others read it"))?;
    pair.weir.restart(pair.uplinks.router())?;
    pair.wait_for("the partner", |told| told.redirects)?;
    assert!(pair.weir.log().contains("others can read this file"));
    pair.weir.end(Signal::SIGTERM)?;
    fs::remove_file(&file).map_err(Error::system("remove the key"))?;
    pair.weir.restart(pair.uplinks.router())?;
    pair.wait_for("the problem", |told| {
        let problem = told.problem.clone().unwrap_or_default();
        told.state == PartnerState::Failed && problem.contains("weir multipath rotate")
    })?;
    let line = pair
        .partner
        .tell(&["rotate", "home", &PARTNER.to_string()])?;
    assert_eq!(state(pair)?, "waits");
    let config = format!("[multipath]\npartner = \"{line}\"\n");
    fs::write(pair.weir.config_file(), config).map_err(Error::system("write the line"))?;
    pair.weir
        .client()?
        .reload()
        .map_err(|error| Error::Unexpected(error.to_string()))?;
    pair.wait_for("the partner", |told| told.redirects)?;
    assert_eq!(state(pair)?, "paired");
    carries(pair)
}

/// Without a writable folder, the router's identity comes from its line. With a key of its own, the
/// router uses that key, and the line is worthless to others.
#[test]
fn a_router_that_can_keep_no_key_comes_all_the_same() -> Result<(), Error> {
    let mut pair = Pair::build(&Options::mbit(&[100]))?;
    let _echo = Echo::serve(pair.uplinks.server(), at(SERVER))?;
    let file = key_file(&pair);
    pair.weir.end(Signal::SIGTERM)?;
    let line = pair
        .partner
        .tell(&["rotate", "home", &PARTNER.to_string()])?;
    let config = format!("[multipath]\npartner = \"{line}\"\n");
    fs::write(pair.weir.config_file(), config).map_err(Error::system("write the line"))?;
    fs::remove_file(&file).map_err(Error::system("remove the key"))?;
    fs::create_dir(&file).map_err(Error::system("stand in its way"))?;
    pair.weir.restart(pair.uplinks.router())?;
    pair.wait_for("the partner", |told| told.redirects)?;
    let log = pair.weir.log();
    assert!(
        log.contains("anyone with the pairing line can connect"),
        "{log}"
    );
    assert!(pair.paths()?.keyless.is_some());
    carries(&pair)?;
    pair.weir.end(Signal::SIGTERM)?;
    fs::remove_dir(&file).map_err(Error::system("make room"))?;
    pair.weir.restart(pair.uplinks.router())?;
    pair.wait_for("the partner", |told| told.redirects)?;
    assert!(file.is_file() && pair.paths()?.keyless.is_none());
    carries(&pair)?;
    assert!(
        !pair
            .partner
            .log()
            .contains("another router used this router's line")
    );
    let line = line.parse::<Pairing>().expect("a line");
    let told = told(&pair, &line.to_string(), &Identity::of_line(&line.key))?;
    assert_eq!(told, Err(HandshakeError::Another));
    Ok(())
}
