//! The content of the guests' page, edited while weir runs; and figures by day.

use std::fs;

use answers::{PortalDay, PortalFigures, PortalPage};
use nix::sys::signal::Signal;

use super::*;

/// PNG of one pixel.
const PNG: [u8; 67] =
    *b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\0\0\0\nIDATx\
    \x9cc`\0\0\0\x02\0\x01H\xaf\xa4q\0\0\0\0IEND\xaeB`\x82";

impl Place {
    /// Loads the page as a guest before the log-in.
    fn page(&self) -> Result<String, Error> {
        self.client()?.run(&format!("curl -s -m 10 {PAGE}"))
    }

    fn file(&self, name: &str, octets: &[u8]) -> Result<String, Error> {
        let file = self.folder.join(name);
        fs::write(&file, octets).map_err(unexpected)?;
        Ok(file.display().to_string())
    }
}

/// Edits appear at once and after a restart. The captive portal API reports the venue.
#[test]
fn what_is_edited_is_what_guests_see() -> Result<(), Error> {
    let mut place = Place::open("off", "venue = \"https://example.org/?a=1&b=2\"\n")?;
    let before = place.page()?;
    assert!(before.contains("<h2>Rules</h2>") && !before.contains("<img"));
    assert!(before.contains("href=\"https://example.org/?a=1&amp;b=2\""));
    let text = place.file("new.md", b"# Hello\n\n<script>alert(1)</script>")?;
    let edited = place.weir(&format!("text set {text} --title Us --json"))?;
    let edited: PortalPage = serde_json::from_str(&edited).map_err(unexpected)?;
    assert!(edited.edited && edited.title == "Us", "{edited:?}");
    let after = place.page()?;
    assert!(after.contains("<h1>Us</h1>") && after.contains("<h2>Hello</h2>"));
    assert!(!after.contains("Rules") && !after.contains("<script"));

    let svg = place.file("logo.svg", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>")?;
    let refused = place.weir(&format!("picture set {svg}"));
    let refused = refused.map_or_else(|error| error.to_string(), |_| String::new());
    assert!(refused.contains("SVG is not allowed"), "{refused}");
    let longest = [&PNG[..], &vec![0; 100 * 1024]].concat();
    let longest = place.file("long.png", &longest)?;
    assert!(place.weir(&format!("picture set {longest}")).is_err());
    // A picture of the greatest size, and with it the request's greatest body.
    let long = [&PNG[..], &vec![0; 100 * 1024 - PNG.len()]].concat();
    let long = place.file("full.png", &long)?;
    place.weir(&format!("picture set {long}"))?;
    let logo = place.file("logo.png", &PNG)?;
    place.weir(&format!("picture set {logo}"))?;
    let seen = place.folder.join("seen");
    let look = |place: &Place| -> Result<(), Error> {
        let page = place.page()?;
        assert!(page.contains("<img src=\"/picture\" alt=\"Us\">"), "{page}");
        let fetched = place.client()?.run(&format!(
            "curl -s -m 10 -D - -o {} {PAGE}picture",
            seen.display()
        ))?;
        let headers = fetched.to_ascii_lowercase();
        for header in [
            "content-type: image/png",
            "x-content-type-options: nosniff",
            "img-src 'self'",
        ] {
            assert!(headers.contains(header), "{headers}");
        }
        assert_eq!(fs::read(&seen).map_err(unexpected)?, PNG);
        Ok(())
    };
    look(&place)?;

    place.weir.end(Signal::SIGKILL)?;
    place.weir.restart(place.lab.node("router")?)?;
    place.is_closed()?;
    wait_until("the page is there", LIMIT, || {
        Ok(place.page().is_ok_and(|page| page.contains("<h1>Us</h1>")))
    })?;
    look(&place)?;
    place.weir("text reset")?;
    place.weir("picture remove")?;
    assert_eq!(place.page()?.len(), before.len());
    assert_eq!(place.curl(&format!("{PAGE}picture"))?, "404>");

    // RFC 8908: the venue's URL, and if a voucher can extend the session.
    let ask = || -> Result<serde_json::Value, Error> {
        let line = format!("curl -s -m 10 {PAGE}captive-portal/api");
        serde_json::from_str(&place.client()?.run(&line)?).map_err(unexpected)
    };
    let told = ask()?;
    assert_eq!(told["venue-info-url"], "https://example.org/?a=1&b=2");
    let state = |told: &serde_json::Value| {
        let yes = |name: &str| told[name].as_bool().expect("told");
        (yes("captive"), yes("can-extend-session"))
    };
    assert_eq!(state(&told), (true, true));
    let [first, second] = ["1h", "2h"].map(|time| place.sell(&format!("--duration {time}")));
    let (first, second) = (first?, second?);
    place.log_in(&first.code)?;
    assert_eq!(state(&ask()?), (false, true));
    // Another voucher, bought in time, waits.
    place.log_in(&second.code)?;
    let guest = place.clients()?.clients[0].clone();
    assert_eq!(
        (guest.voucher, guest.next),
        (Some(first.id), vec![second.id])
    );
    // A voucher without an end blocks all later ones.
    place.log_in(&place.sell("--permanent")?.code)?;
    assert_eq!(state(&ask()?), (false, false));
    Ok(())
}

/// A guest counts once a day, also after a restart; the file does not reveal addresses.
#[test]
fn days_are_counted() -> Result<(), Error> {
    let mut place = Place::open("tc", "")?;
    let today = |place: &Place| -> Result<PortalDay, Error> {
        let told = place.weir("figures --json")?;
        let told: PortalFigures = serde_json::from_str(&told).map_err(unexpected)?;
        let last = told.days.into_iter().last();
        last.ok_or_else(|| unexpected("no day"))
    };
    assert_eq!(today(&place)?.guests, 0);
    // weir reads the counters of a voucher of bytes each second instead of each minute.
    let voucher = place.sell("--name guest --duration 1h --bytes 1GB --count 3")?;
    place.log_in(&voucher.code)?;
    let first = today(&place)?;
    assert_eq!((first.guests, first.log_ins, first.sold), (1, 1, 3));
    assert_eq!(first.day.len(), "2026-11-24".len());
    let server = place.lab.node("server")?;
    let to = SocketAddr::new(SERVER, 5000);
    let transfer = Transfer::start(place.client()?, server, to, 1, Some(400_000))?;
    // The kernel's counters miss packets that weir forwards.
    place.weir.wait_for_forwarding(5000)?;
    let to = SocketAddr::new(SERVER, ECHO);
    let _echo = Echo::serve(server, to)?;
    ask_tcp(place.client()?, to, b"once")?;
    let mut counted = today(&place)?;
    wait_until("its bytes are counted", LIMIT, || {
        counted = today(&place)?;
        Ok(counted.bytes > 200_000)
    })
    .map_err(|_| unexpected(format!("{counted:?}")))?;
    transfer.stop()?;

    let mac = place.clients()?.clients[0].mac.clone();
    let file = place.folder.join("vouchers.figures");
    let kept = || fs::read_to_string(&file).map_err(unexpected);
    place.weir.end(Signal::SIGTERM)?;
    assert!(!kept()?.contains(&mac), "{}", kept()?);
    // The file is torn, as by a power cut.
    let torn = kept()?;
    fs::write(&file, format!("{torn}5c2f0a9be1d7c634 {{\"day\":[\"20")).map_err(unexpected)?;
    place.weir.restart(place.lab.node("router")?)?;
    place.is_closed()?;
    let again = today(&place)?;
    if again.day != counted.day {
        return Ok(());
    }
    assert_eq!((again.guests, again.log_ins, again.sold), (1, 1, 3));
    assert!(again.bytes >= 200_000, "{again:?}");
    wait_until("the page is there", LIMIT, || Ok(place.page().is_ok()))?;
    place.log_in(&voucher.code)?;
    let last = today(&place)?;
    assert_eq!((last.guests, last.log_ins), (1, 2));
    Ok(())
}
