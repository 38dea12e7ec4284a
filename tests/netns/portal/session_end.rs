//! Ends of a session: by time or by revocation, and events that do not end a session.

use super::*;

/// weir forwards a guest's packets in the driver. A revocation and the end of the time stop the
/// packets at once; a guest whose session was ended by hand may log in again.
#[test]
fn what_weir_forwards_ends_when_it_is_called_back_and_with_its_time() -> Result<(), Error> {
    let place = Place::open("xdp", "")?;
    let server = place.lab.node("server")?;
    let voucher = place.sell("--name guest --duration 1h")?;
    place.log_in(&voucher.code)?;
    let stream = Stream::start(&place, 4000)?;
    place.weir.wait_for_forwarding(4000)?;
    let ended_at_once = |told: Instant| {
        std::thread::sleep(AT_ONCE / 2);
        for end in 0..2 {
            let late = stream.last(end).saturating_duration_since(told);
            let log = place.weir.log();
            assert!(late < AT_ONCE / 4, "{end} went on for {late:?}\n{log}");
        }
    };
    let mac = place.clients()?.clients[0].mac.clone();
    let told = Instant::now();
    place.weir(&format!("end {mac}"))?;
    ended_at_once(told);
    place.log_in(&voucher.code)?;
    wait_until("it comes again", LIMIT, || Ok(stream.flows()))?;
    place.weir.wait_for_forwarding(4000)?;
    let told = Instant::now();
    place.weir(&format!("voucher revoke {}", voucher.code))?;
    ended_at_once(told);
    let log = place.weir.log();
    assert_eq!(log.matches("guest logged out").count(), 2, "{log}");
    assert!(log.contains("voucher revoked"), "{log}");
    assert_eq!(
        place.curl(&format!("-d code={} {PAGE}login", voucher.code))?,
        "403>"
    );

    let voucher = place.sell("--name guest --duration 8s")?;
    // The voucher's time begins between these two instants.
    let before = Instant::now();
    place.log_in(&voucher.code.to_lowercase())?;
    let after = Instant::now();
    assert_eq!(place.clients()?.clients[0].state, PortalState::Admitted);
    // Another port: conntrack may know a datagram of the server from the first stream.
    let stream = Stream::start(&place, 4001)?;
    let to = SocketAddr::new(SERVER, 5000);
    let transfer = Transfer::start(place.client()?, server, to, 1, Some(2_000_000))?;
    for port in [4001, 5000] {
        place.weir.wait_for_forwarding(port)?;
    }
    assert!(stream.flows());
    let [first, over] = [before, after].map(|begin| begin + Duration::from_secs(8));
    let mut moved = (transfer.progress(), Instant::now());
    while Instant::now() < over + 3 * AT_ONCE {
        let progress = transfer.progress();
        if progress != moved.0 {
            moved = (progress, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    for (what, last) in [
        ("datagrams at the server", stream.last(0)),
        ("datagrams at the client", stream.last(1)),
        ("a transfer", moved.1),
    ] {
        let late = last.saturating_duration_since(over);
        let early = first.saturating_duration_since(last);
        assert!(late < AT_ONCE, "{what} went on for {late:?}");
        assert!(early < 2 * AT_ONCE, "{what} ended {early:?} early");
    }
    let ended = place
        .weir
        .flow_at(5000)?
        .is_none_or(|flow| flow.state != answers::FlowState::Forwarded);
    assert!(ended, "the flow is still known");
    let shown: PortalVouchers =
        serde_json::from_str(&place.weir(&format!("voucher show {} --json", voucher.id))?)
            .map_err(unexpected)?;
    assert_eq!(shown.vouchers[0].state, "expired");
    // The page is back and gives the reason.
    let said = place.curl(&format!("-d code={} {PAGE}login", voucher.code))?;
    assert_eq!(said, "403>");
    Ok(())
}

/// weir is killed during a session: the kernel alone ends the session to the second.
#[test]
fn the_kernel_ends_it_by_its_own_clock() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let voucher = place.sell("--duration 10s")?;
    let before = Instant::now();
    place.log_in(&voucher.code)?;
    let over = Instant::now() + Duration::from_secs(10);
    let stream = Stream::start(&place, 4000)?;
    place.weir.wait_for_forwarding(4000)?;
    place.weir.end(nix::sys::signal::Signal::SIGKILL)?;
    wait_until("the kernel forwards it", LIMIT, || Ok(stream.flows()))?;
    let left = over.saturating_duration_since(Instant::now());
    std::thread::sleep(left + 2 * AT_ONCE);
    for end in 0..2 {
        let last = stream.last(end);
        let late = last.saturating_duration_since(over);
        let early = (before + Duration::from_secs(10)).saturating_duration_since(last);
        assert!(late < AT_ONCE, "{end} went on for {late:?}");
        assert!(early < 2 * AT_ONCE, "{end} ended {early:?} early");
    }
    Ok(())
}
