//! How it ends: with the time, by a call back; and what does not end it.

use super::*;

/// Weir forwards a guest's packets in the driver, or at TC; when the time is over, there are none.
fn ends_with_its_time(hook: &str) -> Result<(), Error> {
    let place = Place::open(hook, "")?;
    let server = place.lab.node("server")?;
    let voucher = place.sell("--name guest --duration 8s")?;
    // Its time begins somewhere in here.
    let before = Instant::now();
    place.log_in(&voucher.code.to_lowercase())?;
    let after = Instant::now();
    assert_eq!(place.clients()?.clients[0].state, PortalState::Admitted);
    let stream = Stream::start(&place, 4000)?;
    let to = SocketAddr::new(SERVER, 5000);
    let transfer = Transfer::start(place.client()?, server, to, 1, Some(2_000_000))?;
    for port in [4000, 5000] {
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
    // The page is there again, and says why.
    let said = place.curl(&format!("-d code={} {PAGE}login", voucher.code))?;
    assert_eq!(said, "403>");
    Ok(())
}

#[test]
fn what_xdp_forwards_ends_with_its_time() -> Result<(), Error> {
    ends_with_its_time("xdp")
}

#[test]
fn what_tc_forwards_ends_with_its_time() -> Result<(), Error> {
    ends_with_its_time("tc")
}

/// Called back: at once. And whoever is ended by hand may come again.
#[test]
fn what_is_called_back_ends_at_once() -> Result<(), Error> {
    let place = Place::open("xdp", "")?;
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
    place.weir(&format!("voucher invalidate {}", voucher.code))?;
    ended_at_once(told);
    assert_eq!(
        place.curl(&format!("-d code={} {PAGE}login", voucher.code))?,
        "403>"
    );
    Ok(())
}

/// Killed, its table taken away: what was sold is known, and who was in is in again.
#[test]
fn a_reboot_costs_nobody_his_voucher() -> Result<(), Error> {
    let mut place = Place::open("tc", "")?;
    // More milliseconds than 32 bits hold.
    let voucher = place.sell("--name guest --duration 90d")?;
    let spare = place.sell("--name spare --permanent")?;
    place.log_in(&voucher.code)?;
    place.weir.end(nix::sys::signal::Signal::SIGKILL)?;
    let router = place.lab.node("router")?;
    // The kernel goes on by itself: closed to others.
    router.run("nft list set inet weir_portal guests4")?;
    router.run("nft delete table inet weir_portal")?;
    place.weir.restart(place.lab.node("router")?)?;
    place.is_closed()?;
    let to = SocketAddr::new(SERVER, ECHO);
    let _echo = Echo::serve(place.lab.node("server")?, to)?;
    wait_until("who was in is in", LIMIT, || {
        Ok(ask_tcp(place.client()?, to, b"again").is_ok())
    })?;
    let all: PortalVouchers =
        serde_json::from_str(&place.weir("voucher list --json")?).map_err(unexpected)?;
    let states: Vec<_> = all
        .vouchers
        .iter()
        .map(|v| (v.code.as_str(), v.state.as_str()))
        .collect();
    assert!(states.contains(&(&voucher.code, "active")), "{states:?}");
    assert!(states.contains(&(&spare.code, "available")), "{states:?}");
    // Somebody flushes all rules: the portal comes again.
    place
        .lab
        .node("router")?
        .run("nft delete table inet weir_portal")?;
    place.is_closed()?;
    Ok(())
}

/// Told to stop, weir waits until what was used is on the disk.
#[test]
fn what_was_used_is_kept_when_weir_stops() -> Result<(), Error> {
    let place = Place::open("off", "")?;
    let voucher = place.sell("--duration 1h")?;
    place.log_in(&voucher.code)?;
    std::thread::sleep(Duration::from_secs(3));
    place.weir.end(nix::sys::signal::Signal::SIGTERM)?;
    let stored = place.stored()?;
    let mut used = stored
        .iter()
        .filter_map(|entry| entry["used"][&voucher.id].as_u64());
    let used = used.next_back().unwrap_or_default();
    assert!((3000..30_000).contains(&used), "{used} ms: {stored:?}");
    Ok(())
}
