//! Hours of the week: when nobody gets in, and when everybody.

use std::time::{SystemTime, UNIX_EPOCH};

use super::*;

impl Place {
    fn reload(&self, more: &str) -> Result<(), Error> {
        self.reload_with("tc", more)
    }

    fn reload_with(&self, hook: &str, more: &str) -> Result<(), Error> {
        let config = configuration(hook, &self.folder, more);
        std::fs::write(self.weir.config_file(), config).map_err(unexpected)?;
        self.weir.client()?.reload().map_err(unexpected)?;
        Ok(())
    }

    fn clock(&self, at: u64) -> Result<String, Error> {
        let told = self
            .lab
            .node("router")?
            .run(&format!("date -d @{at} +%H:%M"))?;
        Ok(told.trim().to_owned())
    }
}

fn wall() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
}

/// Closed, who is in is out, but for devices that need no voucher; no time goes by; and open again,
/// he is in without a word.
#[test]
fn who_is_in_is_out_while_it_is_closed_and_loses_nothing() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let voucher = place.sell("--name guest --duration 1h")?;
    place.log_in(&voucher.code)?;
    let stream = Stream::start(&place, 4000)?;
    place.weir.wait_for_forwarding(4000)?;
    place.reload("closed = [\"Mon-Sun\"]\n")?;
    wait_until("it is closed", LIMIT, || {
        Ok(stream.last(0).elapsed() > AT_ONCE && stream.last(1).elapsed() > AT_ONCE)
    })?;
    let page = place.client()?.run(&format!("curl -s -m 10 {PAGE}"))?;
    assert!(
        page.contains("It is closed") && !page.contains("<form"),
        "{page}"
    );
    let refused = place.curl(&format!("-d code={} {PAGE}login", voucher.code))?;
    assert_eq!(refused, "403>");
    let left = || -> Result<_, Error> { Ok(place.clients()?.clients[0].seconds_remaining) };
    let before = left()?;
    std::thread::sleep(3 * AT_ONCE);
    assert_eq!(left()?, before, "its time stands still");
    // With a device that needs none.
    let mac = place.clients()?.clients[0].mac.clone();
    place.reload(&format!("closed = [\"Mon-Sun\"]\nexempt = [\"{mac}\"]\n"))?;
    wait_until("who is exempt is in", LIMIT, || Ok(stream.flows()))?;
    place.reload("closed = [\"Mon-Sun\"]\n")?;
    wait_until("and out", LIMIT, || Ok(stream.last(0).elapsed() > AT_ONCE))?;
    place.reload("")?;
    place.log_in(&voucher.code)?;
    wait_until("it is open again", LIMIT, || Ok(stream.flows()))
}

/// Open, everybody is in.
#[test]
fn everybody_is_in_while_it_is_open() -> Result<(), Error> {
    let place = Place::open("xdp", "open = [\"Mon-Sun\"]\n")?;
    let stream = Stream::start(&place, 4000)?;
    wait_until("it flows", LIMIT, || Ok(stream.flows()))?;
    place.weir.wait_for_forwarding(4000)?;
    let captive = place
        .client()?
        .run(&format!("curl -s -m 10 {PAGE}captive-portal/api"))?;
    assert!(captive.contains("\"captive\":false"), "{captive}");
    assert_eq!(place.clients()?.hours.mode, answers::PortalMode::Open);
    place.reload("")?;
    wait_until("it ends", LIMIT, || {
        Ok(stream.last(0).elapsed() > AT_ONCE && stream.last(1).elapsed() > AT_ONCE)
    })
}

/// To the second, with weir and without: three routers, for which the same minute begins.
#[test]
fn hours_end_by_the_kernels_clock() -> Result<(), Error> {
    // Two of them have to be brought to where their streams flow before.
    let now = wall().as_secs();
    let change = now - now % 60 + if now % 60 < 25 { 60 } else { 120 };
    let first = Place::open("xdp", "")?;
    let night = format!(
        "closed = [\"{}-{}\"]\n",
        first.clock(change)?,
        first.clock(change + 3600)?
    );
    let day = format!(
        "open = [\"{}-{}\"]\n",
        first.clock(change - 3600)?,
        first.clock(change)?
    );
    let mut second = Place::open("tc", &night)?;
    let mut third = Place::open("tc", &day)?;
    first.reload_with("xdp", &night)?;
    for place in [&first, &second] {
        let voucher = place.sell("--name guest --permanent")?;
        place.log_in(&voucher.code)?;
    }
    let mut streams = Vec::new();
    for place in [&first, &second, &third] {
        streams.push(Stream::start(place, 4000)?);
    }
    wait_until("all flow", LIMIT, || Ok(streams.iter().all(Stream::flows)))?;
    first.weir.wait_for_forwarding(4000)?;
    for place in [&mut second, &mut third] {
        place.weir.end(nix::sys::signal::Signal::SIGKILL)?;
    }
    let left = Duration::from_secs(change)
        .checked_sub(wall())
        .ok_or_else(|| unexpected("it took too long to begin"))?;
    let end = Instant::now() + left;
    std::thread::sleep(left + 2 * AT_ONCE);
    for (number, stream) in streams.iter().enumerate() {
        for side in 0..2 {
            let last = stream.last(side);
            let late = last.saturating_duration_since(end);
            let early = end.saturating_duration_since(last);
            assert!(late < AT_ONCE, "{number}, {side}: {late:?} late");
            assert!(early < 2 * AT_ONCE, "{number}, {side}: {early:?} early");
        }
    }
    Ok(())
}
