//! Findings of an external attacker, and the repair of rules that others remove.

use super::*;

/// DNS query (RFC 1035): A of `a.example`.
pub(super) const QUESTION: &[u8] =
    b"\xab\xcd\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x07example\x00\x00\x01\x00\x01";

impl Place {
    /// Gives the client another hardware address and another IPv6 address.
    fn becomes(&self, mac: &str, address6: &str) -> Result<(), Error> {
        let client = self.client()?;
        for line in [
            "ip link set eth0 down",
            &format!("ip link set eth0 address {mac}"),
            "ip link set eth0 up",
            &format!("ip -6 addr add {address6}/64 dev eth0 nodad"),
            "ip route replace default via 192.168.1.1",
            &format!("ip -6 route replace default via 2001:db8:1::1 src {address6}"),
        ] {
            client.run(line)?;
        }
        Ok(())
    }
}

/// If the table or its chains are flushed or deleted, even while weir is dead, weir restores them
/// with all sessions. weir warns about a missing device, and stores usage on exit.
#[test]
fn what_others_take_away_comes_anew() -> Result<(), Error> {
    let mut place = Place::open("tc", "")?;
    let to = SocketAddr::new(SERVER, ECHO);
    let _echo = Echo::serve(place.lab.node("server")?, to)?;
    let asks = |place: &Place| Ok::<_, Error>(ask_tcp(place.client()?, to, b"in").is_ok());
    let router = |place: &Place, line: &str| place.lab.node("router")?.run(line);
    for flush in [
        "chain inet weir_portal forward",
        "chain inet weir_portal from_guests",
        "table inet weir_portal",
    ] {
        router(&place, &format!("nft flush {flush}"))?;
        wait_until(flush, LIMIT, || Ok(!asks(&place)?))?;
    }
    // The duration in milliseconds exceeds 32 bits.
    let voucher = place.sell("--name guest --duration 90d")?;
    let spare = place.sell("--name spare --permanent")?;
    let begun = Instant::now();
    place.log_in(&voucher.code)?;
    let is_in = |place: &Place| -> Result<bool, Error> {
        let set = router(place, "nft list set inet weir_portal guests4")?;
        let rules = router(place, "nft list chain inet weir_portal to_guests")?;
        let known = set.contains("192.168.1.2") && set.contains("expires");
        Ok(known && rules.contains("drop"))
    };
    router(&place, "nft flush table inet weir_portal")?;
    wait_until("who is in stays in", LIMIT, || is_in(&place))?;
    assert!(asks(&place)?);
    // A reload keeps sessions too, even if the table was deleted just before.
    for (before, garden) in [
        (None, "garden = [\"198.51.100.7/32\"]\n"),
        (Some("nft delete table inet weir_portal"), ""),
    ] {
        let config = configuration("tc", &place.folder, garden);
        std::fs::write(place.weir.config_file(), config).map_err(unexpected)?;
        before.map_or(Ok(String::new()), |line| router(&place, line))?;
        place.weir.client()?.reload().map_err(unexpected)?;
        wait_until("the refresh", LIMIT, || {
            let set = router(&place, "nft list set inet weir_portal garden4");
            Ok(set.is_ok_and(|set| set.contains("198.51.100.7") != garden.is_empty()))
        })?;
        wait_until("the table with who is in", LIMIT, || {
            Ok(is_in(&place).unwrap_or(false))
        })?;
    }

    // weir is killed and its table deleted.
    place.weir.end(nix::sys::signal::Signal::SIGKILL)?;
    router(&place, "nft list set inet weir_portal guests4")?;
    router(&place, "nft delete table inet weir_portal")?;
    place.weir.restart(place.lab.node("router")?)?;
    place.is_closed()?;
    wait_until("who was in is in", LIMIT, || asks(&place))?;
    let since = Instant::now();
    let all: PortalVouchers =
        serde_json::from_str(&place.weir("voucher list --json")?).map_err(unexpected)?;
    let states: Vec<_> = all
        .vouchers
        .iter()
        .map(|v| (v.code.as_str(), v.state.as_str()))
        .collect();
    assert!(states.contains(&(&voucher.code, "active")), "{states:?}");
    assert!(states.contains(&(&spare.code, "available")), "{states:?}");

    // A renamed device leaves the portal.
    router(&place, "ip link set lan0 name lanx")?;
    wait_until("a word of it", LIMIT, || {
        let log = place.weir.log();
        Ok(log.contains("missing device of the portal"))
    })?;

    let least = since.elapsed().as_millis() as u64;
    place.weir.end(nix::sys::signal::Signal::SIGTERM)?;
    let most = begun.elapsed().as_millis() as u64;
    let stored = place.stored()?;
    let mut used = stored
        .iter()
        .filter_map(|entry| entry["used"][&voucher.id].as_u64());
    let used = used.next_back().unwrap_or_default();
    assert!((least..=most).contains(&used), "{used} ms: {stored:?}");
    Ok(())
}

/// Guesses are rate-limited, and malformed codes get an error. The limit applies to one device, by
/// IPv6 too, where other devices share its network.
#[test]
fn wrong_codes_wait_and_keep_no_neighbour_out() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let voucher = place.sell("--duration 1h")?;
    let page = "http://[2001:db8:1::1]:2080/login";
    assert_eq!(place.curl(&format!("-g -d code=0OI1 {page}"))?, "403>");
    let mut said = Vec::new();
    for _ in 0..7 {
        said.push(place.curl(&format!("-g -d code=AAAA-AAAA {page}"))?);
    }
    assert_eq!((&*said[0], &*said[6]), ("403>", "429>"));
    // A form from another site.
    let forged = format!("-g -H Origin:http://evil.example -d code=AAAA-AAAA {page}");
    assert_eq!(place.curl(&forged)?, "403>");
    assert_eq!(place.curl(&format!("-g -X DELETE {page}"))?, "405>");
    place.becomes("02:00:00:00:55:01", "2001:db8:1::55")?;
    wait_until("another device is let in", LIMIT, || {
        let said = place.curl(&format!("-g -d code={} {page}", voucher.code))?;
        Ok(said.starts_with("303>"))
    })
}
