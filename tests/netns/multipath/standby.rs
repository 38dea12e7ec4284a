//! A second partner for times when the first is unreachable.

use std::net::IpAddr;
use std::time::Duration;

use answers::PartnerState;
use lab::Error;
use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER, Uplinks};
use nix::sys::signal::Signal;
use weir_tests::LIMIT;
use weir_tests::partner::{Pair, Partner};

use crate::multipath::lock::{Restless, none_seen, tell, watch};
use crate::multipath::{SECOND, at};

/// Host in the Internet that is not a partner.
const FAR: &str = "203.0.113.1";

fn carries(pair: &Pair) -> Result<(), Error> {
    let client = pair.uplinks.client();
    let before = pair.paths()?.connections.all;
    let far = at(FAR.parse().expect("an address"));
    assert_eq!(ask_tcp(client, far, b"hello")?, b"hello");
    assert!(pair.paths()?.connections.all > before);
    let told = client.run(&format!("ping -c 2 -i 0.2 -W 5 {FAR}"))?;
    assert!(told.contains("2 received"), "{told}");
    Ok(())
}

/// Builds a router with two partners; the second one runs on the server.
fn build(more: &str) -> Result<(Pair, Partner), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[50, 50]))?;
    let partner = Partner::start(uplinks.partner(), &[])?;
    let standby = Partner::start(uplinks.server(), &[])?;
    let first = partner.pair(&PARTNER.to_string())?;
    let second = standby.pair(&SERVER.to_string())?;
    let more = format!("standby = [\"{second}\"]\n{more}");
    Ok((Pair::join(uplinks, partner, &first, &more)?, standby))
}

/// Counts packets to the far host that bypass the partners.
fn count_direct(pair: &Pair) -> Result<(), Error> {
    for path in 0..pair.uplinks.paths() {
        pair.uplinks.provider(path).nft(&format!(
            "table inet direct {{ chain c {{ type filter hook prerouting priority -300;
            iifname \"home\" ip daddr {FAR} counter\n }}\n }}\n"
        ))?;
    }
    Ok(())
}

fn is_direct(pair: &Pair) -> Result<bool, Error> {
    let mut seen = false;
    for path in 0..pair.uplinks.paths() {
        let told = pair
            .uplinks
            .provider(path)
            .run("nft list table inet direct")?;
        seen |= !told.contains("counter packets 0 ");
    }
    Ok(seen)
}

/// Waits until clients use this partner.
fn by(pair: &Pair, whom: IpAddr, limit: Duration) -> Result<(), Error> {
    let whom = Some(format!("{whom}:9349"));
    wait_until("that partner", limit, || {
        let told = pair.paths()?;
        let there = told.state == PartnerState::Connected && told.tunnel;
        Ok(there && told.partner == whom)
    })
}

/// UDP and the like may go directly, but not during a switch: a receiver would learn one more
/// address.
#[test]
fn another_partner_takes_over_until_the_first_is_back() -> Result<(), Error> {
    let (mut pair, standby) = build("")?;
    let internet = pair.uplinks.lab().node("internet")?;
    let far = at(FAR.parse().expect("an address"));
    let _echo = Echo::serve(internet, far)?;
    by(&pair, PARTNER, LIMIT)?;
    carries(&pair)?;
    count_direct(&pair)?;
    let _client = Restless::to(pair.uplinks.client(), far)?;
    // weir checks the standby before it is needed; the check binds the standby's pairing line.
    wait_until("a look at the other", LIMIT, || {
        Ok(pair.paths()?.partners[1].reached == Some(true))
    })?;
    assert!(standby.tell(&["list"])?.contains(" paired "));
    pair.partner.stop();
    by(&pair, SERVER, LIMIT)?;
    assert!(!is_direct(&pair)?, "to the other\n{}", pair.weir.log());
    let told = pair.paths()?.partners;
    assert!(!told[0].in_use && told[1].in_use, "{told:?}");
    let problem = told[0].problem.clone().unwrap_or_default();
    assert!(problem.contains("cannot reach the partner"), "{told:?}");
    carries(&pair)?;
    pair.partner.restart(pair.uplinks.partner())?;
    by(&pair, PARTNER, 30 * SECOND)?;
    carries(&pair)?;
    assert!(!is_direct(&pair)?, "and back\n{}", pair.weir.log());
    let log = pair.weir.log();
    assert_eq!(log.matches("connected to the partner").count(), 2, "{log}");
    assert_eq!(
        log.matches("switched to another partner").count(),
        1,
        "{log}"
    );
    // The check of the standby is accurate: without both partners clients soon go directly.
    pair.partner.stop();
    drop(standby);
    wait_until("them to go directly", LIMIT, || is_direct(&pair))
}

#[test]
fn a_lock_lets_out_to_each_partner_and_to_nobody_else() -> Result<(), Error> {
    let (mut pair, _standby) = build("fallback = \"stop\"\n")?;
    by(&pair, PARTNER, LIMIT)?;
    a_reset_or_two_are_no_reason_to_go_elsewhere(&pair)?;
    tell(pair.uplinks.router(), &pair.weir, &["lock", "lan0"])?;
    watch(&pair.uplinks, &[PARTNER, SERVER])?;
    let _client = Restless::at(pair.uplinks.client(), 5007, true)?;
    pair.partner.stop();
    by(&pair, SERVER, LIMIT)?;
    none_seen(&pair.uplinks, "another takes over")?;
    pair.weir.end(Signal::SIGKILL)?;
    std::thread::sleep(SECOND);
    none_seen(&pair.uplinks, "weir is killed")?;
    pair.weir.restart(pair.uplinks.router())?;
    by(&pair, SERVER, LIMIT)?;
    pair.partner.restart(pair.uplinks.partner())?;
    by(&pair, PARTNER, 30 * SECOND)?;
    none_seen(&pair.uplinks, "the first is back")
}

/// An attacker on the path can reset a connection or two. This must not change the address that the
/// clients appear under.
fn a_reset_or_two_are_no_reason_to_go_elsewhere(pair: &Pair) -> Result<(), Error> {
    let internet = pair.uplinks.lab().node("internet")?;
    let far = at(FAR.parse().expect("an address"));
    let _echo = Echo::serve(internet, far)?;
    // Resets one client's connection by each path, and one of the handshakes that follow.
    for path in 0..pair.uplinks.paths() {
        pair.uplinks.provider(path).nft(&format!(
            "table inet once {{ chain c {{ type filter hook forward priority -10;
            ip daddr {PARTNER} tcp dport {} tcp flags syn / syn,ack limit rate 1/hour burst 2 packets \
                counter reject with tcp reset\n }}\n }}\n",
            multipath_core::PORT
        ))?;
    }
    assert_eq!(ask_tcp(pair.uplinks.client(), far, b"hello")?, b"hello");
    for path in 0..pair.uplinks.paths() {
        let told = pair
            .uplinks
            .provider(path)
            .run("nft list table inet once")?;
        assert!(told.contains("counter packets 2 "), "{told}");
    }
    by(pair, PARTNER, LIMIT)?;
    let log = pair.weir.log();
    assert_eq!(
        log.matches("switched to another partner").count(),
        0,
        "{log}"
    );
    Ok(())
}
