//! The page of a router with a portal: the administrator's part.

use lab::{Error, Lab, Options};
use testing::Directory;
use weir_tests::Weir;

use super::browse;

/// Name of the page's own test.
const SALE: &str = "a voucher is sold, renamed and revoked";

/// Names of the other tests: printed vouchers, and the guests' page.
const SHEET: &str = "ten vouchers are sold and printed";
const EDITED: &str = "what guests read is edited";

/// A browser sells a voucher that the command line knows, and revokes one; the router lists the
/// revocation.
#[test]
fn a_browser_sells_vouchers() -> Result<(), Error> {
    let lab = Lab::gateway(&Options::default())?;
    let router = lab.node("router")?;
    let folder = Directory::new();
    let file = |name: &str| folder.join(name);
    let config = format!(
        "[portal]\ndevices = [\"lan0\"]\nvouchers = {:?}\n[history]\nfile = {:?}\n[web]\n\
         listen = [\"127.0.0.1:9347\"]\npassword = {:?}\n",
        file("vouchers"),
        file("history.db"),
        file("secrets/password"),
    );
    let weir = Weir::start(router, &config, &[])?;
    // Makes a device known.
    let page = "http://192.168.1.1:2080/";
    lab.node("client")?.run(&format!(
        "curl -s -m 10 --retry 9 --retry-connrefused {page}"
    ))?;
    let more = [
        ("WEIR_WEB_PORTAL", "yes"),
        ("WEIR_WEB_VIEWS", "guests,vouchers,voucher,days,welcome"),
    ];
    let seen = browse(
        router,
        &weir,
        &["first password$", SALE, SHEET, EDITED, "^every view"],
        &more,
    );
    let binary = weir_tests::binary();
    let (binary, socket) = (binary.display(), weir.socket().display().to_string());
    let listed = router.run(&format!("{binary} portal voucher list --socket {socket}"));
    let figures = router.run(&format!("{binary} portal figures --json --socket {socket}"));
    let shown = lab.node("client")?.run(&format!("curl -s -m 10 {page}"));
    // The browser prints a reason behind the name of a skipped test.
    let seen = seen?;
    for one in [SALE, SHEET, EDITED] {
        assert!(
            seen.contains(&format!(" - {one}\n")),
            "{one}: it was left out"
        );
    }
    // The change appears at once, without a restart.
    let shown = shown?;
    assert!(
        shown.contains("<h1>Our &lt;b&gt;place") && shown.contains("<img src=\"/picture\""),
        "{shown}"
    );
    assert!(
        shown.contains("<h2>Terms</h2>") && !shown.contains("<script"),
        "{shown}"
    );
    let figures = figures?;
    // Two vouchers sold one by one, and ten at once.
    assert!(figures.contains("\"sold\": 12"), "{figures}");
    let listed = listed?;
    assert!(
        listed.contains("room 10") && listed.contains("revoked"),
        "{listed}"
    );
    Ok(())
}
