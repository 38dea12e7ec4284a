//! Log-in methods: a walled garden, an exempt device, a voucher of bytes, an activation by hand, a
//! click.

use super::*;

/// After a reload all guests reach the walled garden, and exempt devices reach everything. The
/// operator admits devices without a browser by hand; a printed sheet contains only unused
/// vouchers.
#[test]
fn what_needs_no_page_is_let_in() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let to = SocketAddr::new(SERVER, 8080);
    let _echo = Echo::serve(server, to)?;
    assert!(ask_tcp(client, to, b"in?").is_err());
    let waiting = place.clients()?.clients;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    let mac = &waiting[0].mac;
    for open in [
        format!("garden = [\"{SERVER}/32\"]\n"),
        format!("exempt = [\"{mac}\"]\n"),
    ] {
        let reload = |more: &str| {
            let config = configuration("tc", &place.folder, more);
            std::fs::write(place.weir.config_file(), config).map_err(unexpected)?;
            place.weir.client()?.reload().map_err(unexpected)
        };
        reload(&open)?;
        wait_until("it is open", LIMIT, || {
            Ok(ask_tcp(client, to, b"in").is_ok())
        })?;
        reload("")?;
        wait_until("it is closed", LIMIT, || {
            Ok(ask_tcp(client, to, b"in").is_err())
        })?;
    }

    let (used, spare) = (place.sell("--duration 1h")?, place.sell("--duration 2d")?);
    place.weir(&format!("voucher activate {} {mac}", used.code))?;
    // After another change, the kernel gets this one a quarter of a second later.
    wait_until("it is let in", LIMIT, || {
        Ok(ask_tcp(client, to, b"in").is_ok_and(|it| it == b"in"))
    })?;
    let sheet = place.weir("voucher print --title <Fair>")?;
    assert!(
        sheet.contains("&lt;Fair&gt;") && sheet.contains("<svg"),
        "{sheet}"
    );
    assert!(sheet.contains(&spare.code) && !sheet.contains(&used.code));
    assert!(
        place
            .weir(&format!("voucher activate {} nonsense", used.code))
            .is_err()
    );
    place.weir(&format!("voucher revoke {}", used.id))?;
    assert!(
        place
            .weir(&format!("voucher activate {} {mac}", used.id))
            .is_err()
    );
    Ok(())
}

/// A voucher of bytes ends with its bytes, by either forwarder.
#[test]
fn bytes_are_counted_whoever_forwards_them() -> Result<(), Error> {
    const SOLD: u64 = 4_000_000;
    for hook in ["xdp", "off"] {
        let place = Place::open(hook, "")?;
        let voucher = place.sell("--name guest --duration 1h --bytes 4MB")?;
        assert_eq!(voucher.bytes, Some(SOLD));
        place.log_in(&voucher.code)?;
        let to = SocketAddr::new(SERVER, 5000);
        let server = place.lab.node("server")?;
        let transfer = Transfer::start(place.client()?, server, to, 1, Some(1_000_000))?;
        if hook == "xdp" {
            place.weir.wait_for_forwarding(5000)?;
        }
        transfer.advance(1_000_000, LIMIT)?;
        wait_until("some bytes are gone", LIMIT, || {
            let left = place.clients()?.clients[0].bytes_remaining;
            Ok(left.is_some_and(|left| left < SOLD))
        })?;
        wait_until("all bytes are gone", LIMIT, || {
            Ok(place.clients()?.clients[0].state == PortalState::Waiting)
        })?;
        let carried = transfer.progress();
        // weir checks each second, later on a busy machine; headers count too.
        let fits = (SOLD * 8 / 10..SOLD + 6_000_000).contains(&carried);
        assert!(fits, "{hook}: {carried} bytes were carried");
        std::thread::sleep(AT_ONCE);
        assert!(transfer.progress() - carried < 500_000, "it goes on");
        let told = place.weir("voucher list --json")?;
        let all: PortalVouchers = serde_json::from_str(&told).map_err(unexpected)?;
        let over = &all.vouchers[0];
        let listed = (over.state.as_str(), over.bytes_remaining);
        assert_eq!(listed, ("expired", Some(0)));
    }
    Ok(())
}

/// If weir is killed, at most a sixteenth of the voucher's bytes return.
#[test]
fn bytes_that_are_gone_stay_so_when_weir_is_killed() -> Result<(), Error> {
    const SOLD: u64 = 16_000_000;
    let mut place = Place::open("xdp", "")?;
    let voucher = place.sell("--duration 1h --bytes 16MB")?;
    place.log_in(&voucher.code)?;
    let (server, to) = (place.lab.node("server")?, SocketAddr::new(SERVER, 5000));
    let transfer = Transfer::start(place.client()?, server, to, 1, Some(4_000_000))?;
    transfer.advance(8_000_000, LIMIT)?;
    transfer.stop()?;
    let left = |place: &Place| -> Result<u64, Error> {
        let left = place.clients()?.clients[0].bytes_remaining;
        left.ok_or_else(|| unexpected("the voucher is not in use"))
    };
    // weir counts them within two seconds.
    std::thread::sleep(3 * AT_ONCE);
    let before = left(&place)?;
    assert!(before < SOLD / 2, "{before} bytes are left");
    place.weir.end(nix::sys::signal::Signal::SIGKILL)?;
    place.weir.restart(place.lab.node("router")?)?;
    let after = left(&place)?;
    let bound = before..before + SOLD / 16;
    assert!(bound.contains(&after), "{before} bytes, then {after}");
    let notes = place.stored()?;
    let notes = notes.iter().filter(|entry| entry.get("moved").is_some());
    assert!(notes.count() <= 16, "flash wears out");
    Ok(())
}

/// A click admits a guest without a voucher for a while, and again after a pause.
#[test]
fn a_click_lets_in_for_a_while() -> Result<(), Error> {
    let free = "free = \"click\"\nfree_time = \"10s\"\nfree_pause = \"1h\"\n";
    let place = Place::open("tc", free)?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let to = SocketAddr::new(SERVER, 8080);
    let _echo = Echo::serve(server, to)?;
    let click = format!("-X POST {PAGE}free");
    // The button works only after the page was loaded.
    assert_eq!(place.curl(&click)?, "403>");
    let page = client.run(&format!("curl -s -m 10 {PAGE}"))?;
    assert!(
        page.contains("action=\"/free\"") && page.contains("10 s"),
        "{page}"
    );
    assert!(place.curl(&click)?.starts_with("303>"));
    assert_eq!(ask_tcp(client, to, b"in")?, b"in");
    let inside = &place.clients()?.clients[0];
    assert_eq!((inside.state, &inside.voucher), (PortalState::Free, &None));
    assert!(inside.seconds_remaining.is_some_and(|left| left <= 10));
    wait_until("the while is over", LIMIT, || {
        Ok(place.clients()?.clients[0].state == PortalState::Waiting)
    })?;
    assert!(ask_tcp(client, to, b"in?").is_err());
    assert_eq!(place.curl(&click)?, "403>", "after a pause");
    assert_eq!(place.weir("voucher list")?.trim(), "No vouchers.");
    Ok(())
}
