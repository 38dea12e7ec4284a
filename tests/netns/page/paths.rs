//! The page of a router with two uplinks and a partner, while a client sends and receives at full
//! rate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::Error;
use lab::transfer::Transfer;
use lab::uplinks::{Options, PARTNER, SERVER};
use lab::{Namespace, Uplinks};
use testing::Directory;
use weir_tests::partner::Partner;
use weir_tests::{LIMIT, Weir};

use super::{browse, fetch, serve};

/// More than both uplinks carry, bytes a second.
const MUCH: u64 = 20_000_000;
/// Rates of the uplinks, Mbit/s.
const UPLINKS: [u64; 2] = [20, 20];
/// Name of the page's own test.
const PATHS: &str = "what each path carries";

/// Each uplink's share as the page shows it: about half for two equal uplinks.
#[test]
fn a_browser_sees_what_each_path_carries() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&UPLINKS))?;
    let router = uplinks.router();
    let partner = Partner::start(uplinks.partner(), &[])?;
    let address = SocketAddr::new(PARTNER, multipath_core::PORT);
    let line = partner.pair(&address.to_string())?;
    let folder = Directory::new();
    let config = format!(
        "[multipath]\npartner = \"{line}\"\n[history]\nfile = {:?}\n\
         [web]\nlisten = [\"127.0.0.1:9347\"]\nmetrics = \"loopback\"\npassword = {:?}\n",
        folder.join("history.db"),
        folder.join("secrets/password"),
    );
    let weir = Weir::start(router, &config, &["-v"])?;
    lab::namespace::wait_until("the partner", LIMIT, || {
        let told = weir.client()?.paths();
        let told = told.map_err(|error| Error::Unexpected(error.to_string()))?;
        Ok(told.redirects && told.paths.len() == UPLINKS.len())
    })?;
    let stop = Arc::new(AtomicBool::new(false));
    let (client, server) = (uplinks.client(), uplinks.server());
    serve(server, 443, &stop)?;
    fetch(client, SocketAddr::new(SERVER, 443), MUCH, &stop)?;
    let up = Transfer::start(client, server, SocketAddr::new(SERVER, 22), 1, None)?;

    let count = UPLINKS.len().to_string();
    let more = [("WEIR_WEB_PATHS", &*count), ("WEIR_WEB_VIEWS", "paths")];
    let only = ["first password$", PATHS, "^every view"];
    let seen = browse(router, &weir, &only, &more);
    let figures = figures(router, &weir);
    stop.store(true, Ordering::Relaxed);
    drop(up);
    // The browser prints a reason behind the name of a skipped test.
    assert!(seen?.contains(&format!(" - {PATHS}\n")), "it was left out");
    figures
}

/// Checks the Prometheus metrics: both paths carried data, and no other paths exist.
fn figures(router: &Namespace, weir: &Weir) -> Result<(), Error> {
    let told = router.run("curl -sS --max-time 20 http://127.0.0.1:9347/metrics")?;
    let carried = |device: &str| {
        let name = format!(
            "weir_path_bytes_total{{device=\"{device}\",family=\"ipv4\",direction=\"received\"}} "
        );
        let line = told.lines().find_map(|line| line.strip_prefix(&name));
        line.and_then(|number| number.parse::<u64>().ok())
    };
    for device in ["wan0", "wan1"] {
        assert!(carried(device) > Some(5_000_000), "{device}: {told}");
    }
    assert_eq!(told.matches("\nweir_path_subflows{").count(), UPLINKS.len());
    assert!(told.contains("\nweir_partner_connected 1\n"), "{told}");
    let status = weir.status()?.multipath;
    assert_eq!(status.map(|paths| paths.uplinks), Some(UPLINKS.len()));
    Ok(())
}
