//! Another partner, where the first is not reached.

use std::time::Duration;

use answers::PartnerState;
use lab::Error;
use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER, Uplinks};
use weir_tests::LIMIT;
use weir_tests::partner::{Pair, Partner};

use crate::{SECOND, at};

/// Somebody in the Internet who is neither.
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

#[test]
fn another_partner_takes_over_until_the_first_is_back() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[50, 50]))?;
    let far = at(FAR.parse().expect("an address"));
    let _echo = Echo::serve(uplinks.lab().node("internet")?, far)?;
    let partner = Partner::start(uplinks.partner(), &[])?;
    let standby = Partner::start(uplinks.server(), &[])?;
    let lines = [
        partner.pair(&PARTNER.to_string())?,
        standby.pair(&SERVER.to_string())?,
    ];
    let [first, second] = &lines;
    let more = format!("standby = [\"{second}\"]\nfallback = \"stop\"\n");
    let mut pair = Pair::join(uplinks, partner, first, &more)?;
    let by = |pair: &Pair, whom: std::net::IpAddr, limit: Duration| {
        let whom = Some(format!("{whom}:9349"));
        wait_until("that partner", limit, || {
            let told = pair.paths()?;
            let there = told.state == PartnerState::Connected && told.tunnel;
            Ok(there && told.partner == whom)
        })
    };
    by(&pair, PARTNER, LIMIT)?;
    carries(&pair)?;
    // Whether the other is there is known before it is needed, and its line is nobody else's.
    wait_until("a look at the other", LIMIT, || {
        Ok(pair.paths()?.partners[1].reached == Some(true))
    })?;
    assert!(standby.tell(&["list"])?.contains(" paired "));
    pair.partner.stop();
    by(&pair, SERVER, LIMIT)?;
    let told = pair.paths()?.partners;
    assert!(!told[0].in_use && told[1].in_use, "{told:?}");
    let problem = told[0].problem.clone().unwrap_or_default();
    assert!(problem.contains("not reached"), "{told:?}");
    carries(&pair)?;
    pair.partner.restart(pair.uplinks.partner())?;
    by(&pair, PARTNER, 30 * SECOND)?;
    carries(&pair)?;
    let log = pair.weir.log();
    assert_eq!(log.matches("connected to the partner").count(), 2, "{log}");
    assert_eq!(
        log.matches("another partner takes over").count(),
        1,
        "{log}"
    );
    Ok(())
}
