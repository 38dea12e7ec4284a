//! Hours of the week during which the portal is closed, or open to all.

use super::*;

impl Place {
    fn reload(&self, more: &str) -> Result<(), Error> {
        let config = configuration("tc", &self.folder, more);
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

/// Open hours admit all devices. Closed hours admit only exempt devices, and afterwards guests are
/// admitted again without a log-in. The kernel ends both kinds of hours without weir.
#[test]
fn hours_let_everybody_in_or_nobody() -> Result<(), Error> {
    let place = Place::open("tc", "open = [\"Mon-Sun\"]\n")?;
    let router = place.lab.node("router")?;
    let stream = Stream::start(&place, 4000)?;
    let ends = |what: &str| {
        wait_until(what, LIMIT, || {
            Ok(stream.last(0).elapsed() > AT_ONCE && stream.last(1).elapsed() > AT_ONCE)
        })
    };
    wait_until("it flows", LIMIT, || Ok(stream.flows()))?;
    place.weir.wait_for_forwarding(4000)?;
    let captive = place
        .client()?
        .run(&format!("curl -s -m 10 {PAGE}captive-portal/api"))?;
    assert!(captive.contains("\"captive\":false"), "{captive}");
    assert_eq!(place.clients()?.hours.mode, answers::PortalMode::Open);
    let now = net::clock::unix_seconds();
    let [past, soon, later] = [now - 3600, now + 3600, now + 7200].map(|at| place.clock(at));
    let (past, soon, later) = (past?, soon?, later?);
    place.reload(&format!("open = [\"{past}-{soon}\"]\n"))?;
    wait_until("the kernel knows when it ends", LIMIT, || {
        let set = router.run("nft list set inet weir_portal open")?;
        Ok(set.contains("expires"))
    })?;
    place.reload("")?;
    ends("it is open no more")?;

    let voucher = place.sell("--name guest --permanent")?;
    place.log_in(&voucher.code)?;
    wait_until("who has a voucher is in", LIMIT, || Ok(stream.flows()))?;
    place.weir.wait_for_forwarding(4000)?;
    let expires = || -> Result<bool, Error> {
        let set = router.run("nft list set inet weir_portal guests4")?;
        assert!(set.contains("192.168.1.2"), "{set}");
        Ok(set.contains("expires"))
    };
    assert!(!expires()?, "it has no end");
    place.reload(&format!("closed = [\"{soon}-{later}\"]\n"))?;
    wait_until("the kernel knows when it closes", LIMIT, expires)?;
    place.reload("closed = [\"Mon-Sun\"]\n")?;
    let told = Instant::now();
    ends("it is closed")?;
    for end in 0..2 {
        let late = stream.last(end).saturating_duration_since(told);
        assert!(late < AT_ONCE, "{end} went on for {late:?}");
    }
    let page = place.client()?.run(&format!("curl -s -m 10 {PAGE}"))?;
    assert!(page.contains("Closed") && !page.contains("<form"), "{page}");
    let refused = place.curl(&format!("-d code={} {PAGE}login", voucher.code))?;
    assert_eq!(refused, "403>");
    // The device is exempt.
    let mac = place.clients()?.clients[0].mac.clone();
    place.reload(&format!("closed = [\"Mon-Sun\"]\nexempt = [\"{mac}\"]\n"))?;
    wait_until("who is exempt is in", LIMIT, || Ok(stream.flows()))?;
    place.reload("closed = [\"Mon-Sun\"]\n")?;
    ends("and out")?;
    place.reload("")?;
    place.log_in(&voucher.code)?;
    wait_until("it is open again", LIMIT, || Ok(stream.flows()))
}
