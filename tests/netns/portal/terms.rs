//! Terms of vouchers: a rate, and time that counts only online.

use lab::iperf::{Iperf, Load};

use super::*;

/// The voucher's rate, bits per second.
const RATE: u64 = 8_000_000;

/// A device gets at most its voucher's rate in either direction, by both families together. weir
/// still forwards a device with another voucher.
#[test]
fn a_rate_holds_and_nobody_else_has_it() -> Result<(), Error> {
    let place = Place::open("xdp", "")?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let (slow, fast) = (
        place.sell("--duration 1h --rate 8Mbit")?,
        place.sell("--duration 1h")?,
    );
    assert_eq!((slow.rate, fast.rate), (Some(RATE), None));
    place.log_in(&slow.code)?;
    let peer = Iperf::serve(server, 5201)?;
    for (to, reverse) in [(SERVER, false), (SERVER, true)] {
        let load = Load {
            reverse,
            ..Load::tcp(to, 6)
        };
        let rate = peer.run(client, &load)?.bits_per_second;
        // The burst holds a second's worth.
        let fits = (RATE as f64 * 0.4..RATE as f64 * 1.3).contains(&rate);
        assert!(fits, "{to}, reverse {reverse}: {rate}");
    }
    // Both families and both addresses share one limit.
    let second = &Iperf::serve(server, 5202)?;
    let both = std::thread::scope(|scope| {
        let load = |to| Load {
            reverse: true,
            ..Load::tcp(to, 6)
        };
        let six = scope.spawn(move || second.run(client, &load(SERVER6)));
        let four = peer.run(client, &load(SERVER))?;
        let six = six.join().expect("no panic")?;
        Ok::<_, Error>(four.bits_per_second + six.bits_per_second)
    })?;
    assert!(both < RATE as f64 * 1.3, "{both}");
    let to = SocketAddr::new(SERVER, 5000);
    let transfer = Transfer::start(client, server, to, 1, Some(500_000))?;
    transfer.advance(500_000, LIMIT)?;
    let flow = place
        .weir
        .flow_at(5000)?
        .ok_or_else(|| unexpected("no flow"))?;
    assert_eq!(
        flow.reason.map(|reason| reason.code).as_deref(),
        Some("rate-limited")
    );
    // With another voucher weir forwards the same device.
    place.weir(&format!("voucher revoke {}", slow.id))?;
    place.log_in(&fast.code)?;
    let transfer = Transfer::start(client, server, SocketAddr::new(SERVER, 5001), 1, None)?;
    place.weir.wait_for_forwarding(5001)?;
    let before = (transfer.progress(), Instant::now());
    transfer.advance(RATE / 8 * 4, LIMIT)?;
    let rate = (transfer.progress() - before.0) as f64 * 8.0 / before.1.elapsed().as_secs_f64();
    assert!(rate > RATE as f64 * 1.5, "{rate}");
    assert!(
        !place.weir.log().contains("missing device of the portal"),
        "{}",
        place.weir.log()
    );
    // The kernel keeps no trace of the limit.
    let table = place
        .lab
        .node("router")?
        .run("nft list table inet weir_portal")?;
    assert!(
        !table.contains("rate over") && !table.contains(" : \""),
        "{table}"
    );
    Ok(())
}

/// Time of an `--online` voucher stops while the device is silent, and ends to the second while the
/// device is in use.
#[test]
fn time_goes_by_only_on_line() -> Result<(), Error> {
    let place = Place::open("xdp", "")?;
    let voucher = place.sell("--duration 20s --online")?;
    assert!(voucher.online);
    place.log_in(&voucher.code)?;
    let server = place.lab.node("server")?;
    let to = SocketAddr::new(SERVER, 8080);
    let _echo = Echo::serve(server, to)?;
    assert_eq!(ask_tcp(place.client()?, to, b"in")?, b"in");
    // The pause exceeds the voucher's time.
    std::thread::sleep(Duration::from_secs(25));
    let guest = place.clients()?.clients[0].clone();
    assert_eq!(guest.state, PortalState::Admitted);
    let left = guest.seconds_remaining.unwrap_or_default();
    assert!((15..=20).contains(&left), "{left} s are left");
    let began = Instant::now();
    let stream = Stream::start(&place, 4000)?;
    place.weir.wait_for_forwarding(4000)?;
    let over = began + Duration::from_secs(left);
    wait_until("it is over", LIMIT, || {
        Ok(place.clients()?.clients[0].state == PortalState::Waiting)
    })?;
    std::thread::sleep(2 * AT_ONCE);
    let last = stream.last(0);
    // weir sees the first packet within a second.
    let late = last.saturating_duration_since(over);
    assert!(late < 2 * AT_ONCE, "{late:?} late");
    assert!(over.saturating_duration_since(last) < 2 * AT_ONCE, "early");
    Ok(())
}
