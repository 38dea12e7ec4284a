//! The page of a router that probes its ports: users choose a port's role there.

use lab::namespace::wait_until;
use lab::{Error, Lab, Options};
use testing::Directory;
use weir_tests::{LIMIT, Weir};

use super::browse;

/// Name of the page's own test.
const KEPT: &str = "a port is kept, and found out again";

/// A choice in the page takes effect on the router.
#[test]
fn a_browser_chooses_what_a_port_is_for() -> Result<(), Error> {
    let lab = Lab::gateway(&Options::default())?;
    let router = lab.node("router")?;
    let folder = Directory::new();
    let file = |name: &str| folder.join(name);
    let config = format!(
        "[cables]\nmode = \"auto\"\nports = [\"lan0\"]\nchoices = {:?}\n\
         [history]\nfile = {:?}\n[web]\nlisten = [\"127.0.0.1:9347\"]\npassword = {:?}\n",
        file("choices"),
        file("history.db"),
        file("secrets/password"),
    );
    let weir = Weir::start(router, &config, &[])?;
    let ports = || {
        let told = weir.client()?.cables();
        let told = told.map_err(|error| Error::Unexpected(error.to_string()))?;
        Ok::<_, Error>(told.cables)
    };
    wait_until("the port", LIMIT, || Ok(ports()?.iter().any(|it| it.link)))?;
    let more = [("WEIR_WEB_CABLES", "yes"), ("WEIR_WEB_VIEWS", "cables")];
    let said = browse(
        router,
        &weir,
        &["first password$", KEPT, "^every view"],
        &more,
    );
    let kept = ports();
    let said = said?;
    // The browser prints a reason behind the name of a skipped test.
    assert!(
        said.contains(&format!(" - {KEPT}\n")),
        "{KEPT}: it was left out"
    );
    assert!(said.contains(" kept apart, lan0 is kept"), "{said}");
    let kept = kept?;
    let lan = kept.iter().find(|it| it.device == "lan0");
    let lan = lan.map(|it| (&*it.role, it.held_by.as_deref()));
    assert_eq!(lan, Some(("radio", Some("administrator"))), "{kept:#?}");
    Ok(())
}
